//! Reads sorted inputs and passes on the entries that survive.

use std::iter::repeat_n;

use super::context::Context;
use super::retain::{Fate, KeyContext, Retain, RetainRanges, newest_for_all};
use crate::cursor::{Lends, Picked, TakesRuns};
use crate::entry::{
    Ascending, Direction, EntryKind, Fragment, MAX_SEQUENCE, Piece, RangeDeletes, Sequence,
    hash_key, is_same, set_key,
};
use crate::error::Result;
use crate::table::{BlockRun, PlainEntries, Reach};
use crate::version::Table;

/// About how many entries are read between two checks for cancellation.
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

/// What takes the entries that survive, in order.
pub(super) trait Takes {
    /// Takes an entry.
    ///
    /// # Errors
    /// If it cannot be written.
    fn take(&mut self, entry: &Survivor<'_>) -> Result<()>;

    /// Takes the first version of a key from where it lies, a put, with this sequence. Returns whether it has; if not, the entry is
    /// to be passed to [`Takes::take`].
    ///
    /// # Errors
    /// As [`Takes::take`].
    fn take_put(&mut self, run: &BlockRun, sequence: Sequence) -> Result<bool> {
        let _ = (run, sequence);
        Ok(false)
    }

    /// How many puts, first versions with keys and values of these lengths, are taken together; 0 if none.
    fn wanted(&self, sizes: (usize, usize)) -> usize {
        let _ = sizes;
        0
    }

    /// Takes all of these, which are at most as many as it wanted, with these sequences.
    fn take_picked(&mut self, picked: &Picked<'_>, sequences: impl Iterator<Item = Sequence>) {
        let _ = (picked, sequences);
    }

    /// The key of the last entry, if it was taken by one of these two: it is kept up to the next call that takes any, since it tells
    /// whether the entry that comes then is another version.
    fn last_key(&self) -> &[u8] {
        &[]
    }
}

impl<F: FnMut(&Survivor<'_>) -> Result<()>> Takes for F {
    fn take(&mut self, entry: &Survivor<'_>) -> Result<()> {
        self(entry)
    }
}

/// The range deletes of a job.
pub(super) struct Ranges {
    /// The range deletes of all inputs, without those that no reader can distinguish.
    pub all: RangeDeletes,
    /// The ones that survive.
    pub kept: RangeDeletes,
}

/// Passes the surviving entries of `cursor`, which merges all inputs, to `takes`.
pub(super) fn survivors<'a>(
    context: &Context<'a>,
    cursor: &mut impl Lends,
    ranges: &'a Ranges,
    below: Below<'a>,
    takes: &mut impl Takes,
) -> Result<()> {
    let mut fates = Fates::new(context, ranges, below);
    let (mut unchecked, mut dropped) = (0, 0);
    cursor.seek_first()?;
    while let Some(here) = cursor.here() {
        fates.stand_at(here.key);
        let (sequence, kind) = (here.sequence, here.kind);
        dropped += 1;
        if let Fate::Keep(sequence) = fates.retain.version(sequence, kind) {
            takes.take(&Survivor {
                key: here.key,
                sequence,
                kind,
                value: cursor.value_bytes(),
                new_key: fates.new_key,
            })?;
            fates.new_key = false;
            dropped = 0;
        }
        unchecked += 1;
        if let Some(reach) = fates.reach(kind) {
            let mut lent = None;
            cursor.lend(reach, &mut lent);
            if let Some(mut plain) = lent {
                loop {
                    unchecked += fates.pass_plain(&mut plain, takes)?;
                    if !cursor.extend(&mut plain, reach.limits) {
                        break;
                    }
                }
                cursor.take_back(plain, &fates.key);
            }
        }
        if unchecked >= ENTRIES_A_CHECK {
            unchecked = 0;
            (context.go_on)()?;
        }
        if dropped >= DROPPED_BEFORE_SKIP
            && let Some(fragment) = fates.fragment
        {
            dropped = 0;
            let newest = newest_for_all(context.snapshots, &fragment.sequences);
            if sequence < newest {
                // No reader sees what this hides, so all of that would be dropped.
                cursor.skip_older(&fragment.end, newest)?;
                continue;
            }
        }
        cursor.next_seen(fates.retain.needed_behind())?;
        unchecked += fates.pass_columns(cursor, takes)?;
    }
    Ok(())
}

/// What decides on the versions of the current key.
struct Fates<'a> {
    retain: Retain<'a>,
    /// The range deletes of all inputs, and the ones that survive.
    all: Ascending<'a>,
    kept: Ascending<'a>,
    has_ranges: bool,
    below: Below<'a>,
    /// The current key, once there is one.
    key: Vec<u8>,
    has_key: bool,
    /// Whether no version of it was passed on yet.
    new_key: bool,
    /// Whether no deeper level may hold it, nor keys behind it up to a limit.
    bottom: bool,
    bottom_until: Option<&'a [u8]>,
    /// The range deletes over it.
    fragment: Option<&'a Fragment>,
}

impl<'a> Fates<'a> {
    fn new(context: &Context<'a>, ranges: &'a Ranges, below: Below<'a>) -> Self {
        Fates {
            retain: Retain::new(context.snapshots),
            all: Ascending::new(&ranges.all),
            kept: Ascending::new(&ranges.kept),
            has_ranges: !ranges.all.is_empty(),
            below,
            key: Vec::new(),
            has_key: false,
            new_key: true,
            bottom: false,
            bottom_until: None,
            fragment: None,
        }
    }

    /// Goes to a version of this key, which is the same as before or a larger one.
    fn stand_at(&mut self, key: &[u8]) {
        if self.has_key && is_same(&self.key, key) {
            return;
        }
        set_key(&mut self.key, key);
        (self.has_key, self.new_key) = (true, true);
        let (older, until) = self.below.may_hold(&self.key);
        (self.bottom, self.bottom_until) = (!older, until);
        let context = KeyContext {
            bottom: self.bottom,
            under_range_delete: self.kept.over(&self.key).is_some(),
        };
        self.fragment = self.all.over(&self.key);
        let covering = self.fragment.map_or(&[][..], |f| &f.sequences);
        self.retain.begin_key(covering, context);
    }

    /// Which entries behind the current one may be passed without being merged, if any: no range delete may be over them.
    fn reach(&self, kind: EntryKind) -> Option<Reach<'a>> {
        (kind == EntryKind::Put && !self.has_ranges).then_some(Reach {
            direction: Direction::Forward,
            limits: [self.bottom_until, None, None],
            visible: MAX_SEQUENCE,
            with_values: true,
        })
    }

    /// Passes on entries by columns, as far as that goes. Returns how many there were.
    fn pass_columns(&mut self, cursor: &mut impl Lends, takes: &mut impl Takes) -> Result<u64> {
        if self.has_ranges {
            return Ok(0);
        }
        let (until, is_noted) = (self.bottom_until, true);
        let mut columns = Columns {
            fates: self,
            takes,
            is_noted,
        };
        let passed = cursor.pass_columns(until, ENTRIES_A_CHECK, &mut columns)?;
        columns.note_key();
        #[cfg(test)]
        PASSED_BY_COLUMNS.with(|count| count.set(count.get() + passed));
        Ok(passed)
    }

    /// Passes on lent entries, each of which is the newest version of another key. Returns how many there were.
    fn pass_plain(&mut self, plain: &mut PlainEntries, takes: &mut impl Takes) -> Result<u64> {
        let mut passed = 0;
        while plain.next(&mut self.key) {
            passed += 1;
            let sequence = self.retain.begin_put(plain.sequence());
            self.pass_first(sequence, plain.value_bytes(), takes)?;
        }
        #[cfg(test)]
        PASSED_PLAIN.with(|count| count.set(count.get() + passed));
        Ok(passed)
    }

    /// Passes on a put that begins the current key, with its sequence.
    #[inline]
    fn pass_first(
        &mut self,
        sequence: Sequence,
        value: &[u8],
        takes: &mut impl Takes,
    ) -> Result<()> {
        self.new_key = false;
        takes.take(&Survivor {
            key: &self.key,
            sequence,
            kind: EntryKind::Put,
            value,
            new_key: true,
        })
    }

    /// Passes on another version of the current key, a put, if it survives.
    #[inline]
    fn pass_put(&mut self, sequence: Sequence, value: &[u8], takes: &mut impl Takes) -> Result<()> {
        if let Fate::Keep(sequence) = self.retain.version(sequence, EntryKind::Put) {
            takes.take(&Survivor {
                key: &self.key,
                sequence,
                kind: EntryKind::Put,
                value,
                new_key: self.new_key,
            })?;
            self.new_key = false;
        }
        Ok(())
    }
}

/// Passes on entries that are merged by columns.
struct Columns<'f, 'a, T> {
    fates: &'f mut Fates<'a>,
    takes: &'f mut T,
    /// Whether the current key was noted; else it is the last one taken.
    is_noted: bool,
}

impl<T: Takes> Columns<'_, '_, T> {
    /// Notes the current key.
    fn note_key(&mut self) {
        if !self.is_noted {
            set_key(&mut self.fates.key, self.takes.last_key());
            self.is_noted = true;
        }
    }

    /// Whether the entry of a run is of the current key.
    #[inline]
    fn is_at(&self, run: &BlockRun) -> bool {
        run.has_key(match self.is_noted {
            true => &self.fates.key,
            false => self.takes.last_key(),
        })
    }
}

impl<T: Takes> TakesRuns for Columns<'_, '_, T> {
    #[inline]
    fn take(&mut self, run: &BlockRun, may_be_same: bool) -> Result<()> {
        if may_be_same && self.is_at(run) {
            self.note_key();
            let (sequence, value) = (run.sequence(), run.value());
            return self.fates.pass_put(sequence, value, self.takes);
        }
        let sequence = self.fates.retain.begin_put(run.sequence());
        self.is_noted = !self.takes.take_put(run, sequence)?;
        if self.is_noted {
            run.key_into(&mut self.fates.key);
            return self.fates.pass_first(sequence, run.value(), self.takes);
        }
        self.fates.new_key = false;
        Ok(())
    }

    fn wanted(&self, sizes: (usize, usize)) -> usize {
        self.takes.wanted(sizes)
    }

    fn take_picked(&mut self, picked: &Picked<'_>) {
        let retain = &mut self.fates.retain;
        match retain.forgets_sequences() {
            true => {
                retain.begin_put(0);
                self.takes.take_picked(picked, repeat_n(0, picked.len()));
            }
            false => {
                let each = picked.sequences();
                let kept = each.map(|sequence| retain.begin_put(sequence));
                self.takes.take_picked(picked, kept);
            }
        }
        (self.fates.new_key, self.is_noted) = (false, false);
    }
}

#[cfg(test)]
thread_local! {
    static PASSED_PLAIN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    static PASSED_BY_COLUMNS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many entries this thread has passed without merging them.
#[cfg(test)]
pub(super) fn passed_plain() -> u64 {
    PASSED_PLAIN.get()
}

/// How many entries this thread has passed by columns.
#[cfg(test)]
pub(super) fn passed_by_columns() -> u64 {
    PASSED_BY_COLUMNS.get()
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

    /// The smallest key of the first table that does not end before the last queried key.
    fn next_start(&self) -> Option<&'a [u8]> {
        let table = self.tables.get(self.passed)?;
        Some(&table.meta.smallest)
    }
}

impl<'a> Below<'a> {
    /// Runs, each with its tables in key order.
    pub fn runs(runs: Vec<Vec<&'a Table>>) -> Self {
        let runs = runs.into_iter();
        Below::Runs(runs.map(|tables| RunBelow { tables, passed: 0 }).collect())
    }

    /// Whether there may be older versions of `key`, and of all keys behind it up to a limit, which is excluded; `None`: of
    /// all. Keys must be queried in ascending order.
    fn may_hold(&mut self, key: &[u8]) -> (bool, Option<&'a [u8]>) {
        let Below::Runs(runs) = self else {
            return (true, None);
        };
        let mut next: Option<&[u8]> = None;
        for run in runs {
            if let Some(table) = run.table_of(key) {
                return (true, Some(&table.meta.largest));
            }
            let start = run.next_start();
            next = next.into_iter().chain(start).min();
        }
        (false, next)
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
