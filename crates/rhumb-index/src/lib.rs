#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod byte_form;
mod bytes;
pub mod check;
mod error;
mod index;
mod join;
mod key_map;
mod kind;
mod kinds;
mod knob;
mod random;
pub mod registry;
pub mod search;
mod segment;
pub mod sorted;
mod spec;
pub mod updatable;
mod wide;

pub use byte_form::ByteForm;
pub use error::IndexError;
pub use index::{Band, BlockRows, ClosedSegment, Index, IndexBuilder, Position, Probe, Window};
pub use join::{Joined, join};
pub use key_map::{KeyMap, KeyMapBuilder};
pub use knob::Knob;
pub use segment::Segmentation;
pub use sorted::{SortedMap, SortedSet};
pub use spec::IndexSpec;
