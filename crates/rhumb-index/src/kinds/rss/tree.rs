//! Looks keys up in the nodes, which are used from their bytes.

use std::cmp::Ordering;

use super::{CHUNK, KIND, NODE_HEADER, NODES_AT, WIDE, goes_on};
use crate::bytes::{Reader, take_varint, u16_of, u32_of};
use crate::kind::HEADER;
use crate::kinds::shared::front;
use crate::search::{first_eight, last_not_above};
use crate::{ByteForm, Index, IndexError, Position, Probe};

/// A tree of chunks over separators.
#[derive(Debug)]
pub(super) struct Rss<'a> {
    bytes: ByteForm<'a>,
    separators: usize,
}

/// A node: its fields, and its columns.
struct Node<'a> {
    /// The first separator that it covers, and how many.
    first: usize,
    count: usize,
    prefix: &'a [u8],
    /// The prefix and what follows, at least 8 bytes.
    from_prefix: &'a [u8],
    chunks: &'a [[u8; CHUNK]],
    starts: &'a [u8],
    /// Where the record of each slot begins among the records, plus 1; 0 if there is none.
    places: &'a [u8],
    wide: bool,
    records: &'a [u8],
}

/// Where a look-up goes on.
enum Step {
    /// Nowhere: so many separators are not above the key.
    Ends(usize),
    /// In the node at this place, behind so many bytes.
    Down(usize, usize),
}

impl<'a> Rss<'a> {
    pub(super) fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(HEADER)?;
        let (separators, length) = (reader.length()?, reader.length()?);
        let nodes = reader.take(length)?;
        reader.end()?;
        if (separators == 0) != nodes.is_empty() {
            let expected = format!("nodes over {separators} separators");
            return Err(reader.damaged_at(NODES_AT, expected, format!("{length} bytes")));
        }
        Ok(Rss { separators, bytes })
    }

    fn nodes(&self) -> &[u8] {
        self.bytes.get(NODES_AT..).unwrap_or_default()
    }

    /// The node at a place; `None` if the bytes are damaged there.
    #[inline]
    fn node(&self, place: usize) -> Option<Node<'_>> {
        let (header, from_prefix) = self.nodes().get(place..)?.split_at_checked(NODE_HEADER)?;
        let (prefix, flags) = (u16_of(header, 6), u16_of(header, 7));
        let slots = u32_of(header, 2) as usize;
        let wide = flags & WIDE != 0;
        let width = if wide { 4 } else { 2 };
        let (prefix, rest) = from_prefix.split_at_checked(prefix.into())?;
        let (chunks, rest) = rest.split_at_checked(slots.checked_mul(CHUNK)?)?;
        let (starts, rest) = rest.split_at_checked(slots.checked_mul(width)?)?;
        let (places, records) = rest.split_at_checked(starts.len())?;
        Some(Node {
            first: u32_of(header, 0) as usize,
            count: u32_of(header, 1) as usize,
            prefix,
            from_prefix,
            chunks: chunks.as_chunks().0,
            starts,
            places,
            wide,
            records,
        })
    }

    /// How many separators are not above the key. Damaged bytes may give wrong answers, but the search always ends, since
    /// children lie behind their parents.
    fn not_above(&self, key: &[u8]) -> usize {
        let (mut place, mut depth) = (0, 0);
        loop {
            let rest = key.get(depth..).unwrap_or_default();
            let Some(node) = self.node(place) else {
                return 0;
            };
            match node.step(rest) {
                Step::Ends(count) => return count,
                Step::Down(child, bytes) if child > place => {
                    (place, depth) = (child, depth + bytes);
                }
                Step::Down(..) => return node.first,
            }
        }
    }
}

impl Node<'_> {
    /// Looks for the rest of a key that goes through this node.
    #[inline]
    fn step(&self, key: &[u8]) -> Step {
        let rest = match self.without_prefix(key) {
            Ok(rest) => rest,
            Err(is_below) => return Step::Ends(self.first + if is_below { 0 } else { self.count }),
        };
        let chunk = first_eight(rest);
        let slot = last_not_above(self.chunks, 0, self.chunks.len(), chunk);
        match self.chunk(slot).cmp(&chunk) {
            Ordering::Greater => Step::Ends(self.first),
            Ordering::Less => Step::Ends(self.start(slot + 1)),
            Ordering::Equal => {
                let before = self.start(slot);
                match self.number(self.places, slot).checked_sub(1) {
                    // The chunk is all of the separator, and no byte of it was padded in the key.
                    None => Step::Ends(before + 1),
                    Some(place) => self
                        .follow(place, rest, before)
                        .unwrap_or(Step::Ends(before)),
                }
            }
        }
    }

    /// What follows the prefix in a key; if it does not begin with the prefix, whether it is below all that does.
    #[inline]
    fn without_prefix<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], bool> {
        let length = self.prefix.len();
        if length == 0 {
            return Ok(key);
        }
        let (Some(own), 1..=8) = (self.from_prefix.first_chunk(), length) else {
            return key.strip_prefix(self.prefix).ok_or(key < self.prefix);
        };
        let mask = u64::MAX << (8 * (8 - length));
        let (own, other) = (u64::from_be_bytes(*own) & mask, first_eight(key) & mask);
        match key.get(length..).filter(|_| own == other) {
            Some(rest) => Ok(rest),
            // A key that ends within the prefix is below, and so is what was padded.
            None => Err(other <= own),
        }
    }

    /// Goes on at a record, whose separators have the key's chunk; `None` if the bytes are damaged there.
    fn follow(&self, place: usize, rest: &[u8], before: usize) -> Option<Step> {
        let mut record = self.records.get(place..)?;
        let ended = take_varint(&mut record)?;
        let (lengths, record) = record.split_at_checked(ended)?;
        let shorter = lengths
            .iter()
            .filter(|length| usize::from(**length) <= rest.len());
        let count = before + shorter.count();
        let (kind, mut record) = record.split_first()?;
        // The others go on behind the chunk; a key that does not is below them.
        let Some(behind) = rest.get(CHUNK..).filter(|behind| !behind.is_empty()) else {
            return Some(Step::Ends(count));
        };
        Some(match *kind {
            goes_on::LIST => {
                let members = take_varint(&mut record)?;
                Step::Ends(count + front::not_above(record, members, behind))
            }
            goes_on::CHILD => Step::Down(u32_of(record, 0) as usize, self.prefix.len() + CHUNK),
            _ => Step::Ends(count),
        })
    }

    #[inline]
    fn chunk(&self, slot: usize) -> u64 {
        self.chunks
            .get(slot)
            .map_or(0, |chunk| u64::from_le_bytes(*chunk))
    }

    /// The number of a slot in one of the columns of 2 or 4 bytes.
    #[inline]
    fn number(&self, column: &[u8], slot: usize) -> usize {
        match self.wide {
            true => u32_of(column, slot) as usize,
            false => u16_of(column, slot).into(),
        }
    }

    /// The first separator of a slot, or behind the last slot that behind the node.
    #[inline]
    fn start(&self, slot: usize) -> usize {
        match slot < self.chunks.len() {
            true => self.first + self.number(self.starts, slot),
            false => self.first + self.count,
        }
    }
}

impl Index for Rss<'_> {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn needs_number(&self) -> bool {
        false
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        let blocks = match self.separators {
            0 => 0,
            separators => self.not_above(probe.key).min(separators),
        };
        Position::Block(blocks as u64)
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
