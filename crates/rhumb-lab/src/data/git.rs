//! Integers from a Git repository: the offsets of its objects in a pack, and the times of its
//! commits.
//!
//! Version 2 of a pack's index, big-endian throughout (Git's `gitformat-pack`):
//!
//! ```text
//! ff 't' 'O' 'c' | version: u32 = 2 | 256 x u32, the last the number N of objects
//! N names of 20 bytes | N x u32 checksums | N x u32 offsets | u64 offsets | 2 checksums of 20 bytes
//! ```
//!
//! An offset with its highest bit set is the position of the real offset in the list of 64-bit
//! offsets.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;

use super::sequence::parse_numbers;
use crate::error::{Error, Result};

const HEAD: usize = 8 + 256 * 4;
const NAME: usize = 20;
const CHECKSUMS: usize = 2 * NAME;

/// The offsets of the objects in the pack that has the most objects, ascending.
///
/// # Errors
/// If the repository does not exist or has no pack, or an index of a pack cannot be read.
pub fn offsets(repository: &Path) -> Result<Vec<u64>> {
    let packs = git(repository, &["rev-parse", "--git-path", "objects/pack"])?;
    let packs = repository.join(packs.trim_end());
    let mut largest = Vec::new();
    for path in indexes(&packs)? {
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        let offsets = parse(&bytes).map_err(|found| Error::Input {
            path,
            expected: "an index of a Git pack, version 2 with names of 20 bytes",
            found,
        })?;
        if offsets.len() > largest.len() {
            largest = offsets;
        }
    }
    if largest.is_empty() {
        return Err(Error::Usage(format!(
            "{} has no packed objects: run `git gc` in the repository, or choose another",
            packs.display()
        )));
    }
    Ok(largest)
}

fn indexes(packs: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(packs).map_err(Error::io("list", packs))? {
        let path = entry.map_err(Error::io("list", packs))?.path();
        if path.extension().is_some_and(|extension| extension == "idx") {
            paths.push(path);
        }
    }
    // Sorted, so that among packs with equally many objects always the same one is used.
    paths.sort();
    Ok(paths)
}

/// The offsets in an index, ascending.
///
/// # Errors
/// A description of the first mistake in the index.
fn parse(bytes: &[u8]) -> Result<Vec<u64>, String> {
    let head = bytes
        .get(..HEAD)
        .and_then(|head| head.strip_prefix(b"\xfftOc\0\0\0\x02"));
    let fans = head.ok_or("it has another beginning")?;
    let objects = fans.last_chunk().copied().map_or(0, u32::from_be_bytes) as usize;
    let least = HEAD + objects * (NAME + 4 + 4) + CHECKSUMS;
    let wrong = || format!("it counts {objects} objects in {} bytes", bytes.len());
    let start = least - CHECKSUMS - objects * 4;
    let offsets = bytes.get(start..start + objects * 4).ok_or_else(wrong)?;
    let large = bytes.get(least - CHECKSUMS..bytes.len().saturating_sub(CHECKSUMS));
    let (large, []) = large.ok_or_else(wrong)?.as_chunks::<8>() else {
        return Err(wrong());
    };
    let mut all = Vec::with_capacity(objects);
    let mut used = 0;
    for offset in offsets.as_chunks().0 {
        let offset = u32::from_be_bytes(*offset);
        let place = (offset & !(1 << 31)) as usize;
        all.push(if place == offset as usize {
            u64::from(offset)
        } else {
            used += 1;
            large
                .get(place)
                .copied()
                .map(u64::from_be_bytes)
                .ok_or_else(wrong)?
        });
    }
    // This detects names of another length.
    if used != large.len() {
        return Err(wrong());
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

const SAMPLE: &[u8] = include_bytes!("../../data/git-commit-times.txt.gz");

/// The [`times`] of the sample that ships with the lab: 81,966 commits of Git's own repository.
///
/// # Errors
/// If it cannot be decompressed.
pub fn sample_times() -> Result<Vec<u64>> {
    let text = BufReader::new(GzDecoder::new(SAMPLE));
    parse_numbers(text, Path::new("git-commit-times.txt.gz"))
}

/// The time of each commit in Unix seconds, parents before children, one branch after the other.
/// The times are therefore nearly ascending, with repeats.
///
/// # Errors
/// If the repository does not exist or has no commit.
pub fn times(repository: &Path) -> Result<Vec<u64>> {
    let text = git(
        repository,
        &["log", "--reverse", "--topo-order", "--format=%ct"],
    )?;
    let times = text.lines().map(|line| {
        line.parse().map_err(|_| Error::Input {
            path: repository.to_path_buf(),
            expected: "a Git repository with commits since 1970",
            found: format!("a commit has the time {line:?}"),
        })
    });
    times.collect()
}

/// The output of `git`, run in the repository.
fn git(repository: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    // This variable would take precedence over the directory.
    command.env_remove("GIT_DIR").arg("-C").arg(repository);
    let output = command.args(arguments).output();
    let output = output.map_err(Error::io("run git in", repository))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Input {
            path: repository.to_path_buf(),
            expected: "a Git repository with commits",
            found: said.lines().next().unwrap_or("git failed").to_string(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(offsets: &[u32], large: &[u64]) -> Vec<u8> {
        let mut bytes = b"\xfftOc\0\0\0\x02".to_vec();
        for _ in 0..256 {
            bytes.extend((offsets.len() as u32).to_be_bytes());
        }
        bytes.resize(bytes.len() + offsets.len() * 24, 7);
        bytes.extend(offsets.iter().flat_map(|offset| offset.to_be_bytes()));
        bytes.extend(large.iter().flat_map(|offset| offset.to_be_bytes()));
        bytes.resize(bytes.len() + 40, 9);
        bytes
    }

    #[test]
    fn offsets_are_read_small_and_large() {
        assert_eq!(parse(&index(&[300, 12], &[])).unwrap(), [12, 300]);
        let bytes = index(&[1 << 31 | 1, 12, 1 << 31], &[1 << 40, 1 << 33]);
        assert_eq!(parse(&bytes).unwrap(), [12, 1 << 33, 1 << 40]);
        assert_eq!(parse(&index(&[], &[])).unwrap(), [0u64; 0]);
    }

    #[test]
    fn no_broken_index_is_read() {
        let whole = index(&[1 << 31, 12], &[1 << 40]);
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).is_err(), "{end} bytes");
        }
        assert!(parse(&index(&[1 << 31 | 1], &[1 << 40])).is_err());
        let mut other = whole;
        other[7] = 1;
        assert!(parse(&other).unwrap_err().contains("begin"));
    }

    fn run(directory: &Path, arguments: &[&str], time: &str) {
        let who = [
            "-c",
            "user.name=n",
            "-c",
            "user.email=e",
            "-c",
            "commit.gpgsign=false",
        ];
        let status = Command::new("git")
            .env_remove("GIT_DIR")
            .env("GIT_COMMITTER_DATE", time)
            .arg("-C")
            .arg(directory)
            .args(who)
            .args(arguments)
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
    }

    #[test]
    fn a_repository_gives_its_times_and_offsets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert!(
            times(path)
                .unwrap_err()
                .to_string()
                .contains("not a Git repository")
        );
        run(path, &["init", "-q"], "");
        for time in [500_000_000, 400_000_000, 600_000_000, 600_000_000] {
            let message = ["commit", "-q", "--allow-empty", "-m", "m"];
            run(path, &message, &format!("{time} +0000"));
        }
        let expected = [500_000_000, 400_000_000, 600_000_000, 600_000_000];
        assert_eq!(times(path).unwrap(), expected);
        assert!(offsets(path).unwrap_err().to_string().contains("git gc"));
        run(path, &["gc", "-q"], "");
        // Four commits and the empty tree; the first object follows a header of 12 bytes.
        let offsets = offsets(path).unwrap();
        assert_eq!((offsets.len(), offsets[0]), (5, 12));
        assert!(times(Path::new("/nowhere/at/all")).is_err());
    }
}
