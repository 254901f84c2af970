//! Cursors that rest between two iterators.

use super::ResolvedCursor;
use crate::sync::{Mutex, OwnLines, thread_number};

/// Threads whose numbers are the same modulo this share a place.
const PLACES: usize = 16;

/// The cursors that iterators over one view left behind, one for each of a few threads: making a cursor and freeing it takes a
/// third of the instructions of a scan of ten entries. They are freed with the view, so they keep no table longer than that does.
pub(crate) struct IdleCursors {
    places: Box<[OwnLines<Mutex<Place>>; PLACES]>,
}

type Place = Option<Box<ResolvedCursor>>;

impl Default for IdleCursors {
    fn default() -> Self {
        let empty = |_| OwnLines(Mutex::new(None));
        IdleCursors {
            places: Box::new(std::array::from_fn(empty)),
        }
    }
}

impl IdleCursors {
    /// Does something with the place of this thread, unless another one uses it.
    fn with_place<T>(&self, with: impl FnOnce(&mut Place) -> T) -> Option<T> {
        let place = self.places.get(thread_number()? % PLACES)?;
        let mut held = place.0.try_lock().ok()?;
        Some(with(&mut held))
    }

    /// The cursor that this thread left, or one that shares the place with it, if it can be used again.
    pub fn take_if(
        &self,
        reuse: impl FnOnce(&mut ResolvedCursor) -> bool,
    ) -> Option<Box<ResolvedCursor>> {
        self.with_place(|place| place.take_if(|cursor| reuse(cursor)))
            .flatten()
    }

    /// Leaves a cursor for the next iterator, if it is over all that the view holds.
    pub fn put(&self, mut cursor: Box<ResolvedCursor>) {
        if !cursor.has_all_runs() {
            return;
        }
        cursor.rest();
        // What was there is freed when the place is free again.
        drop(self.with_place(|place| place.replace(cursor)));
    }
}

/// The copy of a view is changed into another view, whose cursors have other sources.
impl Clone for IdleCursors {
    fn clone(&self) -> Self {
        IdleCursors::default()
    }
}

impl std::fmt::Debug for IdleCursors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdleCursors").finish_non_exhaustive()
    }
}
