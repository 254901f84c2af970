//! Units: blocks of entries of one size, without headers (docs/format.md, Unit and Directory).
//!
//! Units that follow each other and have sequences of the same width are a stretch. Offsets and
//! first ranks of units are computed from the few stretches of a table.

use super::bits::word;
use super::damage::Damage;

/// Bytes of a unit besides its entries: the checksum.
pub(in crate::table) const UNIT_CHECKSUM_BYTES: usize = 4;
/// The most bytes of a unit.
pub(in crate::table) const LARGEST_UNIT_BYTES: u64 = 16 << 20;

const HEADER_BYTES: usize = 16;
const STRETCH_BYTES: usize = 16;
/// Widths ascend from 0 to 8.
const MOST_STRETCHES: u32 = 9;

/// What all entries of a stretch have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table) struct UnitShape {
    /// Bytes of a key, at least 1.
    pub key: u32,
    /// Bytes of a value.
    pub value: u32,
    /// Bytes of a stored sequence, at most 8; 0 if all sequences are 0.
    pub width: u8,
}

impl UnitShape {
    /// What tells units of different shapes, and blocks, apart: their checksums are stamped with it, since the
    /// directory alone says where the columns of a unit begin.
    pub fn stamp(self) -> u64 {
        (1 + u64::from(self.width)) | (u64::from(self.key) << 8) | (u64::from(self.value) << 32)
    }

    /// Bytes of an entry.
    #[inline]
    pub fn entry_bytes(self) -> u64 {
        u64::from(self.width) + u64::from(self.key) + u64::from(self.value)
    }

    /// Bytes of a unit of `entries` entries.
    #[inline]
    pub fn unit_bytes(self, entries: u32) -> u64 {
        UNIT_CHECKSUM_BYTES as u64 + u64::from(entries) * self.entry_bytes()
    }
}

/// Units with sequences of one width. All but the last one are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    /// The number of the first unit, its offset in the file, and the rank of its first key.
    first: u64,
    offset: u64,
    rank: u64,
    units: u64,
    /// The entries of the last unit.
    last_entries: u32,
    width: u8,
}

/// The units at the start of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::table) struct Units {
    /// The entries of a full unit.
    entries: u32,
    key: u32,
    value: u32,
    /// Not empty, except in a writer before its first unit.
    stretches: Vec<Stretch>,
}

impl Units {
    /// No units yet, for entries of the sizes of `shape`, `entries` in a full unit.
    pub fn new(entries: u32, shape: UnitShape) -> Units {
        Units {
            entries,
            key: shape.key,
            value: shape.value,
            stretches: Vec::new(),
        }
    }

    /// Adds a unit; only the last one of a width may have fewer than the full number of entries.
    pub fn push(&mut self, entries: u32, width: u8) {
        match self.stretches.last_mut() {
            Some(last) if last.width == width => {
                last.units += 1;
                last.last_entries = entries;
            }
            _ => self.stretches.push(Stretch {
                first: self.count(),
                offset: self.end(),
                rank: self.ranks(),
                units: 1,
                last_entries: entries,
                width,
            }),
        }
    }

    fn shape_of(&self, stretch: &Stretch) -> UnitShape {
        UnitShape {
            key: self.key,
            value: self.value,
            width: stretch.width,
        }
    }

    /// The stretch of a unit; `None` if there is no such unit.
    #[inline]
    fn stretch(&self, unit: u64) -> Option<&Stretch> {
        let last = self.stretches.iter().rfind(|s| s.first <= unit)?;
        (unit - last.first < last.units).then_some(last)
    }

    /// The entries of a full unit.
    pub fn entries_per_unit(&self) -> u32 {
        self.entries
    }

    /// The number of units.
    #[inline]
    pub fn count(&self) -> u64 {
        self.stretches.last().map_or(0, |s| s.first + s.units)
    }

    /// Where the last unit ends in the file.
    pub fn end(&self) -> u64 {
        self.stretches.last().map_or(0, |s| {
            let shape = self.shape_of(s);
            let full = (s.units - 1) * shape.unit_bytes(self.entries);
            s.offset + full + shape.unit_bytes(s.last_entries)
        })
    }

    /// The number of entries, which is also that of their user keys.
    pub fn ranks(&self) -> u64 {
        self.stretches.last().map_or(0, |s| {
            s.rank + (s.units - 1) * u64::from(self.entries) + u64::from(s.last_entries)
        })
    }

    /// What the entries of a unit have in common; `None` if there is no such unit.
    #[inline]
    pub fn shape(&self, unit: u64) -> Option<UnitShape> {
        self.stretch(unit).map(|s| self.shape_of(s))
    }

    /// Where a unit starts in the file; `None` if there is no such unit.
    #[inline]
    pub fn offset(&self, unit: u64) -> Option<u64> {
        let s = self.stretch(unit)?;
        Some(s.offset + (unit - s.first) * self.shape_of(s).unit_bytes(self.entries))
    }

    /// The rank of a unit's first key; `None` if there is no such unit.
    #[inline]
    pub fn first_rank(&self, unit: u64) -> Option<u64> {
        let s = self.stretch(unit)?;
        Some(s.rank + (unit - s.first) * u64::from(self.entries))
    }

    /// The unit that holds the key with this rank; `None` if no unit does.
    #[inline]
    pub fn unit_of_rank(&self, rank: u64) -> Option<u64> {
        if rank >= self.ranks() {
            return None;
        }
        let s = self.stretches.iter().rfind(|s| s.rank <= rank)?;
        Some(s.first + (rank - s.rank) / u64::from(self.entries.max(1)))
    }

    /// Memory on the heap, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.stretches.capacity() * size_of::<Stretch>()
    }

    /// Appends the byte form, which omits the entries of a full unit.
    pub fn encode(&self, into: &mut Vec<u8>) {
        for number in [self.key, self.value, self.stretches.len() as u32, 0] {
            into.extend_from_slice(&number.to_le_bytes());
        }
        for s in &self.stretches {
            into.extend_from_slice(&s.units.to_le_bytes());
            into.extend_from_slice(&s.last_entries.to_le_bytes());
            into.extend_from_slice(&[s.width, 0, 0, 0]);
        }
    }

    /// Takes units off the front of `bytes`, of at most `blocks` blocks before `end`; `at` is where
    /// they are.
    ///
    /// # Errors
    /// If there are none, or they do not fit.
    pub fn decode(
        bytes: &mut &[u8],
        at: &mut usize,
        entries: u32,
        (blocks, end): (u64, u64),
    ) -> Result<Units, Damage> {
        let header = word::<HEADER_BYTES>(bytes, 0);
        let [key, value, count, reserved] =
            [0, 4, 8, 12].map(|at| u32::from_le_bytes(word(&header, at)));
        if !(1..=u32::from(u16::MAX)).contains(&entries) {
            return Err(Damage::new(24, "1 to 65535 entries a unit", entries));
        }
        if key == 0 || reserved != 0 || !(1..=MOST_STRETCHES).contains(&count) {
            let found = format!("keys of {key} bytes, {count} stretches, {reserved}");
            let expected = "keys of at least 1 byte, 1 to 9 stretches of units, and 0";
            return Err(Damage::new(*at, expected, found));
        }
        let length = HEADER_BYTES + count as usize * STRETCH_BYTES;
        let Some((own, rest)) = bytes.split_at_checked(length) else {
            let found = format!("{} bytes", bytes.len());
            return Err(Damage::new(*at, format!("{count} stretches"), found));
        };
        let mut units = Units::new(
            entries,
            UnitShape {
                key,
                value,
                width: 0,
            },
        );
        let rows = own.get(HEADER_BYTES..).unwrap_or_default();
        for (i, row) in rows.chunks_exact(STRETCH_BYTES).enumerate() {
            let place = *at + HEADER_BYTES + i * STRETCH_BYTES;
            let damage = |what: String| Damage::new(place, what, format!("{row:02x?}"));
            units.push_stretch(row, blocks, end).map_err(damage)?;
        }
        *at += length;
        *bytes = rest;
        Ok(units)
    }

    /// Adds a stretch from its byte form; returns what was expected if it does not fit.
    fn push_stretch(&mut self, row: &[u8], blocks: u64, end: u64) -> Result<(), String> {
        let stretch = Stretch {
            first: self.count(),
            offset: self.end(),
            rank: self.ranks(),
            units: u64::from_le_bytes(word(row, 0)),
            last_entries: u32::from_le_bytes(word(row, 8)),
            width: word::<1>(row, 12)[0],
        };
        if !(1..=self.entries).contains(&stretch.last_entries) {
            return Err(format!("1 to {} entries in the last unit", self.entries));
        }
        let before = self.stretches.last().map(|s| s.width);
        let wider = before.is_none_or(|before| before < stretch.width);
        if !wider || stretch.width > 8 || word::<3>(row, 13) != [0; 3] {
            return Err("sequences of 0 to 8 bytes, wider than before, and zeros".to_string());
        }
        let unit_bytes = self.shape_of(&stretch).unit_bytes(self.entries);
        if unit_bytes > LARGEST_UNIT_BYTES {
            return Err(format!("units of at most {LARGEST_UNIT_BYTES} bytes"));
        }
        // No sum below overflows: the units lie in the file, whose length has 57 bits at most.
        let room = end.min(1 << 57).saturating_sub(stretch.offset);
        let fits = |units: u64| {
            let full = (units - 1).checked_mul(unit_bytes)?;
            let last = self.shape_of(&stretch).unit_bytes(stretch.last_entries);
            full.checked_add(last).filter(|bytes| *bytes <= room)
        };
        let in_blocks = (1..=blocks.saturating_sub(stretch.first)).contains(&stretch.units);
        if !in_blocks || fits(stretch.units).is_none() {
            return Err(format!(
                "units among {blocks} blocks and {end} bytes, at least 1"
            ));
        }
        self.stretches.push(stretch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: UnitShape = UnitShape {
        key: 8,
        value: 8,
        width: 0,
    };

    /// Units of 4 entries: 3 units without sequences, the last with 1 entry; then 2 units with
    /// sequences of 2 bytes, the last with 3 entries.
    fn units() -> Units {
        let mut units = Units::new(4, SHAPE);
        for (entries, width) in [(4, 0), (4, 0), (1, 0), (4, 2), (3, 2)] {
            units.push(entries, width);
        }
        units
    }

    #[test]
    fn offsets_and_ranks_are_computed() {
        let units = units();
        let offsets = [0, 68, 136, 156, 232, 290];
        let ranks = [0, 4, 8, 9, 13, 16];
        for unit in 0..5u64 {
            assert_eq!(units.offset(unit), Some(offsets[unit as usize]));
            assert_eq!(units.first_rank(unit), Some(ranks[unit as usize]));
            for rank in ranks[unit as usize]..ranks[unit as usize + 1] {
                assert_eq!(units.unit_of_rank(rank), Some(unit));
            }
        }
        assert_eq!((units.count(), units.end(), units.ranks()), (5, 290, 16));
        assert_eq!((units.offset(5), units.unit_of_rank(16)), (None, None));
        assert_eq!(units.shape(2).map(|s| s.width), Some(0));
        assert_eq!(units.shape(3).map(|s| s.width), Some(2));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut good = Vec::new();
        units().encode(&mut good);
        let decode = |bytes: &[u8], entries, room| {
            let (mut rest, mut at) = (bytes, 32);
            let units = Units::decode(&mut rest, &mut at, entries, room)?;
            assert_eq!((rest.len(), at), (0, 32 + bytes.len()));
            Ok::<_, Damage>(units)
        };
        assert_eq!(decode(&good, 4, (5, 290)), Ok(units()));
        assert!(decode(&good, 4, (4, 290)).is_err());
        assert!(decode(&good, 4, (5, 289)).is_err());
        assert!(decode(&good, 2, (5, 290)).is_err());
        assert!(decode(&good, 0, (5, 290)).is_err());
        for length in 0..good.len() {
            assert!(decode(&good[..length], 4, (5, 290)).is_err());
        }
        // No key, a stretch less or more, reserved bytes, no unit, widths, entries of the last unit.
        for (at, byte) in [
            (0, 0),
            (8, 0),
            (8, 10),
            (12, 1),
            (16, 0),
            (28, 2),
            (28, 9),
            (29, 1),
            (24, 0),
            (24, 5),
            (23, 0x80),
        ] {
            let mut bytes = good.clone();
            bytes[at] = byte;
            assert!(decode(&bytes, 4, (5, 290)).is_err(), "byte {at}: {byte}");
        }
    }
}
