//! Splitting full blocks.
//!
//! Always in this order: the new block is filled, the parent gets it as a child, the old block is cut. The first makes
//! the new one complete for all that find it. What the second before the third is for is said in tree.rs.

use super::super::block::slot_of;
use super::super::tree::NONE;
use super::{Address, End, Entry, Root, SLOTS, Target, Tree, View, Writer, common_prefix, eight};
use crate::sync::atomic::Ordering;

impl Tree {
    /// Splits the writer's leaf, which is full, and inserts an entry. Returns its place; `None` if there is no room.
    ///
    /// Leaves that are filled in order become full: the writer goes on in a leaf that ends where it inserts, and begins
    /// another one when that is full. Others are cut in the middle, so that no order of keys makes small leaves.
    pub(super) fn split_leaf(
        &self,
        writer: &mut Writer,
        view: &View<'_>,
        target: &Target<'_>,
        (at, record): (usize, Address),
    ) -> Option<usize> {
        let ascends = writer.last.is_some() && writer.at + 1 == at;
        let descends = writer.last.is_some() && writer.at == at && at == 0;
        // What stands before an older version of its key, as when all keys are written once more in order, gets a leaf with room:
        // so the version after it only takes its place.
        let appends = at == SLOTS
            && match writer.end.record {
                Some(end) => ascends && self.record(end).key != target.key,
                None => true,
            };
        let from = match at {
            _ if appends => SLOTS,
            _ if descends => 1,
            at if ascends => at.clamp(SLOTS / 2, SLOTS - 1),
            _ => SLOTS / 2,
        };
        let separator = if appends { record } else { view.record(from) };
        let separator_key = self.record(separator).key;
        let skip = self.skip_between(separator_key, writer.end.record, view);
        let number = self.leaves.allocate()?;
        let right = self.leaves.get(number)?;
        let entries = (from..view.len()).map(|at| self.entry_behind(view, at, skip));
        let new = appends.then(|| Entry {
            head: target.head_behind(skip),
            record,
        });
        right.fill(skip, view.block.mark(), view.next, entries.chain(new));
        self.add_child(writer, 1, separator, number)?;
        view.block.cut(view, from, number);
        if at > from || appends {
            writer.go(0, number);
        } else {
            writer.end = End {
                record: Some(separator),
                head: None,
            };
        }
        if appends {
            return Some(0);
        }
        let view = self.leaves.get(writer.on(0))?.view();
        let at = if at > from { at - from } else { at };
        Some(self.add(&view, at, target, record))
    }

    /// How many bytes are left out in a new block between two separators, which is a part of an old one.
    fn skip_between(&self, start: &[u8], end: Option<Address>, old: &View<'_>) -> usize {
        let shared = end.map_or(0, |end| common_prefix(start, self.record(end).key));
        shared.max(old.block.skip())
    }

    /// An entry of a block as it has to be in one that leaves out more bytes.
    fn entry_behind(&self, view: &View<'_>, at: usize, skip: usize) -> Entry {
        let entry = view.entry(at);
        match skip == view.block.skip() {
            true => entry,
            false => Entry {
                head: eight(self.record(entry.record).key, skip),
                ..entry
            },
        }
    }

    /// Adds a child behind a separator to the block above the writer's block of the level below.
    fn add_child(
        &self,
        writer: &mut Writer,
        level: usize,
        separator: Address,
        child: u32,
    ) -> Option<()> {
        let record = self.record(separator);
        let target = self.target(record.key, record.sequence)?;
        if level > self.root().level {
            return self.add_root(writer, level, (&target, separator), child);
        }
        let block = &self.inners.get(writer.on(level))?.separators;
        if block.state().len() == SLOTS {
            self.split_inner(writer, level, &target)?;
        }
        let inner = self.inners.get(writer.on(level))?;
        let view = inner.separators.view();
        let entry = Entry {
            head: target.head_behind(view.block.skip()),
            record: separator,
        };
        let at = self.place(&view, &target).at;
        view.block.insert(&view, at, entry, |slot| {
            slot_of(&inner.children, slot).store(child, Ordering::Relaxed);
        });
        Some(())
    }

    fn add_root(
        &self,
        writer: &mut Writer,
        level: usize,
        (target, separator): (&Target<'_>, Address),
        child: u32,
    ) -> Option<()> {
        let old = self.root();
        let number = self.inners.allocate()?;
        let root = self.inners.get(number)?;
        root.first.store(old.number, Ordering::Relaxed);
        root.children[0].store(child, Ordering::Relaxed);
        let entry = Entry {
            head: target.head,
            record: separator,
        };
        let mark = self.block(old.level, old.number)?.mark();
        let entries = std::iter::once(entry);
        root.separators.fill(target.prefix(), mark, NONE, entries);
        self.set_root(Root { level, number });
        writer.go(level, number);
        Some(())
    }

    /// Splits the writer's block on a level, which is full, for a separator to come.
    fn split_inner(&self, writer: &mut Writer, level: usize, new: &Target<'_>) -> Option<()> {
        let left = self.inners.get(writer.on(level))?;
        let view = left.separators.view();
        let at = self.place(&view, new).at;
        // As with leaves: what is filled in order is full.
        let middle = if at == SLOTS { SLOTS - 1 } else { SLOTS / 2 };
        let separator = view.record(middle);
        let end = self.end_of(level, new);
        let skip = self.skip_between(self.record(separator).key, end, &view);
        let number = self.inners.allocate()?;
        let right = self.inners.get(number)?;
        right
            .first
            .store(left.child(&view, middle + 1), Ordering::Relaxed);
        let moved = middle + 1..view.len();
        for (slot, at) in moved.clone().enumerate() {
            let child = left.child(&view, at + 1);
            right.children[slot % SLOTS].store(child, Ordering::Relaxed);
        }
        let entries = moved.map(|at| self.entry_behind(&view, at, skip));
        right
            .separators
            .fill(skip, view.block.mark(), view.next, entries);
        self.add_child(writer, level + 1, separator, number)?;
        view.block.cut(&view, middle, number);
        if at > middle {
            writer.go(level, number);
        }
        Some(())
    }

    /// The separator that ends the block on a level in which the target lies; `None` for the last block.
    fn end_of(&self, level: usize, target: &Target<'_>) -> Option<Address> {
        let root = self.root();
        let (mut number, mut end) = (root.number, None);
        for _ in level..root.level {
            let inner = self.inners.get(number)?;
            let view = inner.separators.view();
            let at = self.place(&view, target).at;
            if at < view.len() {
                end = Some(view.record(at));
            }
            number = inner.child(&view, at);
        }
        end
    }
}
