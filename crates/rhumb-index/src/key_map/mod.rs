//! Byte strings become numbers, in order.
//!
//! A [`KeyMap`] is a monotone, not strictly monotone, map from byte strings to `u64`: mixed radix
//! over the alphabets that the stored keys have at each position. Symbols are
//! END < 0x00 < ... < 0xFF; a key that has ended has END at every later position. Positions are
//! taken from the left up to the first whose radix would push the product above 2^64.
//!
//! To map a key, each position adds (symbols of the alphabet below the key's symbol) times the
//! product of the radices to its right. At the first symbol that is not in the alphabet the sum
//! is final. Such a symbol may lie above the whole alphabet: then the digit equals its radix and
//! carries into the position before, past every stored key that shares the prefix and no further.
//!
//! A position where all keys agree has radix 1: common prefixes, the dashes of a UUID and zero
//! padding vanish; decimal digits become decimal numbers and hex digits hexadecimal ones. Keys
//! that all have 8 bytes are read as big-endian integers instead.
//!
//! Numbers of different maps must never be compared, unless [`KeyMap::numbers_like`] holds.

mod alphabet;
mod builder;
mod form;

pub use builder::KeyMapBuilder;

use std::cmp::Ordering;

use alphabet::{Alphabet, ByteSet};

/// Positions beyond this one never count: no key is longer.
pub(crate) const MAX_DEPTH: usize = 65_536;

/// The largest product of radices; 16 hex digits make exactly this many numbers.
const MAX_PRODUCT: u128 = 1 << 64;

/// A position where stored keys differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digit {
    position: u32,
    /// Which of the map's alphabets.
    alphabet: u16,
    /// Whether END is a symbol here, below all bytes.
    ends: bool,
    /// Product of the radices to the right: at most 2^63 where this radix is at least 2.
    weight: u64,
    /// Bytes from `lo` to below `lo + span` rank by subtraction; a span of 0 says nothing.
    lo: u8,
    span: u8,
}

/// A monotone map from byte strings to numbers; see the module text for the rule.
///
/// It holds the positions that count, split into *digits*, where stored keys differ, and
/// *literals*, where they agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    alphabets: Vec<Alphabet>,
    /// At most 64 of them, by position.
    digits: Vec<Digit>,
    /// The bytes of all positions that are no digits, in order.
    literals: Vec<u8>,
    /// Product of all radices.
    product: u128,
    /// Length of the shortest stored key, at most the depth: END is a symbol from here on.
    shortest: u32,
    /// Whether it stops because the product would overflow, not because all keys have ended.
    truncated: bool,
    /// Whether it was made from no key at all.
    empty: bool,
}

impl KeyMap {
    /// The number of any byte string, stored or not: `a <= b` implies `number(a) <= number(b)`.
    ///
    /// Takes time in the number of positions where stored keys differ (at most 64), plus one
    /// comparison of the bytes where they agree.
    pub fn number(&self, key: &[u8]) -> u64 {
        if self.is_identity() {
            return big_endian(key);
        }
        // While all symbols are known the sum stays below the product of radices, so 64 bits do.
        let mut sum = 0u64;
        let mut weight = self.product;
        let mut literals = self.literals.as_slice();
        let mut at = 0;
        for digit in &self.digits {
            let position = digit.position as usize;
            if position > at {
                let (run, after) = literals.split_at((position - at).min(literals.len()));
                match compare_at(key, at, run) {
                    Ordering::Less => return sum,
                    Ordering::Greater => return carry(sum, 1, weight),
                    Ordering::Equal => literals = after,
                }
            }
            let symbol = key.get(position).copied();
            let offset = symbol.map_or(u8::MAX, |byte| byte.wrapping_sub(digit.lo));
            if offset < digit.span {
                sum = sum.wrapping_add((u64::from(offset) + u64::from(digit.ends)) * digit.weight);
            } else {
                let (below, known) = self.rank(digit, symbol);
                if !known {
                    return carry(sum, below, digit.weight.into());
                }
                sum = sum.wrapping_add(u64::from(below) * digit.weight);
            }
            weight = digit.weight.into();
            at = position + 1;
        }
        carry(
            sum,
            (compare_at(key, at, literals) == Ordering::Greater).into(),
            1,
        )
    }

    /// How many symbols at this digit are below the given one, and whether it is one of them.
    #[inline]
    fn rank(&self, digit: &Digit, symbol: Option<u8>) -> (u32, bool) {
        match (symbol, self.alphabets.get(usize::from(digit.alphabet))) {
            (Some(byte), Some(alphabet)) => {
                let (below, known) = alphabet.rank(byte);
                (below + u32::from(digit.ends), known)
            }
            _ => (0, digit.ends),
        }
    }

    /// `identity` where all stored keys have 8 bytes, `constant` where nothing varies, else
    /// `mixed-radix`.
    pub fn kind(&self) -> &'static str {
        if self.is_identity() {
            "identity"
        } else if self.digits.is_empty() {
            "constant"
        } else {
            "mixed-radix"
        }
    }

    /// How many bytes every key that the map was made of starts with in common, as far as the map
    /// knows: positions before the first digit.
    pub fn shared_prefix_bytes(&self) -> usize {
        let first = self.digits.first().map(|digit| digit.position as usize);
        first.unwrap_or(self.literals.len())
    }

    /// Whether both maps give every byte string the same number, so that tables numbered by
    /// either may share one.
    ///
    /// Equal maps do, and so do all identity maps, though their alphabets may differ (these
    /// matter only in a union with a map that is not the identity).
    pub fn numbers_like(&self, other: &KeyMap) -> bool {
        self == other || (self.is_identity() && other.is_identity())
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
    }

    /// How many positions count.
    fn depth(&self) -> usize {
        self.digits.len() + self.literals.len()
    }

    /// No key was shorter than 8 bytes, and all had ended there.
    fn is_identity(&self) -> bool {
        !self.truncated && !self.empty && self.shortest == 8 && self.depth() == 8
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

/// Adds the last digit that counts. It may equal its radix, and the sum then reach 2^64.
fn carry(sum: u64, below: u32, weight: u128) -> u64 {
    let total = u128::from(sum) + u128::from(below) * weight;
    u64::try_from(total).unwrap_or(u64::MAX)
}

/// Compares a run of bytes with the key's symbols from position `at` on. A key that ends inside
/// the run is less, since END is the least symbol.
fn compare_at(key: &[u8], at: usize, run: &[u8]) -> Ordering {
    // Not only a short cut: on an empty vector's dangling pointer a masked `memcmp` takes an assist
    // of a hundred cycles.
    if run.is_empty() {
        return Ordering::Equal;
    }
    let rest = key.get(at..).unwrap_or_default();
    rest.get(..run.len()).unwrap_or(rest).cmp(run)
}

/// The first 8 bytes as a big-endian integer, padded with zeros: monotone for keys of any length.
fn big_endian(key: &[u8]) -> u64 {
    let mut bytes = [0u8; 8];
    bytes.iter_mut().zip(key).for_each(|(to, &from)| *to = from);
    u64::from_be_bytes(bytes)
}
