//! Reads sorted inputs and passes on the entries that survive.

use super::context::Context;
use super::retain::{Fate, KeyContext, Retain, RetainRanges, newest_for_all};
use crate::entry::{
    Ascending, Cursor, EntryKind, Piece, RangeDeletes, Sequence, hash_key, is_same, set_key,
};
use crate::error::Result;
use crate::version::Table;

/// How many entries are read between two checks for cancellation.
const ENTRIES_A_CHECK: u64 = 1024;

/// After this many dropped entries in a row, what is under a range delete is skipped. Fewer are passed
/// faster one by one, since a skip ends the reading ahead.
const DROPPED_BEFORE_SKIP: u64 = if cfg!(test) { 2 } else { 64 };

/// An entry that survives.
pub(super) struct Survivor<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    pub kind: EntryKind,
    /// The value, or the encoded pointer to it.
    pub value: &'a [u8],
    /// Whether it is the first surviving version of its user key.
    pub new_key: bool,
}

/// The range deletes of a job.
pub(super) struct Ranges {
    /// The range deletes of all inputs, without those that no reader can distinguish.
    pub all: RangeDeletes,
    /// The ones that survive.
    pub kept: RangeDeletes,
}

/// Passes the surviving entries of `cursor`, which merges all inputs, to `emit`.
pub(super) fn survivors(
    context: &Context<'_>,
    cursor: &mut impl Cursor,
    ranges: &Ranges,
    mut below: Below<'_>,
    mut emit: impl FnMut(Survivor<'_>) -> Result<()>,
) -> Result<()> {
    let mut retain = Retain::new(context.snapshots);
    let mut all = Ascending::new(&ranges.all);
    let mut kept = Ascending::new(&ranges.kept);
    let mut key: Option<Vec<u8>> = None;
    // Whether no version of the key was passed on yet.
    let mut new_key = true;
    let (mut seen, mut dropped) = (0, 0);
    let mut fragment = None;
    cursor.seek_first()?;
    while let Some(here) = cursor.here() {
        if key.as_deref().is_none_or(|key| !is_same(key, here.key)) {
            let buffer = key.get_or_insert_default();
            set_key(buffer, here.key);
            let key_context = KeyContext {
                bottom: !below.may_hold(buffer),
                under_range_delete: kept.over(buffer).is_some(),
            };
            fragment = all.over(buffer);
            let covering = fragment.map_or(&[][..], |fragment| &fragment.sequences);
            retain.begin_key(covering, key_context);
            new_key = true;
        }
        let (sequence, kind) = (here.sequence, here.kind);
        dropped += 1;
        if let Fate::Keep(sequence) = retain.version(sequence, kind) {
            emit(Survivor {
                key: here.key,
                sequence,
                kind,
                value: cursor.value_bytes(),
                new_key,
            })?;
            new_key = false;
            dropped = 0;
        }
        seen += 1;
        if seen % ENTRIES_A_CHECK == 0 {
            (context.go_on)()?;
        }
        if dropped >= DROPPED_BEFORE_SKIP
            && let Some(fragment) = fragment
        {
            dropped = 0;
            let newest = newest_for_all(context.snapshots, &fragment.sequences);
            if sequence < newest {
                // No reader sees what this hides, so all of that would be dropped.
                cursor.skip_older(&fragment.end, newest)?;
                continue;
            }
        }
        cursor.next()?;
    }
    Ok(())
}

/// The union of the inputs' range deletes, and the ones that survive.
pub(super) fn ranges(context: &Context<'_>, inputs: &[Piece<'_>], below: &Below<'_>) -> Ranges {
    let all = RangeDeletes::merge(inputs, context.snapshots);
    let mut retain = RetainRanges::new(context.snapshots);
    let mut fragment: Option<(Box<[u8]>, bool)> = None;
    let mut kept = all.clone();
    kept.retain(|start, end, sequence| {
        let bottom = match &fragment {
            Some((known, bottom)) if **known == *start => *bottom,
            _ => {
                retain.begin_fragment();
                let bottom = !below.may_hold_any(start, end);
                fragment = Some((start.into(), bottom));
                bottom
            }
        };
        retain.keep(sequence, bottom)
    });
    Ranges { all, kept }
}

/// The tables that may hold older versions of the output's keys.
#[derive(Debug, Clone)]
pub(super) enum Below<'a> {
    /// Unknown tables: any key may have older versions.
    Anything,
    /// The tables of these runs.
    Runs(Vec<RunBelow<'a>>),
}

/// The tables of a run, in key order.
#[derive(Debug, Clone)]
pub(super) struct RunBelow<'a> {
    tables: Vec<&'a Table>,
    /// How many of them end before the last queried key.
    passed: usize,
}

impl<'a> RunBelow<'a> {
    /// The table in whose range a key lies. Keys must be queried in ascending order.
    fn table_of(&mut self, key: &[u8]) -> Option<&'a Table> {
        while let Some(table) = self.tables.get(self.passed) {
            if !table.meta.ends_before(key) {
                return Some(*table).filter(|table| &*table.meta.smallest <= key);
            }
            self.passed += 1;
        }
        None
    }
}

impl<'a> Below<'a> {
    /// Runs, each with its tables in key order.
    pub fn runs(runs: Vec<Vec<&'a Table>>) -> Self {
        let runs = runs.into_iter();
        Below::Runs(runs.map(|tables| RunBelow { tables, passed: 0 }).collect())
    }

    /// Whether there may be older versions of `key`. Keys must be queried in ascending order.
    fn may_hold(&mut self, key: &[u8]) -> bool {
        let Below::Runs(runs) = self else {
            return true;
        };
        runs.iter_mut().any(|run| run.table_of(key).is_some())
    }

    /// About how many values are older versions of `key`, as far as the filters of tables tell: all of them `with_all`, or
    /// those that lie apart from their keys. This is to be summed up over many keys, since it is a share for each of them,
    /// and below 0 where none is known, for the wrong answers about others. Keys must be queried in ascending order.
    pub fn hidden_values(&mut self, key: &[u8], with_all: bool) -> f64 {
        let Below::Runs(runs) = self else {
            return 0.0;
        };
        let (hash, mut wrong) = (hash_key(key), 0.0);
        for table in runs.iter_mut().filter_map(|run| run.table_of(key)) {
            let Some(filter) = table.reader().ok().and_then(|reader| reader.filter()) else {
                continue;
            };
            let share = if with_all { 1.0 } else { table.share_apart };
            if filter.may_contain(hash) {
                return share - wrong;
            }
            wrong += filter.false_share() * share;
        }
        -wrong
    }

    /// Whether there may be older versions of keys in `start..end`.
    fn may_hold_any(&self, start: &[u8], end: &[u8]) -> bool {
        let Below::Runs(runs) = self else {
            return true;
        };
        runs.iter().any(|run| {
            let at = run.tables.partition_point(|t| t.meta.ends_before(start));
            let table = run.tables.get(at);
            table.is_some_and(|t| &*t.meta.smallest < end)
        })
    }
}
