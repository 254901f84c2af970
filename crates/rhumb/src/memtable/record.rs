//! An entry's bytes in the arena.
//!
//! ```text
//! 0   8  sequence
//! 8   4  value length
//! 12  3  key length
//! 15  1  kind in three bits, rank in five
//! 16  8  unless the rank is 0: the addresses of the next older version of the key, and of one further back (versions.rs)
//!        key, value
//! ```
//!
//! in the machine's byte order, since records never leave the process.

use super::insert::NewEntry;
use crate::entry::{EntryKind, Sequence};
use crate::memory::{Address, Appender, Arena, Pinned};

const HEADER_BYTES: usize = 16;
const LINK_BYTES: usize = 8;
const KIND_BITS: u32 = 3;

/// What the record of a version names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The next older version of the key.
    pub older: Address,
    /// An older version further back, or the same.
    pub jump: Address,
    /// How far back that is.
    pub rank: u8,
}

fn link_bytes(rank: u8) -> usize {
    if rank == 0 { 0 } else { LINK_BYTES }
}

/// An entry as it lies in the arena.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    pub kind: EntryKind,
    address: Address,
    value_len: u32,
    /// 0 if it names no older version.
    pub rank: u8,
}

impl<'a> Record<'a> {
    /// Appends an entry to the arena, with what it names if older versions of its key are to be found by it; `None` if the arena is
    /// full, or the key or value is longer than the store allows.
    pub fn append(
        arena: &mut Appender<'_>,
        entry: &NewEntry<'_>,
        link: Option<Link>,
    ) -> Option<Address> {
        let NewEntry { key, value, .. } = entry;
        let value_len = u32::try_from(value.len()).ok()?;
        let key_len = u32::try_from(key.len()).ok().filter(|&len| len < 1 << 24)?;
        let kind = entry.kind as u8 | link.map_or(0, |link| link.rank << KIND_BITS);
        let key_len_and_kind = key_len | u32::from(kind) << 24;
        let lengths = u64::from(key_len_and_kind) << 32 | u64::from(value_len);
        let header = [entry.sequence, lengths].map(u64::to_ne_bytes);
        let link = link.map(|link| [link.older.0, link.jump.0].map(u32::to_ne_bytes));
        let link = link.as_ref().map_or(&[][..], |link| link.as_flattened());
        arena.append([header.as_flattened(), link, key, value])
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
            rank: 0,
        })
    }

    fn parse(bytes: &'a [u8], address: Address) -> Option<Self> {
        let (sequence, rest) = bytes.split_first_chunk()?;
        let (lengths, rest) = rest.split_first_chunk()?;
        let lengths = u64::from_ne_bytes(*lengths);
        let key_len = (lengths >> 32) as usize & 0xff_ffff;
        let kind = (lengths >> 56) as u8;
        let rank = kind >> KIND_BITS;
        let from = link_bytes(rank);
        Some(Record {
            key: rest.get(from..from + key_len)?,
            sequence: Sequence::from_ne_bytes(*sequence),
            kind: EntryKind::from_byte(kind & ((1 << KIND_BITS) - 1))?,
            address,
            value_len: lengths as u32,
            rank,
        })
    }

    /// What it names, if it names an older version.
    #[inline]
    pub fn link(&self, arena: &Arena) -> Option<Link> {
        if self.rank == 0 {
            return None;
        }
        let bytes = arena.bytes(self.address.position(HEADER_BYTES), LINK_BYTES);
        let (older, jump) = bytes.split_first_chunk()?;
        Some(Link {
            older: Address(u32::from_ne_bytes(*older)),
            jump: Address(u32::from_ne_bytes(*jump.first_chunk()?)),
            rank: self.rank,
        })
    }

    /// The key's position, for [`crate::memory::Arena::bytes`].
    pub fn key_position(&self) -> u64 {
        self.address.position(HEADER_BYTES + link_bytes(self.rank))
    }

    /// The value's position, likewise.
    fn value_position(&self) -> u64 {
        self.key_position() + self.key.len() as u64
    }

    /// The value, pinned in the record's arena.
    pub fn value(&self, arena: &Arena) -> Pinned {
        match self.value_len() {
            0 => Pinned::empty(),
            len => arena.pin(self.value_position(), len),
        }
    }

    /// The value, in the record's arena.
    pub fn value_bytes<'b>(&self, arena: &'b Arena) -> &'b [u8] {
        arena.bytes(self.value_position(), self.value_len())
    }

    /// The length of the value, which follows on the key.
    pub fn value_len(&self) -> usize {
        self.value_len as usize
    }
}
