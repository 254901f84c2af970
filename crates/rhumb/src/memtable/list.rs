//! A skip list of entries that one writer at a time extends while any number of readers follow it
//! without a lock (Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", 1990).
//!
//! A node of some height is that many neighbouring cells of [`Links`], identified by the number of
//! the first cell. A cell takes 16 bytes, a quarter of a cache line:
//!
//! ```text
//! cell 0, level 0     head of the key | next node, 0 is none | address of the record in the arena
//! cell i, level i     hint            | next node, 0 is none | mark
//! ```
//!
//! A hint is the head of the next node, so that a search can go down a level without reading that
//! node. A mark tells how new the entries are that a link passes over (skip.rs).
//!
//! A search keeps how many bytes of its key it shares with the last node before it and with the
//! first one after it. All that lies between these two nodes shares as many, so heads that leave out
//! no more bytes can be compared as numbers. This depends on nothing but what the search has met
//! itself, so that it is right whatever is inserted meanwhile. Keys of other nodes are read.
//!
//! A node is complete before the first link to it is stored with `Release`, and links are followed
//! with `Acquire`, so readers see complete nodes. The writer stores a node's links from level 0 up
//! and readers follow links from the top level down, so a node that a reader meets on one level can
//! also be found on every lower one. A hint is stored before its link, and the same holds for it: the
//! node of a hint can be found on every lower level. It may be a newer one than the link leads to,
//! and then lies before it, so going down is right.

use std::cmp::Ordering::{self as Order, Greater, Less};
use std::sync::OnceLock;

use rhumb_index::search::prefetch;

use super::head::{Around, Head, Target, compare_from};
use super::insert::Writer;
use super::record::Record;
use super::skip::Marks;
use crate::entry::Sequence;
#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::memory::{Address, Arena, Link, Links};
use crate::sync::Mutex;
use crate::sync::atomic::Ordering;

pub(super) const MAX_HEIGHT: usize = if cfg!(loom) { 2 } else { 12 };

/// The node before all others, whose key is never read. No link leads to it, so a link of 0 means
/// that there is no next node.
pub(super) const HEAD: u32 = 0;
pub(super) const NONE: u32 = 0;

pub(super) struct SkipList {
    pub(super) arena: Arena,
    pub(super) links: Links,
    /// A guess of the prefix that most keys share.
    pub(super) likely_prefix: Box<[u8]>,
    /// The prefix of all keys that have heads: as much of the guess as the first key shares. Unset
    /// while the list is empty.
    pub(super) prefix: OnceLock<Box<[u8]>>,
    pub(super) writer: Mutex<Writer>,
    /// The marks of range deletes.
    pub marks: Marks,
}

#[derive(Clone, Copy)]
pub(super) struct Node<'a>(&'a [Link]);

impl Node<'_> {
    fn load(&self, level: usize, load: impl FnOnce(&Link) -> u32) -> u32 {
        self.0.get(level).map_or(NONE, load)
    }

    pub fn next(&self, level: usize) -> u32 {
        self.load(level, |link| link.next.load(Ordering::Acquire))
    }

    pub fn head(&self) -> Head {
        let head = |link: &Link| Head(link.head.load(Ordering::Relaxed));
        self.0.first().map_or(Head::NONE, head)
    }

    /// The hint for the next node on a level above 0.
    pub fn hint(&self, level: usize) -> Head {
        let hint = |link: &Link| Head(link.head.load(Ordering::Acquire));
        self.0.get(level).map_or(Head::NONE, hint)
    }

    pub fn record(&self) -> Address {
        Address(self.load(0, |link| link.note.load(Ordering::Relaxed)))
    }

    /// The mark of the link on a level above 0.
    pub fn mark(&self, level: usize) -> u32 {
        self.load(level, |link| link.note.load(Ordering::Relaxed))
    }

    /// Raises the mark of the link on a level above 0.
    pub fn raise_mark(&self, level: usize, mark: u32) {
        // A load first, since most links have the newest mark already.
        if let Some(link) = self.0.get(level)
            && link.note.load(Ordering::Relaxed) < mark
        {
            link.note.store(mark, Ordering::Relaxed);
        }
    }

    /// Sets what only the node itself has.
    pub fn set_entry(&self, head: Head, record: Address) {
        if let Some(link) = self.0.first() {
            link.head.store(head.0, Ordering::Relaxed);
            link.note.store(record.0, Ordering::Relaxed);
        }
    }

    /// Replaces the node's own head (level 0), or the hint on a level.
    pub fn set_head(&self, level: usize, head: Head) {
        if let Some(link) = self.0.get(level) {
            link.head.store(head.0, Ordering::Release);
        }
    }

    /// Sets the link on a level, and its hint.
    pub fn set_next(&self, level: usize, node: u32, head: Head, order: Ordering) {
        if let Some(link) = self.0.get(level) {
            if level > 0 {
                link.head.store(head.0, order);
            }
            link.next.store(node, order);
        }
    }
}

impl SkipList {
    /// An empty list for keys that mostly start with `likely_prefix`. The seed, which must not be
    /// 0, determines the heights of nodes.
    pub fn new(likely_prefix: Box<[u8]>, seed: u32) -> Self {
        SkipList {
            arena: Arena::new(),
            links: Links::new(),
            likely_prefix,
            prefix: OnceLock::new(),
            writer: Mutex::new(Writer::new(seed)),
            marks: Marks::new(),
        }
    }

    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Bytes allocated for entries.
    pub fn bytes(&self) -> usize {
        self.arena.bytes_allocated() + self.links.bytes()
    }

    /// Whether there may be room for few further entries only.
    pub fn is_nearly_full(&self) -> bool {
        self.links.is_nearly_full()
    }

    /// The position of `(key, sequence)`; `None` while the list is empty.
    pub fn target<'a>(&self, key: &'a [u8], sequence: Sequence) -> Option<Target<'a>> {
        Some(Target::new(self.prefix.get()?, key, sequence))
    }

    /// The entry of a node.
    pub fn record(&self, node: u32) -> Record<'_> {
        Record::read(&self.arena, self.node(node).record())
    }

    pub fn node(&self, number: u32) -> Node<'_> {
        #[cfg(test)]
        count_visit();
        Node(self.links.cells(number))
    }

    /// Compares the entry of a node with the target, and tells how many bytes their keys share.
    #[inline]
    pub fn compare(
        &self,
        head: Head,
        node: u32,
        target: &Target<'_>,
        around: Around,
    ) -> (Order, usize) {
        match target.compare(head, around) {
            Some(told) => told,
            None => self.compare_unknown(head, node, target, around),
        }
    }

    /// As [`SkipList::compare`], where the head does not tell.
    #[inline(never)]
    pub fn compare_unknown(
        &self,
        head: Head,
        node: u32,
        target: &Target<'_>,
        around: Around,
    ) -> (Order, usize) {
        let shared = target.shared(around);
        let from = if head.skip() <= shared { shared } else { 0 };
        self.compare_keys(node, target, from)
    }

    /// As [`SkipList::compare`], for keys that share at least the first `from` bytes.
    pub fn compare_keys(&self, node: u32, target: &Target<'_>, from: usize) -> (Order, usize) {
        let record = self.record(node);
        let (order, shared) = compare_from(from, record.key, target.key);
        // Newer entries come first.
        let order = order.then_with(|| target.sequence.cmp(&record.sequence));
        (order, shared)
    }

    /// The last node before `(key, sequence)` and the first one at or after it; [`NONE`] where
    /// there is no such node.
    pub fn find(&self, key: &[u8], sequence: Sequence) -> (u32, u32) {
        self.target(key, sequence)
            .map_or((NONE, NONE), |target| self.search(&target))
    }

    fn search(&self, target: &Target<'_>) -> (u32, u32) {
        let (mut below, mut above) = (HEAD, NONE);
        // How many bytes the target shares with them.
        let (mut low, mut high) = (0, 0);
        let mut node = self.node(HEAD);
        for level in (0..MAX_HEIGHT).rev() {
            loop {
                let next = node.next(level);
                // This node, which ended the level above, is after the target.
                if next == above || next == NONE {
                    break;
                }
                let mut hint = (Head::NONE, None);
                if level > 0 {
                    let head = node.hint(level);
                    hint = (head, target.compare(head, (low, high)));
                    if let Some((Greater, told)) = hint.1 {
                        (above, high) = (next, told);
                        break;
                    }
                }
                let candidate = self.node(next);
                let head = candidate.head();
                let (order, told) = match hint {
                    (hint, Some(told)) if hint == head => told,
                    _ => self.compare(head, next, target, (low, high)),
                };
                if order != Less {
                    (above, high) = (next, told);
                    break;
                }
                (below, low) = (next, told);
                node = candidate;
            }
        }
        (below, above)
    }

    /// The first node, or [`NONE`].
    pub fn first(&self) -> u32 {
        self.node(HEAD).next(0)
    }

    /// The node after `node`, or [`NONE`].
    pub fn next(&self, node: u32) -> u32 {
        self.node(node).next(0)
    }

    /// The nodes that are linked on a level, in order: all on level 0, and of those on each level a quarter,
    /// at random, on the next one.
    pub fn linked_on(&self, level: usize) -> impl Iterator<Item = u32> {
        let after = move |node: u32| Some(self.node(node).next(level)).filter(|next| *next != NONE);
        std::iter::successors(after(HEAD), move |node| after(*node))
    }

    /// As [`SkipList::next`], for one who will read the entry of the next node soon.
    pub fn fetch_next(&self, node: u32) -> u32 {
        /// Of most records, all that is not fetched anyway while the rest is read.
        const BYTES: usize = 128;
        let next = Node(self.links.cells(node)).next(0);
        if next != NONE {
            let record = Node(self.links.cells(next)).record();
            prefetch(self.arena.record_onwards(record), 0..BYTES);
        }
        next
    }

    /// The last node, or [`NONE`].
    pub fn last(&self) -> u32 {
        let mut last = HEAD;
        for level in (0..MAX_HEIGHT).rev() {
            loop {
                match self.node(last).next(level) {
                    NONE => break,
                    next => last = next,
                }
            }
        }
        last
    }
}
