//! The contract between an index and the owner of the sorted keys.

use std::fmt::Debug;

use crate::IndexError;
use crate::search::{LINE_BYTES, prefetch_bytes, prefetch_line};

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

/// The position of a key according to an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Models answer with ranks.
    Window(Window),
    /// Fence pointers answer with the number of a block, as counted by [`IndexBuilder::cut`]:
    /// a present key's first entry is in this block; an absent key's lower bound is in it or is
    /// the first entry of the next one.
    Block(u64),
    /// Models of blocks answer with a block, as fence pointers do, and with the slot in it. If the versions of a key go on
    /// through whole blocks, the lower bound of an absent key with the same number may be behind them.
    Slot {
        /// The number of the block, as in [`Position::Block`].
        block: u64,
        /// How many distinct keys come before the key in this block according to the model, less than the block holds. Whoever
        /// stores the blocks knows by how much it may be wrong: [`IndexBuilder::expected_slots`].
        slot: u64,
    },
}

/// A key to look up, with its number under the table's key map.
///
/// `number` is ignored by kinds whose [`Index::needs_number`] is false; pass 0 for them.
#[derive(Debug, Clone, Copy)]
pub struct Probe<'a> {
    /// The whole user key.
    pub key: &'a [u8],
    /// The key's number under the map that numbered the table's keys.
    pub number: u64,
}

/// Rows of several blocks are prefetched if they take less than so many bytes.
const FEW_ROW_BYTES: usize = 4 * LINE_BYTES;

/// A row that the owner of a table keeps for each of its blocks, such as where the block is in memory. Whoever will read that of the
/// block in an answer lends all to [`Index::locate_beside`].
#[derive(Debug, Clone, Copy)]
pub struct BlockRows {
    /// The row of block 0, which is only ever prefetched.
    start: *const u8,
    /// Bytes of a row; 0 if there are none.
    width: usize,
}

impl BlockRows {
    /// No rows.
    pub const NONE: BlockRows = BlockRows {
        start: std::ptr::null(),
        width: 0,
    };

    /// The rows of consecutive blocks, of which the index counts the first one as `first`.
    #[inline]
    pub fn new<T>(rows: &[T], first: u64) -> BlockRows {
        let start = rows.as_ptr().wrapping_sub(first as usize);
        BlockRows {
            start: start.cast(),
            width: size_of::<T>(),
        }
    }

    /// Prefetches the rows of the blocks from `first` to `last`, if they are few.
    #[inline]
    pub(crate) fn prefetch(self, first: usize, last: usize) {
        let bytes = last.wrapping_sub(first).wrapping_mul(self.width);
        if self.width == 0 || bytes >= FEW_ROW_BYTES {
            return;
        }
        let row = |block: usize| self.start.wrapping_add(block.wrapping_mul(self.width));
        prefetch_line(row(first));
        prefetch_line(row(last));
        if bytes > LINE_BYTES {
            prefetch_bytes(row(first), bytes);
        }
    }
}

/// A closed segment of a model, returned while keys are still being pushed, so that a table writer
/// can place entries where the model predicts them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosedSegment {
    /// First rank that the segment covers.
    pub first_rank: u64,
    /// How many ranks it covers; segments are contiguous.
    pub ranks: u64,
}

/// A straight piece of a model: see [`Index::bands`].
///
/// For a number `n` of the piece the model predicts the rank `first_rank + slope (n - first_number) + offset`, kept to the ranks
/// of the piece and rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// The number of its first key.
    pub first_number: u64,
    /// The rank of that key.
    pub first_rank: u64,
    /// How many ranks it covers, at least 1.
    pub ranks: u64,
    /// Ranks for each number, at least 0.
    pub slope: f64,
    /// The prediction for the first number less the first rank.
    pub offset: f64,
    /// The largest distance of a rounded prediction from the first rank of a number, in ranks.
    pub error: u64,
    /// The most keys that share a number, at least 1.
    pub run: u64,
}

/// An index over one sorted table, read from its byte form.
///
/// Ranks count the *distinct* user keys of one sorted table, from 0. For a key that is in the
/// table, its rank is in `lo..hi` of its [`Window`]. For any other key, the rank of the first key
/// above it (its lower bound) is in `lo..=hi`. [`crate::check`] tests these two sentences.
pub trait Index: Debug + Send + Sync {
    /// The name of the kind in the registry.
    fn kind(&self) -> &'static str;

    /// Whether [`Probe::number`] is used. If not, callers may skip the key map.
    fn needs_number(&self) -> bool;

    /// The position of a key; see the trait's docs and [`Position`] for the guarantee.
    fn locate(&self, probe: Probe<'_>) -> Position;

    /// As [`Index::locate`], for a caller that reads the row of the block in the answer next: kinds that know early that it will be
    /// one of a few blocks prefetch the rows of these, so that memory answers while they look for the right one.
    fn locate_beside(&self, probe: Probe<'_>, rows: BlockRows) -> Position {
        let _ = rows;
        self.locate(probe)
    }

    /// Brings closer to the processor what [`Index::locate`] will read for a probe, and changes nothing but the time that it
    /// takes. Step 0 asks for what is read first, step 1 for what that leads to, which waits for step 0. So whoever has
    /// many probes asks for step 0 of all, then for step 1 of all, and then locates each. Kinds that gain nothing by it
    /// do nothing.
    fn prefetch(&self, probe: Probe<'_>, step: usize) {
        let _ = (probe, step);
    }

    /// The window of a number, for the kinds that need a number and no key and answer with windows: the answer of
    /// [`Index::locate`]. It is returned in registers, which speeds up consecutive look-ups.
    ///
    /// Other kinds have no window of a number. They return all ranks, `0..u64::MAX`, which is correct but
    /// useless: those for which [`Index::needs_number`] is false, and those that answer with slots.
    fn window(&self, number: u64) -> Window {
        let everywhere = Window {
            lo: 0,
            hi: u64::MAX,
        };
        match self.needs_number() {
            true => match self.locate(Probe { key: &[], number }) {
                Position::Window(window) => window,
                Position::Block(_) | Position::Slot { .. } => everywhere,
            },
            false => everywhere,
        }
    }

    /// The model's estimate of a number's first rank: monotone in `number`, clamped to the ranks of
    /// the segment that holds it. `None` for kinds without a model and without keys.
    fn predict(&self, number: u64) -> Option<u64>;

    /// The straight pieces of the model, in order, so that it can be [joined](crate::join) with those of other tables. Together
    /// they cover all ranks. Empty for kinds that are not made of such pieces. Takes time and memory linear in the pieces.
    fn bands(&self) -> Vec<Band> {
        Vec::new()
    }

    /// An upper bound of all answers: the number of keys for windows, which end at or below it, and
    /// the number of blocks for blocks, which are below it. A reader compares it with the table's
    /// own count when opening it, so that a damaged index cannot point outside the table.
    fn extent(&self) -> u64;

    /// The widest window that [`Index::locate`] can return; 0 if it returns blocks.
    fn widest_window(&self) -> u64;

    /// The whole memory footprint in bytes, counted in the same way for every kind. The key map,
    /// which several tables may share, is counted separately: [`crate::KeyMap::size_in_bytes`].
    fn size_in_bytes(&self) -> usize;
}

/// Builds the byte form of an index from sorted keys.
pub trait IndexBuilder: Debug + Send {
    /// Adds the next distinct user key; its rank is the number of keys pushed before it.
    ///
    /// # Errors
    /// If the keys or their numbers do not ascend.
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError>;

    /// Adds keys that are integers of 8 big-endian bytes with themselves as numbers. Equivalent to
    /// pushing each with its bytes, but faster. After [`IndexBuilder::trust_order`], a kind that is
    /// searched by numbers also takes the numbers of any other keys.
    ///
    /// Fence pointers and models of blocks need cuts here too: for fence pointers over more than 1,024 numbers without any cut,
    /// [`IndexBuilder::finish`] returns an error instead of making a single block.
    ///
    /// # Errors
    /// If the numbers do not ascend, or two are equal: indexes are over distinct keys.
    /// [`crate::SortedSet`] accepts equal ones.
    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        let mut numbers = numbers.iter();
        numbers.try_for_each(|&number| self.push(&number.to_be_bytes(), number))
    }

    /// Adds so many distinct keys that the caller has in order, if the kind need not know them: fence pointers at cuts count them. Returns
    /// whether it has; if not, none was added, and they have to be pushed.
    fn push_unseen(&mut self, keys: u64) -> bool {
        let _ = keys;
        false
    }

    /// States that the caller has checked the order of all keys, so that kinds which are searched by
    /// numbers need not remember and compare keys. Whether numbers ascend is still checked. Call it
    /// before the first key. [`IndexBuilder::push_numbers`] then takes the numbers of any keys: each
    /// call distinct ones, of which the first may be that of the key before it.
    fn trust_order(&mut self) {}

    /// Starts a new block with `first_key`; the block before it ended with `last_key`. Called for
    /// every block but the first, in order. Both keys are equal if the versions of one user key
    /// continue in the next block. Cuts may be called later than the pushes of their keys, but for kinds that answer with
    /// slots: these need each cut before the first new key behind it.
    fn cut(&mut self, last_key: &[u8], first_key: &[u8]) {
        let _ = (last_key, first_key);
    }

    /// How many of the next distinct keys, with these ascending numbers, one block may hold so that the model of the block is as
    /// exact as was asked for: at least one, if there is one. That block is the next one: those before it have got all of their
    /// keys.
    fn admits(&self, numbers: &[u64]) -> usize {
        numbers.len()
    }

    /// Appends the slot in which the index will expect each key of the open block, if no more keys join it: of the keys pushed
    /// since the last cut. Kinds that do not answer with slots append nothing.
    fn expected_slots(&mut self, slots: &mut Vec<u64>) {
        let _ = slots;
    }

    /// Whether all keys of a table are in one segment, because the model is trained when all of them
    /// are known. [`IndexBuilder::close_segment`] trains it at the end of the table; a key behind it
    /// makes the builder unfit. Whoever places entries by such a model has to hold all of them until
    /// then. Other builders close segments while keys are pushed, or have none.
    fn closes_once(&self) -> bool {
        false
    }

    /// Moves the segments closed since the last call into `closed`, in order. Placement by the
    /// model then uses [`IndexBuilder::predict_closed`].
    fn take_closed(&mut self, closed: &mut Vec<ClosedSegment>) {
        let _ = closed;
    }

    /// Appends the future answers of [`Index::predict`] for ascending numbers inside closed segments,
    /// computed with exactly the same arithmetic, up to the first number that is not yet in a closed
    /// segment. Kinds without a model append nothing. Takes time linear in the numbers and in the
    /// segments from that of the first number to that of the last.
    fn predict_closed(&self, numbers: &[u64], predicted: &mut Vec<u64>) {
        let _ = (numbers, predicted);
    }

    /// Ends the table and returns the byte form. Call [`IndexBuilder::close_segment`] and
    /// [`IndexBuilder::take_closed`] before it to get the last segment.
    ///
    /// # Errors
    /// If the builder cannot keep its guarantee for these keys, for instance because more keys than
    /// the position boundary less 3 share a number. The caller should then fall back to fence
    /// pointers.
    fn finish(self: Box<Self>) -> Result<Vec<u8>, IndexError>;

    /// Closes the open segment, if any, so that its entries can be placed: at the end of a table,
    /// before [`IndexBuilder::finish`], or if too many entries wait and not
    /// [`IndexBuilder::closes_once`]. Must not be called between keys that share a number: the next
    /// key with the last number would make the builder unfit.
    fn close_segment(&mut self) {}

    /// Whether it is already known that [`IndexBuilder::finish`] will return [`IndexError::Unfit`],
    /// so that a writer can end the table and use fence pointers.
    fn is_unfit(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are prefetched wherever an answer may lead, also where there are none: a damaged index may count any block.
    #[test]
    fn any_blocks_may_be_prefetched() {
        let rows = [7_u32; 100];
        for first in [0, 1_000, u64::MAX] {
            let rows = BlockRows::new(&rows, first);
            for (first, last) in [(0, 0), (90, 120), (5, 4), (0, usize::MAX), (usize::MAX, 9)] {
                rows.prefetch(first, last);
                BlockRows::NONE.prefetch(first, last);
            }
        }
    }
}
