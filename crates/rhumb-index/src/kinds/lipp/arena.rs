//! The memory of all nodes: cache lines that are allocated and freed.

use super::cache_line::{CacheLine, Node, SLOTS, SUMMARIZED, Slot, Stats};
use super::model::{Model, class, slots_of};
use crate::search::prefetch_line;

/// Lines in a region of memory: 8 MiB. A power of two.
const REGION: usize = 1 << 17;

/// Size classes in which lines are allocated.
const CLASSES: usize = 240;

/// Allocated and free lines.
#[derive(Debug)]
pub(super) struct Arena {
    /// Each has [`REGION`] lines, except the last, which has as many as were allocated.
    regions: Vec<Vec<CacheLine>>,
    /// Free lines, by class.
    free: Vec<Vec<u32>>,
    /// One bit for each class, set if there are free lines of it.
    has_free: [u64; CLASSES.div_ceil(64)],
    /// How many lines are free.
    freed: usize,
}

impl Arena {
    pub(super) fn new() -> Self {
        Arena {
            regions: Vec::new(),
            free: vec![Vec::new(); CLASSES],
            has_free: [0; CLASSES.div_ceil(64)],
            freed: 0,
        }
    }

    /// An allocated line.
    #[inline(always)]
    pub(super) fn line(&self, at: u32) -> &CacheLine {
        static NONE: CacheLine = CacheLine::EMPTY;
        let region = self.regions.get(at as usize / REGION);
        region
            .and_then(|region| region.get(at as usize % REGION))
            .unwrap_or(&NONE)
    }

    #[inline(always)]
    fn line_mut(&mut self, at: u32) -> Option<&mut CacheLine> {
        let region = self.regions.get_mut(at as usize / REGION)?;
        region.get_mut(at as usize % REGION)
    }

    /// The content of a slot of a node.
    #[inline(always)]
    pub(super) fn slot(&self, node: Node, slot: u32) -> Slot {
        self.line(node.first + slot / SLOTS).slot(slot % SLOTS)
    }

    /// Sets the content of a slot of a node.
    pub(super) fn set(&mut self, node: Node, slot: u32, holds: Slot) {
        let at = slot / SLOTS;
        let Some(line) = self.line_mut(node.first + at) else {
            return;
        };
        let was_empty = line.filled == 0;
        line.set(slot % SLOTS, holds);
        if was_empty && node.has_summary() {
            let summary = node.first + node.lines() + at / SUMMARIZED;
            if let Some(summary) = self.line_mut(summary) {
                let bit = at % SUMMARIZED;
                let words = summary.slots.as_flattened_mut();
                words[bit as usize / 64] |= 1 << (bit % 64);
            }
        }
    }

    /// The first line of a node, from line `at` on, with a used slot.
    #[inline]
    pub(super) fn next_used(&self, node: Node, mut at: u32) -> Option<u32> {
        while at < node.lines() {
            if self.line(node.first + at).filled != 0 {
                return Some(at);
            }
            at += 1;
            if node.has_summary() {
                at = self.next_summarized(node, at)?;
            }
        }
        None
    }

    /// Prefetches the line of a slot that may be needed soon, and need not exist.
    #[inline(always)]
    pub(super) fn expect(&self, node: Node, slot: u32) {
        prefetch_line(std::ptr::from_ref(self.line(node.first + slot / SLOTS)).cast());
    }

    /// The first line of a node, from line `at` on, that may have a used slot, by its summaries.
    fn next_summarized(&self, node: Node, mut at: u32) -> Option<u32> {
        while at < node.lines() {
            let summary = self.line(node.first + node.lines() + at / SUMMARIZED);
            let words = summary.slots.as_flattened();
            let rest = words[(at % SUMMARIZED) as usize / 64] >> (at % 64);
            if rest != 0 {
                return Some(at + rest.trailing_zeros());
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Prefetches the line that [`Arena::stats`] reads.
    #[inline(always)]
    pub(super) fn expect_stats(&self, node: Node) {
        if node.is_counted() {
            prefetch_line(std::ptr::from_ref(self.line(node.first - 1)).cast());
        }
    }

    /// The statistics of a node that has them.
    pub(super) fn stats(&self, node: Node) -> Stats {
        let [[keys, built], [put, deeper], [below, above]] = self.line(node.first - 1).slots;
        Stats {
            keys,
            built,
            put,
            deeper,
            below,
            above,
        }
    }

    /// Sets the statistics of a node that has them.
    pub(super) fn set_stats(&mut self, node: Node, stats: Stats) {
        if let Some(line) = self.line_mut(node.first - 1) {
            line.slots = [
                [stats.keys, stats.built],
                [stats.put, stats.deeper],
                [stats.below, stats.above],
            ];
        }
    }

    /// Allocates a node with this model and empty slots.
    pub(super) fn take(&mut self, model: Model) -> Node {
        let mut node = Node { model, first: 1 };
        let (start, lines) = node.extent();
        node.first = self.take_lines(lines) + (1 - start);
        node
    }

    /// Frees the lines of a node.
    pub(super) fn give_back(&mut self, node: Node) {
        let (start, lines) = node.extent();
        // The allocated size, which may be one line more.
        self.put_free(start, slots_of(class(lines)));
    }

    /// Frees everything.
    pub(super) fn clear(&mut self) {
        *self = Arena::new();
    }

    fn take_lines(&mut self, lines: u32) -> u32 {
        let wanted = class(lines);
        let size = slots_of(wanted);
        let Some((class, start)) = self.pop_free(wanted) else {
            return self.grow(size);
        };
        let had = slots_of(class);
        self.freed -= had as usize;
        self.put_free(start + size, had - size);
        for at in start..start + size {
            if let Some(line) = self.line_mut(at) {
                *line = CacheLine::EMPTY;
            }
        }
        start
    }

    /// Takes free lines of the smallest class that has some and is not below `class`. Returns their
    /// class and start.
    fn pop_free(&mut self, class: u32) -> Option<(u32, u32)> {
        let (word, bit) = (class as usize / 64, class % 64);
        let masks = std::iter::once(!0 << bit).chain(std::iter::repeat(!0));
        let words = self.has_free.iter_mut().enumerate().skip(word).zip(masks);
        for ((at, word), mask) in words {
            if *word & mask == 0 {
                continue;
            }
            let bit = (*word & mask).trailing_zeros();
            let class = at as u32 * 64 + bit;
            let starts = self.free.get_mut(class as usize)?;
            let start = starts.pop()?;
            if starts.is_empty() {
                *word &= !(1 << bit);
            }
            return Some((class, start));
        }
        None
    }

    fn put_free(&mut self, mut start: u32, mut lines: u32) {
        self.freed += lines as usize;
        while lines > 0 {
            let above = class(lines);
            let class = if slots_of(above) > lines {
                above - 1
            } else {
                above
            };
            if let Some(starts) = self.free.get_mut(class as usize) {
                starts.push(start);
            }
            if let Some(word) = self.has_free.get_mut(class as usize / 64) {
                *word |= 1 << (class % 64);
            }
            start += slots_of(class);
            lines -= slots_of(class);
        }
    }

    /// Appends lines that were never allocated before.
    fn grow(&mut self, lines: u32) -> u32 {
        let start = self.all();
        let mut missing = lines as usize;
        while missing > 0 {
            let has_room = self
                .regions
                .last()
                .is_some_and(|region| region.len() < REGION);
            if !has_room {
                // The first region grows as needed, so that small indexes stay small; other regions
                // never move.
                let room = if self.regions.is_empty() { 0 } else { REGION };
                self.regions.push(Vec::with_capacity(room));
            }
            if let Some(region) = self.regions.last_mut() {
                let more = missing.min(REGION - region.len());
                region.resize(region.len() + more, CacheLine::EMPTY);
                missing -= more;
            }
        }
        start as u32
    }

    fn all(&self) -> usize {
        let last = self.regions.last().map_or(0, Vec::len);
        self.regions.len().saturating_sub(1) * REGION + last
    }

    /// Whether more than half of the lines and more than a few are free.
    pub(super) fn is_wasteful(&self) -> bool {
        self.freed > self.all() / 2 + 64
    }

    /// Bytes of all memory, free lines included.
    pub(super) fn size_in_bytes(&self) -> usize {
        let lines: usize = self.regions.iter().map(Vec::capacity).sum();
        let free: usize = self.free.iter().map(Vec::capacity).sum();
        lines * size_of::<CacheLine>()
            + self.regions.capacity() * size_of::<Vec<CacheLine>>()
            + free * size_of::<u32>()
            + self.free.capacity() * size_of::<Vec<u32>>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache_line::rounded;
    use super::*;
    use crate::check::SplitMix64;

    #[test]
    fn lines_are_given_out_once_and_empty() {
        let mut random = SplitMix64::new(11);
        let mut lines = Arena::new();
        let mut nodes: Vec<Node> = Vec::new();
        for round in 0..3_000u64 {
            if random.below(5) < 2 && !nodes.is_empty() {
                let gone = nodes.swap_remove(random.below(nodes.len() as u64) as usize);
                lines.give_back(gone);
                continue;
            }
            let slots = match random.below(3) {
                0 => SLOTS,
                _ => rounded(1 + (random.next_u64() >> random.below(12) >> 52) as u32),
            };
            let node = lines.take(Model::of_parts(round, 1.0, slots - 1));
            assert_eq!(lines.next_used(node, 0), None);
            if node.is_counted() {
                assert_eq!(lines.stats(node), Stats::default());
                lines.set_stats(
                    node,
                    Stats {
                        keys: round,
                        ..Stats::default()
                    },
                );
            }
            for slot in [0, slots / 2, slots - 1] {
                lines.set(node, slot, Slot::Entry(round, slot.into()));
            }
            nodes.push(node);
        }
        for node in nodes {
            let (round, slots) = (node.model.base(), node.model.slots());
            let filled = [0, slots / 2, slots - 1];
            let mut used = filled.map(|slot| slot / SLOTS).to_vec();
            used.dedup();
            let mut at = 0;
            for line in used {
                assert_eq!(lines.next_used(node, at), Some(line));
                at = line + 1;
            }
            assert_eq!(lines.next_used(node, at), None);
            for slot in filled {
                let holds = lines.slot(node, slot);
                assert!(
                    matches!(holds, Slot::Entry(key, value) if (key, value) == (round, slot.into()))
                );
            }
            assert!(!node.is_counted() || lines.stats(node).keys == round);
        }
    }
}
