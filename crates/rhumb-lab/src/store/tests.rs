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
    }
}

fn candidates(table: &str) -> Vec<Candidate> {
    let settings = settings(table);
    let peers = Peer::built_in().map(|peer| Candidate::Peer(peer, settings.clone()));
    let mut all: Vec<Candidate> = peers.collect();
    all.push(Candidate::Rhumb(settings));
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
        "size=256KiB",
        "size=256KiB,compression=lz4",
        "size=256KiB,filter=0",
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
                assert!(about.index > 0 && about.tables > 0, "{name}: {about:?}");
                let tree = ["lmdb", "redb"].contains(&candidate.label().as_str());
                let filters = !tree && !table.contains("filter=0");
                assert_eq!(about.filter > 0, filters, "{name}: {about:?}");
                store.close().unwrap();
            }
        }
    }
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
