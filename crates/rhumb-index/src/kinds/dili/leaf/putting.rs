//! Insertion into a leaf.

use super::super::cell::{Cell, Held, RUN};
use super::super::upkeep::{Upkeep, Wear};
use super::{LEAF_CELLS, Leaf, UNNESTED};
use crate::updatable::Existing;

/// Cells of a new run, when two keys collide.
const FIRST_ROOM: usize = 4;

impl Leaf {
    /// As [`crate::updatable::Updatable::put`].
    pub(in super::super) fn put(
        &mut self,
        entry: (u64, u64),
        existing: Existing,
        upkeep: Upkeep,
    ) -> Option<u64> {
        if self.slots == 0 {
            *self = Leaf::single(entry);
            return None;
        }
        let before = self.total().cost;
        let slot = self.slot(entry.0);
        let found = match self.held(slot) {
            Held::Nothing => {
                self.cells[slot] = Cell::entry(entry);
                None
            }
            Held::Entry => self.put_beside(slot, entry, existing),
            Held::Run { at, len, room } => {
                self.put_in_run(slot, entry, existing, (at, len, room), upkeep)
            }
            Held::Nested(number) => {
                let more = self.more.get_or_insert_default();
                let put = more.change(number, |leaf| leaf.put(entry, existing, upkeep));
                put.flatten()
            }
        };
        if found.is_none() {
            self.keys += 1;
            self.keep_shape(before, upkeep);
        }
        found
    }

    /// Adjusts the leaf after an insertion if necessary; `before` is its cost without the new key.
    fn keep_shape(&mut self, before: u64, upkeep: Upkeep) {
        let total = self.total();
        let more = self.more.as_deref();
        let wear = Wear {
            keys: self.keys,
            built: self.built,
            average: total.cost as f32 / self.keys as f32,
            built_average: more.map_or(UNNESTED, |more| more.average),
            level: total.cost.saturating_sub(before),
        };
        if upkeep.adjusts(&wear) {
            self.rebuild(self.adjusted() + 1, upkeep);
            return;
        }
        // At least the memory at building, since each key takes at most one cell after the slots.
        let built = LEAF_CELLS
            + u64::from(self.slots)
            + u64::from(self.built)
            + more.map_or(0, |more| more.built_cells);
        if upkeep.is_bloated(total.cells, built) {
            self.rebuild(self.adjusted(), upkeep);
        }
    }

    /// Puts an entry into a slot that holds one. Returns the old value if the keys are equal.
    fn put_beside(&mut self, slot: usize, entry: (u64, u64), existing: Existing) -> Option<u64> {
        let (old, new) = (self.cells[slot], Cell::entry(entry));
        if old.key == new.key {
            if existing == Existing::Replace {
                self.cells[slot] = new;
            }
            return Some(old.value);
        }
        self.cells[slot] = Cell::run(slot, self.cells.len(), 2, FIRST_ROOM);
        let pair = match old.key < new.key {
            true => [old, new],
            false => [new, old],
        };
        self.cells.extend(pair);
        self.cells.extend([new; FIRST_ROOM - 2]);
        self.in_runs += 2;
        None
    }

    /// As [`Leaf::put_beside`] for a slot that holds a run.
    fn put_in_run(
        &mut self,
        slot: usize,
        entry: (u64, u64),
        existing: Existing,
        (at, len, room): (usize, usize, usize),
        upkeep: Upkeep,
    ) -> Option<u64> {
        let run = self.run(at, len);
        let place = run.iter().take_while(|cell| cell.key < entry.0).count();
        let same = run.get(place).filter(|cell| cell.key == entry.0);
        if let Some(value) = same.map(|cell| cell.value) {
            if existing == Existing::Replace {
                self.cells[at + place].value = entry.1;
            }
            return Some(value);
        }
        if len == RUN {
            let mut entries: Vec<(u64, u64)> = run.iter().map(|c| (c.key, c.value)).collect();
            entries.insert(place, entry);
            self.in_runs -= RUN as u32;
            self.release(at, room);
            self.fill(slot, &entries, upkeep.ratio(0));
            return None;
        }
        let (at, room) = match len < room {
            true => (at, room),
            false => self.widen(at, len),
        };
        self.cells.copy_within(at + place..at + len, at + place + 1);
        self.cells[at + place] = Cell::entry(entry);
        self.cells[slot] = Cell::run(slot, at, len + 1, room);
        self.in_runs += 1;
        None
    }

    /// Gives a full run more room; returns its new start and room.
    fn widen(&mut self, at: usize, len: usize) -> (usize, usize) {
        let room = (2 * len).clamp(FIRST_ROOM, RUN);
        let is_last = at + len == self.cells.len();
        let moved = if is_last { at } else { self.cells.len() };
        if !is_last {
            self.cells.extend_from_within(at..at + len);
        }
        self.cells.resize(moved + room, Cell::entry((0, 0)));
        (moved, room)
    }

    /// Frees the cells of a run if they are the last ones. Others stay until the leaf is rebuilt.
    pub(super) fn release(&mut self, at: usize, room: usize) {
        if at + room == self.cells.len() {
            self.cells.truncate(at);
        }
    }
}
