//! Key files of SOSD (fb, osm, wiki, books and others): a little-endian `u64` count, then that many
//! little-endian `u64` keys, ascending, repeats allowed. Keys become 8 big-endian bytes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::Strings;
use crate::error::{Error, Result};

/// All distinct keys of a file, ascending, as strings of 8 bytes.
///
/// # Errors
/// See [`numbers`].
pub fn file(path: &Path) -> Result<Strings> {
    Ok(Strings::of_numbers(numbers(path)?))
}

/// All distinct keys of a file, ascending.
///
/// # Errors
/// If the file cannot be read, is empty, or its length does not fit its count.
pub fn numbers(path: &Path) -> Result<Vec<u64>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let length = file.metadata().map_err(Error::io("measure", path))?.len();
    let bad = |found| Error::Input {
        path: path.to_path_buf(),
        expected: "a SOSD file of 64-bit keys",
        found,
    };
    if length < 8 {
        return Err(bad(format!(
            "it has {length} bytes, but the count of keys at its start has 8"
        )));
    }
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut next = || -> Result<u64> {
        let mut word = [0; 8];
        reader
            .read_exact(&mut word)
            .map_err(Error::io("read", path))?;
        Ok(u64::from_le_bytes(word))
    };
    let count = next()?;
    let needed = count.checked_mul(8).and_then(|bytes| bytes.checked_add(8));
    if needed != Some(length) {
        return Err(bad(format!(
            "it has {length} bytes for a count of {count} keys: it is incomplete, or its keys have 32 bits"
        )));
    }
    if count == 0 {
        return Err(bad("it has no key".to_string()));
    }
    let mut numbers = Vec::with_capacity(count as usize);
    for _ in 0..count {
        numbers.push(next()?);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Writes keys as such a file; an existing file is replaced.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, numbers: &[u64]) -> Result<()> {
    let file = File::create(path).map_err(Error::io("create", path))?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let mut write = || {
        writer.write_all(&(numbers.len() as u64).to_le_bytes())?;
        let mut words = numbers.iter().map(|number| number.to_le_bytes());
        words.try_for_each(|word| writer.write_all(&word))?;
        writer.flush()
    };
    write().map_err(Error::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(numbers: &[u64]) -> tempfile::NamedTempFile {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn keys_are_read_without_repeats() {
        let keys = file(words(&[4, 1, 300, 300, u64::MAX]).path()).unwrap();
        let expected = [1, 300, u64::MAX].map(u64::to_be_bytes);
        assert!(keys.iter().eq(expected.iter()));
    }

    #[test]
    fn written_keys_are_read_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), &[2, 700, u64::MAX]).unwrap();
        assert_eq!(numbers(file.path()).unwrap(), [2, 700, u64::MAX]);
    }

    #[test]
    fn a_count_that_does_not_fit_is_refused() {
        for numbers in [&[3, 1, 2][..], &[1, 1, 2], &[u64::MAX, 1]] {
            let error = file(words(numbers).path()).unwrap_err().to_string();
            assert!(
                error.contains("SOSD") && error.contains("incomplete"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_truncated_file_is_refused_wherever_it_ends() {
        let whole = words(&[2, 7, 8]);
        let bytes = std::fs::read(whole.path()).unwrap();
        for end in 0..bytes.len() {
            std::fs::write(whole.path(), &bytes[..end]).unwrap();
            let error = numbers(whole.path()).unwrap_err().to_string();
            assert!(error.contains("SOSD") && error.contains("bytes"), "{error}");
        }
        let error = numbers(words(&[0]).path()).unwrap_err().to_string();
        assert!(error.contains("no key"), "{error}");
    }
}
