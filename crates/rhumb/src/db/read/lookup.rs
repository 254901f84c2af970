//! Gets: the memtables are asked first, then the tables that may hold the key, newest first.

use std::sync::Arc;
use std::time::Instant;

use crate::compaction::{runs_above_tier, tier_of};
use crate::entry::{Content, Pointer, Sequence, Version};
use crate::error::Result;
use crate::memory::Pinned;
use crate::memtable::Memtable;
use crate::options::TierSpec;
#[cfg(feature = "internals")]
use crate::table::TimedGet;
use crate::table::{Asked, BlockSource, NumberCache, TableReader, hash_key};
use crate::tune::Tuned;
use crate::version::{InRun, LEVELS, LookUp, Run, Table};

use super::above::AboveFilter;
use super::view::View;

/// The filters of so many tables behind the first one are fetched from memory before the first one is asked, so that they are
/// waited for together.
const AHEAD: usize = 8;

/// A running look-up: its key, and what it found so far.
pub(in crate::db) struct Lookup<'a> {
    key: &'a [u8],
    hash: u64,
    visible: Sequence,
    numbers: NumberCache,
    /// The newest version of the key found so far.
    found: Option<Version>,
    /// The newest range delete over the key found so far, or 0.
    covered: Sequence,
    /// Whether the filter over what stands above the tier was asked.
    is_filtered: bool,
    /// Whether the learned tier is asked while what stands above it is searched.
    concurrent: bool,
    /// Wants to know how long it takes in each table.
    tuned: Option<&'a Tuned>,
    /// Where it looked, and where the answer came from.
    pub(in crate::db) sources: Sources,
}

/// Which sources a look-up asked that are counted.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::db) struct Sources {
    /// Whether a memtable decided the answer.
    pub(in crate::db) memtable_hit: bool,
    /// Whether the run of the last level was asked, and whether it had the key.
    pub(in crate::db) tier_probed: bool,
    pub(in crate::db) tier_hit: bool,
    /// Whether the filter over what stands above a learned tier said that the key is not there,
    pub(in crate::db) above_negative: bool,
    /// or wrongly that it may be.
    pub(in crate::db) above_false_positive: bool,
    /// Whether a block of the tier was asked of the device before what stands above it was searched.
    pub(in crate::db) tier_ahead: bool,
}

impl<'a> Lookup<'a> {
    /// Prepares to look up `key` as of sequence `visible`.
    pub(in crate::db) fn new(key: &'a [u8], visible: Sequence) -> Self {
        Lookup {
            key,
            hash: hash_key(key),
            visible,
            numbers: NumberCache::default(),
            found: None,
            covered: 0,
            is_filtered: false,
            concurrent: false,
            tuned: None,
            sources: Sources::default(),
        }
    }

    /// Asks a tier meanwhile, if it [says so](crate::TierSpec::concurrent_probes).
    #[inline]
    pub(in crate::db) fn probe_as(&mut self, tier: Option<TierSpec>) {
        self.concurrent = tier.is_some_and(|tier| tier.concurrent_probes);
    }

    /// Tells a tuner how long the look-up takes in each table, and what it does there.
    #[inline]
    pub(in crate::db) fn time_for(&mut self, tuned: Option<&'a Tuned>) {
        self.tuned = tuned;
    }

    /// Looks the key up: see [`Lookup::take_answer`].
    ///
    /// Each source is newer than the next, so the first source with a version of the key or a range
    /// delete over it ends the search. Tables of level 0 are the exception: they are all asked if
    /// they may hold something newer.
    pub(in crate::db) fn run(&mut self, view: &View, source: &mut BlockSource) -> Result<()> {
        let above = view.above(self.visible);
        if let Some(above) = above {
            above.prefetch(self.hash);
            let tier = tier_of(&view.levels).and_then(|tier| tier.table_for(self.key));
            self.prefetch_filter(tier);
            if !self.is_in(above) {
                self.ask_range_deletes(view)?;
                if let Some(table) = tier.filter(|_| !self.decided()) {
                    self.ask_table(table, source, true)?;
                    self.note_asked(LEVELS - 1);
                }
                return Ok(());
            }
        }
        self.prefetch_memtables(view);
        let mut runs = view.levels.all_runs();
        let next = runs.find_map(|(level, run)| Some((level, run.table_for(self.key)?)));
        self.prefetch_filter(next.map(|(_, table)| table));
        self.ask_memtables(view);
        if self.concurrent && !self.decided() {
            self.ask_tier_ahead(view, source);
        }
        match view.levels.runs_count() {
            2.. => self.ask_many(next, runs, source)?,
            _ => {
                if let Some((level, table)) = next
                    && self.may_be_changed_by(level, &table)
                {
                    self.ask_table(table, source, true)?;
                    self.note_asked(level);
                }
            }
        }
        self.note_end();
        Ok(())
    }

    /// Asks the tables of several runs, newest first: the `next` one, whose filter was prefetched, and those of the runs behind
    /// it. Unless a memtable decided, the filters of the next tables are fetched from memory together.
    // A function of its own, so that gets in a single run do not pay for it.
    #[inline(never)]
    fn ask_many<'v>(
        &mut self,
        mut next: Option<(usize, InRun<'v>)>,
        runs: impl Iterator<Item = (usize, &'v Arc<Run>)>,
        source: &mut BlockSource,
    ) -> Result<()> {
        let (key, hash, is_open) = (self.key, self.hash, !self.decided());
        let mut tables = runs.filter_map(|(level, run)| Some((level, run.table_for(key)?)));
        let mut ahead = [None; AHEAD];
        if is_open {
            for (place, found) in ahead.iter_mut().zip(&mut tables) {
                prefetch_filter(found.1, hash);
                *place = Some(found);
            }
        }
        let others = tables.inspect(|(_, table)| {
            if is_open {
                prefetch_filter(*table, hash);
            }
        });
        let mut tables = ahead.iter().flatten().copied().chain(others);
        while let Some((level, table)) = next
            && (level == 0 || !self.decided())
        {
            next = tables.next();
            if self.may_be_changed_by(level, &table) {
                // A key that no earlier run holds is in the last run if it is anywhere.
                self.ask_table(table, source, next.is_none())?;
                self.note_asked(level);
            }
        }
        Ok(())
    }

    /// Asks the device for the block of the tier that may hold the key, if something above the tier is searched first.
    #[cold]
    fn ask_tier_ahead(&mut self, view: &View, source: &mut BlockSource) {
        let mut above = runs_above_tier(&view.levels);
        let tier = tier_of(&view.levels).and_then(|tier| tier.table_for(self.key));
        if let Some(table) = tier
            && let Some(reader) = table.table.open_reader()
            && above.any(|run| run.table_for(self.key).is_some())
        {
            let asked = self.asked(table, true);
            self.sources.tier_ahead = reader.ask_ahead(&asked, &mut self.numbers, source);
        }
    }

    /// Asks the range deletes of all memtables and runs above the tier.
    pub(in crate::db) fn ask_range_deletes(&mut self, view: &View) -> Result<()> {
        for memtable in view.filled_memtables() {
            self.cover(memtable.covering(self.key, self.visible));
        }
        if !view.levels.have_range_deletes() {
            return Ok(());
        }
        let runs = runs_above_tier(&view.levels).filter(|run| run.has_range_deletes());
        for table in runs.filter_map(|run| run.table_for(self.key)) {
            self.cover(table.reader()?.covering(self.key, self.visible));
        }
        Ok(())
    }

    /// Notes the newest range delete over the key in a source.
    #[inline]
    fn cover(&mut self, covering: Option<Sequence>) {
        self.covered = self.covered.max(covering.unwrap_or(0));
    }

    /// Notes that a table of a level was asked, after no newer one had an answer.
    pub(in crate::db) fn note_asked(&mut self, level: usize) {
        if level + 1 == LEVELS {
            self.sources.tier_probed = true;
            self.sources.tier_hit = self.found.is_some();
        }
    }

    /// Notes, where the filter over what stands above the tier let everything be asked, whether that was for nothing.
    pub(in crate::db) fn note_end(&mut self) {
        if self.is_filtered && !self.sources.above_negative {
            let is_above = self.decided() && !self.sources.tier_probed;
            self.sources.above_false_positive = !is_above;
        }
    }

    /// Whether the filter over what stands above the tier has the key. If not, only the tier and range deletes are asked.
    pub(in crate::db) fn is_in(&mut self, above: &AboveFilter) -> bool {
        self.is_filtered = true;
        self.sources.above_negative = !above.has(self.hash);
        !self.sources.above_negative
    }

    /// Prefetches the part of a table's filter that the key needs, while the source before it is
    /// asked.
    #[inline]
    pub(in crate::db) fn prefetch_filter(&self, table: Option<InRun<'_>>) {
        if let Some(table) = table {
            prefetch_filter(table, self.hash);
        }
    }

    /// Asks the memtables until one decides the answer.
    pub(in crate::db) fn ask_memtables(&mut self, view: &View) {
        for memtable in view.filled_memtables() {
            self.ask_memtable(memtable);
            if self.decided() {
                self.sources.memtable_hit = true;
                return;
            }
        }
    }

    /// Asks one memtable.
    pub(in crate::db) fn ask_memtable(&mut self, memtable: &Arc<Memtable>) {
        self.cover(memtable.covering(self.key, self.visible));
        self.found = memtable.get(self.key, self.hash, self.visible);
    }

    /// Prefetches what is asked first of each memtable.
    #[inline]
    pub(in crate::db) fn prefetch_memtables(&self, view: &View) {
        for memtable in view.memtables() {
            memtable.prefetch(self.hash);
        }
    }

    /// Whether a table of a level may change the answer. Each run is newer than the next, except in
    /// level 0, where the sequences of runs may overlap after a repair.
    pub(in crate::db) fn may_be_changed_by(&self, level: usize, table: &Table) -> bool {
        let found = self.found.as_ref().map_or(0, |v| v.sequence);
        !self.decided() || (level == 0 && found.max(self.covered) <= table.meta.largest_sequence)
    }

    /// The key that is looked up.
    pub(in crate::db) fn key(&self) -> &'a [u8] {
        self.key
    }

    /// What is asked of a table.
    #[inline(always)]
    pub(in crate::db) fn asked<'t>(&self, table: InRun<'t>, likely: bool) -> Asked<'t>
    where
        'a: 't,
    {
        Asked {
            key: self.key,
            hash: self.hash,
            visible: self.visible,
            likely,
            slice: table.slice(),
        }
    }

    /// Asks one table. Keeps its version of the key if that is newer than the one found before.
    /// `source` reads the blocks and counts the work; look-ups of ascending keys in one table may
    /// share it. `likely`: see [`crate::table::TableReader::get`].
    #[inline(always)]
    pub(in crate::db) fn ask_table(
        &mut self,
        table: InRun<'_>,
        source: &mut BlockSource,
        likely: bool,
    ) -> Result<()> {
        if let Some(tuned) = self.tuned {
            return self.ask_table_for(tuned, table, source, likely);
        }
        let asked = self.asked(table, likely);
        let reader = table.reader()?;
        self.cover_by(reader);
        if self.found.is_none() {
            return reader.get_into(&asked, &mut self.numbers, source, &mut self.found);
        }
        let found = reader.get(&asked, &mut self.numbers, source)?;
        self.keep_newer(found);
        Ok(())
    }

    /// Asks one table, and tells a tuner how long it takes.
    #[cold]
    #[inline(never)]
    fn ask_table_for(
        &mut self,
        tuned: &Tuned,
        table: InRun<'_>,
        source: &mut BlockSource,
        likely: bool,
    ) -> Result<()> {
        let asked = self.asked(table, likely);
        self.ask_table_by(&table, |reader, lookup| {
            let by_model = asked.slice.is_none() && reader.is_learned();
            let (before, started) = (source.trace, Instant::now());
            let found = reader.get(&asked, &mut lookup.numbers, source);
            let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let is_searched = source.trace.filter_negative == before.filter_negative;
            if let Ok(found) = &found {
                let look_up = LookUp {
                    serves: found.is_some(),
                    by_model,
                    has_read: source.trace.blocks_read > before.blocks_read,
                };
                tuned.note_table(&table, look_up, is_searched.then_some(nanos));
            }
            found
        })
    }

    /// Asks one table; `get` finds the version of the key in it.
    #[inline(always)]
    pub(in crate::db) fn ask_table_by(
        &mut self,
        table: &Table,
        get: impl FnOnce(&TableReader, &mut Self) -> Result<Option<Version>>,
    ) -> Result<()> {
        let reader = table.reader()?;
        self.cover_by(reader);
        let found = get(reader, self)?;
        self.keep_newer(found);
        Ok(())
    }

    /// Keeps what a table has, if it is newer than what was found before.
    // Left to itself, the compiler makes calls of it, which copy the version once more.
    #[inline(always)]
    pub(in crate::db) fn keep_newer(&mut self, found: Option<Version>) {
        let newer = |f: &Version| found.as_ref().is_some_and(|new| f.sequence < new.sequence);
        // Moved as a whole: a version taken out of its option and put into another is moved twice.
        if self.found.as_ref().is_none_or(newer) {
            self.found = found;
        }
    }

    /// The numbers of the key.
    #[inline]
    pub(in crate::db) fn numbers(&mut self) -> &mut NumberCache {
        &mut self.numbers
    }

    /// Notes the range deletes of a table over the key.
    pub(in crate::db) fn cover_by(&mut self, reader: &TableReader) {
        self.cover(reader.covering(self.key, self.visible));
    }

    /// Asks one table by a timed get.
    #[cfg(feature = "internals")]
    pub(in crate::db) fn ask_table_timed(
        &mut self,
        table: InRun<'_>,
        get: &mut TimedGet,
    ) -> Result<()> {
        let asked = self.asked(table, true);
        self.ask_table_by(&table, |reader, lookup| {
            reader.get_timed(&asked, &mut lookup.numbers, get)
        })
    }

    /// Whether older sources can no longer change the answer.
    pub(in crate::db) fn decided(&self) -> bool {
        self.found.is_some() || self.covered > 0
    }

    /// Takes the value of the key, or the pointer to it ([`Lookup::resolve`]), out of what was found; `None` if it has no value.
    #[inline]
    pub(in crate::db) fn take_answer(&mut self) -> Option<Content> {
        let version = self.found.take()?;
        let alive = version.kind.has_value() && version.sequence >= self.covered;
        alive.then_some(version.content)
    }

    /// The value that the answer is or points to; `keyspace` is the id of the keyspace.
    ///
    /// # Errors
    /// If a value file cannot be read or is damaged.
    #[inline(always)]
    pub(in crate::db) fn resolve(
        &self,
        view: &View,
        keyspace: u32,
        answer: Option<Content>,
    ) -> Result<Option<Pinned>> {
        match answer {
            None => Ok(None),
            Some(Content::Here(value)) => Ok(Some(value)),
            Some(Content::Apart(pointer)) => {
                read_apart(view, keyspace, self.key, pointer).map(Some)
            }
        }
    }

    /// The newest version and range delete found so far, for explanations.
    pub(in crate::db) fn state(&self) -> (Option<&Version>, Sequence) {
        (self.found.as_ref(), self.covered)
    }
}

#[inline]
fn prefetch_filter(table: InRun<'_>, hash: u64) {
    if let Some(reader) = table.table.open_reader() {
        reader.prefetch_filter(hash);
    }
}

#[cold]
#[inline(never)]
fn read_apart(view: &View, keyspace: u32, key: &[u8], pointer: Pointer) -> Result<Pinned> {
    view.levels.value_files().read(keyspace, key, pointer)
}
