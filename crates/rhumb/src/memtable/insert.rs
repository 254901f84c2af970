//! Insertion into the tree, by one thread at a time.
//!
//! The writer stays at the leaf where it inserted last, so that a key near that one, as in sorted or nearly sorted
//! input, costs no search from the root.

use std::cmp::Ordering as Order;

use rhumb_index::search::common_prefix;

use super::block::{Block, Entry, SLOTS, View};
use super::head::{Target, eight};
use super::record::Record;
use super::tree::{FIRST, MAX_LEVELS, Root, Tree};
use crate::entry::{EntryKind, Sequence};
use crate::memory::{Address, Appender};
use crate::sync::{MutexGuard, lock};

mod split;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;
mod versions;

/// An entry that is to be inserted; the value of a delete is empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEntry<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    pub kind: EntryKind,
    pub value: &'a [u8],
}

/// The result of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// At this address.
    New(Address),
    /// An entry of this key and sequence exists already and was left unchanged.
    Duplicate,
    /// The arena or the tree is full; nothing was inserted.
    Full,
}

/// The writer's position: the leaf of the last entry.
pub(super) struct Writer {
    /// The entry that was inserted last; `None` if it is not in the leaf, or nothing is known of the position.
    last: Option<Address>,
    /// Its place in the leaf.
    at: usize,
    /// The leaf and the blocks above it, level by level.
    path: [u32; MAX_LEVELS],
    /// The separator between the leaf and the next one.
    end: End,
    /// Whether every entry came behind all others.
    ascending: bool,
    /// The number of entries, each of which may have older versions behind it.
    entries: u64,
}

/// The separator that ends a leaf; `None` for the last leaf.
#[derive(Debug, Clone, Copy)]
struct End {
    record: Option<Address>,
    /// The separator's head behind the memtable's prefix, if it is known without reading the record.
    head: Option<u64>,
}

impl End {
    const OPEN: End = End {
        record: None,
        head: None,
    };
}

impl Writer {
    pub fn new() -> Self {
        Writer {
            last: None,
            at: 0,
            path: [0; MAX_LEVELS],
            end: End::OPEN,
            ascending: true,
            entries: 0,
        }
    }

    /// The block of the path on a level.
    fn on(&self, level: usize) -> u32 {
        self.path[level % MAX_LEVELS]
    }

    fn go(&mut self, level: usize, number: u32) {
        self.path[level % MAX_LEVELS] = number;
    }
}

/// The right to insert into a tree.
pub(super) struct TreeWriter<'a> {
    tree: &'a Tree,
    position: MutexGuard<'a, Writer>,
    arena: Appender<'a>,
}

impl TreeWriter<'_> {
    /// The number of entries of leaves, not counting the older versions that are found by them.
    pub fn entries(&self) -> u64 {
        self.position.entries
    }

    /// Inserts an entry.
    pub fn insert(&mut self, entry: &NewEntry<'_>) -> Inserted {
        let (tree, writer) = (self.tree, &mut *self.position);
        let inserted = tree.insert(&mut self.arena, writer, entry);
        if !matches!(inserted, Some(Inserted::New(_))) {
            writer.last = None;
        }
        inserted.unwrap_or(Inserted::Full)
    }
}

impl Tree {
    /// Waits until no other thread inserts, and keeps them from inserting as long as the result lives.
    /// Readers do not wait.
    pub fn writer(&self) -> TreeWriter<'_> {
        TreeWriter {
            tree: self,
            position: lock(&self.writer),
            arena: self.arena.appender(),
        }
    }

    /// Whether every entry was inserted behind all others.
    pub fn is_ascending(&self) -> bool {
        lock(&self.writer).ascending
    }

    /// Inserts an entry; `None` if there is no room.
    fn insert(
        &self,
        arena: &mut Appender<'_>,
        writer: &mut Writer,
        entry: &NewEntry<'_>,
    ) -> Option<Inserted> {
        let target = self.begin(entry)?;
        let view = self.go_to(writer, &target)?;
        let place = self.place(&view, &target);
        let at = place.at;
        if place.is_there() || at == view.len() && self.is_at_end(writer, &target) {
            return Some(Inserted::Duplicate);
        }
        if let Some(newer) = place.newer()
            && let Some(inserted) = self.insert_late(arena, writer, (&view, newer), entry)
        {
            return Some(inserted);
        }
        writer.ascending &= at == view.len() && writer.end.record.is_none();
        if place.is_before_older() {
            let link = self.link_behind(view.record(at));
            let record = Record::append(arena, entry, Some(link))?;
            view.block.renew(&view, at, record);
            return Some(self.inserted(writer, at, record));
        }
        let record = Record::append(arena, entry, None)?;
        let at = match view.len() == SLOTS {
            true => self.split_leaf(writer, &view, &target, (at, record))?,
            false => self.add(&view, at, &target, record),
        };
        writer.entries += 1;
        Some(self.inserted(writer, at, record))
    }

    /// Notes where an entry was inserted.
    fn inserted(&self, writer: &mut Writer, at: usize, record: Address) -> Inserted {
        (writer.last, writer.at) = (Some(record), at);
        self.mark(writer);
        Inserted::New(record)
    }

    /// Adds an entry to a leaf that is not full. Returns its place.
    fn add(&self, view: &View<'_>, at: usize, target: &Target<'_>, record: Address) -> usize {
        let head = target.head_behind(view.block.skip());
        view.block.insert(view, at, Entry { head, record }, |_| ());
        at
    }

    /// The position of a new entry, which may be the tree's first; `None` if there is no room.
    fn begin<'a>(&self, entry: &NewEntry<'a>) -> Option<Target<'a>> {
        if self.prefix.get().is_none() {
            let alike = common_prefix(&self.likely_prefix, entry.key);
            let prefix: Box<[u8]> = entry.key.get(..alike).unwrap_or_default().into();
            let first = self.leaves.allocate()?;
            debug_assert_eq!(first, FIRST, "the first leaf is the first one allocated");
            let leaf = self.leaves.get(first)?;
            leaf.fill(prefix.len(), 0, super::tree::NONE, std::iter::empty());
            let _ = self.prefix.set(prefix);
        }
        self.target(entry.key, entry.sequence)
    }

    /// Brings the writer to the leaf where the target belongs.
    fn go_to(&self, writer: &mut Writer, target: &Target<'_>) -> Option<View<'_>> {
        if let Some(last) = writer.last {
            let view = self.leaves.get(writer.on(0))?.view();
            if self.is_in(writer, &view, last, target) {
                return Some(view);
            }
        }
        let mut level = self.root().level;
        (writer.last, writer.end) = (None, End::OPEN);
        writer.go(level, self.root().number);
        while level > 0 {
            let inner = self.inners.get(writer.on(level))?;
            let view = inner.separators.view();
            let at = self.place(&view, target).at;
            if at < view.len() {
                let is_known = view.block.skip() == target.prefix();
                writer.end = End {
                    record: Some(view.record(at)),
                    head: is_known.then(|| view.head(at)),
                };
            }
            level -= 1;
            writer.go(level, inner.child(&view, at));
        }
        Some(self.leaf(writer.on(0))?.view)
    }

    /// Whether the target belongs into the leaf of the last entry, as far as is cheap to know.
    fn is_in(&self, writer: &Writer, view: &View<'_>, last: Address, target: &Target<'_>) -> bool {
        let skip = view.block.skip();
        if skip > target.prefix() && common_prefix(self.record(last).key, target.key) < skip {
            return false;
        }
        let head = target.head_behind(skip);
        if view.head(0) >= head {
            // Only the first leaf has no entry before the keys that belong there.
            return writer.on(0) == FIRST && view.head(0) > head;
        }
        if head < view.head(view.len() - 1) {
            return true;
        }
        match (writer.end.record, writer.end.head) {
            (None, _) => true,
            (_, Some(head)) if head != target.head => target.head < head,
            (Some(record), _) => target.compare(&self.record(record)) != Order::Less,
        }
    }

    /// Whether the separator that ends the writer's leaf is the target's entry.
    fn is_at_end(&self, writer: &Writer, target: &Target<'_>) -> bool {
        let end = writer.end.record;
        end.is_some_and(|end| target.compare(&self.record(end)) == Order::Equal)
    }

    /// Marks the blocks of the path after an insertion.
    fn mark(&self, writer: &Writer) {
        let mark = self.marks.now();
        if mark == 0 {
            return;
        }
        for level in 0..=self.root().level {
            if let Some(block) = self.block(level, writer.on(level)) {
                block.raise_mark(mark);
            }
        }
    }

    pub(super) fn block(&self, level: usize, number: u32) -> Option<&Block> {
        match level {
            0 => self.leaves.get(number),
            _ => Some(&self.inners.get(number)?.separators),
        }
    }
}
