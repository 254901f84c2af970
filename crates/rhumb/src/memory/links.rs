//! The links of one memtable: 32-bit atomic words that are found by number and never move.

use std::sync::OnceLock;

use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Words are kept in pieces, four to each doubling of their number, so that at most a fifth of the
/// allocated words is unused. The leading bits of a word's number (plus `FIRST_WORDS`) give its
/// piece and the other bits its place in the piece, as in a floating-point number with two bits of
/// mantissa.
const FIRST_WORDS: u32 = if cfg!(loom) { 64 } else { 1024 };
const PIECES: usize = 4 * (u32::BITS - FIRST_WORDS.ilog2()) as usize;

/// Words that are allocated from the front; new ones hold 0.
pub(crate) struct Links {
    pieces: [OnceLock<Box<[AtomicU32]>>; PIECES],
    used: AtomicU32,
    allocated: AtomicUsize,
}

/// The piece of a word, its place in the piece, and the piece's length; `None` past the last piece.
fn place(number: u32) -> Option<(usize, usize, usize)> {
    let shifted = number.checked_add(FIRST_WORDS)?;
    let bits = shifted.ilog2() - 2;
    let piece = 4 * (bits + 2 - FIRST_WORDS.ilog2()) + ((shifted >> bits) & 3);
    let at = shifted & ((1 << bits) - 1);
    Some((piece as usize, at as usize, 1 << bits))
}

impl Links {
    /// Without words; allocates nothing yet.
    pub fn new() -> Self {
        Links {
            pieces: [const { OnceLock::new() }; PIECES],
            used: AtomicU32::new(0),
            allocated: AtomicUsize::new(0),
        }
    }

    /// Bytes allocated for words.
    pub fn bytes(&self) -> usize {
        self.allocated.load(Ordering::Relaxed) * size_of::<AtomicU32>()
    }

    /// Allocates `words` neighbouring words, at most a quarter of `FIRST_WORDS`, and returns the
    /// number of the first; `None` if no numbers are left. Only one thread may call it at a time:
    /// two might get the same words.
    pub fn allocate(&self, words: usize) -> Option<u32> {
        let mut first = self.used.load(Ordering::Relaxed);
        let (mut piece, at, len) = place(first)?;
        if at + words > len {
            first = first.checked_add((len - at) as u32)?;
            piece += 1;
        }
        let (_, _, len) = place(first)?;
        self.pieces.get(piece)?.get_or_init(|| {
            self.allocated.fetch_add(len, Ordering::Relaxed);
            (0..len).map(|_| AtomicU32::new(0)).collect()
        });
        let used = first.checked_add(words as u32)?;
        self.used.store(used, Ordering::Relaxed);
        Some(first)
    }

    /// The words of a piece from `first` on: those allocated together, and what follows. Empty if
    /// `first` was never allocated.
    #[inline]
    pub fn words(&self, first: u32) -> &[AtomicU32] {
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
        let last = u32::MAX - FIRST_WORDS;
        assert_eq!(place(last), Some((PIECES - 1, (1 << 29) - 1, 1 << 29)));
        assert_eq!(place(last + 1), None);
    }

    #[test]
    fn words_allocated_together_are_neighbours_and_not_shared() {
        let links = Links::new();
        let mut runs = Vec::new();
        for i in 0..20_000u32 {
            let len = 1 + (i as usize * 7) % 15;
            let first = links.allocate(len).unwrap();
            for word in &links.words(first)[..len] {
                assert_eq!(word.swap(i + 1, Ordering::Relaxed), 0);
            }
            runs.push((first, len));
        }
        let mut used = 0;
        for (i, (first, len)) in runs.into_iter().enumerate() {
            used += 4 * len;
            let kept = |word: &AtomicU32| word.load(Ordering::Relaxed) == i as u32 + 1;
            assert!(links.words(first)[..len].iter().all(kept));
        }
        assert!((used..used * 13 / 10).contains(&links.bytes()));
    }

    #[test]
    fn words_never_allocated_are_empty() {
        let links = Links::new();
        assert!(links.words(0).is_empty() && links.words(u32::MAX).is_empty());
        assert_eq!(links.allocate(15), Some(0));
        assert!(links.words(15).len() < FIRST_WORDS as usize);
        assert!(links.words(FIRST_WORDS).is_empty());
    }
}
