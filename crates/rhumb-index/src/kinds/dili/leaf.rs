//! A leaf: keys in the slots that its line assigns, and keys that collide in a slot stored below
//! it.
//!
//! Two to eight colliding keys are stored side by side, in order, after the slots: a *run*, a
//! longer form of the published leaf of fan-out two. More of them form a *nested* leaf with a line
//! of its own.

mod putting;
mod removing;

use std::ops::ControlFlow;

use super::cell::{Cell, Held, RUN, mark};
use super::fit::{self, LeafShape, groups};
use super::upkeep::Upkeep;
use crate::kinds::shared::fixed_line::FixedLine;

/// The cost and the memory of a leaf with its nested leaves.
#[derive(Debug, Default, Clone, Copy)]
struct Total {
    /// The sum over the keys of the accesses from the leaf to the key.
    cost: u64,
    /// Memory in cells, including that of the leaves themselves.
    cells: u64,
}

/// Fields that only leaves with nested leaves, or adjusted leaves, need.
#[derive(Debug)]
struct More {
    nested: Vec<Leaf>,
    /// The total of the nested leaves.
    below: Total,
    /// The cells of the nested leaves when the leaf was built.
    built_cells: u64,
    /// The average cost of a key when the leaf was built.
    average: f32,
    /// How often it was adjusted.
    adjusted: u32,
}

impl Default for More {
    fn default() -> Self {
        More {
            nested: Vec::new(),
            below: Total::default(),
            built_cells: 0,
            average: UNNESTED,
            adjusted: 0,
        }
    }
}

/// The assumed average cost of a key in a leaf without nested leaves, where it is between 1 and 2.
const UNNESTED: f32 = 1.5;

/// The size of a leaf in cells.
const LEAF_CELLS: u64 = (size_of::<Leaf>() / size_of::<Cell>()) as u64;

impl More {
    fn push(&mut self, leaf: Leaf) -> usize {
        let Total { cost, cells } = leaf.total();
        self.below.cost += cost;
        self.below.cells += cells;
        self.nested.push(leaf);
        self.nested.len() - 1
    }

    /// Changes a nested leaf and updates the total.
    fn change<R>(&mut self, number: usize, change: impl FnOnce(&mut Leaf) -> R) -> Option<R> {
        let leaf = self.nested.get_mut(number)?;
        let before = leaf.total();
        let result = change(leaf);
        let after = leaf.total();
        self.below.cost = self.below.cost + after.cost - before.cost;
        self.below.cells = self.below.cells + after.cells - before.cells;
        Some(result)
    }
}

/// A leaf: one cache line, and its cells.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Leaf {
    line: FixedLine,
    /// The slots, then the runs.
    cells: Vec<Cell>,
    slots: u32,
    keys: u32,
    /// How many keys it was built with, or prepared for.
    built: u32,
    /// How many of the keys are in runs.
    in_runs: u32,
    more: Option<Box<More>>,
}

impl Default for Leaf {
    /// A leaf without slots, which is replaced at the first insertion.
    fn default() -> Self {
        Leaf {
            line: FixedLine::separating(0, 0),
            cells: Vec::new(),
            slots: 0,
            keys: 0,
            built: 0,
            in_runs: 0,
            more: None,
        }
    }
}

impl Leaf {
    /// A leaf of ascending entries with `ratio` slots a key. If more keys are expected above the
    /// last one, half as many slots again stay free for them.
    pub(super) fn build(entries: &[(u64, u64)], ratio: f64, expects_more: bool) -> Self {
        if let [] | [_] = entries {
            return entries
                .first()
                .map_or_else(Leaf::default, |one| Leaf::single(*one));
        }
        let len = entries.len();
        let LeafShape {
            line,
            slots,
            run_cells,
        } = fit::best(entries, ratio, expects_more);
        let mut leaf = Leaf::empty(line, slots, run_cells);
        leaf.built = len as u32;
        leaf.keys = len as u32;
        for (slot, group) in groups(line, slots, entries) {
            leaf.fill(slot, group, ratio);
        }
        let average = leaf.average();
        if let Some(more) = &mut leaf.more {
            (more.average, more.built_cells) = (average, more.below.cells);
        }
        leaf
    }

    /// Stores the entries of a slot, which held none of its own, and updates the memory counts, but
    /// not the number of keys.
    fn fill(&mut self, slot: usize, group: &[(u64, u64)], ratio: f64) {
        match group {
            [] => self.cells[slot] = Cell::nothing(slot),
            [one] => self.cells[slot] = Cell::entry(*one),
            _ if group.len() <= RUN => {
                let len = group.len();
                self.cells[slot] = Cell::run(slot, self.cells.len(), len, len);
                self.cells.extend(group.iter().copied().map(Cell::entry));
                self.in_runs += len as u32;
            }
            _ => {
                let leaf = Leaf::build(group, ratio, false);
                let number = self.more.get_or_insert_default().push(leaf);
                self.cells[slot] = Cell::nested(slot, number);
            }
        }
    }

    fn single(entry: (u64, u64)) -> Self {
        let mut leaf = Leaf::empty(FixedLine::separating(entry.0, 0), 2, 0);
        let slot = leaf.slot(entry.0);
        leaf.cells[slot] = Cell::entry(entry);
        (leaf.keys, leaf.built) = (1, 1);
        leaf
    }

    /// An empty leaf with room for about `keys` keys between `min` and `max`.
    pub(super) fn ready(min: u64, max: u64, keys: usize, ratio: f64) -> Self {
        let slots = ((keys as f64 * ratio) as usize).max(4);
        let line = FixedLine::equal(min, max.max(min.saturating_add(2)).max(2), slots);
        let mut leaf = Leaf::empty(line, slots, 0);
        leaf.built = keys as u32;
        leaf
    }

    fn empty(line: FixedLine, slots: usize, more: usize) -> Self {
        let mut cells = Vec::with_capacity(slots + more);
        cells.extend((0..slots).map(Cell::nothing));
        Leaf {
            line,
            cells,
            slots: slots as u32,
            ..Leaf::default()
        }
    }

    pub(super) fn keys(&self) -> usize {
        self.keys as usize
    }

    /// The first keys of the first and of the last slot; the last slot takes all greater keys too.
    pub(super) fn ends(&self) -> (u64, u64) {
        let last = self
            .line
            .first_number(self.slots().saturating_sub(1) as u64);
        (self.line.first_number(0), last)
    }

    pub(super) fn slots(&self) -> usize {
        self.slots as usize
    }

    pub(super) fn nested(&self) -> &[Leaf] {
        self.more.as_ref().map_or(&[], |more| &more.nested)
    }

    fn total(&self) -> Total {
        let below = self
            .more
            .as_ref()
            .map_or(Total::default(), |more| more.below);
        Total {
            cost: u64::from(self.keys) + u64::from(self.in_runs) + below.cost,
            cells: LEAF_CELLS + self.cells.len() as u64 + below.cells,
        }
    }

    fn average(&self) -> f32 {
        self.total().cost as f32 / self.keys.max(1) as f32
    }

    #[inline(always)]
    fn slot(&self, key: u64) -> usize {
        self.line.slot(key, self.slots as usize)
    }

    /// The content of a slot.
    pub(super) fn held(&self, slot: usize) -> Held {
        let cell = self.cells[slot];
        match cell.key == mark(slot) {
            true => cell.marked(),
            false => Held::Entry,
        }
    }

    fn run(&self, at: usize, len: usize) -> &[Cell] {
        &self.cells[at..at + len]
    }

    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        let mut leaf = self;
        loop {
            let slot = leaf.slot(key);
            let cell = leaf.cells.get(slot)?;
            if cell.key == key {
                return Some(cell.value);
            }
            if cell.key != mark(slot) {
                return None;
            }
            match cell.marked() {
                Held::Run { at, len, .. } => {
                    let mut run = leaf.run(at, len).iter();
                    return run.find(|cell| cell.key == key).map(|cell| cell.value);
                }
                Held::Nested(number) => leaf = leaf.nested().get(number)?,
                _ => return None,
            }
        }
    }

    /// Rebuilds the leaf from all its entries; `adjusted` becomes its number of adjustments.
    fn rebuild(&mut self, adjusted: u32, upkeep: Upkeep) {
        let mut entries = Vec::with_capacity(self.keys());
        self.collect(&mut entries);
        if entries.is_empty() {
            // Keep two slots: an empty leaf would be rebuilt on every insert after a remove.
            *self = Leaf::empty(FixedLine::separating(0, 0), 2, 0);
            return;
        }
        // Keys from the last slot's first key on are in that slot.
        let last = self.ends().1;
        let behind = entries.len() - entries.partition_point(|entry| entry.0 < last);
        let came = self.keys.saturating_sub(self.built) as usize;
        let expects_more = upkeep.is_bounded() && came > 0 && 2 * behind >= came;
        *self = Leaf::build(&entries, upkeep.ratio(adjusted), expects_more);
        if adjusted > 0 {
            let average = self.average();
            let more = self.more.get_or_insert_default();
            (more.average, more.adjusted) = (average, adjusted);
        }
    }

    fn adjusted(&self) -> u32 {
        self.more.as_ref().map_or(0, |more| more.adjusted)
    }

    /// Appends all entries, in order.
    pub(super) fn collect(&self, out: &mut Vec<(u64, u64)>) {
        let _ = self.walk(None, &mut |key, value| {
            out.push((key, value));
            ControlFlow::Continue(())
        });
    }

    /// Visits entries in order, from the first whose key is not below `from`.
    pub(super) fn walk(
        &self,
        from: Option<u64>,
        visit: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let first = from.map_or(0, |from| self.slot(from));
        let least = from.unwrap_or(0);
        for slot in first..self.slots() {
            let mut cells = 0..0;
            match self.held(slot) {
                Held::Nothing => {}
                Held::Entry => cells = slot..slot + 1,
                Held::Run { at, len, .. } => cells = at..at + len,
                Held::Nested(number) => {
                    let from = from.filter(|_| slot == first);
                    let leaf = self.nested().get(number);
                    leaf.map_or(ControlFlow::Continue(()), |leaf| leaf.walk(from, visit))?;
                }
            }
            for cell in &self.cells[cells] {
                if cell.key >= least {
                    visit(cell.key, cell.value)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Adds the level of each key to `sum` and returns the deepest level; `above` levels are above
    /// this leaf.
    pub(super) fn levels(&self, above: usize, sum: &mut u64) -> usize {
        let mut deepest = 0;
        for slot in 0..self.slots() {
            let (keys, level) = match self.held(slot) {
                Held::Nothing => continue,
                Held::Entry => (1, above + 1),
                Held::Run { len: 0, .. } => continue,
                Held::Run { len, .. } => (len, above + 2),
                Held::Nested(number) => {
                    let leaf = self.nested().get(number);
                    (0, leaf.map_or(0, |leaf| leaf.levels(above + 1, sum)))
                }
            };
            *sum += (keys * level) as u64;
            deepest = deepest.max(level);
        }
        deepest
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let more = self.more.as_ref().map_or(0, |more| {
            let own = size_of::<More>() + more.nested.capacity() * size_of::<Leaf>();
            own + more.nested.iter().map(Leaf::heap_bytes).sum::<usize>()
        });
        more + self.cells.capacity() * size_of::<Cell>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;
    use crate::updatable::Existing;

    #[test]
    fn a_leaf_is_a_cache_line() {
        assert_eq!(size_of::<Leaf>(), 64);
    }

    #[test]
    fn marks_can_be_keys() {
        // 0 and the greatest key are also the marks of slots without entries.
        for keys in [
            vec![0, u64::MAX],
            vec![0, 1, 2],
            vec![u64::MAX - 1, u64::MAX],
        ] {
            let entries: Vec<(u64, u64)> = keys.iter().map(|key| (*key, !key)).collect();
            let mut leaf = Leaf::build(&entries, 2.0, false);
            for key in [0, 1, 5, u64::MAX - 1, u64::MAX] {
                assert_eq!(
                    leaf.get(key),
                    keys.contains(&key).then_some(!key),
                    "{keys:?} {key}"
                );
                assert_eq!(
                    leaf.remove(key, Upkeep::Bounded),
                    keys.contains(&key).then_some(!key)
                );
                assert_eq!(leaf.get(key), None);
            }
        }
    }

    #[test]
    fn degraded_leaves_are_adjusted() {
        for upkeep in [Upkeep::Bounded, Upkeep::Published] {
            let entries: Vec<(u64, u64)> = (0..100).map(|i| (i << 40, i)).collect();
            let mut leaf = Leaf::build(&entries, 2.0, false);
            let mut random = SplitMix64::new(5);
            // All new keys fall into one slot: without adjustments there would be one more level
            // for every eight.
            for _ in 0..5_000 {
                let key = (50 << 40) + 1 + random.below(1 << 30);
                leaf.put((key, 1), Existing::Keep, upkeep);
            }
            let mut sum = 0;
            let deepest = leaf.levels(0, &mut sum);
            assert!(
                deepest <= 8 && leaf.average() < 4.0,
                "{upkeep:?}: {deepest}"
            );
            assert_eq!(leaf.total().cost, sum, "cost is the sum of the levels");
        }
    }

    #[test]
    fn published_upkeep_limits_levels_for_any_number_of_keys() {
        // A chain of leaves that are never adjusted, with so many keys that the average cost is
        // low.
        let mut leaf = Leaf::single((u64::MAX, 0));
        for _ in 0..600 {
            let mut above = Leaf::empty(FixedLine::equal(0, u64::MAX, 2), 2, 0);
            above.more.get_or_insert_default().push(leaf);
            above.cells[1] = Cell::nested(1, 0);
            (above.keys, above.built) = (100_000_000, 100_000_000);
            leaf = above;
        }
        for i in 1..10 {
            leaf.put((u64::MAX - i, i), Existing::Keep, Upkeep::Published);
        }
        let deepest = leaf.levels(0, &mut 0);
        assert!(deepest < 200, "{deepest}");
        assert!((0..10).all(|i| leaf.get(u64::MAX - i) == Some(i)));
    }
}
