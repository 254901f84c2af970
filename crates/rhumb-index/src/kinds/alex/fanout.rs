//! Dividing the entries of an inner node among children: the fan-out tree of the paper, section 4.
//!
//! At each level of the tree, children are half as wide as at the level above. The level with the
//! least cost is taken, and from there upward neighbours are joined wherever one data node is no
//! worse than two.
//!
//! The tree covers the *window*: all numbers from the least to the greatest, unless more than half
//! of the entries are in a 64th of it; then that part, and so on. Otherwise a few outliers would
//! make a level of nodes that separates nothing.

use super::fit::{BYTE_COST, LEVEL_COST, SlotLine};
use super::leaf::{MOST_SLOTS, slots_of};
use super::tree::DENSITY;
use crate::kinds::shared::gallop::first_ahead;
use std::ops::Range;

/// Neighbours are joined, whatever the cost, if they have at most this many entries together: these
/// are searched at once.
pub(super) const FEW: usize = 32;

/// A node has at most one place for this many entries.
const PLACE: usize = 8;

/// Reject splits that leave over 2/3 of the entries in one child.
const MOST: (usize, usize) = (2, 3);

/// Bytes of a data node without its slots, as published. Ours has a third of that, but with the
/// true size there would be so many nodes that look-ups wait for them.
pub(super) const NODE: f64 = 208.0;

/// An inner node before its children are built.
#[derive(Debug)]
pub(super) struct InnerPlan {
    pub(super) base: u64,
    pub(super) shift: u32,
    /// The places and the entries of each child, in order; neither is empty.
    pub(super) children: Vec<(Range<usize>, Range<usize>)>,
    /// The average cost over the entries.
    pub(super) cost: f64,
}

/// A node of the fan-out tree: where its entries end, and the sum of their costs.
#[derive(Debug, Clone, Copy)]
struct Part {
    end: usize,
    cost: f64,
}

/// Divides at least two entries in an index of `total`. `zooms` allows a window narrower than all
/// numbers.
pub(super) fn plan(entries: &[(u64, u64)], total: usize, zooms: bool) -> InnerPlan {
    let window = match zooms {
        true => zoom(entries),
        false => 0..entries.len(),
    };
    let tree = FanOutTree {
        entries,
        base: entries[window.start].0,
        span: entries[window.end - 1].0 - entries[window.start].0,
        window,
        node_cost: BYTE_COST * NODE * total as f64,
    };
    let plan = tree.plan();
    plan.unwrap_or_else(|| match zooms {
        true => tree.halves(),
        // The published design has only the tree; halves are for a data node that is too large.
        false => InnerPlan {
            cost: f64::INFINITY,
            ..tree.halves()
        },
    })
}

/// The ranks of the entries in the window.
fn zoom(entries: &[(u64, u64)]) -> Range<usize> {
    let mut window = 0..entries.len();
    loop {
        let (base, last) = (entries[window.start].0, entries[window.end - 1].0);
        let Some(shift) = (last - base)
            .checked_ilog2()
            .and_then(|bits| bits.checked_sub(5))
        else {
            return window;
        };
        let mut start = window.start;
        let mut parts = (0..=(last - base) >> shift).map(|place| {
            let end = end_of(entries, start..window.end, base, place, shift);
            let part = start..end;
            start = end;
            part
        });
        match parts.find(|part| part.len() > entries.len() / 2) {
            Some(part) => window = part,
            None => return window,
        }
    }
}

/// Where the entries of a place end; the search starts at the beginning of `ranks`.
fn end_of(entries: &[(u64, u64)], ranks: Range<usize>, base: u64, place: u64, shift: u32) -> usize {
    first_ahead(ranks, 8, |rank| (entries[rank].0 - base) >> shift <= place)
}

/// A fan-out tree over the entries of a window.
struct FanOutTree<'a> {
    entries: &'a [(u64, u64)],
    window: Range<usize>,
    base: u64,
    span: u64,
    /// The cost of a data node, as a sum over entries.
    node_cost: f64,
}

impl FanOutTree<'_> {
    /// The cheapest division; `None` if each leaves too many entries in one child.
    fn plan(&self) -> Option<InnerPlan> {
        let top = self.span.checked_ilog2()?;
        let most_places = (self.entries.len() / PLACE).max(2) as u64;
        let mut levels: Vec<Vec<Part>> = Vec::new();
        let mut best: Option<(f64, usize, u32)> = None;
        let mut rises = 0;
        let mut shift = top;
        // Levels whose data nodes would exceed the largest size are skipped.
        let fewest = self.window.len() as u64 / (MOST_SLOTS as u64 / 2);
        while shift > 0 && self.span >> (shift - 1) < most_places && self.span >> shift < fewest {
            shift -= 1;
        }
        loop {
            let level = self.level(shift);
            let cost = self.cost(&level);
            let is_sound = self.largest(&level) * MOST.1 <= self.entries.len() * MOST.0;
            levels.push(level);
            match best {
                Some((least, ..)) if cost >= least => rises += 1,
                _ => rises = 0,
            }
            if is_sound && best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, levels.len() - 1, shift));
            }
            if shift == 0 || self.span >> (shift - 1) >= most_places || rises == 2 {
                break;
            }
            shift -= 1;
        }
        let (cost, level, shift) = best?;
        levels.truncate(level + 1);
        let parts = self.joined(&levels);
        Some(self.laid_out(&parts, shift, cost / self.entries.len() as f64))
    }

    /// Two children with half of the entries each.
    fn halves(&self) -> InnerPlan {
        let len = self.entries.len();
        let half = len / 2;
        let at = self.entries[half].0;
        // As wide as the entries before `at`, so that the node can be extended to the left; `at` is
        // not the least key.
        let shift = (at - self.entries[0].0).ilog2();
        let inside = self.leaf_cost(0..half) + self.leaf_cost(half..len);
        InnerPlan {
            base: at - (1 << shift),
            shift,
            children: vec![(0..1, 0..half), (1..2, half..len)],
            cost: LEVEL_COST + (inside + 2.0 * self.node_cost) / len as f64,
        }
    }

    /// Divides the window into parts of 2^shift numbers.
    fn level(&self, shift: u32) -> Vec<Part> {
        let mut start = self.window.start;
        let places = 0..=self.span >> shift;
        let parts = places.map(|place| {
            let end = end_of(
                self.entries,
                start..self.window.end,
                self.base,
                place,
                shift,
            );
            let cost = self.leaf_cost(start..end);
            start = end;
            Part { end, cost }
        });
        parts.collect()
    }

    /// The sum of these entries' costs in one data node.
    fn leaf_cost(&self, ranks: Range<usize>) -> f64 {
        let entries = &self.entries[ranks];
        match entries.len() {
            0 => 0.0,
            len => SlotLine::of(entries, slots_of(len, DENSITY)).cost(entries) * len as f64,
        }
    }

    /// The sum of the costs of a level.
    fn cost(&self, level: &[Part]) -> f64 {
        let nodes = level.iter().filter(|part| part.cost > 0.0).count();
        let inside: f64 = level.iter().map(|part| part.cost).sum();
        inside + LEVEL_COST * self.entries.len() as f64 + self.node_cost * nodes as f64
    }

    /// How many entries the largest child may get, including those outside the window.
    fn largest(&self, level: &[Part]) -> usize {
        let mut start = self.window.start;
        let inside = level.iter().map(|part| {
            let len = part.end - start;
            start = part.end;
            len
        });
        let beyond = self.window.start + (self.entries.len() - self.window.end);
        // Entries below the window may have to go into its first part.
        inside.max().unwrap_or(0) + beyond
    }

    /// The last of these levels, with parts joined wherever the part above them is no worse. For
    /// each run of places: where it ends, and where its entries end.
    fn joined(&self, levels: &[Vec<Part>]) -> Vec<(usize, usize)> {
        let Some((finest, coarser)) = levels.split_last() else {
            return Vec::new();
        };
        // Each part with the number of places it takes.
        let mut parts: Vec<(usize, Part)> = finest.iter().map(|part| (1, *part)).collect();
        for (up, level) in coarser.iter().rev().enumerate() {
            let width = 2usize << up;
            let (mut place, mut start) = (0, self.window.start);
            let mut joined: Vec<(usize, Part)> = Vec::with_capacity(parts.len());
            for (places, part) in parts {
                joined.push((places, part));
                place += places;
                let above = (place - 1) / width;
                let ends = place % width == 0 || place == finest.len();
                if let Some(whole) = level.get(above).filter(|_| ends) {
                    self.join(&mut joined, place - above * width, start, *whole);
                    start = whole.end;
                }
            }
            parts = joined;
        }
        let mut place = 0;
        let ends = parts.iter().map(|(places, part)| {
            place += places;
            (place, part.end)
        });
        ends.collect()
    }

    /// Joins the last two parts if they make up the last `places` places and one part is no worse.
    fn join(&self, parts: &mut Vec<(usize, Part)>, places: usize, start: usize, whole: Part) {
        let [.., left, right] = parts.as_slice() else {
            return;
        };
        let is_better = whole.cost <= left.1.cost + right.1.cost + self.node_cost;
        let len = whole.end - start;
        let fits = len <= MOST_SLOTS * DENSITY / 10 && len * MOST.1 <= self.entries.len() * MOST.0;
        if left.0 + right.0 == places && fits && (len <= FEW || is_better) {
            parts.truncate(parts.len() - 2);
            parts.push((places, whole));
        }
    }

    /// Makes children of runs of places. Entries below and above the window get places of their
    /// own; runs with no or few entries join their neighbours.
    fn laid_out(&self, parts: &[(usize, usize)], shift: u32, cost: f64) -> InnerPlan {
        let (mut base, mut moved) = (self.base, 0);
        let mut cuts = Vec::with_capacity(parts.len() + 2);
        if self.window.start > 0 && base >= 1 << shift {
            base -= 1 << shift;
            moved = 1;
            cuts.push((1, self.window.start));
        }
        cuts.extend(parts.iter().map(|(place, end)| (place + moved, *end)));
        if let Some(last) = cuts.last_mut() {
            // The last place may extend past the window.
            let all = self.entries.len();
            last.1 = end_of(
                self.entries,
                last.1..all,
                self.base,
                self.span >> shift,
                shift,
            );
            if last.1 < all {
                let place = last.0 + 1;
                cuts.push((place, all));
            }
        }
        let mut children: Vec<(Range<usize>, Range<usize>)> = Vec::with_capacity(cuts.len());
        let (mut place, mut start) = (0, 0);
        for (places_end, end) in cuts {
            match children.last_mut() {
                Some(last) if end - last.1.start <= FEW || end == start => {
                    (last.0.end, last.1.end) = (places_end, end);
                }
                _ => children.push((place..places_end, start..end)),
            }
            (place, start) = (places_end, end);
        }
        InnerPlan {
            base,
            shift,
            children,
            cost,
        }
    }
}
