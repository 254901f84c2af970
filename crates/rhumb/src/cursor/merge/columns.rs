//! Merging blocks of puts. Where all have one size their keys and values are read where they lie, and a number for each run decides which
//! entry is next. Elsewhere keys are copied one behind the other, and runs kept in the order of their entries: neighbours among
//! keys of different lengths, such as paths, mostly begin alike, so that numbers decide little.

use std::cmp::Ordering;

use rhumb_index::search::{common_prefix, first_eight};

use super::picked::{Place, TakesRuns};
use super::{Head, MergeCursor};
use crate::cursor::Source;
use crate::entry::{Cursor, Direction};
use crate::error::Result;
use crate::table::{BlockRun, TableCursor};

/// More runs are not merged so: the least of their heads is found by looking at all.
const MOST_RUNS: usize = 16;
/// After runs could not be merged so, this many steps are taken before they are tried again; each time twice as many as before, up
/// to the second number.
pub(super) const LEAST_PAUSE: u32 = if cfg!(test) { 2 } else { 32 };
pub(super) const MOST_PAUSE: u32 = if cfg!(test) { 2 } else { 1024 };

/// So many times as many entries as asked for are passed where keys were copied: those that are left of each block are copied once
/// more the next time.
const COPIED_AT_ONCE: u64 = 4;

/// Runs that are merged, each of which a child has lent.
pub(super) struct Runs {
    /// The number of the child, and what it has lent.
    pub(super) runs: Vec<(usize, BlockRun)>,
    /// Of the key of the entry of each, eight bytes behind those that all keys begin with.
    pub(super) heads: Vec<u64>,
    /// The head of a key that no entry may reach; `None` if all keys are below.
    pub(super) limit: Option<u64>,
    /// The runs in the order of their entries, if keys of any were copied; else empty.
    order: Vec<usize>,
    /// The lengths of all keys and of all values, if heads decide on the order of entries.
    pub(super) decided: Option<(usize, usize)>,
    /// The entries picked last.
    pub(super) places: Vec<Place>,
}

impl Runs {
    /// Leaves out of heads what all keys begin with, and determines them anew.
    fn settle(&mut self, until: Option<&[u8]>) {
        let Some(((_, first), others)) = self.runs.split_first() else {
            return;
        };
        let prefix = others.iter().fold(first.prefix(), |prefix, (_, run)| {
            let shared = common_prefix(prefix, run.prefix());
            prefix.get(..shared).unwrap_or_default()
        });
        self.limit = until.and_then(|until| match until.strip_prefix(prefix) {
            Some(rest) => Some(first_eight(rest)),
            // All keys are below it, or none is.
            None => (until < prefix).then_some(0),
        });
        let left_out = prefix.len();
        self.heads.clear();
        for (_, run) in &mut self.runs {
            run.leave_out(left_out);
            self.heads.push(run.head());
        }
        self.order.clear();
        if self.runs.iter().any(|(_, run)| run.is_copied()) {
            let mut order = std::mem::take(&mut self.order);
            order.extend(0..self.runs.len());
            order.sort_unstable_by(|&one, &other| self.compare(one, other));
            self.order = order;
        }
        self.decided = self.decided_by_heads();
    }

    /// The order of the entries of two runs.
    #[inline]
    fn compare(&self, one: usize, other: usize) -> Ordering {
        match (self.heads.get(one), self.heads.get(other)) {
            (Some(head), Some(others)) if head != others => head.cmp(others),
            _ => self.compare_in_full(one, other),
        }
    }

    /// The order of the entries of two runs with equal heads; of equal entries that of the newer child comes first.
    fn compare_in_full(&self, one: usize, other: usize) -> Ordering {
        let (Some((child, one)), Some((sibling, other))) =
            (self.runs.get(one), self.runs.get(other))
        else {
            return one.cmp(&other);
        };
        let newer_first = || other.sequence().cmp(&one.sequence());
        let order = one.compare(other).then_with(newer_first);
        order.then(child.cmp(sibling))
    }

    /// Moves the run that was the first of the order, whose entry has changed, behind those that come before it.
    #[inline]
    fn resettle(&mut self) {
        let Some((&first, others)) = self.order.split_first() else {
            return;
        };
        let comes_first = |next: &&usize| self.compare(**next, first).is_lt();
        let passed = others.iter().take_while(comes_first).count();
        if let Some(moved) = self.order.get_mut(..=passed) {
            moved.rotate_left(1);
        }
    }

    /// The run with the next entry, and the head of its key.
    #[inline]
    fn next(&self) -> Option<(usize, u64)> {
        if let Some(&first) = self.order.first() {
            return Some((first, *self.heads.get(first)?));
        }
        let (at, least, next) = self.two_least()?;
        match next == Some(least) {
            true => Some((self.next_in_full(least)?, least)),
            false => Some((at, least)),
        }
    }

    /// The run with the least head, that head, and the least one of the others, if there are any.
    #[inline]
    pub(super) fn two_least(&self) -> Option<(usize, u64, Option<u64>)> {
        let (&first, others) = self.heads.split_first()?;
        let (mut at, mut least, mut next) = (0, first, u64::MAX);
        for (place, &head) in others.iter().enumerate() {
            next = next.min(head.max(least));
            if head < least {
                (at, least) = (place + 1, head);
            }
        }
        Some((at, least, (!others.is_empty()).then_some(next)))
    }

    /// The run with the next entry among those with this head.
    #[inline(never)]
    fn next_in_full(&self, head: u64) -> Option<usize> {
        let tied = self.heads.iter().enumerate();
        let tied = tied.filter(|(_, own)| **own == head).map(|(at, _)| at);
        tied.min_by(|&one, &other| self.compare_in_full(one, other))
    }

    /// Whether the entry of a run, whose key has this head, is below the limit.
    #[inline]
    fn is_below(&self, run: &BlockRun, head: u64, until: Option<&[u8]>) -> bool {
        match (self.limit, until) {
            (Some(limit), Some(until)) => head < limit || run.is_below(until),
            _ => true,
        }
    }
}

/// Entries that were passed.
pub(super) struct Step {
    pub(super) count: u64,
    /// The head of the last key.
    pub(super) last: u64,
    /// The run that has come to its end with it, if one has.
    pub(super) ended: Option<usize>,
}

impl Runs {
    /// Passes the next entry, if it is below the limit.
    #[inline]
    fn pass_one(
        &mut self,
        before: Option<u64>,
        until: Option<&[u8]>,
        takes: &mut impl TakesRuns,
    ) -> Result<Option<Step>> {
        let Some((at, last)) = self.next() else {
            return Ok(None);
        };
        let Some((_, run)) = self.runs.get(at) else {
            return Ok(None);
        };
        if !self.is_below(run, last, until) {
            return Ok(None);
        }
        takes.take(run, before.is_none_or(|before| before == last))?;
        let mut ended = Some(at);
        if let (Some((_, run)), Some(head)) = (self.runs.get_mut(at), self.heads.get_mut(at))
            && run.step()
        {
            *head = run.head();
            self.resettle();
            ended = None;
        }
        let step = Step {
            count: 1,
            last,
            ended,
        };
        Ok(Some(step))
    }
}

impl MergeCursor<Source> {
    /// Whether runs may be merged by columns, if blocks allow it.
    pub(super) fn suits_columns(&self) -> bool {
        self.direction == Direction::Forward && self.order.len() <= MOST_RUNS
    }

    /// What the valid children lend; `None`, and they keep it, if one lends nothing.
    pub(super) fn lend_runs(&mut self) -> Option<Runs> {
        let mut order = self.order.iter();
        let may_lend = |child: &Head, children: &mut Vec<Source>| {
            let table = children.get_mut(child.number).and_then(Source::table);
            table.is_some_and(|table| table.may_lend_run())
        };
        if !order.all(|child| may_lend(child, &mut self.children)) {
            return None;
        }
        let mut runs = Vec::with_capacity(self.order.len());
        for &Head { number, .. } in &self.order {
            let child = self.children.get_mut(number);
            let table = child.and_then(Source::table);
            match table.and_then(TableCursor::lend_run) {
                Some(run) => runs.push((number, run)),
                None => {
                    self.give_back(runs);
                    return None;
                }
            }
        }
        Some(Runs {
            heads: Vec::with_capacity(runs.len()),
            runs,
            limit: None,
            order: Vec::new(),
            decided: None,
            places: Vec::new(),
        })
    }

    fn give_back(&mut self, runs: Vec<(usize, BlockRun)>) {
        for (number, run) in runs {
            if let Some(table) = self.children.get_mut(number).and_then(Source::table) {
                table.take_back_run(run);
            }
        }
    }

    /// Gives children back what they have lent, and sorts those that are valid.
    pub(super) fn take_back_runs(&mut self, runs: Runs) {
        self.give_back(runs.runs);
        let mut order = std::mem::take(&mut self.order);
        order.retain_mut(|child| {
            let now = self.children.get(child.number);
            let now = now.and_then(|now| Head::of(child.number, now));
            now.map(|now| *child = now).is_some()
        });
        self.sort(order);
    }

    /// Passes entries of the runs, in order; see [`Lends::pass_columns`](crate::cursor::Lends::pass_columns).
    pub(super) fn pass_runs(
        &mut self,
        runs: &mut Runs,
        until: Option<&[u8]>,
        most: u64,
        takes: &mut impl TakesRuns,
    ) -> Result<u64> {
        runs.settle(until);
        let most = match runs.order.is_empty() {
            true => most,
            false => most.saturating_mul(COPIED_AT_ONCE),
        };
        let (mut passed, mut before) = (0, None);
        while passed < most {
            let picked = before.and_then(|last| runs.pass_picked(last, most - passed, takes));
            let step = match picked {
                Some(step) => Some(step),
                None => runs.pass_one(before, until, takes)?,
            };
            let Some(Step { count, last, ended }) = step else {
                break;
            };
            (passed, before) = (passed + count, Some(last));
            if let Some(at) = ended {
                if !self.go_on(runs, at)? {
                    break;
                }
                // Heads may leave out other bytes now.
                runs.settle(until);
                before = None;
            }
        }
        Ok(passed)
    }

    /// Goes on behind a run that was passed, in the next block of its child or with the others, if there are any. Returns
    /// whether that may be passed as well.
    fn go_on(&mut self, runs: &mut Runs, at: usize) -> Result<bool> {
        let (number, run) = runs.runs.swap_remove(at);
        let Some(child) = self.children.get_mut(number) else {
            return Ok(false);
        };
        if let Some(table) = child.table() {
            table.take_back_run(run);
        }
        child.next()?;
        if child.here().is_none() {
            return Ok(!runs.runs.is_empty());
        }
        let lent = child.table().and_then(TableCursor::lend_run);
        let goes_on = lent.is_some();
        runs.runs.extend(lent.map(|run| (number, run)));
        Ok(goes_on)
    }
}
