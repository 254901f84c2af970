//! Gets of many keys at one moment. The memtables and tables are asked one after another, each for
//! all keys in key order, so that no table is visited twice and no block is read twice. What a group of keys needs of
//! a run, from memory or from the device, is asked for before the first of them waits for it.

use super::lookup::Lookup;
use super::view::View;
use crate::compaction::is_tier;
use crate::db::stats::counters::ReadCounters;
use crate::entry::{Content, Sequence, abbreviate};
use crate::error::Result;
use crate::memory::Pinned;
use crate::table::{BegunGet, BlockSource, GetTrace, TableReader, read_together};
use crate::tune::Chooser;
use crate::version::{InRun, Run};
use crate::vlog::unread;

/// The keys of a group: what is fetched from memory for so many still fits the processor's caches, and a device works on as
/// many reads at a time.
const TOGETHER: usize = 64;

/// The values of `keys` in the keyspace with this id, in the same order, as of sequence `visible`.
pub(in crate::db) fn look_up_all(
    view: &View,
    keyspace: u32,
    keys: &[&[u8]],
    visible: Sequence,
    (reads, tuner): (&ReadCounters, Option<&Chooser>),
) -> Result<Vec<Option<Pinned>>> {
    let order = order_of(keys);
    let sorted = order.iter().filter_map(|&place| keys.get(place));
    let mut lookups: Vec<Lookup<'_>> = sorted.map(|key| Lookup::new(key, visible)).collect();
    for lookup in &mut lookups {
        match view.above(visible).is_none_or(|above| lookup.is_in(above)) {
            true => lookup.ask_memtables(view),
            false => lookup.ask_range_deletes(view)?,
        }
    }
    let mut trace = GetTrace::default();
    for (level, run) in view.levels.all_runs() {
        let is_tier = is_tier(&view.levels, run);
        let asks = |lookup: &&mut Lookup<'_>| is_tier || !lookup.sources.above_negative;
        ask_run(level, run, lookups.iter_mut().filter(asks), &mut trace)?;
    }
    if let Some(tuner) = tuner {
        tuner.note_gets(&trace);
    }
    let mut values = vec![None; keys.len()];
    let mut apart = Vec::new();
    for (&place, lookup) in order.iter().zip(&mut lookups) {
        lookup.note_end();
        reads.count(lookup.sources, &std::mem::take(&mut trace));
        match (lookup.take_answer(), values.get_mut(place)) {
            (Some(Content::Here(value)), Some(into)) => *into = Some(value),
            (Some(Content::Apart(pointer)), _) => apart.push((place, lookup.key(), pointer)),
            _ => {}
        }
    }
    let mut read = unread(apart.len());
    let wanted = apart.iter().enumerate();
    let wanted = wanted.map(|(nth, (_, key, pointer))| (nth, *key, *pointer));
    let files = view.levels.value_files();
    files.read_all(keyspace, wanted, true, &mut read);
    for ((place, ..), value) in apart.iter().zip(read) {
        if let Some(into) = values.get_mut(*place) {
            *into = Some(value?);
        }
    }
    Ok(values)
}

/// A look-up that one table is asked for.
struct Question<'l, 'k, 'r> {
    lookup: &'l mut Lookup<'k>,
    table: InRun<'r>,
    /// `None` if the filter says that the key is absent.
    reader: Option<&'r TableReader>,
    /// `None` before the index was asked.
    get: Option<BegunGet<'r>>,
}

impl Question<'_, '_, '_> {
    /// Asks the range deletes and the filter.
    fn ask_filter(&mut self, trace: &mut GetTrace) -> Result<()> {
        let reader = self.table.table.reader()?;
        self.lookup.cover_by(reader);
        let (asked, numbers) = self.lookup.question(self.table);
        if reader.admits(&asked, trace) {
            reader.prefetch_index(&asked, numbers, 0)?;
            self.reader = Some(reader);
        }
        Ok(())
    }

    fn prefetch_index(&mut self) -> Result<()> {
        let (asked, numbers) = self.lookup.question(self.table);
        match self.reader {
            Some(reader) => reader.prefetch_index(&asked, numbers, 1),
            None => Ok(()),
        }
    }

    fn ask_index(&mut self) -> Result<()> {
        if let Some(reader) = self.reader {
            let (asked, numbers) = self.lookup.question(self.table);
            self.get = Some(reader.begin_get(&asked, numbers)?);
        }
        Ok(())
    }

    /// Whether one of the questions behind it may need the same block. Behind those of a group, nothing is known.
    fn may_share_with(&self, behind: &[Self]) -> bool {
        let next = behind.iter().find_map(|question| question.get.as_ref());
        let both = self.get.as_ref().zip(next);
        both.is_none_or(|(get, next)| get.may_share_with(next))
    }

    /// Searches the block.
    fn end(&mut self, level: usize, source: &mut BlockSource) -> Result<()> {
        if let Some(get) = &mut self.get {
            let (asked, _) = self.lookup.question(self.table);
            let found = get.end(&asked, source)?;
            self.lookup.keep_newer(found);
        }
        self.lookup.note_asked(level);
        Ok(())
    }
}

/// Asks the tables of a run, in key order, for the keys whose answers they may change.
fn ask_run<'l, 'k: 'l>(
    level: usize,
    run: &Run,
    lookups: impl Iterator<Item = &'l mut Lookup<'k>>,
    trace: &mut GetTrace,
) -> Result<()> {
    let mut source = BlockSource::shared();
    let mut before = None;
    let mut questions = lookups.filter_map(|lookup| {
        let table = run.table_for(lookup.key())?;
        let asks = lookup.may_be_changed_by(level, &table);
        asks.then(|| {
            lookup.prefetch_filter(Some(table));
            let (reader, get) = (None, None);
            Question {
                lookup,
                table,
                reader,
                get,
            }
        })
    });
    let mut group = Vec::with_capacity(TOGETHER);
    loop {
        group.extend(questions.by_ref().take(TOGETHER));
        if group.is_empty() {
            trace.add(&source.trace);
            return Ok(());
        }
        prepare(&mut group, &mut source)?;
        let mut rest = &mut group[..];
        while let [question, behind @ ..] = rest {
            let table = question.table.meta.number;
            if before.replace(table) != Some(table) {
                source.leave_table();
            }
            source.keep_recent(question.may_share_with(behind));
            question.end(level, &mut source)?;
            rest = behind;
        }
        group.clear();
    }
}

/// Takes a group of questions, in key order, through the steps in which each waits for memory or the device.
fn prepare(group: &mut [Question<'_, '_, '_>], source: &mut BlockSource) -> Result<()> {
    for question in &mut *group {
        question.ask_filter(&mut source.trace)?;
    }
    for question in &mut *group {
        question.prefetch_index()?;
    }
    for question in &mut *group {
        question.ask_index()?;
    }
    for get in group.iter().filter_map(|question| question.get.as_ref()) {
        get.prefetch();
    }
    read_together(
        group
            .iter_mut()
            .filter_map(|question| question.get.as_mut()),
        source,
    );
    Ok(())
}

/// The places of keys, in the order of the keys.
fn order_of(keys: &[&[u8]]) -> Vec<usize> {
    let heads = keys.iter().map(|key| abbreviate(&[], key));
    let mut order: Vec<(u64, usize)> = heads.zip(0..).collect();
    order.sort_unstable_by(|(a, left), (b, right)| {
        let rest = || keys.get(*left).cmp(&keys.get(*right));
        a.cmp(b).then_with(rest)
    });
    order.into_iter().map(|(_, place)| place).collect()
}
