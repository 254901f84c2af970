//! Range deletes as a memtable collects them.

use super::span::{Span, place};
use super::sweep::{Piece, sweep};
use crate::entry::Sequence;
use crate::sync::Arc;

/// This many neighbouring roots of one height become the children of a new root.
const FAN_OUT: usize = 4;

/// Range deletes that are added one by one, the newest last.
///
/// The logarithmic method of J. L. Bentley and J. B. Saxe, "Decomposable Searching Problems I",
/// 1980: four neighbouring trees of equal height become one, so each range delete is copied at most
/// once a height. A node never changes. It knows the newest of its range deletes over each key; a
/// reader at an older sequence descends into the children whose oldest range delete is visible to
/// it. So n range deletes take O(n log n) memory and time however they overlap, and a copy takes
/// O(log n).
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeDeleteTree {
    /// The roots; from each to the next the height stays or falls.
    roots: Vec<Arc<Node>>,
}

#[derive(Debug)]
struct Node {
    /// The union of its range deletes with the newest sequence over each key: ascending ranges that
    /// do not overlap.
    newest: Vec<Range>,
    /// Empty for a single range delete.
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
    /// Deletes `start..end`, which is not empty, at `sequence`. Returns the memory that this took
    /// in bytes, including reference counts.
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

    /// A parent for the last roots, if enough of them have the same height.
    fn parent_of_last(&self) -> Option<Node> {
        let from = self.roots.len().checked_sub(FAN_OUT)?;
        let last = self.roots.get(from..)?;
        match last {
            [first, .., last] if first.height == last.height => {}
            _ => return None,
        }
        Some(Node::parent(last.to_vec()))
    }

    /// The largest sequence, not above `visible`, that deletes `key`.
    pub fn covering(&self, key: &[u8], visible: Sequence) -> Option<Sequence> {
        self.around(key, visible).covering()
    }

    /// The largest sequence, not above `visible`, that deletes `key`, and a range of keys around
    /// `key` for which it is the same.
    pub fn around(&self, key: &[u8], visible: Sequence) -> Span<'_> {
        around(&self.roots, key, visible)
    }

    /// All range deletes, as inserted.
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

    /// The memory of the node itself in bytes; its keys are shared with the leaves.
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
