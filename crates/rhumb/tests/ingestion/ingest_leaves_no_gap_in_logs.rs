//! An ingest takes its sequence through the log. If it did not, a log that begins behind it would look like one
//! whose predecessor lost its end, and would not count after a crash.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Durability, Options, TableWriter};

/// Settings with which logs are kept as long as a keyspace has writes in them that are in no table.
fn options(files: &MemoryFileSystem) -> Options {
    Options {
        durability: Durability::Buffered,
        file_system: Arc::new(files.clone()),
        ..Options::default()
    }
}

fn content(db: &Db) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = db.iter().unwrap().map(|entry| entry.unwrap());
    entries.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

#[test]
fn nothing_is_missing_behind_an_ingest_after_the_death_of_the_process() {
    let files = MemoryFileSystem::new();
    let db = Db::open("store", options(&files)).unwrap();
    let other = db.create_keyspace("other").unwrap();
    let mut expected = BTreeMap::new();
    for round in 0..60u32 {
        let mut put = |key: &str| {
            let value = format!("{key} {round}");
            expected.insert(key.as_bytes().to_vec(), value.clone().into_bytes());
            value
        };
        db.put("before", put("before")).unwrap();
        match round % 3 {
            0 => {
                db.ingest_sorted([("ingested", put("ingested"))]).unwrap();
            }
            1 => {
                let path = format!("outside {round}");
                let mut table = TableWriter::create(&path, &options(&files)).unwrap();
                table.put("finished", put("finished")).unwrap();
                table.finish().unwrap();
                db.ingest(&[path]).unwrap();
            }
            // In another keyspace, whose sequence is missing all the same.
            _ => {
                other.ingest_sorted([("else", "where")]).unwrap();
            }
        }
        db.put("behind", put("behind")).unwrap();
        other.put("beside", "1").unwrap();
        db.put("last", put("last")).unwrap();
        let killed = files.fork();
        let opened = Db::open("store", options(&killed)).unwrap();
        assert_eq!(content(&opened), expected, "round {round}");
        opened.close().unwrap();
        let opened = Db::open("store", options(&killed)).unwrap();
        assert_eq!(content(&opened), expected, "round {round}");
    }
}

/// An ingest does not outlive what was written before it, and what was written before is durable with it.
#[test]
fn what_was_written_before_an_ingest_is_as_durable() {
    use rhumb::fs::{DataLoss, DirectoryLoss, Loss};
    let files = MemoryFileSystem::new();
    let db = Db::open("store", options(&files)).unwrap();
    let other = db.create_keyspace("other").unwrap();
    for round in 0..20u32 {
        other.put("before", round.to_be_bytes()).unwrap();
        db.ingest_sorted([("ingested", round.to_be_bytes())])
            .unwrap();
        let lost = Loss {
            data: DataLoss::Lost,
            directory: DirectoryLoss::Lost,
        };
        let disk = files.crash(lost, round.into());
        let opened = Db::open("store", options(&disk)).unwrap();
        let value = |found: Option<rhumb::Value<'_>>| found.map(|v| v.to_vec());
        let round = Some(round.to_be_bytes().to_vec());
        assert_eq!(value(opened.get("ingested").unwrap()), round);
        let other = opened.keyspace("other").unwrap();
        assert_eq!(value(other.get("before").unwrap()), round);
    }
}
