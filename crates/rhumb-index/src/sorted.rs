//! Sorted sets and maps that a learned index finds keys in: owned, immutable, and usable in place from
//! borrowed or mapped bytes.
//!
//! [`SortedSet`] and [`SortedMap`] choose the index, number the keys and search the last mile. They are
//! the front door of this crate; its parts serve those who keep the keys themselves.
//!
//! ```
//! use rhumb_index::SortedMap;
//!
//! let squares = SortedMap::<u64, u32>::from_sorted((0..1000).map(|i| (u64::from(i) * u64::from(i), i)))?;
//! assert_eq!((squares.get(&49), squares.get(&50)), (Some(7), None));
//! assert_eq!(squares.range(20..50).collect::<Vec<_>>(), [(25, 5), (36, 6), (49, 7)]);
//! # Ok::<(), rhumb_index::IndexError>(())
//! ```

mod build;
mod column;
mod element;
mod finder;
mod form;
mod iter;
mod map;
mod set;
mod strings;
#[cfg(test)]
mod tests;

pub use element::Element;
pub use iter::{Iter, Keys};
pub use map::SortedMap;
pub use set::SortedSet;
