//! Blocks: columns of sorted entries (docs/format.md, Block).
//!
//! ```text
//! header | prefix | lengths | kinds | sequences | group offsets | key bytes | value bytes | pointers | fence keys
//! ```
//!
//! [`BlockBuilder`] makes the raw form, [`BlockLayout`] locates its columns and checks them once,
//! and [`BlockView`] reads it in place.

mod builder;
mod copied_rows;
mod fence_keys;
mod header;
mod heads;
mod layout;
mod pointers;
mod put_row;
mod puts;
mod row_keys;
mod search;
mod shape;
mod sharing;
mod strides;
#[cfg(test)]
mod tests;
mod view;
mod walk;

pub(in crate::table) use builder::{BlockBuilder, NewEntry, encode_empty};
pub(in crate::table) use copied_rows::CopiedRows;
use fence_keys::FENCE_KEY_BYTES;
pub(in crate::table) use fence_keys::Fence;
pub(in crate::table) use layout::BlockLayout;
pub(in crate::table) use put_row::{FoundPut, PutRow};
pub(crate) use puts::{EntryEnd, Puts};
pub(in crate::table) use strides::Strides;
pub(in crate::table) use view::BlockView;
pub(in crate::table) use walk::Walk;

/// Bytes of the header of a raw block.
const HEADER_BYTES: usize = 28;
/// Bytes of a raw block besides its prefix and what its entries take.
pub(in crate::table) const FRAME_BYTES: usize = HEADER_BYTES + FENCE_KEY_BYTES;
const GROUP_ENTRIES: usize = 16;
/// The longest prefix that the header can describe.
const MAX_PREFIX_BYTES: usize = 65_535;
/// The slot hint of a block that has none: its range is empty.
const NO_HINT: (i16, i16) = (1, 0);

/// Bit of the header byte with the widths of lengths: the block has columns of pointers behind its values.
const WITH_POINTERS: u8 = 1 << 6;
/// Another one: the block ends with fence keys.
const WITH_FENCE_KEYS: u8 = 1 << 7;

/// Bits of the first header byte.
mod flag {
    pub const WIDE_OFFSETS: u8 = 1;
    pub const GROUPS_OF_8: u8 = 1 << 1;
    pub const NO_SHARING: u8 = 1 << 2;
    pub const SUFFIXES_ALIKE: u8 = 1 << 3;
    pub const VALUES_ALIKE: u8 = 1 << 4;
    pub const KINDS_ALIKE: u8 = 1 << 5;
    pub const PREVIOUS_RELATIVE: u8 = 1 << 6;
    pub const CONTINUES: u8 = 1 << 7;
    /// All that say that entries are alike.
    pub const ALL_ALIKE: u8 = NO_SHARING | SUFFIXES_ALIKE | VALUES_ALIKE | KINDS_ALIKE;
}
