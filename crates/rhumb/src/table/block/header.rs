//! The header of a raw block (docs/format.md, Block): its fields, and the checks that need no column.

use super::{HEADER_BYTES, WITH_FENCE_KEYS, WITH_POINTERS, flag};
use crate::entry::{EntryKind, Sequence};
use crate::table::form::bits::word;
use crate::table::form::damage::Damage;

/// The fields of a header, read one by one from an array of known length, which needs no bounds check.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header<'a>(pub &'a [u8; HEADER_BYTES]);

impl Header<'_> {
    #[inline]
    pub fn flags(&self) -> u8 {
        self.byte(0)
    }

    /// Whether one of the [flags](flag) is set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags() & flag != 0
    }

    /// The width of a stored sequence in bits.
    #[inline]
    pub fn sequence_width(&self) -> u8 {
        self.byte(1)
    }

    /// The number of entries.
    #[inline]
    pub fn count(&self) -> u16 {
        u16::from_le_bytes(word(self.0, 2))
    }

    #[inline]
    pub fn prefix_len(&self) -> u16 {
        u16::from_le_bytes(word(self.0, 4))
    }

    /// The codes of the widths of lengths, and what else the block has.
    #[inline]
    pub fn codes(&self) -> u8 {
        self.byte(6)
    }

    /// The kind of all entries, if it is the same.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.byte(7)
    }

    #[inline]
    pub fn sequence_base(&self) -> Sequence {
        Sequence::from_le_bytes(word(self.0, 8))
    }

    /// The length of all keys behind the prefix, if it is the same.
    #[inline]
    pub fn suffix_len(&self) -> u32 {
        u32::from_le_bytes(word(self.0, 16))
    }

    /// The length of all values, if it is the same.
    #[inline]
    pub fn value_len(&self) -> u32 {
        u32::from_le_bytes(word(self.0, 20))
    }

    /// The smallest and the largest distance from the expected slot of a key to its own.
    #[inline]
    pub fn hint(&self) -> (i16, i16) {
        let [low, high] = [24, 26].map(|at| i16::from_le_bytes(word(self.0, at)));
        (low, high)
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        let [byte] = word(self.0, at);
        byte
    }
}

/// Checks the header of a block without looking at the columns.
pub(super) fn check_header(bytes: &[u8; HEADER_BYTES]) -> Result<(), Damage> {
    let header = Header(bytes);
    let (flags, sequence_width) = (header.flags(), header.sequence_width());
    let (codes, kind) = (header.codes(), header.kind());
    let is = |bit: u8| header.has(bit);
    if is(flag::PREVIOUS_RELATIVE) {
        return Err(Damage::unsupported(
            "blocks with keys relative to the previous",
        ));
    }
    if header.count() == 0 {
        if flags != flag::ALL_ALIKE {
            let alike = flag::ALL_ALIKE;
            let expected = format!("flags {alike:#04x} in a block without entries");
            return Err(Damage::new(0, expected, flags));
        }
        let codes = codes & !WITH_FENCE_KEYS;
        let plain = [sequence_width, codes, kind] == [0, 0, EntryKind::Put as u8];
        if !(plain && word::<16>(bytes, 8) == [0; 16]) {
            return Err(Damage::new(
                1,
                "the header of a block without entries",
                "other values",
            ));
        }
    }
    if sequence_width > 64 {
        return Err(Damage::new(1, "sequences of 0 to 64 bits", sequence_width));
    }
    parse_kind(kind, is(flag::KINDS_ALIKE))?;
    let pointers = codes & WITH_POINTERS != 0;
    if is(flag::KINDS_ALIKE) && pointers != (kind == EntryKind::Pointer as u8) {
        let expected = format!("whether the kind {kind} has pointers");
        return Err(Damage::new(6, expected, codes));
    }
    let columns = [
        (is(flag::NO_SHARING), codes, None),
        (is(flag::SUFFIXES_ALIKE), codes >> 2, Some(16)),
        (is(flag::VALUES_ALIKE), codes >> 4, Some(20)),
    ];
    for (alike, code, field) in columns {
        if alike {
            continue;
        }
        let all = field.map_or(0, |at| u32::from_le_bytes(word(bytes, at)));
        if all != 0 {
            let at = field.unwrap_or(0);
            return Err(Damage::new(at, "zero in a reserved field", all));
        }
        if code & 3 == 3 {
            return Err(Damage::new(6, "lengths of 1, 2 or 4 bytes", code));
        }
    }
    Ok(())
}

/// The kind of all entries, if `alike`; else checks that the byte is zero.
pub(super) fn parse_kind(byte: u8, alike: bool) -> Result<Option<EntryKind>, Damage> {
    if !alike {
        return match byte {
            0 => Ok(None),
            _ => Err(Damage::new(7, "zero in a reserved field", byte)),
        };
    }
    match EntryKind::from_byte(byte) {
        Some(kind) => Ok(Some(kind)),
        None => Err(Damage::unsupported(format!("entries of kind {byte}"))),
    }
}
