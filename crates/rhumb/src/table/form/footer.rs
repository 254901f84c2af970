//! The sections of a table, their rows, and the footer that points to them (docs/format.md, Table).

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::bits::word;
use super::damage::Damage;
use crate::entry::checksum::{crc, stamped};
use crate::error::Error;
use crate::fs::{Access, FileSystem, ReadFile, ops};

/// The bytes of the footer, which ends the file.
pub(in crate::table) const FOOTER_BYTES: usize = 48;
const ROW_BYTES: usize = 32;
const MAGIC: &[u8; 8] = b"rhumbTAB";
/// The format version of tables with a key map, and that of tables without.
const VERSION: u32 = 1;
const VERSION_WITHOUT_KEY_MAP: u32 = 2;
const REQUIRED: u16 = 1;

/// The kinds of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(in crate::table) enum SectionKind {
    Directory = 1,
    Index = 2,
    Filter = 3,
    RangeDeletes = 4,
    KeyMap = 5,
    Properties = 6,
    GivenSequence = 7,
    ValueUses = 8,
    FenceKeys = 9,
}

impl SectionKind {
    const ALL: [SectionKind; 9] = [
        SectionKind::Directory,
        SectionKind::Index,
        SectionKind::Filter,
        SectionKind::RangeDeletes,
        SectionKind::KeyMap,
        SectionKind::Properties,
        SectionKind::GivenSequence,
        SectionKind::ValueUses,
        SectionKind::FenceKeys,
    ];

    fn name(self) -> &'static str {
        match self {
            SectionKind::Directory => "directory",
            SectionKind::Index => "index",
            SectionKind::Filter => "filter",
            SectionKind::RangeDeletes => "range deletes",
            SectionKind::KeyMap => "key map",
            SectionKind::Properties => "properties",
            SectionKind::GivenSequence => "given sequence",
            SectionKind::ValueUses => "value references",
            SectionKind::FenceKeys => "fence keys",
        }
    }

    /// Only the filter is not required: a build that does not know it reads the table without it.
    fn flags(self) -> u16 {
        if self == SectionKind::Filter {
            0
        } else {
            REQUIRED
        }
    }

    /// Whether every table of a version has this section.
    fn always(self, version: u32) -> bool {
        match self {
            SectionKind::Filter
            | SectionKind::RangeDeletes
            | SectionKind::GivenSequence
            | SectionKind::ValueUses
            | SectionKind::FenceKeys => false,
            SectionKind::KeyMap => version == VERSION,
            _ => true,
        }
    }
}

/// Appends sections, rows and footer, of the version that fits the sections; `offset` is that of the first section in the file.
pub(in crate::table) fn encode(
    sections: &[(SectionKind, Vec<u8>)],
    id: u64,
    offset: u64,
    into: &mut Vec<u8>,
) {
    let (mut at, mut rows) = (offset, Vec::new());
    for (kind, bytes) in sections {
        into.extend_from_slice(bytes);
        rows.extend_from_slice(&(*kind as u16).to_le_bytes());
        rows.extend_from_slice(&kind.flags().to_le_bytes());
        rows.extend_from_slice(&stamped(bytes, id, at).to_le_bytes());
        for number in [at, bytes.len() as u64, 0] {
            rows.extend_from_slice(&number.to_le_bytes());
        }
        at += bytes.len() as u64;
    }
    into.extend_from_slice(&rows);
    let mut footer = Vec::with_capacity(FOOTER_BYTES);
    for number in [id, offset, at] {
        footer.extend_from_slice(&number.to_le_bytes());
    }
    let version = match sections
        .iter()
        .any(|(kind, _)| *kind == SectionKind::KeyMap)
    {
        true => VERSION,
        false => VERSION_WITHOUT_KEY_MAP,
    };
    for number in [sections.len() as u32, stamped(&rows, id, at), version] {
        footer.extend_from_slice(&number.to_le_bytes());
    }
    footer.extend_from_slice(&crc(&footer).to_le_bytes());
    footer.extend_from_slice(MAGIC);
    into.extend_from_slice(&footer);
}

/// The footer's fields.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct Footer {
    /// The table's random id.
    pub id: u64,
    /// The offset at which the blocks end and the sections start.
    pub sections_offset: u64,
    version: u32,
    rows_offset: u64,
    rows: u32,
    rows_crc: u32,
}

impl Footer {
    /// Decodes the last [`FOOTER_BYTES`] of a file.
    ///
    /// # Errors
    /// If they are not the footer of a version that this build reads.
    pub fn decode(bytes: &[u8]) -> Result<Footer, Damage> {
        if bytes.get(40..) != Some(MAGIC) {
            let found = format!("{:02x?}", bytes.get(40..).unwrap_or_default());
            return Err(Damage::new(40, "the end of a table, \"rhumbTAB\"", found));
        }
        let (found, expected) = (
            crc(bytes.get(..36).unwrap_or_default()),
            u32::from_le_bytes(word(bytes, 36)),
        );
        if found != expected {
            let expected = format!("a footer with checksum {expected:#010x}");
            return Err(Damage::new(0, expected, format!("{found:#010x}")));
        }
        let version = u32::from_le_bytes(word(bytes, 32));
        if !(VERSION..=VERSION_WITHOUT_KEY_MAP).contains(&version) {
            let what = format!(
                "table format version {version} (this build reads versions {VERSION} to \
                 {VERSION_WITHOUT_KEY_MAP})"
            );
            return Err(Damage::unsupported(what));
        }
        Ok(Footer {
            id: u64::from_le_bytes(word(bytes, 0)),
            sections_offset: u64::from_le_bytes(word(bytes, 8)),
            version,
            rows_offset: u64::from_le_bytes(word(bytes, 16)),
            rows: u32::from_le_bytes(word(bytes, 24)),
            rows_crc: u32::from_le_bytes(word(bytes, 28)),
        })
    }
}

/// Opens a table file and reads its footer; returns the file, its length in bytes, and the footer,
/// whose sections start before it.
///
/// # Errors
/// If the file cannot be read, is too short for a table, or its footer is damaged.
pub(in crate::table) fn read_footer(
    fs: &dyn FileSystem,
    path: &Path,
) -> Result<(Arc<dyn ReadFile>, u64, Footer), Error> {
    let file = ops::open(fs, path, Access::Buffered)?;
    let file_bytes = ops::len(&*file, path)?;
    let Some(footer_at) = file_bytes.checked_sub(FOOTER_BYTES as u64) else {
        let expected = "a table of at least 48 bytes";
        return Err(Error::corruption(path, 0, expected, file_bytes));
    };
    let mut footer = [0; FOOTER_BYTES];
    ops::read_exact_at(&*file, path, &mut footer, footer_at)?;
    let footer = Footer::decode(&footer).map_err(|d| d.in_file(path, footer_at))?;
    if footer.sections_offset > footer_at {
        let expected = format!("sections before {footer_at}");
        return Err(Error::corruption(
            path,
            footer_at + 8,
            expected,
            footer.sections_offset,
        ));
    }
    Ok((file, file_bytes, footer))
}

/// Everything behind the blocks of a table of `file_bytes` bytes. The numbers may be forged, so the file
/// is asked before memory is taken.
pub(in crate::table) fn read_tail(
    file: &dyn ReadFile,
    path: &Path,
    file_bytes: u64,
    sections_offset: u64,
) -> Result<Vec<u8>, Error> {
    let length = ops::len(file, path)?;
    let tail = file_bytes.checked_sub(sections_offset);
    match tail.filter(|_| file_bytes <= length) {
        Some(tail) => {
            ops::refuse_sparse(file, path, tail)?;
            ops::read_range(file, path, sections_offset, tail)
        }
        None => {
            let expected = format!("sections from {sections_offset} to {file_bytes}");
            let found = format!("a file of {length} bytes");
            Err(Error::corruption(path, length, expected, found))
        }
    }
}

/// The sections of a table whose checksums match.
#[derive(Debug)]
pub(in crate::table) struct Sections<'a> {
    /// The table's random id.
    pub id: u64,
    version: u32,
    /// Everything from the first section to the end of the file.
    tail: &'a [u8],
    ranges: [Option<Range<usize>>; SectionKind::ALL.len()],
}

impl<'a> Sections<'a> {
    /// Verifies `tail`, everything after the blocks of a table, which lies at `offset` of its file.
    ///
    /// # Errors
    /// If a checksum does not match, sections overlap or leave gaps, one is missing, or a required
    /// one is unknown to this build. Positions are relative to the start of `tail`.
    pub fn decode(tail: &'a [u8], offset: u64) -> Result<Sections<'a>, Damage> {
        let (sections, damaged) = Self::decode_sound(tail, offset)?;
        if let Some((_, damage)) = damaged.into_iter().next() {
            return Err(damage);
        }
        match SectionKind::ALL
            .iter()
            .find(|k| k.always(sections.version) && sections.get(**k).is_none())
        {
            Some(missing) => {
                let expected = format!("a section with the {}", missing.name());
                Err(Damage::new(0, expected, "no such section"))
            }
            None => Ok(sections),
        }
    }

    /// The sections whose checksums match, and for each of the others its id and damage.
    ///
    /// # Errors
    /// If the footer or rows are damaged, or a required section is unknown to this build.
    pub fn decode_sound(
        tail: &'a [u8],
        offset: u64,
    ) -> Result<(Sections<'a>, Vec<(u16, Damage)>), Damage> {
        let Some(footer_at) = tail.len().checked_sub(FOOTER_BYTES) else {
            return Err(Damage::new(0, "a footer", format!("{} bytes", tail.len())));
        };
        let footer = Footer::decode(tail.get(footer_at..).unwrap_or_default())?;
        if footer.sections_offset != offset {
            let expected = format!("sections that start at {offset}");
            return Err(Damage::new(footer_at + 8, expected, footer.sections_offset));
        }
        let rows_at = footer.rows_offset.checked_sub(offset).map(usize::try_from);
        let rows = match rows_at {
            Some(Ok(at)) => tail.get(at..footer_at).map(|rows| (at, rows)),
            _ => None,
        };
        let fits = |rows: &[u8]| rows.len() as u64 == u64::from(footer.rows) * ROW_BYTES as u64;
        let Some((rows_at, rows)) = rows.filter(|(_, rows)| fits(rows)) else {
            let expected = format!("{} rows before the footer", footer.rows);
            return Err(Damage::new(footer_at + 16, expected, footer.rows_offset));
        };
        let found = stamped(rows, footer.id, footer.rows_offset);
        if found != footer.rows_crc {
            let expected = format!("section rows with checksum {:#010x}", footer.rows_crc);
            return Err(Damage::new(rows_at, expected, format!("{found:#010x}")));
        }
        let mut sections = Sections {
            id: footer.id,
            version: footer.version,
            tail,
            ranges: Default::default(),
        };
        let (mut at, mut damaged) = (0, Vec::new());
        for (i, row) in rows.chunks_exact(ROW_BYTES).enumerate() {
            at = sections.add(
                row,
                rows_at + i * ROW_BYTES,
                at..rows_at,
                offset,
                &mut damaged,
            )?;
        }
        if at != rows_at {
            return Err(Damage::new(
                at,
                "sections up to the rows",
                format!("a gap of {} bytes", rows_at - at),
            ));
        }
        Ok((sections, damaged))
    }

    /// Verifies the section of `row`, which lies at `row_at`; the section must start where `free`
    /// does. Returns where it ends. A section whose checksum does not match is added to `damaged`.
    fn add(
        &mut self,
        row: &[u8],
        row_at: usize,
        free: Range<usize>,
        offset: u64,
        damaged: &mut Vec<(u16, Damage)>,
    ) -> Result<usize, Damage> {
        let (kind, flags) = (
            u16::from_le_bytes(word(row, 0)),
            u16::from_le_bytes(word(row, 2)),
        );
        let expected_crc = u32::from_le_bytes(word(row, 4));
        let (start, len) = (
            u64::from_le_bytes(word(row, 8)),
            u64::from_le_bytes(word(row, 16)),
        );
        if flags & !REQUIRED != 0 || word::<8>(row, 24) != [0; 8] {
            return Err(Damage::new(
                row_at,
                "zero in reserved bits of a section row",
                "other values",
            ));
        }
        let here = offset + free.start as u64;
        if start != here || len > free.len() as u64 {
            let expected = format!("a section at {here} of at most {} bytes", free.len());
            return Err(Damage::new(
                row_at + 8,
                expected,
                format!("{len} bytes at {start}"),
            ));
        }
        let range = free.start..free.start + len as usize;
        let found = stamped(
            self.tail.get(range.clone()).unwrap_or_default(),
            self.id,
            start,
        );
        if found != expected_crc {
            let expected = format!("section {kind} with checksum {expected_crc:#010x}");
            let damage = Damage::new(range.start, expected, format!("{found:#010x}"));
            damaged.push((kind, damage));
            return Ok(range.end);
        }
        let end = range.end;
        let place = SectionKind::ALL.iter().position(|k| *k as u16 == kind);
        match place.and_then(|at| self.ranges.get_mut(at)) {
            Some(slot) if slot.is_none() => *slot = Some(range),
            Some(_) => {
                return Err(Damage::new(
                    row_at,
                    "each section once",
                    format!("section {kind} again"),
                ));
            }
            None if flags & REQUIRED != 0 => {
                return Err(Damage::unsupported(format!("table section {kind}")));
            }
            None => {}
        }
        Ok(end)
    }

    /// A section and its offset in the tail; `None` if the table has no such section.
    pub fn get(&self, kind: SectionKind) -> Option<(usize, &'a [u8])> {
        let place = SectionKind::ALL.iter().position(|k| *k == kind)?;
        let range = self.ranges.get(place)?.clone()?;
        Some((range.start, self.tail.get(range)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(sections: &[(SectionKind, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(sections, 99, 1000, &mut bytes);
        bytes
    }

    fn all() -> Vec<(SectionKind, Vec<u8>)> {
        SectionKind::ALL
            .iter()
            .map(|k| (*k, vec![*k as u8; 10 * *k as usize]))
            .collect()
    }

    #[test]
    fn sections_come_back() {
        let bytes = table(&all());
        let sections = Sections::decode(&bytes, 1000).unwrap();
        for (kind, content) in all() {
            assert_eq!(sections.get(kind).unwrap().1, content);
        }
        let few: Vec<_> = all()
            .into_iter()
            .filter(|(k, _)| k.always(VERSION))
            .collect();
        let bytes = table(&few);
        let sections = Sections::decode(&bytes, 1000).unwrap();
        assert!(sections.get(SectionKind::Filter).is_none());
    }

    #[test]
    fn missing_repeated_and_moved_sections_are_refused() {
        for (i, (kind, _)) in all().iter().enumerate() {
            let mut some = all();
            some.remove(i);
            let needed = kind.always(VERSION_WITHOUT_KEY_MAP);
            assert_eq!(Sections::decode(&table(&some), 1000).is_err(), needed);
            let mut more = all();
            more.push(all()[i].clone());
            assert!(Sections::decode(&table(&more), 1000).is_err());
        }
        let bytes = table(&all());
        assert!(Sections::decode(&bytes, 1001).is_err());
        for len in 0..bytes.len() {
            assert!(Sections::decode(&bytes[..len], 1000).is_err());
        }
    }

    /// Changes the section id in the last row, and makes the checksums of rows and footer match
    /// again.
    fn with_last_id(id: u16, flags: u16) -> Vec<u8> {
        let mut sections = all();
        sections.push((SectionKind::Filter, vec![1, 2, 3]));
        let mut bytes = table(&sections);
        let footer = bytes.len() - FOOTER_BYTES;
        let row = footer - ROW_BYTES;
        bytes[row..row + 2].copy_from_slice(&id.to_le_bytes());
        bytes[row + 2..row + 4].copy_from_slice(&flags.to_le_bytes());
        let rows = footer - sections.len() * ROW_BYTES;
        let rows_crc = stamped(&bytes[rows..footer], 99, 1000 + rows as u64);
        bytes[footer + 28..footer + 32].copy_from_slice(&rows_crc.to_le_bytes());
        let footer_crc = crc(&bytes[footer..footer + 36]);
        bytes[footer + 36..footer + 40].copy_from_slice(&footer_crc.to_le_bytes());
        bytes
    }

    #[test]
    fn unknown_sections_are_skipped_unless_required() {
        assert!(Sections::decode(&with_last_id(77, 0), 1000).is_ok());
        let refused = Sections::decode(&with_last_id(77, REQUIRED), 1000).unwrap_err();
        assert_eq!(refused, Damage::unsupported("table section 77"));
        assert!(Sections::decode(&with_last_id(77, 2), 1000).is_err());
    }
}
