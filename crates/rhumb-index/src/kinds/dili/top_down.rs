//! The second phase: top-down, with the fan-outs that the first phase found.
//!
//! An internal node divides the range of its keys equally, into as many parts as the layer below
//! has pieces in it, so that its line alone gives the child of a key. A part may still hold several
//! pieces, as in clusters and beside outliers. The published design makes such a part a leaf; ours
//! makes it another internal node, over the range of its own keys. Every level divides by at least
//! two and few keys make a leaf, so there are never more levels than bits in a key.

use super::bottom_up::Layers;
use super::inner::{Child, Inner};
use super::leaf::Leaf;
use super::upkeep::{LEAF_CAP, RATIO};
use crate::kinds::shared::fixed_line::FixedLine;
use crate::kinds::shared::gallop::first_ahead;

/// The most pieces of a leaf, unless it would be too large.
const PIECES: usize = 3;

/// Distances by which a range is extended below and above the present keys, for keys to come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Room {
    below: u64,
    above: u64,
}

/// The room for future keys, judged by the recent ones: the node was built with `built` keys
/// between `ends`. If more than half of the new keys arrived at one side, that side gets twice the
/// distance they covered, so that the node is rebuilt when its keys have multiplied.
pub(super) fn room(entries: &[(u64, u64)], ends: (u64, u64), built: usize) -> Room {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return Room::default();
    };
    let most = (last.0 - first.0).saturating_mul(3);
    let new = entries.len().saturating_sub(built);
    let below = entries.partition_point(|entry| entry.0 < ends.0);
    let above = entries.len() - entries.partition_point(|entry| entry.0 <= ends.1);
    let side = |came: usize, distance: u64| match new > 0 && 2 * came > new {
        true => distance.saturating_mul(2).min(most),
        false => 0,
    };
    Room {
        below: side(below, ends.0.saturating_sub(first.0)),
        above: side(above, last.0.saturating_sub(ends.1)),
    }
}

/// The subtree of ascending entries.
pub(super) fn build(entries: &[(u64, u64)], room: Room) -> Child {
    let plan = FirstPhase::of(entries);
    plan.node(0, entries.len(), plan.layers.height(), room)
}

/// The shape of a node.
pub(super) enum Shape {
    Leaf,
    /// Equal parts of a range, with children from this layer or lower.
    Parts {
        line: FixedLine,
        parts: usize,
        layer: usize,
    },
}

/// The layers that the first phase found for some entries.
pub(super) struct FirstPhase<'a> {
    entries: &'a [(u64, u64)],
    layers: Layers,
}

impl<'a> FirstPhase<'a> {
    pub(super) fn of(entries: &'a [(u64, u64)]) -> Self {
        FirstPhase {
            entries,
            layers: Layers::of(entries),
        }
    }

    /// The subtree of entries `lo..hi`, with children from this layer or lower.
    fn node(&self, lo: usize, hi: usize, layer: usize, room: Room) -> Child {
        let entries = &self.entries[lo..hi];
        let shape = self.shape_with(lo, hi, layer, room);
        let Shape::Parts { line, parts, layer } = shape else {
            return Child::Leaf(Leaf::build(entries, RATIO, false));
        };
        let mut children = Vec::with_capacity(parts);
        let mut start = lo;
        for part in 0..parts {
            let end = self.end_of(line, (part, parts), (start, hi));
            children.push(self.node(start, end, layer, Room::default()));
            start = end;
        }
        let end = |entry: Option<&(u64, u64)>| entry.map_or(0, |entry| entry.0);
        Child::Inner(Box::new(Inner {
            line,
            children,
            keys: entries.len(),
            built: entries.len(),
            ends: (end(entries.first()), end(entries.last())),
        }))
    }

    /// The highest layer.
    pub(super) fn height(&self) -> usize {
        self.layers.height()
    }

    /// The shape of the node of entries `lo..hi`, with children from this layer or lower.
    pub(super) fn shape(&self, lo: usize, hi: usize, layer: usize) -> Shape {
        self.shape_with(lo, hi, layer, Room::default())
    }

    fn shape_with(&self, lo: usize, hi: usize, layer: usize, room: Room) -> Shape {
        let entries = &self.entries[lo..hi];
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Shape::Leaf;
        };
        let is_leaf = match entries.len() {
            0..=16 => true,
            len if len > LEAF_CAP => false,
            _ => room == Room::default() && self.layers.pieces(0, lo, hi).len() <= PIECES,
        };
        if is_leaf {
            return Shape::Leaf;
        }
        // The highest layer that separates these entries.
        let mut layer = layer;
        let mut pieces = self.layers.pieces(layer, lo, hi);
        while pieces.len() < 2 && layer > 0 {
            layer -= 1;
            pieces = self.layers.pieces(layer, lo, hi);
        }
        let parts = pieces.len().max(entries.len() / (LEAF_CAP / 4)).max(2) + 1;
        let layer = layer.saturating_sub(1);
        if room == Room::default() {
            let (crowded, line) = self.best_line((first.0, last.0), pieces, parts);
            // Equal parts would separate hardly anything; a leaf at least halves the keys.
            if 2 * crowded > pieces.len() && entries.len() <= LEAF_CAP {
                return Shape::Leaf;
            }
            return Shape::Parts { line, parts, layer };
        }
        let min = first.0.saturating_sub(room.below);
        let max = last.0.saturating_add(room.above);
        let widened = (max - min) as f64 / ((last.0 - first.0) as f64).max(1.0);
        let parts = (parts as f64 * widened) as usize;
        let line = FixedLine::equal(min, max, parts);
        Shape::Parts { line, parts, layer }
    }

    /// The line that best divides the keys between `ends` into parts: over all of the range, or
    /// without up to an eighth of the pieces at either end, which then share the first or the last
    /// part. It comes with its number of [`crowded`] pieces.
    fn best_line(&self, ends: (u64, u64), pieces: &[u32], parts: usize) -> (usize, FixedLine) {
        let key = |i: usize| {
            pieces
                .get(i)
                .map_or(0, |rank| self.entries[*rank as usize].0)
        };
        let len = pieces.len();
        let cuts = [0, len / 64, len / 8];
        let mut best = (usize::MAX, FixedLine::equal(ends.0, ends.1, parts));
        for (i, low) in cuts.into_iter().enumerate() {
            for (j, high) in cuts.into_iter().enumerate() {
                let min = if low == 0 { ends.0 } else { key(low) };
                let max = if high == 0 { ends.1 } else { key(len - high) };
                let is_new = (i == 0 || low > 0) && (j == 0 || high > 0);
                if !is_new || max < min.saturating_add(2) {
                    continue;
                }
                let line = FixedLine::equal(min, max, parts);
                let crowded = crowded((0..len).map(|i| line.slot(key(i), parts)));
                if crowded < best.0 {
                    best = (crowded, line);
                }
            }
        }
        best
    }

    /// The first entry after a part, among `start..hi`.
    pub(super) fn end_of(
        &self,
        line: FixedLine,
        (part, parts): (usize, usize),
        (start, hi): (usize, usize),
    ) -> usize {
        if part + 1 == parts {
            return hi;
        }
        first_ahead(start..hi, 1, |i| {
            line.place(self.entries[i].0) <= part as u64
        })
    }
}

/// How many pieces share their part with so many others that the part needs another level.
fn crowded(parts: impl Iterator<Item = usize>) -> usize {
    let (mut crowded, mut len, mut last) = (0, 0, usize::MAX);
    for part in parts {
        if part != last {
            (len, last) = (0, part);
        }
        len += 1;
        crowded += match len.cmp(&(PIECES + 1)) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => len,
            std::cmp::Ordering::Greater => 1,
        };
    }
    crowded
}
