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
use crate::fs::output::Output;

/// About so many bytes are handed to the operating system in one call.
const BUFFER_BYTES: usize = 256 << 10;

/// The buffers of value files that are written at a time take about so many bytes together.
const BUFFERS_BYTES: usize = 4 << 20;

/// A value file that is being written.
#[derive(Debug)]
pub(crate) struct ValueWriter {
    output: Output,
    number: u64,
    keyspace: u32,
    /// The end of the last record.
    end: u64,
    /// What was not written yet, and about how much of it is written at once.
    pending: Vec<u8>,
    buffer_bytes: usize,
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
        let output = Output::create(fs, dir.join(FileKind::Values.name(number)))?;
        let pending = header(number).to_vec();
        Ok(ValueWriter {
            output,
            number,
            keyspace,
            end: pending.len() as u64,
            pending,
            buffer_bytes: (BUFFERS_BYTES / files.max(1)).min(BUFFER_BYTES),
        })
    }

    /// Appends a value. Returns where it lies; `None`, writing nothing, if no pointer can say that: the file is
    /// larger than [`Pointer::LIMIT`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Pointer>> {
        let Some(pointer) = Pointer::new(self.number, self.end, value.len()) else {
            return Ok(None);
        };
        let (entry, place) = ((self.keyspace, key, value), (self.number, self.end));
        let before = self.pending.len();
        record::encode(entry, place, &mut self.pending);
        self.end += (self.pending.len() - before) as u64;
        if self.pending.len() >= self.buffer_bytes {
            self.write()?;
        }
        Ok(Some(pointer))
    }

    fn write(&mut self) -> Result<()> {
        self.output.write(&self.pending)?;
        self.pending.clear();
        self.pending.shrink_to(2 * self.buffer_bytes);
        Ok(())
    }

    /// The file number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.end
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
        self.write()?;
        self.output.sync()
    }
}
