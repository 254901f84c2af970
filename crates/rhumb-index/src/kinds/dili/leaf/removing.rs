//! Removal from a leaf.

use super::super::cell::{Cell, Held, RUN};
use super::super::upkeep::{RATIO, Upkeep};
use super::{LEAF_CELLS, Leaf};

/// A nested leaf with at most this many keys becomes a run. It takes far more keys to make a run a
/// nested leaf, so removals and insertions cannot alternate between the two forms.
const FEW: usize = RUN / 2;

impl Leaf {
    /// As [`crate::updatable::Updatable::remove`].
    pub(in super::super) fn remove(&mut self, key: u64, upkeep: Upkeep) -> Option<u64> {
        if self.slots == 0 {
            return None;
        }
        let slot = self.slot(key);
        let value = match self.held(slot) {
            Held::Nothing => return None,
            Held::Entry => {
                let cell = self.cells[slot];
                if cell.key != key {
                    return None;
                }
                self.cells[slot] = Cell::nothing(slot);
                cell.value
            }
            Held::Run { at, len, room } => {
                let place = self.run(at, len).iter().position(|cell| cell.key == key)?;
                self.remove_from_run(slot, place, (at, len, room), upkeep)
            }
            Held::Nested(number) => {
                let more = self.more.as_mut()?;
                let value = more.change(number, |leaf| leaf.remove(key, upkeep))??;
                if upkeep.is_bounded() {
                    self.put_back(slot, number);
                }
                value
            }
        };
        self.keys -= 1;
        if upkeep.shrinks(self.keys as usize, self.built as usize) {
            self.rebuild(self.adjusted(), upkeep);
        }
        Some(value)
    }

    /// Removes a key from a run.
    fn remove_from_run(
        &mut self,
        slot: usize,
        place: usize,
        (at, len, room): (usize, usize, usize),
        upkeep: Upkeep,
    ) -> u64 {
        let value = self.cells[at + place].value;
        self.cells.copy_within(at + place + 1..at + len, at + place);
        self.in_runs -= 1;
        self.cells[slot] = Cell::run(slot, at, len - 1, room);
        // Published upkeep keeps the run: nothing would reclaim the cells that repeated conversions
        // leave behind.
        if len == 2 && upkeep.is_bounded() {
            self.cells[slot] = self.cells[at];
            self.in_runs -= 1;
            self.release(at, room);
        }
        value
    }

    /// Moves the keys of a nested leaf back into its slot if there are few.
    fn put_back(&mut self, slot: usize, number: usize) {
        let Some(more) = &mut self.more else { return };
        if more.nested.get(number).is_none_or(|leaf| leaf.keys() > FEW) {
            return;
        }
        let mut entries = Vec::with_capacity(FEW);
        more.change(number, |leaf| std::mem::take(leaf).collect(&mut entries));
        // Nested leaves after it keep their numbers until the leaf is rebuilt.
        while more.nested.pop_if(|last| last.slots == 0).is_some() {
            more.below.cells -= LEAF_CELLS;
        }
        self.fill(slot, &entries, RATIO);
    }
}
