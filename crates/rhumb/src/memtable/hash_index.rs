//! A hash index: by the hash of a key a get finds the newest version of the key, or that there is none, without a
//! search of the tree.
//!
//! A bucket is one cache line with room for twelve keys: for each a tag, which is a byte of its hash, and the address of
//! its newest version. It is filled from the front; behind a bucket that is full the next ones go on, a few of them.
//! Where these are full too, the index does not know.
//!
//! One thread at a time adds versions, and any number read without waiting. No key is removed, and a newer version takes the
//! place of an older one. So a reader sees the newest version of those that were added before it synchronised with the
//! writer, as by the sequence of a write, or one that is newer.

use rhumb_index::search::prefetch;

use crate::memory::Address;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const SLOTS: usize = 12;

/// Keys a bucket when as many came as the index was made for: one in nine buckets is full then.
const KEYS: u64 = 8;

/// A key lies in one of so many buckets, or nowhere.
const MOST_BUCKETS: usize = 8;

/// The lower seven bits of each byte.
const SEVEN_BITS: u128 = u128::from_ne_bytes([0x7f; 16]);

/// See the [module](self).
pub(super) struct HashIndex {
    buckets: Box<[Bucket]>,
}

/// A key's address is stored before its tag, so who sees the tag sees the address.
#[derive(Default)]
#[repr(C, align(64))]
struct Bucket {
    /// Slot by slot, from the lowest byte of the first word on; 0 in slots that are free.
    tags: [AtomicU64; 2],
    addresses: [AtomicU32; SLOTS],
}

/// What the index knows of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<R> {
    /// Its newest version.
    Newest(R),
    /// There is no entry with this key.
    Nothing,
    /// There was no room.
    Unknown,
}

/// How the version at an address stands to one that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Older,
    Newer,
    OtherKey,
}

/// The tag of a hash, whose upper bits choose the bucket; never 0.
#[inline]
fn tag(hash: u64) -> u8 {
    (hash as u8).max(1)
}

/// The slots with a tag.
#[inline]
fn slots_with(tag: u8, tags: u128) -> impl Iterator<Item = usize> {
    let differences = tags ^ u128::from_ne_bytes([tag; 16]);
    // The upper bit of each byte that is 0.
    let mut rest = !(((differences & SEVEN_BITS) + SEVEN_BITS) | differences | SEVEN_BITS);
    std::iter::from_fn(move || {
        let slot = (rest != 0).then(|| rest.trailing_zeros() as usize / 8);
        rest &= rest.wrapping_sub(1);
        slot
    })
}

impl Bucket {
    #[inline]
    fn tags(&self) -> u128 {
        let [low, high] = &self.tags;
        let low = low.load(Ordering::Acquire);
        u128::from(low) | u128::from(high.load(Ordering::Acquire)) << 64
    }

    #[inline]
    fn slot(&self, slot: usize) -> &AtomicU32 {
        &self.addresses[slot % SLOTS]
    }

    #[inline]
    fn address(&self, slot: usize) -> Address {
        Address(self.slot(slot).load(Ordering::Acquire))
    }

    fn set_address(&self, slot: usize, address: Address) {
        self.slot(slot).store(address.0, Ordering::Release);
    }

    /// Fills the first free slot, if there is one. `tags` are those of the bucket.
    fn push(&self, tags: u128, tag: u8, address: Address) -> bool {
        if is_full(tags) {
            return false;
        }
        let used = (u128::BITS - tags.leading_zeros()).div_ceil(8) as usize;
        self.set_address(used, address);
        let word = &self.tags[used / 8 % 2];
        let tags = word.load(Ordering::Relaxed) | u64::from(tag) << (used % 8 * 8);
        word.store(tags, Ordering::Release);
        true
    }
}

/// Whether a bucket with these tags is full.
#[inline]
fn is_full(tags: u128) -> bool {
    tags >> ((SLOTS - 1) * 8) != 0
}

impl HashIndex {
    /// An empty index for so many keys; `None` if there is no memory for it.
    pub fn new(keys: u64) -> Option<HashIndex> {
        let count = usize::try_from(keys.div_ceil(KEYS)).ok()?;
        let mut buckets = Vec::new();
        buckets.try_reserve_exact(count).ok()?;
        buckets.extend((0..count).map(|_| Bucket::default()));
        let buckets = buckets.into();
        Some(HashIndex { buckets })
    }

    #[inline]
    fn first(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
    }

    /// The buckets in which a key may lie.
    #[inline]
    fn buckets_of(&self, hash: u64) -> impl Iterator<Item = &Bucket> {
        let (front, back) = self.buckets.split_at(self.first(hash));
        back.iter().chain(front).take(MOST_BUCKETS)
    }

    /// The newest version of a key. `read` gets addresses of versions of it, and seldom of another key, and returns what
    /// is wanted of them, or `None` of another key.
    #[inline]
    pub fn find<R>(&self, hash: u64, read: impl Fn(Address) -> Option<R>) -> Found<R> {
        let tag = tag(hash);
        for bucket in self.buckets_of(hash) {
            let tags = bucket.tags();
            for slot in slots_with(tag, tags) {
                if let Some(newest) = read(bucket.address(slot)) {
                    return Found::Newest(newest);
                }
            }
            if !is_full(tags) {
                return Found::Nothing;
            }
        }
        Found::Unknown
    }

    /// Adds the version at an address. `known` says how the one at another stands to it.
    pub fn add(&self, hash: u64, address: Address, known: impl Fn(Address) -> Known) {
        let tag = tag(hash);
        for bucket in self.buckets_of(hash) {
            let tags = bucket.tags();
            for slot in slots_with(tag, tags) {
                match known(bucket.address(slot)) {
                    Known::Older => return bucket.set_address(slot, address),
                    Known::Newer => return,
                    Known::OtherKey => {}
                }
            }
            if bucket.push(tags, tag, address) {
                return;
            }
        }
    }

    /// Prefetches what [`HashIndex::find`] and [`HashIndex::add`] mostly read.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let first = self.first(hash);
        prefetch(&self.buckets, first..first + 1);
    }

    /// The memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    /// Records are known by their addresses: the upper half of an address is its key, the lower half its age.
    fn find(index: &HashIndex, hash: u64, key: u32) -> Found<u32> {
        index.find(hash, |address| {
            (address.0 >> 16 == key).then_some(address.0 & 0xffff)
        })
    }

    fn add(index: &HashIndex, hash: u64, key: u32, age: u32) {
        let new = Address(key << 16 | age);
        index.add(hash, new, |other| match other.0 >> 16 == key {
            true if other.0 < new.0 => Known::Older,
            true => Known::Newer,
            false => Known::OtherKey,
        });
    }

    #[test]
    fn keys_with_one_hash_are_told_apart_as_far_as_there_is_room() {
        let room = (SLOTS * MOST_BUCKETS) as u32;
        // From the first bucket, and from the last one on round to the first.
        for hash in [0, u64::MAX] {
            let index = HashIndex::new(100 * KEYS).unwrap();
            assert_eq!(find(&index, hash, 0), Found::Nothing);
            for key in 0..room {
                assert_eq!(find(&index, hash, key), Found::Nothing);
                add(&index, hash, key, 2);
                add(&index, hash, key, 1);
                add(&index, hash, key, 3);
            }
            add(&index, hash, room, 4);
            assert!((0..room).all(|key| find(&index, hash, key) == Found::Newest(3)));
            assert_eq!(find(&index, hash, room), Found::Unknown);
            add(&index, hash, 0, 5);
            assert_eq!(find(&index, hash, 0), Found::Newest(5));
        }
    }

    #[test]
    fn an_index_without_room_knows_nothing() {
        let index = HashIndex::new(0).unwrap();
        add(&index, 7, 1, 1);
        index.prefetch(7);
        assert_eq!(find(&index, 7, 1), Found::Unknown);
        assert_eq!(index.bytes(), 0);
    }
}
