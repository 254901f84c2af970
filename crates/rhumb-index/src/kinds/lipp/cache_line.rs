//! Nodes consist of cache lines of three slots each.

use super::model::{Model, class, slots_of};

/// Slots in a cache line.
pub(super) const SLOTS: u32 = 3;

/// Cache lines that one summary covers.
pub(super) const SUMMARIZED: u32 = 6 * 64;

/// Nodes of at most this many lines of slots have no summary.
const UNSUMMARIZED: u32 = 32;

/// Three slots with their tags.
///
/// Nodes of more than one line have additional lines of which only the words of the slots are used:
/// a [`Stats`] before the slots, and summaries after them. Bit b % 64 of word b / 64 of the
/// summaries is set if line b of the node may have a used slot.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct CacheLine {
    /// Bit i is set if slot i is used.
    pub(super) filled: u8,
    /// Bit i is set if slot i leads to a child.
    children: u8,
    reserved: u16,
    /// For slots that lead to a child, the child's last slot.
    last: [u32; 3],
    /// Key and value; for a child, its base, and its first line with its slope in the upper half.
    pub(super) slots: [[u64; 2]; 3],
}

/// A node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) model: Model,
    /// The first line of slots.
    pub(super) first: u32,
}

/// The content of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    Empty,
    Entry(u64, u64),
    Child(Node),
}

/// Statistics of a node with more than one line, for its upkeep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stats {
    /// Keys in the node and below.
    pub(super) keys: u64,
    /// How many keys there were when it was built.
    pub(super) built: u64,
    /// Keys put since then, including those removed again.
    pub(super) put: u64,
    /// How many of those were placed below this node; with published upkeep, how many made a new
    /// child.
    pub(super) deeper: u64,
    /// Keys put since then that were below the range of the model.
    pub(super) below: u64,
    /// Keys put since then that were above it.
    pub(super) above: u64,
}

impl CacheLine {
    /// A line of empty slots.
    pub(super) const EMPTY: CacheLine = CacheLine {
        filled: 0,
        children: 0,
        reserved: 0,
        last: [0; 3],
        slots: [[0; 2]; 3],
    };

    #[inline(always)]
    pub(super) fn slot(&self, i: u32) -> Slot {
        let [key, value] = self.slots[i as usize];
        if self.children >> i & 1 == 1 {
            return Slot::Child(self.child(i));
        }
        match self.filled >> i & 1 == 1 {
            true => Slot::Entry(key, value),
            false => Slot::Empty,
        }
    }

    /// The child of a slot that leads to one.
    #[inline(always)]
    pub(super) fn child(&self, i: u32) -> Node {
        let [base, place] = self.slots[i as usize];
        let slope = f32::from_bits((place >> 32) as u32);
        Node {
            model: Model::of_parts(base, slope, self.last[i as usize]),
            first: place as u32,
        }
    }

    /// Whether a slot leads to a child.
    #[inline(always)]
    pub(super) fn has_child(&self, i: u32) -> bool {
        self.children >> i & 1 == 1
    }

    /// The value in a slot that leads to no child, if it holds this key.
    #[inline(always)]
    pub(super) fn value_of(&self, i: u32, key: u64) -> Option<u64> {
        let [own, value] = self.slots[i as usize];
        (own == key && self.filled >> i & 1 == 1).then_some(value)
    }

    /// The entries in the slots.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..SLOTS).filter_map(|i| match self.slot(i) {
            Slot::Entry(key, value) => Some((key, value)),
            _ => None,
        })
    }

    /// Sets the content of a slot.
    pub(super) fn set(&mut self, i: u32, slot: Slot) {
        let (filled, child) = match slot {
            Slot::Empty => (0, 0),
            Slot::Entry(key, value) => {
                self.slots[i as usize] = [key, value];
                (1, 0)
            }
            Slot::Child(Node { model, first }) => {
                let place = u64::from(first) | u64::from(model.slope().to_bits()) << 32;
                self.slots[i as usize] = [model.base(), place];
                self.last[i as usize] = model.slots().saturating_sub(1);
                (1, 1)
            }
        };
        self.filled = self.filled & !(1 << i) | filled << i;
        self.children = self.children & !(1 << i) | child << i;
    }
}

impl Node {
    /// Lines of slots.
    pub(super) fn lines(&self) -> u32 {
        self.model.slots() / SLOTS
    }

    /// Whether the node has [`Stats`].
    #[inline(always)]
    pub(super) fn is_counted(&self) -> bool {
        self.model.slots() > SLOTS
    }

    pub(super) fn has_summary(&self) -> bool {
        self.lines() > UNSUMMARIZED
    }

    /// The start and the number of all its lines.
    pub(super) fn extent(&self) -> (u32, u32) {
        let lines = self.lines();
        match self.is_counted() {
            true => (self.first - 1, 1 + lines + summaries(lines)),
            false => (self.first, 1),
        }
    }
}

/// Summaries that this many lines of slots need.
fn summaries(lines: u32) -> u32 {
    match lines > UNSUMMARIZED {
        true => lines.div_ceil(SUMMARIZED),
        false => 0,
    }
}

/// The slots of a node with [`Stats`]: at least `slots`, and as many as fill the allocated lines.
pub(super) fn rounded(slots: u32) -> u32 {
    let lines = slots.div_ceil(SLOTS).max(2);
    let given = slots_of(class(1 + lines + summaries(lines)));
    let rest = given - 1;
    // At most one summary more than needed; its line then stays unused.
    let summaries = if rest > UNSUMMARIZED + 1 {
        rest.div_ceil(SUMMARIZED + 1)
    } else {
        0
    };
    (rest - summaries) * SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_fill_their_allocation() {
        for slots in (1..20_000).chain((20..30).map(|bit| (1 << bit) - 7)) {
            let rounded = rounded(slots);
            assert!(rounded >= slots && rounded.is_multiple_of(SLOTS));
            let lines = rounded / SLOTS;
            let all = 1 + lines + summaries(lines);
            let given = slots_of(class(all));
            assert!(given - all <= 1, "{slots}: {all} of {given}");
            assert!(
                slots < 12 || rounded <= slots + slots / 7 + 6,
                "{slots}: {rounded}"
            );
        }
    }
}
