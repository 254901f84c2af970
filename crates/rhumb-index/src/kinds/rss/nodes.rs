//! Lays out the nodes of a tree: parents before their children, so that a search always ends.

use std::ops::Range;

use super::chunk::Chunk;
use crate::search::common_prefix;

/// A node that is still to be laid out.
pub(super) struct Waiting {
    /// The strings that it covers.
    pub strings: Range<usize>,
    /// How many of their bytes the nodes above it compare.
    pub depth: usize,
    /// How many nodes are above it.
    pub level: usize,
    /// Where its place has to be written.
    place_at: Option<usize>,
}

impl Waiting {
    /// A child for strings that share a chunk behind `depth` bytes; its place has to be written at `place_at`.
    pub fn child<C: Chunk>(&self, strings: Range<usize>, depth: usize, place_at: usize) -> Waiting {
        Waiting {
            strings,
            depth: depth + C::BYTES,
            level: self.level + 1,
            place_at: Some(place_at),
        }
    }
}

/// The nodes over so many strings. `lay_out` appends a node, and its children to those that wait.
pub(super) fn lay_out_all(
    strings: usize,
    mut lay_out: impl FnMut(Waiting, &mut Vec<u8>, &mut Vec<Waiting>),
) -> Vec<u8> {
    let (mut nodes, mut waiting) = (Vec::new(), Vec::new());
    if strings > 0 {
        waiting.push(Waiting {
            strings: 0..strings,
            depth: 0,
            level: 0,
            place_at: None,
        });
    }
    while let Some(next) = waiting.pop() {
        let place = nodes.len() as u32;
        let bytes = next.place_at.and_then(|at| nodes.get_mut(at..at + 4));
        if let Some(bytes) = bytes {
            bytes.copy_from_slice(&place.to_le_bytes());
        }
        lay_out(next, &mut nodes, &mut waiting);
    }
    nodes
}

/// What the first and the last of ascending strings share is shared by all. The length of a prefix has two bytes; the rest of a
/// longer one is the prefix of a child.
pub(super) fn shared_prefix<'s>(first: &'s [u8], last: &[u8]) -> &'s [u8] {
    let shared = common_prefix(first, last).min(usize::from(u16::MAX));
    first.get(..shared).unwrap_or_default()
}

/// Strings with one chunk.
pub(super) struct Run<C> {
    pub chunk: C,
    pub strings: Range<usize>,
}

/// The runs of ascending strings; `rest` gives a string from the chunk on.
pub(super) fn runs<'s, C: Chunk>(
    strings: Range<usize>,
    rest: impl Fn(usize) -> &'s [u8],
) -> Vec<Run<C>> {
    let mut runs: Vec<Run<C>> = Vec::new();
    for at in strings {
        let chunk = C::of(rest(at));
        match runs.last_mut().filter(|run| run.chunk == chunk) {
            Some(run) => run.strings.end = at + 1,
            None => runs.push(Run {
                chunk,
                strings: at..at + 1,
            }),
        }
    }
    runs
}
