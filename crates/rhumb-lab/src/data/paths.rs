//! Real file paths, each with the packages that ship it: Debian's file index.
//!
//! A line is a path, blanks, and the packages joined by commas. Paths may contain blanks and
//! packages cannot, so a line is split at its last blank. `data/README.md` describes the source of
//! the lines.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::Pairs;
use crate::error::{Error, Result};

const SLICE: &[u8] = include_bytes!("../../data/debian-paths.txt.gz");

/// The slice of 200,000 lines that ships with the lab.
///
/// # Errors
/// If it cannot be decompressed.
pub fn slice() -> Result<Pairs> {
    parse(SLICE.to_vec(), Path::new("debian-paths.txt.gz"))
}

/// All paths of a file, plain or gzipped, sorted or not.
///
/// # Errors
/// If the file cannot be read, or a line has no blank.
pub fn file(path: &Path) -> Result<Pairs> {
    parse(fs::read(path).map_err(Error::io("read", path))?, path)
}

fn parse(mut text: Vec<u8>, path: &Path) -> Result<Pairs> {
    if text.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let mut unpack = MultiGzDecoder::new(text.as_slice());
        unpack
            .read_to_end(&mut plain)
            .map_err(Error::io("unpack", path))?;
        text = plain;
    }
    let mut lines = Vec::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        lines.push(cut(line).ok_or_else(|| Error::Input {
            path: path.to_path_buf(),
            expected: "a file index with lines of \"path  blanks  package\"",
            found: format!("line {} has no blank between two words", number + 1),
        })?);
    }
    lines.sort_unstable();
    Ok(merge(&lines))
}

/// The path and the packages of a line, which is split at its last blank.
fn cut(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let last = line.iter().rposition(blank)?;
    let packages = &line[last + 1..];
    let end = line[..last].iter().rposition(|byte| !blank(byte))? + 1;
    (!packages.is_empty()).then_some((&line[..end], packages))
}

/// One pair for each path: if several of the sorted lines have the same path, their packages are
/// joined by commas.
fn merge(lines: &[(&[u8], &[u8])]) -> Pairs {
    let mut pairs = Pairs::default();
    let mut packages = Vec::new();
    for same in lines.chunk_by(|a, b| a.0 == b.0) {
        packages.clear();
        for (_, more) in same {
            if !packages.is_empty() {
                packages.push(b',');
            }
            packages.extend_from_slice(more);
        }
        pairs.push(same[0].0, &packages);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_the_last_blank() {
        let text = b"usr/b c.txt   x/two\nusr/a\tx/one\n\nusr/b c.txt x/three,y/four\n".to_vec();
        let pairs = parse(text, Path::new("t")).unwrap();
        let found: Vec<(&[u8], &[u8])> = pairs.iter().collect();
        let expected: Vec<(&[u8], &[u8])> = vec![
            (b"usr/a", b"x/one"),
            (b"usr/b c.txt", b"x/three,y/four,x/two"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_error_for_a_line_without_packages_names_the_line() {
        for bad in ["usr/a x\nword\n", "usr/a x\nword \n", "usr/a x\n word\n"] {
            let error = parse(bad.as_bytes().to_vec(), Path::new("bad.txt")).unwrap_err();
            assert!(error.to_string().contains("bad.txt"), "{error}");
            assert!(error.to_string().contains("line 2"), "{error}");
        }
    }

    #[test]
    fn the_slice_is_complete() {
        let pairs = slice().unwrap();
        // Six of its paths occur in both architectures.
        assert_eq!(pairs.len(), 199_994);
        assert!(pairs.keys.iter().is_sorted_by(|a, b| a < b));
    }
}
