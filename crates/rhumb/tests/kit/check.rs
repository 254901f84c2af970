//! Opens a disk as found after a loss of power, and checks that its contents are legal.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rhumb::fs::{FileSystem, Loss, MemoryFileSystem};
use rhumb::{DEFAULT_KEYSPACE, Db, Durability, WriteBatch};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::access::read_all;
use super::oracle::{Content, fingerprint, position};
use super::recorder::{Point, held};

use super::{DIR, PARTITIONS, SHAPES, dir, files, tiny_shaped};

/// Checks disks, and remembers those it has seen, since many losses leave the same disk.
#[derive(Debug, Default)]
pub struct Checker {
    seen: Mutex<HashMap<u64, u64>>,
    pub points: AtomicUsize,
    pub disks: AtomicUsize,
}

impl Checker {
    /// Cuts the power at a moment, and checks that the store comes back with a legal prefix.
    pub fn point(
        &self,
        point: &Point,
        loss: Loss,
        seed: u64,
        prints: &[u64],
    ) -> Result<(), String> {
        let disk = point.disk.crash(loss, seed);
        self.disk(&disk, point.legal.clone(), prints)
            .map_err(|wrong| format!("{}, {loss:?}, seed {seed}: {wrong}", point.call))
    }

    /// Opens a disk, and checks that the store holds a legal prefix.
    pub fn disk(
        &self,
        disk: &MemoryFileSystem,
        legal: RangeInclusive<usize>,
        prints: &[u64],
    ) -> Result<(), String> {
        self.points.fetch_add(1, Ordering::Relaxed);
        let same = disk_print(disk);
        let known = held(&self.seen).get(&same).copied();
        let found = match known {
            Some(found) => found,
            None => {
                self.disks.fetch_add(1, Ordering::Relaxed);
                let found = fingerprint(&check_disk(disk)?);
                held(&self.seen).insert(same, found);
                found
            }
        };
        if position(prints, legal.clone(), found).is_none() {
            let anywhere = position(prints, 0..=prints.len() - 1, found);
            return Err(match anywhere {
                Some(at) => format!("found the first {at} events, expected one of {legal:?}"),
                None => format!("found no prefix of the commit order, expected one of {legal:?}"),
            });
        }
        Ok(())
    }
}

/// A hash of the files of a disk.
fn disk_print(disk: &MemoryFileSystem) -> u64 {
    let mut print = 0;
    for name in disk.list(dir()).unwrap_or_default() {
        let bytes = disk.bytes(&dir().join(&name)).unwrap_or_default();
        print = xxh3_64_with_seed(name.as_bytes(), print);
        print = xxh3_64_with_seed(&xxh3_64(&bytes).to_le_bytes(), print);
    }
    print
}

/// Opens the store, reads all contents, writes more, closes and reopens it, and looks for orphaned
/// files. Returns the first contents.
pub fn check_disk(disk: &MemoryFileSystem) -> Result<Content, String> {
    let opened = |e: rhumb::Error| format!("the store does not open: {e}");
    // The store brings its levels into any shape, so the shape is varied.
    let number = disk_print(disk) as usize;
    let options = |n: usize| {
        let shape = SHAPES[(number % 3 + n) % 3];
        let mut options = tiny_shaped(Arc::new(disk.clone()), shape);
        options.table.partition = PARTITIONS[(number / 3 % 2 + n) % 2];
        options.compaction_threads = 2;
        options
    };
    let on_disk = log_bytes(disk);
    let db = Db::open(DIR, options(0)).map_err(opened)?;
    let found = read_all(&db).map_err(|wrong| wrong.to_string())?;
    let mut content = found.clone();
    let recovery = db.stats().map_err(|e| e.to_string())?.recovery;
    if recovery.torn_bytes > on_disk || recovery.log_frames > recovery.log_operations + on_disk {
        return Err(format!("{recovery:?} of {on_disk} bytes of log"));
    }
    write_more(&db, &mut content).map_err(|e| format!("cannot write after a crash: {e}"))?;
    db.close().map_err(|e| format!("cannot be closed: {e}"))?;

    let db = Db::open(DIR, options(1)).map_err(|e| format!("does not open again: {e}"))?;
    db.settle();
    let again = read_all(&db).map_err(|wrong| format!("after reopening: {wrong}"))?;
    if again != content {
        let difference = super::oracle::difference(&content, &again);
        return Err(format!(
            "after reopening, the contents differ\n  {difference}"
        ));
    }
    no_orphans(&db, disk)?;
    Ok(found)
}

fn write_more(db: &Db, content: &mut Content) -> rhumb::Result<()> {
    for (key, durability) in [("~1", Durability::Buffered), ("~2", Durability::Immediate)] {
        let mut batch = WriteBatch::new();
        batch.put(db, key, "more")?;
        db.write_with(batch, durability)?;
        let keys = content.entry(DEFAULT_KEYSPACE.to_string()).or_default();
        keys.insert(key.into(), b"more".to_vec());
    }
    Ok(())
}

fn names(disk: &MemoryFileSystem, extension: &str) -> Vec<String> {
    files(disk, dir(), extension)
}

fn log_bytes(disk: &MemoryFileSystem) -> u64 {
    let logs = names(disk, ".log");
    let bytes = logs.iter().map(|name| disk.bytes(&dir().join(name)));
    bytes
        .map(|bytes| bytes.unwrap_or_default().len() as u64)
        .sum()
}

/// Checks that a settled store has no files that it does not need.
pub fn no_orphans(db: &Db, disk: &MemoryFileSystem) -> Result<(), String> {
    let stats = db.stats().map_err(|e| e.to_string())?;
    let levels = stats.keyspaces.iter().flat_map(|keyspace| &keyspace.levels);
    let tables: u64 = levels.map(|level| level.tables).sum();
    let found = names(disk, ".table");
    if found.len() as u64 != tables {
        return Err(format!("{tables} tables, but there are {found:?}"));
    }
    let (manifests, temporary) = (names(disk, ".manifest"), names(disk, ".tmp"));
    if manifests.len() != 1 || !temporary.is_empty() {
        return Err(format!("left behind: {manifests:?} {temporary:?}"));
    }
    let (named, found) = (stats.log_bytes + stats.recovery.torn_bytes, log_bytes(disk));
    if found > named {
        return Err(format!(
            "{found} bytes of logs, of which {named} are needed"
        ));
    }
    Ok(())
}
