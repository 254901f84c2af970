//! Cuts overlapping ranges into pieces that do not overlap.

use std::collections::BTreeMap;

use crate::entry::Sequence;
use crate::sync::Arc;

/// A range of user keys, deleted at each of `sequences`, borrowed from a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    /// The first key deleted.
    pub start: &'a Arc<[u8]>,
    /// The end of the range, excluded.
    pub end: &'a Arc<[u8]>,
    /// The sequences of the deletes, in any order.
    pub sequences: &'a [Sequence],
}

/// The sequences that delete the keys between two neighbouring cuts; never empty when emitted.
#[derive(Debug, Default)]
pub(super) struct Active {
    /// The number of pieces with each sequence.
    counts: BTreeMap<Sequence, usize>,
}

impl Active {
    fn add(&mut self, sequences: &[Sequence]) {
        for sequence in sequences {
            *self.counts.entry(*sequence).or_default() += 1;
        }
    }

    fn remove(&mut self, sequences: &[Sequence]) {
        for sequence in sequences {
            if let Some(count) = self.counts.get_mut(sequence) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(sequence);
                }
            }
        }
    }

    /// The largest of them; 0 if there are none.
    pub fn newest(&self) -> Sequence {
        self.counts
            .last_key_value()
            .map_or(0, |(newest, _)| *newest)
    }

    /// The largest of them, and the largest visible to each of `snapshots` (ascending): without
    /// repetitions, descending. No reader can observe the others.
    pub fn newest_of_each(&self, snapshots: &[Sequence]) -> Vec<Sequence> {
        let mut kept = Vec::new();
        let mut visible = Sequence::MAX;
        while let Some((&newest, _)) = self.counts.range(..=visible).next_back() {
            kept.push(newest);
            let unseeing = snapshots.partition_point(|&s| s < newest);
            match unseeing.checked_sub(1).and_then(|last| snapshots.get(last)) {
                Some(&snapshot) => visible = snapshot,
                None => break,
            }
        }
        kept
    }
}

/// Cuts `pieces`, which may overlap, at each other's ends, and emits the deleted ranges between
/// neighbouring cuts, ascending. Takes O(n log n) time for n sequences in all, apart from `emit`.
pub(super) fn sweep<'a>(
    pieces: &[Piece<'a>],
    mut emit: impl FnMut(&'a Arc<[u8]>, &'a Arc<[u8]>, &Active),
) {
    let mut opening: Vec<&Piece<'a>> = pieces.iter().collect();
    let mut closing = opening.clone();
    opening.sort_by_key(|piece| piece.start);
    closing.sort_by_key(|piece| piece.end);
    let (mut opening, mut closing) = (opening.iter().peekable(), closing.iter().peekable());
    let mut active = Active::default();
    let mut last_cut = None;
    // A piece opens before it closes, so the sweep ends when no piece is left to close.
    while let Some(end) = closing.peek().map(|piece| piece.end) {
        let start = opening.peek().map(|piece| piece.start);
        let cut = start.filter(|start| *start < end).unwrap_or(end);
        if let Some(last_cut) = last_cut
            && !active.counts.is_empty()
        {
            emit(last_cut, cut, &active);
        }
        last_cut = Some(cut);
        while let Some(piece) = closing.next_if(|piece| piece.end <= cut) {
            active.remove(piece.sequences);
        }
        while let Some(piece) = opening.next_if(|piece| piece.start <= cut) {
            active.add(piece.sequences);
        }
    }
}
