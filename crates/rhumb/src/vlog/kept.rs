//! Values in memory, in frames of the block cache.

use std::sync::Arc;

use super::record::Wanted;
use crate::entry::Pointer;
use crate::error::Result;
use crate::memory::{BlockCache, FrameSlots, Pinned, Room};

/// A value is looked for in so many frames, whose slots lie in one cache line.
const WAYS: u64 = 4;
/// There is a slot for so many bytes of the cache. Values that are shorter fill only part of it.
const CACHE_BYTES_A_SLOT: u64 = 512;
/// Values above this share of the cache are not kept, as blocks.
const LARGEST_SHARE: u64 = 256;
/// The bytes in front of the record in a frame: which one it is.
const PLACE_BYTES: usize = 16;

/// The values of all value files that are in memory. Which frames a value may be in follows from its place; two values
/// may compete for the same, and what is in a frame is compared with what is wanted. So a value may be missed,
/// and is never mistaken for another.
#[derive(Debug)]
pub(crate) struct KeptValues {
    slots: FrameSlots,
    sets: u64,
    most_bytes: u64,
}

impl KeptValues {
    /// Keeps values in this cache; takes no memory yet.
    pub fn new(cache: &Arc<BlockCache>) -> Self {
        let sets = (cache.capacity() / (CACHE_BYTES_A_SLOT * WAYS)).max(1);
        KeptValues {
            slots: FrameSlots::new(Arc::clone(cache), sets * WAYS),
            sets,
            most_bytes: cache.capacity() / LARGEST_SHARE,
        }
    }

    /// Keeps nothing.
    ///
    /// # Errors
    /// If there is no memory for the little that even an empty cache takes.
    pub fn none() -> Result<Arc<Self>> {
        Ok(Arc::new(Self::new(&Arc::new(BlockCache::new(0)?))))
    }

    /// The value, if it is in memory. Takes no lock and allocates nothing.
    pub(super) fn get(&self, wanted: Wanted<'_>) -> Option<Pinned> {
        self.ways(wanted.pointer)
            .find_map(|slot| value_of(self.slots.get(slot)?, wanted))
    }

    /// Keeps the record of a value, which was verified. Returns the value, pinned; `None` if it is too large, or all is
    /// pinned, or others are where it may be.
    pub(super) fn keep(&self, wanted: Wanted<'_>, record: &[u8]) -> Option<Pinned> {
        if (PLACE_BYTES + record.len()) as u64 > self.most_bytes {
            return None;
        }
        let free = self
            .ways(wanted.pointer)
            .find(|slot| !self.slots.holds(*slot))?;
        let kept = [&place(wanted.pointer), record].concat();
        // Another thread may have been faster, with another value.
        value_of(self.slots.insert(free, &kept, Room::Any)?, wanted)
    }

    /// The slots of the frames that a value may be in.
    fn ways(&self, pointer: Pointer) -> std::ops::Range<u64> {
        let file = pointer.file.wrapping_mul(0xA24B_AED4_963E_E407);
        let mixed = (file ^ pointer.offset).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let set = (u128::from(mixed) * u128::from(self.sets)) >> 64;
        let first = set as u64 * WAYS;
        first..first + WAYS
    }
}

fn place(pointer: Pointer) -> [u8; PLACE_BYTES] {
    let place = u128::from(pointer.file) | u128::from(pointer.offset) << 64;
    place.to_le_bytes()
}

/// The value in a frame, if it is the one that is wanted.
fn value_of(frame: Pinned, wanted: Wanted<'_>) -> Option<Pinned> {
    let (found, record) = frame.split_at_checked(PLACE_BYTES)?;
    let value = (found == place(wanted.pointer)).then(|| wanted.value_unchecked(record))??;
    Some(frame.into_part(PLACE_BYTES + value.start, value.len()))
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::vlog::record;

    fn wanted(key: &[u8], offset: u64, len: u32) -> Wanted<'_> {
        let pointer = Pointer {
            file: 7,
            offset,
            len,
        };
        Wanted {
            keyspace: 1,
            key,
            pointer,
        }
    }

    fn keep(kept: &KeptValues, offset: u64, value: &[u8]) -> Option<Pinned> {
        let mut bytes = Vec::new();
        record::encode((1, b"key", value), (7, offset), &mut bytes);
        kept.keep(wanted(b"key", offset, value.len() as u32), &bytes)
    }

    #[test]
    fn a_kept_value_is_found_by_what_it_is_alone() {
        let kept = KeptValues::new(&Arc::new(BlockCache::new(1 << 20).unwrap()));
        assert!(kept.get(wanted(b"key", 100, 5)).is_none());
        assert_eq!(&*keep(&kept, 100, b"value").unwrap(), b"value");
        assert_eq!(&*kept.get(wanted(b"key", 100, 5)).unwrap(), b"value");
        for other in [
            wanted(b"kez", 100, 5),
            wanted(b"key", 101, 5),
            wanted(b"key", 100, 4),
            Wanted {
                keyspace: 2,
                ..wanted(b"key", 100, 5)
            },
        ] {
            assert!(kept.get(other).is_none(), "{other:?}");
        }
    }

    /// In a small cache values compete for frames and slots; each that is found is the right one.
    #[test]
    fn competing_values_are_missed_and_never_mistaken() {
        let kept = KeptValues::new(&Arc::new(BlockCache::new(64 << 10).unwrap()));
        let mut found = 0;
        for round in 0..3 {
            for n in 0..1_000u64 {
                let value = [n as u8; 200];
                match kept.get(wanted(b"key", n << 10, 200)) {
                    Some(known) => {
                        assert_eq!(&*known, value);
                        found += u32::from(round > 0);
                    }
                    None => drop(keep(&kept, n << 10, &value)),
                }
                let last = kept.get(wanted(b"key", n << 10, 200));
                assert!(last.is_none_or(|last| *last == value));
            }
        }
        println!("{found} of 2000 found again");
        assert!(found > 0);
        assert!(keep(&kept, 5, &[0; 4_000]).is_none(), "it is too large");
        let none = KeptValues::none().unwrap();
        assert!(keep(&none, 5, b"value").is_none());
    }
}
