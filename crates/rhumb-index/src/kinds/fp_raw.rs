//! Fence pointers as published systems keep them: each block's whole first key.
//!
//! Kept for comparisons; [`super::fp`] answers alike and is smaller.
//!
//! Byte form, version 1, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  S, number of separators: the table has S + 1 blocks
//!      8     4  B, bytes of all separators
//!     12    4S  where each separator ends, in the separators' bytes
//!            B  separators, end to end
//! ```
//!
//! A separator is a block's first key, or that key and a 0x00 where its versions began in the
//! block before.

use super::order::Order;
use super::separators::{Cut, Separators};
use crate::bytes::{Reader, u32_of};
use crate::registry::{HEADER, Kind};
use crate::{Index, IndexBuilder, IndexError, Position, Probe};

pub(crate) const KIND: Kind = Kind {
    name: "fp-raw",
    id: 2,
    about: "fence pointers: whole first keys, as in LevelDB's index block without restarts",
    knobs: &[],
    needs_number: false,
    version: 1,
    builder: |_| {
        Box::new(FpRawBuilder {
            order: Order::default(),
            separators: Separators::new(Cut::Whole),
        })
    },
    open: |bytes| Ok(Box::new(FpRaw::open(bytes)?)),
};

#[derive(Debug)]
struct FpRawBuilder {
    order: Order,
    separators: Separators,
}

impl IndexBuilder for FpRawBuilder {
    fn push(&mut self, key: &[u8], _number: u64) -> Result<(), IndexError> {
        self.order.push(key).map(|_| ())
    }

    fn cut(&mut self, last_key: &[u8], first_key: &[u8]) {
        self.separators.push(last_key, first_key);
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        let separators = &self.separators;
        separators.check(KIND.name)?;
        let (mut ends, mut keys) = (Vec::new(), Vec::new());
        for i in 0..separators.len() {
            keys.extend_from_slice(separators.get(i));
            ends.extend((keys.len() as u32).to_le_bytes());
        }
        let mut out = KIND.header().to_vec();
        out.extend((separators.len() as u32).to_le_bytes());
        out.extend((keys.len() as u32).to_le_bytes());
        out.extend(ends);
        out.extend(keys);
        Ok(out)
    }
}

/// Whole first keys, used from their bytes.
#[derive(Debug)]
struct FpRaw {
    bytes: Vec<u8>,
    separators: usize,
}

/// Where the column of ends starts.
const ENDS_AT: usize = HEADER + 8;

impl FpRaw {
    fn open(bytes: Vec<u8>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(HEADER)?;
        let (separators, length) = (reader.length()?, reader.length()?);
        let ends = reader.take(separators.saturating_mul(4))?;
        reader.take(length)?;
        reader.end()?;
        let mut all = (0..separators).map(|i| u32_of(ends, i) as usize);
        if !all.clone().is_sorted() || all.next_back().unwrap_or(0) != length {
            return Err(reader.damaged(format!("ends that ascend to {length}"), "others"));
        }
        Ok(FpRaw { separators, bytes })
    }

    /// The separator before block `i + 1`, empty beyond the end.
    fn separator(&self, i: usize) -> &[u8] {
        let keys_at = ENDS_AT + self.separators * 4;
        let ends = self.bytes.get(ENDS_AT..keys_at).unwrap_or_default();
        let keys = self.bytes.get(keys_at..).unwrap_or_default();
        let start = i
            .checked_sub(1)
            .map_or(0, |before| u32_of(ends, before) as usize);
        keys.get(start..u32_of(ends, i) as usize)
            .unwrap_or_default()
    }
}

impl Index for FpRaw {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn needs_number(&self) -> bool {
        KIND.needs_number
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        let (mut lo, mut hi) = (0, self.separators);
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            if self.separator(middle) <= probe.key {
                lo = middle + 1;
            } else {
                hi = middle;
            }
        }
        Position::Block(lo as u64)
    }

    fn predict(&self, _number: u64) -> Option<u64> {
        None
    }

    fn extent(&self) -> u64 {
        self.separators as u64 + 1
    }

    fn widest_window(&self) -> u64 {
        0
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}
