//! Collects the alphabets of keys, or of existing maps, for a [`KeyMap`].

use super::alphabet::{Alphabet, ByteSet};
use super::{Digit, KeyMap, MAX_DEPTH, MAX_PRODUCT, Method};

/// Collects keys, in any order, and makes the [`KeyMap`] of exactly these keys.
///
/// Holds one set of 32 bytes for each position, up to the position where the product of the radices
/// would exceed 2^64. A key that adds nothing new costs one bit test for each position.
///
/// ```
/// let mut builder = rhumb_index::KeyMapBuilder::new();
/// for key in ["user-0000", "user-0007", "user-0042", "user-9999"] {
///     builder.push(key.as_bytes());
/// }
/// let map = builder.build();
/// assert_eq!(map.number(b"user-0000"), 0);
/// assert!(map.number(b"user-0041") <= map.number(b"user-0042"));
/// assert!(map.number(b"user-0042") < map.number(b"user-9999"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct KeyMapBuilder {
    sets: Vec<ByteSet>,
    /// Length of the shortest key, `None` before the first. From this position on END is a symbol,
    /// so it needs no bit of its own.
    shortest: Option<usize>,
    /// Whether `sets` ends because the product would overflow. From then on it can only get
    /// shorter.
    truncated: bool,
}

impl KeyMapBuilder {
    /// A builder that has seen no key.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key. Keys may be added in any order and may repeat.
    pub fn push(&mut self, key: &[u8]) {
        let mut new = false;
        for (set, &byte) in self.sets.iter_mut().zip(key) {
            new |= set.insert(byte);
        }
        if !self.truncated && key.len() > self.sets.len() {
            let more = key
                .get(self.sets.len()..key.len().min(MAX_DEPTH))
                .unwrap_or_default();
            self.sets.extend(more.iter().map(|&byte| ByteSet::of(byte)));
            self.truncated = key.len() > MAX_DEPTH;
            new = true;
        }
        if self.see_length(key.len()) || new {
            self.stop_at_overflow();
        }
    }

    /// Adds all keys of an existing map: the result is the map of both key sets together.
    ///
    /// A map that stopped early has no data on later positions, and none is needed. It stopped
    /// where its product would have overflowed. The union's alphabets contain that map's alphabet
    /// at each position, so the union's product overflows there or earlier.
    pub fn absorb(&mut self, map: &KeyMap) {
        if map.empty {
            return;
        }
        for (position, set) in map.sets().enumerate() {
            match self.sets.get_mut(position) {
                Some(own) => own.unite(&set),
                None if self.truncated => break,
                None => self.sets.push(set),
            }
        }
        if map.truncated {
            self.sets.truncate(map.depth());
            self.truncated = true;
        }
        self.see_length(map.shortest as usize);
        self.stop_at_overflow();
    }

    /// Makes the map of all keys added so far.
    pub fn build(&self) -> KeyMap {
        let depth = self.sets.len();
        let shortest = self.shortest.unwrap_or(depth).min(depth);
        let mut map = KeyMap {
            alphabets: Vec::new(),
            digits: Vec::new(),
            literals: Vec::new(),
            product: 1,
            shortest: shortest as u32,
            truncated: self.truncated,
            empty: self.shortest.is_none(),
            method: Method::Digits,
        };
        for (position, set) in self.sets.iter().enumerate() {
            let ends = position >= shortest;
            match Alphabet::new(*set) {
                Some(Alphabet::Range { lo, hi }) if lo == hi && !ends => map.literals.push(lo),
                Some(alphabet) => {
                    let alphabet = intern(&mut map.alphabets, alphabet);
                    map.digits.push(Digit::new(position as u32, alphabet));
                }
                // Unreachable: every tracked position was reached by some key's byte.
                None => break,
            }
        }
        map.prepare();
        map
    }

    /// Notes a key's length; returns whether it is the shortest so far.
    fn see_length(&mut self, len: usize) -> bool {
        let new = self.shortest.is_none_or(|shortest| len < shortest);
        if new {
            self.shortest = Some(len);
        }
        new
    }

    /// Drops the first position whose radix pushes the product above the limit, and all after.
    fn stop_at_overflow(&mut self) {
        let shortest = self.shortest.unwrap_or(usize::MAX);
        let mut product = 1u128;
        let overflow = self.sets.iter().enumerate().position(|(position, set)| {
            product *= u128::from(set.len() + u32::from(position >= shortest));
            product > MAX_PRODUCT
        });
        if let Some(position) = overflow {
            self.sets.truncate(position);
            self.truncated = true;
        }
    }
}

/// The map of all keys of an iterator.
///
/// ```
/// let map: rhumb_index::KeyMap = ["user-0000", "user-9999"].into_iter().collect();
/// assert!(map.number(b"user-0000") < map.number(b"user-9999"));
/// ```
impl<K: AsRef<[u8]>> FromIterator<K> for KeyMap {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut builder = KeyMapBuilder::new();
        keys.into_iter().for_each(|key| builder.push(key.as_ref()));
        builder.build()
    }
}

/// The index of an alphabet in the list, which keeps identical ones once. At most 64 positions are
/// digits, so a linear search is quick.
fn intern(alphabets: &mut Vec<Alphabet>, alphabet: Alphabet) -> u8 {
    let place = alphabets.iter().position(|known| *known == alphabet);
    place.unwrap_or_else(|| {
        alphabets.push(alphabet);
        alphabets.len() - 1
    }) as u8
}
