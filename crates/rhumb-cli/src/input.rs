//! The file that `load` reads: plain, compressed, or the standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::arguments::shown;
use crate::failure::Failure;

/// Bytes that one call reads from the file.
const BUFFER_BYTES: usize = 1 << 20;

/// The most bytes of the first line that are examined to guess the format.
const PEEK_BYTES: u64 = 1 << 20;

/// An open input.
pub struct Input {
    /// Its name in messages.
    pub name: String,
    /// Its bytes, decompressed.
    pub reader: Box<dyn BufRead>,
}

impl Input {
    /// Opens a file, `-` for the standard input; files whose names end in `.gz` are decompressed.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Input {
                name: "the standard input".to_string(),
                reader: Box::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin())),
            });
        }
        let name = shown(path);
        let file = File::open(path)
            .and_then(|file| match file.metadata()?.is_dir() {
                true => Err(io::ErrorKind::IsADirectory.into()),
                false => Ok(file),
            })
            .map_err(|e| Failure::Failed(format!("cannot open {name}: {e}")))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        let reader: Box<dyn BufRead> = match path.extension().is_some_and(|e| e == "gz") {
            true => Box::new(BufReader::with_capacity(
                BUFFER_BYTES,
                MultiGzDecoder::new(file),
            )),
            false => Box::new(file),
        };
        Ok(Input { name, reader })
    }

    /// Whether the first line contains a tab. Reading afterwards begins at the start again.
    pub fn first_line_has_tab(&mut self) -> Result<bool, Failure> {
        let mut line = Vec::new();
        self.reader
            .by_ref()
            .take(PEEK_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(|e| Failure::Failed(format!("cannot read {}: {e}", self.name)))?;
        let has_tab = line.contains(&b'\t');
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(line).chain(rest));
        Ok(has_tab)
    }
}
