//! Iterators over the visible keys of a keyspace, in both directions.

use std::ops::Bound;
use std::sync::Arc;

use super::entries::Entries;
use super::key::Key;
use super::keys::Keys;
use super::value::Value;
use super::view::View;
use crate::cursor::{ResolvedCursor, VisibleCursor};
use crate::db::stats::counters::ReadCounters;
use crate::entry::{Sequence, is_before, is_behind, set_key};
use crate::error::Result;
use crate::memory::Pinned;
use crate::table::{GetTrace, Rows};
use crate::tune::Chooser;

/// The first block of entries after a seek has at most so many, and those behind a full one twice as many as that, up to a
/// limit: what a short scan does not look at is not made for it.
const FIRST_BLOCK_ENTRIES: usize = 16;
const MOST_BLOCK_ENTRIES: usize = 1024;

static NO_ROWS: Rows = Rows::new();

/// An iterator over the keys of a range and their values, in key order; [`Iterator::rev`] and
/// [`DoubleEndedIterator::next_back`] start from the other end. It returns what was visible when
/// the iterator was made, whatever happens meanwhile: writes, compaction, the drop of the keyspace,
/// [`Db::close`](crate::Db::close). The tables that it reads stay on the disk, and the write buffers in
/// memory, until it is dropped.
///
/// After an error the iterator ends.
pub struct Iter<'db> {
    view: Arc<View>,
    keyspace: u32,
    visible: Sequence,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    /// The two ends; the iterator ends where they meet.
    front: End,
    back: End,
    done: bool,
    failed: bool,
    /// Whether the front cursor is on a key that `key` and `value` return.
    lends: bool,
    /// Whether values are wanted.
    with_values: bool,
    /// How often a cursor was positioned.
    seeks: u32,
    /// The entries that were shown, for the tuner.
    steps: u64,
    /// The entries of the last [block](Iter::next_block), and `steps` then.
    rows: Rows,
    block_at: u64,
    /// How many entries the next one has at most.
    block_entries: usize,
    counters: &'db ReadCounters,
    tuner: Option<&'db Chooser>,
}

/// One end of an iterator.
struct End {
    /// Made when the end first moves; later seeks use it again.
    cursor: Option<Box<ResolvedCursor>>,
    /// Where the end begins: the bound of the iterator or the key of the last seek.
    start: Bound<Vec<u8>>,
    /// Whether a key was returned since; the cursor then remembers it.
    moved: bool,
}

impl End {
    fn at(start: Bound<Vec<u8>>) -> Self {
        End {
            cursor: None,
            start,
            moved: false,
        }
    }

    /// What the end has left behind: the bound of the keys that are still to be returned.
    fn bound(&self) -> Bound<&[u8]> {
        match &self.cursor {
            Some(cursor) if self.moved => Bound::Excluded(cursor.key()),
            _ => as_slice(&self.start),
        }
    }

    /// Returns keys alone from now on.
    fn leave_values(&mut self) {
        // The cursor may be ahead of what was returned, so it begins again.
        let left = self.bound().map(<[u8]>::to_vec);
        (self.start, self.moved) = (left, false);
        if let Some(cursor) = &mut self.cursor {
            cursor.leave_values();
        }
    }

    /// Begins again at a bound.
    fn restart(&mut self, start: Bound<&[u8]>) {
        // Most bounds are keys that were sought, which need no new memory for each seek.
        let mut buffer = match std::mem::replace(&mut self.start, Bound::Unbounded) {
            Bound::Included(buffer) | Bound::Excluded(buffer) => buffer,
            Bound::Unbounded => Vec::new(),
        };
        self.start = start.map(|key| {
            set_key(&mut buffer, key);
            buffer
        });
        self.moved = false;
    }
}

impl<'db> Iter<'db> {
    pub(in crate::db) fn new(
        view: Arc<View>,
        (keyspace, visible): (u32, Sequence),
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
        (counters, tuner): (&'db ReadCounters, Option<&'db Chooser>),
    ) -> Self {
        Iter {
            view,
            keyspace,
            visible,
            front: End::at(from.clone()),
            back: End::at(to.clone()),
            from,
            to,
            done: false,
            failed: false,
            lends: false,
            with_values: true,
            seeks: 0,
            steps: 0,
            rows: Rows::new(),
            block_at: 0,
            block_entries: FIRST_BLOCK_ENTRIES,
            counters,
            tuner,
        }
    }

    /// The keys that are still to be returned, without their values: faster where these are not needed, backwards
    /// above all, since no memory is pinned for them.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// db.put("apple", "1")?;
    /// db.put("pear", "2")?;
    /// let fruits: Vec<rhumb::Key> = db.iter()?.keys().collect::<rhumb::Result<_>>()?;
    /// assert_eq!(fruits, [&b"apple"[..], b"pear"]);
    /// # Ok(()) }
    /// ```
    pub fn keys(mut self) -> Keys<'db> {
        (self.with_values, self.lends) = (false, false);
        for end in [&mut self.front, &mut self.back] {
            end.leave_values();
        }
        Keys::new(self)
    }

    /// Moves the front to `key`, forwards or backwards: the next key from the front is the first one
    /// at or after `key`, inside the bounds of the iterator. This is faster than a new iterator.
    ///
    /// Keys that were returned from the front before may be returned again; those that were returned
    /// from the back are not, unless [`Iter::seek_back`] moves the back as well. An iterator that came
    /// to its end goes on, but not one that returned an error.
    ///
    /// Nothing is read before the next step, so there is no key to lend until then.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// for fruit in ["apple", "mango", "pear"] {
    ///     db.put(fruit, "1")?;
    /// }
    /// let mut all = db.iter()?;
    /// for (sought, found) in [("melon", "pear"), ("banana", "mango"), ("", "apple")] {
    ///     all.seek(sought);
    ///     assert!(all.advance()?);
    ///     assert_eq!(all.key(), found.as_bytes());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        if let Some(back) = &mut self.back.cursor {
            back.see_bound();
        }
        let (key, from) = (key.as_ref(), as_slice(&self.from));
        self.front.restart(match is_before(key, from) {
            true => from,
            false => Bound::Included(key),
        });
        self.lends = false;
        self.done = self.failed;
        self.block_entries = FIRST_BLOCK_ENTRIES;
    }

    /// Moves the back to `key`, forwards or backwards: the next key from the back is the last one at
    /// or before `key`, inside the bounds of the iterator. Otherwise as [`Iter::seek`]: keys that were
    /// returned from the front are not returned again.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// for fruit in ["apple", "mango", "pear"] {
    ///     db.put(fruit, "1")?;
    /// }
    /// let mut all = db.iter()?;
    /// all.seek_back("melon");
    /// let (last_before, _) = all.next_back().unwrap()?;
    /// assert_eq!(&*last_before, b"mango");
    /// # Ok(()) }
    /// ```
    pub fn seek_back(&mut self, key: impl AsRef<[u8]>) {
        if let Some(front) = &mut self.front.cursor {
            front.see_bound();
        }
        let (key, to) = (key.as_ref(), as_slice(&self.to));
        self.back.restart(match is_behind(key, to) {
            true => to,
            false => Bound::Included(key),
        });
        self.rows.clear();
        self.done = self.failed;
    }

    /// Moves to the next key from the front. Returns `false` if there is none. [`Iter::key`] and
    /// [`Iter::value`] then borrow the entry in place, which is faster than [`Iterator::next`]:
    /// nothing is copied or pinned. Calls of `advance` and `next` may be mixed.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// db.put("pear", "2")?;
    /// let mut all = db.iter()?;
    /// while all.advance()? {
    ///     assert_eq!((all.key(), all.value()), (&b"pear"[..], &b"2"[..]));
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If a file cannot be read or is damaged; the iterator ends then.
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        if self.goes_on_alone()
            && let Some(front) = &mut self.front.cursor
            && front.next_plain()
        {
            self.steps += 1;
            return Ok(true);
        }
        self.advance_further()
    }

    /// Moves over the next keys from the front that lie in one block, where no other table, write buffer or range delete comes
    /// between them; over one key elsewhere, and in keyspaces with value files. Returns them with their values, at first
    /// up to 16 and then more at a time, or `None` if there is none. This
    /// is the fastest way to read many entries. [`Iter::key`] and [`Iter::value`] then lend the last of them; calls of
    /// `next_block`, `advance` and `next` may be mixed.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// db.put("apple", "1")?;
    /// db.put("pear", "2")?;
    /// let (mut all, mut fruits) = (db.iter()?, Vec::new());
    /// while let Some(block) = all.next_block()? {
    ///     fruits.extend(block.iter().map(|(key, _)| key.to_vec()));
    /// }
    /// assert_eq!(fruits, [&b"apple"[..], b"pear"]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Iter::advance`].
    pub fn next_block(&mut self) -> Result<Option<Entries<'_>>> {
        let most = self.block_entries;
        self.rows.clear();
        if self.goes_on_alone()
            && let Some(front) = &mut self.front.cursor
        {
            front.next_many(most, self.back.bound(), &mut self.rows);
            self.steps += self.rows.len() as u64;
        }
        if self.rows.len() == 0 {
            if !self.advance()? {
                return Ok(None);
            }
            if let Some(front) = &mut self.front.cursor {
                front.with_plain_behind(most - 1, self.back.bound(), &mut self.rows);
                self.steps += self.rows.len() as u64 - 1;
            }
        }
        if self.rows.len() == most {
            self.block_entries = MOST_BLOCK_ENTRIES.min(2 * most);
        }
        self.block_at = self.steps;
        Ok(Some(self.block()))
    }

    /// What the last [`Iter::next_block`] returned; no entries if an end has moved since, or was moved by a seek.
    #[inline]
    pub fn block(&self) -> Entries<'_> {
        match self.lent().filter(|_| self.block_at == self.steps) {
            Some(front) => Entries::new(&self.rows, front.values_at_hand()),
            None => Entries::new(&NO_ROWS, &[]),
        }
    }

    /// Whether the front stands on a key behind which it may go on without a look at the other end.
    #[inline]
    fn goes_on_alone(&self) -> bool {
        self.lends && !self.done && self.front.moved && self.back.cursor.is_none()
    }

    /// As [`Iter::advance`], where a step takes more than a look at the next entry of a block.
    #[inline(never)]
    fn advance_further(&mut self) -> Result<bool> {
        self.lends = false;
        if self.done {
            return Ok(false);
        }
        let step = self.step();
        self.lends = *step.as_ref().unwrap_or(&false);
        self.done = !self.lends;
        self.failed = step.is_err();
        step
    }

    /// The key that the last [`Iter::advance`] or `next` moved to; empty if there is none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.lent().map_or(&[], ResolvedCursor::key)
    }

    /// The value of the key that the last [`Iter::advance`] or `next` moved to; empty if there is
    /// none.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.lent().map_or(&[], ResolvedCursor::value)
    }

    #[inline]
    fn lent(&self) -> Option<&ResolvedCursor> {
        self.front.cursor.as_deref().filter(|_| self.lends)
    }

    fn step(&mut self) -> Result<bool> {
        if self.front.cursor.is_none() {
            self.front.cursor = Some(self.cursor()?);
        }
        let Some(cursor) = &mut self.front.cursor else {
            return Ok(false);
        };
        if let Some(back) = &mut self.back.cursor {
            back.see_bound();
        }
        let to = self.back.bound();
        self.steps += 1;
        if self.front.moved {
            let shown = cursor.next(to)?;
            if !shown {
                // The cursor has left its key. If the back moves away, the front begins behind it.
                self.front.start = Bound::Excluded(cursor.key().to_vec());
                self.front.moved = false;
            }
            return Ok(shown);
        }
        self.seeks += 1;
        self.front.moved = cursor.first(as_slice(&self.front.start), to)?;
        Ok(self.front.moved)
    }

    /// Moves to the previous key at the back. Returns its value.
    fn retreat(&mut self) -> Result<Option<Pinned>> {
        if self.back.cursor.is_none() {
            self.back.cursor = Some(self.cursor()?);
        }
        let Some(cursor) = &mut self.back.cursor else {
            return Ok(None);
        };
        if let Some(front) = &mut self.front.cursor {
            front.see_bound();
        }
        let from = self.front.bound();
        self.steps += 1;
        if self.back.moved {
            return cursor.prev(from);
        }
        self.seeks += 1;
        let value = cursor.last(from, as_slice(&self.back.start))?;
        self.back.moved = value.is_some();
        Ok(value)
    }

    /// A cursor for one of the ends.
    fn cursor(&self) -> Result<Box<ResolvedCursor>> {
        let (memtables, levels) = (self.view.filled_memtables(), &self.view.levels);
        let (from, to) = (as_slice(&self.from), as_slice(&self.to));
        let reuse = |idle: &mut ResolvedCursor| {
            idle.reuse(self.with_values, |visible| {
                visible.reuse(memtables.clone(), self.visible, from, to)
            })
        };
        if let Some(idle) = self.view.idle.take_if(reuse) {
            return Ok(idle);
        }
        let cursor = VisibleCursor::new(memtables, levels, self.visible, from, to)?;
        let (keyspace, with_values) = (self.keyspace, self.with_values);
        let cursor = ResolvedCursor::new(cursor, levels, keyspace, with_values);
        Ok(Box::new(cursor))
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

impl<'db> Iterator for Iter<'db> {
    type Item = Result<(Key, Value<'db>)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(true) => {
                let front = self.front.cursor.as_mut()?;
                let value = Value::new(front.pin_value());
                Some(Ok((Key::from(front.key()), value)))
            }
            Ok(false) => None,
            Err(e) => Some(Err(e)),
        }
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let step = self.retreat();
        self.done = !matches!(step, Ok(Some(_)));
        self.failed = step.is_err();
        match step {
            Ok(value) => {
                let key = Key::from(self.back.cursor.as_ref()?.key());
                value.map(|value| Ok((key, Value::new(value))))
            }
            Err(e) => Some(Err(e)),
        }
    }
}

impl Drop for Iter<'_> {
    fn drop(&mut self) {
        let mut trace = GetTrace::default();
        for cursor in self.front.cursor.iter().chain(&self.back.cursor) {
            cursor.add_trace(&mut trace);
        }
        self.counters.count_scan(self.seeks, &trace);
        if let Some(tuner) = self.tuner {
            tuner.note_scan(self.seeks, self.steps, &trace);
        }
        let left = self.front.cursor.take().or_else(|| self.back.cursor.take());
        if let Some(cursor) = left.filter(|_| !self.failed) {
            self.view.idle.put(cursor);
        }
    }
}

impl std::fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter")
            .field("visible", &self.visible)
            .finish_non_exhaustive()
    }
}
