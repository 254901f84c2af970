//! Cursors over the pairs of a store.

use super::Store;
use crate::data::Pairs;
use crate::error::Result;

/// Pairs in key order, as they were when the cursor was made.
pub trait Cursor {
    /// Moves to the first pair whose key is `key` or greater. Returns false if there is none.
    fn seek(&mut self, key: &[u8]) -> Result<bool>;

    /// Moves to the next pair. Returns false if there is none. May be called after
    /// [`Cursor::seek`] or this function has returned true.
    fn advance(&mut self) -> Result<bool>;

    /// The key and the value of the present pair; both are empty if there is none.
    fn pair(&self) -> (&[u8], &[u8]);
}

/// Sets `into` to the first `count` pairs of a store from `start` on.
///
/// # Errors
/// Any error of the store.
pub fn scan<S: Store + ?Sized>(
    store: &S,
    start: &[u8],
    count: usize,
    into: &mut Pairs,
) -> Result<()> {
    into.clear();
    if count == 0 {
        return Ok(());
    }
    store.with_cursor(&mut |cursor| {
        let mut more = cursor.seek(start)?;
        while more {
            let (key, value) = cursor.pair();
            into.push(key, value);
            more = into.len() < count && cursor.advance()?;
        }
        Ok(())
    })
}
