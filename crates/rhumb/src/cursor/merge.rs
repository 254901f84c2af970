//! A merge of many sorted cursors into one.

use std::cmp::Ordering;

use rhumb_index::search::first_eight;

use crate::entry::{Cursor, Direction, Here, Sequence};
use crate::error::Result;
use crate::memory::Pinned;

use backoff::Backoff;
pub(crate) use picked::{Picked, TakesRuns};

mod backoff;
mod columns;
mod lending;
mod picked;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;

/// How many children are passed one by one before their order is searched.
const NEAR: usize = 4;

/// After a child had too few entries to lend before those of others, no child is asked once, after the next such answer twice, then
/// four times, and so many times at most.
const MOST_UNASKED: u32 = 16;

/// Goes over the entries of several cursors in their merged order, in both directions.
///
/// Children are given newest first. If several hold an entry of the same key and sequence (after a
/// log was replayed into a memtable although its tables had been written), only the newest child's
/// entry is returned, but by `next_seen`. After an error the cursor is invalid until the next seek.
pub(crate) struct MergeCursor<C> {
    children: Vec<C>,
    /// The valid children, sorted by their current entries: this cursor stands on the entry of the first.
    order: Vec<Head>,
    /// The direction in which the children other than the first have moved to their next entries.
    direction: Direction,
    /// When a child is asked to lend entries again, after one had too few.
    lending: Backoff,
    /// When columns are tried again, after blocks did not allow them.
    columns: Backoff,
}

/// A valid child, and the first bytes of the key of its current entry: most comparisons need only these.
#[derive(Clone, Copy)]
struct Head {
    abbreviation: u64,
    number: usize,
}

impl Head {
    /// The child with this number; `None` if it is not valid.
    #[inline]
    fn of<C: Cursor>(number: usize, child: &C) -> Option<Head> {
        let abbreviation = first_eight(child.here()?.key);
        Some(Head {
            abbreviation,
            number,
        })
    }
}

/// Moves a child by one entry.
#[inline]
fn step<C: Cursor>(child: &mut C, direction: Direction) -> Result<()> {
    match direction {
        Direction::Forward => child.next(),
        Direction::Backward => child.prev(),
    }
}

/// Moves a child to the nearest entry after or before the given one, excluding it.
fn go_beyond<C: Cursor>(
    child: &mut C,
    key: &[u8],
    sequence: Sequence,
    direction: Direction,
) -> Result<()> {
    child.seek(key, sequence)?;
    match direction {
        Direction::Backward if child.valid() => child.prev(),
        Direction::Backward => child.seek_last(),
        Direction::Forward => {
            let here = child.valid() && child.sequence() == sequence;
            if here && child.key() == key {
                return child.next();
            }
            Ok(())
        }
    }
}

impl<C: Cursor> MergeCursor<C> {
    /// Merges `children`, newest first.
    pub fn new(children: Vec<C>) -> Self {
        let mut merge = MergeCursor::with_capacity(children.len());
        children.into_iter().for_each(|child| merge.push(child));
        merge
    }

    /// A merge without children, with room for some.
    pub fn with_capacity(children: usize) -> Self {
        MergeCursor {
            order: Vec::with_capacity(children),
            children: Vec::with_capacity(children),
            direction: Direction::Forward,
            lending: Backoff::new(1, MOST_UNASKED),
            columns: Backoff::new(columns::LEAST_PAUSE, columns::MOST_PAUSE),
        }
    }

    /// Adds a child, older than those before it; the merge must be positioned anew afterwards.
    pub fn push(&mut self, cursor: C) {
        self.children.push(cursor);
    }

    /// The children, in the order in which they were given.
    pub fn children(&self) -> impl ExactSizeIterator<Item = &C> {
        self.children.iter()
    }

    /// Lets every child rest by `rest`; the merge must be positioned anew afterwards.
    pub fn rest(&mut self, rest: impl FnMut(&mut C)) {
        self.order.clear();
        self.children.iter_mut().for_each(rest);
    }

    #[inline]
    fn current(&self) -> Option<&C> {
        self.children.get(self.order.first()?.number)
    }

    /// Compares two children by their current entries; of equal ones the newer child comes first.
    #[inline]
    fn compare(&self, one: Head, other: Head) -> Ordering {
        let order = one.abbreviation.cmp(&other.abbreviation);
        match (order, self.direction) {
            (Ordering::Equal, _) => self.compare_in_full(one.number, other.number),
            (_, Direction::Forward) => order,
            (_, Direction::Backward) => order.reverse(),
        }
    }

    /// As [`MergeCursor::compare`] for equal abbreviations.
    #[inline(never)]
    fn compare_in_full(&self, number: usize, other_number: usize) -> Ordering {
        let by_number = number.cmp(&other_number);
        let (Some(one), Some(other)) = (self.children.get(number), self.children.get(other_number))
        else {
            return by_number;
        };
        let newer_first = || other.sequence().cmp(&one.sequence());
        let order = one.key().cmp(other.key()).then_with(newer_first);
        match self.direction {
            Direction::Forward => order.then(by_number),
            Direction::Backward => order.reverse().then(by_number),
        }
    }

    /// Positions every child anew by `go`, and the merge at the first of their entries in
    /// `direction`.
    fn place(
        &mut self,
        direction: Direction,
        mut go: impl FnMut(usize, &mut C) -> Result<()>,
    ) -> Result<()> {
        self.direction = direction;
        self.lending.succeed();
        self.order.clear();
        let mut order = std::mem::take(&mut self.order);
        for (number, child) in self.children.iter_mut().enumerate() {
            go(number, child)?;
            order.extend(Head::of(number, child));
        }
        self.sort(order);
        Ok(())
    }

    /// Takes the valid children as the order, and sorts them.
    fn sort(&mut self, mut order: Vec<Head>) {
        order.sort_unstable_by(|&one, &other| self.compare(one, other));
        self.order = order;
    }

    /// As [`Cursor::seek`], to a place behind the current entry: children that are behind it already stay, unsearched.
    pub fn seek_on(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        if self.direction != Direction::Forward || self.order.is_empty() {
            return self.seek(key, sequence);
        }
        self.place(Direction::Forward, |_, child| {
            let here = child.here();
            let is_before = |here: Here<'_>| {
                let order = here.key.cmp(key);
                order.then_with(|| sequence.cmp(&here.sequence)).is_lt()
            };
            match here.is_some_and(is_before) {
                true => child.seek(key, sequence),
                false => Ok(()),
            }
        })
    }

    /// Moves one entry in `direction`.
    fn step(&mut self, direction: Direction) -> Result<()> {
        let Some(&first) = self.order.first() else {
            return Ok(());
        };
        if direction != self.direction {
            return self.turn(first.number, direction);
        }
        while self.is_repeated() {
            self.advance(1)?;
        }
        self.move_first(|child| step(child, direction))
    }

    /// Moves the first child on by `go`.
    #[inline]
    fn move_first(&mut self, go: impl FnOnce(&mut C) -> Result<()>) -> Result<()> {
        match *self.order {
            [only] => self.move_only(only.number, go),
            _ => self.advance_by(0, go),
        }
    }

    /// Moves the only child that is left on by `go`. Its abbreviation is not
    /// noted: there is nothing to compare it with, and other children return only when all are
    /// positioned anew.
    #[inline]
    fn move_only(&mut self, number: usize, go: impl FnOnce(&mut C) -> Result<()>) -> Result<()> {
        let Some(child) = self.children.get_mut(number) else {
            return Ok(());
        };
        let stepped = go(child);
        if stepped.is_err() || child.here().is_none() {
            self.order.clear();
        }
        stepped
    }

    /// Changes direction at the current entry, which is that of child `first`, and moves one entry.
    fn turn(&mut self, first: usize, direction: Direction) -> Result<()> {
        let current = self.children.get(first);
        let Some(here) = current.and_then(|child| child.here()) else {
            return Ok(());
        };
        let (key, sequence) = (here.key.to_vec(), here.sequence);
        self.place(direction, |number, child| match number == first {
            true => step(child, direction),
            false => go_beyond(child, &key, sequence, direction),
        })
    }

    /// Whether the second child stands on an entry equal to the first child's.
    fn is_repeated(&self) -> bool {
        let [first, second, ..] = *self.order.as_slice() else {
            return false;
        };
        first.abbreviation == second.abbreviation
            && match (
                self.children.get(first.number),
                self.children.get(second.number),
            ) {
                (Some(one), Some(other)) => {
                    one.sequence() == other.sequence() && one.key() == other.key()
                }
                _ => false,
            }
    }

    /// Moves the child at an index of the order by one entry, and then to its new index.
    fn advance(&mut self, place: usize) -> Result<()> {
        let direction = self.direction;
        self.advance_by(place, |child| step(child, direction))
    }

    /// Moves the child at an index of the order on by `go`, and then to its new index.
    fn advance_by(&mut self, place: usize, go: impl FnOnce(&mut C) -> Result<()>) -> Result<()> {
        let Some(&Head { number, .. }) = self.order.get(place) else {
            return Ok(());
        };
        let Some(child) = self.children.get_mut(number) else {
            return Ok(());
        };
        if let Err(error) = go(child) {
            self.order.clear();
            return Err(error);
        }
        match Head::of(number, child) {
            Some(child) => self.resettle(place, child),
            None => _ = self.order.remove(place),
        }
        Ok(())
    }

    /// Moves the child at an index of the order, whose entry has changed, behind those that come before
    /// it.
    #[inline]
    fn resettle(&mut self, mut place: usize, child: Head) {
        let mut near = NEAR;
        // A child often has many entries in a row, and most merges have few children.
        while let Some(&other) = self.order.get(place + 1) {
            if near == 0 || self.compare(other, child) != Ordering::Less {
                break;
            }
            self.put(place, other);
            (place, near) = (place + 1, near - 1);
        }
        if near == 0 {
            let behind = self.order.get(place + 1..).unwrap_or_default();
            let passed =
                behind.partition_point(|&other| self.compare(other, child) == Ordering::Less);
            if let Some(moved) = self.order.get_mut(place..=place + passed) {
                moved.rotate_left(1);
                place += passed;
            }
        }
        self.put(place, child);
    }

    #[inline]
    fn put(&mut self, place: usize, child: Head) {
        if let Some(at) = self.order.get_mut(place) {
            *at = child;
        }
    }
}

impl<C: Cursor> Cursor for MergeCursor<C> {
    #[inline]
    fn here(&self) -> Option<Here<'_>> {
        self.current()?.here()
    }

    #[inline]
    fn value(&mut self) -> Pinned {
        let first = self.order.first();
        let child = first.and_then(|first| self.children.get_mut(first.number));
        child.map_or_else(Pinned::empty, Cursor::value)
    }

    #[inline]
    fn value_bytes(&self) -> &[u8] {
        self.current().map_or(&[], Cursor::value_bytes)
    }

    fn seek_first(&mut self) -> Result<()> {
        self.place(Direction::Forward, |_, child| child.seek_first())
    }

    fn seek_last(&mut self) -> Result<()> {
        self.place(Direction::Backward, |_, child| child.seek_last())
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        self.place(Direction::Forward, |_, child| child.seek(key, sequence))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.place(Direction::Backward, |_, child| child.seek_before(key))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.step(Direction::Forward)
    }

    #[inline]
    fn next_seen(&mut self, visible: Sequence) -> Result<()> {
        match self.direction {
            // Where other children have the same entry, that is a version of the key too.
            Direction::Forward => self.move_first(|child| child.next_seen(visible)),
            Direction::Backward => self.next(),
        }
    }

    fn prev(&mut self) -> Result<()> {
        self.step(Direction::Backward)
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        let is_older = |here: Here<'_>| here.sequence < sequence && here.key < to;
        if !self.here().is_some_and(is_older) {
            return Ok(());
        }
        if self.direction != Direction::Forward {
            self.step(Direction::Forward)?;
        }
        self.place(Direction::Forward, |_, child| {
            child.skip_older(to, sequence)
        })
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        let is_older = |here: Here<'_>| here.sequence < sequence && here.key >= from;
        if !self.here().is_some_and(is_older) {
            return Ok(());
        }
        if self.direction != Direction::Backward {
            self.step(Direction::Backward)?;
        }
        self.place(Direction::Backward, |_, child| {
            child.skip_older_back(from, sequence)
        })
    }
}

impl<C: Cursor + ?Sized> Cursor for Box<C> {
    #[inline]
    fn here(&self) -> Option<Here<'_>> {
        (**self).here()
    }

    #[inline]
    fn value(&mut self) -> Pinned {
        (**self).value()
    }

    fn value_bytes(&self) -> &[u8] {
        (**self).value_bytes()
    }

    fn seek_first(&mut self) -> Result<()> {
        (**self).seek_first()
    }

    fn seek_last(&mut self) -> Result<()> {
        (**self).seek_last()
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        (**self).seek(key, sequence)
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        (**self).seek_before(key)
    }

    fn next(&mut self) -> Result<()> {
        (**self).next()
    }

    fn next_seen(&mut self, visible: Sequence) -> Result<()> {
        (**self).next_seen(visible)
    }

    fn prev(&mut self) -> Result<()> {
        (**self).prev()
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        (**self).skip_older(to, sequence)
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        (**self).skip_older_back(from, sequence)
    }
}
