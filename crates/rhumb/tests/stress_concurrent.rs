//! Four writers over two keyspaces, readers with snapshots, counters that threads raise by compare-and-swap,
//! and a thread that creates, drops, flushes and merges, under all index kinds, partitions and shapes: every
//! read shows exactly what some moment held.
//!
//! `RHUMB_SEED=n` repeats a case: its operations and settings are the same, the order in which threads run
//! is not. `RHUMB_DEEP=n` then runs it n times.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;
mod kit_concurrent;
mod kit_model;
mod kit_watchdog;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kit::access::read_all;
use kit::check::no_orphans;
use kit::oracle::Content;
use kit::{DIR, Random, dir};
use kit_concurrent::KEYSPACES;
use kit_concurrent::history::{History, WRITERS};
use kit_concurrent::judge::{Legal, judge};
use kit_concurrent::load::Load;
use kit_concurrent::run::{Answer, Run};
use kit_model::choices::Choices;
use kit_model::runs::{cases, number, scaled};
use kit_model::settings::{INDEXES, PARTITIONS, SHAPES, choose, describe, keyspace_options};
use kit_watchdog::Watchdog;
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Durability, Error, Keyspace, Options, inspect};

const COUNTERS: &str = "counters";

/// Sums over all cases.
#[derive(Debug, Default)]
struct Seen {
    reads: AtomicUsize,
    swaps: AtomicU64,
    swaps_too_late: AtomicU64,
    flushes: AtomicU64,
    merges: AtomicU64,
    moves: AtomicU64,
}

/// Settings in which index, partition and shape take turns; the rest is chosen.
fn settings(seed: u64, base: &Options) -> Options {
    let mut options = choose(&mut Choices::seeded(seed), &INDEXES, base);
    let turn = seed as usize;
    options.index = INDEXES[turn % INDEXES.len()].parse().unwrap();
    options.table.partition = PARTITIONS[turn / 2 % PARTITIONS.len()];
    options.levels.compaction = SHAPES[turn / 3 % SHAPES.len()];
    options
}

fn load(seed: u64) -> Load {
    let mut random = Random(seed ^ 0x7374_7265_7373);
    Load {
        seed,
        operations: random.pick(&[30, 60, 120]),
        keys: 10 + random.below(80),
        value_bytes: random.pick(&[20, 150, 600]),
        buffered_percent: random.pick(&[50, 90, 100]),
    }
}

/// Raises two counters while others write, on two threads. Each step is seen once.
fn count(run: &Run<'_>, counters: &Keyspace, seen: &Seen) {
    let raised = [const { AtomicU64::new(0) }; 2];
    let number = |value: Option<&[u8]>| {
        value.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()))
    };
    let raise = |thread: u64| {
        let mut random = Random(run.load.seed ^ thread);
        while run.writing() {
            let which = random.below(2);
            let key = [which as u8];
            let value = counters.get(key).unwrap().map(|value| value.to_vec());
            let new = number(value.as_deref()) + 1;
            let new = new.to_be_bytes();
            match counters
                .compare_and_swap(key, value.as_deref(), Some(&new))
                .unwrap()
            {
                Ok(()) => raised[which as usize].fetch_add(1, Ordering::SeqCst),
                Err(other) => {
                    assert_ne!(other.current, value, "a swap was refused for nothing");
                    seen.swaps_too_late.fetch_add(1, Ordering::Relaxed)
                }
            };
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| raise(1));
        raise(2);
    });
    for (key, raised) in raised.into_iter().enumerate() {
        let raised = raised.into_inner();
        let value = counters.get([key as u8]).unwrap();
        assert_eq!(
            number(value.as_deref()),
            raised,
            "a swap was lost or doubled"
        );
        seen.swaps.fetch_add(raised, Ordering::Relaxed);
    }
}

/// Checks that a store holds exactly what was written.
fn check(db: &Db, load: &Load, history: &History) -> Result<(), String> {
    let mut content: Content = read_all(db).map_err(|trouble| trouble.to_string())?;
    content.remove(COUNTERS);
    let done = history.acknowledged();
    let legal = Legal {
        durable: done,
        begun: done,
    };
    // Options that are set are no entries of writers.
    for keys in content.values_mut() {
        keys.remove(kit::oracle::OPTIONS_KEY);
    }
    judge(load, history, legal, &content).map(drop)
}

fn case(seed: u64, seen: &Seen) -> Result<(), String> {
    let memory = MemoryFileSystem::new();
    let base = Options {
        durability: Durability::Buffered,
        file_system: Arc::new(memory.clone()),
        ..Options::default()
    };
    let (options, load, history) = (settings(seed, &base), load(seed), History::default());
    let named = |what: &str, wrong: String| format!("{}, {what}: {wrong}", describe(&options));
    let db = Db::open(DIR, options.clone()).unwrap();
    let own = keyspace_options(seed);
    drop(db.create_keyspace_with(KEYSPACES[1], own).unwrap());
    let counters = db.create_keyspace(COUNTERS).unwrap();
    let never = |_: &Error, _| Answer::Wrong;
    let run = Run::new(&db, load, &history, &never);
    run.all(&memory, 2, |run| count(run, &counters, seen))
        .map_err(|wrong| named("while all write", wrong))?;
    seen.reads
        .fetch_add(run.reads.into_inner(), Ordering::Relaxed);
    let done = history.acknowledged();
    assert!(done[..WRITERS].iter().all(|n| *n == load.operations));
    check(&db, &load, &history).map_err(|wrong| named("at the end", wrong))?;
    let writes = db.stats().unwrap().writes;
    seen.flushes.fetch_add(writes.flushes, Ordering::Relaxed);
    seen.merges.fetch_add(writes.compactions, Ordering::Relaxed);
    seen.moves
        .fetch_add(writes.trivial_moves, Ordering::Relaxed);
    drop(counters);
    db.close().unwrap();

    let report = inspect::verify(dir(), &options, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{report:?}");
    let other = settings(seed + 1, &base);
    let db = Db::open(DIR, other).unwrap();
    check(&db, &load, &history).map_err(|wrong| named("opened again", wrong))?;
    db.settle();
    check(&db, &load, &history).map_err(|wrong| named("settled", wrong))?;
    no_orphans(&db, &memory)
}

#[test]
fn every_read_amid_writers_shows_a_moment() {
    let panics = kit::count_panics();
    let seen = Seen::default();
    cases("stress", 36, |seed| {
        let watchdog = Watchdog::new(format!("stress, seed {seed}"));
        let checked = case(seed, &seen);
        drop(watchdog);
        checked
    });
    println!("{seen:?}");
    assert_eq!(kit::panics(), panics);
    if number("RHUMB_SEED").is_none() {
        let of = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let reads = seen.reads.load(Ordering::Relaxed) as u64;
        let tables = of(&seen.flushes).min(of(&seen.merges));
        assert!(reads > scaled(500), "too few reads");
        assert!(tables > scaled(500), "too few tables");
        assert!(of(&seen.swaps_too_late) > 0, "no swap came too late");
    }
}
