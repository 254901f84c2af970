//! Lays out leaves under a root, and finds the number of leaves with which a position boundary holds.

use std::ops::Range;

use super::leaf::Leaf;
use super::points::Points;
use super::root::{Root, Shape};
use crate::kinds::shared::gallop::first_ahead;

/// The search stops when it knows the number of leaves to one part in this many.
const PRECISION: usize = 8;

/// The most leaves that are tried: one for each number. More would hardly separate numbers that
/// these do not, and already these take more bytes than the numbers.
pub(super) fn most_leaves(points: &Points) -> usize {
    points.numbers().len().max(1)
}

/// How wide windows may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit {
    /// The most ranks of a window.
    pub(super) width: u64,
    /// How many keys may be in leaves with wider windows.
    pub(super) spare: u64,
}

impl Limit {
    /// Any window is allowed.
    pub(super) const NONE: Limit = Limit {
        width: u64::MAX,
        spare: 0,
    };
}

/// Fits a leaf to the numbers of each prediction. The error is the index of a number whose leaf
/// exceeds the limit.
pub(super) fn lay(points: &Points, root: &Root, limit: Limit) -> Result<Vec<Leaf>, usize> {
    let numbers = points.numbers();
    let mut leaves: Vec<Leaf> = Vec::with_capacity(root.leaves);
    let (mut start, mut spare) = (0, limit.spare);
    while let Some(&number) = numbers.get(start) {
        // The prediction of a cubic may decrease by rounding; the leaf must not.
        let place = root.guess(number).max(leaves.len());
        let is_here = |i: usize| numbers.get(i).is_some_and(|&n| root.guess(n) <= place);
        let end = first_ahead(start + 1..numbers.len(), 1, is_here);
        let leaf = Leaf::fit(points, start..end, limit.width).or_else(|| {
            spare = spare.checked_sub(points.rank(end) - points.rank(start))?;
            Leaf::fit(points, start..end, Limit::NONE.width)
        });
        let leaf = leaf.ok_or(start + (end - start) / 2)?;
        leaves.resize(place, leaf.empty());
        leaves.push(leaf);
        start = end;
    }
    Ok(leaves)
}

/// Searches for the fewest leaves with which windows keep within the limit.
pub(super) struct Search<'a> {
    points: &'a Points,
    shape: Shape,
    limit: Limit,
    /// Indices of numbers whose leaf was too wide. They are tested first, so that most attempts
    /// with too few leaves fail at once. Empty where keys may be in wide leaves.
    witnesses: Vec<usize>,
}

impl<'a> Search<'a> {
    pub(super) fn new(points: &'a Points, shape: Shape, limit: Limit) -> Self {
        Search {
            points,
            shape,
            limit,
            witnesses: Vec::new(),
        }
    }

    /// Doubles the number of leaves until it suffices, then searches for the least by bisection.
    /// Since more leaves can occasionally be worse, the result is the least of those tried.
    pub(super) fn run(mut self) -> Option<(Root, Vec<Leaf>)> {
        let most = most_leaves(self.points);
        let (mut few, mut enough) = (0, 1);
        let mut found = loop {
            if let Some(found) = self.attempt(enough) {
                break found;
            }
            if enough == most {
                return None;
            }
            (few, enough) = (enough, (enough * 2).min(most));
        };
        while enough - few > (enough / PRECISION).max(1) {
            let middle = few + (enough - few) / 2;
            match self.attempt(middle) {
                Some(better) => (found, enough) = (better, middle),
                None => few = middle,
            }
        }
        Some(found)
    }

    fn attempt(&mut self, leaves: usize) -> Option<(Root, Vec<Leaf>)> {
        let root = self.shape.over(leaves);
        let fails = |&place: &usize| {
            let span = self.span(&root, place);
            !span.is_empty() && Leaf::fit(self.points, span, self.limit.width).is_none()
        };
        if self.witnesses.iter().rev().any(fails) {
            return None;
        }
        match lay(self.points, &root, self.limit) {
            Ok(leaves) => Some((root, leaves)),
            Err(place) => {
                if self.limit.spare == 0 {
                    self.witnesses.push(place);
                }
                None
            }
        }
    }

    /// The indices of the numbers that share a leaf with number `place`.
    fn span(&self, root: &Root, place: usize) -> Range<usize> {
        let numbers = self.points.numbers();
        let leaf = numbers.get(place).map_or(0, |&number| root.guess(number));
        let start = numbers.partition_point(|&number| root.guess(number) < leaf);
        start..numbers.partition_point(|&number| root.guess(number) <= leaf)
    }
}
