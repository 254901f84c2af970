//! Many sorted runs as one.

use std::cmp::Ordering;

use super::{Cursor, EntryKind, Sequence, first_eight};
use crate::error::Result;
use crate::memory::Pinned;

#[cfg(test)]
#[cfg(not(loom))]
mod tests;

/// Goes over the entries of several cursors in their common order, both ways.
///
/// The children are given newest first. Where several hold an entry of the same key and sequence (a
/// log was replayed into a memtable after its tables were written), the newest child's is given, and
/// the others are passed over. After an error the cursor is not valid until it is placed anew.
pub(crate) struct MergeCursor<C> {
    children: Vec<Child<C>>,
    /// The children that are valid, by number, in the order in which their entries come: the first
    /// one is where this cursor stands.
    order: Vec<usize>,
    direction: Direction,
}

struct Child<C> {
    cursor: C,
    // Of the entry where the cursor stands: most comparisons need no more.
    abbreviation: u64,
    sequence: Sequence,
}

/// Where the children other than the first stand: at their next entry that way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl<C: Cursor> Child<C> {
    /// Takes note of where the cursor stands now; false if nowhere.
    fn note(&mut self) -> bool {
        if !self.cursor.valid() {
            return false;
        }
        self.abbreviation = first_eight(self.cursor.key());
        self.sequence = self.cursor.sequence();
        true
    }

    fn compare(&self, other: &Self) -> Ordering {
        (self.abbreviation.cmp(&other.abbreviation))
            .then_with(|| self.cursor.key().cmp(other.cursor.key()))
            .then_with(|| other.sequence.cmp(&self.sequence))
    }

    /// Whether the other stands on an entry of the same key and sequence.
    fn is_alike(&self, other: &Self) -> bool {
        self.sequence == other.sequence
            && self.abbreviation == other.abbreviation
            && self.cursor.key() == other.cursor.key()
    }

    fn step(&mut self, direction: Direction) -> Result<()> {
        match direction {
            Direction::Forward => self.cursor.next(),
            Direction::Backward => self.cursor.prev(),
        }
    }

    /// Goes to the nearest entry in a direction from an entry, which itself is not counted.
    fn go_beyond(&mut self, key: &[u8], sequence: Sequence, direction: Direction) -> Result<()> {
        self.cursor.seek(key, sequence)?;
        match direction {
            Direction::Backward if self.cursor.valid() => self.cursor.prev(),
            Direction::Backward => self.cursor.seek_last(),
            Direction::Forward => {
                let here = self.cursor.valid() && self.cursor.sequence() == sequence;
                if here && self.cursor.key() == key {
                    return self.cursor.next();
                }
                Ok(())
            }
        }
    }
}

impl<C: Cursor> MergeCursor<C> {
    /// Merges `children`, newest first.
    pub fn new(children: Vec<C>) -> Self {
        let child = |cursor| Child {
            cursor,
            abbreviation: 0,
            sequence: 0,
        };
        MergeCursor {
            order: Vec::with_capacity(children.len()),
            children: children.into_iter().map(child).collect(),
            direction: Direction::Forward,
        }
    }

    fn current(&self) -> Option<&C> {
        let &first = self.order.first()?;
        self.children.get(first).map(|child| &child.cursor)
    }

    /// How two children follow each other; the newer one first where they are alike.
    fn compare(&self, one: usize, other: usize) -> Ordering {
        let by_number = one.cmp(&other);
        let (Some(one), Some(other)) = (self.children.get(one), self.children.get(other)) else {
            return by_number;
        };
        let order = one.compare(other);
        match self.direction {
            Direction::Forward => order.then(by_number),
            Direction::Backward => order.reverse().then(by_number),
        }
    }

    /// Places every child anew, and the cursor at the first of them in `direction`.
    fn place(
        &mut self,
        direction: Direction,
        mut go: impl FnMut(usize, &mut Child<C>) -> Result<()>,
    ) -> Result<()> {
        self.direction = direction;
        self.order.clear();
        let mut order = std::mem::take(&mut self.order);
        for (number, child) in self.children.iter_mut().enumerate() {
            go(number, child)?;
            if child.note() {
                order.push(number);
            }
        }
        order.sort_unstable_by(|&one, &other| self.compare(one, other));
        self.order = order;
        Ok(())
    }

    /// Goes one entry in `direction`.
    fn step(&mut self, direction: Direction) -> Result<()> {
        let Some(&first) = self.order.first() else {
            return Ok(());
        };
        if direction != self.direction {
            return self.turn(first, direction);
        }
        while self.is_repeated() {
            self.advance(1)?;
        }
        self.advance(0)
    }

    /// Turns round at the current entry, that of child `first`, and goes one entry.
    fn turn(&mut self, first: usize, direction: Direction) -> Result<()> {
        let Some(current) = self.children.get(first) else {
            return Ok(());
        };
        let (key, sequence) = (current.cursor.key().to_vec(), current.sequence);
        self.place(direction, |number, child| match number == first {
            true => child.step(direction),
            false => child.go_beyond(&key, sequence, direction),
        })
    }

    /// Whether the second child stands on the same entry as the first.
    fn is_repeated(&self) -> bool {
        let [first, second, ..] = *self.order.as_slice() else {
            return false;
        };
        match (self.children.get(first), self.children.get(second)) {
            (Some(first), Some(second)) => first.is_alike(second),
            _ => false,
        }
    }

    /// Steps the child at a place in the order and moves it to its new place there.
    fn advance(&mut self, place: usize) -> Result<()> {
        let Some(&number) = self.order.get(place) else {
            return Ok(());
        };
        let direction = self.direction;
        let Some(child) = self.children.get_mut(number) else {
            return Ok(());
        };
        if let Err(error) = child.step(direction) {
            self.order.clear();
            return Err(error);
        }
        if !child.note() {
            self.order.remove(place);
            return Ok(());
        }
        let behind = self.order.get(place + 1..).unwrap_or_default();
        // Runs of entries from one child are common, so look at the neighbour before searching.
        let passed = match behind {
            [neighbour, ..] if self.compare(*neighbour, number) == Ordering::Less => {
                behind.partition_point(|&other| self.compare(other, number) == Ordering::Less)
            }
            _ => return Ok(()),
        };
        if let Some(moved) = self.order.get_mut(place..=place + passed) {
            moved.rotate_left(1);
        }
        Ok(())
    }
}

impl<C: Cursor> Cursor for MergeCursor<C> {
    fn valid(&self) -> bool {
        !self.order.is_empty()
    }

    fn key(&self) -> &[u8] {
        self.current().map_or(&[], |child| child.key())
    }

    fn sequence(&self) -> Sequence {
        self.current().map_or(0, |child| child.sequence())
    }

    fn kind(&self) -> EntryKind {
        self.current()
            .map_or(EntryKind::Delete, |child| child.kind())
    }

    fn value(&self) -> Pinned {
        self.current()
            .map_or_else(Pinned::empty, |child| child.value())
    }

    fn seek_first(&mut self) -> Result<()> {
        self.place(Direction::Forward, |_, child| child.cursor.seek_first())
    }

    fn seek_last(&mut self) -> Result<()> {
        self.place(Direction::Backward, |_, child| child.cursor.seek_last())
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        self.place(Direction::Forward, |_, child| {
            child.cursor.seek(key, sequence)
        })
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.place(Direction::Backward, |_, child| {
            child.cursor.seek_before(key)
        })
    }

    fn next(&mut self) -> Result<()> {
        self.step(Direction::Forward)
    }

    fn prev(&mut self) -> Result<()> {
        self.step(Direction::Backward)
    }
}

impl<C: Cursor + ?Sized> Cursor for Box<C> {
    fn valid(&self) -> bool {
        (**self).valid()
    }

    fn key(&self) -> &[u8] {
        (**self).key()
    }

    fn sequence(&self) -> Sequence {
        (**self).sequence()
    }

    fn kind(&self) -> EntryKind {
        (**self).kind()
    }

    fn value(&self) -> Pinned {
        (**self).value()
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

    fn prev(&mut self) -> Result<()> {
        (**self).prev()
    }
}
