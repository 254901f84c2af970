//! Ranges that may overlap are cut into pieces that do not.

use std::collections::BTreeMap;

use crate::entry::Sequence;
use crate::sync::Arc;

/// A range of user keys, deleted at each of `sequences`, as it lies in some list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    /// The first key deleted.
    pub start: &'a Arc<[u8]>,
    /// The first key behind `start` that is not deleted.
    pub end: &'a Arc<[u8]>,
    /// When, in any order.
    pub sequences: &'a [Sequence],
}

/// The sequences that delete the keys between two neighbouring cuts. Never empty when it is shown.
#[derive(Debug, Default)]
pub(super) struct Active {
    /// How many pieces have each sequence.
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

    /// The greatest of them; 0 if there are none.
    pub fn newest(&self) -> Sequence {
        self.counts
            .last_key_value()
            .map_or(0, |(newest, _)| *newest)
    }

    /// The greatest of them, and of those that each of `snapshots` (ascending) sees: descending,
    /// each once. What these delete is all that somebody can tell.
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

/// Cuts `pieces`, which may overlap, at each other's ends, and emits what is between two cuts and
/// deleted, ascending. Takes time proportional to the number of sequences, but for sorting.
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
    // A piece closes after it was opened, so when none is left to close all is done.
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
