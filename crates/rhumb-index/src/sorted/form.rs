//! The byte form of sorted sets and maps: a header and then five sections, each aligned to 64
//! bytes. `FORMAT.md` describes it byte by byte.
//!
//! ```text
//! | header 96 | distinct keys | first entries | values | key map | index |
//! ```
//!
//! The header has checksums of itself, of the key map and of everything after the header, so that
//! opening detects a damaged header or the key map of other keys without reading the keys.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::Reader;
use crate::{ByteForm, IndexError, KeyMap};

const MAGIC: &[u8; 8] = b"rhumbset";
const VERSION: u8 = 1;
pub(super) const HEADER: usize = 96;
const ALIGNMENT: usize = 64;

/// The name of the form in errors.
pub(super) const NAME: &str = "sorted set or map";

/// The description of the entries in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub key_type: u8,
    /// 0 for a set.
    pub value_type: u8,
    /// Keys in a block.
    pub block: u32,
    pub entries: usize,
    pub distinct: usize,
}

/// The sections, in order.
pub(super) const SECTIONS: usize = 5;
pub(super) const KEYS: usize = 0;
pub(super) const FIRSTS: usize = 1;
pub(super) const VALUES: usize = 2;
pub(super) const MAP: usize = 3;
pub(super) const INDEX: usize = 4;

/// Writes sections after a header.
pub(super) struct Writer {
    out: Vec<u8>,
    lengths: Vec<u64>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Writer {
            out: vec![0; HEADER],
            lengths: Vec::new(),
        }
    }

    /// Appends the next section.
    pub(super) fn section(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        self.out
            .resize(self.out.len().next_multiple_of(ALIGNMENT), 0);
        let start = self.out.len();
        append(&mut self.out);
        self.lengths.push((self.out.len() - start) as u64);
    }

    /// The location of the last section.
    pub(super) fn last(&self) -> Range<usize> {
        let length = self.lengths.last().map_or(0, |length| *length as usize);
        self.out.len() - length..self.out.len()
    }

    /// All bytes so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Fills in the header; `map` is the key map's section.
    pub(super) fn finish(mut self, header: Header, map: &[u8]) -> Vec<u8> {
        let mut front = MAGIC.to_vec();
        front.extend([VERSION, header.key_type, header.value_type, 0]);
        front.extend(header.block.to_le_bytes());
        front.extend((header.entries as u64).to_le_bytes());
        front.extend((header.distinct as u64).to_le_bytes());
        front.extend(self.lengths.iter().flat_map(|length| length.to_le_bytes()));
        front.extend(xxh3_64(map).to_le_bytes());
        let rest = self.out.get(HEADER..).unwrap_or_default();
        front.extend(xxh3_64(rest).to_le_bytes());
        front.extend(xxh3_64(&front).to_le_bytes());
        self.out
            .iter_mut()
            .zip(front)
            .for_each(|(to, from)| *to = from);
        self.out
    }
}

/// A form whose header is valid, with the locations of its sections.
#[derive(Debug)]
pub(super) struct Sections {
    pub header: Header,
    pub places: [Range<usize>; SECTIONS],
    /// The checksum of everything after the header.
    digest: u64,
}

impl Sections {
    /// Reads the header and the key map, and nothing else.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] or [`IndexError::Version`].
    pub(super) fn read(form: &[u8]) -> Result<Sections, IndexError> {
        let mut reader = Reader::new(NAME, form);
        if reader.take(MAGIC.len())? != MAGIC {
            let found = String::from_utf8_lossy(form.get(..8).unwrap_or_default());
            let expected = "\"rhumbset\" at the start";
            return Err(reader.damaged_at(0, expected, format!("{found:?}")));
        }
        reader.version(VERSION)?;
        let (key_type, value_type) = (reader.u8()?, reader.u8()?);
        reader.reserved(1)?;
        let block = reader.u32()?;
        let (entries, distinct) = (reader.u64()?, reader.u64()?);
        let mut lengths = [0; SECTIONS];
        for length in &mut lengths {
            *length = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
        }
        let (map_digest, digest) = (reader.u64()?, reader.u64()?);
        let own = xxh3_64(form.get(..reader.at()).unwrap_or_default());
        let offset = reader.at();
        let stored = reader.u64()?;
        if stored != own {
            let expected = format!("{own:016x}, the checksum of the header");
            return Err(reader.damaged_at(offset, expected, format!("{stored:016x}")));
        }
        let is_sound = entries <= u64::from(u32::MAX) && distinct <= entries && block > 0;
        if !is_sound || (distinct == 0) != (entries == 0) {
            let found = format!("{entries} entries, {distinct} keys, blocks of {block}");
            return Err(reader.damaged_at(
                12,
                "fewer than 2^32 entries, and no more keys than entries",
                found,
            ));
        }
        let places = places(&mut reader, lengths)?;
        let map = form.get(places[MAP].clone()).unwrap_or_default();
        let found = xxh3_64(map);
        if found != map_digest {
            let expected = format!("the key map of these keys, with checksum {map_digest:016x}");
            return Err(reader.damaged_at(places[MAP].start, expected, format!("{found:016x}")));
        }
        Ok(Sections {
            header: Header {
                key_type,
                value_type,
                block,
                entries: entries as usize,
                distinct: distinct as usize,
            },
            places,
            digest,
        })
    }

    /// Compares all bytes after the header with their checksum, which reads them all.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if they have changed since they were written.
    pub(super) fn verify(&self, form: &[u8]) -> Result<(), IndexError> {
        let found = xxh3_64(form.get(HEADER..).unwrap_or_default());
        if found == self.digest {
            return Ok(());
        }
        let expected = format!("{:016x}, the checksum of all sections", self.digest);
        let reader = Reader::new(NAME, form);
        Err(reader.damaged_at(HEADER, expected, format!("{found:016x}")))
    }

    /// The key map, if there is one.
    pub(super) fn map(&self, form: &[u8]) -> Result<Option<KeyMap>, IndexError> {
        match form.get(self.places[MAP].clone()).unwrap_or_default() {
            [] => Ok(None),
            bytes => KeyMap::from_bytes(bytes).map(Some),
        }
    }

    /// The bytes of the index.
    pub(super) fn index<'a>(&self, form: &ByteForm<'a>) -> ByteForm<'a> {
        form.part(self.places[INDEX].clone()).unwrap_or_default()
    }
}

/// The locations of sections of these lengths, which must fill the form.
fn places(
    reader: &mut Reader<'_>,
    lengths: [usize; SECTIONS],
) -> Result<[Range<usize>; SECTIONS], IndexError> {
    let mut places = [const { 0..0 }; SECTIONS];
    for (place, length) in places.iter_mut().zip(lengths) {
        let gap = reader.at().next_multiple_of(ALIGNMENT) - reader.at();
        reader.take(gap)?;
        let start = reader.at();
        reader.take(length)?;
        *place = start..reader.at();
    }
    reader.end()?;
    Ok(places)
}
