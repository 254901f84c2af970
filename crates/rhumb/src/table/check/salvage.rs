//! Reading what is left of a damaged table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::spread::{BlockSummary, Spread};
use crate::entry::{EntryKind, RangeDeletes, Sequence};
use crate::error::{Error, Result};
use crate::fs::{FileSystem, ReadFile, ops};
use crate::options::Partition;
use crate::table::block::{BlockLayout, BlockView};
use crate::table::form::damage::Damage;
use crate::table::form::directory::Directory;
use crate::table::form::footer::{SectionKind, Sections, read_footer, read_tail};
use crate::table::form::properties::Properties;
use crate::table::form::summary::TableMeta;
use crate::table::read::verified::Verifier;

/// A table whose footer and directory are sound, so that its blocks can be found. Everything else
/// may be damaged: reading the entries in order needs neither index nor filter.
#[derive(Debug)]
pub(crate) struct Salvage {
    path: PathBuf,
    file: Arc<dyn ReadFile>,
    table_id: u64,
    directory: Directory,
    raw_largest: u64,
    /// How the table was cut, as far as that is known.
    partition: Option<Partition>,
    takes_sequence: bool,
    /// What is added to the sequences in its blocks.
    sequence_base: Sequence,
    range_deletes: RangeDeletes,
    range_deletes_lost: bool,
    damaged_sections: Vec<Error>,
}

/// A block that cannot be read.
#[derive(Debug)]
pub(crate) struct LostBlock<'a> {
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// About the number of user keys that start in it.
    pub keys: u64,
    /// The last key before it that could be read.
    pub behind: Option<&'a [u8]>,
    /// The error from reading it.
    pub error: Error,
}

/// A visitor of entries: key, sequence, kind, and the value or the encoded pointer to it.
pub(crate) type VisitEntry<'a> = &'a mut dyn FnMut(&[u8], Sequence, EntryKind, &[u8]) -> Result<()>;

impl Salvage {
    /// Opens a table that may be damaged.
    ///
    /// # Errors
    /// If the footer, section rows or directory are damaged, so that the blocks cannot be found.
    pub fn open(fs: &dyn FileSystem, path: &Path) -> Result<Salvage> {
        let (file, file_bytes, footer) = read_footer(fs, path)?;
        let start = footer.sections_offset;
        let bytes = read_tail(&*file, path, file_bytes, start)?;
        let at = |damage: Damage| damage.in_file(path, start);
        let (sections, damaged) = Sections::decode_sound(&bytes, start).map_err(at)?;
        let lost_section = |kind| damaged.iter().any(|(id, _)| *id == kind as u16);
        let range_deletes_lost = lost_section(SectionKind::RangeDeletes);
        let takes_sequence = sections.get(SectionKind::GivenSequence).is_some()
            || lost_section(SectionKind::GivenSequence);
        let damaged: Vec<Error> = damaged.into_iter().map(|(_, damage)| at(damage)).collect();
        let Some((offset, directory)) = sections.get(SectionKind::Directory) else {
            let missing = Error::corruption(path, start, "a sound directory", "none");
            return Err(damaged.into_iter().next().unwrap_or(missing));
        };
        let directory = Directory::decode(directory, start).map_err(|d| at(d.moved(offset)))?;
        let properties = sections.get(SectionKind::Properties);
        let properties = properties.and_then(|(_, bytes)| Properties::decode(bytes).ok());
        let properties = properties.unwrap_or_default();
        let range_deletes = sections.get(SectionKind::RangeDeletes);
        let decoded = range_deletes.map(|(_, bytes)| RangeDeletes::decode(bytes));
        let unreadable = matches!(decoded, Some(Err(_)));
        Ok(Salvage {
            path: path.to_path_buf(),
            file,
            table_id: footer.id,
            directory,
            raw_largest: properties
                .number("raw_block.largest")
                .unwrap_or(u32::MAX.into()),
            partition: properties.partition(),
            takes_sequence,
            sequence_base: 0,
            range_deletes_lost: unreadable || range_deletes_lost,
            range_deletes: decoded.and_then(|d| d.ok()).unwrap_or_default(),
            damaged_sections: damaged,
        })
    }

    /// Takes over the sequence that the manifest gives, if it is a table that takes it from there.
    pub fn named_by(mut self, meta: &TableMeta) -> Salvage {
        if self.takes_sequence {
            self.sequence_base = meta.largest_sequence;
        }
        self
    }

    /// The random id of the table.
    pub fn table_id(&self) -> u64 {
        self.table_id
    }

    /// The range deletes; none if they are damaged.
    pub fn range_deletes(&self) -> &RangeDeletes {
        &self.range_deletes
    }

    /// Whether the table had range deletes that cannot be read.
    pub fn range_deletes_lost(&self) -> bool {
        self.range_deletes_lost
    }

    /// The damage of the damaged sections.
    pub fn damaged_sections(&self) -> &[Error] {
        &self.damaged_sections
    }

    /// Passes the entries of sound blocks to `visit`, in order, and the other blocks to `lost`.
    ///
    /// # Errors
    /// If the file cannot be read, and the errors of `visit`.
    pub fn entries(
        &self,
        visit: VisitEntry<'_>,
        lost: &mut dyn FnMut(LostBlock<'_>),
    ) -> Result<()> {
        let mut last: Option<(Vec<u8>, Sequence)> = None;
        for number in 0..self.directory.blocks() {
            let (offset, _) = self.directory.extent(number).unwrap_or_default();
            match self.block(number, &mut last, visit) {
                Ok(()) => {}
                Err(BlockError::Lost(error)) => lost(LostBlock {
                    offset,
                    keys: self.directory.keys_in(number),
                    behind: last.as_ref().map(|(key, _)| key.as_slice()),
                    error,
                }),
                Err(BlockError::Failed(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a block; returns its offset, its raw form and its layout.
    fn load(&self, number: u64) -> Result<(u64, Vec<u8>, BlockLayout), BlockError> {
        let Some((offset, len)) = self.directory.extent(number) else {
            let expected = format!("an extent of block {number}");
            let error = Error::corruption(&self.path, 0, expected, "none");
            return Err(BlockError::Lost(error));
        };
        let stored = ops::read_range(&*self.file, &self.path, offset, len as u64);
        let stored = stored.map_err(sort_error)?;
        let verifier = Verifier {
            path: &self.path,
            directory: &self.directory,
            table_id: self.table_id,
            raw_largest: self.raw_largest,
            // The references may be lost.
            with_pointers: true,
            with_fence_keys: true,
        };
        let block = verifier.open(number, offset, &stored).map_err(sort_error)?;
        let layout = block.layout.above(self.sequence_base);
        Ok((offset, block.raw.into_owned(), layout))
    }

    /// Statistics of the blocks. Reads all of them.
    pub fn blocks(&self) -> BlockSummary {
        let directory = &self.directory;
        let (mut entries, mut bytes, mut raw_bytes) = (Vec::new(), Vec::new(), 0);
        for number in 0..directory.blocks() {
            bytes.extend(directory.extent(number).map(|(_, len)| len as u64));
            if let Ok((_, raw, layout)) = self.load(number) {
                entries.push(BlockView::new(&raw, &layout).count() as u64);
                raw_bytes += raw.len() as u64;
            }
        }
        let room = match self.partition {
            Some(Partition::Bytes(most) | Partition::Dual(most)) => u64::from(most),
            _ => 0,
        };
        let room = room.saturating_mul(entries.len() as u64);
        BlockSummary {
            placed: directory.is_placed(),
            strided: directory.is_strided(),
            units: directory.units().map(|u| (u.count(), u.entries_per_unit())),
            entries_per_cell: directory.entries_per_cell(),
            extra: directory.extra_blocks(),
            fill: (room > 0).then(|| raw_bytes as f64 / room as f64),
            empty: entries.iter().filter(|n| **n == 0).count() as u64,
            entries: Spread::of(entries),
            bytes: Spread::of(bytes),
        }
    }

    /// Passes the entries of one block to `visit`: all of them, or none if the block is damaged.
    fn block(
        &self,
        number: u64,
        last: &mut Option<(Vec<u8>, Sequence)>,
        visit: VisitEntry<'_>,
    ) -> Result<(), BlockError> {
        let (offset, raw, layout) = self.load(number)?;
        let view = BlockView::new(&raw, &layout);
        let (mut entries, mut before) = (Vec::with_capacity(view.count()), last.clone());
        for slot in 0..view.count() {
            let mut key = Vec::new();
            view.key_into(slot, &mut key);
            let here = (key, view.sequence(slot));
            let ascends = before
                .as_ref()
                .is_none_or(|(k, s)| (k, here.1) < (&here.0, *s));
            if !ascends {
                let expected = format!("entry {slot} to sort after the one before it");
                let error = Error::corruption(&self.path, offset, expected, "entries out of order");
                return Err(BlockError::Lost(error));
            }
            before = Some(here.clone());
            entries.push(here);
        }
        for (slot, (key, sequence)) in entries.iter().enumerate() {
            let (kind, pointer) = (view.kind(slot), view.pointer(slot).to_bytes());
            let (start, len) = view.value(slot);
            let value = match kind {
                EntryKind::Pointer => &pointer[..],
                _ => raw
                    .get(start..start.saturating_add(len))
                    .unwrap_or_default(),
            };
            visit(key, *sequence, kind, value).map_err(BlockError::Failed)?;
        }
        *last = before;
        Ok(())
    }
}

/// Why the entries of a block were not visited.
enum BlockError {
    /// It is damaged.
    Lost(Error),
    /// Another error occurred.
    Failed(Error),
}

fn sort_error(error: Error) -> BlockError {
    match error {
        Error::Corruption { .. } => BlockError::Lost(error),
        other => BlockError::Failed(other),
    }
}
