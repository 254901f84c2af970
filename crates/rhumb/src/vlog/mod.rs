//! Value files: values apart from their keys (docs/format.md, Value file).

mod batch;
mod group;
mod kept;
mod reader;
mod record;
mod walk;
mod writer;

pub(crate) use batch::{Request, put, read_all, unread};
pub(crate) use group::{ValueFileMeta, ValueGroup};
pub(crate) use kept::KeptValues;
#[cfg(feature = "test-kit")]
pub(crate) use reader::header;
pub(crate) use reader::{HEADER_BYTES, ValueReader, is_log};
#[cfg(feature = "test-kit")]
pub(crate) use record::encode as encode_record;
pub(crate) use walk::RecordWalk;
pub(crate) use writer::ValueWriter;
