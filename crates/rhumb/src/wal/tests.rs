//! Logs that are torn, damaged or partly lost.

use std::path::Path;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use super::frame::{FrameKind, HEADER_BYTES, Header};
use super::reader::{Frame, LogSummary, ReadLog};
use super::{LogWriter, sync_log};
use crate::entry::Pointer;
use crate::entry::operations::{Op, Operations};
use crate::error::{Error, Result};
use crate::fs::{
    Access, DataLoss, DirectoryLoss, Fault, FaultAt, FaultyFileSystem, FileCall, FileSystem, Loss,
    MemoryFileSystem, Plan, ops,
};
use crate::vlog::{KeptValues, ValueReader};

const ID: u64 = 7;
const DIR: &str = "/db";
const LOG: &str = "/db/000007.log";

/// A commit group: first sequence, number of operations, payload.
type Group = (u64, u32, Vec<u8>);

/// An empty log whose name is durable.
fn create(fs: &dyn FileSystem) -> Result<LogWriter> {
    let log = LogWriter::create(fs, Path::new(DIR), ID)?;
    ops::sync_dir(fs, Path::new(DIR))?;
    Ok(log)
}

fn disk() -> MemoryFileSystem {
    let fs = MemoryFileSystem::new();
    fs.create_dir(Path::new(DIR)).unwrap();
    fs
}

fn group(random: &mut StdRng, first: u64, longest: usize) -> Group {
    let mut operations = Operations::default();
    for _ in 0..random.random_range(1..=4) {
        let mut value = vec![0; random.random_range(0..=longest)];
        random.fill_bytes(&mut value);
        match random.random_range(0..8) {
            0 => operations.push_delete(1, b"gone"),
            1 => operations.push_range_delete(2, b"a", b"z"),
            _ => operations.push_put(3, &random.random::<u64>().to_be_bytes(), &value),
        }
    }
    (first, operations.count(), operations.bytes().to_vec())
}

/// Appends the group in one part or, if its sequence is even, in three; every third one with checksums behind puts.
fn append(log: &mut LogWriter, (first, count, payload): &Group) -> Result<()> {
    if first % 3 == 0 {
        return log.append_sealed(*first, &[payload], *count, |_, _| true);
    }
    if first % 2 == 1 {
        return log.append(*first, &[payload], *count);
    }
    let (head, rest) = payload.split_at(payload.len() / 9);
    log.append(*first, &[head, &[], rest], *count)
}

/// The operations of a frame, without checksums behind puts.
fn payload(frame: &Frame<'_>) -> Result<Vec<u8>> {
    let mut operations = Operations::default();
    frame.operations(&mut |_, operation, _| {
        let keyspace = operation.keyspace;
        match operation.op {
            Op::Put { key, value } => operations.push_put(keyspace, key, value),
            Op::Delete { key } => operations.push_delete(keyspace, key),
            Op::RangeDelete { start, end } => operations.push_range_delete(keyspace, start, end),
        }
        Ok(())
    })?;
    Ok(operations.bytes().to_vec())
}

fn read(fs: &dyn FileSystem, known_end: Option<u64>) -> Result<(LogSummary, Vec<Group>)> {
    let mut found = Vec::new();
    let log = ReadLog::open(fs, Path::new(DIR), ID, known_end)?;
    log.visit(&mut |frame| {
        found.push((frame.first_sequence, frame.count, payload(&frame)?));
        Ok(())
    })?;
    Ok((log.summary, found))
}

/// Reads the bytes of a log, and its frames.
fn visit_frames(
    log: &[u8],
    log_id: u64,
    known_end: Option<u64>,
    visit: &mut dyn FnMut(Frame<'_>) -> Result<()>,
) -> Result<LogSummary> {
    let log = ReadLog::from_bytes(LOG.into(), log.to_vec(), log_id, known_end)?;
    log.visit(visit)?;
    Ok(log.summary)
}

fn scan(log: &[u8], known_end: Option<u64>) -> Result<(LogSummary, Vec<Group>)> {
    let mut found = Vec::new();
    let summary = visit_frames(log, ID, known_end, &mut |frame| {
        found.push((frame.first_sequence, frame.count, payload(&frame)?));
        Ok(())
    })?;
    Ok((summary, found))
}

/// A log of some frames, synced in the middle.
struct Sample {
    groups: Vec<Group>,
    /// Where each frame ends.
    ends: Vec<usize>,
    synced: usize,
    bytes: Vec<u8>,
}

fn sample(frames: usize, longest: usize, close: bool) -> Sample {
    let (fs, mut random) = (disk(), StdRng::seed_from_u64(1));
    let mut log = create(&fs).unwrap();
    let (mut groups, mut ends, mut first) = (Vec::new(), Vec::new(), 1);
    for i in 0..frames {
        let group = group(&mut random, first, longest);
        append(&mut log, &group).unwrap();
        first += u64::from(group.1);
        groups.push(group);
        ends.push(log.file().end() as usize);
        if i == frames / 2 {
            log.file().sync().unwrap();
        }
    }
    let synced = log.file().durable_end() as usize;
    if close {
        log.close().unwrap();
    }
    let bytes = fs.bytes(Path::new(LOG)).unwrap();
    Sample {
        groups,
        ends,
        synced,
        bytes,
    }
}

fn is_corruption<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Corruption { .. }))
}

#[test]
fn a_clean_log_comes_back_whole() {
    let sample = sample(40, 1000, true);
    let (summary, found) = scan(&sample.bytes, None).unwrap();
    assert_eq!(found, sample.groups);
    let expected = LogSummary {
        valid_end: sample.bytes.len() as u64,
        frames: 40,
        clean: true,
        torn_bytes: 0,
    };
    assert_eq!(summary, expected);
}

#[test]
fn an_empty_log_is_sound() {
    let fs = disk();
    create(&fs).unwrap();
    let (summary, found) = read(&fs, None).unwrap();
    assert_eq!(
        (summary.valid_end, summary.clean, found.len()),
        (0, false, 0)
    );
    assert!(is_corruption(&read(&fs, Some(48))));
}

#[test]
fn the_header_is_that_of_the_format() {
    let fs = disk();
    let mut log = create(&fs).unwrap();
    log.append(1, &[b"\x00\x01\x01a"], 1).unwrap();
    log.file().sync().unwrap();
    log.append(2, &[b"\x00\x01\x01b"], 1).unwrap();
    let bytes = fs.bytes(Path::new(LOG)).unwrap();
    let second = &bytes[52..];
    let crc = crc32c::crc32c(&second[4..]).wrapping_add(crate::entry::checksum::stamp(ID, 52));
    assert_eq!(second[..4], crc.to_le_bytes());
    let mut expected = vec![4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
    for field in [ID, 52, 2, 52] {
        expected.extend_from_slice(&field.to_le_bytes());
    }
    expected.extend_from_slice(b"\x00\x01\x01b");
    assert_eq!(second[4..], expected);
}

#[test]
fn a_log_cut_at_any_length_gives_its_whole_frames() {
    let sample = sample(40, 1400, true);
    for length in 0..=sample.bytes.len() {
        let torn = &sample.bytes[..length];
        let (summary, found) = scan(torn, None).unwrap();
        let whole = sample.ends.iter().filter(|end| **end <= length).count();
        assert_eq!(found, sample.groups[..whole], "cut at {length}");
        assert_eq!(summary.valid_end + summary.torn_bytes, length as u64);
        assert_eq!(summary.clean, length == sample.bytes.len());
        // A known end or a clean end shows that the log was durable further than the cut.
        let known = scan(torn, Some(sample.synced as u64));
        let damaged = length < sample.synced || length == sample.bytes.len();
        assert_eq!(is_corruption(&known), damaged, "cut at {length}");
        assert!(is_corruption(&scan(torn, Some(length as u64 + 1))));
    }
}

/// A sample of at least 64 KiB.
fn long_sample(closed: bool) -> Sample {
    let sample = sample(50, 1400, closed);
    let bytes = sample.bytes.len();
    assert!(bytes >= 64 << 10, "{bytes} bytes");
    sample
}

/// Flips each byte and checks that only the frames before it are read; returns how many flips were
/// refused.
fn flip_every_byte(sample: &Sample, durable: usize) -> usize {
    let mut random = StdRng::seed_from_u64(2);
    let mut bytes = sample.bytes.clone();
    let mut refused = 0;
    for at in 0..bytes.len() {
        let flip = random.random_range(1..=255u8);
        bytes[at] ^= flip;
        match scan(&bytes, None) {
            Ok((summary, found)) => {
                assert!(
                    at >= durable,
                    "flip {flip} at {at} went unseen below {durable}"
                );
                let whole = sample.ends.iter().filter(|end| **end <= at).count();
                assert_eq!(found, sample.groups[..whole], "flip {flip} at {at}");
                assert!(summary.torn_bytes > 0);
            }
            Err(e) => {
                assert!(
                    matches!(e, Error::Corruption { .. }),
                    "flip {flip} at {at}: {e}"
                );
                assert!(at < durable, "flip {flip} at {at} of a torn tail: {e}");
                refused += 1;
            }
        }
        bytes[at] ^= flip;
    }
    refused
}

#[test]
fn every_flip_below_the_sync_is_damage_and_behind_it_a_torn_tail() {
    let sample = long_sample(false);
    let refused = flip_every_byte(&sample, sample.synced);
    assert_eq!(refused, sample.synced);
}

#[test]
fn every_flip_before_a_clean_end_is_damage() {
    let sample = long_sample(true);
    let refused = flip_every_byte(&sample, sample.bytes.len() - HEADER_BYTES);
    assert_eq!(refused, sample.bytes.len() - HEADER_BYTES);
}

#[test]
fn a_known_end_hides_what_follows() {
    let sample = sample(20, 300, false);
    for (i, end) in sample.ends.iter().enumerate() {
        let end = *end as u64;
        let known = scan(&sample.bytes, Some(end));
        // Later frames say that more than this was synced.
        if end < sample.synced as u64 {
            assert!(is_corruption(&known));
            continue;
        }
        let (summary, found) = known.unwrap();
        assert_eq!(found, sample.groups[..=i]);
        assert_eq!(summary.valid_end, end);
        assert!(is_corruption(&scan(&sample.bytes, Some(end - 1))));
    }
}

#[test]
fn frames_of_another_log_or_place_do_not_count() {
    let one = sample(4, 100, false);
    assert_eq!(
        visit_frames(&one.bytes, ID + 1, None, &mut |_| Ok(()))
            .unwrap()
            .valid_end,
        0
    );
    let mut moved = one.bytes[..one.ends[0]].to_vec();
    moved.extend_from_slice(&one.bytes[one.ends[1]..]);
    let (_, found) = scan(&moved, None).unwrap();
    assert_eq!(found, one.groups[..1]);
}

/// Each put of a sealed frame is the record of a value, where the log and the reader of the frame say; a table that points
/// there reads it through the second name of the log.
#[test]
fn puts_of_sealed_frames_are_records_of_values() {
    let (fs, mut random) = (disk(), StdRng::seed_from_u64(3));
    let mut log = create(&fs).unwrap();
    let mut first = 1;
    for _ in 0..100 {
        let parts = [0, 1].map(|_| group(&mut random, first, 300));
        let count = parts.iter().map(|part| part.1).sum::<u32>();
        let parts = [&*parts[0].2, &*parts[1].2];
        let long = |keyspace: u32, len: usize| keyspace == 3 && len > 100;
        log.append_sealed(first, &parts, count, long).unwrap();
        first += u64::from(count);
    }
    let values = log.take_values();
    let end = log.close().unwrap();
    let second = Path::new("/db/000007.values");
    fs.link(Path::new(LOG), second).unwrap();
    let none = KeptValues::none().unwrap();
    let reader = ValueReader::open(&fs, second, (ID, end), Access::Buffered, &none).unwrap();
    let mut found = 0;
    let log = ReadLog::open(&fs, Path::new(DIR), ID, None).unwrap();
    log.visit(&mut |frame| {
        frame.operations(&mut |sequence, operation, place| {
            let Op::Put { key, value } = operation.op else {
                assert_eq!((place, values.offset_of(sequence)), (None, None));
                return Ok(());
            };
            let is_long = value.len() > 100;
            assert_eq!(values.offset_of(sequence), place.filter(|_| is_long));
            let pointer = Pointer::new(ID, place.unwrap(), value.len()).unwrap();
            assert_eq!(&*reader.read(3, key, pointer, false)?, value);
            assert!(reader.read(4, key, pointer, false).is_err());
            found += 1;
            Ok(())
        })
    })
    .unwrap();
    assert!(found > 100, "{found}");
}

#[test]
fn what_no_build_writes_is_refused() {
    let header = Header {
        payload_length: 0,
        kind: FrameKind::Operations as u8,
        reserved: [0; 3],
        count: 0,
        first_sequence: 1,
        durable: 0,
    };
    let scan_one = |header: Header, payload: &[u8]| {
        let payload_length = payload.len() as u32;
        let header = Header {
            payload_length,
            ..header
        };
        let mut bytes = header.encode(ID, 0, &[payload]).to_vec();
        bytes.extend_from_slice(payload);
        visit_frames(&bytes, ID, None, &mut |frame| {
            frame.operations(&mut |_, _, _| Ok(()))
        })
    };
    assert_eq!(scan_one(header, &[]).unwrap().frames, 1);
    let unknown = scan_one(Header { kind: 4, ..header }, &[]);
    assert!(matches!(unknown, Err(Error::Unsupported { .. })));
    let merge = scan_one(Header { count: 1, ..header }, &[3, 0, 0, 0]);
    assert!(matches!(merge, Err(Error::Unsupported { .. })));
    let reserved = [0, 1, 0];
    assert!(is_corruption(&scan_one(Header { reserved, ..header }, &[])));
    assert!(is_corruption(&scan_one(
        Header {
            durable: 1,
            ..header
        },
        &[]
    )));
    assert!(is_corruption(&scan_one(Header { count: 1, ..header }, &[])));
    assert!(is_corruption(&scan_one(header, &[0, 1, 0])));
    assert!(is_corruption(&scan_one(
        Header { kind: 2, ..header },
        &[0, 1, 0]
    )));
    let first_sequence = u64::MAX;
    let two = Header {
        first_sequence,
        count: 2,
        ..header
    };
    assert!(is_corruption(&scan_one(two, &[0, 1, 0, 0, 1, 0])));
}

#[test]
fn nothing_follows_a_clean_end() {
    let sample = sample(3, 50, true);
    let mut bytes = sample.bytes.clone();
    bytes.extend_from_slice(&[0; 100]);
    let (summary, _) = scan(&bytes, None).unwrap();
    assert!(summary.clean && summary.torn_bytes == 100);
    let header = Header {
        payload_length: 0,
        kind: FrameKind::Operations as u8,
        reserved: [0; 3],
        count: 0,
        first_sequence: 1,
        durable: 0,
    };
    let frame = header.encode(ID, sample.bytes.len() as u64, &[]);
    bytes.truncate(sample.bytes.len());
    bytes.extend_from_slice(&frame);
    assert!(is_corruption(&scan(&bytes, None)));
}

/// Writes a random log until a random power cut, and checks what is found under each kind of loss.
fn crash(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let memory = disk();
    let plan = Plan {
        cut_at: Some(random.random_range(1..60)),
        ..Plan::default()
    };
    let fs = FaultyFileSystem::new(Arc::new(memory.clone()), plan);
    let (mut groups, mut durable, mut first) = (Vec::new(), 0, 1);
    let made = create(&fs).and_then(|mut log| {
        for _ in 0..random.random_range(0..40) {
            let group = group(&mut random, first, 3000);
            first += u64::from(group.1);
            groups.push(group);
            append(&mut log, &groups[groups.len() - 1])?;
            if random.random_range(0..3) == 0 {
                log.file().sync()?;
                durable = groups.len();
            }
        }
        log.close()?;
        durable = groups.len();
        Ok(())
    });
    assert!(made.is_ok() || fs.power_is_cut(), "seed {seed}");
    let page = if random.random() { 512 } else { 4096 };
    let kept_percent = [0, 10, 50, 90, 100][random.random_range(0..5)];
    let losses = [
        DataLoss::Lost,
        DataLoss::Kept,
        DataLoss::Torn { page },
        DataLoss::Scattered { page, kept_percent },
    ];
    for data in losses {
        let loss = Loss {
            data,
            directory: DirectoryLoss::Lost,
        };
        let found = memory.crash(loss, seed);
        if !found.list(Path::new(DIR)).unwrap().is_empty() {
            let (summary, frames) =
                read(&found, None).unwrap_or_else(|e| panic!("seed {seed}, {loss:?}: {e}"));
            assert!(
                frames.len() >= durable,
                "seed {seed}, {loss:?}: {summary:?}"
            );
            assert_eq!(frames, groups[..frames.len()], "seed {seed}, {loss:?}");
            sync_log(&found, Path::new(DIR), ID).unwrap();
        } else {
            assert_eq!(durable, 0, "seed {seed}, {loss:?}");
        }
    }
}

#[test]
fn after_a_crash_a_log_holds_a_prefix_with_all_that_was_synced() {
    for seed in 0..1500 {
        crash(seed);
    }
}

#[test]
fn a_full_disk_leaves_the_log_as_it_was() {
    let memory = disk();
    let fs = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
    let mut log = create(&fs).unwrap();
    log.append(1, &[b"\x00\x01\x01a"], 1).unwrap();
    fs.set_budget(Some(20));
    let full = log.append(2, &[b"\x00\x01\x01b"], 1);
    assert!(matches!(full, Err(Error::DiskFull { .. })));
    assert_eq!(memory.bytes(Path::new(LOG)).unwrap().len(), 52);
    fs.set_budget(None);
    log.append(2, &[b"\x00\x01\x01c"], 1).unwrap();
    log.file().sync().unwrap();
    assert_eq!(
        (
            log.file().end(),
            log.file().durable_end(),
            log.file().log_id()
        ),
        (104, 104, ID)
    );
    log.close().unwrap();
    let (summary, found) = read(&memory, None).unwrap();
    assert!(summary.clean && summary.torn_bytes == 0);
    assert_eq!(found[1], (2, 1, b"\x00\x01\x01c".to_vec()));
}

/// Whatever remains of a frame for which there was no room and of the one in its place is torn.
#[test]
fn a_cut_that_a_crash_undoes_leaves_a_prefix() {
    for seed in 0..500 {
        let mut random = StdRng::seed_from_u64(seed);
        let memory = disk();
        let fs = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
        let mut log = create(&fs).unwrap();
        let (mut groups, mut durable, mut first) = (Vec::new(), 0, 1);
        for _ in 0..random.random_range(1..12) {
            let group = group(&mut random, first, 2000);
            if random.random() {
                fs.set_budget(Some(random.random_range(0..group.2.len() as u64)));
                assert!(append(&mut log, &group).is_err());
                if random.random() {
                    log.file().sync().unwrap();
                    durable = groups.len();
                }
                fs.set_budget(None);
            }
            append(&mut log, &group).unwrap();
            first += u64::from(group.1);
            groups.push(group);
        }
        let page = 512;
        for data in [
            DataLoss::Lost,
            DataLoss::Kept,
            DataLoss::Torn { page },
            DataLoss::Scattered {
                page,
                kept_percent: 50,
            },
        ] {
            let directory = DirectoryLoss::Lost;
            let found = memory.crash(Loss { data, directory }, seed);
            let (_, frames) = read(&found, None).unwrap();
            assert!(
                frames.len() >= durable && frames == groups[..frames.len()],
                "seed {seed}"
            );
        }
    }
}

#[test]
fn a_failed_sync_is_never_forgotten() {
    let fs = FaultyFileSystem::new(Arc::new(disk()), Plan::default());
    // One call site for all syncs, so that the planned fault applies to the later ones.
    let sync = |log: &mut LogWriter| log.file().sync();
    let mut log = create(&fs).unwrap();
    log.append(1, &[b"\x00\x01\x01a"], 1).unwrap();
    sync(&mut log).unwrap();
    let site = fs
        .sites()
        .into_keys()
        .find(|site| site.call == FileCall::Sync)
        .unwrap();
    let fault = Some((FaultAt::Site(site), Fault::InputOutput));
    fs.set_plan(Plan {
        fault,
        ..Plan::default()
    });
    log.append(2, &[b"\x00\x01\x01b"], 1).unwrap();
    assert!(matches!(sync(&mut log), Err(Error::Io { .. })));
    assert!(matches!(sync(&mut log), Err(Error::ReadOnly { .. })));
    assert!(log.append(3, &[b"\x00\x01\x01c"], 1).is_err());
    assert_eq!(log.file().durable_end(), 52);
}
