//! The form of a sorted run: pages of cells of the same width.
//!
//! ```text
//! page 0   "rhumbRun", shortest key u32, longest u32, shortest value u32, longest u32, pairs u64   (little-endian)
//! page     cell*, as many as fit
//! cell     key, value; where lengths differ key length u16, value length u16 before them and zeros behind each
//! ```
//!
//! Pairs of 8 bytes each stand 256 to a page, as published, and keys of 8 bytes with the pointers of the lab's value log
//! 170.

use super::paged::{PAGE, PagedFile};
use crate::error::Result;

const MAGIC: &[u8; 8] = b"rhumbRun";
/// Bytes before the key where lengths differ.
const LENGTHS: usize = 4;

/// The lengths of the keys and of the values of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Widths {
    keys: Lengths,
    values: Lengths,
}

/// The shortest and the longest of some lengths; no shortest one if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Lengths {
    shortest: Option<u32>,
    longest: u32,
}

impl Lengths {
    fn add(&mut self, length: u32) {
        self.shortest = Some(self.shortest.map_or(length, |known| known.min(length)));
        self.longest = self.longest.max(length);
    }

    fn join(&mut self, other: Lengths) {
        if let Some(shortest) = other.shortest {
            self.add(shortest);
            self.add(other.longest);
        }
    }

    fn are_equal(self) -> bool {
        self.shortest
            .is_none_or(|shortest| shortest == self.longest)
    }
}

impl Widths {
    /// Makes room for a pair.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        self.keys.add(key.len() as u32);
        self.values.add(value.len() as u32);
    }

    /// Makes room for what others have room for.
    pub fn join(&mut self, other: Widths) {
        self.keys.join(other.keys);
        self.values.join(other.values);
    }

    /// Whether a pair has the lengths that all have.
    pub fn are_those_of(&self, key: &[u8], value: &[u8]) -> bool {
        let mut with = *self;
        with.add(key, value);
        !self.differ() && with == *self
    }

    /// Whether all keys are 8 bytes.
    pub fn have_keys_of_eight(&self) -> bool {
        self.keys.are_equal() && self.keys.longest == 8
    }

    fn differ(&self) -> bool {
        !self.keys.are_equal() || !self.values.are_equal()
    }

    /// Bytes of a cell.
    pub fn cell(&self) -> usize {
        let lengths = if self.differ() { LENGTHS } else { 0 };
        lengths + self.keys.longest as usize + self.values.longest as usize
    }

    /// Cells in a page.
    pub fn per_page(&self) -> usize {
        (PAGE / self.cell().max(1)).max(1)
    }

    /// Writes a pair into a cell.
    pub fn encode(&self, key: &[u8], value: &[u8], cell: &mut [u8]) -> Option<()> {
        cell.fill(0);
        let start = match self.differ() {
            true => {
                cell.get_mut(..2)?
                    .copy_from_slice(&(key.len() as u16).to_le_bytes());
                cell.get_mut(2..4)?
                    .copy_from_slice(&(value.len() as u16).to_le_bytes());
                LENGTHS
            }
            false => 0,
        };
        let end = start + self.keys.longest as usize;
        cell.get_mut(start..start + key.len())?.copy_from_slice(key);
        cell.get_mut(end..end + value.len())?.copy_from_slice(value);
        Some(())
    }

    /// The pair of the cell at a place of a page.
    pub fn decode<'a>(&self, page: &'a [u8], at: usize) -> Option<(&'a [u8], &'a [u8])> {
        let width = self.cell();
        let cell = page.get(at * width..(at + 1) * width)?;
        let (mut key, mut value) = (self.keys.longest as usize, self.values.longest as usize);
        let mut body = cell;
        let end = key;
        if self.differ() {
            let (lengths, rest) = cell.split_first_chunk::<LENGTHS>()?;
            key = u16::from_le_bytes([lengths[0], lengths[1]]).into();
            value = u16::from_le_bytes([lengths[2], lengths[3]]).into();
            body = rest;
        }
        Some((body.get(..key)?, body.get(end..end + value)?))
    }

    /// The first page of a run with this many pairs.
    pub fn header(&self, pairs: u64) -> Vec<u8> {
        let lengths = [self.keys, self.values]
            .map(|lengths| [lengths.shortest.unwrap_or_default(), lengths.longest]);
        let mut page = MAGIC.to_vec();
        lengths
            .as_flattened()
            .iter()
            .for_each(|length| page.extend(length.to_le_bytes()));
        page.extend(pairs.to_le_bytes());
        page
    }

    /// Reads the first page of a run: the widths, and the number of pairs.
    ///
    /// # Errors
    /// If it is none, or the file has not as many pages as it says.
    pub fn of_header(page: &[u8], file: &PagedFile) -> Result<(Widths, u64)> {
        let damaged = |found: &str| file.damaged("a run of the lab", found.to_string());
        let rest = page.strip_prefix(MAGIC);
        let rest = rest.ok_or_else(|| damaged("it begins otherwise"))?;
        let field = |at: usize| {
            let four = rest.get(4 * at..).and_then(<[u8]>::first_chunk);
            four.map_or(0, |four| u32::from_le_bytes(*four))
        };
        let pairs = u64::from(field(4)) | u64::from(field(5)) << 32;
        let lengths = |shortest: u32, longest: u32| Lengths {
            shortest: (pairs > 0).then_some(shortest),
            longest,
        };
        let widths = Widths {
            keys: lengths(field(0), field(1)),
            values: lengths(field(2), field(3)),
        };
        let longest = u64::from(field(1)) + u64::from(field(3));
        if longest + LENGTHS as u64 > PAGE as u64 {
            return Err(damaged("its pairs are longer than a page"));
        }
        if file.pages()? <= pairs.div_ceil(widths.per_page() as u64) {
            return Err(damaged("it is shorter than its first page says"));
        }
        Ok((widths, pairs))
    }
}
