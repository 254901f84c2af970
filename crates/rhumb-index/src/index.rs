//! The contract between an index and whoever keeps the sorted keys.

use std::fmt::Debug;

use crate::IndexError;

/// An interval of ranks, `hi` excluded, that an index returns for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First rank that may hold the key.
    pub lo: u64,
    /// One past the last rank that may hold the key.
    pub hi: u64,
}

impl Window {
    /// How many ranks the window holds.
    pub fn len(&self) -> u64 {
        self.hi.saturating_sub(self.lo)
    }

    /// Whether the window holds no rank at all.
    pub fn is_empty(&self) -> bool {
        self.hi <= self.lo
    }
}

/// Where an index says that a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Models answer with ranks.
    Window(Window),
    /// Fence pointers answer with the number of a block, as counted by [`IndexBuilder::cut`]:
    /// a present key's first entry is in this block; an absent key's lower bound is in it or is
    /// the first entry of the next one.
    Block(u64),
}

/// A key to look up, with its number under the table's key map.
///
/// `number` is ignored by kinds whose [`Index::needs_number`] is false; pass 0 there.
#[derive(Debug, Clone, Copy)]
pub struct Probe<'a> {
    /// The whole user key.
    pub key: &'a [u8],
    /// The key's number under the map that numbered the table's keys.
    pub number: u64,
}

/// A closed piece of a model, handed out while the keys still stream in, so that a table writer
/// can place entries by what the model predicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosedSegment {
    /// First rank that the segment covers.
    pub first_rank: u64,
    /// How many ranks it covers; segments follow each other without a gap.
    pub ranks: u64,
}

/// An index over one sorted table, used from its byte form.
///
/// Ranks count *distinct* user keys of one sorted table, from 0. For a key that is in the table, its
/// rank is in `lo..hi` of its [`Window`]. For any other key, the rank of the first key above it (its
/// lower bound) is in `lo..=hi`. [`crate::check`] tries to break exactly these two sentences.
pub trait Index: Debug + Send + Sync {
    /// The name under which the registry knows this kind.
    fn kind(&self) -> &'static str;

    /// Whether [`Probe::number`] matters. Callers may skip the key map where it does not.
    fn needs_number(&self) -> bool;

    /// Where the key stands, as promised above and at [`Position`].
    fn locate(&self, probe: Probe<'_>) -> Position;

    /// Where a number is, for the kinds that need a number and no key: what [`Index::locate`] answers. It
    /// is passed in registers, which look-ups that follow each other gain from.
    ///
    /// Other kinds know nothing of numbers. They answer with every rank there may be, `0..u64::MAX`, which
    /// is true and useless: [`Index::needs_number`] tells them apart.
    fn window(&self, number: u64) -> Window {
        let everywhere = Window {
            lo: 0,
            hi: u64::MAX,
        };
        match self.needs_number() {
            true => match self.locate(Probe { key: &[], number }) {
                Position::Window(window) => window,
                Position::Block(_) => everywhere,
            },
            false => everywhere,
        }
    }

    /// The model's own estimate of a number's first rank: monotone in `number`, clamped to the
    /// ranks of the segment that holds it. `None` for kinds without a model and for no keys.
    fn predict(&self, number: u64) -> Option<u64>;

    /// What no answer goes beyond: windows end at or below it (it is the number of keys), blocks
    /// are below it (it is the number of blocks). A reader compares it with the table's own count
    /// at open, so that a damaged index cannot point outside the table.
    fn extent(&self) -> u64;

    /// The widest window that [`Index::locate`] can return, or 0 where it returns blocks.
    fn widest_window(&self) -> u64;

    /// The whole memory footprint in bytes, counted alike for every kind. The key map, which
    /// several tables may share, counts by itself: [`crate::KeyMap::size_in_bytes`].
    fn size_in_bytes(&self) -> usize;
}

/// Builds the byte form of an index from sorted keys.
pub trait IndexBuilder: Debug + Send {
    /// Adds the next distinct user key; its rank is the number of keys pushed before it.
    ///
    /// # Errors
    /// If the keys or their numbers do not ascend.
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError>;

    /// Adds keys that are integers of 8 big-endian bytes, which stand for themselves as numbers: as
    /// if each were pushed with its bytes, in less time.
    ///
    /// Fence pointers need cuts here too: of more than 1,024 numbers without any,
    /// [`IndexBuilder::finish`] makes no single block, but an error.
    ///
    /// # Errors
    /// If they do not ascend, or two are equal: indexes count distinct keys. [`crate::SortedSet`] takes
    /// equal ones.
    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        let mut numbers = numbers.iter();
        numbers.try_for_each(|&number| self.push(&number.to_be_bytes(), number))
    }

    /// Tells that a new block starts with `first_key`, the block before it having ended with
    /// `last_key`. Called for every block but the first, in order. Both keys are equal where the
    /// versions of one user key continue in the next block. Cuts may lag behind the pushes.
    fn cut(&mut self, last_key: &[u8], first_key: &[u8]) {
        let _ = (last_key, first_key);
    }

    /// Moves the segments closed since the last call into `closed`, in order. Placement by the
    /// model uses [`IndexBuilder::predict_closed`] on them.
    fn take_closed(&mut self, closed: &mut Vec<ClosedSegment>) {
        let _ = closed;
    }

    /// What [`Index::predict`] will answer for a number inside an already closed segment, by
    /// exactly the same arithmetic. `None` for kinds without a model and for numbers at or above
    /// the first one that is not yet in a closed segment.
    fn predict_closed(&self, number: u64) -> Option<u64> {
        let _ = number;
        None
    }

    /// Ends the table and gives the byte form. After this call [`IndexBuilder::take_closed`]
    /// has nothing more to give: the last segment is closed by [`IndexBuilder::close_segment`].
    ///
    /// # Errors
    /// If the builder cannot keep its promise for these keys (for instance because more of them
    /// than the position boundary less 3 share a number): the caller then falls back to fence
    /// pointers.
    fn finish(self: Box<Self>) -> Result<Vec<u8>, IndexError>;

    /// Closes the open segment, if any, so that its entries can be placed: at the end of a table,
    /// before [`IndexBuilder::finish`], or where too many entries wait. A number must not go on
    /// after it: a key with the number of the last one makes the builder unfit.
    fn close_segment(&mut self) {}

    /// Whether it is already known that [`IndexBuilder::finish`] will say
    /// [`IndexError::Unfit`], so that a writer can end the table and turn to fence pointers.
    fn is_unfit(&self) -> bool {
        false
    }
}
