//! Stores with sound files that do not fit together.

use std::path::Path;

use super::{repair, verify};
use crate::db::Db;
use crate::entry::operations::Operations;
use crate::error::Error;
use crate::options::Options;
use crate::version::{Change, Edit, Manifest, publish};
use crate::wal::LogWriter;

const DIR: &str = "/store";

/// A store with logs of one write each, given by log id, sequence and keyspace id.
fn store(logs: &[(u64, u64, u32)]) -> Options {
    let options = Options::in_memory();
    let (fs, dir) = (&options.file_system, Path::new(DIR));
    fs.create_dir(dir).unwrap();
    let name = "default".to_string();
    let mut changes = vec![Change::CreateKeyspace { id: 0, name }];
    for &(id, sequence, keyspace) in logs {
        changes.push(Change::BeginLog(id));
        let mut operations = Operations::default();
        operations.push_put(keyspace, format!("key{id}").as_bytes(), b"value");
        let mut log = LogWriter::create(&**fs, dir, id).unwrap();
        log.append(sequence, operations.bytes(), 1).unwrap();
        log.close().unwrap();
    }
    Manifest::create(fs, dir, 9, &Edit::from(changes), &Edit::default()).unwrap();
    publish(fs, dir, 9).unwrap();
    options
}

/// Whether `verify` finds damage. Asserts that opening the store agrees.
fn is_damaged(options: &Options) -> bool {
    let report = verify(Path::new(DIR), options, &mut |_| {}).unwrap();
    let opened = Db::open_read_only(DIR, options.clone());
    let refused = matches!(opened, Err(Error::Corruption { .. }));
    assert_eq!(report.damage.is_empty(), !refused, "{report:?}");
    refused
}

#[test]
fn logs_must_ascend_and_name_known_keyspaces() {
    for (logs, damaged, kept) in [
        (&[(2, 5, 0), (3, 6, 0)][..], false, 2),
        (&[(2, 5, 0), (3, 5, 0)], true, 1),
        (&[(2, 5, 0), (3, 4, 0)], true, 1),
        (&[(2, 5, 0), (3, 1 << 63, 0)], true, 1),
        (&[(2, 5, 0), (3, 6, u32::MAX)], true, 1),
        // The keyspace is unknown, but the log is sound.
        (&[(2, 5, 0), (3, 6, 1)], true, 2),
    ] {
        let options = store(logs);
        assert_eq!(is_damaged(&options), damaged, "{logs:?}");
        let report = repair(Path::new(DIR), &options, &mut |_| {}).unwrap();
        assert_eq!(report.operations_saved, kept, "{logs:?}: {report:?}");
        assert!(!is_damaged(&options), "{logs:?}: {report:?}");
    }
}

/// Repairs of earlier builds left logs without their ends in the manifest, and logs behind them.
#[test]
fn only_the_last_log_must_reach_what_was_flushed() {
    for (logs, damaged) in [(&[(2, 5), (3, 8)][..], false), (&[(2, 5), (3, 6)], true)] {
        let options = Options::in_memory();
        let (fs, dir) = (&options.file_system, Path::new(DIR));
        fs.create_dir(dir).unwrap();
        let name = "default".to_string();
        let (id, keyspace, sequence) = (0, 0, 9);
        let mut changes = vec![
            Change::CreateKeyspace { id, name },
            Change::LowestUnflushed { keyspace, sequence },
        ];
        for &(id, sequence) in logs {
            changes.push(Change::BeginLog(id));
            let mut operations = Operations::default();
            operations.push_put(0, b"key", b"value");
            let mut log = LogWriter::create(&**fs, dir, id).unwrap();
            log.append(sequence, operations.bytes(), 1).unwrap();
            log.sync().unwrap();
        }
        Manifest::create(fs, dir, 9, &Edit::from(changes), &Edit::default()).unwrap();
        publish(fs, dir, 9).unwrap();
        assert_eq!(is_damaged(&options), damaged, "{logs:?}");
        repair(Path::new(DIR), &options, &mut |_| {}).unwrap();
        assert!(!is_damaged(&options), "{logs:?}");
    }
}
