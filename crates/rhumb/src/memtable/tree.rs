//! A B+-tree of entries that one writer at a time extends while any number of readers search it without a lock.
//!
//! Its nodes are [`Block`]s; those of each level are linked from left to right. Those of level 0, the leaves, hold the
//! entries. Inner ones, on the levels above, hold a *separator* for each of their children but the first: an entry such
//! that all entries in the child and to the right of it are at or behind the separator, and all others before it. The
//! separator between two leaves is the first entry of the right one, and stays that as long as the memtable
//! lives, since entries are never removed. Newer versions of its key come before it, and so into the left leaf.
//!
//! A full block is split: the right half becomes a new block, which becomes a child of the parent, and then
//! the left block is cut. A reader that came to the left block by the parent's older state may look there for what is
//! in the new block by now. So it loads the state of a block first, and then looks whether the parent is still in the
//! state in which it named the block (Leis, Haubenschild and Neumann, "Optimistic Lock Coupling", 2019). The parent
//! changed before the block was cut. So if the parent is still as it was, the block held all that it should hold when
//! its state was loaded. If not, the search begins again, which happens only if the writer has changed something.
//!
//! Blocks are never freed before the tree, so a reader may look into any block at any time.

use std::ops::Range;
use std::sync::OnceLock;

use rhumb_index::search::{LINE_BYTES, prefetch};

use super::block::{Block, SLOTS, State, View, slot_of};
use super::hash_index::{HashIndex, Known};
use super::head::{Standing, Target};
use super::insert::Writer;
use super::record::Record;
use super::skip::Marks;
use crate::entry::Sequence;
use crate::memory::{Address, Arena, Pieces};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::{Mutex, OwnLines};

/// Of most records, all that is not fetched anyway while the rest is read.
const RECORD_BYTES: usize = 128;

/// So many records are fetched at once where a search may compare with any of them, one after the other.
const FEW_RECORDS: usize = 8;

/// More levels than a tree of as many entries as the arena can hold has if every block is half full.
pub(super) const MAX_LEVELS: usize = 16;

/// The first leaf, and the first block of level 1. No link leads to them, so a link of 0 means that there is no next
/// block.
pub(super) const FIRST: u32 = 0;
pub(super) const NONE: u32 = 0;

/// A block above level 0.
pub(super) struct Inner {
    pub separators: Block,
    /// The first child, before all separators. Never changes.
    pub first: AtomicU32,
    /// Slot by slot, the child behind the separator.
    pub children: [AtomicU32; SLOTS],
}

impl Default for Inner {
    fn default() -> Self {
        Inner {
            separators: Block::default(),
            first: AtomicU32::new(0),
            children: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }
}

impl Inner {
    /// Brings the block to the cache.
    #[inline]
    fn prefetch(&self) {
        prefetch(std::slice::from_ref(self), 0..1);
    }

    /// The child behind so many separators.
    #[inline]
    pub fn child(&self, view: &View<'_>, separators: usize) -> u32 {
        match separators.checked_sub(1) {
            None => self.first.load(Ordering::Relaxed),
            Some(last) => slot_of(&self.children, view.slot(last)).load(Ordering::Relaxed),
        }
    }
}

pub(super) struct Tree {
    pub(super) arena: Arena,
    pub(super) leaves: Pieces<Block>,
    pub(super) inners: Pieces<Inner>,
    root: AtomicU64,
    /// A guess of the prefix that most keys share.
    pub(super) likely_prefix: Box<[u8]>,
    /// The prefix behind which heads begin: as much of the guess as the first key shares. Unset while the
    /// tree is empty.
    pub(super) prefix: OnceLock<Box<[u8]>>,
    pub(super) writer: OwnLines<Mutex<Writer>>,
    /// The marks of range deletes.
    pub marks: Marks,
}

/// The number of the root and its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Root {
    pub level: usize,
    pub number: u32,
}

/// A version of an entry, and where that lay when its leaf was in some state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) leaf: u32,
    pub(super) state: State,
    pub(super) at: usize,
    pub record: Address,
}

/// Where a target is in a block.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// How many entries come before it.
    pub at: usize,
    /// How the entry before it stands to it, as far as its key is concerned.
    last: Standing,
    /// How the next entry stands to it, likewise.
    next: Standing,
}

impl Place {
    /// Whether the next entry is at the target.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.next == Standing::There
    }

    /// Whether the next entry is an older version of the target's key.
    #[inline]
    pub fn is_before_older(&self) -> bool {
        self.next == Standing::Older
    }

    /// The entry before the target, if it is a newer version of its key.
    #[inline]
    pub fn newer(&self) -> Option<usize> {
        match self.last {
            Standing::Newer => self.at.checked_sub(1),
            _ => None,
        }
    }
}

/// A leaf to which a search led.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    pub number: u32,
    pub view: View<'a>,
}

/// Where a search ended.
pub(super) enum Reached<'a> {
    Leaf(Leaf<'a>),
    /// Where it was to stop.
    Stop,
}

impl Leaf<'_> {
    /// The entry at some place; `None` if the leaf was cut.
    #[inline]
    pub fn spot(&self, at: usize) -> Option<Spot> {
        let spot = self.unchecked(at);
        self.view.is_uncut().then_some(spot)
    }

    /// As [`Leaf::spot`], but may be another entry if the leaf was cut.
    #[inline]
    pub fn unchecked(&self, at: usize) -> Spot {
        Spot {
            leaf: self.number,
            state: self.view.state,
            at,
            record: self.view.record(at),
        }
    }
}

impl Tree {
    /// An empty tree for keys that mostly start with `likely_prefix`.
    pub fn new(likely_prefix: Box<[u8]>) -> Self {
        Tree {
            arena: Arena::new(),
            leaves: Pieces::new(),
            inners: Pieces::new(),
            root: AtomicU64::new(0),
            likely_prefix,
            prefix: OnceLock::new(),
            writer: OwnLines(Mutex::new(Writer::new())),
            marks: Marks::new(),
        }
    }

    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Bytes allocated for entries.
    pub fn bytes(&self) -> usize {
        self.arena.bytes_allocated() + self.leaves.bytes() + self.inners.bytes()
    }

    /// Whether there may be room for few further entries only.
    pub fn is_nearly_full(&self) -> bool {
        self.leaves.is_nearly_full()
    }

    /// The position of `(key, sequence)`; `None` while the tree is empty.
    #[inline]
    pub fn target<'a>(&self, key: &'a [u8], sequence: Sequence) -> Option<Target<'a>> {
        Some(Target::new(self.prefix.get()?, key, sequence))
    }

    pub fn record(&self, address: Address) -> Record<'_> {
        Record::read(&self.arena, address)
    }

    /// Brings most of an entry to the cache.
    #[inline(always)]
    pub fn fetch(&self, address: Address) {
        prefetch(self.arena.record_onwards(address), 0..RECORD_BYTES);
    }

    /// The entry at an address, if it is of this key. Its value may be wanted with it.
    #[inline]
    pub fn record_of(&self, address: Address, key: &[u8]) -> Option<Record<'_>> {
        self.fetch(address);
        let record = self.record(address);
        (record.key == key).then_some(record)
    }

    /// Adds the entry at an address to a hash index, unless a newer version of its key is there.
    pub fn add_to(&self, index: &HashIndex, hash: u64, address: Address) {
        let new = self.record(address);
        index.add(hash, address, |address| {
            let other = self.record(address);
            match other.key == new.key {
                true if other.sequence < new.sequence => Known::Older,
                true => Known::Newer,
                false => Known::OtherKey,
            }
        });
    }

    #[inline]
    pub fn root(&self) -> Root {
        let word = self.root.load(Ordering::Acquire);
        Root {
            level: (word >> 32) as usize,
            number: word as u32,
        }
    }

    pub fn set_root(&self, root: Root) {
        let word = (root.level as u64) << 32 | u64::from(root.number);
        self.root.store(word, Ordering::Release);
    }

    /// Where the target is among the entries of a block.
    #[inline]
    pub fn place(&self, view: &View<'_>, target: &Target<'_>) -> Place {
        let head = target.head_behind(view.block.skip());
        let at = view.first_not(0, |other| other < head);
        match at < view.len() && view.head(at) == head {
            true => self.place_of_equals(view, target, head, at),
            false => Place {
                at,
                last: Standing::Before,
                next: Standing::Behind,
            },
        }
    }

    /// As [`Tree::place`], if entries from `at` on have the target's head.
    #[inline(never)]
    fn place_of_equals(&self, view: &View<'_>, target: &Target<'_>, head: u64, at: usize) -> Place {
        let skip = view.block.skip();
        let standing = |at| target.standing(&self.record(view.record(at)), skip);
        // Its value may be wanted with its key.
        self.fetch(view.record(at));
        let behind = at + 1;
        let fetch = || self.fetch_equals(view, head, behind);
        // Else the key is mostly that of the first entry.
        let fetched = target.goes_on_behind_head(skip).then(fetch);
        // Of the versions of a key the newest comes first, which nearly all gets and puts look for.
        let (mut last, mut next) = (standing(at), Standing::Behind);
        if !last.is_before() {
            (last, next) = (Standing::Before, last);
            return Place { at, last, next };
        }
        let (mut at, mut end) = (behind, fetched.unwrap_or_else(fetch));
        while at < end {
            let middle = (at + end) / 2;
            match standing(middle) {
                before if before.is_before() => (last, at) = (before, middle + 1),
                there if there == Standing::There => (next, at, end) = (there, middle, middle),
                behind => (next, end) = (behind, middle),
            }
        }
        Place { at, last, next }
    }

    /// Where the entries from `from` on that have a head end; their records are prefetched.
    #[inline]
    fn fetch_equals(&self, view: &View<'_>, head: u64, from: usize) -> usize {
        if from >= view.len() || view.head(from) != head {
            return from;
        }
        let end = view.first_not(from, |other| other <= head);
        self.prefetch_records(view, from..end);
        end
    }

    /// Prefetches the records of a range with which a search there may compare, if they are few; of more, those with which its first
    /// two steps compare.
    #[inline]
    fn prefetch_records(&self, view: &View<'_>, range: Range<usize>) {
        let fetch = |at: usize| {
            let record = self.arena.record_onwards(view.record(at));
            prefetch(record, 0..LINE_BYTES);
        };
        if range.len() <= FEW_RECORDS {
            return range.for_each(fetch);
        }
        let middle = (range.start + range.end) / 2;
        fetch(middle);
        fetch((range.start + middle) / 2);
        fetch((middle + 1 + range.end) / 2);
    }

    /// The leaf to which `choose` leads, which is called with the blocks on the way and says how many of their
    /// separators to pass.
    #[inline(always)]
    pub fn descend(&self, choose: impl Fn(&View<'_>) -> usize) -> Leaf<'_> {
        loop {
            if let Some(Reached::Leaf(leaf)) = self.try_descend(&choose, |_| false) {
                return leaf;
            }
        }
    }

    /// As [`Tree::descend`], but stops where `stops` says so of a block below the root; `None` if a block changed on
    /// the way.
    #[inline(always)]
    pub fn try_descend(
        &self,
        choose: impl Fn(&View<'_>) -> usize,
        stops: impl Fn(&Block) -> bool,
    ) -> Option<Reached<'_>> {
        let root = self.root();
        if root.level == 0 {
            let leaf = self.leaf(root.number)?;
            return self.is_root(root).then_some(Reached::Leaf(leaf));
        }
        let mut inner = self.inners.get(root.number)?;
        let mut view = inner.separators.view();
        if !self.is_root(root) {
            return None;
        }
        for _ in 1..root.level {
            let child = self.inners.get(inner.child(&view, choose(&view)))?;
            child.prefetch();
            let child_view = child.separators.view();
            if !view.is_still() {
                return None;
            }
            if stops(&child.separators) {
                return Some(Reached::Stop);
            }
            (inner, view) = (child, child_view);
        }
        let leaf = self.leaf(inner.child(&view, choose(&view)))?;
        if !view.is_still() {
            return None;
        }
        match stops(leaf.view.block) {
            true => Some(Reached::Stop),
            false => Some(Reached::Leaf(leaf)),
        }
    }

    #[inline]
    pub fn leaf(&self, number: u32) -> Option<Leaf<'_>> {
        let block = self.leaves.get(number)?;
        block.prefetch();
        let view = block.view();
        Some(Leaf { number, view })
    }

    /// Whether this is the root, after the state of its block was loaded.
    #[inline]
    fn is_root(&self, root: Root) -> bool {
        fence(Ordering::Acquire);
        self.root() == root
    }

    /// The first entry at or behind the target.
    #[inline]
    pub fn find(&self, target: &Target<'_>) -> Option<Spot> {
        loop {
            // Behind a separator that is at the target, since that is the entry.
            let leaf = self.descend(|view| {
                let place = self.place(view, target);
                place.at + usize::from(place.is_there())
            });
            let place = self.place(&leaf.view, target);
            if let Some(spot) = self.spot_at(&leaf, &place, target) {
                return Some(spot);
            }
            if place.at == leaf.view.len() && leaf.view.is_uncut() {
                return self.first_of(leaf.view.next);
            }
        }
    }

    /// The entry of a leaf at or behind the target; `None` if there is none, or the leaf was cut.
    #[inline]
    pub fn spot_at(&self, leaf: &Leaf<'_>, place: &Place, target: &Target<'_>) -> Option<Spot> {
        if let Some(spot) = place.newer().and_then(|at| leaf.spot(at))
            && let Some(record) = self.version_at(spot.record, target.sequence)
        {
            return Some(Spot { record, ..spot });
        }
        if place.at == leaf.view.len() {
            return None;
        }
        let spot = leaf.spot(place.at)?;
        // It may have become newer since.
        let is_version = place.is_there() || place.is_before_older();
        let record = match is_version {
            true => self.version_at(spot.record, target.sequence)?,
            false => spot.record,
        };
        Some(Spot { record, ..spot })
    }

    /// The last entry before the target.
    pub fn find_before(&self, target: &Target<'_>) -> Option<Spot> {
        loop {
            // Before a separator that is at the target: so the first entry of the leaf is before the target, if the
            // leaf is not the first one.
            let leaf = self.descend(|view| self.place(view, target).at);
            let place = self.place(&leaf.view, target);
            match place.at.checked_sub(1) {
                None if leaf.view.is_uncut() => return None,
                None => {}
                Some(at) => {
                    if let Some(spot) = leaf.spot(at) {
                        return Some(match place.newer() {
                            Some(_) => self.last_newer(spot, target.sequence),
                            None => self.oldest(spot),
                        });
                    }
                }
            }
        }
    }
}
