//! A blocked Bloom filter, in which all bits of a key lie in one cache line.
//!
//! F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", section 3.

use std::array;

use rhumb_index::search::prefetch;

use super::bits::word;
use super::damage::Damage;

const TYPE_BLOCKED_BLOOM: u8 = 1;
const HASH_XXH3_64: u8 = 1;
const WHOLE_KEY: u8 = 1;
const HEADER_BYTES: usize = 8;
const BLOCK_BYTES: usize = 64;
const BLOCK_WORDS: usize = BLOCK_BYTES / size_of::<u64>();
const MAX_PROBES: u8 = 32;

/// For all filters; computed once a get.
pub(crate) use crate::entry::hash_key;

/// The bits of a key within its block.
#[inline]
fn bits(hash: u64, probes: u8) -> impl Iterator<Item = usize> {
    let g = hash as u32;
    let step = g.rotate_left(15) | 1;
    (0..u32::from(probes)).map(move |i| (g.wrapping_add(i.wrapping_mul(step)) >> 23) as usize)
}

/// The number of the block of a key.
#[inline]
fn block_of(hash: u64, blocks: u32) -> usize {
    (((hash >> 32) * u64::from(blocks)) >> 32) as usize
}

/// One filter block, aligned to a cache line: in words, of which a bit is tested by one instruction.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([u64; BLOCK_WORDS]);

impl Line {
    fn of(bytes: &[u8; BLOCK_BYTES]) -> Line {
        Line(array::from_fn(|at| {
            u64::from_le_bytes(word(bytes, at * size_of::<u64>()))
        }))
    }

    /// Whether a bit is set, of `BLOCK_BYTES` times eight.
    #[inline]
    fn has(&self, bit: usize) -> bool {
        const BITS: usize = u64::BITS as usize;
        (self.0[bit / BITS % BLOCK_WORDS] >> (bit % BITS)) & 1 == 1
    }
}

/// A filter in its byte form.
#[derive(Debug)]
pub(crate) struct Filter {
    lines: Box<[Line]>,
    probes: u8,
}

impl Filter {
    /// The byte form of a filter for `hashes`, with `bits_per_key` bits for each.
    pub fn encode(hashes: &[u64], bits_per_key: u32) -> Vec<u8> {
        let bits_wanted = (hashes.len() as u64).saturating_mul(u64::from(bits_per_key));
        let blocks = bits_wanted.div_ceil(8 * BLOCK_BYTES as u64);
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX).max(1);
        // One large filter would be best with ln 2 probes for each of a key's bits. Slightly fewer
        // suit small blocks better, since some of them hold more keys than others.
        let probes = (u64::from(bits_per_key) * 6 / 10).clamp(1, 12) as u8;
        let mut bytes = vec![0; HEADER_BYTES + blocks as usize * BLOCK_BYTES];
        let header = [TYPE_BLOCKED_BLOOM, HASH_XXH3_64, WHOLE_KEY, probes];
        for (to, from) in bytes
            .iter_mut()
            .zip(header.iter().chain(&blocks.to_le_bytes()))
        {
            *to = *from;
        }
        let (_, lines) = bytes.split_at_mut(HEADER_BYTES);
        let (lines, _) = lines.as_chunks_mut::<BLOCK_BYTES>();
        for &hash in hashes {
            let Some(line) = lines.get_mut(block_of(hash, blocks)) else {
                continue;
            };
            for bit in bits(hash, probes) {
                line[bit / 8 % BLOCK_BYTES] |= 1 << (bit % 8);
            }
        }
        bytes
    }

    /// Decodes a filter; `None` if its type is unknown to this build: the table is then read
    /// without it.
    ///
    /// # Errors
    /// If the bytes cannot be such a filter.
    pub fn decode(bytes: &[u8]) -> Result<Option<Filter>, Damage> {
        let [kind, hash, hashed, probes, ..] = word::<HEADER_BYTES>(bytes, 0);
        if bytes.len() < HEADER_BYTES {
            return Err(Damage::new(
                0,
                "a filter header",
                format!("{} bytes", bytes.len()),
            ));
        }
        if (kind, hash, hashed) != (TYPE_BLOCKED_BLOOM, HASH_XXH3_64, WHOLE_KEY) {
            return Ok(None);
        }
        let blocks = u32::from_le_bytes(word(bytes, 4));
        if probes == 0 || probes > MAX_PROBES {
            return Err(Damage::new(3, "1 to 32 probes a key", probes));
        }
        if (bytes.len() - HEADER_BYTES) as u64 != u64::from(blocks) * BLOCK_BYTES as u64 {
            let found = format!("{} bytes", bytes.len() - HEADER_BYTES);
            return Err(Damage::new(4, format!("{blocks} filter blocks"), found));
        }
        if blocks == 0 {
            return Err(Damage::new(4, "at least one filter block", blocks));
        }
        let (lines, _) = bytes.get(HEADER_BYTES..).unwrap_or_default().as_chunks();
        Ok(Some(Filter {
            lines: lines.iter().map(Line::of).collect(),
            probes,
        }))
    }

    /// Whether a key with this hash may be in the table; `false` means that it is not.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        let line = self.line(hash);
        line.is_none_or(|line| bits(hash, self.probes).all(|bit| line.has(bit)))
    }

    /// About the share of keys that are not in the table, and may be as [`Filter::may_contain`] says: with 0.6 probes
    /// for each of a key's bits, a probe meets a bit that others set in 1 - e^-0.6 of all cases.
    pub fn false_share(&self) -> f64 {
        0.4512_f64.powi(self.probes.into())
    }

    #[inline]
    fn line(&self, hash: u64) -> Option<&Line> {
        self.lines.get(block_of(hash, self.lines.len() as u32))
    }

    /// Prefetches the cache line with the bits of this hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        if let Some(Line(words)) = self.line(hash) {
            prefetch(words, 0..1);
        }
    }

    /// The memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        self.lines.len() * BLOCK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_and_few_others() {
        for (bits_per_key, most) in [(4, 0.25), (10, 0.02), (20, 0.002)] {
            let hash = |i: u64| hash_key(&i.to_be_bytes());
            let hashes: Vec<u64> = (0..50_000).map(hash).collect();
            let filter = Filter::encode(&hashes, bits_per_key);
            let filter = Filter::decode(&filter).unwrap().unwrap();
            assert!(hashes.iter().all(|h| filter.may_contain(*h)));
            let wrong = (50_000..150_000)
                .filter(|i| filter.may_contain(hash(*i)))
                .count();
            let rate = wrong as f64 / 100_000.0;
            assert!(rate < most, "{bits_per_key} bits: {rate}");
            assert!(rate > 0.0 || bits_per_key > 10);
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let hash = 0xC000_0000_8123_4567u64;
        let filter = Filter::encode(&[hash, hash ^ (1 << 63), 1, 2, 3, 4], 256);
        assert_eq!(filter.len(), HEADER_BYTES + 3 * 64);
        let (block, g) = ((((hash >> 32) * 3) >> 32) as usize, hash as u32);
        let d = g.rotate_left(15) | 1;
        for i in 0..12u32 {
            let bit = (g.wrapping_add(i.wrapping_mul(d)) >> 23) as usize;
            let byte = filter[8 + 64 * block + bit / 8];
            assert_eq!(byte >> (bit % 8) & 1, 1);
        }
        assert_eq!(&filter[..8], [1, 1, 1, 12, 3, 0, 0, 0]);
    }

    #[test]
    fn unknown_types_are_left_out_and_wrong_sizes_refused() {
        let good = Filter::encode(&[1, 2, 3], 10);
        let changed = |at: usize, to: u8| {
            let mut bytes = good.clone();
            bytes[at] = to;
            Filter::decode(&bytes)
        };
        assert!(changed(0, 2).unwrap().is_none());
        assert!(changed(1, 9).unwrap().is_none());
        assert!(changed(3, 0).is_err());
        assert!(changed(4, 2).is_err());
        assert!(changed(4, 0).is_err());
        assert!(Filter::decode(&good[..7]).is_err());
        assert!(Filter::decode(&good[..good.len() - 1]).is_err());
    }
}
