//! Ways to damage a file of a store.
#![allow(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

use std::fs;
use std::path::Path;

use super::history::History;
use super::special::{KINDS, TERABYTE, remove};
use crate::kit::Random;

/// The name of each way.
pub const WAYS: [&str; 11] = [
    "flip",
    "truncate",
    "extend",
    "zero",
    "cut out",
    "swap",
    "duplicate",
    "older copy",
    "remove",
    "special",
    "sparse",
];

/// What was done.
#[derive(Debug, Clone)]
pub struct Mutation {
    pub way: &'static str,
    /// Names of the files that are not as they were.
    pub files: Vec<String>,
    pub how: String,
}

/// Damages one file of the store, or two where they are exchanged. `None` where that changes nothing.
pub fn mutate(history: &History, random: &mut Random) -> Option<Mutation> {
    let names: Vec<&String> = history.image.keys().collect();
    // Kinds of files are many or few: each kind is as likely.
    let kinds = ["CURRENT", "manifest", "log", "table", "values", "LOCK"];
    let rarely = usize::from(random.percent(5));
    let kind = kinds[random.below(5) as usize + rarely];
    let of_kind: Vec<&String> = names
        .iter()
        .copied()
        .filter(|n| n.ends_with(kind))
        .collect();
    let name = of_kind.get(random.below(of_kind.len() as u64) as usize)?;
    let name = name.to_string();
    let path = history.path().join(&name);
    let bytes = read_plain(&path)?;
    let way = WAYS[random.below(WAYS.len() as u64) as usize];
    let mut files = vec![name.clone()];
    let at = random.below(bytes.len() as u64 + 1) as usize;
    let most = 1 << random.below(14);
    let length = (1 + random.below(most) as usize).min(bytes.len() - at);
    let mut how = format!("{name} of {} bytes at {at}, {length}", bytes.len());
    let mut changed = bytes.clone();
    match way {
        "flip" => *changed.get_mut(at)? ^= 1 << random.below(8),
        "truncate" => changed.truncate(at),
        "extend" => match random.below(3) {
            0 => changed.extend(vec![0; length + 1]),
            1 => changed.extend((0..=length).map(|_| random.next() as u8)),
            _ => changed.extend(&bytes[at..at + length]),
        },
        "zero" => changed[at..at + length].fill(0),
        "cut out" => drop(changed.drain(at..at + length)),
        "swap" => {
            let other = names[random.below(names.len() as u64) as usize].clone();
            let theirs = history.path().join(&other);
            changed = read_plain(&theirs)?;
            fs::write(&theirs, &bytes).unwrap();
            how = format!("{name} with {other}");
            files.push(other);
        }
        "duplicate" => {
            let stem = random.below(60);
            let extension = Path::new(&name).extension()?.to_str()?;
            let copy = format!("{stem:06}.{extension}");
            let copied = history.path().join(&copy);
            if copied.exists() && read_plain(&copied).is_none_or(|there| there == bytes) {
                return None;
            }
            fs::write(copied, &bytes).unwrap();
            how = format!("{name} as {copy}");
            return Some(Mutation {
                way,
                files: vec![copy],
                how,
            });
        }
        "older copy" => return older_copy(history, random),
        "remove" => {
            remove(&path);
            return Some(Mutation { way, files, how });
        }
        "special" => {
            let (kind, make) = KINDS[random.below(KINDS.len() as u64) as usize];
            remove(&path);
            make(&path);
            return Some(Mutation {
                way,
                files,
                how: format!("{name} is {kind}"),
            });
        }
        _ => {
            let file = fs::OpenOptions::new().write(true).open(&path).ok()?;
            file.set_len(TERABYTE >> random.below(11)).unwrap();
            return Some(Mutation { way, files, how });
        }
    }
    if changed == bytes {
        return None;
    }
    fs::write(&path, changed).unwrap();
    Some(Mutation { way, files, how })
}

/// The bytes of a file, if an earlier mutation has not made something else of it.
fn read_plain(path: &Path) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(path).ok()?;
    let plain = found.is_file() && found.len() < TERABYTE >> 12;
    if plain { fs::read(path).ok() } else { None }
}

/// A file as it was before, or one that is gone.
fn older_copy(history: &History, random: &mut Random) -> Option<Mutation> {
    let image = &history.older[random.below(history.older.len() as u64) as usize];
    let differs = |(name, bytes): &(&String, &Vec<u8>)| history.image.get(*name) != Some(*bytes);
    let different: Vec<_> = image.iter().filter(differs).collect();
    let (name, bytes) = different.get(random.below(different.len() as u64) as usize)?;
    let path = history.path().join(name);
    if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
        return None;
    }
    fs::write(&path, bytes).unwrap();
    let how = format!("{name} of {} bytes", bytes.len());
    Some(Mutation {
        way: "older copy",
        files: vec![name.to_string()],
        how,
    })
}
