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
use crate::table::{Asked, BegunGet, BlockSource, GetTrace, read_together};
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
    let mut lookups = in_room_for_all(sorted.map(|key| Lookup::new(key, visible)));
    for group in lookups.chunks_mut(TOGETHER) {
        for lookup in &*group {
            lookup.prefetch_memtables(view);
        }
        for lookup in group {
            match view.above(visible).is_none_or(|above| lookup.is_in(above)) {
                true => lookup.ask_memtables(view),
                false => lookup.ask_range_deletes(view)?,
            }
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
    lookups.iter_mut().for_each(Lookup::note_end);
    let sources = lookups.iter().map(|lookup| lookup.sources);
    reads.count_together(sources, &trace);
    let mut values = vec![None; keys.len()];
    let mut apart = Vec::new();
    for (&place, lookup) in order.iter().zip(&mut lookups) {
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

/// A look-up and what it asks of a table whose filter does not exclude the key.
struct Question<'l, 'k, 'r> {
    lookup: &'l mut Lookup<'k>,
    asked: Asked<'r>,
    get: BegunGet<'r>,
}

impl<'l, 'k: 'r, 'r> Question<'l, 'k, 'r> {
    /// Asks the range deletes and the filter of a table; `None` if the filter excludes the key.
    #[inline]
    fn begin(
        lookup: &'l mut Lookup<'k>,
        table: InRun<'r>,
        level: usize,
        trace: &mut GetTrace,
    ) -> Result<Option<Self>> {
        let reader = table.table.reader()?;
        lookup.cover_by(reader);
        let asked = lookup.asked(table, false);
        let Some(get) = reader.begin_get(&asked, lookup.numbers(), trace)? else {
            lookup.note_asked(level);
            return Ok(None);
        };
        Ok(Some(Question { lookup, asked, get }))
    }

    fn prefetch_index(&mut self) -> Result<()> {
        (self.get).prefetch_index(&self.asked, self.lookup.numbers())
    }

    fn ask_index(&mut self) -> Result<()> {
        (self.get).ask_index(&self.asked, self.lookup.numbers())
    }

    /// Whether the question behind it may need the same block. Behind the last of a group, nothing is known.
    fn may_share_with(&self, behind: &[Self]) -> bool {
        let next = behind.first();
        next.is_none_or(|next| self.get.may_share_with(&next.get))
    }

    /// Searches the block.
    fn end(&mut self, level: usize, source: &mut BlockSource) -> Result<()> {
        let found = self.get.end(&self.asked, source)?;
        self.lookup.keep_newer(found);
        self.lookup.note_asked(level);
        Ok(())
    }
}

/// Asks the tables of a run, in key order, for the keys whose answers they may change.
fn ask_run<'l, 'k: 'l + 'r, 'r>(
    level: usize,
    run: &'r Run,
    lookups: impl Iterator<Item = &'l mut Lookup<'k>>,
    trace: &mut GetTrace,
) -> Result<()> {
    let mut source = BlockSource::shared();
    let mut in_tables = lookups.filter_map(|lookup| {
        let table = run.table_for(lookup.key())?;
        let may_change = lookup.may_be_changed_by(level, &table);
        may_change.then(|| {
            lookup.prefetch_filter(Some(table));
            (lookup, table)
        })
    });
    let mut questions = Vec::with_capacity(most_of(&in_tables).min(TOGETHER));
    loop {
        fill(&mut questions, &mut in_tables, level, &mut source.trace)?;
        if questions.is_empty() {
            trace.add(&source.trace);
            return Ok(());
        }
        prepare(&mut questions, &mut source)?;
        let mut rest = &mut questions[..];
        while let [question, behind @ ..] = rest {
            source.keep_recent(question.may_share_with(behind));
            question.end(level, &mut source)?;
            rest = behind;
        }
        questions.clear();
    }
}

/// Begins questions until there are [`TOGETHER`]: where filters exclude keys, others take their place.
fn fill<'l, 'k: 'r, 'r>(
    questions: &mut Vec<Question<'l, 'k, 'r>>,
    in_tables: &mut impl Iterator<Item = (&'l mut Lookup<'k>, InRun<'r>)>,
    level: usize,
    trace: &mut GetTrace,
) -> Result<()> {
    while questions.len() < TOGETHER {
        // The filters of all of these are on their way before the first one is asked.
        let some = in_room_for_all(in_tables.take(TOGETHER - questions.len()));
        if some.is_empty() {
            return Ok(());
        }
        for (lookup, table) in some {
            questions.extend(Question::begin(lookup, table, level, trace)?);
        }
    }
    Ok(())
}

/// Takes questions, in key order, through the steps in which each waits for memory or the device.
fn prepare<'k: 'r, 'r>(
    questions: &mut [Question<'_, 'k, 'r>],
    source: &mut BlockSource,
) -> Result<()> {
    for question in &mut *questions {
        question.prefetch_index()?;
    }
    for question in &mut *questions {
        question.ask_index()?;
    }
    for question in &*questions {
        question.get.prefetch_block();
    }
    read_together(
        questions.iter_mut().map(|question| &mut question.get),
        source,
    );
    Ok(())
}

/// A list of items, with room for as many as there may be: one that grows moves them several times.
fn in_room_for_all<T>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut list = Vec::with_capacity(most_of(&items));
    list.extend(items);
    list
}

/// How many items there may be; 0 if that is not known.
fn most_of(items: &impl Iterator) -> usize {
    items.size_hint().1.unwrap_or(0)
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
