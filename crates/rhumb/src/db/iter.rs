//! Iterators over the visible keys of a keyspace, from both ends.

use std::ops::Bound;
use std::sync::Arc;

use super::key::Key;
use super::value::Value;
use super::view::View;
use super::visible::VisibleCursor;
use crate::entry::Sequence;
use crate::error::Result;
use crate::memory::Pinned;

/// The keys of a range with their values, in order; [`Iterator::rev`] and
/// [`DoubleEndedIterator::next_back`] go from the other end. It shows the store as it was when the
/// iterator was made, whatever is written meanwhile.
///
/// After an error the iterator ends.
pub struct Iter<'db> {
    view: Arc<View>,
    visible: Sequence,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    /// Each end's cursor knows the last key given out there: where the ends meet, the iterator ends.
    front: Option<VisibleCursor>,
    back: Option<VisibleCursor>,
    done: bool,
    store: std::marker::PhantomData<&'db ()>,
}

impl Iter<'_> {
    pub(super) fn new(
        view: Arc<View>,
        visible: Sequence,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
    ) -> Self {
        Iter {
            view,
            visible,
            from,
            to,
            front: None,
            back: None,
            done: false,
            store: std::marker::PhantomData,
        }
    }

    /// Goes one key on at the front, and gives its value.
    fn advance(&mut self) -> Result<Option<Pinned>> {
        let to = match &self.back {
            Some(back) => Bound::Excluded(back.key()),
            None => as_slice(&self.to),
        };
        if let Some(front) = &mut self.front {
            return front.next(to);
        }
        let from = as_slice(&self.from);
        let front = VisibleCursor::new(&self.view, self.visible, from, to)?;
        self.front.insert(front).first(from, to)
    }

    /// Goes one key back at the back, and gives its value.
    fn retreat(&mut self) -> Result<Option<Pinned>> {
        let from = match &self.front {
            Some(front) => Bound::Excluded(front.key()),
            None => as_slice(&self.from),
        };
        if let Some(back) = &mut self.back {
            return back.prev(from);
        }
        let to = as_slice(&self.to);
        let back = VisibleCursor::new(&self.view, self.visible, from, to)?;
        self.back.insert(back).last(from, to)
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// What an end of an iterator gives out after a step; the iterator is done unless it is a key.
fn item<'db>(
    step: Result<Option<Pinned>>,
    cursor: Option<&VisibleCursor>,
    done: &mut bool,
) -> Option<Result<(Key, Value<'db>)>> {
    match step {
        Ok(Some(value)) => Some(Ok((Key::from(cursor?.key()), Value::new(value)))),
        Ok(None) => {
            *done = true;
            None
        }
        Err(e) => {
            *done = true;
            Some(Err(e))
        }
    }
}

impl<'db> Iterator for Iter<'db> {
    type Item = Result<(Key, Value<'db>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let step = self.advance();
        item(step, self.front.as_ref(), &mut self.done)
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let step = self.retreat();
        item(step, self.back.as_ref(), &mut self.done)
    }
}

impl std::fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter")
            .field("visible", &self.visible)
            .finish_non_exhaustive()
    }
}
