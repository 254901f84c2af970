//! Range deletes as a memtable gathers them.

use super::span::{Span, place};
use super::sweep::{Piece, sweep};
use crate::entry::Sequence;
use crate::sync::Arc;

/// So many neighbours of one height become a higher one.
const FAN_OUT: usize = 4;

/// Range deletes that are added one by one, the newest last.
///
/// The logarithmic method of J. L. Bentley and J. B. Saxe, "Decomposable Searching Problems I",
/// 1980: trees of a few heights, of which four alike become one, so that each range delete is
/// taken up once a height. A node never changes. It knows the newest of all its range deletes over
/// each key; who asks for an older one descends, into those of its children that have it. So n
/// range deletes take O(n log n) memory and time however they overlap, and a copy takes O(log n).
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeDeleteTree {
    /// Their heights never ascend.
    roots: Vec<Arc<Node>>,
}

#[derive(Debug)]
struct Node {
    /// What its range deletes delete, and the newest of them: ascending, not overlapping.
    newest: Vec<Range>,
    /// None for a single range delete.
    children: Vec<Arc<Node>>,
    /// The smallest sequence of its range deletes.
    oldest: Sequence,
    height: u32,
}

#[derive(Debug)]
struct Range {
    start: Arc<[u8]>,
    end: Arc<[u8]>,
    sequence: Sequence,
}

impl RangeDeleteTree {
    /// Deletes `start..end`, which is not empty, at `sequence`. Returns how many bytes of memory
    /// that took, reference counts included.
    pub fn insert(&mut self, start: &[u8], end: &[u8], sequence: Sequence) -> usize {
        let leaf = Node::leaf(start, end, sequence);
        let mut bytes = leaf.bytes() + start.len() + end.len() + 4 * size_of::<usize>();
        self.roots.push(Arc::new(leaf));
        while let Some(parent) = self.parent_of_last() {
            bytes += parent.bytes();
            self.roots
                .truncate(self.roots.len() - parent.children.len());
            self.roots.push(Arc::new(parent));
        }
        bytes
    }

    /// The node that takes the place of the last roots, if enough of them are alike.
    fn parent_of_last(&self) -> Option<Node> {
        let from = self.roots.len().checked_sub(FAN_OUT)?;
        let last = self.roots.get(from..)?;
        match last {
            [first, .., last] if first.height == last.height => {}
            _ => return None,
        }
        Some(Node::parent(last.to_vec()))
    }

    /// The greatest sequence, not above `visible`, that deletes `key`.
    pub fn covering(&self, key: &[u8], visible: Sequence) -> Option<Sequence> {
        let sequence = self.around(key, visible).sequence;
        (sequence > 0).then_some(sequence)
    }

    /// What deletes `key` at `visible`, and its neighbours alike.
    pub fn around(&self, key: &[u8], visible: Sequence) -> Span<'_> {
        around(&self.roots, key, visible)
    }

    /// All range deletes, as they were inserted.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        self.roots.iter().for_each(|root| root.gather(&mut pieces));
        pieces
    }
}

fn around<'a>(nodes: &'a [Arc<Node>], key: &[u8], visible: Sequence) -> Span<'a> {
    let spans = nodes.iter().map(|node| node.around(key, visible));
    spans.fold(Span::NOTHING, Span::and)
}

impl Node {
    fn leaf(start: &[u8], end: &[u8], sequence: Sequence) -> Node {
        Node {
            newest: vec![Range {
                start: start.into(),
                end: end.into(),
                sequence,
            }],
            children: Vec::new(),
            oldest: sequence,
            height: 0,
        }
    }

    fn parent(children: Vec<Arc<Node>>) -> Node {
        let pieces = children.iter().flat_map(|child| child.newest_pieces());
        let pieces: Vec<Piece<'_>> = pieces.collect();
        let mut newest: Vec<Range> = Vec::new();
        sweep(&pieces, |start, end, active| {
            let sequence = active.newest();
            match newest.last_mut() {
                Some(last) if last.sequence == sequence && last.end == *start => {
                    last.end = end.clone();
                }
                _ => newest.push(Range {
                    start: start.clone(),
                    end: end.clone(),
                    sequence,
                }),
            }
        });
        newest.shrink_to_fit();
        Node {
            newest,
            oldest: children.iter().map(|child| child.oldest).min().unwrap_or(0),
            height: children.first().map_or(0, |child| child.height + 1),
            children,
        }
    }

    fn newest_pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.newest.iter().map(|range| Piece {
            start: &range.start,
            end: &range.end,
            sequences: std::slice::from_ref(&range.sequence),
        })
    }

    fn gather<'a>(&'a self, pieces: &mut Vec<Piece<'a>>) {
        if self.children.is_empty() {
            pieces.extend(self.newest_pieces());
        }
        self.children.iter().for_each(|child| child.gather(pieces));
    }

    /// The memory of the node itself; keys are shared with its leaves.
    fn bytes(&self) -> usize {
        2 * size_of::<usize>()
            + size_of::<Node>()
            + self.newest.capacity() * size_of::<Range>()
            + self.children.capacity() * size_of::<Arc<Node>>()
    }

    fn around(&self, key: &[u8], visible: Sequence) -> Span<'_> {
        if self.oldest > visible {
            return Span::NOTHING;
        }
        let range = match place(&self.newest, key, |range| (&range.start, &range.end)) {
            Ok(range) => range,
            Err(gap) => return gap,
        };
        let span = Span {
            from: &range.start,
            to: Some(&range.end),
            sequence: range.sequence,
        };
        if range.sequence <= visible {
            return span;
        }
        Span {
            sequence: 0,
            ..span
        }
        .and(around(&self.children, key, visible))
    }
}
