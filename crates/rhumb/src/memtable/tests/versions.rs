//! Passing older versions of keys.

use super::*;

/// The entries of a memtable where `next_key` stops, from the first one on.
fn stops(memtable: &Arc<Memtable>) -> Vec<(Vec<u8>, Sequence)> {
    let mut cursor = memtable.cursor();
    cursor.seek_first().unwrap();
    let mut stops = Vec::new();
    while let Some(here) = cursor.here() {
        stops.push((here.key.to_vec(), here.sequence));
        cursor.next_key().unwrap();
    }
    stops
}

/// Where it stops without the older versions of a key it stopped at before.
fn keys(stops: &[(Vec<u8>, Sequence)]) -> Vec<(Vec<u8>, Sequence)> {
    let mut keys = stops.to_vec();
    keys.dedup_by(|other, one| other.0 == one.0);
    keys
}

#[test]
fn the_newest_version_of_every_key_is_met() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for prefix in prefixes() {
        let memtable = Arc::new(Memtable::with_prefix(prefix.into()));
        let model = fill(&mut rng, &memtable, 3000);
        let entries = model
            .keys()
            .map(|(key, sequence)| (key.clone(), sequence.0));
        let entries: Vec<_> = entries.collect();
        let stops = stops(&memtable);
        assert!(stops.is_sorted_by_key(|(key, sequence)| (key, Reverse(*sequence))));
        assert_eq!(keys(&stops), keys(&entries));
        assert!(stops.len() * 4 < entries.len() * 3, "{} stops", stops.len());
    }
}

/// However many leaves they fill. In another order than that of commits they are met, if not as fast.
#[test]
fn thousands_of_versions_are_passed_in_a_few_steps() {
    const VERSIONS: u64 = 5000;
    let mut rng = StdRng::seed_from_u64(test_seed());
    let mut sequences: Vec<_> = (1..=VERSIONS).collect();
    for in_order in [true, false] {
        if !in_order {
            sequences.sort_by_cached_key(|_| rng.random::<u64>());
        }
        let memtable = Arc::new(Memtable::new());
        let put = |key: &[u8], sequence| memtable.insert(key, sequence, EntryKind::Put, b"");
        for (n, &sequence) in (0..).zip(&sequences) {
            put(b"much-changed", sequence).unwrap();
            if n % 500 == 0 {
                put(format!("much-changed-{n}").as_bytes(), sequence).unwrap();
                put(format!("much-change-{n}").as_bytes(), sequence).unwrap();
            }
        }
        let stops = stops(&memtable);
        assert_eq!(keys(&stops).len(), 21);
        assert!(!in_order || stops.len() <= 22, "{} stops", stops.len());
    }
}
