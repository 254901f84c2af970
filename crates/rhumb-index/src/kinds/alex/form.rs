//! ALEX in a table: the nodes of a bulk-loaded index, read from the byte form.
//!
//! ```text
//! offset  size  field
//!      0     4  I, number of inner nodes
//!      4     4  L, number of data nodes, at least 1
//!      8     4  C, number of places
//!     12     4  S, number of slots
//!     16   20I  inner nodes, every child after its parent: base (8), shift (4; 0 to 63), first
//!               place (4; places are consecutive), number of places (4; at least 1)
//!          4C   places: the number of an inner node, or of a data node plus 2^31
//!         32L   data nodes in order: base (8), slope (f64), offset (f32), number of slots to
//!               which predictions are clamped (4; at least 1), first slot (4), number of slots
//!               (4; at least 1)
//!         12S   slots: number (8), rank (4)
//!
//! The root is inner node 0, or data node 0 if there are no inner nodes; children and slots are
//! predicted as in memory. Gaps hold the number and rank of the next entry, and there are none
//! after the last entry. The first slot whose number is not below the one sought therefore gives
//! its rank or lower bound. If there is none, the first slot of the next data node gives the lower
//! bound; no data node is empty.

use super::KIND;
use super::fit::SlotLine;
use super::inner::LEAF;
use super::leaf::Leaf;
use super::tree::Alex;
use crate::IndexError;
use crate::bytes::{Reader, f32_of, u32_of, u64_of};
use crate::kind::Kind;
use crate::kinds::shared::exact::{Layout, Place};
use crate::kinds::shared::gallop::first_about;
use crate::knob::Settings;

const INNER: usize = 20;
const NODE: usize = 32;
const SLOT: usize = 12;

/// How many slots, from the one before the predicted one on, are searched without a branch.
const WINDOW: usize = 8;

/// The most levels of a look-up. Bulk loading makes fewer, since a child has at most two thirds of
/// its parent's numbers.
const MOST_LEVELS: usize = 64;

/// The offsets of the parts of the form.
#[derive(Debug)]
pub(super) struct Form {
    inners: usize,
    places_at: usize,
    nodes_at: usize,
    nodes: usize,
    slots_at: usize,
}

/// A data node of the form.
struct Node<'a> {
    fit: SlotLine,
    slots: &'a [[u8; SLOT]],
}

impl Layout for Form {
    fn kind() -> &'static Kind {
        &KIND
    }

    fn lay(_: &Settings, entries: &[(u64, u64)], out: &mut Vec<u8>) -> Result<(), IndexError> {
        let mut index = Alex::new(true);
        index.load(entries);
        write(&index, out)
    }

    fn open(bytes: &[u8], _: usize) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, bytes);
        let [inners, nodes, places, slots] = [
            reader.length()?,
            reader.length()?,
            reader.length()?,
            reader.length()?,
        ];
        let inners_at = reader.at();
        let inner_bytes = reader.take(inners.saturating_mul(INNER))?;
        let places_at = reader.at();
        let place_bytes = reader.take(places.saturating_mul(4))?;
        let nodes_at = reader.at();
        let node_bytes = reader.take(nodes.saturating_mul(NODE))?;
        let slots_at = reader.at();
        reader.take(slots.saturating_mul(SLOT))?;
        reader.end()?;
        let damaged =
            |at: usize, expected: &str, found: String| Err(reader.damaged_at(at, expected, found));
        if nodes == 0 {
            return damaged(4, "a data node", "none".to_owned());
        }
        // Each place belongs to one inner node, in order, so that each is checked once.
        let mut rest = place_bytes.as_chunks::<4>().0;
        for (i, inner) in inner_bytes.as_chunks::<INNER>().0.iter().enumerate() {
            let [shift, first, len] = [2, 3, 4].map(|field| u32_of(inner, field) as usize);
            let is_next = first == places - rest.len();
            let is_child = |place: &[u8; 4]| match u32::from_le_bytes(*place) {
                node if node & LEAF == 0 => node as usize > i && (node as usize) < inners,
                node => ((node ^ LEAF) as usize) < nodes,
            };
            let (own, others) = rest.split_at_checked(len).unwrap_or_default();
            if shift > 63 || !is_next || own.is_empty() || !own.iter().all(is_child) {
                let found = format!("shift {shift}, {len} places from {first}");
                return damaged(
                    inners_at + i * INNER,
                    "consecutive places of existing nodes",
                    found,
                );
            }
            rest = others;
        }
        if !rest.is_empty() {
            let found = format!("{} more", rest.len());
            return damaged(8, "no places besides those of the inner nodes", found);
        }
        for (i, node) in node_bytes.as_chunks::<NODE>().0.iter().enumerate() {
            let fit = fit_of(node);
            let [first, len] = [6, 7].map(|field| u64::from(u32_of(node, field)));
            let is_line = fit.slope >= 0.0 && fit.slope.is_finite() && fit.offset.is_finite();
            if !is_line || fit.slots == 0 || len == 0 || first + len > slots as u64 {
                let found = format!("{fit:?}, {len} slots from {first}");
                return damaged(nodes_at + i * NODE, "a line over existing slots", found);
            }
        }
        Ok(Form {
            inners,
            places_at,
            nodes_at,
            nodes,
            slots_at,
        })
    }

    #[inline]
    fn find(&self, bytes: &[u8], number: u64) -> Place {
        let node = self.node_of(bytes, number);
        let slots = self
            .node(bytes, node)
            .map(|node| (node.slots, node.seek(number)));
        if let Some(slot) = slots.and_then(|(slots, at)| slots.get(at)) {
            let rank = u64::from(u32_of(slot, 2));
            return match u64_of(slot, 0) == number {
                true => Place::At(rank),
                false => Place::Before(rank),
            };
        }
        // After the last number of this node comes the first number of the next node.
        let behind = Some(node + 1).filter(|node| *node < self.nodes);
        let first = behind.and_then(|node| self.node(bytes, node)?.slots.first());
        Place::Before(first.map_or(u64::MAX, |slot| u64::from(u32_of(slot, 2))))
    }
}

impl Form {
    /// The data node that a number belongs to.
    #[inline(always)]
    fn node_of(&self, bytes: &[u8], number: u64) -> usize {
        let mut node = if self.inners == 0 { LEAF } else { 0 };
        for _ in 0..MOST_LEVELS {
            if node & LEAF != 0 {
                break;
            }
            let at = 16 + node as usize * INNER;
            let Some(inner) = bytes.get(at..).and_then(|rest| rest.first_chunk::<INNER>()) else {
                break;
            };
            let place = number.saturating_sub(u64_of(inner, 0)) >> (u32_of(inner, 2) & 63);
            let last = u64::from(u32_of(inner, 4)).saturating_sub(1);
            let place = u64::from(u32_of(inner, 3)) + place.min(last);
            node = u32_of(bytes, self.places_at / 4 + place as usize);
        }
        (node & !LEAF) as usize
    }

    #[inline(always)]
    fn node<'a>(&self, bytes: &'a [u8], node: usize) -> Option<Node<'a>> {
        let at = self.nodes_at + node * NODE;
        let node = bytes.get(at..)?.first_chunk::<NODE>()?;
        let slots = bytes.get(self.slots_at..)?.as_chunks::<SLOT>().0;
        let first = u32_of(node, 6) as usize;
        Some(Node {
            fit: fit_of(node),
            slots: slots.get(first..)?.get(..u32_of(node, 7) as usize)?,
        })
    }
}

#[inline(always)]
fn fit_of(node: &[u8; NODE]) -> SlotLine {
    SlotLine {
        base: u64_of(node, 0),
        slope: f64::from_bits(u64_of(node, 1)),
        offset: f32_of(node, 4),
        slots: u32_of(node, 5),
    }
}

#[inline(always)]
fn key_of(slot: &[u8; SLOT]) -> u64 {
    u64_of(slot, 0)
}

impl Node<'_> {
    /// The first slot whose key is not below a number, or the number of slots.
    #[inline(always)]
    fn seek(&self, number: u64) -> usize {
        let predicted = self.fit.predict(number);
        let last = self.slots.len().saturating_sub(WINDOW);
        let first = predicted.saturating_sub(1).min(last);
        let Some(window) = self
            .slots
            .get(first..)
            .and_then(|slots| slots.first_chunk::<WINDOW>())
        else {
            return self.slots.partition_point(|slot| key_of(slot) < number);
        };
        let below = window
            .iter()
            .map(|slot| usize::from(key_of(slot) < number))
            .sum::<usize>();
        let is_outside = below == 0 && first > 0 || below == WINDOW && first < last;
        match is_outside {
            true => self.seek_outward(first + below, number),
            false => first + below,
        }
    }

    /// As [`Node::seek`], searching outward from a slot.
    #[inline(never)]
    fn seek_outward(&self, from: usize, number: u64) -> usize {
        let slots = self.slots;
        first_about(slots.len(), from, WINDOW, |slot| {
            slots.get(slot).is_some_and(|slot| key_of(slot) < number)
        })
    }
}

/// Writes the slots of a data node up to its last entry.
fn put_slots(leaf: &Leaf, out: &mut Vec<u8>) {
    let mut slot = 0;
    while slot < leaf.slots() {
        let next = leaf.entry_from(slot);
        if next == leaf.slots() {
            break;
        }
        for _ in slot..=next {
            out.extend(leaf.key(next).to_le_bytes());
            out.extend((leaf.value(next) as u32).to_le_bytes());
        }
        slot = next + 1;
    }
}

/// Writes the nodes of an index that has just been loaded.
fn write(index: &Alex, out: &mut Vec<u8>) -> Result<(), IndexError> {
    let mut places = Vec::new();
    let (mut inners, mut nodes, mut slots) = (Vec::new(), Vec::new(), Vec::new());
    // Children are added before their parents; in reverse order every parent comes first.
    let last = index.inners.len() as u32;
    for inner in index.inners.iter().rev() {
        inners.extend(inner.base.to_le_bytes());
        inners.extend(inner.shift.to_le_bytes());
        inners.extend(((places.len() / 4) as u32).to_le_bytes());
        inners.extend((inner.children.len() as u32).to_le_bytes());
        let number = |child: &u32| {
            if child & LEAF == 0 {
                last - 1 - child
            } else {
                *child
            }
        };
        places.extend(
            inner
                .children
                .iter()
                .flat_map(|child| number(child).to_le_bytes()),
        );
    }
    for leaf in &index.leaves {
        let first = slots.len() / SLOT;
        put_slots(leaf, &mut slots);
        nodes.extend(leaf.fit.base.to_le_bytes());
        nodes.extend(leaf.fit.slope.to_le_bytes());
        nodes.extend(leaf.fit.offset.to_le_bytes());
        for field in [leaf.fit.slots as usize, first, slots.len() / SLOT - first] {
            nodes.extend((field as u32).to_le_bytes());
        }
    }
    if slots.len() / SLOT > u32::MAX as usize {
        return Err(IndexError::Unfit {
            kind: KIND.name,
            why: "more than 2^32 - 1 slots: write smaller tables".to_owned(),
        });
    }
    let counts = [
        index.inners.len(),
        index.leaves.len(),
        places.len() / 4,
        slots.len() / SLOT,
    ];
    out.extend(
        counts
            .iter()
            .flat_map(|count| (*count as u32).to_le_bytes()),
    );
    for part in [inners, places, nodes, slots] {
        out.extend(part);
    }
    Ok(())
}
