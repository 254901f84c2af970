//! Every store of this build follows the contract of the trait, warm and cold, with every
//! compression.

use std::collections::BTreeMap;

use super::*;
use crate::data::Random;

/// Settings with small tables, so that there are several.
fn settings(table: &str) -> Settings {
    Settings {
        index: "plr".parse().unwrap(),
        table: table.parse().unwrap(),
        cache_bytes: 16 << 20,
        write_buffer_bytes: 1 << 20,
        ..Settings::default()
    }
}

/// The plainest table.
const TABLE: &str = "size=256KiB";

fn candidates(table: &str) -> Vec<System> {
    let settings = settings(table);
    let peers = Peer::built_in().map(|peer| System::Peer(peer, settings.clone()));
    let mut all: Vec<System> = peers.collect();
    // Those of the lab have no settings of tables, so one table is enough for them.
    let of_pointers = Peer::OF_POINTERS.into_iter().filter(|_| table == TABLE);
    all.extend(of_pointers.map(|peer| {
        let settings = Settings {
            memory_bytes: 256 << 10,
            ..settings.clone()
        };
        System::Peer(peer, settings)
    }));
    all.push(System::Rhumb(settings));
    all
}

/// Batches of text keys that overwrite each other, and the resulting pairs.
fn batches(seed: u64) -> (Vec<Pairs>, BTreeMap<Vec<u8>, Vec<u8>>) {
    let mut random = Random::new(seed, 1);
    let (mut batches, mut all) = (Vec::new(), BTreeMap::new());
    for _ in 0..20 {
        let mut batch = Pairs::default();
        for _ in 0..500 {
            let key = format!("key/{:04}/{:03}", random.below(900), random.below(30));
            let mut value = Vec::new();
            let bytes = random.below(300) as usize;
            random.fill(&mut value, bytes);
            batch.push(key.as_bytes(), &value);
            all.insert(key.into_bytes(), value);
        }
        batches.push(batch);
    }
    (batches, all)
}

fn compare(store: &dyn Store, all: &BTreeMap<Vec<u8>, Vec<u8>>, name: &str) {
    let (mut value, mut pairs) = (vec![1], Pairs::default());
    for (key, expected) in all {
        assert!(store.get(key, &mut value).unwrap(), "{name}: {key:?}");
        assert_eq!(&value, expected, "{name}: {key:?}");
    }
    for absent in ["a", "key/0000/", "key/0500/", "key/0899/030", "z"] {
        assert!(
            !store.get(absent.as_bytes(), &mut value).unwrap(),
            "{name}: {absent}"
        );
        for count in [0, 1, 7, 100] {
            store.scan(absent.as_bytes(), count, &mut pairs).unwrap();
            let found: Vec<(&[u8], &[u8])> = pairs.iter().collect();
            let range = all.range(absent.as_bytes().to_vec()..).take(count);
            let expected: Vec<(&[u8], &[u8])> = range.map(|(k, v)| (&k[..], &v[..])).collect();
            assert_eq!(found, expected, "{name}: {count} from {absent}");
        }
    }
}

#[test]
fn stores_return_what_was_written() {
    for table in [
        TABLE,
        "size=256KiB,compression=lz4",
        "size=256KiB,filter=0",
        "size=256KiB,values=100",
    ] {
        let (batches, all) = batches(7);
        for candidate in candidates(table) {
            let name = format!("{}, {table}", candidate.label());
            let directory = tempfile::tempdir().unwrap();
            let open = |temperature| candidate.open(directory.path(), temperature).unwrap();
            let store = open(Temperature::Warm);
            for batch in &batches {
                store.write(batch).unwrap();
            }
            compare(&*store, &all, &name);
            store.settle().unwrap();
            compare(&*store, &all, &name);
            store.close().unwrap();
            for temperature in [Temperature::Warm, Temperature::Cold] {
                let store = open(temperature);
                compare(&*store, &all, &name);
                store.cool().unwrap();
                compare(&*store, &all, &name);
                let about = store.footprint().unwrap().unwrap();
                let label = candidate.label();
                let of_pointers = Peer::OF_POINTERS.map(|peer| peer.to_string());
                // All levels of a small B+-tree on disk are read from there.
                let index = about.index > 0 || label == Peer::BtreeDisk.to_string();
                assert!(index && about.tables > 0, "{name}: {about:?}");
                let tree = ["lmdb", "redb"].contains(&label.as_str());
                let filters = !tree && !of_pointers.contains(&label) && !table.contains("filter=0");
                assert_eq!(about.filter > 0, filters, "{name}: {about:?}");
                store.close().unwrap();
            }
        }
    }
}

/// A cursor can be put anywhere again and again, forwards and backwards, and ends behind the last
/// pair.
#[test]
fn cursors_find_what_was_written() {
    let (batches, all) = batches(8);
    let mut random = Random::new(8, 2);
    for candidate in candidates(TABLE) {
        let name = candidate.label();
        let directory = tempfile::tempdir().unwrap();
        let store = candidate.open(directory.path(), Temperature::Warm).unwrap();
        let empty = store.with_cursor(&mut |cursor| {
            assert!(!cursor.seek(b"").unwrap(), "{name}");
            Ok(())
        });
        empty.unwrap();
        batches.iter().for_each(|batch| store.write(batch).unwrap());
        store.flush().unwrap();
        let walked = store.with_cursor(&mut |cursor| {
            for _ in 0..300 {
                let from = format!("key/{:04}/{:03}", random.below(910), random.below(30));
                let mut more = cursor.seek(from.as_bytes())?;
                for (key, value) in all.range(from.into_bytes()..).take(5) {
                    assert!(more, "{name}");
                    assert_eq!(cursor.pair(), (&key[..], &value[..]), "{name}");
                    more = cursor.advance()?;
                }
            }
            let mut count = 0;
            let mut more = cursor.seek(b"")?;
            while more {
                count += 1;
                more = cursor.advance()?;
            }
            assert_eq!(count, all.len(), "{name}");
            Ok(())
        });
        walked.unwrap();
        store.close().unwrap();
    }
}

/// Counters grow with what they count; rhumb times the parts of a get.
#[test]
fn rhumb_counts_by_name() {
    let (batches, all) = batches(9);
    let directory = tempfile::tempdir().unwrap();
    let store = settings("size=256KiB")
        .open(directory.path(), Temperature::Warm)
        .unwrap();
    batches.iter().for_each(|batch| store.write(batch).unwrap());
    store.settle().unwrap();
    let before = store.counters().unwrap();
    let mut value = Vec::new();
    for key in all.keys() {
        assert!(store.get(key, &mut value).unwrap());
    }
    store.scan(b"", 10, &mut Pairs::default()).unwrap();
    let counted = store.counters().unwrap().since(&before);
    assert_eq!(counted.get("gets"), Some(all.len() as u64));
    assert!(counted.get("get_blocks") >= Some(all.len() as u64));
    assert!(counted.get("scan_blocks_read").is_some() && before.get("flushes") >= Some(1));
    assert_eq!(
        (counted.get("flushes"), counted.get("merges")),
        (Some(0), Some(0))
    );
    let levels = store.footprint().unwrap().unwrap().levels;
    assert_eq!(levels, Some(1));
}

#[test]
fn the_parts_of_a_get_are_timed() {
    let (batches, all) = batches(8);
    let mut names = Vec::new();
    for candidate in candidates(TABLE) {
        let directory = tempfile::tempdir().unwrap();
        let store = candidate.open(directory.path(), Temperature::Warm).unwrap();
        for batch in &batches {
            store.write(batch).unwrap();
        }
        store.settle().unwrap();
        let present = all.keys().next().unwrap();
        for (key, found) in [(&b"key/none"[..], false), (present, true)] {
            let Some(times) = store.get_timed(key).unwrap() else {
                continue;
            };
            assert_eq!(times.found, found);
            assert_eq!(times.search.is_zero(), !found);
            if found {
                names.push(candidate.label());
            }
        }
    }
    let of_rocksdb = Peer::built_in().filter(|peer| peer.to_string().starts_with("rocksdb"));
    assert_eq!(names.len(), 1 + of_rocksdb.count(), "{names:?}");
}

#[test]
fn the_error_for_a_store_not_in_this_build_names_the_feature() {
    let built: Vec<Peer> = Peer::built_in().collect();
    assert_eq!(built.contains(&Peer::Lmdb), cfg!(feature = "peer-lmdb"));
    assert_eq!(built.contains(&Peer::Rocksdb), cfg!(feature = "peers"));
    if !built.contains(&Peer::Rocksdb) {
        let directory = tempfile::tempdir().unwrap();
        let store = Peer::Rocksdb.open(directory.path(), &settings(""), Temperature::Warm);
        let error = store.err().unwrap().to_string();
        assert!(error.contains("--features peers"), "{error}");
    }
}
