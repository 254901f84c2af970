//! Which versions survive a flush or a compaction.
//!
//! Snapshots divide the sequences into *stripes*: two versions are in the same stripe if every
//! snapshot that sees the older one also sees the newer one. Only the newest version of a user key
//! in each stripe can be read, and not even that one if a newer range delete of the same stripe
//! covers it.

use crate::entry::{EntryKind, Sequence};

/// What happens to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is dropped: no reader can see it or its effect.
    Drop,
    /// It is kept, with this sequence.
    Keep(Sequence),
}

/// What surrounds a user key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyContext {
    /// No deeper level may hold the key.
    pub bottom: bool,
    /// A range delete over the key is kept, for a snapshot or for deeper keys of its range.
    pub under_range_delete: bool,
}

/// Decides on versions in internal order: keys ascending, the versions of each key newest first.
#[derive(Debug)]
pub(super) struct Retain<'a> {
    /// Ascending.
    snapshots: &'a [Sequence],
    /// Sequences of the range deletes over the current key, descending.
    covering: &'a [Sequence],
    context: KeyContext,
    /// The stripe of the previous version of the current key.
    stripe: Option<usize>,
}

impl<'a> Retain<'a> {
    pub fn new(snapshots: &'a [Sequence]) -> Self {
        Retain {
            snapshots,
            covering: &[],
            context: KeyContext::default(),
            stripe: None,
        }
    }

    /// Begins a user key. `covering` are the sequences, descending, of the inputs' range deletes
    /// over it.
    pub fn begin_key(&mut self, covering: &'a [Sequence], context: KeyContext) {
        self.covering = covering;
        self.context = context;
        self.stripe = None;
    }

    /// Begins a user key like the one before it, with a put, which survives where no range delete is over the two. Returns its sequence.
    #[inline]
    pub fn begin_put(&mut self, sequence: Sequence) -> Sequence {
        let stripe = stripe(self.snapshots, sequence);
        self.stripe = Some(stripe);
        match self.context.bottom && stripe == 0 {
            true => 0,
            false => sequence,
        }
    }

    /// Whether the sequence of each put that begins a key as [`Retain::begin_put`] does becomes 0.
    pub fn forgets_sequences(&self) -> bool {
        self.context.bottom && self.snapshots.is_empty()
    }

    /// Decides on the next version of the current key.
    pub fn version(&mut self, sequence: Sequence, kind: EntryKind) -> Fate {
        let stripe = stripe(self.snapshots, sequence);
        if self.stripe.replace(stripe) == Some(stripe) || self.is_covered(sequence, stripe) {
            return Fate::Drop;
        }
        // Versions of the oldest stripe are visible to all readers, so nothing older is needed.
        if !self.context.bottom || stripe > 0 {
            return Fate::Keep(sequence);
        }
        if kind == EntryKind::Delete {
            return Fate::Drop;
        }
        // With sequence 0 it would be hidden by an older range delete.
        Fate::Keep(if self.context.under_range_delete {
            sequence
        } else {
            0
        })
    }

    /// The largest sequence of a version behind the last one that a reader may need, which is that of the next snapshot; 0 if all
    /// see the last one.
    #[inline]
    pub fn needed_behind(&self) -> Sequence {
        let older = self.stripe.and_then(|stripe| stripe.checked_sub(1));
        older
            .and_then(|stripe| self.snapshots.get(stripe))
            .copied()
            .unwrap_or(0)
    }

    fn is_covered(&self, sequence: Sequence, own: usize) -> bool {
        let newer = self.covering.iter().take_while(|&&s| s > sequence);
        newer
            .last()
            .is_some_and(|&s| stripe(self.snapshots, s) == own)
    }
}

/// The newest of descending `sequences`, those of range deletes over a key, that all snapshots see: of
/// the versions of the key, nothing older is needed. 0 if there is none.
pub(super) fn newest_for_all(snapshots: &[Sequence], sequences: &[Sequence]) -> Sequence {
    let newest = sequences.iter().find(|s| stripe(snapshots, **s) == 0);
    newest.copied().unwrap_or(0)
}

/// The stripe of `sequence`: the number of snapshots that do not see it.
pub(super) fn stripe(snapshots: &[Sequence], sequence: Sequence) -> usize {
    snapshots.partition_point(|&s| s < sequence)
}

/// Decides on the range deletes of one fragment, newest first: one in each stripe is enough, and
/// none in the oldest stripe if no deeper level may hold a key of the fragment.
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
