//! What follows the blocks of a table: filter, index, directory, properties and the rest.

use super::{TableWriter, WrittenTable};
use crate::entry::RangeDeletes;
use crate::error::{Error, Result};
use crate::options::{Compression, Partition};
use crate::table::form::directory::Arrangement;
use crate::table::form::filter::Filter;
use crate::table::form::footer::{self, SectionKind};
use crate::table::form::properties::{CHOSEN, Properties};
use crate::table::form::summary::{self, Bounds, TableMeta};
use crate::table::form::value_uses::ValueUse;
use crate::table::write::blocks::{BlockWriter, refused};
use crate::table::write::cutter::Cutter;
use crate::table::write::index_choice::{BuiltIndex, Stakes};
use crate::table::write::placing::Placing;

impl TableWriter {
    /// Writes everything after the blocks and syncs the file, but not its name in the directory.
    ///
    /// # Errors
    /// If a write or the sync fails; the file is then removed if possible.
    pub fn finish(mut self, range_deletes: &RangeDeletes) -> Result<WrittenTable> {
        let finished = self.write_sections(range_deletes);
        if finished.is_err() {
            // The first error says more than that of the removal, and a leftover file is harmless.
            let _ = self.abandon();
        }
        finished
    }

    fn write_sections(&mut self, range_deletes: &RangeDeletes) -> Result<WrittenTable> {
        if let Cutter::Model(placer) = &mut self.cutter
            && placer.finish(&mut self.blocks)? == Placing::Ended
        {
            self.leave_model()?;
        }
        if let Cutter::Dual(bytes) = self.cutter {
            self.blocks.close_all_admitted(bytes, None)?;
        }
        self.blocks.close(None)?;
        let sections_offset = self.blocks.offset();
        let (directory, mut index) = self.finders()?;
        let properties = self.properties(range_deletes, &index);
        let mut sections = vec![
            (SectionKind::Directory, directory),
            (SectionKind::Index, std::mem::take(&mut index.bytes)),
        ];
        if let Some(hashes) = self
            .blocks
            .hashes
            .take()
            .filter(|hashes| !hashes.is_empty())
        {
            let bits_per_key = self.settings.spec.filter_bits_per_key;
            sections.push((SectionKind::Filter, Filter::encode(&hashes, bits_per_key)));
        }
        if !range_deletes.is_empty() {
            let mut bytes = Vec::new();
            range_deletes.encode(&mut bytes);
            sections.push((SectionKind::RangeDeletes, bytes));
        }
        if index.needs_number {
            sections.push((SectionKind::KeyMap, self.settings.map.to_bytes()));
        }
        sections.push((SectionKind::Properties, properties.encode()));
        if self.settings.given_sequence {
            sections.push((SectionKind::GivenSequence, Vec::new()));
        }
        let values = self.value_uses();
        if !values.is_empty() {
            let mut bytes = Vec::new();
            ValueUse::encode_all(&values, &mut bytes);
            sections.push((SectionKind::ValueUses, bytes));
        }
        if self.blocks.has_fence_keys {
            sections.push((SectionKind::FenceKeys, Vec::new()));
        }
        let id = self.table_id;
        self.blocks
            .finish(|pending| footer::encode(&sections, id, sections_offset, pending))?;
        Ok(WrittenTable {
            training: index.training,
            write_time: self.blocks.write_time(),
            summary: self.summary(range_deletes, sections_offset, index),
        })
    }

    /// The directory and the index: those of the model, if it places the blocks and saves memory.
    fn finders(&mut self) -> Result<(Vec<u8>, BuiltIndex)> {
        let blocks = &mut self.blocks;
        let (end, entries) = (blocks.offset(), self.counts.entries);
        let count = blocks.directory.blocks();
        blocks.directory.close(end, blocks.ranks());
        let encode = |blocks: &BlockWriter, arrangement| {
            let bytes = blocks.directory.encode(entries, arrangement);
            bytes.ok_or_else(|| too_large(self.number))
        };
        let placer = match &self.cutter {
            Cutter::Model(placer) if entries > 0 => Some(placer),
            _ => None,
        };
        let Some(placer) = placer else {
            let (raw_bytes, _) = blocks.raw_bytes();
            let stakes = match self.partition {
                Partition::Entries(_) => Stakes::Wanted,
                // Kinds that follow the cuts lead to one block, and are kept whatever they take (decision 0020).
                _ if blocks.index.is_cut() => Stakes::Wanted,
                _ => Stakes::Windows {
                    block_bytes: raw_bytes / count.max(1),
                    entry_bytes: raw_bytes / entries.max(1),
                },
            };
            let index = blocks.index.finish(stakes).map_err(refused)?;
            let entries_per_cell = self.left_cells;
            let arrangement = match &blocks.units {
                Some(units) => Arrangement::Units(units),
                None if index.finds_blocks => Arrangement::Fenced { entries_per_cell },
                None => Arrangement::Ranked { entries_per_cell },
            };
            return Ok((encode(blocks, arrangement)?, index));
        };
        let directory = encode(blocks, placer.arrangement(blocks))?;
        let fenced = Arrangement::Fenced {
            entries_per_cell: placer.left_cells(),
        };
        let fence_directory = encode(blocks, fenced)?;
        let stakes = match placer.is_kept(&blocks.index) {
            true => Stakes::Wanted,
            false => Stakes::Placed {
                directory: directory.len(),
                fence_directory: fence_directory.len(),
            },
        };
        let index = blocks.index.finish(stakes).map_err(refused)?;
        self.partition = Partition::Predicted(placer.entries_per_cell());
        let fell_back = !index.fallback.is_empty();
        Ok((
            if fell_back {
                fence_directory
            } else {
                directory
            },
            index,
        ))
    }

    fn keys(&self) -> Option<(&[u8], &[u8])> {
        (self.counts.entries > 0).then_some((&self.first_key[..], &self.last_key[..]))
    }

    fn summary(
        &self,
        range_deletes: &RangeDeletes,
        sections_offset: u64,
        index: BuiltIndex,
    ) -> TableMeta {
        let sequences = summary::sequences(self.counts.sequences(), range_deletes);
        let bounds = Bounds::of(self.keys(), range_deletes);
        TableMeta {
            number: self.number,
            file_bytes: self.blocks.offset(),
            sections_offset,
            table_id: self.table_id,
            entries: self.counts.entries,
            deletes: self.counts.deletes,
            range_deletes: range_deletes.fragments().len() as u64,
            smallest: bounds.smallest,
            largest: bounds.largest,
            largest_excluded: bounds.largest_excluded,
            smallest_sequence: sequences.0,
            largest_sequence: sequences.1,
            map_number: self.settings.map_number,
            index_kind: index.kind,
            values: self.value_uses(),
            hides: self.hides,
        }
    }

    fn properties(&self, range_deletes: &RangeDeletes, index: &BuiltIndex) -> Properties {
        let (counts, spec) = (&self.counts, &self.settings.spec);
        let codec = match spec.compression {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        };
        let sequences = summary::sequences(counts.sequences(), range_deletes);
        let mut properties = Properties::default();
        if self.hides > 0 {
            properties.set("hides", self.hides);
        }
        if !self.settings.chosen.is_empty() {
            properties.set(CHOSEN, &self.settings.chosen);
        }
        properties.set("cipher", 0);
        properties.set("codec", codec);
        properties.set("comparator", "bytes");
        properties.set("created.by", concat!("rhumb ", env!("CARGO_PKG_VERSION")));
        properties.set("deletes", counts.deletes);
        properties.set("entries", counts.entries);
        properties.set("index.fallback", &index.fallback);
        properties.set("index.kind", &index.kind);
        properties.set("index.spec", self.blocks.index.spec());
        properties.set("index.training_ns", index.training.as_nanos());
        properties.set("key.bytes", counts.key_bytes);
        if let Some((first, last)) = self.keys() {
            properties.set_bytes("key.smallest", first);
            properties.set_bytes("key.largest", last);
        }
        if let Some(keyspace) = self.settings.keyspace {
            properties.set("keyspace", keyspace);
        }
        properties.set("map.number", self.settings.map_number);
        properties.set("partition", self.partition);
        properties.set("raw_block.largest", self.blocks.raw_bytes().1);
        properties.set("sequence.smallest", sequences.0);
        properties.set("sequence.largest", sequences.1);
        properties.set("value.bytes", counts.value_bytes);
        properties
    }
}

fn too_large(number: u64) -> Error {
    Error::InvalidArgument(format!(
        "table {number} is larger than 2^57 bytes: use smaller tables"
    ))
}
