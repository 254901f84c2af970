//! The set of bytes that stored keys have at a position.

/// A set of byte values, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ByteSet(pub(super) [u64; 4]);

impl ByteSet {
    pub(super) fn of(byte: u8) -> Self {
        let mut set = ByteSet::default();
        set.insert(byte);
        set
    }

    /// Adds a byte; returns whether it is new.
    pub(super) fn insert(&mut self, byte: u8) -> bool {
        let word = &mut self.0[usize::from(byte >> 6)];
        let bit = 1u64 << (byte & 63);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub(super) fn unite(&mut self, other: &ByteSet) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    pub(super) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The smallest byte, if there is one.
    pub(super) fn min(&self) -> Option<u8> {
        (0..=u8::MAX).find(|&byte| self.contains(byte))
    }

    /// The largest byte, if there is one.
    pub(super) fn max(&self) -> Option<u8> {
        (0..=u8::MAX).rev().find(|&byte| self.contains(byte))
    }
}

/// A byte set prepared for mapping keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// Every byte of `lo..=hi`; the rank is a subtraction.
    Range { lo: u8, hi: u8 },
    /// Any other set.
    Set(Box<Ranks>),
}

/// A byte set that is not a range, with the rank of each byte: a look-up takes one load for each
/// digit, while counting bits would take twice the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ranks {
    pub(super) set: ByteSet,
    /// How many bytes of the set are below each byte: at most 255, since the set of all 256 bytes
    /// is a range.
    below: [u8; 256],
}

impl Alphabet {
    /// The cheapest exact form of a set, `None` if it is empty.
    ///
    /// A range is used only if it adds no byte: widening a set would make a union depend on the
    /// order in which it was formed.
    pub(super) fn new(set: ByteSet) -> Option<Self> {
        let (lo, hi) = (set.min()?, set.max()?);
        if u32::from(hi - lo) + 1 == set.len() {
            return Some(Alphabet::Range { lo, hi });
        }
        let mut below = [0; 256];
        let mut count = 0;
        for (byte, rank) in (0..=u8::MAX).zip(below.iter_mut()) {
            *rank = count;
            count += u8::from(set.contains(byte));
        }
        Some(Alphabet::Set(Box::new(Ranks { set, below })))
    }

    /// How many bytes it holds: 1 to 256.
    pub(super) fn len(&self) -> u32 {
        match self {
            Alphabet::Range { lo, hi } => u32::from(hi - lo) + 1,
            Alphabet::Set(ranks) => ranks.set.len(),
        }
    }

    /// How many of its bytes are below `byte`, and whether `byte` is one of them.
    #[inline]
    pub(super) fn rank(&self, byte: u8) -> (u32, bool) {
        match self {
            Alphabet::Range { lo, hi } => {
                let below = byte.clamp(*lo, *hi) - lo;
                (
                    u32::from(below) + u32::from(byte > *hi),
                    (*lo..=*hi).contains(&byte),
                )
            }
            Alphabet::Set(ranks) => (
                u32::from(ranks.below[usize::from(byte)]),
                ranks.set.contains(byte),
            ),
        }
    }

    /// The memory footprint in bytes.
    pub(super) fn size_in_bytes(&self) -> usize {
        let table = match self {
            Alphabet::Range { .. } => 0,
            Alphabet::Set(_) => size_of::<Ranks>(),
        };
        size_of::<Self>() + table
    }

    /// The plain set.
    pub(super) fn to_set(&self) -> ByteSet {
        match self {
            Alphabet::Range { lo, hi } => {
                let mut set = ByteSet::default();
                (*lo..=*hi).for_each(|byte| {
                    set.insert(byte);
                });
                set
            }
            Alphabet::Set(ranks) => ranks.set,
        }
    }
}
