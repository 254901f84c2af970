//! Stores with sound files that do not fit together.

use std::path::Path;
use std::sync::Arc;

use super::{repair, verify};
use crate::db::Db;
use crate::entry::operations::Operations;
use crate::error::Error;
use crate::fs::names::log_name;
use crate::fs::{DataLoss, DirectoryLoss, Loss, MemoryFileSystem};
use crate::options::Options;
use crate::version::{Change, Edit, Files, Manifest, publish};
use crate::wal::LogWriter;

const DIR: &str = "/store";

/// A store with logs of one write each, given by log id, sequence and keyspace id.
fn store(logs: &[(u64, u64, u32)]) -> Options {
    let options = Options::in_memory();
    let (fs, dir) = (&options.file_system, Path::new(DIR));
    fs.create_dir(dir).unwrap();
    let name = "default".to_string();
    let mut changes = vec![Change::CreateKeyspace { id: 0, name }];
    for &(id, sequence, keyspace) in logs {
        changes.push(Change::BeginLog(id));
        let mut operations = Operations::default();
        operations.push_put(keyspace, format!("key{id}").as_bytes(), b"value");
        let mut log = LogWriter::create(&**fs, dir, id).unwrap();
        log.append(sequence, &[operations.bytes()], 1).unwrap();
        log.close().unwrap();
    }
    let files = Files::uncached(fs, dir).unwrap();
    Manifest::create(&files, 9, &Edit::from(changes), &Edit::default()).unwrap();
    publish(&files, 9).unwrap();
    options
}

/// Whether `verify` finds damage. Asserts that opening the store agrees.
fn is_damaged(options: &Options) -> bool {
    let report = verify(Path::new(DIR), options, &mut |_| {}).unwrap();
    let opened = Db::open_read_only(DIR, options.clone());
    let refused = matches!(opened, Err(Error::Corruption { .. }));
    assert_eq!(report.damage.is_empty(), !refused, "{report:?}");
    refused
}

#[test]
fn logs_must_ascend_and_name_known_keyspaces() {
    for (logs, damaged, kept) in [
        (&[(2, 5, 0), (3, 6, 0)][..], false, 2),
        (&[(2, 5, 0), (3, 5, 0)], true, 1),
        (&[(2, 5, 0), (3, 4, 0)], true, 1),
        (&[(2, 5, 0), (3, 1 << 63, 0)], true, 1),
        (&[(2, 5, 0), (3, 6, u32::MAX)], true, 1),
        // The keyspace is unknown, but the log is sound.
        (&[(2, 5, 0), (3, 6, 1)], true, 2),
    ] {
        let options = store(logs);
        assert_eq!(is_damaged(&options), damaged, "{logs:?}");
        let report = repair(Path::new(DIR), &options, &mut |_| {}).unwrap();
        assert_eq!(report.operations_saved, kept, "{logs:?}: {report:?}");
        assert!(!is_damaged(&options), "{logs:?}: {report:?}");
    }
}

/// A log of a case: the sequences of its frames, of one write each; whether it is synced before the last of
/// them; whether it is closed.
type Case = (&'static [u64], bool, bool);

/// A store with a log, and others begun ahead behind it. Everything up to a sequence was flushed.
fn ahead(logs: &[Case], flushed: u64) -> Options {
    let options = Options::in_memory();
    ahead_in(&options, logs, flushed);
    options
}

fn ahead_in(options: &Options, logs: &[Case], flushed: u64) {
    let (fs, dir) = (&options.file_system, Path::new(DIR));
    fs.create_dir(dir).unwrap();
    let name = "default".to_string();
    let (id, keyspace, sequence) = (0, 0, flushed + 1);
    let mut changes = vec![
        Change::CreateKeyspace { id, name },
        Change::LowestUnflushed { keyspace, sequence },
    ];
    for (id, &(sequences, synced, closed)) in (2..).zip(logs) {
        changes.push(match id {
            2 => Change::BeginLog(id),
            _ => Change::BeginLogAhead(id),
        });
        let mut log = LogWriter::create(&**fs, dir, id).unwrap();
        for &sequence in sequences {
            if synced && Some(&sequence) == sequences.last() {
                log.file().sync().unwrap();
            }
            let mut operations = Operations::default();
            operations.push_put(0, &sequence.to_be_bytes(), b"value");
            log.append(sequence, &[operations.bytes()], 1).unwrap();
        }
        if closed {
            log.close().unwrap();
        }
    }
    let files = Files::uncached(fs, dir).unwrap();
    Manifest::create(&files, 9, &Edit::from(changes), &Edit::default()).unwrap();
    publish(&files, 9).unwrap();
}

/// Logs, what was flushed of them, whether they are damaged, and how many writes are replayed: those that
/// count and were not flushed.
const CASES: [(&[Case], u64, bool, u64); 16] = [
    // Nothing is lost.
    (
        &[(&[1, 2], false, false), (&[3], false, false)],
        0,
        false,
        3,
    ),
    (&[(&[1, 2], false, false), (&[], false, false)], 0, false, 2),
    (
        &[
            (&[1], false, true),
            (&[2, 3], true, false),
            (&[], false, false),
        ],
        0,
        false,
        3,
    ),
    (
        &[
            (&[1], false, true),
            (&[2], false, true),
            (&[3], false, false),
        ],
        0,
        false,
        3,
    ),
    // The end of a log is lost, and with it all behind it.
    (
        &[(&[1, 2], false, false), (&[4], false, false)],
        0,
        false,
        2,
    ),
    (
        &[(&[1, 2], true, false), (&[4, 5], false, false)],
        0,
        false,
        2,
    ),
    (&[(&[], false, false), (&[2, 3], false, false)], 0, false, 0),
    (
        &[
            (&[1], false, true),
            (&[], false, false),
            (&[3], false, false),
        ],
        0,
        false,
        1,
    ),
    (
        &[
            (&[1], false, false),
            (&[3], false, false),
            (&[4], false, false),
        ],
        0,
        false,
        1,
    ),
    (
        &[
            (&[1], false, false),
            (&[], false, false),
            (&[3], false, false),
        ],
        1,
        false,
        0,
    ),
    // What is behind it proves that it was durable.
    (
        &[(&[1, 2], false, false), (&[4, 5], true, false)],
        0,
        true,
        2,
    ),
    (&[(&[1, 2], false, false), (&[4], false, true)], 0, true, 2),
    (&[(&[1, 2], false, false), (&[4], false, false)], 4, true, 0),
    (&[(&[], false, false), (&[2, 3], true, false)], 0, true, 0),
    (
        &[
            (&[1], false, false),
            (&[3], false, false),
            (&[4, 5], true, false),
        ],
        0,
        true,
        1,
    ),
    // So does what was flushed, with nothing behind it.
    (&[(&[1, 2], false, false), (&[], false, false)], 3, true, 0),
];

#[test]
fn a_log_begun_ahead_counts_only_behind_the_end_of_the_one_before() {
    for (number, (logs, flushed, damaged, replayed)) in CASES.into_iter().enumerate() {
        let options = ahead(logs, flushed);
        let case = format!("case {number}: {logs:?}");
        assert_eq!(is_damaged(&options), damaged, "{case}");
        let report = repair(Path::new(DIR), &options, &mut |_| {}).unwrap();
        assert_eq!(report.lost.is_empty(), !damaged, "{case}: {report:?}");
        assert!(!report.doubts.is_empty() || damaged, "{case}: {report:?}");
        assert!(!is_damaged(&options), "{case}: {report:?}");
        // What does not count now never does, whatever is written behind it.
        for life in 0..3 {
            let db = Db::open(DIR, options.clone()).unwrap();
            let found = db.iter().unwrap().count() as u64;
            assert_eq!(found, replayed + life, "{case}, life {life}");
            db.put([life as u8], "new").unwrap();
        }
    }
}

/// A loss of power brought back a log that did not count: the opening that cut it off removed it, and closing
/// removed the empty logs behind it, after which it looked like a log whose edit is lost.
#[test]
fn a_log_that_does_not_count_never_comes_back() {
    let memory = MemoryFileSystem::new();
    let mut options = Options::in_memory();
    options.file_system = Arc::new(memory.clone());
    ahead_in(
        &options,
        &[(&[1, 2], false, false), (&[4], false, false)],
        0,
    );
    let cut = memory.bytes(&Path::new(DIR).join(log_name(3))).unwrap();
    assert!(!cut.is_empty());
    Db::open(DIR, options.clone()).unwrap().close().unwrap();
    let loss = Loss {
        data: DataLoss::Lost,
        directory: DirectoryLoss::Lost,
    };
    options.file_system = Arc::new(memory.crash(loss, 1));
    let db = Db::open(DIR, options).unwrap();
    assert_eq!(db.iter().unwrap().count(), 2);
}

/// Repairs of earlier builds left logs without their ends in the manifest, and logs behind them.
#[test]
fn only_the_last_log_must_reach_what_was_flushed() {
    for (logs, damaged) in [(&[(2, 5), (3, 8)][..], false), (&[(2, 5), (3, 6)], true)] {
        let options = Options::in_memory();
        let (fs, dir) = (&options.file_system, Path::new(DIR));
        fs.create_dir(dir).unwrap();
        let name = "default".to_string();
        let (id, keyspace, sequence) = (0, 0, 9);
        let mut changes = vec![
            Change::CreateKeyspace { id, name },
            Change::LowestUnflushed { keyspace, sequence },
        ];
        for &(id, sequence) in logs {
            changes.push(Change::BeginLog(id));
            let mut operations = Operations::default();
            operations.push_put(0, b"key", b"value");
            let mut log = LogWriter::create(&**fs, dir, id).unwrap();
            log.append(sequence, &[operations.bytes()], 1).unwrap();
            log.file().sync().unwrap();
        }
        let files = Files::uncached(fs, dir).unwrap();
        Manifest::create(&files, 9, &Edit::from(changes), &Edit::default()).unwrap();
        publish(&files, 9).unwrap();
        assert_eq!(is_damaged(&options), damaged, "{logs:?}");
        repair(Path::new(DIR), &options, &mut |_| {}).unwrap();
        assert!(!is_damaged(&options), "{logs:?}");
    }
}
