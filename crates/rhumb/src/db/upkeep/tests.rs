//! What background work does next, and when it rests.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::background::{Crew, Round};
use super::learning::Turn;
use crate::compaction::{Claims, Input, Job};
use crate::db::handle::Handle;
use crate::db::opening::open::open_without_threads;
use crate::db::store::Store;
use crate::db::write::pressure::Pressure;
use crate::db::{Db, Keyspace, WriteBatch};
use crate::error::Error;
use crate::options::Options;
use crate::sync::lock;
use crate::tune::Next;

/// A store without background threads, so that a test does their work step by step.
fn without_threads(options: Options) -> Db {
    let store = open_without_threads(Path::new("store"), options).unwrap();
    Db::from_handle(Handle::new(store, Vec::new())).unwrap()
}

fn store(db: &Db) -> &Arc<Store> {
    &db.handle.store
}

/// Writes a few keys, which then wait to be flushed.
fn rotate(db: &Db, keyspace: &Keyspace) {
    rotate_keys(db, keyspace, ["a", "z"]);
}

fn rotate_keys(db: &Db, keyspace: &Keyspace, keys: [&str; 2]) {
    for key in keys {
        keyspace.put(key, [7; 100]).unwrap();
    }
    let _write = lock(&store(db).write);
    keyspace.state().view.rotate();
}

/// Writes a table of level 0 that overlaps the others of the keyspace.
fn flush(db: &Db, keyspace: &Keyspace) {
    rotate(db, keyspace);
    assert_eq!(store(db).round(Crew::Flush).unwrap(), Round::Worked);
}

fn merge(db: &Db) -> bool {
    store(db).round(Crew::Merge).unwrap() == Round::Worked
}

fn runs(keyspace: &Keyspace, level: usize) -> usize {
    let view = keyspace.state().view.load();
    view.levels.runs(level).len()
}

#[test]
fn the_keyspace_that_comes_closest_to_a_stall_is_merged_first() {
    let mut options = Options::in_memory();
    options.levels.level0_tables = 2;
    options.levels.base_bytes = 1;
    let db = without_threads(options);
    let light = db.create_keyspace("light").unwrap();
    // The default keyspace has much to merge: level 1 holds a thousand times its bytes.
    for _ in 0..2 {
        flush(&db, &db);
    }
    assert!(merge(&db));
    assert_eq!((runs(&db, 0), runs(&db, 1)), (0, 1));
    for _ in 0..6 {
        flush(&db, &light);
    }
    assert!(merge(&db));
    assert_eq!(runs(&light, 0), 0, "the light keyspace came later");
}

#[test]
fn the_fuller_keyspace_is_merged_first() {
    let mut options = Options::in_memory();
    options.levels.level0_tables = 2;
    let db = without_threads(options);
    let others = ["x", "y"].map(|name| db.create_keyspace(name).unwrap());
    for (keyspace, tables) in [(&*db, 2), (&others[0], 4), (&others[1], 3)] {
        (0..tables).for_each(|_| flush(&db, keyspace));
    }
    let mut order = Vec::new();
    let all = [&*db, &others[0], &others[1]];
    while merge(&db) {
        order.push(all.map(|keyspace| runs(keyspace, 0)));
    }
    assert_eq!(order, [[2, 0, 3], [2, 0, 0], [0, 0, 0]]);
}

/// A table that nothing overlaps goes below level 0, but not where a merge writes that is under way.
#[test]
fn a_flush_keeps_out_of_the_ranges_of_merges() {
    let mut options = Options::in_memory();
    options.levels.level0_tables = 2;
    let db = without_threads(options);
    let flush = |keys: [&str; 2]| {
        rotate_keys(&db, &db, keys);
        assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Worked);
        let levels = db.state().view.load().levels.clone();
        let tables = [0, 1].map(|level| levels.level(level).count());
        (tables, db.stats().unwrap().writes.direct_placements)
    };
    // No level below level 0 is in use yet.
    assert_eq!(flush(["a", "c"]), ([1, 0], 0));
    assert_eq!(flush(["b", "d"]), ([2, 0], 0));
    assert!(merge(&db));
    assert_eq!(flush(["x", "z"]), ([0, 2], 1));
    let claims = |change: &mut dyn FnMut(&mut Claims)| {
        change(&mut store(&db).scheduler.running().of(db.state().id).claims);
    };
    let levels = db.state().view.load().levels.clone();
    let run = &levels.runs(1)[0];
    let job = Job {
        inputs: vec![Input::new(1, run, run.tables())],
        target_level: 1,
        target_run: Some(run.number()),
        trivial: false,
    };
    let mut merge = 0;
    claims(&mut |claims| merge = claims.take(&job));
    assert_eq!(flush(["f", "g"]), ([1, 2], 1));
    claims(&mut |claims| claims.release(merge));
    assert_eq!(flush(["h", "i"]), ([1, 3], 2));
    // Newer versions stay above older ones.
    assert_eq!(flush(["i", "j"]), ([2, 3], 2));
    // No claim is left behind.
    claims(&mut |claims| assert!(claims.is_empty()));
    assert_eq!(db.iter().unwrap().count(), 11);
}

/// Puts keys that are nearly in order until a write buffer is full, from number `from` on. Returns the next number.
fn fill_nearly_sorted(keyspace: &Keyspace, from: u64) -> u64 {
    let mut number = from;
    while keyspace.state().view.load().waiting.is_empty() {
        let key = match number % 50 {
            10 => number + 25,
            35 => number - 25,
            _ => number,
        };
        keyspace.put(key.to_be_bytes(), [1; 8]).unwrap();
        number += 1;
    }
    number
}

/// A flush that had begun when a caller asked for one may still keep something back. There is no memtable then
/// with which it would be flushed.
#[test]
fn what_is_kept_back_is_flushed_when_it_is_asked_for() {
    let mut options = Options::in_memory();
    options.write_buffer_bytes = 64 << 10;
    let db = without_threads(options);
    let held = || {
        let view = db.state().view.load();
        view.held.as_ref().map_or(0, |held| held.entries())
    };
    let next = fill_nearly_sorted(&db, 0);
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Worked);
    let first = held();
    assert!(first > 0 && first < next / 4, "{first} of {next} kept back");
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Nothing);
    let next = fill_nearly_sorted(&db, next);
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Worked);
    assert!(held() > 0);
    let lowest = || store(&db).lowest_unflushed();
    assert!(lowest() < next, "what is kept back keeps its log");
    db.state().flush_whole_through(store(&db).visible());
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Worked);
    assert_eq!(held(), 0);
    assert_eq!(lowest(), u64::MAX);
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Nothing);
    assert_eq!(db.iter().unwrap().count() as u64, next);
}

/// Range deletes reach keys that are kept back, so that these go with them.
#[test]
fn range_deletes_are_flushed_with_all_that_is_kept_back() {
    let mut options = Options::in_memory();
    options.write_buffer_bytes = 64 << 10;
    let db = without_threads(options);
    let next = fill_nearly_sorted(&db, 0);
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Worked);
    assert!(db.state().view.load().held.is_some());
    let from = next - 10;
    db.delete_range(from.to_be_bytes()..next.to_be_bytes())
        .unwrap();
    // Not among the deleted ones again.
    fill_nearly_sorted(&db, next.next_multiple_of(50));
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Worked);
    assert!(db.state().view.load().held.is_none());
    for number in from..next {
        assert!(db.get(number.to_be_bytes()).unwrap().is_none());
    }
}

/// Writers of all keyspaces wait for one that stalls, although another has older writes.
#[test]
fn the_keyspace_that_stalls_writers_is_flushed_first() {
    let db = without_threads(Options::in_memory());
    let busy = db.create_keyspace("busy").unwrap();
    rotate(&db, &db);
    (0..4).for_each(|_| rotate(&db, &busy));
    let waiting = |keyspace: &Keyspace| keyspace.state().view.load().waiting.len();
    let mut order = Vec::new();
    while store(&db).round(Crew::Flush).unwrap() == Round::Worked {
        order.push((waiting(&db), waiting(&busy)));
    }
    assert_eq!(order, [(1, 3), (0, 3), (0, 2), (0, 1), (0, 0)]);
}

/// Every flush replaces views that hold the memtable. When only the threads that merge freed such
/// views, memory grew by a write buffer for each flush while a merge was running.
#[test]
fn flushes_alone_free_flushed_memtables() {
    let db = without_threads(Options::in_memory());
    let mut flushed = Vec::new();
    for _ in 0..8 {
        flushed.push(Arc::downgrade(&db.state().view.load().active));
        flush(&db, &db);
    }
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Nothing);
    let held = flushed.iter().filter(|m| m.upgrade().is_some()).count();
    assert_eq!(held, 0, "flushed memtables are still held");
}

/// Nothing tells when a reader has ended, so a thread has to look.
#[test]
fn while_replaced_views_are_read_a_thread_looks_again() {
    let db = without_threads(Options::in_memory());
    flush(&db, &db);
    let iter = db.iter().unwrap();
    flush(&db, &db);
    for crew in [Crew::Flush, Crew::Merge] {
        let round = store(&db).round(crew).unwrap();
        assert_eq!(round == Round::ViewsAreRead, crew == Crew::Flush);
    }
    drop(iter);
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Nothing);
}

/// The last thread to use a merged table may be one that does not delete files.
#[test]
fn a_table_that_is_not_used_any_more_wakes_the_threads() {
    let mut options = Options::in_memory();
    options.levels.level0_tables = 2;
    let db = without_threads(options);
    (0..2).for_each(|_| flush(&db, &db));
    let held = db.state().view.load().levels.clone();
    assert!(merge(&db));
    let signals = &store(&db).scheduler.signals;
    assert_eq!(store(&db).round(Crew::Flush).unwrap(), Round::Nothing);
    let seen = signals.changes();
    drop(held);
    assert_eq!(signals.changes(), seen + 1);
    let files = &store(&db).files;
    let names = || files.fs.list(&files.dir).unwrap().into_iter();
    let tables = || names().filter(|name| name.ends_with(".table")).count();
    assert_eq!(tables(), 3);
    files.delete_garbage();
    assert_eq!(tables(), 1);
}

/// How often the threads of a store wake up in a while, once they rest.
fn wakes(db: &Db, threads: usize) -> u64 {
    let signals = &store(db).scheduler.signals;
    while !signals.wait_for_rest(threads, signals.changes()) {}
    let waits = signals.waits();
    std::thread::sleep(Duration::from_millis(350));
    signals.waits() - waits
}

#[test]
fn a_store_without_work_does_not_wake_up() {
    for (keyspaces, tuner, threads) in [(1, "off", 6), (20, "off", 6), (20, "bourbon:wait=0ms", 7)]
    {
        let mut options = Options::in_memory();
        options.compaction_threads = 4;
        options.tuner = tuner.parse().unwrap();
        let db = Db::open("store", options).unwrap();
        for number in 1..keyspaces {
            let keyspace = db.create_keyspace(&number.to_string()).unwrap();
            keyspace.put("key", "value").unwrap();
            keyspace.flush().unwrap();
        }
        db.compact_range(None, None).unwrap();
        db.settle();
        assert_eq!(wakes(&db, threads), 0);
        store(&db).fail(&Error::InvalidArgument("a test".to_string()));
        assert_eq!(wakes(&db, threads), 0, "after an error");
    }
}

fn learning(covers: &str) -> Db {
    let tuner = format!("bourbon:wait=0ms,covers={covers}");
    without_threads(Options {
        index: "fp".parse().unwrap(),
        tuner: tuner.parse().unwrap(),
        ..Options::in_memory()
    })
}

/// So that nothing is opened and read beside what writers wait for.
#[test]
fn no_table_is_learned_while_writers_are_held_up() {
    let db = learning("table");
    flush(&db, &db);
    let signals = &store(&db).scheduler.signals;
    let levels = db.state().view.load().levels.clone();
    let (_, table) = levels.tables().next().unwrap();
    signals.set_pressure(|| Pressure::Stall("a test"));
    assert_eq!(store(&db).round(Crew::Learn).unwrap(), Round::Nothing);
    assert!(table.open_reader().is_none_or(|r| !r.is_learned()));
    signals.set_pressure(|| Pressure::None);
    assert_eq!(store(&db).round(Crew::Learn).unwrap(), Round::Worked);
    assert!(table.reader().unwrap().is_learned());
    assert_eq!(store(&db).round(Crew::Learn).unwrap(), Round::Nothing);
}

/// A run is learned as a whole as long as it is as it was, and a table as long as it is there.
#[test]
fn learning_is_given_up_when_the_tables_change_meanwhile() {
    for (covers, given_up) in [("table", [0, 1]), ("level", [1, 2])] {
        let db = learning(covers);
        let learner = db.state().learner().unwrap();
        let learn_while = |change: &dyn Fn()| {
            let levels = db.state().view.load().levels.clone();
            let Next::Learn(task) = learner.next(&levels, Instant::now()) else {
                panic!("nothing to learn");
            };
            change();
            store(&db).learn(db.state(), learner, &task);
            let levels = db.state().view.load().levels.clone();
            learner.next(&levels, Instant::now());
            learner.stats(&levels).0
        };
        let ingest = |key: &str| db.ingest_sorted([(key, "value")]).map(|_| ()).unwrap();
        ingest("b");
        // Another table comes into the run.
        let models = learn_while(&|| ingest("d"));
        assert_eq!(models.given_up, given_up[0], "{covers}");
        assert_eq!(models.tables, 1 - given_up[0], "{covers}");
        // All of them are merged away.
        let models = learn_while(&|| db.compact_range(None, None).unwrap());
        assert_eq!(
            (models.given_up, models.tables),
            (given_up[1], 0),
            "{covers}"
        );
        // The run has one table, which stays.
        let models = learn_while(&|| ());
        assert_eq!(
            (models.given_up, models.tables),
            (given_up[1], 1),
            "{covers}"
        );
    }
}

/// Writers may be held up for as long as the disk is full, which a table that is kept open does not help.
#[test]
fn learning_ends_under_pressure_when_it_is_not_wanted_any_more() {
    let db = learning("table");
    let store = store(&db);
    let signals = &store.scheduler.signals;
    let mut turn = Turn::begun_at(Instant::now() - Duration::from_millis(20));
    assert!(store.give_way(&mut turn, &|| true));
    signals.set_pressure(|| Pressure::Stall("a test"));
    let mut turn = Turn::begun_at(Instant::now() - Duration::from_millis(20));
    assert!(!store.give_way(&mut turn, &|| false));
    store.fail(&Error::InvalidArgument("a test".to_string()));
    let mut turn = Turn::begun_at(Instant::now() - Duration::from_millis(20));
    assert!(!store.give_way(&mut turn, &|| store.check_writable().is_ok()));
}

/// A flush may begin as soon as a memtable waits for it. It points to the values in the logs that have ended or are ending, so the log
/// must not be replaced after the memtable.
#[test]
fn no_memtable_waits_for_a_flush_before_its_log_ends() {
    let fills_buffer = |db: &Db| db.put("b", [7; 100_000]);
    let flushes: [fn(&Db) -> crate::Result<()>; 2] = [|db| db.flush(), fills_buffer];
    for flush in flushes {
        let mut options = Options::in_memory();
        options.table.separate_values = Some(100);
        options.over_provision_percent = u32::MAX;
        options.write_buffer_bytes = 64 << 10;
        let db = Db::open("store", options).unwrap();
        db.put("a", [7; 10_000]).unwrap();
        std::thread::scope(|scope| {
            // Nobody can replace a log meanwhile.
            let logs = lock(&store(&db).logs);
            let flushing = scope.spawn(|| flush(&db));
            let until = Instant::now() + Duration::from_millis(200);
            while Instant::now() < until {
                let waits = db.state().view.load().has_sealed(u64::MAX);
                assert!(!waits, "a memtable waits, and its log is not ending");
                std::thread::yield_now();
            }
            drop(logs);
            flushing.join().unwrap().unwrap();
        });
        db.flush().unwrap();
        let flushed = db.stats().unwrap().writes.flushed_bytes;
        assert!(flushed < 5_000, "{flushed} bytes were flushed");
    }
}

/// Which memtables are full, and so whether the log ends with them, was decided before. So it waits for the next write.
#[test]
fn a_hash_index_that_fills_its_write_buffer_does_not_have_it_rotated() {
    // All but one of the keys with which an index begins.
    let put_keys = |db: &Db| {
        let keyspace = db.create_keyspace("indexed").unwrap();
        keyspace.put("0", [7; 100_000]).unwrap();
        (1..15).for_each(|n| keyspace.put(n.to_string(), "").unwrap());
        let bytes = keyspace.state().view.load().active.bytes() as u64;
        (keyspace, bytes)
    };
    let (_, bytes) = put_keys(&without_threads(Options::in_memory()));
    let mut options = Options::in_memory();
    options.write_buffer_bytes = bytes + 1;
    let db = without_threads(options);
    let (indexed, _) = put_keys(&db);
    let full = db.create_keyspace("full").unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&indexed, "15", "").unwrap();
    batch.put(&full, "key", vec![7; bytes as usize]).unwrap();
    db.write(batch).unwrap();
    let waits = |keyspace: &Keyspace| keyspace.state().view.load().has_sealed(u64::MAX);
    let is_full = || indexed.state().view.load().active.is_full(bytes + 1);
    assert!(waits(&full) && !waits(&indexed) && is_full());
    indexed.put("16", "").unwrap();
    assert!(waits(&indexed) && !is_full());
}
