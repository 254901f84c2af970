//! Entries that an iterator moved over together.

use crate::table::Rows;

/// Keys and values that [`Iter::next_block`](crate::Iter::next_block) moved over, in key order. They borrow the iterator.
#[derive(Debug, Clone, Copy)]
pub struct Entries<'i> {
    rows: &'i Rows,
    values: &'i [u8],
}

impl<'i> Entries<'i> {
    pub(super) fn new(rows: &'i Rows, values: &'i [u8]) -> Self {
        Entries { rows, values }
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key and the value of the entry with this number, from 0.
    #[inline]
    pub fn get(&self, number: usize) -> Option<(&'i [u8], &'i [u8])> {
        self.rows.get(number, self.values)
    }

    /// The keys and values, in key order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'i [u8], &'i [u8])> + use<'i> {
        let entries = *self;
        (0..self.len()).map(move |number| entries.get(number).unwrap_or_default())
    }
}
