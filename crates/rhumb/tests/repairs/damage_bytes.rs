//! Every byte of a log, a table, a value file, a manifest and `CURRENT` is changed, and each file is cut off at
//! every length. The store must report the damage or give the right answer: never a wrong one,
//! never a panic.
//!
//! The samples are whole stores, forked in memory; each is opened for reading, and some for writing
//! as well. A log that was not closed may lose part of its unsynced end, so a legal prefix is
//! accepted. The same holds for a manifest that is cut between two edits, which cannot be told from
//! a crash.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::kit;
use crate::kit::access::read_all;
use crate::kit::oracle::{Change, Content, fingerprint, options_entry, position};
use crate::kit::script::key;
use crate::kit::{DIR, Random, SHAPES, case_seed, dir, in_parallel};
use crate::samples::{Sample, log, manifest, options, shaped, tables, values};
use rhumb::Db;
use rhumb::fs::{FileSystem, MemoryFileSystem};

/// One change in this many is also tried on a store opened for writing.
const OPENED_FOR_WRITING: usize = 64;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// The result of opening and reading a damaged store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Opening it gave an error.
    Refused,
    /// Reading it gave an error.
    Failed,
    /// Everything is there.
    Whole,
    /// A legal prefix is there.
    Shorter,
}

impl Sample {
    /// Replaces the bytes of the file, opens the store, and reads it.
    fn with(
        &self,
        bytes: Vec<u8>,
        case: usize,
        legal: RangeInclusive<usize>,
    ) -> Result<Verdict, String> {
        let disk = self.disk.fork();
        disk.set_bytes(&self.file, bytes).unwrap();
        if case.is_multiple_of(OPENED_FOR_WRITING) {
            let disk = disk.fork();
            let shape = SHAPES[case / OPENED_FOR_WRITING % SHAPES.len()];
            if let Ok(db) = Db::open(DIR, shaped(&disk, shape)) {
                self.judge(&db, case, legal.clone())?;
                if let Ok(content) = read_all(&db) {
                    self.position(&content, legal.clone())?;
                }
            }
        }
        match Db::open_read_only(DIR, options(&disk)) {
            Ok(db) => self.judge(&db, case, legal),
            Err(_) => Ok(Verdict::Refused),
        }
    }

    fn position(&self, content: &Content, legal: RangeInclusive<usize>) -> Result<usize, String> {
        let print = fingerprint(content);
        position(&self.oracle.prints, legal, print).ok_or_else(|| {
            let difference = kit::oracle::difference(&self.oracle.content, content);
            format!("wrong content without an error\n  {difference}")
        })
    }

    /// Scans all keyspaces and looks up some keys.
    fn judge(&self, db: &Db, case: usize, legal: RangeInclusive<usize>) -> Result<Verdict, String> {
        let mut content = Content::new();
        let mut failed = false;
        for name in db.keyspaces() {
            let (found, whole) = self.scan(db, &name)?;
            failed |= !whole;
            content.insert(name, found);
        }
        let verdict = if failed {
            Verdict::Failed
        } else if self.position(&content, legal)? == self.oracle.len() {
            Verdict::Whole
        } else {
            Verdict::Shorter
        };
        let expected = if verdict == Verdict::Shorter {
            &content
        } else {
            &self.oracle.content
        };
        look_up(db, expected, case)?;
        Ok(verdict)
    }

    /// The entries of a keyspace up to the first error, and whether there was no error. The entries
    /// before an error must be right.
    fn scan(&self, db: &Db, name: &str) -> Result<(Entries, bool), String> {
        let keyspace = db.keyspace(name).map_err(|e| e.to_string())?;
        let mut found = BTreeMap::new();
        let Ok(entries) = keyspace.iter() else {
            return Ok((found, false));
        };
        let mut whole = true;
        for entry in entries {
            match entry {
                Ok((key, value)) => drop(found.insert(key.to_vec(), value.to_vec())),
                Err(_) => whole = false,
            }
        }
        let expected = self.oracle.content.get(name);
        if !whole {
            let expected = expected.into_iter().flatten().take(found.len());
            if !expected.eq(&found) {
                return Err(format!("{name}: wrong entries before an error"));
            }
        }
        let options = keyspace.options().map_err(|e| e.to_string())?;
        if let Change::Put(key, text) = options_entry(&options) {
            found.insert(key, text);
        }
        Ok((found, whole))
    }
}

/// Checks that gets of a few keys return the right value or an error.
fn look_up(db: &Db, content: &Content, case: usize) -> Result<(), String> {
    let mut random = Random(case_seed(case as u64));
    for (name, keys) in content {
        let Ok(keyspace) = db.keyspace(name) else {
            continue;
        };
        for _ in 0..3 {
            let key = key(random.below(1000));
            let found = keyspace.get(&key).map(|value| value.map(|v| v.to_vec()));
            if found.is_ok_and(|found| found.as_ref() != keys.get(&key)) {
                let key = String::from_utf8_lossy(&key);
                return Err(format!("{name}: a wrong value of {key}"));
            }
        }
    }
    Ok(())
}

/// Changes every byte, and prints the results.
fn flip_every_byte(what: &str, sample: &Sample, legal: RangeInclusive<usize>) -> [usize; 4] {
    let bytes = sample.bytes();
    try_all(what, "byte changed", bytes.len(), |at| {
        let mut changed = bytes.clone();
        // One half of the changes flips one bit, the other half any bits.
        let random = Random(case_seed(at as u64)).next();
        changed[at] ^= match random % 2 {
            0 => 1 << (random / 2 % 8),
            _ => 1 + (random / 2 % 255) as u8,
        };
        sample.with(changed, at, legal.clone())
    })
}

/// Cuts the file off at every length.
fn cut_everywhere(what: &str, sample: &Sample, legal: RangeInclusive<usize>) -> [usize; 4] {
    cut_at_each(what, sample, 1, legal)
}

/// Cuts the file off at every length that is a multiple of `step`.
fn cut_at_each(
    what: &str,
    sample: &Sample,
    step: usize,
    legal: RangeInclusive<usize>,
) -> [usize; 4] {
    let bytes = sample.bytes();
    try_all(what, "length", bytes.len().div_ceil(step), |at| {
        sample.with(bytes[..at * step].to_vec(), at, legal.clone())
    })
}

/// Overwrites each 512 bytes with zeros, and appends bytes to the end.
fn wipe_and_extend(what: &str, sample: &Sample, legal: RangeInclusive<usize>) {
    let bytes = sample.bytes();
    let sectors = bytes.len().div_ceil(512);
    try_all(what, "sector wiped", sectors, |at| {
        let mut changed = bytes.clone();
        let end = (at * 512 + 512).min(changed.len());
        changed[at * 512..end].fill(0);
        sample.with(changed, at, legal.clone())
    });
    try_all(what, "extension", 200, |at| {
        let mut longer = bytes.clone();
        let mut random = Random(case_seed(at as u64));
        longer.extend((0..=at).map(|_| random.next() as u8 * (at % 2) as u8));
        sample.with(longer, at, legal.clone())
    });
}

fn try_all(
    what: &str,
    how: &str,
    count: usize,
    attempt: impl Fn(usize) -> Result<Verdict, String> + Sync,
) -> [usize; 4] {
    let started = Instant::now();
    let counts: [AtomicUsize; 4] = Default::default();
    let step = if count > 1_000 { kit::brief() } else { 1 };
    in_parallel(count.div_ceil(step), |number| {
        let at = (number * step + number % step).min(count - 1);
        let verdict = attempt(at).map_err(|wrong| format!("{what}, {how} {at}: {wrong}"))?;
        counts[verdict as usize].fetch_add(1, Ordering::Relaxed);
        Ok::<(), String>(())
    })
    .unwrap();
    let [refused, failed, whole, shorter] = counts.map(AtomicUsize::into_inner);
    let time = started.elapsed().as_secs_f64();
    println!(
        "{what:9} {how:12} {count:6}: {refused:6} refused, {failed:6} failed, {whole:5} whole, \
         {shorter:5} shorter, {time:4.1} s"
    );
    [refused, failed, whole, shorter]
}

/// Only the right contents are legal, or an error.
fn exact(sample: &Sample) -> RangeInclusive<usize> {
    sample.oracle.len()..=sample.oracle.len()
}

#[test]
fn damaged_tables_give_errors() {
    let panics = kit::count_panics();
    let sample = tables().damaging(".table");
    sample.announce("a table");
    let [_, _, whole, shorter] = flip_every_byte("table", &sample, exact(&sample));
    assert_eq!((whole, shorter), (0, 0), "no check covers some bytes");
    let [_, _, whole, shorter] = cut_everywhere("table", &sample, exact(&sample));
    assert_eq!((whole, shorter), (0, 0), "some cuts are not noticed");
    wipe_and_extend("table", &sample, exact(&sample));
    assert_eq!(kit::panics(), panics);
}

#[test]
fn damaged_values_give_errors() {
    let panics = kit::count_panics();
    let sample = values().damaging(".values");
    sample.announce("a value file");
    let [_, _, whole, shorter] = flip_every_byte("values", &sample, exact(&sample));
    assert_eq!((whole, shorter), (0, 0), "no check covers some bytes");
    let [_, _, whole, shorter] = cut_everywhere("values", &sample, exact(&sample));
    assert_eq!((whole, shorter), (0, 0), "some cuts are not noticed");
    wipe_and_extend("values", &sample, exact(&sample));
    assert_eq!(kit::panics(), panics);
}

#[test]
fn damaged_logs_give_errors() {
    let panics = kit::count_panics();
    let sample = log(true).damaging(".log");
    sample.announce("a log");
    let legal = exact(&sample);
    let [_, _, whole, shorter] = flip_every_byte("log", &sample, legal.clone());
    assert_eq!((whole, shorter), (0, 0), "no check covers some bytes");
    let [_, _, whole, shorter] = cut_everywhere("log", &sample, legal.clone());
    assert_eq!((whole, shorter), (0, 0), "some cuts are not noticed");
    wipe_and_extend("log", &sample, legal);
    assert_eq!(kit::panics(), panics);
}

/// A log that was not closed: what was synced according to a later frame must be there.
#[test]
fn damaged_open_logs_give_errors_or_prefixes() {
    let panics = kit::count_panics();
    let sample = log(false).damaging(".log");
    let all = 2..=sample.oracle.len();
    let [_, _, _, shorter] = flip_every_byte("open log", &sample, all.clone());
    // Only changes in the last frames, which no later frame names as durable, may pass for a torn
    // end.
    assert!(
        shorter * 10 < sample.bytes().len(),
        "{shorter} changes passed for a torn end"
    );
    // Reading each takes long, so only some lengths are tried.
    cut_at_each("open log", &sample, 7, all.clone());
    wipe_and_extend("open log", &sample, all);
    assert_eq!(kit::panics(), panics);
}

#[test]
fn damaged_manifests_give_errors() {
    let panics = kit::count_panics();
    let sample = manifest().damaging(".manifest");
    sample.announce("a manifest");
    let [_, _, _, shorter] = flip_every_byte("manifest", &sample, exact(&sample));
    assert_eq!(shorter, 0);
    cut_everywhere("manifest", &sample, 0..=sample.oracle.len());
    wipe_and_extend("manifest", &sample, exact(&sample));
    assert_eq!(kit::panics(), panics);
}

#[test]
fn a_damaged_current_gives_errors() {
    let panics = kit::count_panics();
    let sample = manifest().damaging("CURRENT");
    for what in ["once", "again"] {
        let [refused, ..] = flip_every_byte(what, &sample, exact(&sample));
        assert_eq!(refused, sample.bytes().len());
    }
    let [refused, ..] = cut_everywhere("CURRENT", &sample, exact(&sample));
    assert_eq!(refused, sample.bytes().len());
    assert_eq!(kit::panics(), panics);
}

/// Checks that the store names the bad file in its error.
fn refuses(disk: &MemoryFileSystem, name: &str) {
    let reading = |db: rhumb::Result<Db>| match db {
        Err(e) => e.to_string(),
        Ok(db) => match read_all(&db) {
            Ok(_) => "no error".to_string(),
            Err(e) => e.to_string(),
        },
    };
    let read_only = reading(Db::open_read_only(DIR, options(disk)));
    assert!(read_only.contains(name), "{name}: {read_only}");
    let writing = reading(Db::open(DIR, options(disk)));
    assert!(writing.contains(name), "{name}: {writing}");
}

#[test]
fn missing_and_exchanged_files_are_named() {
    for sample in [tables(), values(), log(true), log(false), manifest()] {
        let names = sample.disk.list(dir()).unwrap();
        for name in names.iter().filter(|name| *name != "LOCK") {
            let disk = sample.disk.fork();
            disk.remove(&dir().join(name)).unwrap();
            refuses(&disk, name);
        }
        for extension in [".table", ".values"] {
            let files: Vec<&String> = names.iter().filter(|n| n.ends_with(extension)).collect();
            for pair in files.windows(2) {
                let disk = sample.disk.fork();
                let path = |at: usize| Path::new(DIR).join(pair[at]);
                let [first, second] = [path(0), path(1)].map(|path| disk.bytes(&path).unwrap());
                disk.set_bytes(&path(0), second).unwrap();
                disk.set_bytes(&path(1), first).unwrap();
                refuses(&disk, extension);
            }
        }
    }
}
