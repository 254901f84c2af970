//! Lays out the nodes over the separators.

use std::ops::Range;

use super::{CHUNK, LIST_MOST, WIDE, goes_on};
use crate::bytes::put_varint;
use crate::kinds::shared::front;
use crate::kinds::shared::separators::Separators;
use crate::search::{common_prefix, first_eight};

/// The bytes of a chunk before the zeros at its end.
fn length_of(chunk: u64) -> usize {
    CHUNK - (chunk.trailing_zeros() as usize / 8).min(CHUNK)
}

/// A node that is still to be laid out.
struct Waiting {
    /// The separators that it covers.
    separators: Range<usize>,
    /// How many of their bytes the nodes above it compare.
    depth: usize,
    /// Where its place has to be written.
    place_at: Option<usize>,
}

/// Appends the bytes after the common header.
pub(super) fn encode(separators: &Separators, out: &mut Vec<u8>) {
    let count = separators.len();
    let mut nodes = Vec::new();
    let mut waiting = Vec::new();
    if count > 0 {
        waiting.push(Waiting {
            separators: 0..count,
            depth: 0,
            place_at: None,
        });
    }
    while let Some(next) = waiting.pop() {
        if let Some(at) = next.place_at {
            let place = nodes.len();
            set_u32(&mut nodes, at, place);
        }
        lay_out(separators, next, &mut nodes, &mut waiting);
    }
    out.extend((count as u32).to_le_bytes());
    out.extend((nodes.len() as u32).to_le_bytes());
    out.extend(nodes);
}

fn set_u32(bytes: &mut [u8], at: usize, value: usize) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&(value as u32).to_le_bytes());
    }
}

/// Separators with one chunk.
struct Slot {
    chunk: u64,
    separators: Range<usize>,
}

/// Appends a node, and notes its children.
fn lay_out(all: &Separators, node: Waiting, out: &mut Vec<u8>, waiting: &mut Vec<Waiting>) {
    let Range { start, end } = node.separators;
    let from = |at: usize, depth: usize| all.get(at).get(depth..).unwrap_or_default();
    // Separators ascend, so what the first and the last share is shared by all.
    let shared = common_prefix(from(start, node.depth), from(end - 1, node.depth));
    let prefix = from(start, node.depth).get(..shared).unwrap_or_default();
    // The length of a prefix has two bytes; the rest of a longer one is the prefix of a child.
    let prefix = prefix.get(..usize::from(u16::MAX)).unwrap_or(prefix);
    let depth = node.depth + prefix.len();
    let slots = slots(start..end, |at| first_eight(from(at, depth)));
    let has_record = |slot: &Slot| {
        let length = from(slot.separators.start, depth).len();
        slot.separators.len() > 1 || length > CHUNK || length != length_of(slot.chunk)
    };
    let (mut records, mut places, mut children) = (Vec::new(), Vec::new(), Vec::new());
    for slot in &slots {
        if !has_record(slot) {
            places.push(0);
            continue;
        }
        places.push(1 + records.len());
        if let Some(child) = record(&slot.separators, |at| from(at, depth), &mut records) {
            children.push((child, records.len()));
            records.extend([0; 4]);
        }
    }
    let wide = (end - start).max(records.len()) >= usize::from(u16::MAX);
    let width = if wide { 4 } else { 2 };
    let put = |column: &mut Vec<u8>, value: usize| {
        column.extend((value as u32).to_le_bytes().iter().take(width));
    };
    out.extend((start as u32).to_le_bytes());
    out.extend(((end - start) as u32).to_le_bytes());
    out.extend((slots.len() as u32).to_le_bytes());
    out.extend((prefix.len() as u16).to_le_bytes());
    out.extend((if wide { WIDE } else { 0 }).to_le_bytes());
    out.extend(prefix);
    out.extend(slots.iter().flat_map(|slot| slot.chunk.to_le_bytes()));
    slots
        .iter()
        .for_each(|slot| put(out, slot.separators.start - start));
    places.into_iter().for_each(|place| put(out, place));
    let records_at = out.len();
    out.extend(records);
    waiting.extend(children.into_iter().map(|(separators, at)| Waiting {
        separators,
        depth: depth + CHUNK,
        place_at: Some(records_at + at),
    }));
}

/// Groups separators by their chunks.
fn slots(separators: Range<usize>, chunk: impl Fn(usize) -> u64) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    for at in separators {
        let chunk = chunk(at);
        match slots.last_mut().filter(|slot| slot.chunk == chunk) {
            Some(slot) => slot.separators.end = at + 1,
            None => slots.push(Slot {
                chunk,
                separators: at..at + 1,
            }),
        }
    }
    slots
}

/// Appends the record of separators with one chunk; `rest` gives their bytes from its start on. Returns those that need a child,
/// whose place has to follow.
fn record<'s>(
    separators: &Range<usize>,
    rest: impl Fn(usize) -> &'s [u8],
    out: &mut Vec<u8>,
) -> Option<Range<usize>> {
    // Those that end inside the chunk come first, since they are prefixes of the others.
    let ends = |at: &usize| rest(*at).len() <= CHUNK;
    let ended = separators.clone().take_while(ends).count();
    put_varint(out, ended);
    out.extend(
        separators
            .clone()
            .take(ended)
            .map(|at| rest(at).len() as u8),
    );
    let longer = separators.start + ended..separators.end;
    match longer.len() {
        0 => out.push(goes_on::NO),
        count @ 1..=LIST_MOST => {
            out.push(goes_on::LIST);
            put_varint(out, count);
            let mut before = None;
            for at in longer {
                let tail = rest(at).get(CHUNK..).unwrap_or_default();
                front::put(before.replace(tail), tail, out);
            }
        }
        _ => {
            out.push(goes_on::CHILD);
            return Some(longer);
        }
    }
    None
}
