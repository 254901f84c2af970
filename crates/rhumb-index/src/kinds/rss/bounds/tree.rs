//! Looks keys up in the nodes, which are used from their bytes.

use std::cmp::Ordering;
use std::marker::PhantomData;

use super::{NODE_HEADER, NODES_AT, WIDE, goes_on};
use crate::bytes::{Reader, take_varint, u16_of, u32_of};
use crate::kinds::rss::chunk::Chunk;
use crate::kinds::rss::prefix::Prefix;
use crate::kinds::rss::{FORM_AT, KIND};
use crate::kinds::shared::front;
use crate::{BlockRows, ByteForm, Index, IndexError, Position, Probe};

/// A tree of chunks over separators.
#[derive(Debug)]
pub(in crate::kinds::rss) struct Tree<'a, C> {
    bytes: ByteForm<'a>,
    separators: usize,
    chunks: PhantomData<C>,
}

/// A node: its fields, and its columns. Of these only the chunks are taken out, since a look-up needs one or two numbers of the
/// others.
struct Node<'a, C: Chunk> {
    header: &'a [u8; NODE_HEADER],
    prefix: Prefix<'a>,
    chunks: &'a [C::Stored],
    /// What follows the chunks.
    rest: &'a [u8],
    /// Bytes of a number in the columns of slots: 2 or 4.
    width: usize,
}

/// Where a look-up goes on.
enum Step {
    /// Nowhere: so many separators are not above the key.
    Ends(usize),
    /// In the node at this place, behind so many bytes.
    Down(usize, usize),
}

impl<'a, C: Chunk> Tree<'a, C> {
    pub(in crate::kinds::rss) fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(FORM_AT)?;
        let (separators, length) = (reader.length()?, reader.length()?);
        let nodes = reader.take(length)?;
        reader.end()?;
        if (separators == 0) != nodes.is_empty() {
            let expected = format!("nodes over {separators} separators");
            return Err(reader.damaged_at(NODES_AT, expected, format!("{length} bytes")));
        }
        let chunks = PhantomData;
        Ok(Tree {
            bytes,
            separators,
            chunks,
        })
    }

    fn nodes(&self) -> &[u8] {
        self.bytes.get(NODES_AT..).unwrap_or_default()
    }

    /// The node at a place; `None` if the bytes are damaged there.
    #[inline]
    fn node(&self, place: usize) -> Option<Node<'_, C>> {
        let (header, rest) = self.nodes().get(place..)?.split_first_chunk()?;
        let (prefix, flags) = (u16_of(header, 8), u16_of(header, 9));
        let slots = u32_of(header, 2) as usize;
        let (prefix, rest) = Prefix::split(rest, prefix.into())?;
        let (chunks, rest) = rest.split_at_checked(slots.checked_mul(C::BYTES)?)?;
        Some(Node {
            header,
            prefix,
            chunks: C::column(chunks),
            rest,
            width: if flags & WIDE != 0 { 4 } else { 2 },
        })
    }

    /// How many separators are not above the key. Damaged bytes may give wrong answers, but the search always ends, since
    /// children lie behind their parents. The `rows` of the blocks that it may be are prefetched, once they are few.
    fn not_above(&self, key: &[u8], rows: BlockRows) -> usize {
        let (mut place, mut depth) = (0, 0);
        loop {
            let rest = key.get(depth..).unwrap_or_default();
            let Some(node) = self.node(place) else {
                return 0;
            };
            match node.step(rest, rows) {
                Step::Ends(count) => return count,
                Step::Down(child, bytes) if child > place => {
                    (place, depth) = (child, depth + bytes);
                }
                Step::Down(..) => return node.first(),
            }
        }
    }
}

impl<C: Chunk> Node<'_, C> {
    /// The first separator that the node covers.
    fn first(&self) -> usize {
        u32_of(self.header, 0) as usize
    }

    /// How many it covers.
    fn count(&self) -> usize {
        u32_of(self.header, 1) as usize
    }

    /// How many children slots have without a record.
    fn children(&self) -> usize {
        u32_of(self.header, 3) as usize
    }

    /// Where in the rest the places of the children start; the records follow.
    fn children_at(&self) -> usize {
        2 * self.width * self.chunks.len()
    }

    /// Looks for the rest of a key that goes through this node.
    #[inline(always)]
    fn step(&self, key: &[u8], rows: BlockRows) -> Step {
        let rest = match self.prefix.strip(key) {
            Ok(rest) => rest,
            Err(true) => return Step::Ends(self.first()),
            Err(false) => return Step::Ends(self.first() + self.count()),
        };
        let chunk = C::of(rest);
        let slot = chunk.last_not_above(self.chunks, 0, self.chunks.len());
        let Some(found) = self.chunks.get(slot) else {
            return Step::Ends(self.first());
        };
        match C::read(*found).cmp(&chunk) {
            Ordering::Equal => self.meet(slot, rest, rows),
            Ordering::Greater => Step::Ends(self.first()),
            Ordering::Less => Step::Ends(self.start(slot + 1)),
        }
    }

    /// Goes on at a slot that has the key's chunk.
    #[inline(always)]
    fn meet(&self, slot: usize, rest: &[u8], rows: BlockRows) -> Step {
        // The chunk of a plain slot is all of the separator, and no byte of it was padded in the key.
        let Some(place) = self.number(self.chunks.len() + slot).checked_sub(1) else {
            return Step::Ends(self.start(slot) + 1);
        };
        // The separators behind the chunk wait for memory once or twice.
        rows.prefetch(self.start(slot), self.start(slot + 1));
        let children = self.children();
        let children_at = self.rest.get(self.children_at()..).unwrap_or_default();
        if place >= children {
            let before = self.start(slot);
            let record = children_at.get(children * 4 + (place - children)..);
            let step = record.and_then(|record| self.follow(record, rest, before));
            return step.unwrap_or(Step::Ends(before));
        }
        match rest.len() <= C::BYTES {
            // The separators go on behind the chunk; a key that does not is below them.
            true => Step::Ends(self.start(slot)),
            false => self.down(u32_of(children_at, place)),
        }
    }

    fn down(&self, child: u32) -> Step {
        Step::Down(child as usize, self.prefix.len() + C::BYTES)
    }

    /// Goes on at a record, whose separators have the key's chunk; `None` if the bytes are damaged there.
    fn follow(&self, mut record: &[u8], rest: &[u8], before: usize) -> Option<Step> {
        let ended = take_varint(&mut record)?;
        let (lengths, record) = record.split_at_checked(ended)?;
        let shorter = lengths
            .iter()
            .filter(|length| usize::from(**length) <= rest.len());
        let count = before + shorter.count();
        let (kind, mut record) = record.split_first()?;
        // The others go on behind the chunk; a key that does not is below them.
        let Some(behind) = rest.get(C::BYTES..).filter(|behind| !behind.is_empty()) else {
            return Some(Step::Ends(count));
        };
        Some(match *kind {
            goes_on::LIST => {
                let members = take_varint(&mut record)?;
                Step::Ends(count + front::not_above(record, members, behind))
            }
            goes_on::CHILD => self.down(u32_of(record, 0)),
            _ => Step::Ends(count),
        })
    }

    /// A number of the two columns of slots.
    #[inline(always)]
    fn number(&self, at: usize) -> usize {
        match self.width {
            4 => u32_of(self.rest, at) as usize,
            _ => u16_of(self.rest, at).into(),
        }
    }

    /// The first separator of a slot, or behind the last slot that behind the node.
    #[inline(always)]
    fn start(&self, slot: usize) -> usize {
        let inside = match slot < self.chunks.len() {
            true => self.number(slot),
            false => self.count(),
        };
        self.first() + inside
    }
}

impl<C: Chunk> Index for Tree<'_, C> {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn needs_number(&self) -> bool {
        false
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        self.locate_beside(probe, BlockRows::NONE)
    }

    fn locate_beside(&self, probe: Probe<'_>, rows: BlockRows) -> Position {
        let blocks = match self.separators {
            0 => 0,
            separators => self.not_above(probe.key, rows).min(separators),
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
