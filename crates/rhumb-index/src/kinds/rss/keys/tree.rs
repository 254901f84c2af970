//! Looks keys up in the nodes, which are used from their bytes.

use std::marker::PhantomData;

use super::{NODE_HEADER, NODES_AT, REDIRECT};
use crate::bytes::{Reader, u16_of, u32_of};
use crate::kinds::rss::chunk::Chunk;
use crate::kinds::rss::prefix::Prefix;
use crate::kinds::rss::{FORM_AT, KIND};
use crate::kinds::shared::spline::{CELL, RadixTable};
use crate::{ByteForm, Index, IndexError, Position, Probe, Window};

/// A tree of splines over keys.
#[derive(Debug)]
pub(in crate::kinds::rss) struct Tree<'a, C> {
    bytes: ByteForm<'a>,
    keys: u64,
    error: u64,
    chunks: PhantomData<C>,
}

/// A node: its fields, and its columns.
struct Node<'a, C: Chunk> {
    keys: Window,
    error: u64,
    prefix: Prefix<'a>,
    table: RadixTable,
    cells: &'a [[u8; CELL]],
    knots: &'a [C::Stored],
    ranks: &'a [u8],
    redirects: &'a [[u8; REDIRECT]],
}

/// Where a look-up goes on.
enum Step {
    /// Nowhere: this is the window.
    Ends(Window),
    /// In the node at this place, behind so many bytes.
    Down(usize, usize),
}

impl<'a, C: Chunk> Tree<'a, C> {
    pub(in crate::kinds::rss) fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(FORM_AT)?;
        let (keys, error) = (reader.u64()?, reader.length()? as u64);
        let length = reader.length()?;
        reader.take(length)?;
        reader.end()?;
        if keys > u64::from(u32::MAX) || (keys == 0) != (length == 0) {
            let expected = "nodes over the keys, which 4 bytes count".to_string();
            let found = format!("{length} bytes over {keys} keys");
            return Err(KIND.damaged(FORM_AT, expected, found));
        }
        Ok(Tree {
            keys,
            error,
            chunks: PhantomData,
            bytes,
        })
    }

    /// The node at a place; `None` if the bytes are damaged there.
    #[inline]
    fn node(&self, place: usize) -> Option<Node<'_, C>> {
        let nodes = self.bytes.get(NODES_AT..)?;
        let (header, rest) = nodes.get(place..)?.split_at_checked(NODE_HEADER)?;
        let field = |i| u32_of(header, i) as usize;
        let (knots, redirects, cells) = (field(2), field(3), field(4));
        let (prefix, rest) = Prefix::split(rest, u16_of(header, 10).into())?;
        let (cells, rest) = rest.split_at_checked(cells.checked_mul(CELL)?)?;
        let (chunks, rest) = rest.split_at_checked(knots.checked_mul(C::BYTES)?)?;
        let (ranks, rest) = rest.split_at_checked(knots.checked_mul(4)?)?;
        let redirects = rest.get(..redirects.checked_mul(REDIRECT)?)?;
        let lo = field(0) as u64;
        Some(Node {
            keys: Window {
                lo,
                hi: lo + field(1) as u64,
            },
            error: self.error,
            prefix,
            table: RadixTable {
                shift: header.get(22).map_or(0, |shift| shift & 63),
            },
            cells: cells.as_chunks().0,
            knots: C::column(chunks),
            ranks,
            redirects: redirects.as_chunks().0,
        })
    }

    /// The window of a key. Damaged bytes may give wrong windows, but the search always ends, since children lie behind their
    /// parents.
    fn window_of(&self, key: &[u8]) -> Option<Window> {
        let (mut place, mut depth) = (0, 0);
        loop {
            let rest = key.get(depth..)?;
            match self.node(place)?.step(rest)? {
                Step::Ends(window) => return Some(window),
                Step::Down(child, bytes) if child > place => {
                    (place, depth) = (child, depth + bytes);
                }
                Step::Down(..) => return None,
            }
        }
    }
}

impl<C: Chunk> Node<'_, C> {
    /// Looks for the rest of a key that goes through this node; `None` if its bytes are damaged.
    #[inline]
    fn step(&self, key: &[u8]) -> Option<Step> {
        let at = |rank| Some(Step::Ends(Window { lo: rank, hi: rank }));
        let rest = match self.prefix.strip(key) {
            Ok(rest) => rest,
            Err(true) => return at(self.keys.lo),
            Err(false) => return at(self.keys.hi),
        };
        let chunk = C::of(rest);
        let first = C::read(*self.knots.first()?);
        if chunk < first {
            return at(self.keys.lo);
        }
        let (from, to) = self.candidates(chunk, first);
        let knot = chunk.last_not_above(self.knots, from, to);
        let below = C::read(*self.knots.get(knot)?);
        if below == chunk
            && let Some((lengths, child)) = self.redirected(knot)
        {
            return Some(self.follow(knot, lengths, child, rest));
        }
        Some(Step::Ends(self.between(knot, below, chunk)))
    }

    /// The knots among which the last one not above a chunk is.
    #[inline]
    fn candidates(&self, chunk: C, first: C) -> (usize, usize) {
        let all = (0, self.knots.len());
        match self.knots.last().map(|last| C::read(*last)) {
            Some(last) if !self.cells.is_empty() && chunk <= last => {
                let (from, to) = self.table.ends(self.cells, chunk.top_above(first));
                (from.saturating_sub(1), to)
            }
            Some(last) if chunk > last => (all.1 - 1, all.1),
            _ => all,
        }
    }

    #[inline]
    fn rank(&self, knot: usize) -> u64 {
        match knot < self.knots.len() {
            true => u32_of(self.ranks, knot).into(),
            false => self.keys.hi,
        }
    }

    /// The window of a chunk that is not below this knot, and below the next one.
    #[inline]
    fn between(&self, knot: usize, below: C, chunk: C) -> Window {
        let (lo, hi) = (self.rank(knot), self.rank(knot + 1));
        let rise = match self.knots.get(knot + 1) {
            Some(next) => {
                let run = C::read(*next).above(below);
                (hi.saturating_sub(lo) as f64 * (chunk.above(below) / run)) as u64
            }
            None => 0,
        };
        let middle = lo.saturating_add(rise);
        Window {
            lo: middle.saturating_sub(self.error).max(lo),
            hi: middle.saturating_add(self.error).min(hi),
        }
    }

    /// The lengths and the child's place of a redirected run at this knot.
    #[inline]
    fn redirected(&self, knot: usize) -> Option<(u32, usize)> {
        let number = |redirect: &[u8; REDIRECT]| u32_of(redirect, 0) as usize;
        let at = self
            .redirects
            .partition_point(|redirect| number(redirect) < knot);
        let found = self
            .redirects
            .get(at)
            .filter(|found| number(found) == knot)?;
        Some((u32_of(found, 1), u32_of(found, 2) as usize))
    }

    /// Goes on at a redirected run, which has the chunk of the key.
    #[inline]
    fn follow(&self, knot: usize, lengths: u32, child: usize, rest: &[u8]) -> Step {
        let (first, end) = (self.rank(knot), self.rank(knot + 1));
        // Of those that end inside the chunk, shorter ones come first.
        let length = rest.len().min(C::BYTES + 1);
        let shorter = lengths & ((1 << length) - 1);
        let lo = first.saturating_add(shorter.count_ones().into()).min(end);
        match (rest.len() <= C::BYTES, child) {
            (true, _) => Step::Ends(Window {
                lo,
                hi: (lo + 1).min(end),
            }),
            (false, 0) => Step::Ends(Window { lo, hi: end }),
            (false, child) => Step::Down(child, self.prefix.len() + C::BYTES),
        }
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
        let found = self.window_of(probe.key).unwrap_or(Window { lo: 0, hi: 0 });
        // Damaged bytes may lead anywhere.
        let lo = found.lo.min(self.keys);
        let hi = found
            .hi
            .min(self.keys)
            .min(lo.saturating_add(self.widest_window()));
        Position::Window(Window { lo, hi: hi.max(lo) })
    }

    fn predict(&self, _number: u64) -> Option<u64> {
        None
    }

    fn extent(&self) -> u64 {
        self.keys
    }

    fn widest_window(&self) -> u64 {
        self.keys.min(2 * self.error.max(1))
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}
