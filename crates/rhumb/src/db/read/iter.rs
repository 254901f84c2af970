//! Iterators over the visible keys of a keyspace, in both directions.

use std::ops::Bound;
use std::sync::Arc;

use super::key::Key;
use super::value::Value;
use super::view::View;
use crate::cursor::VisibleCursor;
use crate::db::stats::counters::ReadCounters;
use crate::entry::Sequence;
use crate::error::Result;
use crate::memory::Pinned;
use crate::table::GetTrace;

/// An iterator over the keys of a range and their values, in key order; [`Iterator::rev`] and
/// [`DoubleEndedIterator::next_back`] start from the other end. It returns what was visible when
/// the iterator was made, whatever happens meanwhile: writes, compaction, the drop of the keyspace,
/// [`Db::close`](crate::Db::close). The tables that it reads stay on the disk, and the write buffers in
/// memory, until it is dropped.
///
/// After an error the iterator ends.
pub struct Iter<'db> {
    view: Arc<View>,
    visible: Sequence,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    /// The cursors of the two ends. Each remembers the last key returned there; the iterator ends
    /// where the two meet.
    front: Option<VisibleCursor>,
    back: Option<VisibleCursor>,
    done: bool,
    /// Whether the front cursor is on a key that `key` and `value` return.
    lends: bool,
    counters: &'db ReadCounters,
}

impl<'db> Iter<'db> {
    pub(in crate::db) fn new(
        view: Arc<View>,
        visible: Sequence,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
        counters: &'db ReadCounters,
    ) -> Self {
        Iter {
            view,
            visible,
            from,
            to,
            front: None,
            back: None,
            done: false,
            lends: false,
            counters,
        }
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
    pub fn advance(&mut self) -> Result<bool> {
        self.lends = false;
        if self.done {
            return Ok(false);
        }
        let step = self.step();
        self.lends = *step.as_ref().unwrap_or(&false);
        self.done = !self.lends;
        step
    }

    /// The key that the last [`Iter::advance`] or `next` moved to; empty if there is none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.lent().map_or(&[], VisibleCursor::key)
    }

    /// The value of the key that the last [`Iter::advance`] or `next` moved to; empty if there is
    /// none.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.lent().map_or(&[], VisibleCursor::value)
    }

    fn lent(&self) -> Option<&VisibleCursor> {
        self.front.as_ref().filter(|_| self.lends)
    }

    fn step(&mut self) -> Result<bool> {
        let to = match &self.back {
            Some(back) => Bound::Excluded(back.key()),
            None => as_slice(&self.to),
        };
        if let Some(front) = &mut self.front {
            return front.next(to);
        }
        let from = as_slice(&self.from);
        let front = self.cursor(from, to)?;
        self.front.insert(front).first(from, to)
    }

    /// A cursor between two bounds.
    fn cursor(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<VisibleCursor> {
        let view = &self.view;
        VisibleCursor::new(
            view.filled_memtables(),
            &view.levels,
            self.visible,
            from,
            to,
        )
    }

    /// Moves to the previous key at the back. Returns its value.
    fn retreat(&mut self) -> Result<Option<Pinned>> {
        let from = match &self.front {
            Some(front) => Bound::Excluded(front.key()),
            None => as_slice(&self.from),
        };
        if let Some(back) = &mut self.back {
            return back.prev(from);
        }
        let to = as_slice(&self.to);
        let back = self.cursor(from, to)?;
        self.back.insert(back).last(from, to)
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
                let front = self.front.as_mut()?;
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
        match step {
            Ok(value) => {
                let key = Key::from(self.back.as_ref()?.key());
                value.map(|value| Ok((key, Value::new(value))))
            }
            Err(e) => Some(Err(e)),
        }
    }
}

impl Drop for Iter<'_> {
    fn drop(&mut self) {
        let (mut seeks, mut trace) = (0, GetTrace::default());
        for end in self.front.iter().chain(&self.back) {
            seeks += 1;
            end.add_trace(&mut trace);
        }
        self.counters.count_scan(seeks, &trace);
    }
}

impl std::fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter")
            .field("visible", &self.visible)
            .finish_non_exhaustive()
    }
}
