//! What flushes see of streams of keys, sorted by some degree.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Arrivals, BEGIN, Cut, GO_ON, Order, Seen};
use crate::entry::{EntryKind, Sequence};
use crate::memtable::Memtable;
use crate::test_seed::test_seed;

const BUFFER: usize = 4_000;

/// The numbers below `n`, of which a share is displaced by up to `most` places.
fn displaced(n: usize, share: f64, most: usize) -> Vec<u64> {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let mut numbers: Vec<u64> = (0..n as u64).collect();
    for at in 0..n {
        // Every swap displaces two.
        if rng.random_bool(share / 2.0) {
            let other = at + rng.random_range(1..=most);
            if other < n {
                numbers.swap(at, other);
            }
        }
    }
    numbers
}

/// The flushes of a stream of keys, without the store around them.
#[derive(Default)]
struct Stream {
    order: Order,
    sequence: Sequence,
    /// Early keys that are kept back.
    held: Vec<u64>,
}

impl Stream {
    /// Flushes the next keys.
    fn flush(&mut self, keys: &[u64], expired: Sequence) -> (Seen, Option<Cut>) {
        let memtable = Memtable::new();
        for key in keys {
            self.sequence += 1;
            let key = key.to_be_bytes();
            let inserted = memtable.insert(&key, self.sequence, EntryKind::Put, &[]);
            inserted.unwrap();
        }
        let arrived = Arrivals::of(&memtable);
        let (order, cut) = self.order.survey(&arrived, self.held.is_empty(), expired);
        self.order = order;
        self.held.extend(keys);
        match cut.as_ref().map(|cut| &cut.early) {
            Some(Some(early)) => self.held.retain(|key| key.to_be_bytes()[..] >= **early),
            _ => self.held.clear(),
        }
        (self.order.seen, cut)
    }

    fn flush_all(&mut self, keys: &[u64]) -> Vec<(Seen, Option<Cut>)> {
        let full = keys.chunks_exact(BUFFER);
        full.map(|keys| self.flush(keys, 0)).collect()
    }
}

fn number(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key[..8]);
    u64::from_be_bytes(bytes)
}

#[test]
fn of_sorted_keys_nothing_is_kept_back_or_cut() {
    let mut stream = Stream::default();
    for (n, (seen, cut)) in stream
        .flush_all(&displaced(10 * BUFFER, 0.0, 1))
        .into_iter()
        .enumerate()
    {
        assert!(seen.holds_back && seen.late == 0.0, "{seen:?}");
        let cut = cut.unwrap();
        assert_eq!((&cut.early, &cut.far), (&None, &None));
        // The next key is the frontier or beyond it.
        let frontier = cut.frontier.map(|f| (number(&f), f.len()));
        let last = (n * BUFFER) as u64;
        assert_eq!(frontier, last.checked_sub(1).map(|last| (last, 9)));
    }
}

#[test]
fn of_nearly_sorted_keys_little_is_kept_back() {
    for (share, most) in [(0.01, BUFFER / 4), (0.05, BUFFER), (0.1, 2 * BUFFER)] {
        let mut stream = Stream::default();
        let keys = displaced(40 * BUFFER, share, most);
        let (mut frontier, mut late) = (0, 0);
        for keys in keys.chunks_exact(BUFFER) {
            let (seen, cut) = stream.flush(keys, 0);
            assert!(seen.holds_back, "{share}, {most}: {seen:?}");
            let cut = cut.unwrap();
            let before = cut.frontier.as_deref().map_or(0, number);
            assert!(before >= frontier, "tables of two flushes overlap");
            frontier = number(&cut.early.unwrap());
            late += keys.iter().filter(|key| **key < before).count();
            let held = stream.held.len() as f64 / BUFFER as f64;
            assert!(held < GO_ON.early + 0.1, "{share}, {most}: {held}");
            assert!((seen.early - held).abs() < 0.1, "{seen:?}, but {held} held");
        }
        // Only those that were displaced come late.
        let late = late as f64 / keys.len() as f64;
        assert!(late < share / 2.0 + 0.01, "{share}, {most}: {late} late");
    }
}

#[test]
fn of_random_keys_nothing_is_kept_back() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let keys: Vec<u64> = (0..20 * BUFFER).map(|_| rng.random()).collect();
    let mut stream = Stream::default();
    for (seen, cut) in stream.flush_all(&keys) {
        assert!(!seen.holds_back && cut.is_none(), "{seen:?}");
    }
}

/// Half of the keys come up to 20 write buffers too early or too late: kept back, they would fill many.
#[test]
fn displacement_by_many_buffers_turns_it_off_and_order_on_again() {
    let keys = displaced(60 * BUFFER, 0.5, 20 * BUFFER);
    let mut stream = Stream::default();
    let flushes = stream.flush_all(&keys);
    let off = flushes.iter().skip(2).take(35);
    for (seen, cut) in off {
        assert!(!seen.holds_back && cut.is_none(), "{seen:?}");
        assert!(
            seen.early > BEGIN.early || seen.in_order < BEGIN.in_order || seen.late > BEGIN.late
        );
    }
    let first = keys.len() as u64;
    let sorted: Vec<u64> = (first..first + 5 * BUFFER as u64).collect();
    let (seen, cut) = stream.flush_all(&sorted).pop().unwrap();
    assert!(seen.holds_back && cut.is_some(), "{seen:?}");
}

/// A fifth is displaced by up to 40 write buffers: what is kept back grows from flush to flush, until it is
/// too much.
#[test]
fn what_would_grow_beyond_the_bound_ends() {
    let keys = displaced(60 * BUFFER, 0.2, 40 * BUFFER);
    let mut stream = Stream::default();
    let mut held = 0;
    for keys in keys.chunks_exact(BUFFER) {
        stream.flush(keys, 0);
        held = held.max(stream.held.len());
    }
    assert!(held > BUFFER / 4 && held < BUFFER * 5 / 8, "{held}");
}

/// Keys that are too old to be kept back are not waited for.
#[test]
fn old_keys_are_forgotten() {
    let mut stream = Stream::default();
    let mut keys: Vec<u64> = (0..BUFFER as u64).collect();
    // Beyond all others, for ever.
    for (n, key) in keys.iter_mut().enumerate().filter(|(n, _)| n % 20 == 0) {
        *key = u64::MAX - n as u64;
    }
    let (seen, _) = stream.flush(&keys, 0);
    assert!(seen.early > 0.05, "{seen:?}");
    let next: Vec<u64> = (BUFFER as u64..2 * BUFFER as u64).collect();
    let mut second = Stream {
        order: stream.order.clone(),
        sequence: stream.sequence,
        held: stream.held.clone(),
    };
    let (remembered, _) = stream.flush(&next, 0);
    let (forgotten, _) = second.flush(&next, BUFFER as u64);
    assert!(remembered.early > forgotten.early + 0.04);
}

#[test]
fn an_empty_memtable_changes_nothing() {
    let mut stream = Stream::default();
    stream.flush_all(&displaced(3 * BUFFER, 0.02, 100));
    let (seen, frontier) = (stream.order.seen, stream.order.frontier.clone());
    let (_, cut) = stream.flush(&[], 0);
    assert_eq!(cut, None);
    assert_eq!((stream.order.seen, stream.order.frontier), (seen, frontier));
}
