//! Lays out leaves under a root, and finds the number of leaves that a position boundary needs.

use std::ops::Range;

use super::leaf::Leaf;
use super::points::Points;
use super::root::{Root, Shape};
use crate::kinds::shared::gallop::first_ahead;

/// There is at most one leaf for this many keys, 6 bytes a key: `fp` takes less with blocks of any
/// usual size, so a model with more leaves is not useful.
const KEYS_PER_LEAF: u64 = 4;

/// The search stops when it knows the number of leaves to one part in this many.
const PRECISION: usize = 8;

/// The most leaves that are useful for a position boundary.
pub(super) fn most_leaves(points: &Points) -> usize {
    (points.keys() / KEYS_PER_LEAF).max(1) as usize
}

/// Fits a leaf to the numbers of each prediction. The error is the index of a number whose leaf
/// exceeds the limit.
pub(super) fn lay(points: &Points, root: &Root, limit: Option<u64>) -> Result<Vec<Leaf>, usize> {
    let numbers = points.numbers();
    let mut leaves: Vec<Leaf> = Vec::with_capacity(root.leaves);
    let mut start = 0;
    while let Some(&number) = numbers.get(start) {
        // The prediction of a cubic may decrease by rounding; the leaf must not.
        let place = root.guess(number).max(leaves.len());
        let is_here = |i: usize| numbers.get(i).is_some_and(|&n| root.guess(n) <= place);
        let end = first_ahead(start + 1..numbers.len(), 1, is_here);
        let leaf = Leaf::fit(points, start..end, limit).ok_or(start + (end - start) / 2)?;
        leaves.resize(place, leaf.empty());
        leaves.push(leaf);
        start = end;
    }
    Ok(leaves)
}

/// Searches for the fewest leaves with which every window keeps within the boundary.
pub(super) struct Search<'a> {
    points: &'a Points,
    shape: Shape,
    boundary: u64,
    /// Indices of numbers whose leaf was too wide. They are tested first, so that most attempts
    /// with too few leaves fail at once.
    witnesses: Vec<usize>,
}

impl<'a> Search<'a> {
    pub(super) fn new(points: &'a Points, shape: Shape, boundary: u64) -> Self {
        Search {
            points,
            shape,
            boundary,
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
        let limit = Some(self.boundary);
        let fails = |&place: &usize| {
            let span = self.span(&root, place);
            !span.is_empty() && Leaf::fit(self.points, span, limit).is_none()
        };
        if self.witnesses.iter().rev().any(fails) {
            return None;
        }
        match lay(self.points, &root, limit) {
            Ok(leaves) => Some((root, leaves)),
            Err(place) => {
                self.witnesses.push(place);
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
