//! A table of a level: its description in the manifest, and its reader after it was opened.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::fs::names::FileKind;
use crate::options::Granularity;
use crate::sync::{Arc, OnceLock, Opened};
use crate::table::TableReader;
use crate::version::files::FileRef;
use crate::version::{Files, LookUps, TableMeta};

/// A table, shared by all versions of the levels that hold it. When the last reference to an
/// obsolete table is dropped, its file becomes garbage.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its description in the manifest.
    pub meta: TableMeta,
    /// The share of its entries whose values lie apart from their keys.
    pub share_apart: f64,
    file: FileRef,
    reader: Opened<Arc<TableReader>>,
    /// What gets do in it, once somebody wants to know.
    look_ups: OnceLock<Arc<LookUps>>,
}

impl Table {
    pub fn new(files: Arc<Files>, meta: TableMeta) -> Self {
        let apart: u64 = meta.values.iter().map(|used| used.entries).sum();
        Table {
            share_apart: apart as f64 / meta.entries.max(1) as f64,
            file: FileRef::new(files, FileKind::Table, meta.number),
            meta,
            reader: Opened::default(),
            look_ups: OnceLock::new(),
        }
    }

    /// What gets do in it, from the first call on.
    pub fn follow(&self) -> &Arc<LookUps> {
        self.look_ups.get_or_init(Arc::default)
    }

    /// The same, if somebody wants to know.
    pub fn look_ups(&self) -> Option<&LookUps> {
        self.look_ups.get().map(|look_ups| &**look_ups)
    }

    /// The path of its file.
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// The table's reader, which the first caller opens; later calls take no lock.
    ///
    /// # Errors
    /// If the file cannot be opened or is damaged; a later call tries again.
    #[inline]
    pub fn reader(&self) -> Result<&Arc<TableReader>> {
        self.reader.get_or_open(|| self.open())
    }

    fn open(&self) -> Result<Arc<TableReader>> {
        let (path, files) = (self.path(), &self.file.files);
        let reader = TableReader::open(
            &*files.fs,
            &path,
            self.meta.number,
            self.meta.file_bytes,
            self.meta.sections_offset,
            files.open_as(),
        )?;
        let reader = Arc::new(reader.named_by(&self.meta)?);
        if reader.table_id() != self.meta.table_id {
            let (expected, found) = (self.meta.table_id, reader.table_id());
            let expected = format!("table id {expected:#018x}, as the manifest says");
            let found = format!("{found:#018x}");
            return Err(Error::corruption(
                &path,
                self.meta.file_bytes,
                expected,
                found,
            ));
        }
        Ok(reader)
    }

    /// The files of its store.
    pub(super) fn files(&self) -> &Files {
        &self.file.files
    }

    /// What one index covers in its store.
    pub fn granularity(&self) -> Granularity {
        self.file.files.granularity
    }

    /// Its reader, if the table was opened before.
    #[inline]
    pub fn open_reader(&self) -> Option<&Arc<TableReader>> {
        self.reader.get()
    }

    /// Whether no manifest names the table any more.
    pub fn is_obsolete(&self) -> bool {
        self.file.is_obsolete()
    }

    /// Marks the table as named by no manifest any more.
    pub fn mark_obsolete(&self) {
        self.file.mark_obsolete();
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // If it was never opened, nobody else frees them.
        if self.reader.get().is_none() {
            self.files().cache.forget_written(self.meta.table_id);
        }
    }
}
