//! The standard output, buffered.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde_json::Value;

use crate::failure::Failure;

/// Bytes collected before they are written to the operating system.
const BUFFER_BYTES: usize = 256 << 10;

/// The standard output with a buffer, which [`finish`] writes out.
pub fn open() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock())
}

/// Writes the rest of the buffer.
pub fn finish(mut out: impl Write) -> Result<(), Failure> {
    Ok(out.flush()?)
}

/// Prints one JSON value on one line.
pub fn print_json(value: &Value) -> Result<(), Failure> {
    let mut out = open();
    writeln!(out, "{value}")?;
    finish(out)
}

/// Prints text unchanged, and a line end.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = open();
    writeln!(out, "{text}")?;
    finish(out)
}

/// `1 table`, `2 tables`, `3 entries`: a number with its noun.
pub fn count(n: u64, noun: &str) -> String {
    let number = indicatif::HumanCount(n);
    match (n, noun.strip_suffix('y')) {
        (1, _) => format!("{number} {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}s"),
    }
}

/// Keeps the first error of a writer, for callers that would only see another error made from it.
pub struct Watched<W> {
    out: W,
    error: Option<io::ErrorKind>,
}

impl<W: Write> Watched<W> {
    /// Watches `out`.
    pub fn new(out: W) -> Self {
        Watched { out, error: None }
    }

    /// Writes the rest of the buffer.
    ///
    /// # Errors
    /// The first error of any write.
    pub fn finish(mut self) -> Result<(), Failure> {
        match self.error.take() {
            Some(kind) => Err(io::Error::from(kind).into()),
            None => finish(self.out),
        }
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).inspect_err(|e| {
            self.error.get_or_insert(e.kind());
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
