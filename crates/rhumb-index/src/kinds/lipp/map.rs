//! The index in memory.

use std::ops::ControlFlow;

use super::KIND;
use super::arena::Arena;
use super::cache_line::{Node, SLOTS, Slot};
use super::plant::{Room, plant, plant_node};
use super::upkeep::Step;
use super::walk;
use crate::IndexError;
use crate::kinds::shared::knobs::UPKEEP;
use crate::knob::Settings;
use crate::updatable::{Depth, Existing, Updatable, ascending};

/// An ordered map from integers to integers.
#[derive(Debug)]
pub(super) struct Lipp {
    pub(super) lines: Arena,
    pub(super) root: Node,
    len: usize,
    pub(super) is_published: bool,
    /// The path to the key put or removed last; kept to reuse its memory.
    way: Vec<Step>,
    /// The number of keys in all rebuilt nodes.
    #[cfg(test)]
    pub(super) rebuilt: u64,
}

impl Lipp {
    /// An empty index.
    pub(super) fn new(settings: &Settings) -> Self {
        let mut lines = Arena::new();
        Lipp {
            root: plant_node(&mut lines, &[], Room::default()),
            lines,
            len: 0,
            is_published: UPKEEP.of(settings) == 1,
            way: Vec::new(),
            #[cfg(test)]
            rebuilt: 0,
        }
    }

    /// Sets `way` to the path to a key, and returns the content of the slot at its end.
    #[inline]
    fn go(&self, key: u64, way: &mut Vec<Step>) -> Slot {
        way.clear();
        let mut node = self.root;
        loop {
            let slot = node.model.slot(key);
            way.push(Step { node, slot });
            self.lines.expect_stats(node);
            match self.lines.slot(node, slot) {
                Slot::Child(child) => node = child,
                other => return other,
            }
        }
    }

    /// Stores an entry with a new key at the end of a path. Returns whether its slot held another
    /// entry.
    fn place(&mut self, way: &[Step], entry: (u64, u64), holds: Slot) -> bool {
        let Some((step, above)) = way.split_last() else {
            return false;
        };
        let (node, slot) = (step.node, step.slot);
        match holds {
            Slot::Entry(key, value) if node.is_counted() => {
                let mut both = [(key, value), entry];
                both.sort_unstable();
                let child = plant(&mut self.lines, &both, Room::default());
                self.lines.set(node, slot, child);
                true
            }
            // A node of one line has at most three other entries: it is built again with all of
            // them.
            Slot::Entry(..) => {
                let mut all = [entry; SLOTS as usize + 1];
                let others = self.lines.line(node.first).entries();
                let others = all
                    .iter_mut()
                    .skip(1)
                    .zip(others)
                    .map(|(place, other)| *place = other);
                let len = 1 + others.count();
                let all = all.get_mut(..len).unwrap_or_default();
                all.sort_unstable();
                self.lines.give_back(node);
                let child = plant_node(&mut self.lines, all, Room::default());
                self.lead(above, Slot::Child(child));
                true
            }
            _ => {
                self.lines.set(node, slot, Slot::Entry(entry.0, entry.1));
                false
            }
        }
    }

    /// Sets the slot at the end of a path; an empty path is that to the root.
    pub(super) fn lead(&mut self, way: &[Step], holds: Slot) {
        match (way.last(), holds) {
            (Some(step), _) => self.lines.set(step.node, step.slot, holds),
            (None, Slot::Child(node)) => self.root = node,
            (None, _) => {}
        }
    }

    /// Removes the entry at the end of a path.
    fn clear(&mut self, way: &[Step]) {
        let Some((step, above)) = way.split_last() else {
            return;
        };
        self.lines.set(step.node, step.slot, Slot::Empty);
        // A node of one line must have two or three keys.
        if step.node.is_counted() || above.is_empty() {
            return;
        }
        let line = *self.lines.line(step.node.first);
        if line.filled.count_ones() < 2 {
            let left = line.entries().next();
            self.lines.give_back(step.node);
            self.lead(
                above,
                left.map_or(Slot::Empty, |(key, value)| Slot::Entry(key, value)),
            );
        }
    }
}

impl Updatable<u64> for Lipp {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bulk_load(&mut self, entries: &[(u64, u64)]) -> Result<(), IndexError> {
        ascending(entries)?;
        self.lines.clear();
        self.root = plant_node(&mut self.lines, entries, Room::default());
        self.len = entries.len();
        Ok(())
    }

    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        let mut node = self.root;
        loop {
            let slot = node.model.slot(*key);
            let line = self.lines.line(node.first + slot / SLOTS);
            let i = slot % SLOTS;
            if !line.has_child(i) {
                return line.value_of(i, *key);
            }
            node = line.child(i);
        }
    }

    fn put(&mut self, key: &u64, value: u64, existing: Existing) -> Option<u64> {
        let mut way = std::mem::take(&mut self.way);
        let holds = self.go(*key, &mut way);
        let had = match holds {
            Slot::Entry(own, had) if own == *key => Some(had),
            _ => None,
        };
        match (had, existing) {
            (Some(_), Existing::Keep) => {}
            (Some(_), Existing::Replace) => self.lead(&way, Slot::Entry(*key, value)),
            (None, _) => {
                let met = self.place(&way, (*key, value), holds);
                self.len += 1;
                self.count_put(&way, *key, met);
            }
        }
        self.way = way;
        had
    }

    fn remove(&mut self, key: &u64) -> Option<u64> {
        let mut way = std::mem::take(&mut self.way);
        let had = match self.go(*key, &mut way) {
            Slot::Entry(own, had) if own == *key => {
                self.clear(&way);
                self.len -= 1;
                self.count_remove(&way);
                Some(had)
            }
            _ => None,
        };
        self.way = way;
        had
    }

    fn walk(&self, from: &u64, visit: &mut dyn FnMut(&u64, u64) -> ControlFlow<()>) {
        let _ = walk::walk(&self.lines, self.root, *from, visit);
    }

    fn depth(&self) -> Depth {
        walk::depth(&self.lines, self.root)
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.lines.size_in_bytes() + self.way.capacity() * size_of::<Step>()
    }
}
