//! Files of keys in the order of their arrival.
//!
//! `binary`: each key as a little-endian `u64`, followed by a payload of the same size for all, if there
//! is one. `text`: an entry on each line, a number or any text, in columns if a separator is given.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::Random;
use super::disorder::Sortedness;
use crate::error::{Error, Result};

/// The form of such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Little-endian 64-bit integers.
    Binary,
    /// A key on each line.
    Text,
}

const BUFFER_BYTES: usize = 1 << 20;
/// The digits of a payload in a text.
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes keys one after another.
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    form: Form,
    payload: usize,
    random: Random,
    line: Vec<u8>,
}

impl Writer {
    /// Creates a file; an existing one is replaced. Each key is followed by `payload` random bytes; in a
    /// text, by a comma and as many hexadecimal digits.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, form: Form, payload: usize, seed: u64) -> Result<Writer> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        Ok(Writer {
            path: path.to_path_buf(),
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            form,
            payload,
            random: Random::new(seed, 0x9a71),
            line: Vec::new(),
        })
    }

    /// Writes the next key.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, key: u64) -> Result<()> {
        self.line.clear();
        match self.form {
            Form::Binary => {
                self.line.extend_from_slice(&key.to_le_bytes());
                self.random.fill(&mut self.line, self.payload);
            }
            Form::Text => {
                self.line.extend_from_slice(key.to_string().as_bytes());
                if self.payload > 0 {
                    self.line.push(b',');
                    let digits = self.line.len();
                    self.random.fill(&mut self.line, self.payload);
                    for byte in self.line.iter_mut().skip(digits) {
                        *byte = DIGITS[usize::from(*byte % 16)];
                    }
                }
                self.line.push(b'\n');
            }
        }
        let written = self.file.write_all(&self.line);
        written.map_err(Error::io("write", &self.path))
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush().map_err(Error::io("write", &self.path))
    }
}

/// The integers at the start of each line of a text file, in their order.
///
/// # Errors
/// If the file cannot be read, or a line does not start with an integer below 2^64.
pub fn numbers(path: &Path) -> Result<Vec<u64>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    parse_numbers(BufReader::with_capacity(BUFFER_BYTES, file), path)
}

/// The integers at the start of each line of a text, which errors call `path`.
///
/// # Errors
/// As those of [`numbers`].
pub fn parse_numbers(text: impl BufRead, path: &Path) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.map_err(Error::io("read", path))?;
        let digits = line.split(|letter: char| !letter.is_ascii_digit()).next();
        let parsed = digits.unwrap_or_default().parse();
        numbers.push(parsed.map_err(|_| Error::Input {
            path: path.to_path_buf(),
            expected: "a text with an integer below 2^64 at the start of each line",
            found: format!(
                "line {number} starts with {:?}",
                line.chars().take(20).collect::<String>()
            ),
        })?);
    }
    Ok(numbers)
}

/// A file to measure.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Its form.
    pub form: Form,
    /// Bytes after each key of a binary file.
    pub payload: usize,
    /// The column of the key in a text, from 1.
    pub column: usize,
    /// What separates the columns of a text; none for blanks.
    pub separator: Option<char>,
}

impl Source {
    /// The sortedness of its entries. The entries of a text are compared as numbers if all of them are
    /// integers below 2^64, else as text.
    ///
    /// # Errors
    /// If the file cannot be read, has no entry, an incomplete one, or 2^32 or more.
    pub fn measure(&self) -> Result<Sortedness> {
        let file = File::open(&self.path).map_err(Error::io("open", &self.path))?;
        let reader = BufReader::with_capacity(BUFFER_BYTES, file);
        match self.form {
            Form::Binary => self.sortedness(&self.integers(reader)?),
            Form::Text => {
                let texts = self.texts(reader)?;
                let numbers = texts.iter().map(|text| text.parse());
                match numbers.collect::<std::result::Result<Vec<u64>, _>>() {
                    Ok(numbers) => self.sortedness(&numbers),
                    Err(_) => self.sortedness(&texts),
                }
            }
        }
    }

    fn sortedness<T: Ord>(&self, entries: &[T]) -> Result<Sortedness> {
        if entries.is_empty() {
            return Err(self.bad("it has no entry".to_string()));
        }
        if u32::try_from(entries.len()).is_err() {
            return Err(self.bad(format!("it has {} entries", entries.len())));
        }
        Ok(Sortedness::of(entries))
    }

    fn integers(&self, mut reader: impl Read) -> Result<Vec<u64>> {
        let mut entry = vec![0; 8 + self.payload];
        let mut numbers = Vec::new();
        loop {
            let read = fill(&mut reader, &mut entry).map_err(Error::io("read", &self.path))?;
            if read == 0 {
                return Ok(numbers);
            }
            match entry.first_chunk::<8>() {
                Some(key) if read == entry.len() => numbers.push(u64::from_le_bytes(*key)),
                _ => {
                    return Err(self.bad(format!(
                        "entry {} has {read} of {} bytes",
                        numbers.len() + 1,
                        entry.len()
                    )));
                }
            }
        }
    }

    fn texts(&self, reader: impl BufRead) -> Result<Vec<String>> {
        let column = self.column.saturating_sub(1);
        let mut texts = Vec::new();
        for (number, line) in (1..).zip(reader.lines()) {
            let line = line.map_err(Error::io("read", &self.path))?;
            let cell = match self.separator {
                Some(separator) => line.split(separator).nth(column),
                None => line.split_whitespace().nth(column),
            };
            let missing = || self.bad(format!("line {number} has no column {}", self.column));
            texts.push(cell.ok_or_else(missing)?.to_string());
        }
        Ok(texts)
    }

    fn bad(&self, found: String) -> Error {
        Error::Input {
            path: self.path.clone(),
            expected: match self.form {
                Form::Binary => {
                    "fewer than 2^32 entries of a 64-bit key and a payload of --payload bytes"
                }
                Form::Text => "fewer than 2^32 lines with the key in column --column",
            },
            found,
        }
    }
}

/// Reads until the buffer is full or the file ends. Returns the bytes read.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(bytes) => read += bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &Path, form: Form) -> Source {
        Source {
            path: path.to_path_buf(),
            form,
            payload: 0,
            column: 1,
            separator: None,
        }
    }

    #[test]
    fn what_is_written_is_measured() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (form, payload) in [
            (Form::Binary, 0),
            (Form::Binary, 13),
            (Form::Text, 0),
            (Form::Text, 5),
        ] {
            let mut writer = Writer::create(file.path(), form, payload, 1).unwrap();
            for key in [9, 700, 80, 1_000] {
                writer.write(key).unwrap();
            }
            writer.finish().unwrap();
            let measured = Source {
                payload,
                separator: Some(','),
                ..source(file.path(), form)
            };
            let measured = measured.measure().unwrap();
            assert_eq!((measured.entries, measured.out_of_place), (4, 2));
            assert_eq!((measured.inversions, measured.largest), (1, 1));
        }
    }

    #[test]
    fn columns_are_numbers_or_texts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a 9\nb 10\nc  11\n").unwrap();
        let of = |column| Source {
            column,
            ..source(file.path(), Form::Text)
        };
        for column in [1, 2] {
            assert_eq!(of(column).measure().unwrap().out_of_place, 0);
        }
        std::fs::write(file.path(), "x9\nx10\n").unwrap();
        assert_eq!(of(1).measure().unwrap().out_of_place, 2);
        let error = of(2).measure().unwrap_err().to_string();
        assert!(error.contains("line 1 has no column 2"), "{error}");
    }

    #[test]
    fn incomplete_and_empty_files_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (bytes, form, part) in [
            (0, Form::Binary, "no entry"),
            (0, Form::Text, "no entry"),
            (11, Form::Binary, "entry 2 has 3 of 8 bytes"),
        ] {
            std::fs::write(file.path(), vec![0; bytes]).unwrap();
            let error = source(file.path(), form).measure().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let missing = source(Path::new("/nowhere/keys"), Form::Text).measure();
        assert!(missing.unwrap_err().to_string().contains("/nowhere/keys"));
    }
}
