//! Memory that outlives the structure it was read from, blocks of tables and arenas of memtables, and filters of what is in
//! memory.

mod arena;
mod frames;
mod key_filter;
mod pieces;
mod pinned;

pub(crate) use arena::{Address, Appender, Arena};
pub(crate) use frames::{BlockCache, FrameSlots, Room, WrittenBlocks};
pub(crate) use key_filter::KeyFilter;
pub(crate) use pieces::Pieces;
pub(crate) use pinned::OwnedBytes;
pub use pinned::Pinned;
pub(crate) use pinned::Pins;
