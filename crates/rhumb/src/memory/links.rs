//! The links of one memtable: 32-bit atomic slots that are found by number and never move.

use std::sync::OnceLock;

use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Slots are kept in pieces, four to each doubling of their number, so that at most a fifth of them
/// is not in use. A slot's piece and its place there are the leading bits of its number (shifted by
/// `FIRST_SLOTS`) and the others, as in a floating-point number with two bits of mantissa.
const FIRST_SLOTS: u32 = if cfg!(loom) { 64 } else { 1024 };
const PIECES: usize = 4 * (u32::BITS - FIRST_SLOTS.ilog2()) as usize;

/// Slots that are allocated from the front; new ones hold 0.
pub(crate) struct Links {
    pieces: [OnceLock<Box<[AtomicU32]>>; PIECES],
    used: AtomicU32,
    allocated: AtomicUsize,
}

/// The piece of a slot, its place in the piece, and the piece's length; `None` behind the last piece.
fn place(number: u32) -> Option<(usize, usize, usize)> {
    let shifted = number.checked_add(FIRST_SLOTS)?;
    let bits = shifted.ilog2() - 2;
    let piece = 4 * (bits + 2 - FIRST_SLOTS.ilog2()) + ((shifted >> bits) & 3);
    let at = shifted & ((1 << bits) - 1);
    Some((piece as usize, at as usize, 1 << bits))
}

impl Links {
    /// No slots; allocates nothing yet.
    pub fn new() -> Self {
        Links {
            pieces: [const { OnceLock::new() }; PIECES],
            used: AtomicU32::new(0),
            allocated: AtomicUsize::new(0),
        }
    }

    /// Bytes allocated for slots.
    pub fn bytes(&self) -> usize {
        self.allocated.load(Ordering::Relaxed) * size_of::<AtomicU32>()
    }

    /// Allocates `slots` neighbouring slots, at most a quarter of `FIRST_SLOTS`, and gives the number
    /// of the first; `None` if there are no numbers left. One caller at a time: two at once might be
    /// given the same slots.
    pub fn allocate(&self, slots: usize) -> Option<u32> {
        let mut first = self.used.load(Ordering::Relaxed);
        let (mut piece, at, len) = place(first)?;
        if at + slots > len {
            first = first.checked_add((len - at) as u32)?;
            piece += 1;
        }
        let (_, _, len) = place(first)?;
        self.pieces.get(piece)?.get_or_init(|| {
            self.allocated.fetch_add(len, Ordering::Relaxed);
            (0..len).map(|_| AtomicU32::new(0)).collect()
        });
        let used = first.checked_add(slots as u32)?;
        self.used.store(used, Ordering::Relaxed);
        Some(first)
    }

    /// The slots of a piece from `first` on: those allocated together, and what follows. Empty if
    /// `first` was never allocated.
    #[inline]
    pub fn slots(&self, first: u32) -> &[AtomicU32] {
        place(first)
            .and_then(|(piece, at, _)| self.pieces.get(piece)?.get()?.get(at..))
            .unwrap_or_default()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other() {
        let mut expected = (0, 0);
        for number in 0..1_000_000 {
            let (piece, at, len) = place(number).unwrap();
            assert_eq!((piece, at), expected);
            expected = if at + 1 == len {
                (piece + 1, 0)
            } else {
                (piece, at + 1)
            };
        }
        let last = u32::MAX - FIRST_SLOTS;
        assert_eq!(place(last), Some((PIECES - 1, (1 << 29) - 1, 1 << 29)));
        assert_eq!(place(last + 1), None);
    }

    #[test]
    fn slots_allocated_together_are_neighbours_and_nobody_elses() {
        let links = Links::new();
        let mut runs = Vec::new();
        for i in 0..20_000u32 {
            let len = 1 + (i as usize * 7) % 15;
            let first = links.allocate(len).unwrap();
            for slot in &links.slots(first)[..len] {
                assert_eq!(slot.swap(i + 1, Ordering::Relaxed), 0);
            }
            runs.push((first, len));
        }
        let mut used = 0;
        for (i, (first, len)) in runs.into_iter().enumerate() {
            used += 4 * len;
            let kept = |slot: &AtomicU32| slot.load(Ordering::Relaxed) == i as u32 + 1;
            assert!(links.slots(first)[..len].iter().all(kept));
        }
        assert!((used..used * 13 / 10).contains(&links.bytes()));
    }

    #[test]
    fn slots_never_allocated_are_empty() {
        let links = Links::new();
        assert!(links.slots(0).is_empty() && links.slots(u32::MAX).is_empty());
        assert_eq!(links.allocate(15), Some(0));
        assert!(links.slots(15).len() < FIRST_SLOTS as usize);
        assert!(links.slots(FIRST_SLOTS).is_empty());
    }
}
