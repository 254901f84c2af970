//! Lays leaves out under a root, and finds how many a position boundary takes.

use std::ops::Range;

use super::leaf::Leaf;
use super::points::Points;
use super::root::{Root, Shape};
use crate::kinds::shared::gallop::first_ahead;

/// Leaves come to at most one of this many keys, 6 bytes a key: `fp` takes less with blocks of any
/// size in use, so a model that needs more has no worth.
const KEYS_PER_LEAF: u64 = 4;

/// The search ends when it knows the number of leaves to one part in this many.
const PRECISION: usize = 8;

/// The most leaves that are worth having for a position boundary.
pub(super) fn most_leaves(points: &Points) -> usize {
    (points.keys() / KEYS_PER_LEAF).max(1) as usize
}

/// Fits a leaf to the numbers of each guess. The error is the place of a number whose leaf exceeds
/// the limit.
pub(super) fn lay(points: &Points, root: &Root, limit: Option<u64>) -> Result<Vec<Leaf>, usize> {
    let numbers = points.numbers();
    let mut leaves: Vec<Leaf> = Vec::with_capacity(root.leaves);
    let mut start = 0;
    while let Some(&number) = numbers.get(start) {
        // A cubic may step back by rounding; leaves never do.
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

/// Looks for the fewest leaves with which every window keeps within the boundary.
pub(super) struct Search<'a> {
    points: &'a Points,
    shape: Shape,
    boundary: u64,
    /// Places whose leaf was too wide. They are tried first, so that most attempts with too few
    /// leaves end at once.
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

    /// Doubles the number of leaves until they do, then closes in on the least. More leaves can be
    /// worse here and there, so it is the least of those tried.
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

    /// The places of the numbers that share a leaf with one place.
    fn span(&self, root: &Root, place: usize) -> Range<usize> {
        let numbers = self.points.numbers();
        let leaf = numbers.get(place).map_or(0, |&number| root.guess(number));
        let start = numbers.partition_point(|&number| root.guess(number) < leaf);
        start..numbers.partition_point(|&number| root.guess(number) <= leaf)
    }
}
