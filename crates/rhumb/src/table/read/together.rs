//! Gets of several keys together: what all of them wait for, in memory or on the device, is asked for before the first of
//! them goes on, so that they wait at the same time.

use rhumb_index::Probe;

use super::get::Asked;
use super::load::{BlockSource, Fetched};
use super::reader::TableReader;
use super::search::Expected;
use super::trace::{GetTrace, NumberCache};
use crate::entry::Version;
use crate::error::Result;
use crate::fs::ring::{self, Part};
use crate::fs::{ops, threads};

/// Longer stretches are read alone: they take longer to bring than to ask for.
const MOST_BYTES: u64 = 256 << 10;

/// A get in one table that knows where it will look.
#[derive(Debug)]
pub(crate) struct BegunGet<'t> {
    reader: &'t TableReader,
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

/// The steps of a get before its end, each of which may wait for what the one before asks for. Arguments as of
/// [`TableReader::get`].
impl TableReader {
    /// The first step: whether the filter admits the key.
    pub fn admits(&self, asked: &Asked<'_>, trace: &mut GetTrace) -> bool {
        trace.tables_probed += 1;
        let admits = !self.excludes(asked.hash, trace);
        trace.model_probes += u32::from(admits && asked.slice.is_some());
        admits
    }

    /// The next ones: prefetches what the index reads in its steps 0 and 1; see [`rhumb_index::Index::prefetch`].
    ///
    /// # Errors
    /// If its own index is not in memory yet, and cannot be read.
    pub fn prefetch_index(
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

    /// The next one: asks the index.
    ///
    /// # Errors
    /// As [`TableReader::prefetch_index`].
    pub fn begin_get(&self, asked: &Asked<'_>, numbers: &mut NumberCache) -> Result<BegunGet<'_>> {
        let expected = self.expected_blocks(asked.key, asked.slice, numbers)?;
        self.frame_slots.prefetch_slot(expected.first);
        Ok(BegunGet {
            reader: self,
            expected,
            fetched: None,
        })
    }
}

impl<'t> BegunGet<'t> {
    /// The last step: prefetches the block, if it is in memory.
    pub fn prefetch(&self) {
        self.reader.prefetch_expected(&self.expected);
    }

    /// Whether the get of a key behind it, in the same table, may need one of the same blocks.
    pub fn may_share_with(&self, next: &BegunGet<'_>) -> bool {
        next.expected.first <= self.expected.last
    }

    /// Ends the get with blocks from `source`, which may be shared by gets of ascending keys.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn end(&mut self, asked: &Asked<'_>, source: &mut BlockSource) -> Result<Option<Version>> {
        if let Some(fetched) = self.fetched.take() {
            source.take_over(*fetched);
        }
        self.reader
            .find_behind_filter(&self.expected, asked, source)
    }

    /// The block where it looks first.
    fn probe(&self) -> u64 {
        let Expected { first, last, .. } = self.expected;
        first + (last - first) / 2
    }

    /// What has to be read for it, if that can be read together with others.
    fn missing(&self, source: &BlockSource) -> Option<Missing<'t>> {
        let (reader, probe, expected) = (self.reader, self.probe(), &self.expected);
        if reader.frame_slots.holds(probe) || source.has_recent(probe) {
            return None;
        }
        let (file, unit) = reader.file.descriptor()?;
        let window = (expected.first, expected.last);
        let blocks = match window.0 < window.1 {
            true => reader.missing_of(window, probe).unwrap_or((probe, probe)),
            false => window,
        };
        let (offset, bytes) = reader.stretch(blocks.0, blocks.1)?;
        let part = Part {
            file,
            unit,
            offset,
            bytes: usize::try_from(bytes).ok()?,
        };
        (bytes <= MOST_BYTES).then_some(Missing {
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
        self.reader.number == get.reader.number && (first..=last).contains(&get.probe())
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
    let read = read_parts(waiting.iter().map(|(_, missing)| missing));
    for ((get, missing), bytes) in waiting.into_iter().zip(read) {
        if let Some(bytes) = bytes {
            let ((first, last), part) = (missing.blocks, missing.part);
            source.trace.count_read(last - first + 1, part.bytes as u64);
            let fetched = Fetched::new((first, last), part.offset, bytes, source.room());
            get.fetched = Some(Box::new(fetched));
        }
    }
}

/// The bytes of parts, as far as they can be read together.
fn read_parts<'m>(missing: impl Iterator<Item = &'m Missing<'m>>) -> Vec<Option<Vec<u8>>> {
    let missing: Vec<&Missing<'_>> = missing.collect();
    let parts: Vec<Part<'_>> = missing.iter().map(|missing| missing.part).collect();
    let mut read = vec![None; missing.len()];
    ring::read_all(&parts, |place, bytes| {
        if let Some(into) = read.get_mut(place) {
            *into = Some(bytes.to_vec());
        }
    });
    // Without a ring, only reads that surely wait for the device are worth threads.
    let is_left = |(place, missing): &(usize, &&Missing<'_>)| {
        missing.part.unit > 1 && read.get(*place).is_some_and(Option::is_none)
    };
    let left: Vec<_> = missing.iter().enumerate().filter(is_left).collect();
    for (place, bytes) in threads::each(&left, |(place, missing)| (*place, missing.read_alone())) {
        if let Some(into) = read.get_mut(place) {
            *into = bytes;
        }
    }
    read
}
