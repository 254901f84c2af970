//! Value files: values apart from their keys (docs/format.md, Value file).

mod batch;
mod group;
mod kept;
mod reader;
mod record;
mod walk;
mod window;
mod writer;

pub(crate) use batch::{Request, read_all};
pub(crate) use group::{ValueFileMeta, ValueGroup};
pub(crate) use kept::KeptValues;
pub(crate) use reader::{HEADER_BYTES, ValueReader, is_log};
pub(crate) use walk::RecordWalk;
pub(crate) use window::Window;
pub(crate) use writer::ValueWriter;
