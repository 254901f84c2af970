//! An entry's bytes in the arena.
//!
//! ```text
//! 0   8  sequence
//! 8   4  value length
//! 12  3  key length
//! 15  1  kind
//! 16     key, value
//! ```
//!
//! in the machine's byte order, since records never leave the process.

use super::insert::NewEntry;
use crate::entry::{EntryKind, Sequence};
use crate::memory::{Address, Appender, Arena, Pinned};

const HEADER_BYTES: usize = 16;

/// An entry as it lies in the arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    pub kind: EntryKind,
    address: Address,
    value_len: u32,
}

impl<'a> Record<'a> {
    /// Appends an entry to the arena; `None` if the arena is full, or the key or value is longer
    /// than the store allows.
    pub fn append(arena: &mut Appender<'_>, entry: &NewEntry<'_>) -> Option<Address> {
        let NewEntry { key, value, .. } = entry;
        let value_len = u32::try_from(value.len()).ok()?;
        let key_len = u32::try_from(key.len()).ok().filter(|&len| len < 1 << 24)?;
        let key_len_and_kind = key_len | u32::from(entry.kind as u8) << 24;
        let lengths = u64::from(key_len_and_kind) << 32 | u64::from(value_len);
        let header = [entry.sequence.to_ne_bytes(), lengths.to_ne_bytes()];
        arena.append([header.as_flattened(), key, value])
    }

    /// The entry at an address that [`Record::append`] returned.
    #[inline]
    pub fn read(arena: &'a Arena, address: Address) -> Self {
        Self::parse(arena.record_onwards(address), address).unwrap_or(Record {
            key: &[],
            sequence: 0,
            kind: EntryKind::Delete,
            address,
            value_len: 0,
        })
    }

    fn parse(bytes: &'a [u8], address: Address) -> Option<Self> {
        let (sequence, rest) = bytes.split_first_chunk()?;
        let (lengths, rest) = rest.split_first_chunk()?;
        let lengths = u64::from_ne_bytes(*lengths);
        let key_len = (lengths >> 32) as usize & 0xff_ffff;
        Some(Record {
            key: rest.get(..key_len)?,
            sequence: Sequence::from_ne_bytes(*sequence),
            kind: EntryKind::from_byte((lengths >> 56) as u8)?,
            address,
            value_len: lengths as u32,
        })
    }

    /// The key's position, for [`crate::memory::Arena::bytes`].
    pub fn key_position(&self) -> u64 {
        self.address.position(HEADER_BYTES)
    }

    /// The value, pinned in the record's arena.
    pub fn value(&self, arena: &Arena) -> Pinned {
        match self.value_len() {
            0 => Pinned::empty(),
            len => arena.pin(self.key_position() + self.key.len() as u64, len),
        }
    }

    /// The length of the value, which follows on the key.
    pub fn value_len(&self) -> usize {
        self.value_len as usize
    }
}
