//! The first phase: pieces of keys that lie near a line, layer on layer.
//!
//! The two neighbouring pieces are merged whose merger adds least to the squared errors of the
//! least-squares lines, again and again. Of all the piece counts on the way, the one with the least
//! cost is chosen. The pieces' first keys are the keys of the next layer, until few enough are left
//! for a root.
//!
//! The published procedure starts from pairs of keys. Ours starts from blocks of 8 to 64 keys,
//! depending on the number of keys, since pieces of fewer than 16 keys on average are never chosen.
//! It keeps moments, which are added in constant time, so that a merger takes O(log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::upkeep::LEAF_CAP;
use crate::kinds::shared::least_squares::Moments;
use crate::kinds::shared::logarithm::log2;

/// The most children of a root.
const ROOT: usize = 1 << 16;

/// The published constants: the cost of a level above the leaves, the cost of a step of the search
/// in a leaf, and the factor by which the errors of each higher layer count less.
const LEVEL: f64 = 2.0 + 25.0 / 130.0;
const STEP: f64 = 1.0 + 17.0 / 130.0;
const ABOVE: f64 = 0.1;

/// The cost of a merger for each key of the merged piece, beside errors, so that pieces of straight
/// stretches grow evenly.
const EVENLY: f64 = 1e-3;

/// For each layer from the leaves up, the ranks of its pieces' first keys.
#[derive(Debug)]
pub(super) struct Layers(Vec<Vec<u32>>);

impl Layers {
    pub(super) fn of(entries: &[(u64, u64)]) -> Self {
        let block = (entries.len() >> 19).clamp(8, 64);
        let key = |i: usize| entries.get(i).map_or(0, |entry| entry.0);
        let mut ranks = merged(entries.len(), block, 0, key);
        let mut layers = Vec::new();
        while ranks.len() > ROOT {
            let key = |i: usize| ranks.get(i).map_or(0, |rank| key(*rank as usize));
            let block = (ranks.len() >> 19).max(1);
            let above = merged(ranks.len(), block, layers.len() as i32 + 1, key);
            let above = above.iter().map(|i| ranks[*i as usize]).collect();
            layers.push(std::mem::replace(&mut ranks, above));
        }
        layers.push(ranks);
        Layers(layers)
    }

    /// The highest layer.
    pub(super) fn height(&self) -> usize {
        self.0.len() - 1
    }

    /// The first ranks of the pieces of a layer that start within `lo..hi`.
    pub(super) fn pieces(&self, layer: usize, lo: usize, hi: usize) -> &[u32] {
        let ranks = self.0.get(layer).map_or(&[][..], Vec::as_slice);
        let below = |rank: usize| ranks.partition_point(|start| (*start as usize) < rank);
        ranks.get(below(lo)..below(hi)).unwrap_or_default()
    }
}

/// A piece among its neighbours.
#[derive(Debug, Clone, Copy)]
struct Piece {
    moments: Moments,
    error: f64,
    start: u32,
    next: u32,
    previous: u32,
    /// How often the piece changed; `u32::MAX` once it is merged into another.
    version: u32,
}

const NONE: u32 = u32::MAX;

/// Pieces during merging.
struct Merging {
    pieces: Vec<Piece>,
    /// The most keys in a piece.
    most: f64,
    /// Candidate mergers of a piece with the next one: their cost (as bits: it is not negative),
    /// the piece, and its version.
    candidates: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

impl Merging {
    fn new(len: usize, block: usize, most: usize, key: impl Fn(usize) -> u64) -> Self {
        let count = len.div_ceil(block);
        let pieces: Vec<Piece> = (0..count)
            .map(|i| {
                let moments = Moments::of(i * block..len.min((i + 1) * block), &key);
                Piece {
                    moments,
                    error: moments.error(),
                    start: (i * block) as u32,
                    next: if i + 1 < count { i as u32 + 1 } else { NONE },
                    previous: (i as u32).wrapping_sub(1),
                    version: 0,
                }
            })
            .collect();
        let mut merging = Merging {
            most: most as f64,
            candidates: BinaryHeap::new(),
            pieces,
        };
        let all = (0..count as u32).filter_map(|i| merging.candidate(i));
        merging.candidates = all.collect::<Vec<_>>().into();
        merging
    }

    fn candidate(&self, i: u32) -> Option<Reverse<(u64, u32, u32)>> {
        let piece = self.pieces.get(i as usize)?;
        let next = self.pieces.get(piece.next as usize)?;
        let merged = piece.moments.with(&next.moments);
        if merged.count > self.most {
            return None;
        }
        let added = (merged.error() - piece.error - next.error).max(0.0);
        let rank = added + merged.count * EVENLY;
        Some(Reverse((rank.to_bits(), i, piece.version)))
    }

    /// Performs the cheapest merger. Returns the start of the piece that disappears and the added
    /// error.
    fn step(&mut self) -> Option<(u32, f64)> {
        loop {
            let Reverse((_, i, version)) = self.candidates.pop()?;
            let left = self.pieces[i as usize];
            if left.version != version {
                continue;
            }
            let right = self.pieces[left.next as usize];
            let moments = left.moments.with(&right.moments);
            self.pieces[left.next as usize].version = u32::MAX;
            let merged = &mut self.pieces[i as usize];
            merged.moments = moments;
            merged.error = moments.error();
            merged.next = right.next;
            merged.version += 1;
            if let Some(next) = self.pieces.get_mut(right.next as usize) {
                next.previous = i;
            }
            self.candidates.extend(self.candidate(i));
            if let Some(previous) = self.pieces.get_mut(left.previous as usize) {
                previous.version += 1;
                self.candidates.extend(self.candidate(left.previous));
            }
            let added = moments.error() - left.error - right.error;
            return Some((right.start, added.max(0.0)));
        }
    }
}

/// The average cost of passing through the layers from one with this many pieces over this many
/// keys and this root-mean-square error up to the root.
fn cost(height: i32, pieces: f64, keys: f64, error: f64) -> f64 {
    let levels = 1.0 + log2(pieces) / log2((keys / pieces).max(2.0));
    let search = 2.0 * log2(1.0 + error);
    let share = (0..height).fold(1.0, |share, _| share * ABOVE);
    LEVEL * levels + STEP * share * search
}

/// The first ranks of the pieces in the best division of `len` keys.
fn merged(len: usize, block: usize, height: i32, key: impl Fn(usize) -> u64) -> Vec<u32> {
    let mut merging = Merging::new(len, block, if height == 0 { LEAF_CAP } else { len }, key);
    // As published: pieces of 16 to 200 keys on average in the lowest layer, of 100 to 10,000
    // above.
    let (fewest, most) = match height {
        0 => (len / 200, len / 16),
        _ => (len / 10_000, len / 100),
    };
    let mut error: f64 = merging.pieces.iter().map(|piece| piece.error).sum();
    let mut pieces = merging.pieces.len();
    let mut gone = Vec::new();
    let mut best = (f64::INFINITY, 0);
    loop {
        if pieces <= most.max(1) {
            let rms = (error / len as f64).sqrt();
            let cost = cost(height, pieces as f64, len as f64, rms);
            if cost < best.0 {
                best = (cost, gone.len());
            }
        }
        if pieces <= fewest.max(1) {
            break;
        }
        let Some((start, added)) = merging.step() else {
            break;
        };
        gone.push(start);
        error += added;
        pieces -= 1;
    }
    gone.truncate(best.1);
    gone.sort_unstable();
    let mut gone = gone.into_iter().peekable();
    let starts = (0..len.div_ceil(block)).map(|i| (i * block) as u32);
    starts
        .filter(|start| gone.next_if_eq(start).is_none())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_where_the_slope_changes() {
        // Two slopes: when two pieces are left, one ends at the bend.
        let keys: Vec<u64> = (0..800u64)
            .map(|i| if i < 400 { i } else { 400 + (i - 400) * 1000 })
            .collect();
        let mut merging = Merging::new(keys.len(), 8, 800, |i| keys[i]);
        for _ in 0..98 {
            merging.step();
        }
        let left: Vec<u32> = merging
            .pieces
            .iter()
            .filter(|piece| piece.version != u32::MAX)
            .map(|piece| piece.start)
            .collect();
        assert_eq!(left, [0, 400]);
    }

    #[test]
    fn straight_stretches_make_even_pieces() {
        let entries: Vec<(u64, u64)> = (0..40_000).map(|i| (i * 3, i)).collect();
        let layers = Layers::of(&entries);
        let starts = layers.pieces(0, 0, entries.len());
        let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(longest < Some(1_000), "{longest:?}");
    }

    #[test]
    fn layers_end_in_a_root() {
        for len in [0, 1, 2, 7, 8, 9, 1000, 300_000] {
            let entries: Vec<(u64, u64)> = (0..len).map(|i| (i * i, i)).collect();
            let layers = Layers::of(&entries);
            let top = layers.pieces(layers.height(), 0, len as usize).len();
            assert!(top <= ROOT && (top > 0) == (len > 0), "{len}: {top}");
            if len > 200 {
                let pieces = layers.pieces(0, 0, len as usize).len() as u64;
                assert!((len / 200..=len / 16).contains(&pieces), "{len}: {pieces}");
            }
        }
    }

    #[test]
    fn no_piece_exceeds_a_leaf() {
        // Consecutive keys, which are cheap to join, and as many blocks that are not as there are
        // pieces in the end.
        let key = |i: u64| match i.checked_sub(60_000) {
            None => i,
            Some(i) => (i / 8 + 1) << 50 | 1 << (6 * (i % 8)),
        };
        let entries: Vec<(u64, u64)> = (0..62_480).map(|i| (key(i), i)).collect();
        let layers = Layers::of(&entries);
        let starts = layers.pieces(0, 0, entries.len());
        let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(longest <= Some(LEAF_CAP as u32), "{longest:?}");
    }
}
