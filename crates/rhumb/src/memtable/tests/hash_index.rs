//! The hash index over the keys of a memtable.

use super::*;

#[test]
fn an_index_begins_with_many_entries_and_has_all_keys() {
    const MANY: u64 = 20_000;
    let memtable = Memtable::new();
    let key = |n: u64| n.to_be_bytes();
    let find = |n: u64| get(&memtable, &key(n), MAX_SEQUENCE).map(|found| found.sequence);
    let knows = |n: u64| {
        let index = memtable.index.get();
        index.is_some_and(|index| index.find(hash_key(&key(n)), Some) != Found::Unknown)
    };
    let insert = |n: u64| memtable.insert(&key(n), n + 1, EntryKind::Put, b"value");
    (0..LEAST_INDEXED - 1).for_each(|n| insert(n).unwrap());
    memtable.begin_index(4 << 20);
    assert!(!knows(0), "too few for an index");
    insert(LEAST_INDEXED - 1).unwrap();
    let without = memtable.bytes();
    // For as many entries as will come.
    memtable.begin_index(without as u64 / LEAST_INDEXED * MANY);
    let indexed = memtable.bytes();
    assert!(indexed > without, "its memory counts");
    (LEAST_INDEXED..MANY).for_each(|n| insert(n).unwrap());
    assert!((0..MANY).all(|n| find(n) == Some(n + 1)));
    assert!((MANY..2 * MANY).all(|n| find(n).is_none()));
    assert!((0..2 * MANY).all(knows), "there is room for all");
    let others = memtable.bytes() - indexed;
    memtable.begin_index(4 << 20);
    assert_eq!(memtable.bytes() - indexed, others, "it begins once");
}

/// As a log is replayed twice, or the parts of a commit one by one.
#[test]
fn the_newest_version_is_found_in_whatever_order_they_come() {
    const KEYS: u64 = 200;
    let mut rng = StdRng::seed_from_u64(test_seed());
    let memtable = Memtable::new();
    let mut newest = vec![0; KEYS as usize];
    for round in 0..4000 {
        let (n, sequence) = (rng.random_range(0..KEYS), rng.random_range(1..1000));
        let key = n.to_be_bytes();
        memtable
            .insert(&key, sequence, EntryKind::Put, b"value")
            .unwrap();
        newest[n as usize] = sequence.max(newest[n as usize]);
        // Room for a fifth of the keys, so that buckets are full.
        if round == 30 {
            memtable.begin_index(memtable.bytes() as u64 * 40 / memtable.entries());
        }
        let n = rng.random_range(0..2 * KEYS);
        let found = get(&memtable, &n.to_be_bytes(), MAX_SEQUENCE);
        let expected = newest.get(n as usize).copied().filter(|newest| *newest > 0);
        assert_eq!(found.map(|found| found.sequence), expected, "{n}");
    }
    assert!(memtable.index.get().is_some());
}

#[test]
fn readers_miss_no_version_while_an_index_begins() {
    let (memtable, published) = (Memtable::new(), AtomicU64::new(0));
    const KEYS: u64 = 10_000;
    const ENTRIES: u64 = 3 * KEYS;
    let key = |n: u64| ((n % KEYS).wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
    std::thread::scope(|threads| {
        for reader in 0..2 {
            let (memtable, published) = (&memtable, &published);
            threads.spawn(move || {
                let mut rng = StdRng::seed_from_u64(reader);
                loop {
                    let visible = published.load(Ordering::Acquire);
                    if visible == ENTRIES {
                        break;
                    }
                    // The newest ones most often.
                    let back = rng.random_range(0..=visible.min(20));
                    let Some(n) = (visible - back).checked_sub(1) else {
                        continue;
                    };
                    let found = get(memtable, &key(n), visible).map(|found| found.sequence);
                    assert_eq!(found, Some(n + 1), "{n} of {visible}");
                }
            });
        }
        for n in 0..ENTRIES {
            memtable
                .insert(&key(n), n + 1, EntryKind::Put, b"")
                .unwrap();
            if n == KEYS / 3 {
                memtable.begin_index(1 << 20);
            }
            published.store(n + 1, Ordering::Release);
        }
    });
}
