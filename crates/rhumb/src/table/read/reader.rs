//! An open table: everything except the blocks is in memory; blocks are read when needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhumb_index::{Index, IndexError, KeyMap, registry};

use super::learned::Learned;
use super::likely::LikelyRows;
use super::model::Model;
use crate::entry::varint::Reader;
use crate::entry::{MAX_SEQUENCE, RangeDeletes, Sequence};
use crate::error::{Error, Result};
use crate::fs::{Access, FileSystem, ReadFile, ops};
use crate::memory::{BlockCache, FrameSlots};
use crate::sync::{OnceLock, Opened};
use crate::table::form::damage::Damage;
use crate::table::form::directory::Directory;
use crate::table::form::filter::Filter;
use crate::table::form::footer::{SectionKind, Sections, read_footer, read_tail};
use crate::table::form::properties::{CHOSEN, Properties, layout_tag};
use crate::table::form::summary::{Bounds, TableMeta};
use crate::table::form::value_uses::ValueUse;

/// How a table is opened.
#[derive(Debug, Clone)]
pub(crate) struct OpenAs {
    pub access: Access,
    pub cache: Arc<BlockCache>,
    /// Whether its own index is read when it is first needed, since a model over several tables probably finds its keys.
    pub index_later: bool,
}

impl OpenAs {
    /// Buffered reads, and the index at once.
    pub fn buffered(cache: Arc<BlockCache>) -> Self {
        OpenAs {
            access: Access::Buffered,
            cache,
            index_later: false,
        }
    }
}

/// An open table. Any number of threads may use it.
#[derive(Debug)]
pub(crate) struct TableReader {
    pub(in crate::table) path: PathBuf,
    pub(in crate::table) file: Arc<dyn ReadFile>,
    pub(in crate::table) number: u64,
    file_bytes: u64,
    pub(in crate::table) sections_offset: u64,
    pub(in crate::table) table_id: u64,
    pub(in crate::table) directory: Directory,
    /// Its own index, from when on it is needed.
    pub(in crate::table) own: Opened<Model>,
    /// A model that was learned after the table was written, and answers in place of that.
    pub(in crate::table) learned: OnceLock<Box<Learned>>,
    pub(in crate::table) filter: Option<Filter>,
    pub(in crate::table) range_deletes: Arc<RangeDeletes>,
    pub(in crate::table) map_number: u64,
    /// The largest raw block, in bytes.
    pub(in crate::table) raw_largest: u64,
    /// The most bytes of a window over several blocks that are read in one call.
    pub(in crate::table) window_bytes: u64,
    properties: Properties,
    /// The [tag](layout_tag) of the form that was asked for.
    layout_tag: u64,
    /// The largest sequence of entries and range deletes.
    pub(in crate::table) largest_sequence: Sequence,
    /// Whether the manifest gives it its sequence.
    takes_sequence: bool,
    /// Whether blocks may have fence keys.
    pub(super) has_fence_keys: bool,
    /// The value files that entries point into.
    pub(super) values: Vec<ValueUse>,
    /// What is added to the sequences in its blocks: the sequence that it was given, 0 for other tables.
    pub(in crate::table) sequence_base: Sequence,
    bounds: Bounds,
    /// Its blocks in memory.
    pub(in crate::table) frame_slots: FrameSlots,
    /// Where keys and values probably lie in its blocks.
    pub(in crate::table) likely_rows: LikelyRows,
}

/// The memory that an open table takes besides its blocks, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TableMemory {
    pub index: usize,
    pub directory: usize,
    pub filter: usize,
    pub key_map: usize,
    pub range_deletes: usize,
}

impl TableReader {
    /// Opens a table whose file length and first section are known, with one read.
    ///
    /// # Errors
    /// If the file cannot be read, or anything after its blocks is damaged or unknown to this
    /// build.
    pub fn open(
        fs: &dyn FileSystem,
        path: &Path,
        number: u64,
        file_bytes: u64,
        sections_offset: u64,
        open_as: OpenAs,
    ) -> Result<TableReader> {
        let file = ops::open(fs, path, open_as.access)?;
        let tail = read_tail(&*file, path, file_bytes, sections_offset)?;
        let at = |damage: Damage| damage.in_file(path, sections_offset);
        let sections = Sections::decode(&tail, sections_offset).map_err(at)?;
        let parts = Parts::decode(&sections, sections_offset).map_err(at)?;
        // Of placed tables only their own model tells the block.
        let index_later = open_as.index_later && !parts.directory.is_placed();
        let own = match index_later {
            true => Opened::default(),
            false => {
                let model = model_of(&sections, &parts.directory, parts.map_number);
                Opened::of(model.map_err(at)?)
            }
        };
        let keys = keys_of(&parts.properties);
        let mean_block_bytes = sections_offset / parts.directory.blocks().max(1);
        let reader = TableReader {
            bounds: Bounds::of(keys, &parts.range_deletes),
            likely_rows: LikelyRows::default(),
            frame_slots: FrameSlots::of_table(open_as.cache, parts.directory.blocks(), sections.id),
            path: path.to_path_buf(),
            file,
            number,
            file_bytes,
            sections_offset,
            table_id: sections.id,
            directory: parts.directory,
            own,
            learned: OnceLock::new(),
            filter: parts.filter,
            range_deletes: Arc::new(parts.range_deletes),
            map_number: parts.map_number,
            raw_largest: parts.raw_largest,
            window_bytes: window_bytes(&parts.properties, mean_block_bytes),
            largest_sequence: (parts.properties.number("sequence.largest")).unwrap_or(MAX_SEQUENCE),
            takes_sequence: parts.takes_sequence,
            has_fence_keys: parts.has_fence_keys,
            values: parts.values,
            sequence_base: 0,
            layout_tag: layout_tag(parts.properties.text(CHOSEN).unwrap_or_default()),
            properties: parts.properties,
        };
        reader.note_kept();
        Ok(reader)
    }

    /// Takes over the sequence and the number of the key map that the manifest gives, if it is a table that
    /// takes them from there.
    ///
    /// # Errors
    /// If the manifest does not give one sequence to the whole table.
    pub fn named_by(mut self, meta: &TableMeta) -> Result<TableReader> {
        if self.takes_sequence {
            let (smallest, largest) = (meta.smallest_sequence, meta.largest_sequence);
            if smallest != largest || largest == 0 {
                let expected = "one sequence from the manifest, for all entries";
                let found = format!("sequences {smallest} to {largest}");
                let at = self.sections_offset;
                return Err(Error::corruption(&self.path, at, expected, found));
            }
            self.sequence_base = largest;
            self.largest_sequence = largest;
            self.map_number = meta.map_number;
            if let Some(own) = self.own.get_mut() {
                own.map_number = meta.map_number;
            }
        }
        Ok(self)
    }

    /// Whether the manifest gives it its sequence: a table that was written to be ingested.
    pub fn takes_sequence(&self) -> bool {
        self.takes_sequence
    }

    /// Opens a table of unknown length; reads its footer first.
    ///
    /// # Errors
    /// As [`TableReader::open`].
    pub fn open_any(
        fs: &dyn FileSystem,
        path: &Path,
        number: u64,
        open_as: OpenAs,
    ) -> Result<TableReader> {
        let (_, file_bytes, footer) = read_footer(fs, path)?;
        let sections_offset = footer.sections_offset;
        Self::open(fs, path, number, file_bytes, sections_offset, open_as)
    }

    /// Opens a table without a description from the manifest, for one pass: its cache has room for no
    /// block.
    ///
    /// # Errors
    /// As [`TableReader::open`].
    pub fn open_uncached(fs: &dyn FileSystem, path: &Path, number: u64) -> Result<TableReader> {
        let cache = Arc::new(BlockCache::new(0)?);
        Self::open_any(fs, path, number, OpenAs::buffered(cache))
    }

    /// The path of its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The random id of the table.
    pub fn table_id(&self) -> u64 {
        self.table_id
    }

    /// The [tag](layout_tag) of the form that was asked for; 0 if no tuner was on.
    pub fn layout_tag(&self) -> u64 {
        self.layout_tag
    }

    /// The properties of the table.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        self.directory.entries()
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.directory.blocks()
    }

    /// Whether it has fence pointers because the wanted index does not suit its keys.
    pub fn fell_back(&self) -> bool {
        self.properties
            .text("index.fallback")
            .is_some_and(|why| !why.is_empty())
    }

    /// Its own index and key map, read anew, for models over several tables.
    ///
    /// # Errors
    /// If they cannot be read or are damaged.
    pub fn read_own(&self) -> Result<Model> {
        let at = self.sections_offset;
        let tail = read_tail(&*self.file, &self.path, self.file_bytes, at)?;
        let sections = Sections::decode(&tail, at);
        let model = sections.and_then(|s| model_of(&s, &self.directory, self.map_number));
        model.map_err(|damage| damage.in_file(&self.path, at))
    }

    /// Its key map; `None` if its index needs no numbers.
    ///
    /// # Errors
    /// If it is not in memory yet, and cannot be read.
    pub fn key_map(&self) -> Result<Option<&KeyMap>> {
        Ok(self.own()?.map.as_ref())
    }

    /// Whether its own model has placed its entries, so that no other one tells the block of a key.
    pub fn is_placed(&self) -> bool {
        self.directory.is_placed()
    }

    /// The first and the last key of its entries.
    pub fn keys(&self) -> Option<(&[u8], &[u8])> {
        keys_of(&self.properties)
    }

    /// The number of distinct keys, if the directory counts them.
    pub fn ranks(&self) -> Option<u64> {
        self.directory.has_ranks().then(|| self.directory.ranks())
    }

    /// The memory taken besides blocks.
    pub fn memory(&self) -> TableMemory {
        let own = self.own.get();
        TableMemory {
            index: own.map_or(0, |own| own.index.size_in_bytes()) + self.learned_bytes(),
            directory: self.directory.bytes(),
            filter: self.filter.as_ref().map_or(0, Filter::bytes),
            key_map: own.map_or(0, Model::map_bytes),
            range_deletes: self.range_deletes.bytes(),
        }
    }

    /// The description that the table's writer returned, from the table alone.
    pub fn summary(&self) -> TableMeta {
        let number = |name: &str| self.properties.number(name).unwrap_or(0);
        let bounds = self.bounds.clone();
        TableMeta {
            number: self.number,
            file_bytes: self.file_bytes,
            sections_offset: self.sections_offset,
            table_id: self.table_id,
            entries: self.entries(),
            deletes: number("deletes"),
            range_deletes: self.range_deletes.fragments().len() as u64,
            smallest: bounds.smallest,
            largest: bounds.largest,
            largest_excluded: bounds.largest_excluded,
            // A table that takes its sequence has no others: both are 0.
            smallest_sequence: self.sequence_base.max(number("sequence.smallest")),
            largest_sequence: self.sequence_base.max(number("sequence.largest")),
            map_number: self.map_number,
            index_kind: match self.own.get() {
                Some(own) => own.index.kind().to_string(),
                None => (self.properties.text("index.kind").unwrap_or_default()).to_string(),
            },
            values: self.values.clone(),
            hides: number("hides"),
        }
    }

    /// The filter; `None` if the table has none.
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }
}

/// The most bytes of a window over several blocks that a table reads in one call. If blocks are cut
/// for exact windows, the whole window: searching it block by block would wait for the device again
/// and again. Otherwise a page of the device, which a single block would cost as well; a window
/// over larger blocks is better searched by bisection, since mostly one block of it has the key.
fn window_bytes(properties: &Properties, mean_block_bytes: u64) -> u64 {
    let partition = properties.text("partition").unwrap_or("");
    match partition.starts_with("entries(") && mean_block_bytes <= SMALL_BLOCK_BYTES {
        // With the sectors around it, no more than one direct read returns.
        true => (1 << 20) - SMALL_BLOCK_BYTES,
        false => SMALL_BLOCK_BYTES,
    }
}

/// The first and the last key.
fn keys_of(properties: &Properties) -> Option<(&[u8], &[u8])> {
    let key = |name| properties.bytes(name);
    key("key.smallest").zip(key("key.largest"))
}

/// The size of a page of the device.
const SMALL_BLOCK_BYTES: u64 = 4096;

/// The decoded sections of a table.
struct Parts {
    directory: Directory,
    filter: Option<Filter>,
    range_deletes: RangeDeletes,
    map_number: u64,
    raw_largest: u64,
    takes_sequence: bool,
    has_fence_keys: bool,
    values: Vec<ValueUse>,
    properties: Properties,
}

impl Parts {
    fn decode(sections: &Sections<'_>, sections_offset: u64) -> Result<Parts, Damage> {
        let section = |kind: SectionKind| sections.get(kind).unwrap_or_default();
        let (at, bytes) = section(SectionKind::Directory);
        let directory = Directory::decode(bytes, sections_offset).map_err(|d| d.moved(at))?;
        let filter = match sections.get(SectionKind::Filter) {
            Some((at, bytes)) => Filter::decode(bytes).map_err(|d| d.moved(at))?,
            None => None,
        };
        let range_deletes = match sections.get(SectionKind::RangeDeletes) {
            Some((at, bytes)) => RangeDeletes::decode(bytes)
                .map_err(|m| Damage::new(at + m.offset, m.expected, m.found))?,
            None => RangeDeletes::default(),
        };
        let (at, bytes) = section(SectionKind::Properties);
        let properties = Properties::decode(bytes).map_err(|d| d.moved(at))?;
        let number = |name: &str| {
            let found = properties.number(name);
            found.ok_or_else(|| Damage::new(at, format!("a number named {name}"), "none"))
        };
        let (map_number, raw_largest) = (number("map.number")?, number("raw_block.largest")?);
        if number("entries")? != directory.entries() {
            let expected = format!("{} entries, as in the directory", directory.entries());
            return Err(Damage::new(at, expected, number("entries")?));
        }
        let says = |kind| match sections.get(kind) {
            Some((at, bytes)) if !bytes.is_empty() => {
                Err(Damage::new(at, "an empty section", bytes.len()))
            }
            given => Ok(given.is_some()),
        };
        let takes_sequence = says(SectionKind::GivenSequence)?;
        let has_fence_keys = says(SectionKind::FenceKeys)?;
        let values = match sections.get(SectionKind::ValueUses) {
            Some((at, bytes)) => decode_values(bytes).map_err(|d| d.moved(at))?,
            None => Vec::new(),
        };
        let one_each = directory.ranks() == directory.entries() && range_deletes.is_empty();
        let zero = number("sequence.largest").is_ok_and(|largest| largest == 0);
        if takes_sequence && !(one_each && zero) {
            let expected = "entries of sequence 0 and different keys, and no range deletes";
            return Err(Damage::new(at, expected, "others"));
        }
        if takes_sequence && !values.is_empty() {
            let expected = "values beside their keys, in a table to be ingested";
            return Err(Damage::new(at, expected, "value references"));
        }
        match properties.text("cipher") {
            Some("0") => {}
            cipher => return Err(Damage::unsupported(format!("cipher {cipher:?}"))),
        }
        match properties.text("comparator") {
            Some("bytes") => {}
            order => return Err(Damage::unsupported(format!("comparator {order:?}"))),
        }
        Ok(Parts {
            directory,
            filter,
            range_deletes,
            map_number,
            raw_largest,
            takes_sequence,
            has_fence_keys,
            values,
            properties,
        })
    }
}

/// The index of a table and its key map.
fn model_of(
    sections: &Sections<'_>,
    directory: &Directory,
    map_number: u64,
) -> Result<Model, Damage> {
    let (at, bytes) = sections.get(SectionKind::Index).unwrap_or_default();
    let index = registry::open(bytes.to_vec()).map_err(|e| from_index(e, at))?;
    check_extent(&*index, directory, at)?;
    let map = match sections.get(SectionKind::KeyMap) {
        Some((at, bytes)) => {
            let map = KeyMap::from_bytes(bytes).map_err(|e| from_index(e, at))?;
            index.needs_number().then_some(map)
        }
        None if index.needs_number() => {
            let expected = format!("a key map, which an index of kind {} needs", index.kind());
            return Err(Damage::new(0, expected, "no such section"));
        }
        None => None,
    };
    Ok(Model {
        index,
        map,
        map_number,
    })
}

fn decode_values(bytes: &[u8]) -> Result<Vec<ValueUse>, Damage> {
    let mut reader = Reader::new(bytes);
    let values = ValueUse::take_all(&mut reader);
    let values = values.map_err(|found| Damage::new(0, "references to value files", found))?;
    match reader.is_empty() && !values.is_empty() {
        true => Ok(values),
        false => Err(Damage::new(
            reader.position(),
            "value files and the end",
            "others",
        )),
    }
}

/// Refuses an index that was built for a different number of keys or blocks, or that needs more than the directory has.
fn check_extent(index: &dyn Index, directory: &Directory, at: usize) -> Result<(), Damage> {
    let (blocks, ranks) = (directory.blocks(), directory.ranks());
    let found = index.extent();
    if blocks > 0 && found != blocks && found != ranks {
        let expected = format!("an index of {ranks} keys or {blocks} blocks");
        return Err(Damage::new(at, expected, found));
    }
    if !directory.has_ranks() && index.widest_window() > 0 {
        let expected = "an index that answers with blocks, since the directory has no ranks";
        let found = format!("{}, which answers with ranks", index.kind());
        return Err(Damage::new(at, expected, found));
    }
    Ok(())
}

fn from_index(error: IndexError, at: usize) -> Damage {
    match error {
        IndexError::Damaged {
            what,
            offset,
            expected,
            found,
        } => Damage::new(at + offset, format!("{expected} in the {what}"), found),
        IndexError::Version { what, found, .. } => {
            Damage::unsupported(format!("version {found} of {what}"))
        }
        IndexError::Kind { found, .. } => Damage::unsupported(format!("index kind {found}")),
        other => Damage::new(at, "a sound index", other),
    }
}
