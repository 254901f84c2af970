//! A Bloom filter that grows while it is read: writers add keys, and nothing is ever removed.
//!
//! The bits of a key lie in one word, so a key costs one cache line, and a reader takes no lock.

use std::fmt;

use rhumb_index::search::prefetch;

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;

/// The bits that a key sets.
const PROBES: u32 = 5;

/// With so many keys a word, this share of others is wrongly taken to be there; it grows with the cube of the keys (expected
/// over a Poisson distribution, within a tenth from 2 to 10 keys).
const WORD_KEYS: f64 = 6.4;
const FALSE_SHARE: f64 = 0.0171;

/// See the [module](self).
///
/// A reader sees the keys that were added before it synchronised with their writer, as by the sequence of a write.
pub(crate) struct KeyFilter {
    words: Box<[AtomicU64]>,
}

impl KeyFilter {
    /// An empty filter for so many keys; `None` if there is no memory for it.
    pub fn new(keys: u64, bits_per_key: u32) -> Option<KeyFilter> {
        let words = keys.saturating_mul(bits_per_key.into()) / u64::from(u64::BITS);
        let count = usize::try_from(words).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.extend((0..count).map(|_| AtomicU64::new(0)));
        let words = words.into();
        Some(KeyFilter { words })
    }

    /// The word of a key, and its bits in it.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let word = (u128::from(hash) * self.words.len() as u128) >> 64;
        // The upper bits of the product depend on all bits of the hash.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = (0..PROBES).map(|i| 1 << ((mixed >> (58 - 6 * i)) & 63));
        (word as usize, bits.fold(0, |all, bit| all | bit))
    }

    /// Adds the key of a hash. Returns whether it set a bit: if not, the key was probably there.
    pub fn add(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        let word = self.words.get(word);
        word.is_some_and(|word| {
            word.load(Relaxed) & bits != bits && word.fetch_or(bits, Relaxed) & bits != bits
        })
    }

    /// Whether the key of a hash may be there.
    #[inline]
    pub fn has(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        let word = self.words.get(word);
        word.is_none_or(|word| word.load(Relaxed) & bits == bits)
    }

    /// Prefetches what [`KeyFilter::has`] reads.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let (word, _) = self.place(hash);
        prefetch(&self.words, word..word + 1);
    }

    /// With so many keys, about this share of others is wrongly taken to be there.
    pub fn keys_at(&self, share: f64) -> u64 {
        let words = self.words.len() as f64;
        (words * WORD_KEYS * (share / FALSE_SHARE).cbrt()) as u64
    }

    /// About the share of others that is wrongly taken to be there among so many keys.
    pub fn wrong_share(&self, keys: u64) -> f64 {
        let word_keys = keys as f64 / self.words.len() as f64;
        FALSE_SHARE * (word_keys / WORD_KEYS).powi(3)
    }

    /// The memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

impl fmt::Debug for KeyFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyFilter of {} bytes", self.bytes())
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::entry::hash_key;

    #[test]
    fn it_has_what_was_added_and_as_little_else_as_it_says() {
        let hash = |n: u64| hash_key(&n.to_be_bytes());
        let filter = KeyFilter::new(20_000, 10).unwrap();
        let mut added = 0;
        for share in [0.001, 0.01, 0.03] {
            let most = filter.keys_at(share);
            assert!((filter.wrong_share(most) / share - 1.0).abs() < 0.01);
            while added < most {
                filter.add(hash(added));
                added += 1;
            }
            let others = 1 << 40..(1 << 40) + 100_000;
            let wrong = others.filter(|n| filter.has(hash(*n))).count() as f64 / 100_000.0;
            assert!(
                (0.7 * share..1.3 * share).contains(&wrong),
                "{wrong}: {share}"
            );
        }
        assert!((0..added).all(|n| filter.has(hash(n)) && !filter.add(hash(n))));
    }

    #[test]
    fn a_filter_without_room_has_everything() {
        let filter = KeyFilter::new(0, 10).unwrap();
        assert!(!filter.add(7) && filter.has(7) && filter.bytes() == 0);
        filter.prefetch(7);
    }
}
