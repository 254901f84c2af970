//! A skip list of entries that one writer at a time extends while any number of readers follow it
//! without a lock (Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", 1990).
//!
//! A node is a sequence of words of [`Links`], identified by the number of the first word:
//!
//! ```text
//! 0..2  abbreviation of the key, high half first: most comparisons read nothing else
//! 2     address of the record in the arena
//! 3     the next node on level 0; 0 is none
//! 4..   four words for each further level up to the node's height: the next node there, a hint
//!       (two words), and a mark
//! ```
//!
//! A hint is the abbreviation of the next node, so that a search can go down a level without
//! reading that node. While the writer changes a hint, a reader may see half of the old and half of
//! the new one. This does no harm: going down is always correct, and a search reads the node itself
//! before it moves to it or, on level 0, ends there.
//!
//! A mark tells how new the entries are that a link passes over (skip.rs).
//!
//! A node is complete before the first link to it is stored with `Release`, and links are followed
//! with `Acquire`, so readers see complete nodes. The writer stores a node's links from level 0 up
//! and readers follow links from the top level down, so a node that a reader meets on one level can
//! also be found on every lower one.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::sync::OnceLock;

use rhumb_index::search::common_prefix;

use super::record::Record;
use super::skip::Marks;
#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::entry::{EntryKind, Sequence, abbreviate};
use crate::memory::{Address, Arena, Links};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, lock};

pub(super) const MAX_HEIGHT: usize = if cfg!(loom) { 2 } else { 12 };

/// The node before all others, whose key is never read. No link leads to it, so a link of 0 means
/// that there is no next node.
pub(super) const HEAD: u32 = 0;
pub(super) const NONE: u32 = 0;

/// Words of a node.
const RECORD_AT: usize = 2;
const LINKS_AT: usize = 3;
const HINTED_LINKS_AT: usize = 4;

/// The word with a node's link on a level.
fn link_at(level: usize) -> usize {
    match level {
        0 => LINKS_AT,
        level => HINTED_LINKS_AT + 4 * (level - 1),
    }
}

/// The number of words of a node of some height, at least 1.
fn node_words(height: usize) -> usize {
    link_at(height)
}

/// A position in the list: just before the first entry that is not before this key and sequence.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    abbreviation: u64,
    key: &'a [u8],
    sequence: Sequence,
}

pub(super) struct SkipList {
    arena: Arena,
    links: Links,
    /// A guess of the prefix that most keys share.
    likely_prefix: Box<[u8]>,
    /// The prefix that abbreviations leave out: as much of the guess as the first key shares. Unset
    /// while the list is empty.
    prefix: OnceLock<Box<[u8]>>,
    writer: Mutex<Writer>,
    /// The marks of range deletes.
    pub marks: Marks,
}

/// A node as the writer remembers it, with its abbreviation for comparisons.
#[derive(Clone, Copy, Default)]
pub(super) struct Finger {
    node: u32,
    pub abbreviation: u64,
}

/// The writer's position: on each level, the last node before it and the first one after it.
struct Writer {
    below: [Finger; MAX_HEIGHT],
    above: [Finger; MAX_HEIGHT],
    random: u32,
    /// Whether every entry came behind all others.
    ascending: bool,
}

/// The result of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    New,
    /// An entry of this key and sequence exists already and was left unchanged.
    Duplicate,
    /// The arena or the links are full; nothing was inserted.
    Full,
}

#[derive(Clone, Copy)]
pub(super) struct Node<'a>(&'a [AtomicU32]);

impl Node<'_> {
    fn load(&self, word: usize, order: Ordering) -> u32 {
        self.0.get(word).map_or(NONE, |word| word.load(order))
    }

    fn store(&self, word: usize, number: u32, order: Ordering) {
        if let Some(word) = self.0.get(word) {
            word.store(number, order);
        }
    }

    fn load_wide(&self, word: usize) -> u64 {
        let [high, low] = [word, word + 1].map(|word| self.load(word, Ordering::Relaxed));
        u64::from(high) << 32 | u64::from(low)
    }

    fn store_wide(&self, word: usize, number: u64) {
        self.store(word, (number >> 32) as u32, Ordering::Relaxed);
        self.store(word + 1, number as u32, Ordering::Relaxed);
    }

    pub fn abbreviation(&self) -> u64 {
        self.load_wide(0)
    }

    fn record(&self) -> Address {
        Address(self.load(RECORD_AT, Ordering::Relaxed))
    }

    pub fn next(&self, level: usize) -> u32 {
        self.load(link_at(level), Ordering::Acquire)
    }

    /// The hint for the next node on a level above 0.
    fn hint(&self, level: usize) -> u64 {
        self.load_wide(link_at(level) + 1)
    }

    /// The mark of the link on a level above 0.
    pub fn mark(&self, level: usize) -> u32 {
        self.load(link_at(level) + 3, Ordering::Relaxed)
    }

    /// Raises the mark of the link on a level above 0.
    fn raise_mark(&self, level: usize, mark: u32) {
        // A load first, since most links have the newest mark already.
        if self.mark(level) < mark {
            self.store(link_at(level) + 3, mark, Ordering::Relaxed);
        }
    }

    /// Sets the link on a level, and its hint, to the node of `next`.
    fn set_next(&self, level: usize, next: &Finger, order: Ordering) {
        if level > 0 {
            self.store_wide(link_at(level) + 1, next.abbreviation);
        }
        self.store(link_at(level), next.node, order);
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
            writer: Mutex::new(Writer {
                below: Default::default(),
                above: Default::default(),
                random: seed,
                ascending: true,
            }),
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

    /// The position of `(key, sequence)`; `None` while the list is empty.
    pub fn target<'a>(&self, key: &'a [u8], sequence: Sequence) -> Option<Target<'a>> {
        Some(Target {
            abbreviation: abbreviate(self.prefix.get()?, key),
            key,
            sequence,
        })
    }

    /// The entry of a node.
    pub fn record(&self, node: u32) -> Record<'_> {
        Record::read(&self.arena, self.node(node).record())
    }

    pub fn node(&self, number: u32) -> Node<'_> {
        #[cfg(test)]
        count_visit();
        Node(self.links.words(number))
    }

    /// Whether the entry of a node, whose abbreviation is given, is before the target.
    pub fn is_before(&self, abbreviation: u64, node: u32, target: &Target<'_>) -> bool {
        match abbreviation.cmp(&target.abbreviation) {
            Less => true,
            Greater => false,
            Equal => {
                let record = self.record(node);
                match record.key.cmp(target.key) {
                    Less => true,
                    Greater => false,
                    Equal => record.sequence > target.sequence,
                }
            }
        }
    }

    /// The last node before `(key, sequence)` and the first one at or after it; [`NONE`] where
    /// there is no such node.
    pub fn find(&self, key: &[u8], sequence: Sequence) -> (u32, u32) {
        self.target(key, sequence)
            .map_or((NONE, NONE), |target| self.search(&target))
    }

    fn search(&self, target: &Target<'_>) -> (u32, u32) {
        let mut below = HEAD;
        let mut above = NONE;
        let mut node = self.node(HEAD);
        for level in (0..MAX_HEIGHT).rev() {
            loop {
                let next = node.next(level);
                // This node, which ended the level above, is after the target.
                if next == above || next == NONE {
                    break;
                }
                if level > 0 && node.hint(level) > target.abbreviation {
                    break;
                }
                let candidate = self.node(next);
                if !self.is_before(candidate.abbreviation(), next, target) {
                    above = next;
                    break;
                }
                below = next;
                node = candidate;
            }
        }
        (below, above)
    }

    /// The finger of a node.
    pub fn finger(&self, node: u32) -> Finger {
        Finger {
            node,
            abbreviation: self.node(node).abbreviation(),
        }
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

    /// Inserts an entry. Writers wait for each other; readers do not wait.
    pub fn insert(
        &self,
        key: &[u8],
        sequence: Sequence,
        kind: EntryKind,
        value: &[u8],
    ) -> Inserted {
        let mut writer = lock(&self.writer);
        let Some(target) = self.begin(key).and_then(|()| self.target(key, sequence)) else {
            return Inserted::Full;
        };
        self.go_to(&mut writer, &target);
        if self.is_at(&writer.above[0], &target) {
            return Inserted::Duplicate;
        }
        let height = writer.random_height();
        let Some(record) = Record::append(&self.arena, key, sequence, kind, value) else {
            return Inserted::Full;
        };
        let Some(node) = self.links.allocate(node_words(height)) else {
            return Inserted::Full;
        };
        let finger = Finger {
            node,
            abbreviation: target.abbreviation,
        };
        writer.ascending &= writer.above[0].node == NONE;
        self.link(&mut writer, finger, record, height);
        Inserted::New
    }

    /// Whether every entry was inserted behind all others.
    pub fn is_ascending(&self) -> bool {
        lock(&self.writer).ascending
    }

    /// Prepares the list for its first key, unless that was done; `None` if the links are full.
    fn begin(&self, key: &[u8]) -> Option<()> {
        if self.prefix.get().is_none() {
            let head = self.links.allocate(node_words(MAX_HEIGHT))?;
            debug_assert_eq!(head, HEAD, "the head is the first node");
            let alike = common_prefix(&self.likely_prefix, key);
            self.prefix
                .get_or_init(|| key.get(..alike).unwrap_or_default().into());
        }
        Some(())
    }

    /// Whether the entry of `finger` has the target's key and sequence.
    pub fn is_at(&self, finger: &Finger, target: &Target<'_>) -> bool {
        if finger.node == NONE || finger.abbreviation != target.abbreviation {
            return false;
        }
        let record = self.record(finger.node);
        record.sequence == target.sequence && record.key == target.key
    }

    /// Moves the writer's position to the target: up to the first level on which the target lies
    /// between the fingers, then down again. So a key near the last one, as in sorted or nearly
    /// sorted input, costs a few comparisons.
    fn go_to(&self, writer: &mut Writer, target: &Target<'_>) {
        let before = |f: &Finger| self.is_before(f.abbreviation, f.node, target);
        let fingers = writer.below.iter().zip(&writer.above);
        let level = fingers.take_while(|(below, above)| {
            let between =
                (below.node == HEAD || before(below)) && (above.node == NONE || !before(above));
            !between
        });
        let level = level.count();
        let (mut below, mut above) = match level {
            MAX_HEIGHT => Default::default(),
            level => (writer.below[level], writer.above[level]),
        };
        for level in (0..level).rev() {
            loop {
                let next = self.after(&below, level);
                if next.node == above.node {
                    break;
                }
                if !before(&next) {
                    above = next;
                    break;
                }
                below = next;
            }
            writer.below[level] = below;
            writer.above[level] = above;
        }
    }

    /// The finger of the next node on a level. Only for the writer, to whom hints are exact.
    fn after(&self, finger: &Finger, level: usize) -> Finger {
        let node = self.node(finger.node);
        let next = node.next(level);
        let abbreviation = match level {
            0 => self.node(next).abbreviation(),
            level => node.hint(level),
        };
        Finger {
            node: next,
            abbreviation,
        }
    }

    /// Fills a new node and links it in at the writer's position, lowest level first.
    fn link(&self, writer: &mut Writer, finger: Finger, record: Address, height: usize) {
        let node = self.node(finger.node);
        node.store_wide(0, finger.abbreviation);
        node.store(RECORD_AT, record.0, Ordering::Relaxed);
        for (level, above) in writer.above.iter().take(height).enumerate() {
            node.set_next(level, above, Ordering::Relaxed);
        }
        self.mark(writer, &node, height);
        for (level, below) in writer.below.iter_mut().take(height).enumerate() {
            self.node(below.node)
                .set_next(level, &finger, Ordering::Release);
            *below = finger;
        }
    }
}

impl SkipList {
    /// Sets the marks of a new node of some height, which is not linked yet, and of the links that
    /// will pass over it.
    fn mark(&self, writer: &Writer, node: &Node<'_>, height: usize) {
        let mark = self.marks.now();
        if mark == 0 {
            return;
        }
        for (level, below) in writer.below.iter().enumerate().skip(1) {
            let below = self.node(below.node);
            match level < height {
                // Which side of the new node the newest entry is on is not known.
                true => node.raise_mark(level, below.mark(level)),
                false => below.raise_mark(level, mark),
            }
        }
    }
}

impl Writer {
    /// Height h with probability 3/4 x 1/4^(h - 1).
    fn random_height(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        (1 + self.random.trailing_zeros() as usize / 2).min(MAX_HEIGHT)
    }
}
