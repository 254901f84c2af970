//! The parts of a table file, as bytes: sections, stored blocks, directory, filter, properties.

pub(in crate::table) mod bits;
pub(in crate::table) mod codec;
pub(in crate::table) mod column;
pub(in crate::table) mod damage;
pub(in crate::table) mod directory;
pub(in crate::table) mod filter;
pub(in crate::table) mod footer;
pub(in crate::table) mod properties;
pub(in crate::table) mod stored;
pub(in crate::table) mod summary;
pub(in crate::table) mod units;
pub(in crate::table) mod value_uses;
