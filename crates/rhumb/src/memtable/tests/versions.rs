//! Keys with many versions.

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

/// Fifty keys are written in turns. At any time a reader of any older state meets the version of that state.
#[test]
fn readers_of_every_state_see_its_versions_while_newer_ones_come() {
    const KEYS: u64 = 50;
    const MOST: u64 = 200_000;
    let seed = test_seed();
    let key = |n: u64| format!("key {:02}", n % KEYS).into_bytes();
    let memtable = Arc::new(Memtable::new());
    let published = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for sequence in 1..=MOST {
                let key = key(sequence);
                let value = sequence.to_be_bytes();
                let put = memtable.insert(&key, sequence, EntryKind::Put, &value);
                put.unwrap();
                published.store(sequence, Ordering::Release);
            }
        });
        for reader in 0..2 {
            let (memtable, published) = (&memtable, &published);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed + reader);
                let mut cursor = memtable.cursor();
                loop {
                    let newest = published.load(Ordering::Acquire);
                    let oldest = newest.saturating_sub([KEYS, MOST][rng.random_range(0..2)]);
                    let visible = rng.random_range(oldest..=newest);
                    let n = rng.random_range(0..KEYS);
                    let first = if n == 0 { KEYS } else { n };
                    let expected = (visible >= first).then(|| visible - (visible - first) % KEYS);
                    let found = get(memtable, &key(n), visible);
                    assert_eq!(found.map(|version| version.sequence), expected);
                    cursor.seek(&key(n), visible).unwrap();
                    if let Some(expected) = expected {
                        assert_at_version(&cursor, (&key(n), expected));
                        // Where a leaf was split before the key, it has an entry in each half.
                        let mut stops = 0;
                        while cursor.here().is_some_and(|here| here.key == key(n)) {
                            cursor.next_key().unwrap();
                            stops += 1;
                        }
                        assert!(stops <= 2, "{stops} stops");
                        assert!(cursor.here().is_none_or(|here| here.key > &key(n)[..]));
                        cursor.seek(&key(n), visible).unwrap();
                        cursor.prev().unwrap();
                        let here = cursor.here();
                        let newer = here.filter(|here| here.key == key(n));
                        assert!(newer.is_none_or(|here| here.sequence > visible));
                    }
                    if newest > KEYS && n > 0 {
                        cursor.seek_before(&key(n)).unwrap();
                        let first = if n == 1 { KEYS } else { n - 1 };
                        assert_at_version(&cursor, (&key(n - 1), first));
                    }
                    if newest == MOST {
                        break;
                    }
                }
            });
        }
    });
}

fn assert_at_version(cursor: &MemtableCursor, (key, sequence): (&[u8], Sequence)) {
    let here = cursor.here().unwrap();
    assert_eq!((here.key, here.sequence), (key, sequence));
    assert_eq!(cursor.value_bytes(), sequence.to_be_bytes());
}

/// However many there are. In another order than that of commits they are met, if not as fast.
#[test]
fn thousands_of_versions_are_passed_in_a_few_steps() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    // Versions in no order take time by the square of their number.
    for (in_order, versions) in [(true, 5000), (false, 500)] {
        let mut sequences: Vec<_> = (1..=versions).collect();
        if !in_order {
            sequences.sort_by_cached_key(|_| rng.random::<u64>());
        }
        let memtable = Arc::new(Memtable::new());
        let put = |key: &[u8], sequence| memtable.insert(key, sequence, EntryKind::Put, b"");
        for (n, &sequence) in (0..).zip(&sequences) {
            put(b"much-changed", sequence).unwrap();
            if n % (versions / 10) == 0 {
                put(format!("much-changed-{n}").as_bytes(), sequence).unwrap();
                put(format!("much-change-{n}").as_bytes(), sequence).unwrap();
            }
        }
        let stops = stops(&memtable);
        assert_eq!(keys(&stops).len(), 21);
        assert!(!in_order || stops.len() <= 22, "{} stops", stops.len());
    }
}
