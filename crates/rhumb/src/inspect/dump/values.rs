//! A value file as text: its records.

use std::io::Write;
use std::path::Path;

use super::{key, log, output, value};
use crate::error::Result;
use crate::vlog::{RecordWalk, is_log};

/// Writes the records of a value file up to the first damage.
pub(super) fn dump(path: &Path, bytes: &[u8], number: u64, out: &mut dyn Write) -> Result<()> {
    if is_log(bytes, number) {
        output(writeln!(
            out,
            "value file {number} is a log that tables point to"
        ))?;
        return log::dump(path, bytes, number, out);
    }
    let records = RecordWalk::new(path, number, bytes)?;
    output(writeln!(out, "value file {number}, {} bytes", bytes.len()))?;
    for record in records {
        output(match record {
            Ok(record) => writeln!(
                out,
                "  {}: keyspace {}: {} = {}",
                record.pointer.offset,
                record.keyspace,
                key(record.key),
                value(record.value)
            ),
            Err(e) => writeln!(out, "damaged: {e}"),
        })?;
    }
    Ok(())
}
