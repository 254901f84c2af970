//! The keys of a node: the heads of eight bytes in one array, so that SIMD can count them, and the
//! rest of the keys in another.

use std::cmp::Ordering;
use std::fmt::Debug;

use super::level_out;
use crate::search::{Count, Counting, common_prefix, counting, first_eight, first_not};
use crate::updatable::Key;

/// The head of unused places: no head is above it.
const PAD: u64 = u64::MAX;

/// Keys that nodes can store.
pub(crate) trait Stored: Key + Debug + 'static {
    /// The part of the key stored beside the head.
    type Rest: Debug + Default + Send + Sync;
    /// The length of the prefix that all keys of a node share, which heads leave out.
    type Skip: Copy + Debug + Default + Ord + Send + Sync;

    /// A number that never decreases as the key grows, among keys that share the skipped prefix.
    fn head(&self, skip: Self::Skip) -> u64;

    /// The part of the key stored beside the head.
    fn rest(&self) -> Self::Rest;

    /// The whole key.
    fn whole<'a>(head: &'a u64, rest: &'a Self::Rest) -> &'a Self;

    /// Compares a stored key with one of equal head.
    fn compare(rest: &Self::Rest, key: &Self) -> Ordering;

    /// Whether a place with the head [`PAD`] and this rest is unused; false if only the number of
    /// keys can tell.
    fn is_pad(rest: &Self::Rest) -> bool;

    /// The prefix that all keys from `from` to `to` share.
    fn shared(from: &Self, to: &Self) -> Self::Skip;

    /// A key not below `below` and below `above`, which is the greater one.
    fn between(below: &Self, above: &Self) -> Self::Owned;
}

impl Stored for u64 {
    type Rest = ();
    type Skip = ();

    #[inline(always)]
    fn head(&self, _: ()) -> u64 {
        *self
    }

    fn rest(&self) {}

    #[inline(always)]
    fn whole<'a>(head: &'a u64, _: &'a ()) -> &'a u64 {
        head
    }

    #[inline(always)]
    fn compare(_: &(), _: &u64) -> Ordering {
        Ordering::Equal
    }

    #[inline(always)]
    fn is_pad(_: &()) -> bool {
        false
    }

    fn shared(_: &u64, _: &u64) {}

    fn between(below: &u64, _: &u64) -> u64 {
        *below
    }
}

impl Stored for [u8] {
    type Rest = Box<[u8]>;
    type Skip = u32;

    #[inline(always)]
    fn head(&self, skip: u32) -> u64 {
        first_eight(self.get(skip as usize..).unwrap_or_default())
    }

    fn rest(&self) -> Box<[u8]> {
        self.into()
    }

    #[inline(always)]
    fn whole<'a>(_: &'a u64, rest: &'a Box<[u8]>) -> &'a [u8] {
        rest
    }

    #[inline(always)]
    fn compare(rest: &Box<[u8]>, key: &[u8]) -> Ordering {
        (**rest).cmp(key)
    }

    #[inline(always)]
    fn is_pad(rest: &Box<[u8]>) -> bool {
        rest.is_empty()
    }

    fn shared(from: &[u8], to: &[u8]) -> u32 {
        u32::try_from(common_prefix(from, to)).unwrap_or(u32::MAX)
    }

    /// The shortest such key if it is shorter than both, else `below`.
    fn between(below: &[u8], above: &[u8]) -> Box<[u8]> {
        match above.get(..=common_prefix(below, above)) {
            Some(cut) if cut.len() < above.len().min(below.len()) => cut.into(),
            _ => below.into(),
        }
    }
}

/// Up to `N` ascending keys. The owner knows how many; unused places hold pads.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Keys<K: Stored + ?Sized, const N: usize> {
    heads: [u64; N],
    rests: [K::Rest; N],
    skip: K::Skip,
}

impl<K: Stored + ?Sized, const N: usize> Default for Keys<K, N> {
    fn default() -> Self {
        Keys {
            heads: [PAD; N],
            rests: std::array::from_fn(|_| K::Rest::default()),
            skip: K::Skip::default(),
        }
    }
}

impl<K: Stored + ?Sized, const N: usize> Keys<K, N> {
    /// How many keys are below this one.
    #[inline]
    pub(super) fn below(&self, key: &K) -> usize {
        counting(Below { keys: self, key })
    }

    /// As [`Keys::below`], with a counting method chosen before.
    #[inline(always)]
    pub(super) fn below_by<C: Count>(&self, count: C, key: &K) -> usize {
        let head = key.head(self.skip);
        // No head is above that of pads.
        let first = count.below(&self.heads, head);
        if size_of::<K::Rest>() == 0 {
            return first;
        }
        self.below_alike(first, head, key)
    }

    /// As [`Keys::below`], given the first place with a head not below the key's.
    #[inline]
    fn below_alike(&self, first: usize, head: u64, key: &K) -> usize {
        first_not(first..N, |at| {
            self.heads[at] == head
                && !(head == PAD && K::is_pad(&self.rests[at]))
                && K::compare(&self.rests[at], key).is_lt()
        })
    }

    /// Whether this place, which may be past the last key, holds this key or a pad that looks like
    /// it.
    #[inline(always)]
    pub(super) fn looks_like(&self, at: usize, key: &K) -> bool {
        match (self.heads.get(at), self.rests.get(at)) {
            (Some(head), Some(rest)) => {
                *head == key.head(self.skip) && K::compare(rest, key).is_eq()
            }
            _ => false,
        }
    }

    /// Whether pads can look like this key.
    #[inline(always)]
    pub(super) fn is_like_pads(&self, key: &K) -> bool {
        key.head(self.skip) == PAD
    }

    /// The key in a used place.
    #[inline(always)]
    pub(super) fn key(&self, at: usize) -> &K {
        K::whole(&self.heads[at], &self.rests[at])
    }

    /// Whether a place is unused, or holds the largest possible key.
    pub(super) fn is_pad(&self, at: usize) -> bool {
        self.heads[at] == PAD && (size_of::<K::Rest>() == 0 || K::is_pad(&self.rests[at]))
    }

    /// Stores a key, or a pad for `None`, in a place.
    pub(super) fn set(&mut self, at: usize, key: Option<&K>) {
        self.heads[at] = key.map_or(PAD, |key| key.head(self.skip));
        self.rests[at] = key.map_or_else(K::Rest::default, K::rest);
    }

    /// Inserts a key, or a pad for `None`, at a place; `len` places are used, fewer than `N`.
    pub(super) fn insert(&mut self, at: usize, len: usize, key: Option<&K>) {
        self.heads.copy_within(at..len, at + 1);
        self.rests[at..=len].rotate_right(1);
        self.set(at, key);
    }

    /// Removes the key at a place; `len` places are used.
    pub(super) fn remove(&mut self, at: usize, len: usize) {
        self.heads.copy_within(at + 1..len, at);
        self.rests[at..len].rotate_left(1);
        self.set(len - 1, None);
    }

    /// Moves keys between this node and its right neighbour until this one has `left_len`; see
    /// [`level_out`].
    pub(super) fn level_out(&mut self, lens: [usize; 2], right: &mut Self, left_len: usize) {
        // Each side shares its prefix with the bound between them, so both share the shorter one.
        let skip = self.skip.min(right.skip);
        self.skip_to(skip, lens[0]);
        right.skip_to(skip, lens[1]);
        level_out(&mut self.heads, &mut right.heads, lens, left_len);
        level_out(&mut self.rests, &mut right.rests, lens, left_len);
    }

    /// Bytes that the keys own on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        (0..N).map(|at| self.key(at).heap_bytes()).sum()
    }

    /// The prefix length that heads leave out.
    pub(super) fn skip(&self) -> K::Skip {
        self.skip
    }

    /// Makes heads leave out at least `skip` bytes, which all keys that may be stored here must
    /// share.
    pub(super) fn skip_more(&mut self, skip: K::Skip, len: usize) {
        self.skip_to(self.skip.max(skip), len);
    }

    /// Makes heads leave out at most `skip` bytes, because other keys may be stored here from now
    /// on.
    pub(super) fn skip_less(&mut self, skip: K::Skip, len: usize) {
        self.skip_to(self.skip.min(skip), len);
    }

    fn skip_to(&mut self, skip: K::Skip, len: usize) {
        if self.skip != skip {
            self.skip = skip;
            for at in 0..len {
                if !self.is_pad(at) {
                    self.heads[at] = self.key(at).head(skip);
                }
            }
        }
    }
}

/// A search in a node.
struct Below<'a, K: Stored + ?Sized, const N: usize> {
    keys: &'a Keys<K, N>,
    key: &'a K,
}

impl<K: Stored + ?Sized, const N: usize> Counting for Below<'_, K, N> {
    type Answer = usize;

    #[inline(always)]
    fn by<C: Count>(self, count: C) -> usize {
        self.keys.below_by(count, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    fn random_text(random: &mut SplitMix64) -> Vec<u8> {
        let len = random.below(14) as usize;
        let symbols = [0, 1, 254, 255];
        let text = random.bytes(len, 4);
        text.iter()
            .map(|&symbol| symbols[symbol as usize % 4])
            .collect()
    }

    #[test]
    fn keys_with_equal_heads_and_pads_are_ordered() {
        let mut random = SplitMix64::new(5);
        for round in 0..20_000 {
            let prefix = vec![7; round % 3];
            let text = |random: &mut SplitMix64| [prefix.clone(), random_text(random)].concat();
            let mut texts: Vec<Vec<u8>> =
                (0..random.below(17)).map(|_| text(&mut random)).collect();
            texts.sort();
            texts.dedup();
            let mut keys = Keys::<[u8], 16>::default();
            keys.skip_more(prefix.len() as u32, 0);
            for (at, text) in texts.iter().enumerate() {
                keys.insert(at, at, Some(text));
            }
            let probe = text(&mut random);
            let expected = texts.iter().filter(|text| **text < probe).count();
            assert_eq!(keys.below(&probe), expected, "{probe:?} in {texts:?}");
            let is_there = texts.get(expected) == Some(&probe);
            assert_eq!(keys.looks_like(expected, &probe), is_there);
        }
    }

    #[test]
    fn separators_are_between_and_short() {
        let mut random = SplitMix64::new(6);
        for _ in 0..20_000 {
            let [a, b] = [random_text(&mut random), random_text(&mut random)];
            if a < b {
                let between = <[u8]>::between(&a, &b);
                assert!(*a <= *between && *between < *b, "{a:?} {between:?} {b:?}");
                assert!(between.len() <= a.len());
            }
        }
        let short = <[u8]>::between(b"/usr/lib/aaaaaaaaa", b"/usr/lib/bbbbbbbbb");
        assert_eq!(*short, *b"/usr/lib/b");
    }
}
