//! The separators of a table's blocks, collected while the table is written.

use super::order::Order;
use super::spans::Spans;
use super::strings::Strings;
use crate::kind::Kind;
use crate::search::common_prefix;
use crate::{IndexBuilder, IndexError};

/// Builds `fp`, `fp-raw`, or `rss` over the bounds of blocks.
#[derive(Debug)]
pub(crate) struct FenceBuilder {
    kind: &'static Kind,
    order: Order,
    separators: Separators,
    /// The keys from one separator to the next; 0 if separators are where blocks are cut.
    boundary: u64,
    encode: Encode,
    /// How many keys were pushed in bulk.
    in_bulk: usize,
}

/// The most keys that may be pushed in bulk without a cut: the largest position boundary.
const MOST_UNCUT: usize = 1024;

/// Appends the separators, once checked, to the common header.
type Encode = fn(&Separators, &mut Vec<u8>);

impl FenceBuilder {
    pub(crate) fn new(kind: &'static Kind, cut: Cut, boundary: u64, encode: Encode) -> Self {
        FenceBuilder {
            kind,
            order: Order::default(),
            separators: Separators::new(cut),
            boundary,
            encode,
            in_bulk: 0,
        }
    }
}

impl IndexBuilder for FenceBuilder {
    fn push(&mut self, key: &[u8], _number: u64) -> Result<(), IndexError> {
        if self.boundary > 0 {
            let rank = self.order.check(key)?;
            if rank > 0 && rank.is_multiple_of(self.boundary) {
                self.separators.push(&self.order.last(), key);
            }
        }
        self.order.push(key).map(|_| ())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        if self.boundary > 0 {
            let mut numbers = numbers.iter();
            return numbers.try_for_each(|&number| self.push(&number.to_be_bytes(), number));
        }
        self.in_bulk += numbers.len();
        self.order.push_numbers(numbers).map(|_| ())
    }

    fn push_unseen(&mut self, keys: u64) -> bool {
        self.boundary == 0 && self.order.push_unseen(keys)
    }

    fn trust_order(&mut self) {
        // With a boundary the last key is part of the next separator.
        if self.boundary == 0 {
            self.order.trust();
        }
    }

    fn cut(&mut self, last_key: &[u8], first_key: &[u8]) {
        if self.boundary == 0 {
            self.separators.push(last_key, first_key);
        }
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        if self.in_bulk > MOST_UNCUT && self.separators.len() == 0 {
            return Err(IndexError::Unfit {
                kind: self.kind.name,
                why: format!(
                    "{} keys were pushed but no block boundaries: call `cut` where each block \
                     starts, or build a SortedSet, which does",
                    self.in_bulk
                ),
            });
        }
        self.separators.check(self.kind.name)?;
        let mut out = self.kind.header().to_vec();
        Spans::new(self.boundary, self.order.keys()).encode(&mut out);
        (self.encode)(&self.separators, &mut out);
        Ok(out)
    }
}

/// How much of a block's first key is its separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The shortest prefix of the block's first key that is above the last key before the block.
    Shortest,
    /// The whole first key.
    Whole,
}

/// Ascending separators, concatenated.
#[derive(Debug)]
pub(crate) struct Separators {
    cut: Cut,
    strings: Strings,
    /// The error of the first cut whose keys did not ascend. It is reported at the end because
    /// `cut` returns no result.
    unsorted: Option<IndexError>,
}

impl Separators {
    pub(crate) fn new(cut: Cut) -> Self {
        Separators {
            cut,
            strings: Strings::default(),
            unsorted: None,
        }
    }

    /// Adds the separator between two adjacent keys.
    ///
    /// If they are the same key, whose versions span the cut, the separator is that key with a 0x00
    /// appended, the least string above it. The key itself is then found in the first of its
    /// blocks.
    pub(crate) fn push(&mut self, last: &[u8], first: &[u8]) {
        let len = match self.cut {
            Cut::Shortest => (common_prefix(last, first) + 1).min(first.len()),
            Cut::Whole => first.len(),
        };
        self.strings.push_by(|bytes| {
            bytes.extend_from_slice(first.get(..len).unwrap_or(first));
            if last == first {
                bytes.push(0);
            }
        });
        // The first cut starts block 1.
        let block = self.len();
        let before = block.checked_sub(2).map_or(&[][..], |i| self.get(i));
        let ascends = last <= first && before <= self.get(block - 1);
        if !ascends && self.unsorted.is_none() {
            let block = block as u64;
            self.unsorted = Some(IndexError::UnsortedBlocks { block });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.strings.len()
    }

    /// All separators, concatenated.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.strings.bytes()
    }

    /// Where each separator ends.
    pub(crate) fn ends(&self) -> &[usize] {
        self.strings.ends()
    }

    /// Separator `i`, which stands before block `i + 1`; empty past the end.
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        self.strings.get(i)
    }

    /// Separator `i` without its first `at` bytes.
    pub(crate) fn rest(&self, i: usize, at: usize) -> &[u8] {
        self.strings.rest(i, at)
    }

    /// Fails if the separators do not ascend, or if `u32` cannot count them or their bytes.
    pub(crate) fn check(&self, kind: &'static str) -> Result<(), IndexError> {
        if let Some(unsorted) = &self.unsorted {
            return Err(unsorted.clone());
        }
        let most = u32::MAX as usize;
        // Front coding adds at most 15 bytes of lengths to an entry, and a slot of `rss` takes 24.
        if self
            .bytes()
            .len()
            .saturating_add(self.len().saturating_mul(24))
            > most
        {
            let why = "its separators exceed 4 GiB: write smaller tables or larger blocks";
            return Err(IndexError::Unfit {
                kind,
                why: why.into(),
            });
        }
        Ok(())
    }
}
