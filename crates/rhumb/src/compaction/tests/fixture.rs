//! A small store without a log, and a plain list of its writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::compaction::parts::KeyRange;
use crate::compaction::{
    Claims, Context, Counters, Job, Outcome, Parts, execute, flush, place_newest,
};
use crate::entry::{Cursor, EntryKind, RangeDeletes, Sequence};
use crate::error::{Error, Result};
use crate::fs::{Access, FileSystem, MemoryFileSystem};
use crate::memory::BlockCache;
use crate::memtable::Memtable;
use crate::options::{TableSpec, TierSpec};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::version::{Change, Edit, Files, Levels, Manifest, State};

pub(super) const DIR: &str = "/store";
pub(super) const KEYSPACE: u32 = 1;
pub(super) const KEYS: u32 = 80;

/// A store of one keyspace without a log.
pub(super) struct Store {
    pub(super) files: Arc<Files>,
    pub(super) table: TableSpec,
    /// The form of the learned tier, if the shape of the levels is that.
    pub(super) tier: Option<TierSpec>,
    pub(super) next_map: AtomicU64,
    pub(super) state: State,
    pub(super) manifest: Manifest,
    pub(super) levels: Arc<Levels>,
    pub(super) memtable: Arc<Memtable>,
    /// What flushes kept back.
    pub(super) held: Option<Arc<Memtable>>,
    pub(super) sequence: Sequence,
    pub(super) snapshots: BTreeSet<Sequence>,
    pub(super) cancelled: AtomicBool,
    pub(super) counters: Counters,
    /// Everything that was written, oldest first.
    pub(super) written: Vec<Written>,
}

pub(super) struct Written {
    sequence: Sequence,
    operation: Operation,
}

pub(super) enum Operation {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

pub(super) fn key(number: u32) -> Vec<u8> {
    format!("key{number:03}").into_bytes()
}

impl Store {
    pub(super) fn new(fs: Arc<dyn FileSystem>, table: TableSpec) -> Self {
        let cache = Arc::new(BlockCache::new(1 << 20).unwrap());
        let files = Files::new(fs.clone(), PathBuf::from(DIR), Access::Buffered, cache);
        files.start_at(2);
        let files = Arc::new(files);
        let mut state = State::new(&files);
        let name = "default".to_string();
        let first = Edit::from(vec![Change::CreateKeyspace { id: KEYSPACE, name }]);
        state.apply(&first).unwrap();
        let manifest = Manifest::create(&files, 1, &first, &Edit::default()).unwrap();
        Store {
            files,
            table,
            tier: None,
            next_map: AtomicU64::new(0),
            state,
            manifest,
            levels: Arc::default(),
            memtable: Arc::new(Memtable::new()),
            held: None,
            sequence: 0,
            snapshots: BTreeSet::new(),
            cancelled: AtomicBool::new(false),
            counters: Counters::default(),
            written: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, operation: Operation) {
        self.sequence += 1;
        let (memtable, sequence) = (&self.memtable, self.sequence);
        match &operation {
            Operation::Put(k, v) => memtable.insert(k, sequence, EntryKind::Put, v).unwrap(),
            Operation::Delete(k) => memtable
                .insert(k, sequence, EntryKind::Delete, &[])
                .unwrap(),
            Operation::DeleteRange(from, to) => memtable.delete_range(from, to, sequence),
        }
        self.written.push(Written {
            sequence,
            operation,
        });
    }

    pub(super) fn with_context<T>(&self, work: impl FnOnce(&Context<'_>) -> T) -> T {
        let snapshots: Vec<Sequence> = self.snapshots.iter().copied().collect();
        work(&Context {
            keyspace: KEYSPACE,
            files: &self.files,
            table: &self.table,
            tier: self.tier,
            index: &"plr".parse().unwrap(),
            tuner: None,
            next_map: &|| self.next_map.fetch_add(1, Ordering::Relaxed),
            maps: self.state.keyspaces[&KEYSPACE].maps.by_number(),
            value_files: self.state.keyspaces[&KEYSPACE].levels.value_files(),
            victims: &BTreeSet::new(),
            brings_back: false,
            logged: &[],
            older: &[],
            keeps_blocks: true,
            snapshots: &snapshots,
            pace: &|_| {},
            go_on: &|| match self.cancelled.load(Ordering::Relaxed) {
                true => Err(Error::Closed),
                false => Ok(()),
            },
            counters: &self.counters,
        })
    }

    /// Flushes everything, as a table of level 0.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.flush_parts(&Parts::whole(), None)
    }

    /// Flushes some ranges of keys and keeps the others back. With the claims of running merges, tables go as
    /// deep as they can.
    pub(super) fn flush_parts(&mut self, parts: &Parts, claims: Option<&Claims>) -> Result<()> {
        let memtables: Vec<_> = [&self.memtable]
            .into_iter()
            .chain(&self.held)
            .cloned()
            .collect();
        let flushed = self.with_context(|c| flush(c, &memtables, parts, u64::MAX))?;
        let mut outcome = flushed.outcome;
        if let Some(claims) = claims {
            for (place, table) in &mut outcome.levels.adds {
                *place = place_newest(&self.levels, claims, table);
            }
        }
        self.memtable = Arc::new(Memtable::new());
        self.held = flushed.held;
        self.install(&outcome);
        Ok(())
    }

    pub(super) fn run(&self, job: &Job) -> Result<Outcome> {
        self.with_context(|c| execute(c, job, &self.levels))
    }

    pub(super) fn install(&mut self, outcome: &Outcome) {
        let edit = Edit::from(outcome.changes(KEYSPACE, &self.state.keyspaces[&KEYSPACE]));
        self.state.apply(&edit).unwrap();
        self.manifest.append(&edit).unwrap();
        self.levels = Arc::clone(&self.state.keyspaces[&KEYSPACE].levels);
    }

    /// The sources that a reader asks, newest first, each with its entries and range deletes.
    pub(super) fn sources(&self) -> Vec<Vec<Source>> {
        let memtable = &self.memtable;
        let mut ranges = RangeDeletes::default();
        if let Some(tree) = memtable.range_deletes() {
            for piece in tree.pieces() {
                ranges.insert(piece.start, piece.end, piece.sequences[0]);
            }
        }
        let first = Source::new(&mut memtable.cursor(), ranges, None);
        let mut sources = vec![vec![first]];
        if let Some(held) = &self.held {
            let held = Source::new(&mut held.cursor(), RangeDeletes::default(), None);
            sources.push(vec![held]);
        }
        for (_, run) in self.levels.all_runs() {
            sources.push(run.tables().iter().map(Source::of_table).collect());
        }
        sources
    }

    pub(super) fn check(&self) {
        let sources = self.sources();
        check_order(&sources);
        for &snapshot in self.snapshots.iter().chain(&[self.sequence]) {
            let expected = self.model(snapshot);
            for number in 0..KEYS {
                let key = key(number);
                let found = read_key(&sources, &key, snapshot);
                let wanted = expected.get(&key);
                assert_eq!(
                    found.as_ref(),
                    wanted,
                    "{:?} at {snapshot}",
                    key.escape_ascii()
                );
            }
        }
    }

    pub(super) fn model(&self, snapshot: Sequence) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut model = BTreeMap::new();
        for written in self.written.iter().take_while(|w| w.sequence <= snapshot) {
            match &written.operation {
                Operation::Put(k, v) => drop(model.insert(k.clone(), v.clone())),
                Operation::Delete(k) => drop(model.remove(k)),
                Operation::DeleteRange(from, to) => {
                    model.retain(|k, _| k < from || to <= k);
                }
            }
        }
        model
    }

    /// Checks that the directory holds exactly the tables of the levels, and that the manifest
    /// agrees.
    pub(super) fn check_files(&self) {
        self.files.delete_garbage();
        let listed = self.files.fs.list(Path::new(DIR)).unwrap();
        let tables: BTreeSet<String> = listed
            .into_iter()
            .filter(|n| n.ends_with(".table"))
            .collect();
        let live = self
            .levels
            .tables()
            .map(|(_, t)| format!("{:06}.table", t.meta.number));
        assert_eq!(tables, live.collect());
        let (state, tail) = State::read(&self.files, 1, |_| {}).unwrap();
        assert_eq!(tail.torn_bytes, 0);
        assert_eq!(state.snapshot_edit(), self.state.snapshot_edit());
        let named = state.keyspaces[&KEYSPACE].levels.tables();
        let named = named.map(|(place, table)| (place, &table.meta));
        let live = self.levels.tables();
        assert!(named.eq(live.map(|(place, table)| (place, &table.meta))));
    }
}

/// A memtable or a table as a reader sees it.
pub(super) struct Source {
    entries: Vec<(Vec<u8>, Sequence, EntryKind, Vec<u8>)>,
    ranges: RangeDeletes,
    /// The smallest and largest key, and whether the largest is excluded.
    bounds: Option<(Vec<u8>, Vec<u8>, bool)>,
}

impl Source {
    pub(super) fn new(
        cursor: &mut dyn Cursor,
        ranges: RangeDeletes,
        bounds: Option<(Vec<u8>, Vec<u8>, bool)>,
    ) -> Self {
        let mut entries = Vec::new();
        cursor.seek_first().unwrap();
        while cursor.valid() {
            let (key, value) = (cursor.key().to_vec(), cursor.value_bytes().to_vec());
            entries.push((key, cursor.sequence(), cursor.here().unwrap().kind, value));
            cursor.next().unwrap();
        }
        Source {
            entries,
            ranges,
            bounds,
        }
    }

    pub(super) fn of_table(table: &Arc<crate::version::Table>) -> Self {
        let (reader, m) = (table.reader().unwrap(), &table.meta);
        let bounds = (m.smallest.to_vec(), m.largest.to_vec(), m.largest_excluded);
        let ranges = RangeDeletes::clone(reader.range_deletes());
        let source = Source::new(&mut reader.cursor(true), ranges, Some(bounds));
        assert_eq!(m.entries, source.entries.len() as u64);
        source
    }

    pub(super) fn holds(&self, key: &[u8]) -> bool {
        self.bounds
            .as_ref()
            .is_none_or(|(smallest, largest, excluded)| {
                **smallest <= *key && (*key < **largest || (!excluded && *key == **largest))
            })
    }
}

/// A get: asks the newest source first, skips tables whose bounds exclude the key, and ends at the
/// first version found.
pub(super) fn read_key(sources: &[Vec<Source>], key: &[u8], snapshot: Sequence) -> Option<Vec<u8>> {
    let mut deleted = 0;
    for source in sources
        .iter()
        .filter_map(|level| level.iter().find(|s| s.holds(key)))
    {
        deleted = deleted.max(source.ranges.covering(key, snapshot).unwrap_or(0));
        let version = source
            .entries
            .iter()
            .find(|e| e.0 == key && e.1 <= snapshot);
        if let Some((_, sequence, kind, value)) = version {
            let live = *kind == EntryKind::Put && deleted <= *sequence;
            return live.then(|| value.clone());
        }
    }
    None
}

/// Checks that of each key every source holds newer versions than the next one.
fn check_order(sources: &[Vec<Source>]) {
    let mut oldest: BTreeMap<&[u8], Sequence> = BTreeMap::new();
    for source in sources {
        let entries = || source.iter().flat_map(|table| &table.entries);
        for (key, sequence, _, _) in entries() {
            let newer = oldest.get(&**key);
            assert!(newer.is_none_or(|newer| newer > sequence), "{key:?}");
        }
        for (key, sequence, _, _) in entries() {
            let oldest = oldest.entry(key).or_insert(*sequence);
            *oldest = (*oldest).min(*sequence);
        }
    }
}

pub(super) fn memory() -> Arc<dyn FileSystem> {
    let fs = MemoryFileSystem::default();
    fs.create_dir(Path::new(DIR)).unwrap();
    Arc::new(fs)
}

pub(super) fn small_tables() -> TableSpec {
    TableSpec {
        table_bytes: 600,
        ..TableSpec::default()
    }
}

pub(super) fn random_operation(random: &mut StdRng) -> Operation {
    let one = random.random_range(0..KEYS);
    match random.random_range(0..20) {
        0..4 => Operation::Delete(key(one)),
        4 => {
            let longest = if random.random_bool(0.1) { KEYS } else { 12 };
            let end = one + random.random_range(1..=longest);
            Operation::DeleteRange(key(one), key(end))
        }
        _ => {
            let value = vec![random.random(); random.random_range(0..60)];
            Operation::Put(key(one), value)
        }
    }
}

/// Some ranges of keys to be written, and the others to be kept back.
pub(super) fn random_parts(random: &mut StdRng) -> Parts {
    let cuts = random.random_range(0..4);
    let mut cuts: Vec<Vec<u8>> = (0..cuts)
        .map(|_| key(random.random_range(0..KEYS)))
        .collect();
    cuts.sort();
    cuts.dedup();
    let from = std::iter::once(Vec::new()).chain(cuts.iter().cloned());
    let to = cuts.iter().cloned().map(Some).chain([None]);
    let mut parts = Parts {
        write: Vec::new(),
        keep: Vec::new(),
    };
    for (from, to) in from.zip(to) {
        let range = KeyRange {
            from: from.into(),
            to: to.map(Into::into),
        };
        match random.random_bool(0.6) {
            true => parts.write.push(range),
            false => parts.keep.push(range),
        }
    }
    parts
}
