use std::path::Path;

use super::super::manifest::{HEADER_BYTES, Tail, read, replay};
use super::*;
use crate::error::Error;
use crate::fs::{FileSystem, MemoryFileSystem, names, ops};

const NUMBER: u64 = 41;

fn file_system() -> Arc<dyn FileSystem> {
    let fs = MemoryFileSystem::default();
    fs.create_dir(Path::new("/store")).unwrap();
    Arc::new(fs)
}

fn dir() -> &'static Path {
    Path::new("/store")
}

fn files_in(fs: &Arc<dyn FileSystem>) -> Arc<Files> {
    Files::uncached(fs, dir()).unwrap()
}

fn bytes_of(fs: &Arc<dyn FileSystem>, name: &str) -> Vec<u8> {
    ops::read_all(&**fs, &dir().join(name)).unwrap()
}

fn put_file(fs: &Arc<dyn FileSystem>, name: &str, bytes: &[u8]) {
    let path = dir().join(name);
    let _ = fs.remove(&path);
    let file = ops::create(&**fs, &path).unwrap();
    ops::write_all(&*file, &path, bytes).unwrap();
}

/// An edit with several kinds of changes, of about 1 KB.
fn edit(i: u64) -> Edit {
    let map: Vec<u8> = (0..900).map(|j| (i * 31 + j * 7) as u8).collect();
    vec![
        Change::KeyMap {
            keyspace: 1,
            number: i,
            map,
        },
        Change::LastSequence(i),
        add(0, table(i, "smallest", "the largest one")),
        Change::Log {
            id: i,
            valid_end: i * 1000,
        },
    ]
    .into()
}

/// The bytes of a manifest with some edits, and the end of each record.
fn written(edits: u64) -> (Vec<u8>, Vec<usize>) {
    let fs = file_system();
    let mut manifest =
        Manifest::create(&files_in(&fs), NUMBER, &edit(0), &Edit::default()).unwrap();
    let name = names::manifest_name(NUMBER);
    let mut ends = vec![bytes_of(&fs, &name).len()];
    for i in 1..edits {
        manifest.append(&edit(i)).unwrap();
        ends.push(ends[0] + manifest.grown_bytes() as usize);
    }
    let bytes = bytes_of(&fs, &name);
    assert_eq!(Some(&bytes.len()), ends.last());
    (bytes, ends)
}

/// Replays a manifest, checks that the edits are the first ones in order, and returns their number.
fn replayed(bytes: &[u8]) -> Result<(u64, Tail), Error> {
    let mut edits = 0;
    let tail = replay(Path::new("m"), bytes, NUMBER, |found| {
        assert!(found == edit(edits), "edit {edits} differs");
        edits += 1;
        Ok(())
    })?;
    Ok((edits, tail))
}

#[test]
fn what_was_appended_is_read() {
    let fs = file_system();
    assert_eq!(read_current(&fs, dir()).unwrap(), None);
    let mut manifest =
        Manifest::create(&files_in(&fs), NUMBER, &edit(0), &Edit::default()).unwrap();
    assert_eq!(
        (manifest.number(), manifest.grown_bytes(), manifest.broken()),
        (NUMBER, 0, false)
    );
    publish(&files_in(&fs), NUMBER).unwrap();
    manifest.append(&edit(1)).unwrap();
    manifest.append(&Edit::default()).unwrap();
    assert_eq!(read_current(&fs, dir()).unwrap(), Some(NUMBER));
    let mut found = Vec::new();
    let tail = read(&fs, dir(), NUMBER, |e| {
        found.push(e);
        Ok(())
    });
    assert_eq!(tail.unwrap().torn_bytes, 0);
    assert_eq!(found, [edit(0), edit(1), Edit::default()]);
    assert!(Manifest::create(&files_in(&fs), NUMBER, &edit(0), &Edit::default()).is_err());
    publish(&files_in(&fs), u64::MAX).unwrap();
    assert_eq!(read_current(&fs, dir()).unwrap(), Some(u64::MAX));
    let missing = read(&fs, dir(), 999, |_| Ok(()));
    assert!(matches!(missing, Err(Error::Corruption { .. })));
}

#[test]
fn an_edit_that_does_not_fit_is_damage() {
    let (bytes, ends) = written(3);
    let mut edits = 0;
    let refused = replay(Path::new("m"), &bytes, NUMBER, |_| {
        edits += 1;
        if edits == 2 {
            Err("no".to_string())
        } else {
            Ok(())
        }
    });
    let Err(Error::Corruption { offset, found, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((offset, found.as_str()), (ends[0] as u64, "no"));
}

#[test]
fn every_flipped_byte_is_damage_or_a_torn_tail() {
    let (bytes, ends) = written(68);
    assert!(bytes.len() >= 64 << 10, "{}", bytes.len());
    let last = ends[ends.len() - 2];
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        match replayed(&bytes) {
            Err(Error::Corruption { offset, .. }) => {
                assert!(at < last, "flip at {at}");
                let start = ends
                    .iter()
                    .rfind(|&&end| end <= at)
                    .copied()
                    .unwrap_or(HEADER_BYTES);
                assert!(at < HEADER_BYTES || offset == start as u64, "flip at {at}");
            }
            Ok((edits, tail)) => {
                assert!(at >= last, "flip at {at} went unseen");
                assert_eq!((edits, tail.valid_end), (67, last as u64));
                assert_eq!(tail.torn_bytes, (bytes.len() - last) as u64);
            }
            Err(e) => panic!("flip at {at}: {e}"),
        }
    }
}

#[test]
fn every_truncation_is_damage_or_a_torn_tail() {
    let (bytes, ends) = written(68);
    for length in 0..bytes.len() {
        let whole = ends.iter().filter(|&&end| end <= length).count();
        match replayed(&bytes[..length]) {
            Err(Error::Corruption { .. }) => assert_eq!(whole, 0, "{length}"),
            Ok((edits, tail)) => {
                assert_eq!(edits, whole as u64, "{length}");
                let end = ends[whole - 1];
                assert_eq!(
                    (tail.valid_end, tail.torn_bytes),
                    (end as u64, (length - end) as u64)
                );
            }
            Err(e) => panic!("{length}: {e}"),
        }
    }
}

#[test]
fn a_record_of_another_place_or_file_is_not_taken() {
    let (bytes, ends) = written(4);
    let mut repeated = bytes.clone();
    repeated.extend_from_slice(&bytes[ends[1]..ends[2]]);
    let (edits, tail) = replayed(&repeated).unwrap();
    assert_eq!((edits, tail.torn_bytes), (4, (ends[2] - ends[1]) as u64));
    let swapped = [
        &bytes[..ends[0]],
        &bytes[ends[1]..ends[2]],
        &bytes[ends[0]..ends[1]],
    ]
    .concat();
    assert_eq!(replayed(&swapped).unwrap().0, 1);
    let other = replay(Path::new("m"), &bytes, NUMBER + 1, |_| Ok(()));
    assert!(matches!(other, Err(Error::Corruption { .. })));
    let garbage = [&bytes[..], &[0; 3000], &[0xFF; 3000]].concat();
    assert_eq!(replayed(&garbage).unwrap(), {
        let (valid_end, torn_bytes) = (bytes.len() as u64, 6000);
        (
            4,
            Tail {
                valid_end,
                torn_bytes,
            },
        )
    });
}

#[test]
fn every_damage_of_current_is_seen() {
    let fs = file_system();
    publish(&files_in(&fs), 77).unwrap();
    let bytes = bytes_of(&fs, names::CURRENT);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            put_file(&fs, names::CURRENT, &bytes);
            assert!(read_current(&fs, dir()).is_err(), "{at}");
        }
        put_file(&fs, names::CURRENT, &bytes[..at]);
        assert!(read_current(&fs, dir()).is_err(), "{at}");
    }
    put_file(&fs, names::CURRENT, &[&bytes[..], &[0]].concat());
    assert!(read_current(&fs, dir()).is_err());
}

#[test]
fn a_later_format_is_not_called_damage() {
    let fs = file_system();
    publish(&files_in(&fs), 77).unwrap();
    let mut bytes = bytes_of(&fs, names::CURRENT);
    bytes[8] += 1;
    let checksum = crate::entry::checksum::crc(&bytes[..20]).to_le_bytes();
    bytes[20..].copy_from_slice(&checksum);
    put_file(&fs, names::CURRENT, &bytes);
    let refused = read_current(&fs, dir());
    assert!(
        matches!(refused, Err(Error::Unsupported { .. })),
        "{refused:?}"
    );
}

fn options_edit() -> Edit {
    let options = crate::options::KeyspaceOptions {
        index: Some("fp".parse().unwrap()),
        table: None,
    };
    let keyspace = 1;
    vec![Change::Options { keyspace, options }].into()
}

/// The first version as long as it will do, so that every rhumb reads the store.
#[test]
fn a_manifest_has_the_version_that_its_edits_need() {
    let (plain, options) = (edit(0), options_edit());
    for (first, next, version) in [
        (&plain, &plain, 1u8),
        (&plain, &options, 2),
        (&options, &plain, 2),
    ] {
        let fs = file_system();
        let mut manifest = Manifest::create(&files_in(&fs), NUMBER, first, next).unwrap();
        assert!(manifest.takes(&plain));
        assert_eq!(manifest.takes(&options), version == 2);
        manifest.append(next).unwrap();
        let bytes = bytes_of(&fs, &names::manifest_name(NUMBER));
        assert_eq!(bytes[8..12], [version, 0, 0, 0]);
        let mut found = Vec::new();
        let tail = replay(Path::new("m"), &bytes, NUMBER, |edit| {
            found.push(edit);
            Ok(())
        });
        assert_eq!(tail.unwrap().valid_end, bytes.len() as u64);
        assert_eq!(found, [first.clone(), next.clone()]);
    }
}

#[test]
fn options_of_a_later_rhumb_are_told_from_damage() {
    let fs = file_system();
    let mut manifest =
        Manifest::create(&files_in(&fs), NUMBER, &options_edit(), &Edit::default()).unwrap();
    manifest.append(&Edit::default()).unwrap();
    let name = names::manifest_name(NUMBER);
    let bytes = bytes_of(&fs, &name);
    let change = |what: &[u8], to: &[u8]| {
        let mut bytes = bytes.clone();
        let at = bytes.windows(what.len()).position(|w| w == what).unwrap();
        bytes[at..][..to.len()].copy_from_slice(to);
        let length = HEADER_BYTES + 16 + options_edit().encode().len();
        let record = &bytes[HEADER_BYTES + 4..length];
        let sum = crate::entry::checksum::crc(record)
            .wrapping_add(crate::entry::checksum::stamp(NUMBER, HEADER_BYTES as u64));
        bytes[HEADER_BYTES..][..4].copy_from_slice(&sum.to_le_bytes());
        replay(Path::new("m"), &bytes, NUMBER, |_| Ok(())).unwrap_err()
    };
    let later = change(b"\x01\x02fp", b"\x01\x02fq");
    assert!(matches!(later, Error::Unsupported { .. }), "{later}");
    assert!(later.to_string().starts_with("m needs"), "{later}");
    assert!(later.to_string().contains("\"fq\""), "{later}");
    let damaged = change(b"\x01\x02fp", b"\x01\x02\xff\xff");
    assert!(matches!(damaged, Error::Corruption { .. }), "{damaged}");
}
