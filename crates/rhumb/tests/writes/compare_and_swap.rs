//! A compare-and-swap is one step among the writes of all threads, and survives as they do.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use rhumb::fs::{DataLoss, DirectoryLoss, Loss, MemoryFileSystem};
use rhumb::{CompareAndSwapError, Db, Durability, Error, Options};

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// Adds one to a counter and returns what it was before.
fn increment(db: &Db, key: &str) -> u64 {
    let mut current: Option<Vec<u8>> = db.get(key).unwrap().map(|value| value.to_vec());
    loop {
        let count = current.as_deref().map_or(0, number);
        let new = (count + 1).to_be_bytes();
        match db
            .compare_and_swap(key, current.as_deref(), Some(&new))
            .unwrap()
        {
            Ok(()) => return count,
            Err(other) => current = other.current,
        }
    }
}

#[test]
fn it_writes_where_the_value_is_the_expected_one() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    let other = |current: Option<&[u8]>| {
        let current = current.map(<[u8]>::to_vec);
        Err(CompareAndSwapError { current })
    };
    let swap = |expected: Option<&[u8]>, new: Option<&[u8]>| {
        db.compare_and_swap("k", expected, new).unwrap()
    };
    // In the write buffer, and with what is there in tables.
    for _ in 0..2 {
        assert_eq!(swap(Some(b"1"), Some(b"2")), other(None));
        assert_eq!(swap(None, Some(b"1")), Ok(()));
        assert_eq!(swap(None, Some(b"2")), other(Some(b"1")));
        assert_eq!(swap(Some(b""), Some(b"2")), other(Some(b"1")));
        db.flush().unwrap();
        assert_eq!(swap(Some(b"2"), None), other(Some(b"1")));
        assert_eq!(swap(Some(b"1"), Some(b"")), Ok(()));
        assert_eq!(swap(None, Some(b"2")), other(Some(b"")));
        let snapshot = db.snapshot();
        assert_eq!(swap(Some(b""), None), Ok(()));
        assert_eq!(db.get("k").unwrap(), None);
        assert_eq!(snapshot.get(&db, "k").unwrap().unwrap(), "");
        assert_eq!(swap(None, None), Ok(()));
        db.put("k", "3").unwrap();
        db.delete_range("a".."z").unwrap();
        db.compact_range(None, None).unwrap();
    }
    let text = CompareAndSwapError { current: None }.to_string();
    assert!(text.contains("no value"), "{text}");
}

#[test]
fn what_cannot_be_written_is_refused() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let keyspace = db.create_keyspace("dropped").unwrap();
    db.drop_keyspace("dropped").unwrap();
    let error = keyspace.compare_and_swap("k", None, None).unwrap_err();
    assert!(matches!(error, Error::NoSuchKeyspace(_)), "{error}");
    let long = vec![0; 65_537];
    let error = db.compare_and_swap(&long, None, Some(b"1")).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    drop(keyspace);
    db.close().unwrap();
    let db = Db::open_read_only("store", options).unwrap();
    for expected in [None, Some(&b"1"[..])] {
        let error = db.compare_and_swap("k", expected, None).unwrap_err();
        assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
    }
}

/// Under both durabilities, on a disk, where writers wait for syncs and form groups.
#[test]
fn no_increment_of_several_threads_is_lost() {
    for (durability, rounds) in [(Durability::Immediate, 60), (Durability::Buffered, 1500)] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            durability,
            write_buffer_bytes: 8 << 10,
            ..Options::default()
        };
        let db = Db::open(folder.path(), options.clone()).unwrap();
        let seen = Mutex::new([HashSet::new(), HashSet::new()]);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (db, seen) = (&db, &seen);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let which = (thread + round) % 2;
                        let before = increment(db, ["a", "b"][which]);
                        assert!(seen.lock().unwrap()[which].insert(before), "{before} twice");
                        // Writes of other keys go into the same groups.
                        db.put(format!("{thread}"), format!("{round}")).unwrap();
                    }
                });
            }
        });
        let check = |db: &Db| {
            for key in ["a", "b"] {
                assert_eq!(number(&db.get(key).unwrap().unwrap()), 2 * rounds as u64);
            }
        };
        check(&db);
        db.close().unwrap();
        check(&Db::open(folder.path(), options).unwrap());
    }
}

/// What a thread did to one key, when it began and ended by a common clock, and what it was told.
#[derive(Debug, Clone)]
struct Call {
    began: u64,
    ended: u64,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Put(u8),
    Delete,
    Get(Option<u8>),
    /// Expected and new value, and the one that was there instead.
    Swap(Option<u8>, Option<u8>, Result<(), Option<u8>>),
}

impl What {
    /// The value behind the call if it is made where the key has `value`; `None` if it would have been
    /// answered otherwise.
    fn apply(&self, value: Option<u8>) -> Option<Option<u8>> {
        match self {
            What::Put(new) => Some(Some(*new)),
            What::Delete => Some(None),
            What::Get(found) => (*found == value).then_some(value),
            What::Swap(expected, new, Ok(())) => (*expected == value).then_some(*new),
            What::Swap(expected, _, Err(found)) => {
                (*found == value && *expected != value).then_some(value)
            }
        }
    }
}

/// Whether the calls can be put into an order that their times allow (one that ended before another
/// began comes before it), in which each has the answer that it got (Wing and Gong, 1993).
fn is_linearizable(
    calls: &[Call],
    done: u32,
    value: Option<u8>,
    tried: &mut HashSet<(u32, Option<u8>)>,
) -> bool {
    if done.count_ones() as usize == calls.len() {
        return true;
    }
    if !tried.insert((done, value)) {
        return false;
    }
    let open = |i: &usize| done & (1 << i) == 0;
    let first_end = (0..calls.len()).filter(open).map(|i| calls[i].ended).min();
    (0..calls.len()).filter(open).any(|i| {
        let may_be_next = first_end.is_some_and(|end| calls[i].began <= end);
        may_be_next
            && calls[i]
                .what
                .apply(value)
                .is_some_and(|after| is_linearizable(calls, done | 1 << i, after, tried))
    })
}

#[test]
fn the_checker_knows_a_wrong_history() {
    let call = |began, ended, what| Call { began, ended, what };
    let swap = |to| What::Swap(None, Some(to), Ok(()));
    let both = [call(0, 3, swap(1)), call(1, 2, swap(2))];
    assert!(!is_linearizable(&both, 0, None, &mut HashSet::new()));
    let late = What::Swap(None, Some(2), Err(Some(1)));
    let one = [call(0, 3, swap(1)), call(1, 2, late.clone())];
    assert!(is_linearizable(&one, 0, None, &mut HashSet::new()));
    let too_early = [call(2, 3, swap(1)), call(0, 1, late)];
    assert!(!is_linearizable(&too_early, 0, None, &mut HashSet::new()));
}

/// One call of a thread; `choice` says which.
fn call(db: &Db, choice: u64, clock: &AtomicU64) -> Call {
    let value = |n: u64| [None, Some(1), Some(2)][(n % 3) as usize];
    let byte = |bytes: &[u8]| bytes[0];
    let began = clock.fetch_add(1, Ordering::SeqCst);
    let what = match choice % 8 {
        0 => {
            let new = 1 + (choice >> 3 & 1) as u8;
            db.put("k", [new]).unwrap();
            What::Put(new)
        }
        1 => {
            db.delete("k").unwrap();
            What::Delete
        }
        2 => What::Get(db.get("k").unwrap().as_deref().map(byte)),
        _ => {
            let (expected, new) = (value(choice >> 3), value(choice >> 8));
            let (e, n) = (expected.map(|v| [v]), new.map(|v| [v]));
            let (e, n) = (e.as_ref().map(|v| &v[..]), n.as_ref().map(|v| &v[..]));
            let swapped = db.compare_and_swap("k", e, n).unwrap();
            let swapped = swapped.map_err(|other| other.current.as_deref().map(byte));
            What::Swap(expected, new, swapped)
        }
    };
    let ended = clock.fetch_add(1, Ordering::SeqCst);
    Call { began, ended, what }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 27)
}

#[test]
fn swaps_puts_and_gets_of_several_threads_are_linearizable() {
    let seed = std::env::var("RHUMB_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let seed: u64 = seed.unwrap_or(20_261_122);
    const HISTORIES: usize = 300;
    println!("seed {seed}, {HISTORIES} histories");
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(folder.path(), Options::default()).unwrap();
    let (clock, mut swapped) = (AtomicU64::new(0), 0);
    for history in 0..HISTORIES as u64 {
        db.delete("k").unwrap();
        let (calls, barrier) = (Mutex::new(Vec::new()), Barrier::new(4));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (db, clock, calls, barrier) = (&db, &clock, &calls, &barrier);
                scope.spawn(move || {
                    let mut state = seed ^ (history * 4 + thread) << 20;
                    barrier.wait();
                    for _ in 0..4 {
                        let done = call(db, random(&mut state), clock);
                        calls.lock().unwrap().push(done);
                    }
                });
            }
        });
        let calls = calls.into_inner().unwrap();
        let succeeded = |call: &&Call| matches!(call.what, What::Swap(_, _, Ok(())));
        swapped += calls.iter().filter(succeeded).count();
        let legal = is_linearizable(&calls, 0, None, &mut HashSet::new());
        assert!(legal, "history {history}: {calls:#?}");
    }
    println!("{swapped} swaps succeeded");
    assert!(swapped > HISTORIES, "too few swaps to prove anything");
}

/// Power is cut while threads count: what was acknowledged is there, and no value is skipped.
#[test]
fn counters_survive_a_loss_of_power() {
    let disk = MemoryFileSystem::new();
    let options = |disk: &MemoryFileSystem| Options {
        file_system: Arc::new(disk.clone()),
        write_buffer_bytes: 4 << 10,
        ..Options::in_memory()
    };
    let db = Db::open("store", options(&disk)).unwrap();
    let acknowledged = AtomicU64::new(0);
    let crashes = std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..400 {
                    increment(&db, "counter");
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let mut crashes = HashMap::new();
        while acknowledged.load(Ordering::SeqCst) < 1200 {
            let least = acknowledged.load(Ordering::SeqCst);
            let loss = Loss {
                data: DataLoss::Lost,
                directory: DirectoryLoss::Lost,
            };
            let crashed = disk.crash(loss, least);
            // Each thread has one increment under way.
            let most = acknowledged.load(Ordering::SeqCst) + 3;
            crashes.insert(least, (most, crashed));
            std::thread::yield_now();
        }
        crashes
    });
    println!("{} losses of power", crashes.len());
    assert!(!crashes.is_empty());
    for (least, (most, crashed)) in crashes.into_iter().take(100) {
        assert!(
            !crashed
                .bytes(&Path::new("store").join("CURRENT"))
                .unwrap()
                .is_empty()
        );
        let db = Db::open("store", options(&crashed)).unwrap();
        let found = db.get("counter").unwrap().as_deref().map_or(0, number);
        assert!(
            (least..=most).contains(&found),
            "{found}, not {least} to {most}"
        );
        assert_eq!(increment(&db, "counter"), found);
    }
}
