//! Which value files are emptied together: all files of a group of keys (HashKV), or one file alone.

use std::collections::BTreeMap;
use std::num::NonZero;

use crate::version::{UsedFile, ValueFiles};

/// Value files that are emptied together.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// Their numbers, ascending.
    pub files: Vec<u64>,
    /// The bytes of their records, those in use, and those that are garbage.
    record_bytes: u64,
    pub used_bytes: u64,
    pub garbage_bytes: u64,
}

impl Unit {
    /// The share of garbage in it.
    pub fn garbage_share(&self) -> f64 {
        self.garbage_bytes as f64 / self.record_bytes.max(1) as f64
    }

    fn add(&mut self, number: u64, file: &UsedFile) {
        self.files.push(number);
        self.record_bytes += file.record_bytes();
        self.used_bytes += file.used_bytes;
        self.garbage_bytes += file.garbage_bytes();
    }
}

/// Divides the files of a keyspace that has so many groups now: a file that was written without groups, or for another
/// number of them, is emptied alone.
pub(super) fn units(files: &ValueFiles, groups: Option<NonZero<u16>>) -> Vec<Unit> {
    let mut alone = Vec::new();
    let mut grouped: BTreeMap<_, Unit> = BTreeMap::new();
    for (number, file) in files.iter() {
        match file.file.meta.group.filter(|g| Some(g.groups()) == groups) {
            Some(group) => grouped.entry(group).or_default().add(number, file),
            None => {
                let mut unit = Unit::default();
                unit.add(number, file);
                alone.push(unit);
            }
        }
    }
    alone.extend(grouped.into_values());
    alone
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::fs::{FileSystem, MemoryFileSystem};
    use crate::sync::Arc;
    use crate::table::ValueUse;
    use crate::version::Files;
    use crate::vlog::{HEADER_BYTES, ValueFileMeta, ValueGroup};

    fn of(groups: u16) -> Option<NonZero<u16>> {
        NonZero::new(groups)
    }

    /// Value files from number 10 on, each with 1000 bytes of records, of which so many are in use, and of a group of so
    /// many if not of 0.
    fn files(described: &[(u64, u16, u16)]) -> ValueFiles {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let files = Arc::new(Files::uncached(&fs, Path::new("")).unwrap());
        let uses = described.iter().zip(10..);
        let uses = uses.map(|((used, number, groups), file)| ValueUse {
            file,
            meta: ValueFileMeta {
                bytes: 1_000 + HEADER_BYTES as u64,
                group: of(*groups).and_then(|groups| ValueGroup::new(*number, groups)),
            },
            entries: 1,
            bytes: *used,
        });
        ValueFiles::of(&files, &uses.collect::<Vec<_>>()).unwrap()
    }

    fn numbers(files: &ValueFiles, groups: u16) -> Vec<Vec<u64>> {
        let units = units(files, of(groups));
        units.into_iter().map(|unit| unit.files).collect()
    }

    #[test]
    fn files_of_a_group_go_together_and_others_alone() {
        let some = files(&[
            (900, 0, 4),
            (800, 3, 4),
            (700, 0, 0),
            (600, 0, 4),
            (500, 0, 8),
            (400, 3, 4),
        ]);
        let all: [&[u64]; 4] = [&[12], &[14], &[10, 13], &[11, 15]];
        assert_eq!(numbers(&some, 4), all);
        // With another number of groups, or none, only files of that one go together.
        assert_eq!(numbers(&some, 8).len(), 6);
        assert_eq!(numbers(&some, 0).len(), 6);
        let unit = units(&some, of(4)).remove(2);
        assert_eq!((unit.used_bytes, unit.garbage_bytes), (1_500, 500));
        assert!((unit.garbage_share() - 500.0 / 2_000.0).abs() < 1e-9);
    }
}
