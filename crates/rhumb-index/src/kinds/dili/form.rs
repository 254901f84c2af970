//! The byte form: the same tree in fewer bytes, immutable.
//!
//! `FORMAT.md` describes it byte by byte. Cells of 12 bytes (number, rank) are the slots of all
//! leaves, each leaf's followed by its runs. Nodes of 24 bytes are lines with the range of the
//! cells or nodes that they lead to. Slots to which no number belongs hold a copy of the next
//! entry, so that lower bounds need no walk.

mod laying;

use self::laying::Laying;
use super::cell::RUN;
use super::top_down::FirstPhase;
use crate::IndexError;
use crate::bytes::{Reader, u32_of, u64_of};
use crate::kind::Kind;
use crate::kinds::shared::exact::{Layout, Place};
use crate::kinds::shared::fixed_line::FixedLine;
use crate::knob::Settings;

/// The rank in a cell that stands for several numbers.
const SEVERAL: u32 = u32::MAX;

/// Set in an internal node's last place, to tell it from a leaf's.
const INNER: u32 = 1 << 31;

/// The most levels of internal nodes, and of leaves; each nested leaf halves the number of its keys
/// or their range.
const DEEPEST: usize = 64;

/// Bytes before the cells, of a cell, and of a node.
const HEADER: usize = 8;
const CELL: usize = 12;
const NODE: usize = 24;

/// An opened form, read in place.
#[derive(Debug)]
pub(super) struct DiliLayout {
    /// Offset of the nodes. Internal nodes lead only to later nodes.
    nodes_at: usize,
}

impl Layout for DiliLayout {
    fn kind() -> &'static Kind {
        &super::KIND
    }

    fn lay(_: &Settings, entries: &[(u64, u64)], out: &mut Vec<u8>) -> Result<(), IndexError> {
        let plan = FirstPhase::of(entries);
        let laying = Laying::of(&plan, entries);
        let (cells, nodes) = (laying.cells.len(), laying.nodes.len());
        if cells >= SEVERAL as usize || nodes >= INNER as usize {
            return Err(IndexError::Unfit {
                kind: super::KIND.name,
                why: format!("{cells} cells and {nodes} nodes are too many"),
            });
        }
        out.reserve_exact(HEADER + CELL * cells + NODE * nodes);
        out.extend((cells as u32).to_le_bytes());
        out.extend((nodes as u32).to_le_bytes());
        out.extend(laying.cells.as_flattened());
        out.extend(laying.nodes.iter().flat_map(Node::bytes));
        Ok(())
    }

    fn open(bytes: &[u8], _: usize) -> Result<Self, IndexError> {
        let mut reader = Reader::new(super::KIND.name, bytes);
        let (cells, count) = (reader.length()?, reader.length()?);
        reader.take(cells.saturating_mul(CELL))?;
        let at = reader.at();
        let nodes = reader.take(count.saturating_mul(NODE))?;
        reader.end()?;
        let nodes = nodes.as_chunks().0;
        damaged(nodes, cells).map_or(Ok(DiliLayout { nodes_at: at }), |(i, why)| {
            let node = nodes.get(i).map(Node::read);
            Err(reader.damaged_at(at + NODE * i, why, format!("{node:?}")))
        })
    }

    fn find(&self, bytes: &[u8], number: u64) -> Place {
        self.descend(bytes, number).unwrap_or(Place::Before(0))
    }

    #[inline(always)]
    fn find_at_once(&self, bytes: &[u8], number: u64) -> Option<Place> {
        let (key, rank) = entry(bytes, self.cell(bytes, number)?)?;
        let (first, len) = (key as u32 as usize, (key >> 32) as usize);
        match (rank, len) {
            (SEVERAL, 0) => None,
            (SEVERAL, _) => among(bytes, first, len, number),
            _ => Some(Place::of(key, rank.into(), number)),
        }
    }
}

impl DiliLayout {
    /// The place of a number; `None` if the form is damaged.
    fn descend(&self, bytes: &[u8], number: u64) -> Option<Place> {
        let (mut cell, mut least) = (self.cell(bytes, number)?, 0);
        for _ in 0..DEEPEST {
            let (key, rank) = entry(bytes, cell)?;
            if rank != SEVERAL {
                return Some(Place::of(key, rank.into(), number));
            }
            let (first, len) = (key as u32 as usize, (key >> 32) as usize);
            if len > 0 {
                return among(bytes, first, len, number);
            }
            let leaf = self.node(bytes, first)?;
            if first <= least || leaf.is_inner() {
                return None;
            }
            (cell, least) = (leaf.next(number), first);
        }
        None
    }

    #[inline(always)]
    fn node(&self, bytes: &[u8], number: usize) -> Option<Node> {
        let at = self.nodes_at + NODE * number;
        bytes.get(at..)?.first_chunk().map(Node::read)
    }

    /// The cell of a number in the leaf at the end of the internal nodes.
    #[inline(always)]
    fn cell(&self, bytes: &[u8], number: u64) -> Option<usize> {
        let mut node = self.node(bytes, 0)?;
        loop {
            let next = node.next(number);
            if !node.is_inner() {
                return Some(next);
            }
            // A later node, after at most [`DEEPEST`] levels: both are checked when the form is
            // opened.
            node = self.node(bytes, next)?;
        }
    }
}

/// The first invalid node and what was expected there. Takes linear time for any bytes.
fn damaged(nodes: &[[u8; NODE]], cells: usize) -> Option<(usize, String)> {
    if nodes.is_empty() {
        return Some((0, "a root".into()));
    }
    // The number of internal nodes on the way to each node.
    let mut levels = vec![0u8; nodes.len()];
    let mut children = 0;
    for (i, node) in nodes.iter().map(Node::read).enumerate() {
        if !node.is_within(i, cells, nodes.len()) {
            let expected = format!("a node over {cells} cells and {} nodes", nodes.len());
            return Some((i, expected));
        }
        if !node.is_inner() {
            continue;
        }
        let level = levels[i] + 1;
        if usize::from(level) > DEEPEST {
            return Some((
                i,
                format!("at most {DEEPEST} internal nodes below each other"),
            ));
        }
        let below = node.first as usize..=node.first as usize + node.last();
        children += below.clone().count();
        if children >= nodes.len() {
            return Some((i, "nodes with one parent each".into()));
        }
        for child in &mut levels[below] {
            *child = level.max(*child);
        }
    }
    None
}

/// The place of a number among `len` ascending entries from a cell on.
#[inline(always)]
fn among(bytes: &[u8], first: usize, len: usize, number: u64) -> Option<Place> {
    let mut cell = first;
    // If all are below the number, the last one is used.
    let last = first + len.min(RUN) - 1;
    while cell < last && entry(bytes, cell)?.0 < number {
        cell += 1;
    }
    let (key, rank) = entry(bytes, cell)?;
    Some(Place::of(key, rank.into(), number))
}

/// The number and the rank in a cell.
#[inline(always)]
fn entry(bytes: &[u8], cell: usize) -> Option<(u64, u32)> {
    let at = HEADER + CELL * cell;
    let cell = bytes.get(at..at + CELL)?;
    Some((u64_of(cell, 0), u32_of(cell, 2)))
}

fn cell(number: u64, rank: u32) -> [u8; CELL] {
    let mut cell = [0; CELL];
    let bytes = number.to_le_bytes().into_iter().chain(rank.to_le_bytes());
    cell.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    cell
}

#[derive(Debug, Clone, Copy)]
struct Node {
    line: FixedLine,
    first: u32,
    last: u32,
}

impl Default for Node {
    fn default() -> Self {
        Node {
            line: FixedLine::separating(0, 0),
            first: 0,
            last: 0,
        }
    }
}

impl Node {
    /// The cell or node that a number leads to.
    #[inline(always)]
    fn next(&self, number: u64) -> usize {
        let place = self.line.place(number).min(self.last() as u64) as usize;
        self.first as usize + place
    }

    /// Whether the node leads to nodes, not cells.
    #[inline(always)]
    fn is_inner(&self) -> bool {
        self.last & INNER != 0
    }

    /// The last place of the node's line.
    #[inline(always)]
    fn last(&self) -> usize {
        (self.last & !INNER) as usize
    }

    /// Whether all that node `number` leads to exists; an internal node must lead to later nodes.
    fn is_within(&self, number: usize, cells: usize, nodes: usize) -> bool {
        let first = self.first as usize;
        let (least, most) = match self.is_inner() {
            false => (0, cells),
            true => (number + 1, nodes),
        };
        first >= least && first + self.last() < most
    }

    #[inline(always)]
    fn read(bytes: &[u8; NODE]) -> Self {
        let [base, slope] = [0, 1].map(|i| u64_of(bytes, i));
        let [first, last] = [4, 5].map(|i| u32_of(bytes, i));
        Node {
            line: FixedLine { base, slope },
            first,
            last,
        }
    }

    fn bytes(&self) -> [u8; NODE] {
        let FixedLine { base, slope } = self.line;
        let rest = u64::from(self.first) | u64::from(self.last) << 32;
        let mut bytes = [0; NODE];
        let words = [base, slope, rest].map(u64::to_le_bytes);
        let from = words.as_flattened();
        bytes
            .iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = *from);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;
    use crate::registry;

    /// About a hundred thousand uneven keys, which make several levels, runs, and nested leaves.
    fn uneven(random: &mut SplitMix64) -> Vec<u64> {
        let mut keys: Vec<u64> = (0..2_000)
            .flat_map(|_| {
                let (centre, bits) = (random.next_u64(), random.below(60));
                (0..50)
                    .map(|_| centre.saturating_add(random.below(1 << bits)))
                    .collect::<Vec<_>>()
            })
            .chain((0..64).map(|bit| 1 << bit))
            .chain([0, u64::MAX])
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    #[test]
    fn any_number_is_found_or_its_lower_bound() {
        let mut random = SplitMix64::new(6);
        let keys = uneven(&mut random);
        let mut builder = registry::builder(&"dili".parse().unwrap()).unwrap();
        builder.push_numbers(&keys).unwrap();
        let index = registry::open(builder.finish().unwrap()).unwrap();
        let near = keys
            .iter()
            .flat_map(|key| [key.wrapping_sub(1), *key, key.wrapping_add(1)]);
        for number in near.chain((0..50_000).map(|i| random.next_u64() >> (i % 64))) {
            let lo = keys.partition_point(|key| *key < number) as u64;
            let is_there = keys.get(lo as usize) == Some(&number);
            let window = index.window(number);
            assert_eq!(
                (window.lo, window.hi),
                (lo, lo + u64::from(is_there)),
                "{number}"
            );
        }
        let bytes = index.size_in_bytes() / keys.len();
        assert!((16..60).contains(&bytes), "{bytes} bytes a key");
    }

    #[test]
    fn even_keys_take_few_bytes() {
        let mut random = SplitMix64::new(7);
        let keys: Vec<u64> = (0..200_000)
            .map(|i| (i << 20) + random.below(1 << 20))
            .collect();
        let mut builder = registry::builder(&"dili".parse().unwrap()).unwrap();
        builder.push_numbers(&keys).unwrap();
        let bytes = builder.finish().unwrap().len() as f64 / keys.len() as f64;
        println!("{bytes} bytes a key");
        assert!(bytes < 20.0, "{bytes}");
    }

    #[test]
    fn internal_nodes_lead_to_later_nodes() {
        let node = |first, last| Node {
            line: FixedLine::separating(0, 0),
            first,
            last,
        };
        assert!(node(1, 3 | INNER).is_within(0, 9, 5));
        assert!(!node(1, 3 | INNER).is_within(1, 9, 5));
        assert!(!node(1, 4 | INNER).is_within(0, 9, 5));
        assert!(node(0, 8).is_within(3, 9, 5) && !node(1, 8).is_within(3, 9, 5));
        assert!(!node(u32::MAX, u32::MAX).is_within(0, 9, 5));
    }

    /// A form of these nodes and cells.
    fn opened(nodes: &[Node], cells: &[[u8; CELL]]) -> (Vec<u8>, Result<DiliLayout, IndexError>) {
        let counts = [cells.len() as u32, nodes.len() as u32];
        let mut bytes = counts.map(u32::to_le_bytes).concat();
        bytes.extend(cells.as_flattened());
        bytes.extend(nodes.iter().flat_map(Node::bytes));
        let layout = DiliLayout::open(&bytes, 1);
        (bytes, layout)
    }

    fn leads_to(first: usize, last: u32) -> Node {
        Node {
            line: FixedLine::separating(0, 2),
            first: first as u32,
            last,
        }
    }

    #[test]
    fn chains_of_nodes_end() {
        for len in [0, 1, DEEPEST, DEEPEST + 1, 1000] {
            let mut nodes: Vec<Node> = (0..len).map(|i| leads_to(i + 1, INNER)).collect();
            nodes.push(leads_to(0, 0));
            let (bytes, layout) = opened(&nodes, &[cell(7, 0)]);
            assert_eq!(layout.is_ok(), len <= DEEPEST, "{len}: {layout:?}");
            if let Ok(layout) = layout {
                assert_eq!(layout.find(&bytes, 7), Place::At(0));
            }
        }
    }

    #[test]
    fn nodes_have_one_parent() {
        let leaf = leads_to(0, 0);
        let of_two = [leads_to(1, INNER), leads_to(2, INNER), leaf];
        assert!(opened(&of_two, &[cell(7, 0)]).1.is_ok());
        let of_one = [leads_to(1, 1 | INNER), leads_to(2, INNER), leaf];
        let error = opened(&of_one, &[cell(7, 0)]).1.unwrap_err().to_string();
        assert!(error.contains("nodes with one parent each"), "{error}");
        assert!(opened(&[], &[]).1.is_err());
    }

    #[test]
    fn cells_lead_to_later_leaves() {
        let several = |node| cell(node, SEVERAL);
        let at = |nodes: &[Node], cells: &[[u8; CELL]]| {
            let (bytes, layout) = opened(nodes, cells);
            layout.unwrap().find(&bytes, 7)
        };
        let (first, second) = (leads_to(0, 0), leads_to(2, 0));
        let cells = [several(1), several(2), cell(7, 0)];
        assert_eq!(at(&[first, second, first], &cells), Place::At(0));
        // To an internal node, to the node itself, to an earlier node, and to none.
        let inner = leads_to(2, INNER);
        assert_eq!(at(&[first, inner, first], &cells), Place::Before(0));
        assert_eq!(at(&[first, first, first], &cells), Place::Before(0));
        assert_eq!(
            at(&[first, leads_to(1, 0), leads_to(0, 0)], &cells),
            Place::Before(0)
        );
        assert_eq!(at(&[first], &cells), Place::Before(0));
        // A run with more than eight entries is cut.
        let mut run = vec![cell(1 | 9 << 32, SEVERAL)];
        run.extend((0..9).map(|i| cell(i, i as u32)));
        assert_eq!(at(&[first], &run), Place::At(7));
        run[0] = cell(1 | 7 << 32, SEVERAL);
        assert_eq!(at(&[first], &run), Place::After(6));
        run[0] = cell(u64::MAX, SEVERAL);
        assert_eq!(at(&[first], &run), Place::Before(0));
    }
}
