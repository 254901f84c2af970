//! The formats that `load` reads.

mod jsonl;
mod last_blank;
mod lines;
mod sosd;
mod tsv;

use std::fmt;
use std::io::{self, BufRead};
use std::path::Path;

use clap::ValueEnum;

use crate::failure::Failure;
use crate::input::Input;

/// The format of a file of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Each line is a key; values are empty.
    Lines,
    /// Key TAB value, with the escapes \t \n \r \\ \xHH: what `scan` prints.
    Tsv,
    /// The key is the text before a line's last run of blanks, the value the text after it.
    LastBlank,
    /// One object {"key": "...", "value": "..."} on each line; plain JSON strings without escapes.
    Jsonl,
    /// A count, then the keys, 64-bit little-endian: stored as 8 bytes big-endian, values empty.
    Sosd,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Lines => "lines (each line is a key, values are empty)",
            Format::Tsv => "tsv (key, tab, value, with backslash escapes)",
            Format::LastBlank => "last-blank (the value is the text after a line's last blanks)",
            Format::Jsonl => "jsonl (objects with \"key\" and \"value\")",
            Format::Sosd => "sosd (64-bit keys, stored as 8 bytes big-endian, values are empty)",
        })
    }
}

/// Why an entry cannot be read, and its place in the file.
#[derive(Debug)]
pub struct Malformed {
    /// Such as `line 17`.
    pub place: String,
    /// The rest of the sentence that begins with the place, without a full stop.
    pub why: String,
}

/// A key and its value.
pub type Entry<'a> = (&'a [u8], &'a [u8]);

/// Reads the entries of a file one after the other.
pub trait EntryReader {
    /// The next key and value; `None` at the end.
    fn next(&mut self) -> Result<Option<Entry<'_>>, Malformed>;
    /// The place of the last entry, such as `line 17`.
    fn place(&self) -> String;
}

impl Format {
    /// The format that a file's name implies; `None` if it implies none.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        if name.starts_with("Contents-") {
            return Some(Format::LastBlank);
        }
        if name.ends_with("_uint64") {
            return Some(Format::Sosd);
        }
        match Path::new(name).extension()?.to_str()? {
            "tsv" => Some(Format::Tsv),
            "jsonl" | "ndjson" => Some(Format::Jsonl),
            "txt" => Some(Format::Lines),
            _ => None,
        }
    }

    /// The format that the name implies; otherwise tsv if the first line has a tab, else lines.
    pub fn guess(path: &Path, input: &mut Input) -> Result<Self, Failure> {
        if let Some(format) = Format::of_name(path) {
            return Ok(format);
        }
        match input.first_line_has_tab()? {
            true => Ok(Format::Tsv),
            false => Ok(Format::Lines),
        }
    }

    /// Reads entries from `reader` in this format.
    pub fn reader(self, reader: Box<dyn BufRead>) -> Box<dyn EntryReader> {
        let lines = Lines::new(reader);
        match self {
            Format::Lines => Box::new(lines::LinesReader::new(lines)),
            Format::Tsv => Box::new(tsv::TsvReader::new(lines)),
            Format::LastBlank => Box::new(last_blank::LastBlankReader::new(lines)),
            Format::Jsonl => Box::new(jsonl::JsonLinesReader::new(lines)),
            Format::Sosd => Box::new(sosd::SosdReader::new(lines.reader)),
        }
    }
}

/// Lines and their numbers; a line ends with `\n` alone.
struct Lines {
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    fn new(reader: Box<dyn BufRead>) -> Self {
        Lines {
            reader,
            line: Vec::new(),
            number: 0,
        }
    }

    /// Reads the next line, without its end, into `self.line`; false at the end of the file.
    fn advance(&mut self) -> Result<bool, Malformed> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.read_until(b'\n', &mut self.line);
        if read.map_err(|e| self.malformed(unreadable(&e)))? == 0 {
            self.number -= 1;
            return Ok(false);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        Ok(true)
    }

    fn place(&self) -> String {
        format!("line {}", self.number)
    }

    fn malformed(&self, why: impl Into<String>) -> Malformed {
        Malformed {
            place: self.place(),
            why: why.into(),
        }
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_imply_formats() {
        let of_name = |name: &str| Format::of_name(Path::new(name));
        assert_eq!(of_name("a/b.tsv"), Some(Format::Tsv));
        assert_eq!(of_name("b.tsv.gz"), Some(Format::Tsv));
        assert_eq!(of_name("b.jsonl"), Some(Format::Jsonl));
        assert_eq!(of_name("b.ndjson.gz"), Some(Format::Jsonl));
        assert_eq!(of_name("words.txt"), Some(Format::Lines));
        assert_eq!(of_name("data/fb_200M_uint64"), Some(Format::Sosd));
        assert_eq!(of_name("Contents-amd64.gz"), Some(Format::LastBlank));
        assert_eq!(of_name("Contents-all"), Some(Format::LastBlank));
        assert_eq!(of_name("-"), None);
        assert_eq!(of_name("words"), None);
    }
}
