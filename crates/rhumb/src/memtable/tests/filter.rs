//! The filter over the keys of a memtable.

use super::*;

#[test]
fn a_filter_begins_with_many_entries_and_has_all_keys() {
    const MANY: u64 = 20_000;
    let memtable = Arc::new(Memtable::new());
    let key = |n: u64| n.to_be_bytes();
    let has = |n: u64| memtable.may_have(hash_key(&key(n)));
    let insert = |n: u64| memtable.insert(&key(n), n + 1, EntryKind::Put, b"value");
    (0..LEAST_FILTERED - 1).for_each(|n| insert(n).unwrap());
    memtable.begin_filter(4 << 20);
    assert!(has(MANY), "too few for a filter");
    insert(LEAST_FILTERED - 1).unwrap();
    let without = memtable.bytes();
    // For as many entries as will come.
    memtable.begin_filter(without as u64 / LEAST_FILTERED * MANY);
    let filtered = memtable.bytes();
    assert!(filtered > without, "its memory counts");
    (LEAST_FILTERED..MANY).for_each(|n| insert(n).unwrap());
    assert!((0..MANY).all(has));
    let wrong = (1 << 40..(1 << 40) + MANY).filter(|n| has(*n)).count() as u64;
    assert!(wrong < MANY / 20, "{wrong} of {MANY}");
    let others = memtable.bytes() - filtered;
    memtable.begin_filter(4 << 20);
    assert_eq!(memtable.bytes() - filtered, others, "it begins once");
}

#[test]
fn readers_miss_no_key_while_a_filter_begins() {
    let (memtable, published) = (Arc::new(Memtable::new()), AtomicU64::new(0));
    let key = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
    const KEYS: u64 = 30_000;
    std::thread::scope(|threads| {
        for reader in 0..2 {
            let (memtable, published) = (&memtable, &published);
            threads.spawn(move || {
                let mut rng = StdRng::seed_from_u64(reader);
                loop {
                    let visible = published.load(Ordering::Acquire);
                    if visible == KEYS {
                        break;
                    }
                    // The newest ones most often.
                    let back = rng.random_range(0..=visible.min(20));
                    let Some(n) = (visible - back).checked_sub(1) else {
                        continue;
                    };
                    assert!(memtable.may_have(hash_key(&key(n))), "{n} of {visible}");
                    assert!(memtable.get(&key(n), visible).is_some(), "{n} of {visible}");
                }
            });
        }
        for n in 0..KEYS {
            memtable
                .insert(&key(n), n + 1, EntryKind::Put, b"")
                .unwrap();
            if n == KEYS / 3 {
                memtable.begin_filter(1 << 20);
            }
            published.store(n + 1, Ordering::Release);
        }
    });
}
