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
use crate::fs::output::{Output, PIECE_BYTES, Pieces};

/// The pieces of value files that are written at a time take about so many bytes together.
const BUFFERS_BYTES: usize = 4 << 20;

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
        let share = (BUFFERS_BYTES / files.max(1)).next_power_of_two();
        let bytes = share.min(PIECE_BYTES);
        let kept = 4 * bytes;
        let pieces = Pieces { bytes, kept };
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

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::fs::{FaultyFileSystem, FileCall, MemoryFileSystem, Plan};

    /// How many calls write a MiB of values to one of so many files.
    fn writes(files: usize) -> u64 {
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let mut writer = ValueWriter::create(&fs, Path::new(""), 1, 1, files).unwrap();
        while writer.bytes() < 1 << 20 {
            writer.append(b"key", &[7; 500]).unwrap();
        }
        writer.finish().unwrap();
        disk.calls_of(FileCall::Write)
    }

    #[test]
    fn of_many_files_less_is_kept_to_be_written_together() {
        // The last call writes the rest.
        let calls = [1, 16, 17, 20, 64, 1_024, 1 << 30].map(writes);
        assert_eq!(calls, [5, 5, 5, 5, 17, 257, 2_048]);
    }
}
