//! Fence keys: what a block knows of the last key in front of it and of the first one behind it.
//!
//! As in a B-tree whose pages have the separators at both of their ends (Graefe, Write-Optimized B-Trees, VLDB 2004), a block shows
//! that a key between it and a neighbour is in neither, and no wrong index can hide that. Each fence is the start of the neighbour's
//! key up to where that differs from the block's own key, and two bytes: one of any two neighbours tells of each key between them, and
//! both of most.

use super::BlockView;
use crate::table::form::bits::word;
use rhumb_index::search::{common_prefix, first_eight};

/// The bytes of the fence keys, which end a block.
pub(super) const FENCE_KEY_BYTES: usize = 8;

/// The start of a neighbour's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table) struct Fence {
    /// How many bytes it has in common with the own key.
    shared: u16,
    /// The next two bytes as a number, zeros behind its end.
    next: u16,
}

impl Fence {
    /// Nothing is known: `shared` is more than any fence that is known shares.
    pub const UNKNOWN: Fence = Fence {
        shared: u16::MAX,
        next: 0,
    };

    /// The start of `other` up to where it differs from `own`; not known if the two bytes there are alike, as those of equal keys
    /// are, or so many bytes are shared that `shared` has no room for them.
    pub fn between(own: &[u8], other: &[u8]) -> Fence {
        let shared = common_prefix(own, other);
        let next = two_bytes(other, shared);
        match u16::try_from(shared) {
            Ok(short) if short != u16::MAX && next != two_bytes(own, shared) => Fence {
                shared: short,
                next,
            },
            _ => Fence::UNKNOWN,
        }
    }

    /// Whether it is known.
    pub fn is_known(self) -> bool {
        self.shared != u16::MAX
    }

    fn encode(self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.shared.to_le_bytes());
        into.extend_from_slice(&self.next.to_le_bytes());
    }
}

impl Default for Fence {
    fn default() -> Self {
        Fence::UNKNOWN
    }
}

/// Two bytes of a key as a number, zeros behind its end.
#[inline]
fn two_bytes(key: &[u8], at: usize) -> u16 {
    (first_eight(key.get(at..).unwrap_or_default()) >> 48) as u16
}

/// The low and the high fence of a block with these first and last keys. `before` is the last key in front of it, `behind` the
/// first one behind it, if they are there and known.
pub(super) fn encode_fence_keys(
    (first, last): (&[u8], &[u8]),
    (before, behind): (Option<&[u8]>, Option<&[u8]>),
    into: &mut Vec<u8>,
) {
    for (own, other) in [(first, before), (last, behind)] {
        let fence = other.map_or(Fence::UNKNOWN, |other| Fence::between(own, other));
        fence.encode(into);
    }
}

impl BlockView<'_> {
    /// The low and the high fence.
    pub fn fences(&self) -> [Fence; 2] {
        if !self.layout.has_fence_keys {
            return [Fence::UNKNOWN; 2];
        }
        let at = self.raw.len().saturating_sub(FENCE_KEY_BYTES);
        [at, at + 4].map(|at| {
            let [shared, next] = [at, at + 2].map(|at| u16::from_le_bytes(word(self.raw, at)));
            Fence { shared, next }
        })
    }

    /// Whether all keys in front of the block are known to be below `key`.
    pub fn starts_below(&self, key: &[u8]) -> bool {
        let [low, _] = self.fences();
        let shared = usize::from(low.shared);
        low.is_known() && two_bytes(key, shared) > low.next && self.common_with(0, key) >= shared
    }

    /// Whether all keys behind the block are known to be above `key`.
    pub fn ends_above(&self, key: &[u8]) -> bool {
        let [_, high] = self.fences();
        let (shared, last) = (usize::from(high.shared), self.count().saturating_sub(1));
        high.is_known()
            && two_bytes(key, shared) < high.next
            && self.common_with(last, key) >= shared
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BlockBuilder, BlockLayout, NewEntry};
    use super::*;
    use crate::entry::EntryKind;
    use crate::test_seed::test_seed;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// A block of these keys, which come between others.
    fn block(keys: &[Vec<u8>], before: Option<&[u8]>, behind: Option<&[u8]>) -> Vec<u8> {
        let (mut builder, mut raw) = (BlockBuilder::default(), Vec::new());
        for key in keys {
            builder.push_within(
                &NewEntry {
                    key,
                    sequence: 1,
                    kind: EntryKind::Put,
                    value: b"value",
                    new_key: true,
                },
                usize::MAX,
            );
        }
        builder.encode(before, behind, &mut raw);
        raw
    }

    /// Ascending keys of one length or several, many of which are prefixes of others or differ in a late byte.
    fn keys(rng: &mut StdRng) -> Vec<Vec<u8>> {
        let (fixed, letters) = (rng.random_bool(0.3), rng.random_range(2..5));
        let mut keys: Vec<Vec<u8>> = (0..60)
            .map(|_| {
                let length = if fixed { 7 } else { rng.random_range(0..9) };
                let letter = |_| [0, 1, b'a', 0xff][rng.random_range(0..letters).min(3)];
                (0..length).map(letter).collect()
            })
            .collect();
        keys.sort();
        keys.dedup();
        keys
    }

    #[test]
    fn fence_keys_tell_what_is_in_other_blocks() {
        let mut rng = StdRng::seed_from_u64(test_seed());
        let mut told = [0; 2];
        for _ in 0..2_000 {
            let keys = keys(&mut rng);
            let start = rng.random_range(0..keys.len());
            let end = rng.random_range(start + 1..=keys.len());
            let (before, rest) = keys.split_at(start);
            let (own, behind) = rest.split_at(end - start);
            let (last, next) = (before.last(), behind.first());
            let raw = block(own, last.map(|key| &key[..]), next.map(|key| &key[..]));
            let layout = BlockLayout::parse(&raw).unwrap();
            layout.check(&raw).unwrap();
            let view = BlockView::new(&raw, &layout);
            let [low, high] = view.fences();
            assert!(!low.is_known() || last.is_some());
            assert!(!high.is_known() || next.is_some());
            for probe in self::keys(&mut rng).iter().chain(&keys) {
                if view.starts_below(probe) {
                    assert!(last < Some(probe), "{probe:?} in {keys:?}");
                    told[0] += 1;
                }
                if view.ends_above(probe) {
                    assert!(
                        next.is_none_or(|next| next > probe),
                        "{probe:?} in {keys:?}"
                    );
                    told[1] += 1;
                }
            }
            // What is between two blocks is told by one of the two.
            if let Some(next) = next {
                let other = block(behind, own.last().map(|key| &key[..]), None);
                let layout = BlockLayout::parse(&other).unwrap();
                let other = BlockView::new(&other, &layout);
                let between = self::keys(&mut rng);
                for probe in between
                    .iter()
                    .filter(|k| *k > &own[own.len() - 1] && *k < next)
                {
                    assert!(
                        !high.is_known() || view.ends_above(probe) || other.starts_below(probe),
                        "{probe:?}"
                    );
                }
            }
        }
        println!("told {told:?}");
        assert!(told.iter().all(|told| *told > 1_000));
    }

    #[test]
    fn fence_keys_are_laid_out_as_documented() {
        let keys = [b"ba".to_vec(), b"bbc".to_vec()];
        let raw = block(&keys, Some(b"ax"), Some(b"bd"));
        assert_eq!(raw[raw.len() - 8..], [0, 0, b'x', b'a', 1, 0, 0, b'd']);
        let goes_on = block(&keys, Some(b"ba"), Some(b"bbc\0"));
        let unknown = [0xff, 0xff, 0, 0];
        assert_eq!(goes_on[raw.len() - 8..], [unknown, unknown].concat());
        // `shared` has no room for more.
        for (common, is_known) in [(65_533, true), (65_534, true), (65_535, false)] {
            let [own, other] = [b'a', b'b'].map(|last| [vec![7; common], vec![last]].concat());
            assert_eq!(Fence::between(&own, &other).is_known(), is_known);
        }
    }
}
