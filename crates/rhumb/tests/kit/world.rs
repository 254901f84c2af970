//! Runs scripts against a store on a disk that can fail, and tracks what the store must hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rhumb::fs::{FaultAt, FaultyFileSystem, FileSystem, MemoryFileSystem, Plan, Site};
use rhumb::{Compaction, CompareAndSwapError, Db, Durability, Error, Keyspace, Snapshot};

use super::access::{finished_tables, ingest, read_all, read_held, write};
use super::oracle::{
    Change, Content, Event, OPTIONS_KEY, Oracle, difference, fingerprint, options_entry, position,
};
use super::recorder::{Point, Recorder, SharedProgress, held};
use super::script::{KEYSPACES, Step};
use super::scripts::Script;
use super::watch::{Merging, Watch};
use super::{DIR, PARTITIONS, SHAPES, tiny_shaped};

/// Why a script stopped early.
#[derive(Debug)]
pub enum Trouble {
    /// The store returned an error.
    Stopped(Error),
    /// The store did something that it must never do.
    Wrong(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Stopped(error)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Stopped(e) => write!(f, "the store stopped: {e}"),
            Trouble::Wrong(what) => f.write_str(what),
        }
    }
}

/// The work that stores did before they were closed, so that a test can show what it covered.
#[derive(Debug, Default, Clone, Copy)]
pub struct Work {
    pub flushes: u64,
    /// Merges by shape and partition, in the order of [`SHAPES`] and [`PARTITIONS`].
    pub merges: [[u64; 2]; SHAPES.len()],
    /// Tables that merges began beside other merges, in the same order.
    pub beside: [[u64; 2]; SHAPES.len()],
    pub moves: u64,
    /// Merges that moved values out of value files.
    pub collections: u64,
    /// Tables that flushes put below level 0.
    pub placed: u64,
    /// Flushes that kept something back.
    pub partial: u64,
    pub openings: u64,
    pub manifests: u64,
    pub logs: u64,
}

/// Checks that each shape and partition had at least `least` merges, and returns their sum. How
/// many of them ran side by side depends on chance.
pub fn check_merges<'a>(work: impl IntoIterator<Item = &'a Work>, least: u64) -> u64 {
    let (mut merges, mut beside) = ([[0; 2]; SHAPES.len()], [[0; 2]; SHAPES.len()]);
    for work in work {
        for (shape, partition) in (0..SHAPES.len()).flat_map(|s| [(s, 0), (s, 1)]) {
            merges[shape][partition] += work.merges[shape][partition];
            beside[shape][partition] += work.beside[shape][partition];
        }
    }
    for (shape, name) in SHAPES.iter().enumerate() {
        for (partition, cut) in PARTITIONS.iter().enumerate() {
            let (merges, beside) = (merges[shape][partition], beside[shape][partition]);
            println!("{name}, {cut}: {merges} merges, {beside} tables begun beside other merges");
            assert!(merges >= least, "{name}, {cut}: too few merges");
        }
    }
    merges.iter().flatten().sum()
}

/// A store, its disk, and what is known of both.
pub struct World {
    pub memory: MemoryFileSystem,
    pub faulty: FaultyFileSystem,
    pub oracle: Oracle,
    /// The fingerprints of commit orders whose ends were lost in a crash, by generation.
    histories: Vec<Arc<Vec<u64>>>,
    pub progress: SharedProgress,
    /// Every moment so far, if they are recorded.
    pub points: Vec<Point>,
    recorder: Option<Recorder>,
    pub sites: BTreeMap<Site, u64>,
    pub plan: Plan,
    /// The shapes of levels with which the store is opened, in turn.
    pub shapes: Vec<Compaction>,
    /// The index in [`PARTITIONS`] for the first opening.
    first_partition: usize,
    /// The groups of values at the openings that have some apart.
    groups: Option<u16>,
    /// Whether to wait for background work after each step.
    settled: bool,
    /// The settings of the open store, as indexes of [`SHAPES`] and [`PARTITIONS`].
    opened: (usize, usize),
    merging: Merging,
    /// How often a failing step is repeated.
    pub patience: usize,
    /// How often the disk was found full and space was made.
    pub full: usize,
    budgeted: bool,
    roomy: bool,
    /// Whether a call has failed in a settled script since the store was opened.
    poisoned: bool,
    /// Whether a failed call must end all writing.
    pub strict: bool,
    /// Whether it is known what the open store holds.
    known: bool,
    pub work: Work,
    /// All errors that the store returned.
    pub errors: Vec<Error>,
    pub faults: u64,
    pub db: Option<Db>,
    held: Option<(Snapshot, Content)>,
}

impl World {
    /// A world with an empty disk; `record` records every moment.
    pub fn new(plan: Plan, record: bool) -> World {
        let memory = MemoryFileSystem::new();
        World::on(memory, Oracle::new(), plan, record)
    }

    /// A world with a disk whose store holds all events of `oracle`.
    pub fn on(memory: MemoryFileSystem, oracle: Oracle, plan: Plan, record: bool) -> World {
        let progress = SharedProgress::default();
        held(&progress).submitted = oracle.len();
        held(&progress).durable = oracle.len();
        let recorder = record.then(|| Recorder::new(memory.clone(), progress.clone()));
        let faulty = stack(&memory, recorder.as_ref(), plan);
        World {
            memory,
            faulty,
            oracle,
            histories: Vec::new(),
            progress,
            points: Vec::new(),
            recorder,
            sites: BTreeMap::new(),
            plan,
            shapes: SHAPES[..1].to_vec(),
            first_partition: 0,
            groups: None,
            settled: true,
            opened: (0, 0),
            merging: Merging::default(),
            patience: 0,
            full: 0,
            budgeted: false,
            poisoned: false,
            strict: false,
            known: false,
            roomy: true,
            work: Work::default(),
            errors: Vec::new(),
            faults: 0,
            db: None,
            held: None,
        }
    }

    /// Opens the store, does all steps, and closes the store.
    pub fn run(&mut self, script: &Script) -> Result<(), Trouble> {
        self.shapes = script.shapes.clone();
        self.first_partition = script.first_partition;
        self.groups = script.groups;
        self.settled = script.settled;
        self.open()?;
        for step in &script.steps {
            let (events, poisoned, faults) = (self.oracle.len(), self.poisoned, self.faults_now());
            self.step(step)?;
            if poisoned && self.poisoned && self.oracle.len() > events {
                let wrong = "a write was acknowledged after a failed sync".to_string();
                return Err(Trouble::Wrong(wrong));
            }
            if let Some(db) = self.db.as_ref().filter(|_| script.settled) {
                db.settle();
            }
            let opened = matches!(step, Step::Reopen | Step::Kill | Step::Crash(..));
            self.poisoned |= self.strict && script.settled && !opened && self.faults_now() > faults;
        }
        self.close()
    }

    fn faults_now(&self) -> u64 {
        self.faults + self.faulty.faults()
    }

    /// Ends the run: stops recording and drops the store.
    pub fn end(&mut self) {
        self.absorb();
        self.held = None;
        self.count_work();
        self.db = None;
    }

    /// Adds up the work of the open store, which is dropped next.
    fn count_work(&mut self) {
        let (shape, partition) = self.opened;
        let (merging, work) = (std::mem::take(&mut self.merging), &mut self.work);
        work.beside[shape][partition] += merging.beside();
        if let Some(Ok(stats)) = self.db.as_ref().map(Db::stats) {
            work.flushes += stats.writes.flushes;
            work.merges[shape][partition] += stats.writes.compactions;
            work.moves += stats.writes.trivial_moves;
            work.collections += stats.writes.collections;
            work.placed += stats.writes.direct_placements;
            work.partial += stats.writes.partial_flushes;
        }
    }

    /// The fingerprints of the prefixes that are legal at points of a generation.
    pub fn prints(&self, generation: usize) -> Arc<Vec<u64>> {
        let old = self.histories.get(generation).cloned();
        old.unwrap_or_else(|| Arc::new(self.oracle.prints.clone()))
    }

    /// How many events an open store may show: all, or all except the write that failed.
    pub fn visible(&self) -> std::ops::RangeInclusive<usize> {
        let length = self.oracle.len();
        match self.known {
            true => length.saturating_sub(1)..=length,
            false => self.legal(),
        }
    }

    /// How many events may be found after a loss of power now.
    pub fn legal(&self) -> std::ops::RangeInclusive<usize> {
        let progress = *held(&self.progress);
        progress.durable..=progress.submitted
    }

    fn step(&mut self, step: &Step) -> Result<(), Trouble> {
        match step {
            Step::Write(changes, durability) => self.write(changes, *durability),
            Step::Sync => {
                self.attempt(|db, _| db.sync())?;
                self.all_durable();
                Ok(())
            }
            Step::Flush(which) => self.with(*which, |keyspace| keyspace.flush()),
            Step::Compact(which, upper) => {
                let from = upper.then(|| super::script::key(30));
                self.with(*which, |k| k.compact_range(from.as_deref(), None))
            }
            Step::Ingest(which, entries, finished) => {
                self.ingest(KEYSPACES[*which], entries, *finished)
            }
            Step::Swap(which, key, new) => self.swap(KEYSPACES[*which], key, new.as_deref()),
            Step::Create(which) => self.create(KEYSPACES[*which], 0),
            Step::CreateWith(which, number) => self.create(KEYSPACES[*which], *number),
            Step::SetOptions(which, number) => self.set_options(KEYSPACES[*which], *number),
            Step::Drop(which) => self.drop_keyspace(KEYSPACES[*which]),
            Step::Read => self.read(),
            Step::Hold => {
                self.held = None;
                let content = self.oracle.content.clone();
                self.held = self.db.as_ref().map(|db| (db.snapshot(), content));
                Ok(())
            }
            Step::Full(room) => {
                (self.budgeted, self.roomy) = (true, false);
                self.faulty.set_budget(Some(*room));
                Ok(())
            }
            Step::Reopen => {
                self.close()?;
                self.open()
            }
            Step::Kill => {
                let disk = self.memory.fork();
                self.next_life(disk);
                self.open()
            }
            Step::Crash(loss, seed) => {
                let disk = self.memory.crash(*loss, *seed);
                self.next_life(disk);
                self.open()
            }
        }
    }

    /// Calls the store, and repeats a failing call while patience is left; `make` receives the
    /// number of failures.
    fn attempt<T>(&mut self, make: impl Fn(&Db, usize) -> rhumb::Result<T>) -> Result<T, Trouble> {
        for tried in 0.. {
            let Some(db) = &self.db else { break };
            match make(db, tried) {
                Ok(done) => return Ok(done),
                Err(e) => self.endure(e, tried)?,
            }
        }
        Err(Trouble::Stopped(Error::Closed))
    }

    fn endure(&mut self, error: Error, tried: usize) -> Result<(), Trouble> {
        if matches!(error, Error::DiskFull { .. }) && self.budgeted && tried < 2000 {
            return self.make_room();
        }
        self.errors.push(error.clone());
        if matches!(error, Error::DiskFull { .. }) && self.patience > 0 && tried < 2000 {
            // Background work checks for space from time to time.
            std::thread::sleep(Duration::from_millis(1));
            return Ok(());
        }
        let for_good = matches!(error, Error::ReadOnly { .. } | Error::Closed);
        if for_good || tried >= self.patience {
            return Err(Trouble::Stopped(error));
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }

    /// Checks that reads continue on a full disk, then makes space.
    fn make_room(&mut self) -> Result<(), Trouble> {
        if !self.roomy {
            let Some(db) = &self.db else { return Ok(()) };
            let found = fingerprint(&read_all(db)?);
            if position(&self.oracle.prints, self.visible(), found).is_none() {
                return Err(Trouble::Wrong("a full disk hides writes".to_string()));
            }
            self.full += 1;
            self.roomy = true;
            self.faulty.set_budget(None);
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }

    fn submit(&mut self, event: Event) {
        self.oracle.push(event);
        held(&self.progress).submitted = self.oracle.len();
    }

    pub fn all_durable(&mut self) {
        held(&self.progress).durable = self.oracle.len();
    }

    fn write(
        &mut self,
        changes: &[(usize, Change)],
        durability: Durability,
    ) -> Result<(), Trouble> {
        let there = |which: &usize| self.oracle.content.contains_key(KEYSPACES[*which]);
        let changes: Vec<(String, Change)> = changes
            .iter()
            .filter(|(which, _)| there(which))
            .map(|(which, change)| (KEYSPACES[*which].to_string(), change.clone()))
            .collect();
        if changes.is_empty() {
            return Ok(());
        }
        self.submit(Event::Write(changes.clone()));
        self.attempt(|db, _| write(db, &changes, durability))?;
        if durability == Durability::Immediate {
            self.all_durable();
        }
        Ok(())
    }

    fn ingest(
        &mut self,
        name: &str,
        entries: &BTreeMap<Vec<u8>, Option<Vec<u8>>>,
        finished: bool,
    ) -> Result<(), Trouble> {
        if !self.oracle.content.contains_key(name) {
            return Ok(());
        }
        let changes = entries.iter().map(|(key, value)| match value {
            Some(value) => Change::Put(key.clone(), value.clone()),
            None => Change::Delete(key.clone()),
        });
        let changes = changes.map(|change| (name.to_string(), change));
        self.submit(Event::Write(changes.collect()));
        // What is written outside of the store is not what is tested.
        let outside = self.memory.clone();
        let tables = match finished {
            true => finished_tables(&outside, entries)?,
            false => Vec::new(),
        };
        let ingested = self.attempt(|db, _| ingest(&db.keyspace(name)?, entries, &tables));
        for table in &tables {
            let _ = outside.remove(Path::new(table));
        }
        ingested?;
        self.all_durable();
        Ok(())
    }

    fn swap(&mut self, name: &str, key: &[u8], new: Option<&[u8]>) -> Result<(), Trouble> {
        let Some(keys) = self.oracle.content.get(name) else {
            return Ok(());
        };
        let current = keys.get(key).cloned();
        let change = match new {
            Some(value) => Change::Put(key.to_vec(), value.to_vec()),
            None => Change::Delete(key.to_vec()),
        };
        let wrong = self.attempt(|db, _| {
            db.keyspace(name)?
                .compare_and_swap(key, Some(b"not there"), new)
        })?;
        self.submit(Event::Write(vec![(name.to_string(), change)]));
        let right = self.attempt(|db, tried| {
            let keyspace = db.keyspace(name)?;
            let swapped = keyspace.compare_and_swap(key, current.as_deref(), new)?;
            // What failed may have been written all the same.
            let before = |other: &CompareAndSwapError| tried > 0 && other.current.as_deref() == new;
            Ok(swapped.or_else(|other| before(&other).then_some(()).ok_or(other)))
        })?;
        if wrong.is_ok() || right.is_err() {
            return Err(Trouble::Wrong("a wrong answer to a swap".to_string()));
        }
        self.all_durable();
        Ok(())
    }

    fn with(
        &mut self,
        which: usize,
        make: impl Fn(&Keyspace) -> rhumb::Result<()>,
    ) -> Result<(), Trouble> {
        let name = KEYSPACES[which];
        if !self.oracle.content.contains_key(name) {
            return Ok(());
        }
        self.attempt(|db, _| make(&db.keyspace(name)?))
    }

    fn create(&mut self, name: &str, number: usize) -> Result<(), Trouble> {
        if self.oracle.content.contains_key(name) {
            return Ok(());
        }
        let options = super::script::options(number);
        self.submit(Event::Create(name.to_string(), options.clone()));
        self.attempt(
            |db, tried| match db.create_keyspace_with(name, options.clone()) {
                Err(Error::KeyspaceExists(_)) if tried > 0 => Ok(()),
                made => made.map(drop),
            },
        )?;
        self.all_durable();
        Ok(())
    }

    fn set_options(&mut self, name: &str, number: usize) -> Result<(), Trouble> {
        let options = super::script::options(number);
        let Some(keys) = self.oracle.content.get(name) else {
            return Ok(());
        };
        let entry = keys.get(OPTIONS_KEY);
        let same = match options_entry(&options) {
            Change::Put(_, text) => entry == Some(&text),
            _ => entry.is_none(),
        };
        if same {
            // Nothing is written, so that it makes nothing durable.
            return self.attempt(|db, _| db.keyspace(name)?.set_options(options.clone()));
        }
        self.submit(Event::Options(name.to_string(), options.clone()));
        self.attempt(|db, _| db.keyspace(name)?.set_options(options.clone()))?;
        self.all_durable();
        Ok(())
    }

    fn drop_keyspace(&mut self, name: &str) -> Result<(), Trouble> {
        if name == KEYSPACES[0] || !self.oracle.content.contains_key(name) {
            return Ok(());
        }
        self.held = None;
        self.submit(Event::Drop(name.to_string()));
        self.attempt(|db, tried| match db.drop_keyspace(name) {
            Err(Error::NoSuchKeyspace(_)) if tried > 0 => Ok(()),
            done => done,
        })?;
        self.all_durable();
        Ok(())
    }

    fn read(&mut self) -> Result<(), Trouble> {
        for tried in 0.. {
            match self.read_once() {
                Err(Trouble::Stopped(e)) => self.endure(e, tried)?,
                other => return other,
            }
        }
        Ok(())
    }

    fn read_once(&self) -> Result<(), Trouble> {
        let Some(db) = &self.db else { return Ok(()) };
        let content = read_all(db)?;
        if content != self.oracle.content {
            let difference = difference(&self.oracle.content, &content);
            return Err(Trouble::Wrong(format!("wrong content\n  {difference}")));
        }
        match &self.held {
            Some((snapshot, expected)) => read_held(db, snapshot, expected),
            None => Ok(()),
        }
    }

    /// Opens the store and determines which prefix of the commit order it holds. Later events are
    /// lost; the prefix is durable, since opening makes durable what it finds.
    pub fn open(&mut self) -> Result<(), Trouble> {
        let number = self.work.openings as usize;
        let shape = self.shapes[number % self.shapes.len()];
        if !self.settled {
            self.merging.patience = Duration::from_millis(2);
        }
        let watch = Watch {
            inner: self.faulty.clone(),
            merging: self.merging.clone(),
        };
        let mut options = tiny_shaped(Arc::new(watch), shape);
        options.compaction_threads = match self.settled {
            // With more threads the order of calls would differ each time.
            true => 1,
            false => 2 + number % 2,
        };
        // Partitions alternate, starting with a different one for each script.
        let place = SHAPES.iter().position(|s| *s == shape).unwrap_or_default();
        self.opened = (place, (number + self.first_partition) % 2);
        options.table.partition = PARTITIONS[self.opened.1];
        // Every other opening writes longer values apart from their keys.
        options.table.separate_values = [None, Some(100)][self.opened.1];
        options.table.value_groups = options.table.separate_values.and(self.groups);
        // Values are moved out of the log and the first garbage in a value file is collected, or values stay in the log and
        // none is.
        options.over_provision_percent = [u32::MAX, 0][number / 2 % 2];
        for tried in 0.. {
            match Db::open(DIR, options.clone()) {
                Ok(db) => {
                    self.known = false;
                    self.work.openings += 1;
                    self.poisoned = false;
                    self.db = Some(db);
                    break;
                }
                Err(e) => self.endure(e, tried)?,
            }
        }
        let mut content = None;
        for tried in 0.. {
            let Some(db) = &self.db else { break };
            match read_all(db) {
                Err(Trouble::Stopped(e)) => self.endure(e, tried)?,
                other => {
                    content = Some(other?);
                    break;
                }
            }
        }
        self.resume(&content.unwrap_or_default())
    }

    fn resume(&mut self, content: &Content) -> Result<(), Trouble> {
        let legal = self.legal();
        let (durable, submitted) = (*legal.start(), *legal.end());
        let prints = &self.oracle.prints;
        let Some(found) = position(prints, legal, fingerprint(content)) else {
            let difference = difference(&self.oracle.content_at(durable), content);
            return Err(Trouble::Wrong(format!(
                "opened with no prefix of {durable} to {submitted} events\n  {difference}"
            )));
        };
        let mut progress = held(&self.progress);
        if found < submitted {
            self.histories.push(Arc::new(self.oracle.prints.clone()));
            self.oracle.truncate(found);
            progress.generation += 1;
        }
        (progress.durable, progress.submitted) = (found, found);
        drop(progress);
        self.known = true;
        Ok(())
    }

    pub fn close(&mut self) -> Result<(), Trouble> {
        self.held = None;
        self.faulty.set_budget(None);
        self.count_work();
        let Some(db) = self.db.take() else {
            return Ok(());
        };
        match db.close() {
            Ok(()) => self.all_durable(),
            Err(e) if self.patience > 0 => self.errors.push(e),
            Err(e) => return Err(Trouble::Stopped(e)),
        }
        Ok(())
    }

    /// Continues with another disk; the old one is not used any more.
    pub fn next_life(&mut self, disk: MemoryFileSystem) {
        let (calls, mutating) = (self.faulty.calls(), self.faulty.mutating_calls());
        self.plan.cut_at = self.plan.cut_at.and_then(|at| at.checked_sub(mutating));
        self.plan.fault = match self.plan.fault {
            Some(_) if self.faulty.faults() > 0 => None,
            Some((FaultAt::Call(at), fault)) => {
                at.checked_sub(calls).map(|at| (FaultAt::Call(at), fault))
            }
            other => other,
        };
        self.absorb();
        self.faulty.set_plan(Plan::default());
        self.held = None;
        self.count_work();
        self.db = None;
        self.memory = disk;
        if self.recorder.is_some() {
            self.recorder = Some(Recorder::new(self.memory.clone(), self.progress.clone()));
        }
        self.faulty = stack(&self.memory, self.recorder.as_ref(), self.plan);
    }

    /// Takes over what this life's file systems recorded, and stops the recording.
    fn absorb(&mut self) {
        for (site, count) in self.faulty.sites() {
            *self.sites.entry(site).or_default() += count;
        }
        self.faults += self.faulty.faults();
        if let Some(recorder) = &self.recorder {
            let record = recorder.record();
            let mut record = held(&record);
            record.stopped = true;
            let made = |extension: &str| {
                let made = |p: &&Point| p.call.starts_with("before") && p.call.contains("create");
                let made = record.points.iter().filter(made);
                made.filter(|p| p.call.ends_with(extension)).count() as u64
            };
            self.work.manifests += made(".manifest");
            self.work.logs += made(".log");
            self.points.append(&mut record.points);
        }
    }

    /// The sites that made syncs.
    pub fn sync_sites(&self) -> BTreeSet<Site> {
        let syncs = self.sites.keys().filter(|site| site.call.is_sync());
        syncs.copied().collect()
    }
}

fn stack(memory: &MemoryFileSystem, recorder: Option<&Recorder>, plan: Plan) -> FaultyFileSystem {
    let inner: Arc<dyn FileSystem> = match recorder {
        Some(recorder) => Arc::new(recorder.clone()),
        None => Arc::new(memory.clone()),
    };
    FaultyFileSystem::new(inner, plan)
}
