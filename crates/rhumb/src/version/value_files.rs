//! The value files that the tables of a keyspace point into.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::entry::Pointer;
use crate::error::{Error, Result};
use crate::fs::Access;
use crate::fs::names::FileKind;
use crate::memory::Pinned;
use crate::sync::{Arc, Opened};
use crate::table::ValueUse;
use crate::version::Files;
use crate::version::files::FileRef;
use crate::vlog::{HEADER_BYTES, Request, ValueFileMeta, ValueReader, put, read_all};

/// A value file, shared by all levels whose tables point into it. When the last reference to an obsolete one is
/// dropped, it becomes garbage.
#[derive(Debug)]
pub(crate) struct ValueFile {
    number: u64,
    /// Its length and group.
    pub meta: ValueFileMeta,
    file: FileRef,
    reader: Opened<ValueReader>,
}

impl ValueFile {
    fn new(files: &Arc<Files>, number: u64, meta: ValueFileMeta) -> Self {
        ValueFile {
            number,
            meta,
            file: FileRef::new(Arc::clone(files), FileKind::Values, number),
            reader: Opened::default(),
        }
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// Its reader, which the first caller opens; later calls take no lock.
    ///
    /// # Errors
    /// If the file cannot be opened or is not the one; a later call tries again.
    pub fn reader(&self) -> Result<&ValueReader> {
        let (files, whole) = (&self.file.files, (self.number, self.meta.bytes));
        let open = || {
            let (fs, kept) = (&*files.fs, &files.kept_values);
            ValueReader::open(fs, &self.path(), whole, files.access, kept)
        };
        self.reader.get_or_open(open)
    }

    /// Marks the file as named by no manifest any more.
    pub fn mark_obsolete(&self) {
        self.file.mark_obsolete();
    }
}

/// A value file, and what tables refer to in it.
#[derive(Debug, Clone)]
pub(crate) struct UsedFile {
    pub file: Arc<ValueFile>,
    /// The number of tables that point into it.
    tables: u64,
    /// The entries of tables that point into it.
    pub entries: u64,
    /// The bytes of the records that entries of tables point to.
    pub used_bytes: u64,
}

impl UsedFile {
    /// The bytes of the records that no table points to.
    pub fn garbage_bytes(&self) -> u64 {
        self.record_bytes().saturating_sub(self.used_bytes)
    }

    /// The bytes of its records.
    pub fn record_bytes(&self) -> u64 {
        self.file.meta.bytes.saturating_sub(HEADER_BYTES as u64)
    }
}

/// What value files hold together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ValueTotals {
    /// The entries of tables that point into them.
    pub entries: f64,
    /// The bytes of the records that these point to.
    pub used_bytes: f64,
    /// The bytes of the others.
    pub garbage_bytes: f64,
}

/// The value files of a keyspace. The use of a file is the sum of what the tables say. Clones share what they
/// do not change.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueFiles {
    by_number: Arc<BTreeMap<u64, UsedFile>>,
}

impl ValueFiles {
    /// The files that one table points into.
    ///
    /// # Errors
    /// If it says different things of one file.
    pub fn of(files: &Arc<Files>, uses: &[ValueUse]) -> Result<Self, String> {
        let mut value_files = ValueFiles::default();
        value_files.begin_use(files, uses)?;
        Ok(value_files)
    }

    /// The files, with what is used of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &UsedFile)> {
        self.by_number.iter().map(|(number, used)| (*number, used))
    }

    /// What all files hold together.
    pub fn totals(&self) -> ValueTotals {
        let mut totals = ValueTotals::default();
        for (_, file) in self.iter() {
            totals.entries += file.entries as f64;
            totals.used_bytes += file.used_bytes as f64;
            totals.garbage_bytes += file.garbage_bytes() as f64;
        }
        totals
    }

    /// Whether no table points into a value file.
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// The file with a number; `None` if no table points into it.
    pub fn get(&self, number: u64) -> Option<&UsedFile> {
        self.by_number.get(&number)
    }

    /// The length and group of a file; `None` if no table points into it.
    pub fn meta_of(&self, number: u64) -> Option<ValueFileMeta> {
        Some(self.get(number)?.file.meta)
    }

    /// The value of `key` that a pointer leads to, verified.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or is not the value of this key in this keyspace.
    #[cold]
    pub fn read(&self, keyspace: u32, key: &[u8], pointer: Pointer) -> Result<Pinned> {
        let file = self.file_of(pointer)?;
        let reader = file.reader()?;
        match reader.kept(keyspace, key, pointer) {
            Some(value) => Ok(value),
            None => reader.read(keyspace, key, pointer, true),
        }
    }

    /// Reads the values that pointers of keys lead to, and puts each at its place in `values`. They are
    /// read together, which is faster the more they are, and stay in memory with `keep`. Each may fail alone, as
    /// [`ValueFiles::read`].
    pub fn read_all<'k>(
        &self,
        keyspace: u32,
        wanted: impl Iterator<Item = (usize, &'k [u8], Pointer)>,
        keep: bool,
        values: &mut [Result<Pinned>],
    ) {
        let mut access = Access::Buffered;
        let mut requests = Vec::with_capacity(wanted.size_hint().0);
        for (place, key, pointer) in wanted {
            let reader = self.file_of(pointer).and_then(|file| {
                access = file.file.files.access;
                file.reader()
            });
            match reader {
                Ok(reader) => requests.push(Request {
                    place,
                    reader,
                    keyspace,
                    key,
                    pointer,
                }),
                Err(e) => put(values, place, Err(e)),
            }
        }
        read_all(&requests, access, keep, values);
    }

    /// The file that a pointer leads into.
    fn file_of(&self, pointer: Pointer) -> Result<&ValueFile> {
        match self.by_number.get(&pointer.file) {
            Some(used) => Ok(&used.file),
            None => {
                let expected = "a pointer into a value file that a table names";
                Err(self.unknown(expected, format!("one into file {}", pointer.file)))
            }
        }
    }

    /// The error for a pointer that leads to no file; only `verify` finds out which table has it.
    #[cold]
    fn unknown(&self, expected: impl ToString, found: impl ToString) -> Error {
        let path = self.by_number.values().next().map(|used| used.file.path());
        Error::corruption(&path.unwrap_or_default(), 0, expected, found)
    }

    /// Counts the use by one more table.
    ///
    /// # Errors
    /// If another table says that a file has another length or group, or more is used than it has.
    pub(super) fn begin_use(
        &mut self,
        files: &Arc<Files>,
        uses: &[ValueUse],
    ) -> Result<(), String> {
        if uses.is_empty() {
            return Ok(());
        }
        let by_number = Arc::make_mut(&mut self.by_number);
        for used in uses {
            let (number, meta) = (used.file, used.meta);
            if !used.is_possible() {
                return Err(format!("a table that uses {used:?}"));
            }
            let known = by_number.entry(number).or_insert_with(|| UsedFile {
                file: Arc::new(ValueFile::new(files, number, meta)),
                tables: 0,
                entries: 0,
                used_bytes: 0,
            });
            let before = known.file.meta;
            if before != meta {
                return Err(format!(
                    "value file {number} as {meta:?} in one table and {before:?} in another"
                ));
            }
            known.tables += 1;
            known.entries = known.entries.saturating_add(used.entries);
            known.used_bytes = known.used_bytes.saturating_add(used.bytes);
        }
        Ok(())
    }

    /// Counts the use by one table less, for which it was counted before. Files without use stay until
    /// [`ValueFiles::settle`].
    pub(super) fn end_use(&mut self, uses: &[ValueUse]) {
        if uses.is_empty() {
            return;
        }
        let by_number = Arc::make_mut(&mut self.by_number);
        for used in uses {
            if let Some(known) = by_number.get_mut(&used.file) {
                known.tables = known.tables.saturating_sub(1);
                known.entries = known.entries.saturating_sub(used.entries);
                known.used_bytes = known.used_bytes.saturating_sub(used.bytes);
            }
        }
    }

    /// Forgets the files that no table points into any more. Returns those of them that were there `before`.
    pub(super) fn settle(&mut self, before: &ValueFiles) -> Vec<Arc<ValueFile>> {
        let unused = self.by_number.iter().filter(|(_, used)| used.tables == 0);
        let unused: Vec<u64> = unused.map(|(number, _)| *number).collect();
        if unused.is_empty() {
            return Vec::new();
        }
        let by_number = Arc::make_mut(&mut self.by_number);
        let forgotten = unused.iter().filter_map(|number| by_number.remove(number));
        let known = forgotten.filter(|used| before.get(used.file.number).is_some());
        known.map(|used| used.file).collect()
    }
}
