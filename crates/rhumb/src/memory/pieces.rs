//! Nodes of one memtable: found by number, never moved, and freed with the memtable.

use std::sync::OnceLock;

use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Items are kept in pieces, four to each doubling of their number, so that at most a fifth of the
/// allocated items is unused. The high bits of an item's number are its piece, and the others its place
/// in the piece.
const PIECE_SHIFT: u32 = 25;
const PIECES: usize = LAST_PIECE + 1;

/// The length of the first piece.
const FIRST_ITEMS: usize = 4;

/// The last piece: the one with an item for every place.
const LAST_PIECE: usize = 4 * (PIECE_SHIFT as usize - FIRST_ITEMS.trailing_zeros() as usize);

/// Items that are allocated from the front.
pub(crate) struct Pieces<T> {
    pieces: [OnceLock<Box<[T]>>; PIECES],
    /// The number of the next item to be allocated, and that behind the last one of its piece.
    next: AtomicU32,
    end: AtomicU32,
    allocated: AtomicUsize,
}

/// The length of a piece; `None` if there is no such piece.
fn piece_items(piece: usize) -> Option<usize> {
    let len = (FIRST_ITEMS / 4 * (4 + piece % 4)) << (piece / 4).min(32);
    (piece <= LAST_PIECE).then_some(len)
}

/// The piece of an item and its place in the piece.
#[inline]
fn place(number: u32) -> (usize, usize) {
    let at = number & ((1 << PIECE_SHIFT) - 1);
    ((number >> PIECE_SHIFT) as usize, at as usize)
}

impl<T: Default> Pieces<T> {
    /// Without items; allocates nothing yet.
    pub fn new() -> Self {
        Pieces {
            pieces: [const { OnceLock::new() }; PIECES],
            next: AtomicU32::new(0),
            end: AtomicU32::new(0),
            allocated: AtomicUsize::new(0),
        }
    }

    /// Bytes allocated for items.
    pub fn bytes(&self) -> usize {
        self.allocated.load(Ordering::Relaxed) * size_of::<T>()
    }

    /// Whether all items are allocated but those of the last piece, a seventh of all: 33 million.
    pub fn is_nearly_full(&self) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        end.checked_sub(1)
            .is_some_and(|last| place(last).0 >= LAST_PIECE)
    }

    /// Allocates an item, of the default value, and returns its number: 0 for the first; `None` if no numbers are
    /// left. Only one thread may call it at a time: two might get the same item.
    pub fn allocate(&self) -> Option<u32> {
        let mut number = self.next.load(Ordering::Relaxed);
        let end = self.end.load(Ordering::Relaxed);
        if number >= end {
            number = self.add_piece(end)?;
        }
        self.next.store(number + 1, Ordering::Relaxed);
        Some(number)
    }

    /// Adds the piece behind the one that ends at `end`; 0 if it is the first. Returns its first number.
    fn add_piece(&self, end: u32) -> Option<u32> {
        let piece = match end.checked_sub(1) {
            Some(last) => place(last).0 + 1,
            None => 0,
        };
        let len = piece_items(piece)?;
        self.pieces.get(piece)?.get_or_init(|| {
            self.allocated.fetch_add(len, Ordering::Relaxed);
            (0..len).map(|_| T::default()).collect()
        });
        let first = (piece as u32) << PIECE_SHIFT;
        self.end.store(first + len as u32, Ordering::Relaxed);
        Some(first)
    }

    /// The item of a number; `None` if none was allocated near it.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (piece, at) = place(number);
        self.pieces.get(piece)?.get()?.get(at)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn pieces_grow_by_a_quarter_at_most() {
        let lens: Vec<usize> = (0..).map_while(piece_items).collect();
        assert_eq!(lens[..6], [4, 5, 6, 7, 8, 10]);
        assert!(
            lens.iter()
                .zip(&lens[1..])
                .all(|(a, b)| a < b && *b <= a + a / 4)
        );
        assert!(lens.len() == PIECES && PIECES <= 1 << (u32::BITS - PIECE_SHIFT));
        assert_eq!(lens[LAST_PIECE], 1 << PIECE_SHIFT);
        assert!(lens[..LAST_PIECE].iter().sum::<usize>() > 150 << 20);
    }

    #[test]
    fn no_item_is_given_out_twice() {
        let pieces = Pieces::<AtomicU32>::new();
        let numbers: Vec<u32> = (0..20_000).map(|_| pieces.allocate().unwrap()).collect();
        assert_eq!(numbers[0], 0);
        for (i, number) in numbers.iter().enumerate() {
            let item = pieces.get(*number).unwrap();
            assert_eq!(item.swap(i as u32 + 1, Ordering::Relaxed), 0);
        }
        assert!((80_000..100_000).contains(&pieces.bytes()));
    }

    /// Numbers end: none is given out twice.
    #[test]
    fn nothing_is_allocated_behind_the_last_piece() {
        let pieces = Pieces::<AtomicU32>::new();
        let end =
            |piece: usize| ((piece as u32) << PIECE_SHIFT) + piece_items(piece).unwrap() as u32;
        let stand = |end| {
            pieces.next.store(end, Ordering::Relaxed);
            pieces.end.store(end, Ordering::Relaxed);
        };
        assert!(!pieces.is_nearly_full());
        stand(end(LAST_PIECE - 1));
        assert!(!pieces.is_nearly_full());
        stand(end(LAST_PIECE));
        assert!(pieces.is_nearly_full());
        assert_eq!(pieces.allocate(), None);
        assert_eq!(pieces.next.load(Ordering::Relaxed), end(LAST_PIECE));
        assert_eq!(pieces.bytes(), 0);
        assert!(pieces.get(end(LAST_PIECE)).is_none());
    }

    #[test]
    fn items_never_allocated_are_not_there() {
        let pieces = Pieces::<AtomicU32>::new();
        assert!(pieces.get(0).is_none() && pieces.get(u32::MAX).is_none());
        assert_eq!(pieces.allocate(), Some(0));
        assert!(pieces.get(FIRST_ITEMS as u32).is_none());
        assert!(pieces.get(1 << PIECE_SHIFT).is_none());
    }
}
