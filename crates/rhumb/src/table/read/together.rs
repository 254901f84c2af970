//! Gets of several keys together: what all of them wait for, in memory or on the device, is asked for before the first of
//! them goes on, so that they wait at the same time.

use rhumb_index::Probe;

use super::get::Asked;
use super::reader::TableReader;
use super::search::Expected;
use super::source::{BlockSource, Fetched};
use super::trace::{GetTrace, NumberCache};
use crate::entry::Version;
use crate::error::Result;
use crate::fs::ring::{self, MOST_BYTES, Part};
use crate::fs::{ops, threads};

/// A get in one table whose filter does not exclude the key. Its steps are taken one after the other, each for all gets of a
/// group. One whose index was not asked searches the whole table.
#[derive(Debug)]
pub(crate) struct BegunGet<'t> {
    reader: &'t TableReader,
    /// Where it will look: at the start of the table, before the index was asked.
    expected: Expected,
    /// The blocks that were read for it, if any were.
    fetched: Option<Box<Fetched>>,
}

/// Neighbouring blocks that a get waits for, and their part of the file.
struct Missing<'t> {
    reader: &'t TableReader,
    blocks: (u64, u64),
    part: Part<'t>,
}

impl TableReader {
    /// Begins a get: asks the filter, and prefetches what the index reads first. `None` if the filter excludes the key.
    /// Arguments as of [`TableReader::get`].
    ///
    /// # Errors
    /// If its own index is not in memory yet, and cannot be read.
    pub fn begin_get(
        &self,
        asked: &Asked<'_>,
        numbers: &mut NumberCache,
        trace: &mut GetTrace,
    ) -> Result<Option<BegunGet<'_>>> {
        trace.tables_probed += 1;
        if self.excludes(asked.hash, trace) {
            return Ok(None);
        }
        trace.model_probes += u32::from(asked.slice.is_some());
        self.prefetch_index(asked, numbers, 0)?;
        Ok(Some(BegunGet {
            reader: self,
            expected: Expected::default(),
            fetched: None,
        }))
    }

    /// Prefetches what the index reads in a step; see [`rhumb_index::Index::prefetch`].
    fn prefetch_index(
        &self,
        asked: &Asked<'_>,
        numbers: &mut NumberCache,
        step: usize,
    ) -> Result<()> {
        if self.learned_for(asked.slice).is_none() {
            let model = self.finder(asked.slice)?.model;
            let (key, number) = (asked.key, model.number_by(asked.key, numbers));
            model.index.prefetch(Probe { key, number }, step);
        }
        Ok(())
    }
}

impl<'t> BegunGet<'t> {
    /// Prefetches what the index reads after that.
    ///
    /// # Errors
    /// As [`TableReader::begin_get`].
    pub fn prefetch_index(&self, asked: &Asked<'_>, numbers: &mut NumberCache) -> Result<()> {
        self.reader.prefetch_index(asked, numbers, 1)
    }

    /// Asks the index, and prefetches what tells where the block is in memory.
    ///
    /// # Errors
    /// As [`TableReader::begin_get`].
    pub fn ask_index(&mut self, asked: &Asked<'_>, numbers: &mut NumberCache) -> Result<()> {
        self.expected = (self.reader).expected_blocks(asked.key, asked.slice, numbers)?;
        let slots = &self.reader.frame_slots;
        slots.prefetch_slot(self.expected.probe());
        Ok(())
    }

    /// Prefetches the block, if it is in memory.
    pub fn prefetch_block(&self) {
        self.reader.prefetch_expected(&self.expected);
    }

    /// Ends the get with blocks from `source`, which may be shared by gets of ascending keys.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn end(&mut self, asked: &Asked<'_>, source: &mut BlockSource) -> Result<Option<Version>> {
        if let Some(fetched) = self.fetched.take() {
            source.take_over(self.reader.number, *fetched);
        }
        let mut found = None;
        self.reader
            .find_behind_filter(&self.expected, asked, source, &mut found)?;
        Ok(found)
    }

    /// Whether the get of a key behind it may need one of the same blocks.
    pub fn may_share_with(&self, next: &BegunGet<'_>) -> bool {
        next.expected.first <= self.expected.last && next.reader.number == self.reader.number
    }

    /// What has to be read for it, if that can be read together with others.
    fn missing(&self, source: &BlockSource) -> Option<Missing<'t>> {
        let (reader, expected, probe) = (self.reader, &self.expected, self.expected.probe());
        if reader.frame_slots.holds(probe) || source.has(reader.number, probe) {
            return None;
        }
        let window = reader.missing_of((expected.first, expected.last), probe);
        let blocks = window.unwrap_or((probe, probe));
        let (offset, bytes) = reader.stretch(blocks.0, blocks.1)?;
        if bytes > MOST_BYTES {
            return None;
        }
        let part = Part::of(&*reader.file, offset, bytes)?;
        Some(Missing {
            reader,
            blocks,
            part,
        })
    }
}

impl Missing<'_> {
    /// Whether it has the block where a get looks first.
    fn serves(&self, get: &BegunGet<'_>) -> bool {
        let (first, last) = self.blocks;
        let probe = get.expected.probe();
        self.reader.number == get.reader.number && (first..=last).contains(&probe)
    }

    fn read_alone(&self) -> Option<Vec<u8>> {
        let (file, path) = (&*self.reader.file, &self.reader.path);
        ops::read_range(file, path, self.part.offset, self.part.bytes as u64).ok()
    }
}

/// Reads the blocks that gets wait for, many at a time. The keys of the gets have to ascend: of several that wait for the
/// same block, the first reads it. What cannot be read like this is left to the end of its get, which reads it, or tells
/// why it cannot.
pub(crate) fn read_together<'g, 't: 'g>(
    gets: impl Iterator<Item = &'g mut BegunGet<'t>>,
    source: &mut BlockSource,
) {
    read_together_by(gets, source, |parts, arrived| {
        ring::read_all(parts, arrived)
    });
}

/// The same, given what reads parts of files at once, as far as it can.
pub(in crate::table) fn read_together_by<'g, 't: 'g>(
    gets: impl Iterator<Item = &'g mut BegunGet<'t>>,
    source: &mut BlockSource,
    at_once: impl FnOnce(&[Part<'_>], &mut dyn FnMut(usize, &[u8])),
) {
    let mut waiting: Vec<(&mut BegunGet<'t>, Missing<'t>)> = Vec::new();
    for get in gets {
        let serves = |(_, last): &(_, Missing<'_>)| last.serves(get);
        if !waiting.last().is_some_and(serves)
            && let Some(missing) = get.missing(source)
        {
            waiting.push((get, missing));
        }
    }
    if waiting.len() < 2 {
        return;
    }
    let missing: Vec<&Missing<'_>> = waiting.iter().map(|(_, missing)| missing).collect();
    let read = read_parts(&missing, at_once);
    for ((get, missing), bytes) in waiting.into_iter().zip(read) {
        if let Some(bytes) = bytes {
            let ((first, last), part) = (missing.blocks, missing.part);
            source.trace.count_read(last - first + 1, part.bytes as u64);
            let fetched = Fetched::new((first, last), part.offset, bytes, source.room());
            get.fetched = Some(Box::new(fetched));
        }
    }
}

/// The bytes of what is missing, as far as they can be read together: by what reads them at once, or by threads.
fn read_parts(
    missing: &[&Missing<'_>],
    at_once: impl FnOnce(&[Part<'_>], &mut dyn FnMut(usize, &[u8])),
) -> Vec<Option<Vec<u8>>> {
    let parts: Vec<Part<'_>> = missing.iter().map(|missing| missing.part).collect();
    let mut read = vec![None; missing.len()];
    at_once(&parts, &mut |place, bytes| {
        if let Some(into) = read.get_mut(place) {
            *into = Some(bytes.to_vec());
        }
    });
    // Without a ring, only reads that surely wait for the device are worth threads.
    let is_left = |(place, missing): &(usize, &&Missing<'_>)| {
        missing.part.is_direct() && read.get(*place).is_some_and(Option::is_none)
    };
    let left: Vec<_> = missing.iter().enumerate().filter(is_left).collect();
    for (place, bytes) in threads::each(&left, |(place, missing)| (*place, missing.read_alone())) {
        if let Some(into) = read.get_mut(place) {
            *into = bytes;
        }
    }
    read
}
