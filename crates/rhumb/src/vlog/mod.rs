//! Value files: values apart from their keys (docs/format.md, Value file).

mod reader;
mod record;
mod walk;
mod writer;

pub(crate) use reader::ValueReader;
pub(crate) use walk::RecordWalk;
pub(crate) use writer::ValueWriter;
