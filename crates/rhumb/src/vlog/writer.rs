//! Writing a value file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::reader::header;
use super::record;
use crate::entry::Pointer;
use crate::error::Result;
use crate::fs::FileSystem;
use crate::fs::names::FileKind;
use crate::fs::output::{Output, Pieces};

/// So many bytes are handed to the operating system in one call.
const BUFFER_BYTES: usize = 256 << 10;

/// The buffers of value files that are written at a time take about so many bytes together.
const BUFFERS_BYTES: usize = 4 << 20;

/// A page: no fewer bytes are written at a time.
const LEAST_BYTES: usize = 4 << 10;

/// A value file that is being written.
#[derive(Debug)]
pub(crate) struct ValueWriter {
    output: Output,
    number: u64,
    keyspace: u32,
}

impl ValueWriter {
    /// Creates the value file `number` in `dir`, for values of one keyspace, as one of `files` that are written at a
    /// time. Its name is durable after the next sync of the directory.
    ///
    /// # Errors
    /// If it exists or cannot be created.
    pub fn create(
        fs: &Arc<dyn FileSystem>,
        dir: &Path,
        number: u64,
        keyspace: u32,
        files: usize,
    ) -> Result<ValueWriter> {
        let share = (BUFFERS_BYTES / files.max(1)).clamp(LEAST_BYTES, BUFFER_BYTES);
        let bytes = 1 << share.ilog2();
        let pieces = Pieces {
            bytes,
            room: 2 * bytes,
        };
        let mut output = Output::create(fs, dir.join(FileKind::Values.name(number)), pieces)?;
        output.pending().extend_from_slice(&header(number));
        Ok(ValueWriter {
            output,
            number,
            keyspace,
        })
    }

    /// Appends a value. Returns where it lies; `None`, writing nothing, if no pointer can say that: the file is
    /// larger than [`Pointer::LIMIT`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Pointer>> {
        let end = self.output.end();
        let Some(pointer) = Pointer::new(self.number, end, value.len()) else {
            return Ok(None);
        };
        let entry = (self.keyspace, key, value);
        record::encode(entry, (self.number, end), self.output.pending());
        self.output.write_pieces()?;
        Ok(Some(pointer))
    }

    /// The file number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.output.end()
    }

    /// The time spent creating, writing and syncing the file.
    pub fn write_time(&self) -> Duration {
        self.output.time
    }

    /// Writes the rest and syncs the file, but not its name in the directory.
    ///
    /// # Errors
    /// If one of these fails.
    pub fn finish(&mut self) -> Result<()> {
        self.output.sync()
    }
}
