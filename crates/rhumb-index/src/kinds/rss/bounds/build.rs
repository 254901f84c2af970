//! Lays out the nodes over the separators.

use std::ops::Range;

use super::{LIST_MOST, WIDE, goes_on};
use crate::bytes::put_varint;
use crate::kinds::rss::chunk::Chunk;
use crate::kinds::rss::nodes::{Run, Waiting, lay_out_all, runs, shared_prefix};
use crate::kinds::shared::front;
use crate::kinds::shared::separators::Separators;

/// Appends the form, from its flags on.
pub(in crate::kinds::rss) fn encode<C: Chunk>(separators: &Separators, out: &mut Vec<u8>) {
    let nodes = lay_out_all(separators.len(), |node, nodes, waiting| {
        lay_out::<C>(separators, node, nodes, waiting);
    });
    out.extend([C::FLAG, 0, 0, 0]);
    out.extend((separators.len() as u32).to_le_bytes());
    out.extend((nodes.len() as u32).to_le_bytes());
    out.extend(nodes);
}

/// What a slot says of its separators.
enum Slot {
    Plain,
    /// All go on in a child node.
    Child(Range<usize>),
    /// The record at this byte says it.
    Record(usize),
}

/// Appends a node, and notes its children.
fn lay_out<C: Chunk>(
    all: &Separators,
    node: Waiting,
    out: &mut Vec<u8>,
    waiting: &mut Vec<Waiting>,
) {
    let Range { start, end } = node.strings;
    let prefix = shared_prefix(all.rest(start, node.depth), all.rest(end - 1, node.depth));
    let depth = node.depth + prefix.len();
    let rest = |at| all.rest(at, depth);
    let runs: Vec<Run<C>> = runs(start..end, rest);
    let (mut records, mut in_records) = (Vec::new(), Vec::new());
    let slots: Vec<Slot> = runs
        .iter()
        .map(|run| slot(run, rest, &mut records, &mut in_records))
        .collect();
    let children = slots.iter().filter(|slot| matches!(slot, Slot::Child(_)));
    let children = children.count();
    let most = (end - start).max(children + records.len());
    let wide = most >= usize::from(u16::MAX);
    let width = if wide { 4 } else { 2 };
    let put = |column: &mut Vec<u8>, value: usize| {
        column.extend((value as u32).to_le_bytes().iter().take(width));
    };
    let counts = [start, end - start, runs.len(), children];
    out.extend(counts.iter().flat_map(|n| (*n as u32).to_le_bytes()));
    out.extend((prefix.len() as u16).to_le_bytes());
    out.extend((if wide { WIDE } else { 0 }).to_le_bytes());
    out.extend(prefix);
    runs.iter()
        .for_each(|run| out.extend(run.chunk.stored().as_ref()));
    runs.iter()
        .for_each(|run| put(out, run.strings.start - start));
    let children_at = out.len() + slots.len() * width;
    let records_at = children_at + children * 4;
    let mut wait = |strings, at| waiting.push(node.child::<C>(strings, depth, at));
    let mut child = 0;
    for slot in slots {
        match slot {
            Slot::Plain => put(out, 0),
            Slot::Record(at) => put(out, 1 + children + at),
            Slot::Child(separators) => {
                wait(separators, children_at + child * 4);
                child += 1;
                put(out, child);
            }
        }
    }
    out.resize(records_at, 0);
    out.extend(records);
    for (separators, at) in in_records {
        wait(separators, records_at + at);
    }
}

/// What the slot of these separators says. Appends their record, if they need one, and notes where in it the place of which
/// child has to be written.
fn slot<'s, C: Chunk>(
    run: &Run<C>,
    rest: impl Fn(usize) -> &'s [u8],
    records: &mut Vec<u8>,
    children: &mut Vec<(Range<usize>, usize)>,
) -> Slot {
    let separators = run.strings.clone();
    let first = rest(separators.start).len();
    if separators.len() == 1 && first <= C::BYTES && first == run.chunk.length() {
        return Slot::Plain;
    }
    if first > C::BYTES && separators.len() > LIST_MOST {
        return Slot::Child(separators);
    }
    let at = records.len();
    if let Some(child) = record::<C>(&separators, rest, records) {
        children.push((child, records.len()));
        records.extend([0; 4]);
    }
    Slot::Record(at)
}

/// Appends the record of separators with one chunk; `rest` gives their bytes from its start on. Returns those that need a child,
/// whose place has to follow.
fn record<'s, C: Chunk>(
    separators: &Range<usize>,
    rest: impl Fn(usize) -> &'s [u8],
    out: &mut Vec<u8>,
) -> Option<Range<usize>> {
    // Those that end inside the chunk come first, since they are prefixes of the others.
    let ends = |at: &usize| rest(*at).len() <= C::BYTES;
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
                let tail = rest(at).get(C::BYTES..).unwrap_or_default();
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
