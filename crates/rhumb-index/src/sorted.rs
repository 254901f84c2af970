//! Sorted sets and maps whose keys are found by a learned index: immutable, owned or used in place
//! from borrowed or mapped bytes.
//!
//! [`SortedSet`] and [`SortedMap`] choose the index, number the keys and search the last mile. They
//! are the main interface of this crate; its other parts are for callers that store the keys
//! themselves.
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
