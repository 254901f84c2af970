//! Keys as text: identifiers, hashes and words.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::{Random, Strings};
use crate::error::{Error, Result};

/// The usual files of words, one word on each line.
const DICTIONARIES: [&str; 3] = [
    "/usr/share/dict/words",
    "/usr/share/dict/american-english",
    "/usr/share/dict/british-english",
];

/// `count` random UUIDs (version 4) in their usual form, ascending.
pub fn uuids(count: usize, seed: u64) -> Strings {
    texts(count, seed, |random, text| {
        let (high, low) = (random.next(), random.next());
        let high = high & !0xf000 | 0x4000;
        let low = low & !(3 << 62) | 1 << 63;
        write!(
            text,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    })
}

/// `count` hashes of 160 bits in hexadecimal, ascending.
pub fn hashes(count: usize, seed: u64) -> Strings {
    texts(count, seed, |random, text| {
        let (a, b, c) = (random.next(), random.next(), random.next() as u32);
        write!(text, "{a:016x}{b:016x}{c:08x}")
    })
}

fn texts(
    count: usize,
    seed: u64,
    draw: impl Fn(&mut Random, &mut String) -> std::fmt::Result,
) -> Strings {
    let mut random = Random::new(seed, 0x7e87);
    let mut all = BTreeSet::new();
    while all.len() < count {
        let mut text = String::new();
        // Writing to a string cannot fail.
        if draw(&mut random, &mut text).is_ok() {
            all.insert(text);
        }
    }
    strings(all.iter().map(String::as_bytes))
}

/// The words of this system, ascending, and the file they come from, if there is such a file.
pub fn dictionary() -> Option<(Strings, &'static str)> {
    DICTIONARIES
        .into_iter()
        .find_map(|path| Some((lines(&fs::read(path).ok()?), path)))
}

/// The words of a file, one on each line, ascending.
///
/// # Errors
/// If the file cannot be read.
pub fn word_list(path: &Path) -> Result<Strings> {
    Ok(lines(&fs::read(path).map_err(Error::io("read", path))?))
}

fn lines(text: &[u8]) -> Strings {
    let words: BTreeSet<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    strings(words.into_iter().filter(|word| !word.is_empty()))
}

/// The words of this system and their source; if it has none, the words in `paths`: runs of three
/// or more letters.
pub fn words(paths: &Strings) -> (Strings, &'static str) {
    if let Some(found) = dictionary() {
        return found;
    }
    let runs = paths
        .iter()
        .flat_map(|path| path.split(|byte| !byte.is_ascii_alphabetic()));
    let words: BTreeSet<&[u8]> = runs.filter(|word| word.len() >= 3).collect();
    (strings(words.into_iter()), "words in the paths")
}

fn strings<'a>(ascending: impl Iterator<Item = &'a [u8]>) -> Strings {
    let mut strings = Strings::default();
    ascending.for_each(|string| strings.push(string));
    strings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_ascend_repeat_with_the_seed_and_have_their_form() {
        for make in [uuids, hashes] {
            let all = make(2_000, 42);
            assert_eq!((all.len(), &all), (2_000, &make(2_000, 42)));
            assert_ne!(all, make(2_000, 43));
            assert!(all.iter().is_sorted_by(|a, b| a < b));
        }
        for uuid in uuids(500, 1).iter() {
            assert_eq!(uuid.len(), 36);
            assert!([8, 13, 18, 23].iter().all(|place| uuid[*place] == b'-'));
            assert!(uuid[14] == b'4' && b"89ab".contains(&uuid[19]));
        }
        let hex = |hash: &[u8]| hash.len() == 40 && hash.iter().all(u8::is_ascii_hexdigit);
        assert!(hashes(500, 1).iter().all(hex));
    }

    #[test]
    fn words_are_lines_of_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "b\na b\n\nb").unwrap();
        assert!(
            word_list(file.path())
                .unwrap()
                .iter()
                .eq([&b"a b"[..], b"b"])
        );
        assert!(word_list(Path::new("/no/words")).is_err());
    }

    #[test]
    fn words_are_found_in_paths() {
        let paths = strings([&b"usr/bin/b2-tool"[..], b"usr/share/tool.d/x86"].into_iter());
        let (words, source) = words(&paths);
        assert!(words.iter().is_sorted_by(|a, b| a < b));
        if source == "words in the paths" {
            let expected = strings([&b"bin"[..], b"share", b"tool", b"usr"].into_iter());
            assert_eq!(words, expected);
        } else {
            assert!(words.len() > 1_000);
        }
    }
}
