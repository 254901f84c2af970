//! Longer keys: something before those of a set.

use super::{Random, Strings};

/// What stands before keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefixes {
    /// Bytes of each prefix.
    pub bytes: usize,
    /// The number of different prefixes.
    pub count: u32,
}

impl Prefixes {
    /// Ascending keys, each behind a random one of the prefixes, which are lower-case letters; ascending again.
    pub fn before(&self, keys: &Strings, seed: u64) -> Strings {
        let mut random = Random::new(seed, 0x9e7f);
        let mut prefix = || -> Vec<u8> {
            let letters = (0..self.bytes).map(|_| b'a' + random.below(26) as u8);
            letters.collect()
        };
        let mut prefixes: Vec<Vec<u8>> = (0..self.count.max(1)).map(|_| prefix()).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let count = prefixes.len() as u64;
        let mut places: Vec<(u32, u32)> = (0..keys.len() as u32)
            .map(|rank| (random.below(count) as u32, rank))
            .collect();
        places.sort_unstable();
        let (mut longer, mut key) = (Strings::default(), Vec::new());
        for (prefix, rank) in places {
            key.clone_from(&prefixes[prefix as usize]);
            key.extend_from_slice(keys.get(rank as usize));
            longer.push(&key);
        }
        longer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_distinct_and_have_their_sizes() {
        let keys = Strings::of_numbers((0..5_000).map(|n| n * 977));
        for (bytes, count) in [(8, 1), (56, 1), (8, 100), (120, 100)] {
            let longer = Prefixes { bytes, count }.before(&keys, 7);
            let longer: Vec<&[u8]> = longer.iter().collect();
            assert!(longer.is_sorted_by(|one, other| one < other));
            assert_eq!(longer.len(), keys.len());
            assert!(longer.iter().all(|key| key.len() == bytes + 8));
            let mut prefixes: Vec<&[u8]> = longer.iter().map(|key| &key[..bytes]).collect();
            prefixes.dedup();
            assert_eq!(prefixes.len(), count as usize);
        }
    }
}
