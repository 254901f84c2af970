use std::path::Path;

use crate::db::Db;
use crate::db::handle::Handle;
use crate::db::opening::open::open_without_threads;
use crate::db::read::lookup::Lookup;
use crate::error::Error;
use crate::options::Options;
use crate::table::BlockSource;

/// Readers load the view before their sequence. With the view from before an ingest they must not find what was
/// written after it, whatever their sequence.
#[test]
fn what_is_written_after_an_ingest_is_not_in_views_from_before_it() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    let before = db.state().view.load_full();
    db.ingest_sorted([("ingested", "1")]).unwrap();
    db.put("after", "2").unwrap();
    for key in [&b"ingested"[..], b"after"] {
        let mut lookup = Lookup::new(key, db.handle.store.visible());
        lookup.run(&before, &mut BlockSource::new(true)).unwrap();
        let found = lookup.take_answer();
        assert!(found.is_none(), "{}", key.escape_ascii());
        assert!(db.get(key).unwrap().is_some());
    }
}

/// Runs of level 0 hold up ingests as they hold up writes, or there would be as many as ingests are fast.
#[test]
fn ingests_wait_while_writes_do() {
    let mut options = Options::in_memory();
    options.levels.level0_tables = 1;
    let store = open_without_threads(Path::new("store"), options).unwrap();
    let db = Db::from_handle(Handle::new(store, Vec::new())).unwrap();
    let ingest = || db.ingest_sorted([("a", "1"), ("z", "1")]);
    // One below level 0, then up to nine times the tables with which a merge begins.
    for _ in 0..10 {
        ingest().unwrap();
    }
    // Nobody merges here; a full disk ends the wait.
    let full = Error::DiskFull {
        path: "store".into(),
    };
    db.handle.store.scheduler.signals.set_disk_full(full);
    let held_up = ingest();
    assert!(
        matches!(held_up, Err(Error::DiskFull { .. })),
        "{held_up:?}"
    );
    assert_eq!(db.state().view.load().levels.runs(0).len(), 9);
}
