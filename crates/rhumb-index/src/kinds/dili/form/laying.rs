//! Laying out the byte form.

use super::super::cell::RUN;
use super::super::fit;
use super::super::top_down::{FirstPhase, Shape};
use super::{CELL, DEEPEST, INNER, Node, SEVERAL, cell};
use crate::kinds::shared::fixed_line::FixedLine;

/// Slots a key in a leaf. Fewer than in memory: there are no insertions, and fewer cache misses
/// outweigh more collisions.
const RATIO: f64 = 1.4;

/// A form under construction.
pub(super) struct Laying<'a> {
    plan: &'a FirstPhase<'a>,
    entries: &'a [(u64, u64)],
    pub(super) cells: Vec<[u8; CELL]>,
    pub(super) nodes: Vec<Node>,
}

impl<'a> Laying<'a> {
    /// Lays out all entries.
    pub(super) fn of(plan: &'a FirstPhase<'a>, entries: &'a [(u64, u64)]) -> Self {
        let mut laying = Laying {
            plan,
            entries,
            cells: Vec::with_capacity(entries.len() * 3 / 2),
            nodes: vec![Node::default()],
        };
        laying.node(0, (0, entries.len()), (plan.height(), 0));
        laying
    }

    /// Lays out the subtree of entries `lo..hi` at node `at`, with children from this layer or
    /// lower. There are `above` internal nodes above it.
    fn node(&mut self, at: usize, (lo, hi): (usize, usize), (layer, above): (usize, usize)) {
        let (line, parts, layer) = match self.plan.shape(lo, hi, layer) {
            Shape::Parts { line, parts, layer } if above < DEEPEST => (line, parts, layer),
            _ => return self.leaf(at, (lo, hi)),
        };
        let first = self.nodes.len();
        self.nodes[at] = Node {
            line,
            first: first as u32,
            last: (parts - 1) as u32 | INNER,
        };
        self.nodes.resize(first + parts, Node::default());
        let mut start = lo;
        for part in 0..parts {
            let end = self.plan.end_of(line, (part, parts), (start, hi));
            self.node(first + part, (start, end), (layer, above + 1));
            start = end;
        }
    }

    fn leaf(&mut self, at: usize, (lo, hi): (usize, usize)) {
        let entries = self.entries.get(lo..hi).unwrap_or_default();
        let (line, slots) = match entries {
            [] | [_] => (FixedLine::separating(0, 0), 1),
            _ => {
                let fit = fit::best(entries, RATIO, false);
                (fit.line, fit.slots)
            }
        };
        let first = self.cells.len();
        self.nodes[at] = Node {
            line,
            first: first as u32,
            last: (slots - 1) as u32,
        };
        self.cells.resize(first + slots, [0; CELL]);
        // The next cell to fill, and the first entry of the next group.
        let (mut filled, mut start) = (first, lo);
        for (slot, group) in fit::groups(line, slots, entries) {
            let slot = first + slot;
            let Some(entry) = group.first() else { continue };
            self.cells[filled..=slot].fill(cell(entry.0, entry.1 as u32));
            filled = slot + 1;
            let end = start + group.len();
            if group.len() > 1 {
                let (at, len) = match group.len() > RUN {
                    true => (self.nested((start, end)), 0),
                    false => (self.run(group), group.len()),
                };
                self.cells[slot] = cell((at | len << 32) as u64, SEVERAL);
            }
            start = end;
        }
        if let Some(entry) = self.entries.get(hi).or(self.entries.last()) {
            self.cells[filled..first + slots].fill(cell(entry.0, entry.1 as u32));
        }
    }

    /// Adds a nested leaf and returns its number.
    fn nested(&mut self, range: (usize, usize)) -> usize {
        let at = self.nodes.len();
        self.nodes.push(Node::default());
        self.leaf(at, range);
        at
    }

    /// Adds a run of cells and returns the number of the first.
    fn run(&mut self, group: &[(u64, u64)]) -> usize {
        let at = self.cells.len();
        let cells = group.iter().map(|entry| cell(entry.0, entry.1 as u32));
        self.cells.extend(cells);
        at
    }
}
