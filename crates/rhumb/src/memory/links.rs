//! The links of one memtable: cells of atomics that are found by number and never move.

use std::sync::OnceLock;

use crate::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Cells are kept in pieces, four to each doubling of their number, so that at most a fifth of the
/// allocated cells is unused. The high bits of a cell's number are its piece, and the others its place
/// in the piece.
const PIECE_SHIFT: u32 = 25;
const PIECES: usize = 1 << (u32::BITS - PIECE_SHIFT);

/// The length of the first piece.
const FIRST_CELLS: usize = if cfg!(loom) { 4 } else { 64 };

/// The last piece: the one with a cell for every place.
const LAST_PIECE: usize = 4 * (PIECE_SHIFT as usize - FIRST_CELLS.trailing_zeros() as usize);

/// What a node has for one of its levels. The alignment keeps a cell in one cache line.
#[derive(Debug)]
#[repr(align(16))]
pub(crate) struct Link {
    pub head: AtomicU64,
    pub next: AtomicU32,
    pub note: AtomicU32,
}

impl Link {
    fn new() -> Self {
        Link {
            head: AtomicU64::new(0),
            next: AtomicU32::new(0),
            note: AtomicU32::new(0),
        }
    }
}

/// Cells that are allocated from the front; new ones hold 0.
pub(crate) struct Links {
    pieces: [OnceLock<Box<[Link]>>; PIECES],
    /// The number of the next cell to be allocated, and that behind the last one of its piece.
    next: AtomicU32,
    end: AtomicU32,
    allocated: AtomicUsize,
}

/// The length of a piece; `None` if there is no such piece.
fn piece_cells(piece: usize) -> Option<usize> {
    let len = (FIRST_CELLS / 4 * (4 + piece % 4)) << (piece / 4).min(32);
    (piece <= LAST_PIECE).then_some(len)
}

/// The piece of a cell and its place in the piece.
#[inline]
fn place(number: u32) -> (usize, usize) {
    let at = number & ((1 << PIECE_SHIFT) - 1);
    ((number >> PIECE_SHIFT) as usize, at as usize)
}

impl Links {
    /// Without cells; allocates nothing yet.
    pub fn new() -> Self {
        Links {
            pieces: [const { OnceLock::new() }; PIECES],
            next: AtomicU32::new(0),
            end: AtomicU32::new(0),
            allocated: AtomicUsize::new(0),
        }
    }

    /// Bytes allocated for cells.
    pub fn bytes(&self) -> usize {
        self.allocated.load(Ordering::Relaxed) * size_of::<Link>()
    }

    /// Whether all cells are allocated but those of the last piece, a seventh of all: 33 million.
    pub fn is_nearly_full(&self) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        end.checked_sub(1)
            .is_some_and(|last| place(last).0 >= LAST_PIECE)
    }

    /// Allocates `cells` neighbouring cells, at most as many as the first piece has, and returns the
    /// number of the first; `None` if no numbers are left. Only one thread may call it at a time: two
    /// might get the same cells.
    pub fn allocate(&self, cells: usize) -> Option<u32> {
        let mut first = self.next.load(Ordering::Relaxed);
        let end = self.end.load(Ordering::Relaxed);
        if first as usize + cells > end as usize {
            first = self.add_piece(end)?;
        }
        self.next.store(first + cells as u32, Ordering::Relaxed);
        Some(first)
    }

    /// Adds the piece behind the one that ends at `end`; 0 if it is the first. Returns its first number.
    fn add_piece(&self, end: u32) -> Option<u32> {
        let piece = match end.checked_sub(1) {
            Some(last) => place(last).0 + 1,
            None => 0,
        };
        let len = piece_cells(piece)?;
        self.pieces.get(piece)?.get_or_init(|| {
            self.allocated.fetch_add(len, Ordering::Relaxed);
            (0..len).map(|_| Link::new()).collect()
        });
        let first = (piece as u32) << PIECE_SHIFT;
        self.end.store(first + len as u32, Ordering::Relaxed);
        Some(first)
    }

    /// The cells of a piece from `first` on: those allocated together, and what follows. Empty if
    /// `first` was never allocated.
    #[inline]
    pub fn cells(&self, first: u32) -> &[Link] {
        let (piece, at) = place(first);
        let piece = self.pieces.get(piece).and_then(OnceLock::get);
        piece.and_then(|piece| piece.get(at..)).unwrap_or_default()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn pieces_grow_by_a_quarter_at_most() {
        let lens: Vec<usize> = (0..).map_while(piece_cells).collect();
        assert_eq!(lens[..6], [64, 80, 96, 112, 128, 160]);
        assert!(
            lens.iter()
                .zip(&lens[1..])
                .all(|(a, b)| a < b && *b <= a + a / 4)
        );
        assert!(lens.len() == LAST_PIECE + 1 && LAST_PIECE < PIECES);
        assert_eq!(lens[LAST_PIECE], 1 << PIECE_SHIFT);
        assert!(lens[..LAST_PIECE].iter().sum::<usize>() > 150 << 20);
    }

    #[test]
    fn cells_allocated_together_are_neighbours_and_not_shared() {
        let links = Links::new();
        let mut runs = Vec::new();
        for i in 0..20_000u32 {
            let len = 1 + (i as usize * 7) % 15;
            let first = links.allocate(len).unwrap();
            for cell in &links.cells(first)[..len] {
                assert_eq!(cell.next.swap(i + 1, Ordering::Relaxed), 0);
            }
            runs.push((first, len));
        }
        let mut used = 0;
        for (i, (first, len)) in runs.into_iter().enumerate() {
            used += 16 * len;
            let kept = |cell: &Link| cell.next.load(Ordering::Relaxed) == i as u32 + 1;
            assert!(links.cells(first)[..len].iter().all(kept));
        }
        assert!((used..used * 13 / 10).contains(&links.bytes()));
    }

    /// Numbers end: none is given out twice.
    #[test]
    fn nothing_is_allocated_behind_the_last_piece() {
        let links = Links::new();
        let end =
            |piece: usize| ((piece as u32) << PIECE_SHIFT) + piece_cells(piece).unwrap() as u32;
        let stand = |end| {
            links.next.store(end, Ordering::Relaxed);
            links.end.store(end, Ordering::Relaxed);
        };
        assert!(!links.is_nearly_full());
        stand(end(LAST_PIECE - 1));
        assert!(!links.is_nearly_full());
        stand(end(LAST_PIECE));
        assert!(links.is_nearly_full());
        for cells in [1, 12] {
            assert_eq!(links.allocate(cells), None);
            assert_eq!(links.next.load(Ordering::Relaxed), end(LAST_PIECE));
        }
        assert_eq!(links.bytes(), 0);
        assert!(links.cells(end(LAST_PIECE)).is_empty());
    }

    #[test]
    fn cells_never_allocated_are_empty() {
        let links = Links::new();
        assert!(links.cells(0).is_empty() && links.cells(u32::MAX).is_empty());
        assert_eq!(links.allocate(15), Some(0));
        assert_eq!(links.cells(15).len(), FIRST_CELLS - 15);
        assert!(links.cells(FIRST_CELLS as u32).is_empty());
        assert!(links.cells(1 << PIECE_SHIFT).is_empty());
    }

    #[test]
    fn a_cell_takes_a_quarter_of_a_cache_line() {
        assert_eq!(size_of::<Link>(), 16);
    }
}
