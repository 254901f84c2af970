//! The byte form: nodes over the keys of a table, used in place.
//!
//! Byte form, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  N, number of keys; nothing follows if it is 0
//!      8     1  context: which of the preceding bytes choose a row of the prefix table, 0 to 4
//!      9     1  R: the prefix table has 2^R rows
//!     10    32  the A bytes known to the table, a bit each
//!     42        2^R rows of A + 1 shares (2 bytes each), then 4 bytes of 0
//!               nodes, the root first, to the end
//! ```
//!
//! A leaf, a model node and a trie node:
//!
//! ```text
//! offset  size  field                       offset  size  field
//!      0     1  number of keys, 0 to 16               0     1  254 a trie, 255 a model
//!      1     4  rank of the first                     1     4  rank of the first key below
//!      5        the keys, packed                      5     4  rank after the last key below
//!                                                     9     4  P, length of the prefix that these
//!                                                              keys share after the parent's
//!                                                    13     4  S, number of slots or children
//!                                                    17     P  this prefix
//!                                                          4S  the node of each slot or child; in a
//!                                                              model the line is before them: base
//!                                                              (i64), slope (f64), least (u64); in
//!                                                              a trie the partings are after them
//! ```
//!
//! A node is identified by its offset among the nodes. A child's offset is greater than its
//! parent's, and there are at most 64 nodes from the root to a leaf. Every node omits the prefix
//! that its parent's keys share.

use std::cmp::Ordering;
use std::ops::Range;

use super::hpt::Hpt;
use super::keys::Keys;
use super::line::SlotLine;
use super::pack::Pack;
use super::partings::Partings;
use super::plan::{Body, Choice, FAN_OUT, LEAF, Layout, Planner};
use super::train::Trained;
use crate::bytes::{Reader, u32_of};
use crate::kind::HEADER;
use crate::search::prefetch;
use crate::{ByteForm, Index, IndexError, Position, Probe, Window};

/// The first bytes of nodes that are not leaves.
const TRIE: u8 = 254;
const MODEL: u8 = 255;

/// Bytes before the keys of a leaf, before the prefix of a node, and of a line.
const LEAF_HEADER: usize = 5;
const NODE_HEADER: usize = 17;
const MODEL_BYTES: usize = 24;

/// The most nodes that a look-up reads. Valid forms have fewer: a child has at most half of a
/// model's keys, and at most half of a trie's if these are more than two leaves hold, so 2^32 keys
/// have 30 levels.
const DEEPEST: usize = 64;

/// How many bytes of a node are prefetched before it is read.
const AHEAD: usize = 192;

/// Lays out nodes.
struct Writer<'a> {
    planner: Planner<'a>,
    nodes: Vec<u8>,
}

impl Writer<'_> {
    /// Lays out the node of some keys and all nodes below; returns its offset.
    fn put(&mut self, keys: Range<usize>, at: usize) -> u32 {
        let offset = self.nodes.len();
        match keys.len() {
            0..=LEAF => self.put_leaf(keys, at),
            _ => self.put_node(keys, at),
        }
        offset as u32
    }

    fn put_leaf(&mut self, keys: Range<usize>, at: usize) {
        self.nodes.push(keys.len() as u8);
        self.nodes.extend((keys.start as u32).to_le_bytes());
        let count = keys.len();
        let known = (at, Pack::shared(self.planner.keys, &keys, at));
        Pack::lay(self.planner.keys, keys, known, count, &mut self.nodes);
    }

    fn put_node(&mut self, keys: Range<usize>, parent_at: usize) {
        let plan = self.planner.plan(keys.clone(), parent_at);
        let prefix = self.planner.keys.get(keys.start).get(parent_at..plan.at);
        let prefix = prefix.unwrap_or_default();
        let (kind, slots, runs) = match &plan.body {
            Body::Trie { .. } => (TRIE, plan.children.len(), Vec::new()),
            Body::Model { line, slots } => (MODEL, line.slots as usize, slots.clone()),
        };
        self.nodes.push(kind);
        for number in [keys.start, keys.end, prefix.len(), slots] {
            self.nodes.extend((number as u32).to_le_bytes());
        }
        self.nodes.extend_from_slice(prefix);
        if let Body::Model { line, .. } = &plan.body {
            self.nodes.extend(line.base.to_le_bytes());
            self.nodes.extend(line.slope.to_le_bytes());
            self.nodes.extend(line.least.to_le_bytes());
        }
        let slots_at = self.nodes.len();
        self.nodes.resize(slots_at + slots * 4, 0);
        if let Body::Trie { partings } = &plan.body {
            let strings = partings.iter().map(Vec::as_slice);
            Partings::lay(strings, partings.len(), &mut self.nodes);
        }
        for (i, child) in plan.children.into_iter().enumerate() {
            let offset = self.put(child, plan.at).to_le_bytes();
            let run = runs.get(i).cloned().unwrap_or(i as u32..i as u32 + 1);
            let slots = self.nodes.get_mut(slots_at + run.start as usize * 4..);
            let slots = slots.unwrap_or_default().chunks_exact_mut(4);
            slots
                .take(run.len())
                .for_each(|slot| slot.copy_from_slice(&offset));
        }
    }
}

/// The nodes over a table's keys.
#[derive(Debug)]
pub(super) struct Form<'a> {
    bytes: ByteForm<'a>,
    keys: u64,
    hpt: Hpt,
    rows_at: usize,
    nodes_at: usize,
}

impl<'a> Form<'a> {
    /// Lays out the byte form of sorted keys.
    ///
    /// # Errors
    /// [`IndexError::Unfit`] if there are 2^32 keys, or more than 4 GiB of nodes.
    pub(super) fn lay(keys: &Keys, choice: Choice) -> Result<Vec<u8>, IndexError> {
        let mut out = super::KIND.header().to_vec();
        let unfit = || IndexError::Unfit {
            kind: super::KIND.name,
            why: "its nodes exceed 4 GiB: write smaller tables".into(),
        };
        let count = u32::try_from(keys.len()).map_err(|_| unfit())?;
        out.extend(count.to_le_bytes());
        if count == 0 {
            return Ok(out);
        }
        // A single leaf needs no table.
        let trained = match keys.len() <= LEAF || choice == Choice::Trie {
            true => Trained::none(),
            false => Trained::new(keys),
        };
        let layout = Layout {
            choice,
            slots_a_key: SLOTS_A_KEY,
            filled: FILLED,
            covered: u32::MAX,
        };
        let planner = Planner::new(layout, &trained, keys);
        let mut writer = Writer {
            planner,
            nodes: Vec::new(),
        };
        writer.put(0..keys.len(), 0);
        if writer.nodes.len() > u32::MAX as usize {
            return Err(unfit());
        }
        trained.hpt.put(&mut out);
        out.extend(&trained.rows);
        out.extend(&writer.nodes);
        Ok(out)
    }

    /// Opens the byte form.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if it cannot be one.
    pub(super) fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(super::KIND.name, &bytes);
        reader.take(HEADER)?;
        let keys = u64::from(reader.u32()?);
        if keys == 0 {
            reader.end()?;
            let at = reader.at();
            return Ok(Form {
                keys,
                hpt: Trained::none().hpt,
                rows_at: at,
                nodes_at: at,
                bytes,
            });
        }
        let hpt = Hpt::read(&mut reader)?;
        let rows_at = reader.at();
        hpt.read_rows(&mut reader)?;
        let nodes_at = reader.at();
        let root = reader.take(LEAF_HEADER)?;
        let (kind, first, end) = match root.first() {
            Some(&kind @ (TRIE | MODEL)) => (
                kind,
                u32_of(root.get(1..).unwrap_or_default(), 0),
                reader.u32()?,
            ),
            count => {
                let count = count.copied().unwrap_or_default();
                (count, 0, u32::from(count))
            }
        };
        let is_node = usize::from(kind) <= LEAF || kind >= TRIE;
        if !is_node || first != 0 || u64::from(end) != keys {
            let found = format!("node {kind} of keys {first} to {end}");
            return Err(reader.damaged_at(nodes_at, format!("a root of {keys} keys"), found));
        }
        Ok(Form {
            keys,
            hpt,
            rows_at,
            nodes_at,
            bytes,
        })
    }

    /// The first byte of the root.
    #[cfg(test)]
    pub(super) fn root_kind(&self) -> Option<u8> {
        self.bytes.get(self.nodes_at).copied()
    }

    /// The rank of a key, or the empty window at its lower bound.
    #[inline]
    pub(super) fn window(&self, key: &[u8]) -> Window {
        let (lo, is_there) = self.find(key).unwrap_or_default();
        let lo = u64::from(lo).min(self.keys);
        Window {
            lo,
            hi: (lo + u64::from(is_there)).min(self.keys),
        }
    }

    /// The rank of the first key that is not below this one, and whether it equals this one. `None`
    /// if the nodes are damaged.
    #[inline]
    fn find(&self, key: &[u8]) -> Option<(u32, bool)> {
        let nodes = self.bytes.get(self.nodes_at..)?;
        let (mut offset, mut at) = (0, 0);
        for _ in 0..DEEPEST {
            let node = nodes.get(offset..)?;
            let kind = *node.first()?;
            if kind < TRIE {
                return leaf_rank(node, key.get(at..)?);
            }
            let (header, rest) = node.split_first_chunk::<NODE_HEADER>()?;
            let field = |i: usize| u32_of(header.get(1..).unwrap_or_default(), i);
            let (prefix, body) = rest.split_at_checked(field(2) as usize)?;
            let own = key.get(at..)?;
            let own = own.get(..prefix.len()).unwrap_or(own);
            match own.cmp(prefix) {
                Ordering::Less => return Some((field(0), false)),
                Ordering::Greater => return Some((field(1), false)),
                Ordering::Equal => at += prefix.len(),
            }
            let next = match kind {
                MODEL => self.slot(body, field(3), key, at)?,
                _ => child(body, field(3) as usize, key.get(at..)?)?,
            } as usize;
            if next <= offset {
                return None;
            }
            offset = next;
            prefetch(nodes, offset..offset + AHEAD);
        }
        None
    }

    /// The node in the slot of a key.
    #[inline]
    fn slot(&self, body: &[u8], slots: u32, key: &[u8], at: usize) -> Option<u32> {
        let (line, body) = body.split_first_chunk::<MODEL_BYTES>()?;
        let field = |i: usize| line.as_chunks::<8>().0.get(i).copied().unwrap_or_default();
        let line = SlotLine {
            base: i64::from_le_bytes(field(0)),
            slope: f64::from_le_bytes(field(1)),
            least: u64::from_le_bytes(field(2)),
            slots,
        };
        let rows = self.bytes.get(self.rows_at..self.nodes_at)?;
        let (number, _) = self.hpt.number(rows, key, at, 0, line.least);
        Some(u32_of(body, line.slot(number) as usize))
    }
}

/// Slots of a model node for each key.
const SLOTS_A_KEY: f64 = 1.0;

/// Keys that share a leaf, unless a slot has more or too few are left.
const FILLED: usize = 11;

/// The child of a trie node that a key belongs to; `rest` is the key after the prefix of the node.
#[inline]
fn child(body: &[u8], children: usize, rest: &[u8]) -> Option<u32> {
    let count = children.checked_sub(1).filter(|count| *count < FAN_OUT)?;
    let (slots, partings) = body.split_at_checked(children * 4)?;
    let place = Partings::new(partings, count).find(rest);
    Some(u32_of(slots, place.not_above))
}

/// The rank of the first key in a leaf that is not below this one, and whether it equals this one.
#[inline]
fn leaf_rank(leaf: &[u8], rest: &[u8]) -> Option<(u32, bool)> {
    let (header, group) = leaf.split_first_chunk::<LEAF_HEADER>()?;
    let count = usize::from(header[0]).min(LEAF);
    let place = Pack::read(group, count, count)?.find(rest);
    let not_below = place.not_above - usize::from(place.is_there);
    let first = u32_of(header.get(1..).unwrap_or_default(), 0);
    Some((first.checked_add(not_below as u32)?, place.is_there))
}

impl Index for Form<'_> {
    fn kind(&self) -> &'static str {
        super::KIND.name
    }

    fn needs_number(&self) -> bool {
        super::KIND.needs_number
    }

    #[inline]
    fn locate(&self, probe: Probe<'_>) -> Position {
        Position::Window(self.window(probe.key))
    }

    fn predict(&self, _number: u64) -> Option<u64> {
        None
    }

    fn extent(&self) -> u64 {
        self.keys
    }

    fn widest_window(&self) -> u64 {
        self.keys.min(1)
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len() + self.hpt.heap_bytes()
    }
}
