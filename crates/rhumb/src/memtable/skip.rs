//! Passing over entries that a range delete hides, in strides as wide as the list knows them to be
//! older than the range delete.
//!
//! Every link above level 0 has a *mark*: an upper bound for how new the entries are that it passes
//! over. Marks count range deletes, not entries, so that a memtable without range deletes never
//! writes one, and a link is written at most once after each range delete. An entry has the mark
//! that [`Marks::now`] returned when it was inserted. If it is smaller than the mark of a range
//! delete, the entry was inserted before the range delete and is older.

use std::cmp::Ordering as Order;

use super::head::Target;
use super::list::{HEAD, MAX_HEIGHT, NONE, SkipList};
use crate::entry::{MAX_SEQUENCE, Sequence};
use crate::sync::atomic::{AtomicU64, Ordering};

/// The marks of a memtable's range deletes: their sequences, relative to the first.
///
/// Relaxed loads and stores suffice: one writer at a time changes them, and a reader to whom a range
/// delete is visible has synchronised with its writer since.
pub(super) struct Marks {
    /// The sequence of the first range delete; 0 if there is none.
    first: AtomicU64,
    /// The sequence of the newest one; 0 if there is none, `MAX_SEQUENCE` once a range delete came
    /// after an entry that is newer.
    newest: AtomicU64,
}

impl Marks {
    pub fn new() -> Self {
        Marks {
            first: AtomicU64::new(0),
            newest: AtomicU64::new(0),
        }
    }

    /// Notes a range delete. `in_order`: all entries inserted so far are older.
    pub fn note(&self, sequence: Sequence, in_order: bool) {
        let newest = match in_order {
            true => sequence.max(self.newest.load(Ordering::Relaxed)),
            false => MAX_SEQUENCE,
        };
        if self.first.load(Ordering::Relaxed) == 0 {
            self.first.store(sequence, Ordering::Relaxed);
        }
        self.newest.store(newest, Ordering::Relaxed);
    }

    /// The mark of an entry that is inserted now; 0 before the first range delete.
    #[inline]
    pub fn now(&self) -> u32 {
        match self.newest.load(Ordering::Relaxed) {
            0 => 0,
            newest => self.mark(newest),
        }
    }

    /// Entries with smaller marks than this are older than the range delete of a sequence; 0 if that
    /// is not known of any.
    fn of(&self, sequence: Sequence) -> u32 {
        let unknown = self.newest.load(Ordering::Relaxed) == MAX_SEQUENCE;
        let first = self.first.load(Ordering::Relaxed);
        match unknown || first == 0 || sequence < first {
            true => 0,
            false => self.mark(sequence),
        }
    }

    /// Sequences too far from the first share the largest mark, so that none of them is taken for
    /// older than another.
    fn mark(&self, sequence: Sequence) -> u32 {
        let first = self.first.load(Ordering::Relaxed);
        u32::try_from(sequence.saturating_sub(first).saturating_add(1)).unwrap_or(u32::MAX)
    }
}

/// Entries to pass over, going one way from an entry that is one of them: those with a sequence
/// below `sequence`, up to a key.
struct Passing<'a> {
    /// The position of the entry from which to go.
    start: Target<'a>,
    /// Just before the first entry of the key that ends the passing.
    end: Target<'a>,
    sequence: Sequence,
    /// What links with a smaller mark pass over is older than `sequence`.
    mark: u32,
}

impl SkipList {
    /// The first entry after `node` that has at least this sequence, or a key not below `to`;
    /// [`NONE`] if there is none.
    pub fn pass(&self, node: u32, to: &[u8], sequence: Sequence) -> u32 {
        let passing = self.passing(node, to, sequence);
        let found =
            passing.and_then(|passing| self.pass_level(MAX_HEIGHT - 1, HEAD, NONE, &passing));
        found.unwrap_or(NONE)
    }

    /// The last entry before `node` that has at least this sequence, or a key below `from`; [`NONE`]
    /// if there is none.
    pub fn pass_back(&self, node: u32, from: &[u8], sequence: Sequence) -> u32 {
        let passing = self.passing(node, from, sequence);
        let found =
            passing.and_then(|passing| self.pass_level_back(MAX_HEIGHT - 1, HEAD, NONE, &passing));
        found.unwrap_or(NONE)
    }

    fn passing<'a>(&'a self, node: u32, end: &'a [u8], sequence: Sequence) -> Option<Passing<'a>> {
        let record = self.record(node);
        Some(Passing {
            start: self.target(record.key, record.sequence)?,
            end: self.target(end, MAX_SEQUENCE)?,
            sequence,
            mark: self.marks.of(sequence),
        })
    }

    /// Whether the link from `node` on a level passes over older entries only.
    fn passes_older(&self, level: usize, node: u32, passing: &Passing<'_>) -> bool {
        level > 0 && self.node(node).mark(level) < passing.mark
    }

    /// Searches what lies on a level between two nodes that a level above links; `end` is [`NONE`]
    /// for the end of the list.
    fn pass_level(
        &self,
        level: usize,
        mut node: u32,
        end: u32,
        passing: &Passing<'_>,
    ) -> Option<u32> {
        loop {
            let next = self.node(node).next(level);
            let is_last = next == NONE || next == end;
            if !is_last && !self.is_after(next, &passing.start) {
                node = next;
                continue;
            }
            let within = next != NONE && self.is_before_target(next, &passing.end);
            if level > 0
                && !(within && self.passes_older(level, node, passing))
                && let Some(found) = self.pass_level(level - 1, node, next, passing)
            {
                return Some(found);
            }
            if is_last {
                return None;
            }
            if !within || self.record(next).sequence >= passing.sequence {
                return Some(next);
            }
            node = next;
        }
    }

    /// As [`SkipList::pass_level`], for the last entry before the start.
    fn pass_level_back(
        &self,
        level: usize,
        node: u32,
        end: u32,
        passing: &Passing<'_>,
    ) -> Option<u32> {
        // The nodes from the last one with a key below the end of the passing on. Links lead forward
        // only, so they are noted and visited in reverse.
        let mut nodes = vec![node];
        let mut next = self.node(node).next(level);
        while next != NONE && next != end && self.is_before_target(next, &passing.start) {
            if self.is_before_target(next, &passing.end) {
                nodes.clear();
            }
            nodes.push(next);
            next = self.node(next).next(level);
        }
        let mut after = next;
        for at in nodes.into_iter().rev() {
            let is_outside = at == HEAD || self.is_before_target(at, &passing.end);
            if level > 0
                && (is_outside || !self.passes_older(level, at, passing))
                && let Some(found) = self.pass_level_back(level - 1, at, after, passing)
            {
                return Some(found);
            }
            if at == node {
                return None;
            }
            if is_outside || self.record(at).sequence >= passing.sequence {
                return Some(at);
            }
            after = at;
        }
        None
    }

    fn is_before_target(&self, node: u32, target: &Target<'_>) -> bool {
        self.compare_alone(node, target) == Order::Less
    }

    fn is_after(&self, node: u32, target: &Target<'_>) -> bool {
        self.compare_alone(node, target) == Order::Greater
    }

    /// Compares the entry of a node, of whose surroundings nothing is known, with the target.
    fn compare_alone(&self, node: u32, target: &Target<'_>) -> Order {
        self.compare(self.node(node).head(), node, target, (0, 0)).0
    }
}
