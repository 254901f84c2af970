//! Order-preserving maps from byte strings to numbers.

mod alphabet;
mod builder;
mod digits;
mod form;
#[cfg(target_arch = "x86_64")]
mod simd;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

pub use builder::KeyMapBuilder;

use alphabet::{Alphabet, ByteSet};
use digits::Digit;

use crate::search::first_eight;

/// Positions from this one on never count.
pub(crate) const MAX_DEPTH: usize = 65_536;

/// The largest product of radices; 16 hex digits make exactly this many numbers.
const MAX_PRODUCT: u128 = 1 << 64;

/// A monotone, not strictly monotone, map from byte strings to `u64`: mixed radix over the
/// alphabets that the stored keys have at each position.
///
/// Symbols are END < 0x00 < ... < 0xFF; a key that has ended has END at every later position.
/// Positions are taken from the left up to the first whose radix would push the product above 2^64.
///
/// To map a key, each position adds (symbols of the alphabet below the key's symbol) times the
/// product of the radices to its right. At the first symbol that is not in the alphabet the sum
/// is final. Such a symbol may lie above the whole alphabet: then the digit equals its radix and
/// carries into the position before, past every stored key that shares the prefix and no further.
///
/// A position where all keys agree has radix 1, so common prefixes, the dashes of a UUID and zero
/// padding disappear; decimal digits become decimal numbers and hex digits hexadecimal ones. If all
/// keys have 8 bytes, they are read as big-endian integers instead.
///
/// Numbers of different maps must never be compared, unless [`KeyMap::numbers_like`] holds.
///
/// The map stores the positions that count in two groups: *digits*, where stored keys differ, and
/// *literals*, where they agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    alphabets: Vec<Alphabet>,
    /// At most 64, by position.
    digits: Vec<Digit>,
    /// The bytes of all positions that are not digits, in order.
    literals: Vec<u8>,
    /// Product of all radices.
    product: u128,
    /// Length of the shortest stored key, at most the depth. From this position on END is a symbol.
    shortest: u32,
    /// Whether the positions stop because the product would overflow, not because all keys have
    /// ended.
    truncated: bool,
    /// Whether the map was made from no keys.
    empty: bool,
    /// Derived from all fields above and from the processor.
    method: Method,
}

/// How keys are numbered. Every method that a map allows gives the same numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Method {
    /// The key as a big-endian integer.
    Identity,
    /// Digit by digit.
    Digits,
    /// All digits at once if all symbols are known, else digit by digit.
    #[cfg(target_arch = "x86_64")]
    Lanes(Box<simd::Lanes>),
}

impl KeyMap {
    /// The map that reads the first 8 bytes of any key as a big-endian integer, padded with zeros
    /// at its end.
    ///
    /// This is the plain mapping of published systems. It costs nothing to compute and shows, by
    /// comparison, what the alphabets of the stored keys gain. It equals the map of all 8-byte
    /// keys.
    pub fn eight_bytes() -> KeyMap {
        (0..=u8::MAX).map(|byte| [byte; 8]).collect()
    }

    /// The number of any byte string, stored or not: `a <= b` implies `number(a) <= number(b)`.
    ///
    /// Takes time linear in the number of positions where stored keys differ (at most 64), plus one
    /// comparison of the bytes where they agree. On x86-64 with AVX2, which is detected when the
    /// map is made, all digits are computed at once where possible.
    #[inline]
    pub fn number(&self, key: &[u8]) -> u64 {
        match &self.method {
            Method::Identity => first_eight(key),
            _ => self.number_of_bytes(key),
        }
    }

    // Not inlined, so that the common case, keys of 8 bytes, is inlined everywhere.
    #[inline(never)]
    fn number_of_bytes(&self, key: &[u8]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if let Method::Lanes(lanes) = &self.method
            && let Some(number) = lanes.number(&self.literals, key)
        {
            return number;
        }
        self.number_by_digits(key)
    }

    /// The same number as [`KeyMap::number`], computed without optional processor instructions: for
    /// tests and measurements that compare the two.
    pub fn number_portable(&self, key: &[u8]) -> u64 {
        match &self.method {
            Method::Identity => first_eight(key),
            _ => self.number_by_digits(key),
        }
    }

    /// `identity` if all stored keys have 8 bytes, `constant` if no position varies, else
    /// `mixed-radix`.
    pub fn kind(&self) -> &'static str {
        if self.method == Method::Identity {
            "identity"
        } else if self.digits.is_empty() {
            "constant"
        } else {
            "mixed-radix"
        }
    }

    /// The length of the prefix that all keys of the map share, as far as the map knows it: the
    /// positions before the first digit.
    pub fn shared_prefix_bytes(&self) -> usize {
        let first = self.digits.first().map(|digit| digit.position as usize);
        first.unwrap_or(self.literals.len())
    }

    /// Whether both maps give every byte string the same number, so that tables numbered by either
    /// may share one map.
    ///
    /// Equal maps do, and so do all identity maps, although their alphabets may differ (these
    /// matter only in a union with a map that is not the identity).
    pub fn numbers_like(&self, other: &KeyMap) -> bool {
        self == other || (self.method == Method::Identity && other.method == Method::Identity)
    }

    /// The memory footprint in bytes.
    pub fn size_in_bytes(&self) -> usize {
        size_of::<Self>()
            + self
                .alphabets
                .iter()
                .map(Alphabet::size_in_bytes)
                .sum::<usize>()
            + self.digits.len() * size_of::<Digit>()
            + self.literals.len()
            + match &self.method {
                #[cfg(target_arch = "x86_64")]
                Method::Lanes(lanes) => size_of_val(lanes.as_ref()),
                _ => 0,
            }
    }

    /// How many positions count.
    fn depth(&self) -> usize {
        self.digits.len() + self.literals.len()
    }

    /// The set of bytes at each position that counts, from the left.
    fn sets(&self) -> impl Iterator<Item = ByteSet> {
        let mut digits = self.digits.iter().peekable();
        let mut literals = self.literals.iter();
        (0u32..).map_while(
            move |position| match digits.next_if(|d| d.position == position) {
                Some(digit) => self
                    .alphabets
                    .get(usize::from(digit.alphabet))
                    .map(Alphabet::to_set),
                None => literals.next().map(|&byte| ByteSet::of(byte)),
            },
        )
    }
}
