//! A slot of a leaf, or an entry of a run.
//!
//! A slot needs no extra bits to tell its content. With every line, key 0 belongs to slot 0 and
//! `u64::MAX` to another slot. A slot whose key is its *mark*, `u64::MAX` in slot 0 and 0 in every
//! other, therefore holds no entry, and no look-up that reaches the slot can be for its mark.

/// The most keys in a run.
pub(super) const RUN: usize = 8;

/// A slot or an entry of a run, 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) key: u64,
    pub(super) value: u64,
}

/// The content of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    Entry,
    /// `len` entries in cells from `at` on, with room for `room`.
    Run {
        at: usize,
        len: usize,
        room: usize,
    },
    /// The number of a nested leaf.
    Nested(usize),
}

/// The key of a slot that holds no entry.
#[inline(always)]
pub(super) fn mark(slot: usize) -> u64 {
    match slot {
        0 => u64::MAX,
        _ => 0,
    }
}

impl Cell {
    pub(super) fn entry((key, value): (u64, u64)) -> Self {
        Cell { key, value }
    }

    pub(super) fn nothing(slot: usize) -> Self {
        Cell {
            key: mark(slot),
            value: 0,
        }
    }

    pub(super) fn run(slot: usize, at: usize, len: usize, room: usize) -> Self {
        Cell {
            key: mark(slot),
            value: (at << 10 | room << 6 | len << 2 | 1) as u64,
        }
    }

    pub(super) fn nested(slot: usize, number: usize) -> Self {
        Cell {
            key: mark(slot),
            value: (number << 2 | 2) as u64,
        }
    }

    /// The content of a slot whose key is its mark.
    #[inline(always)]
    pub(super) fn marked(self) -> Held {
        let value = self.value as usize;
        match value & 3 {
            1 => Held::Run {
                at: value >> 10,
                len: value >> 2 & 15,
                room: value >> 6 & 15,
            },
            2 => Held::Nested(value >> 2),
            _ => Held::Nothing,
        }
    }
}
