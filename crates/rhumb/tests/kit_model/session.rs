//! A store on which lists of operations are run.

use std::collections::BTreeMap;

use rhumb::{
    Db, Durability, Error, Iter, Keyspace, Options, Result, Snapshot, TableWriter, Value,
    WriteBatch,
};

use super::generate::SNAPSHOTS;
use super::operation::{Cover, Key, Op, Outcome, Scan, ValueSpec, Write, expected};
use super::settings::keyspace_options;

/// Chooses the options for reopening, given a number and the old options.
pub type Reopen = Box<dyn Fn(u64, &Options) -> Options>;

/// An open store with its snapshots.
pub struct Session {
    db: Option<Db>,
    options: Options,
    snapshots: [Option<Snapshot>; SNAPSHOTS],
    reopen: Reopen,
    /// Whether flushes may keep back what arrives out of order.
    holds_back: bool,
    worked: Worked,
}

/// The background work of stores.
#[derive(Debug, Clone, Copy, Default)]
pub struct Worked {
    pub flushes: u64,
    pub compactions: u64,
    pub trivial_moves: u64,
    pub direct_placements: u64,
    pub partial_flushes: u64,
}

impl Worked {
    pub fn add(&mut self, more: Worked) {
        self.flushes += more.flushes;
        self.compactions += more.compactions;
        self.trivial_moves += more.trivial_moves;
        self.direct_placements += more.direct_placements;
        self.partial_flushes += more.partial_flushes;
    }
}

/// The name of keyspace `n`.
pub fn name(n: usize) -> String {
    match n {
        0 => rhumb::DEFAULT_KEYSPACE.to_string(),
        n => format!("keyspace {n}"),
    }
}

/// The name of an error in an outcome.
fn kind(error: &Error) -> String {
    match error {
        Error::NoSuchKeyspace(_) => "NoSuchKeyspace".to_string(),
        Error::KeyspaceExists(_) => "KeyspaceExists".to_string(),
        Error::InvalidArgument(_) => "InvalidArgument".to_string(),
        Error::ReadOnly { reason } if reason.starts_with("it was opened for reading only") => {
            "ReadOnly".to_string()
        }
        other => format!("unexpected: {other}"),
    }
}

impl Session {
    /// Opens a new store that always keeps its options.
    pub fn new(options: Options) -> Result<Self> {
        Self::with_reopen(options, Box::new(|_, options| options.clone()))
    }

    /// Opens a new store that chooses new options whenever it is reopened.
    pub fn with_reopen(options: Options, reopen: Reopen) -> Result<Self> {
        Ok(Session {
            db: Some(Db::open("store", options.clone())?),
            options,
            snapshots: [const { None }; SNAPSHOTS],
            reopen,
            holds_back: true,
            worked: Worked::default(),
        })
    }

    /// From now on flushes keep nothing back, or may.
    pub fn set_holding_back(&mut self, on: bool) {
        self.holds_back = on;
        self.db().set_holding_back(on);
    }

    fn open(&mut self) -> Result<()> {
        let db = Db::open("store", self.options.clone())?;
        db.set_holding_back(self.holds_back);
        self.db = Some(db);
        Ok(())
    }

    pub fn db(&self) -> &Db {
        self.db.as_ref().expect("the store is open")
    }

    /// The background work of the store, over all its openings.
    pub fn worked(&self) -> Worked {
        let writes = self.db().stats().expect("tables open").writes;
        let mut worked = self.worked;
        worked.add(Worked {
            flushes: writes.flushes,
            compactions: writes.compactions,
            trivial_moves: writes.trivial_moves,
            direct_placements: writes.direct_placements,
            partial_flushes: writes.partial_flushes,
        });
        worked
    }

    pub fn run(&mut self, op: &Op) -> Outcome {
        self.answer(op)
            .unwrap_or_else(|error| Outcome::Failed(kind(&error)))
    }

    fn keyspace(&self, n: usize) -> Result<Keyspace> {
        self.db().keyspace(&name(n))
    }

    fn answer(&mut self, op: &Op) -> Result<Outcome> {
        match op {
            Op::One(write) => self.write_one(write)?,
            Op::Batch(buffered, writes) => self.write_batch(*buffered, writes)?,
            Op::Ingest(n, finished, entries) => {
                let keyspace = self.keyspace(*n)?;
                let entries: BTreeMap<&[u8], Option<ValueSpec>> = entries
                    .iter()
                    .map(|(key, value)| (&*key.0, *value))
                    .collect();
                match finished {
                    true => self.ingest_tables(&keyspace, &entries)?,
                    false => ingest_sorted(&keyspace, &entries)?,
                }
            }
            Op::Get(n, snapshot, key) => {
                let keyspace = self.keyspace(*n)?;
                let value = match snapshot.and_then(|s| self.snapshots[s].as_ref()) {
                    Some(snapshot) => snapshot.get(&keyspace, &key.0)?,
                    None => keyspace.get(&key.0)?,
                };
                return Ok(Outcome::Value(value.map(|v| v.to_vec())));
            }
            Op::MultiGet(n, keys) => {
                let keyspace = self.keyspace(*n)?;
                let keys: Vec<&[u8]> = keys.iter().map(|k| k.0.as_slice()).collect();
                let values = keyspace.multi_get(&keys)?;
                let values = values.into_iter().map(|v| v.map(|v| v.to_vec()));
                return Ok(Outcome::Values(values.collect()));
            }
            Op::Contains(n, key) => {
                return Ok(Outcome::Is(self.keyspace(*n)?.contains_key(&key.0)?));
            }
            Op::Scan(scan) => return self.scan(scan),
            Op::TakeSnapshot(slot) => self.snapshots[*slot] = Some(self.db().snapshot()),
            Op::DropSnapshot(slot) => self.snapshots[*slot] = None,
            Op::Flush(n) => self.keyspace(*n)?.flush()?,
            Op::Compact(n, from, to) => {
                let (from, to) = (from.as_ref().map(|k| &*k.0), to.as_ref().map(|k| &*k.0));
                self.keyspace(*n)?.compact_range(from, to)?;
            }
            Op::Sync => self.db().sync()?,
            Op::Create(n) => drop(self.db().create_keyspace(&name(*n))?),
            Op::CreateWith(n, number) => {
                let options = keyspace_options(*number);
                self.db().create_keyspace_with(&name(*n), options)?;
            }
            Op::SetOptions(n, number) => {
                self.keyspace(*n)?.set_options(keyspace_options(*number))?;
            }
            Op::Ends(n, snapshot) => return self.ends(*n, *snapshot),
            Op::Swap(n, key, right, new) => {
                let keyspace = self.keyspace(*n)?;
                let current = keyspace.get(&key.0)?.map(|value| value.to_vec());
                let expected = expected(current, *right);
                let new = new.map(ValueSpec::expand);
                let swapped =
                    keyspace.compare_and_swap(&key.0, expected.as_deref(), new.as_deref())?;
                return Ok(match swapped {
                    Ok(()) => Outcome::Done,
                    Err(other) => Outcome::Value(other.current),
                });
            }
            Op::DeletePrefix(n, prefix) => self.keyspace(*n)?.delete_prefix(&prefix.0)?,
            Op::Clear(n) => self.keyspace(*n)?.clear()?,
            Op::Options(n) => {
                let options = self.keyspace(*n)?.options()?;
                return Ok(Outcome::Set(options));
            }
            Op::Drop(n) => self.db().drop_keyspace(&name(*n))?,
            Op::Reopen(choice) => {
                self.close()?;
                self.options = (self.reopen)(*choice, &self.options);
                self.open()?;
            }
            Op::ReadOnly(reads) => {
                self.close()?;
                self.db = Some(Db::open_read_only("store", self.options.clone())?);
                let outcomes = reads.iter().map(|op| self.run(op)).collect();
                self.close()?;
                self.open()?;
                return Ok(Outcome::Many(outcomes));
            }
        }
        Ok(Outcome::Done)
    }

    fn ends(&self, n: usize, snapshot: Option<usize>) -> Result<Outcome> {
        let keyspace = self.keyspace(n)?;
        let k = &keyspace;
        let (first, last, is_empty) = match snapshot.and_then(|s| self.snapshots[s].as_ref()) {
            None => (k.first()?, k.last()?, k.is_empty()?),
            Some(s) => (s.first(k)?, s.last(k)?, s.is_empty(k)?),
        };
        let estimated = k.approximate_len()? >= k.iter()?.count() as u64;
        Ok(Outcome::Many(vec![
            Outcome::Entries([first, last].into_iter().flatten().map(taken).collect()),
            Outcome::Is(is_empty),
            Outcome::Is(estimated),
        ]))
    }

    fn close(&mut self) -> Result<()> {
        self.worked = self.worked();
        self.snapshots = [const { None }; SNAPSHOTS];
        self.db.take().map_or(Ok(()), Db::close)
    }

    fn write_one(&self, write: &Write) -> Result<()> {
        match write {
            Write::Put(n, key, value) => self.keyspace(*n)?.put(&key.0, value.expand()),
            Write::Delete(n, key) => self.keyspace(*n)?.delete(&key.0),
            Write::DeleteRange(n, from, to) => {
                self.keyspace(*n)?.delete_range(&from.0[..]..&to.0[..])
            }
        }
    }

    /// Ingests entries as finished tables of a few entries each, in any order of tables.
    fn ingest_tables(
        &self,
        keyspace: &Keyspace,
        entries: &BTreeMap<&[u8], Option<ValueSpec>>,
    ) -> Result<()> {
        let entries: Vec<_> = entries.iter().collect();
        let mut paths = Vec::new();
        for part in entries.chunks(3 + entries.len() / 3) {
            let path = format!("{}.outside", paths.len());
            let mut table = TableWriter::create(&path, &self.options)?;
            for (key, value) in part {
                match value {
                    Some(value) => table.put(key, value.expand())?,
                    None => table.delete(key)?,
                }
            }
            table.finish()?;
            paths.push(path);
        }
        paths.reverse();
        let ingested = keyspace.ingest(&paths);
        for path in &paths {
            let removed = self.options.file_system.remove(path.as_ref());
            removed.expect("the original is left");
        }
        let ingested = ingested?;
        assert_eq!(
            (ingested.entries, ingested.tables),
            (entries.len() as u64, paths.len() as u64)
        );
        Ok(())
    }

    fn write_batch(&self, buffered: bool, writes: &[Write]) -> Result<()> {
        let mut batch = WriteBatch::new();
        for write in writes {
            match write {
                Write::Put(n, key, value) => {
                    batch.put(&self.keyspace(*n)?, &key.0, value.expand())?;
                }
                Write::Delete(n, key) => batch.delete(&self.keyspace(*n)?, &key.0)?,
                Write::DeleteRange(n, from, to) => {
                    batch.delete_range(&self.keyspace(*n)?, &from.0[..]..&to.0[..])?;
                }
            }
        }
        let durability = if buffered {
            Durability::Buffered
        } else {
            Durability::Immediate
        };
        self.db().write_with(batch, durability)
    }

    fn begin_scan<'a>(&self, scan: &Scan, keyspace: &'a Keyspace) -> Result<Iter<'a>> {
        let snapshot = scan.snapshot.and_then(|s| self.snapshots[s].as_ref());
        match (&scan.cover, snapshot) {
            (Cover::All, None) => keyspace.iter(),
            (Cover::All, Some(s)) => s.iter(keyspace),
            (Cover::Prefix(prefix), None) => keyspace.prefix(&prefix.0),
            (Cover::Prefix(prefix), Some(s)) => s.prefix(keyspace, &prefix.0),
            (Cover::Range(from, to), snapshot) => {
                let bytes = |key: &Key| key.0.clone();
                let range = (from.as_ref().map(bytes), to.as_ref().map(bytes));
                match snapshot {
                    None => keyspace.range(range),
                    Some(s) => s.range(keyspace, range),
                }
            }
        }
    }

    fn scan(&mut self, scan: &Scan) -> Result<Outcome> {
        let keyspace = self.keyspace(scan.keyspace)?;
        let mut iter = self.begin_scan(scan, &keyspace)?;
        let mut keys = self.begin_scan(scan, &keyspace)?.keys();
        let mut entries = Vec::new();
        let mut outcomes = Vec::new();
        let (after, between) = &scan.between;
        for (step, front) in scan.walk.steps().enumerate() {
            if step == *after {
                outcomes.extend(between.iter().map(|op| self.run(op)));
            }
            let entry = match front {
                true if step % 2 == 1 => lent(&mut iter)?,
                true => iter.next().transpose()?.map(taken),
                false => iter.next_back().transpose()?.map(taken),
            };
            let key = match front {
                true => keys.next(),
                false => keys.next_back(),
            };
            let key = key.transpose()?;
            assert_eq!(key.as_deref(), entry.as_ref().map(|(key, _)| &**key));
            match entry {
                Some(entry) => entries.push(entry),
                None if step >= *after => break,
                None => {}
            }
        }
        outcomes.push(Outcome::Entries(entries));
        Ok(Outcome::Many(outcomes))
    }
}

fn ingest_sorted(keyspace: &Keyspace, entries: &BTreeMap<&[u8], Option<ValueSpec>>) -> Result<()> {
    let mut ingest = keyspace.sorted_ingest()?;
    for (key, value) in entries {
        match value {
            Some(value) => ingest.put(key, value.expand())?,
            None => ingest.delete(key)?,
        }
    }
    let ingested = ingest.finish()?;
    assert_eq!(ingested.entries, entries.len() as u64);
    Ok(())
}

/// An entry that an iterator returned.
fn taken((key, value): (rhumb::Key, Value<'_>)) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), value.to_vec())
}

/// The next entry from the front, which the iterator lends.
fn lent(iter: &mut Iter<'_>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let there = iter.advance()?;
    Ok(there.then(|| (iter.key().to_vec(), iter.value().to_vec())))
}
