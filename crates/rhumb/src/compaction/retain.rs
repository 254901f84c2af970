//! Which versions survive a flush or a compaction.
//!
//! Snapshots cut the sequences into *stripes*: two versions are in the same stripe if every snapshot
//! that sees the older one sees the newer one too. Of each stripe of a user key only the newest
//! version can be read, and not even that if a range delete of the same stripe is newer.

use crate::entry::{EntryKind, Sequence};

/// What becomes of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nobody can read it, or tell it from nothing.
    Drop,
    /// It is kept, with this sequence.
    Keep(Sequence),
}

/// Where a user key is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// No deeper level may hold the key.
    pub bottom: bool,
    /// A range delete over the key stays: for a snapshot, or for deeper keys of its range.
    pub under_range_delete: bool,
}

/// Decides on versions in internal order: keys ascending, each one's versions newest first.
#[derive(Debug)]
pub(super) struct Retain<'a> {
    /// Ascending.
    snapshots: &'a [Sequence],
    /// Sequences of the range deletes over the current key, descending.
    covering: &'a [Sequence],
    place: Place,
    /// The stripe of the last version of the current key.
    stripe: Option<usize>,
}

impl<'a> Retain<'a> {
    pub fn new(snapshots: &'a [Sequence]) -> Self {
        Retain {
            snapshots,
            covering: &[],
            place: Place::default(),
            stripe: None,
        }
    }

    /// Begins a user key. `covering` are the sequences, descending, of the range deletes over it in
    /// the inputs.
    pub fn begin_key(&mut self, covering: &'a [Sequence], place: Place) {
        self.covering = covering;
        self.place = place;
        self.stripe = None;
    }

    /// Decides on the next version of the current key.
    pub fn version(&mut self, sequence: Sequence, kind: EntryKind) -> Fate {
        let stripe = stripe(self.snapshots, sequence);
        if self.stripe.replace(stripe) == Some(stripe) || self.is_covered(sequence, stripe) {
            return Fate::Drop;
        }
        // The oldest stripe: seen by all, so that nothing older is needed.
        if !self.place.bottom || stripe > 0 {
            return Fate::Keep(sequence);
        }
        if kind == EntryKind::Delete {
            return Fate::Drop;
        }
        // An older range delete would hide a sequence of 0.
        Fate::Keep(if self.place.under_range_delete {
            sequence
        } else {
            0
        })
    }

    fn is_covered(&self, sequence: Sequence, own: usize) -> bool {
        let newer = self.covering.iter().take_while(|&&s| s > sequence);
        newer
            .last()
            .is_some_and(|&s| stripe(self.snapshots, s) == own)
    }
}

/// The number of snapshots that do not see `sequence`.
pub(super) fn stripe(snapshots: &[Sequence], sequence: Sequence) -> usize {
    snapshots.partition_point(|&s| s < sequence)
}

/// Decides on the range deletes of one fragment, newest first: one a stripe is enough, and none of
/// the oldest stripe if no deeper level may hold a key of the fragment.
#[derive(Debug)]
pub(super) struct RetainRanges<'a> {
    snapshots: &'a [Sequence],
    stripe: Option<usize>,
}

impl<'a> RetainRanges<'a> {
    pub fn new(snapshots: &'a [Sequence]) -> Self {
        RetainRanges {
            snapshots,
            stripe: None,
        }
    }

    /// Begins a fragment.
    pub fn begin_fragment(&mut self) {
        self.stripe = None;
    }

    /// Whether the next sequence of the fragment is needed.
    pub fn keep(&mut self, sequence: Sequence, bottom: bool) -> bool {
        let stripe = stripe(self.snapshots, sequence);
        let newest = self.stripe.replace(stripe) != Some(stripe);
        newest && !(bottom && stripe == 0)
    }
}
