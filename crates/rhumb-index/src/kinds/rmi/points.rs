//! The training set of a model: the distinct numbers and the ranks of their runs.

use std::ops::Range;

use crate::kinds::shared::runs::Run;

/// The distinct numbers in order, each with the first rank of its run.
#[derive(Debug, Default)]
pub(super) struct Points {
    numbers: Vec<u64>,
    /// First rank of each number; empty while no number repeats, since its rank is then its index.
    ranks: Vec<u32>,
    keys: u64,
}

impl Points {
    /// Adds the next run. Ranks are below 2^32.
    pub(super) fn add(&mut self, run: Run) {
        self.extend(run.first_rank, &[run.number]);
    }

    /// Adds the next runs, of one key each, from this rank on.
    pub(super) fn extend(&mut self, first_rank: u64, numbers: &[u64]) {
        let is_place = numbers.is_empty() || first_rank == self.numbers.len() as u64;
        if !self.ranks.is_empty() || !is_place {
            self.write_ranks();
            self.ranks.extend((first_rank as u32..).take(numbers.len()));
        }
        self.numbers.extend_from_slice(numbers);
    }

    /// Notes the number of keys, which is where the last run ends.
    pub(super) fn end(&mut self, keys: u64) {
        self.keys = keys;
        if keys != self.numbers.len() as u64 {
            self.write_ranks();
        }
    }

    /// Stores the ranks that have equalled indices so far.
    fn write_ranks(&mut self) {
        if self.ranks.is_empty() {
            self.ranks.extend(0..self.numbers.len() as u32);
        }
    }

    /// The distinct numbers, ascending.
    pub(super) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The number of keys, after [`Points::end`].
    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    /// The first rank of number `i`, or the number of keys past the last.
    pub(super) fn rank(&self, i: usize) -> u64 {
        if i >= self.numbers.len() {
            self.keys
        } else {
            self.ranks.get(i).map_or(i as u64, |&rank| rank.into())
        }
    }

    /// Calls `each` with the distance of each number of the span from the first one, and with the
    /// first and last rank of its run, relative to the span's first rank.
    #[inline]
    pub(super) fn walk(&self, span: Range<usize>, mut each: impl FnMut(u64, i64, i64)) {
        if !self.ranks.is_empty() {
            return self.stride(span, 1, each);
        }
        let numbers = self.numbers.get(span).unwrap_or_default();
        let base = numbers.first().copied().unwrap_or(0);
        for (rank, number) in (0..).zip(numbers) {
            each(number - base, rank, rank);
        }
    }

    /// As [`Points::walk`] for one of every `step` numbers.
    #[inline]
    pub(super) fn stride(
        &self,
        span: Range<usize>,
        step: usize,
        mut each: impl FnMut(u64, i64, i64),
    ) {
        let first = self.rank(span.start) as i64;
        let numbers = self.numbers.get(span.clone()).unwrap_or_default();
        let base = numbers.first().copied().unwrap_or(0);
        for (place, number) in span.zip(numbers).step_by(step) {
            let (rank, end) = (self.rank(place) as i64, self.rank(place + 1) as i64);
            each(number - base, rank - first, end - 1 - first);
        }
    }
}
