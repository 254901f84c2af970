//! Numbers keys digit by digit: on any machine, and for keys with unknown symbols.

use std::cmp::Ordering;
use std::ops::ControlFlow::{self, Break, Continue};

use super::alphabet::Alphabet;
use super::{KeyMap, MAX_PRODUCT, Method};

/// A position where stored keys differ. From the shortest key's length on, END is one of its
/// symbols, below all bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digit {
    /// Product of the radices to the right; at most 2^63 if this radix is at least 2.
    weight: u64,
    pub(super) position: u32,
    /// Index of its alphabet in the map; there are at most as many alphabets as digits.
    pub(super) alphabet: u8,
    /// If the alphabet is a range, it is `lo..=lo + span`.
    lo: u8,
    span: u8,
    /// The length of the run of digits at consecutive positions from this one on that all have END
    /// as a symbol or all do not, and all rank by subtraction or all do not: at least 1.
    run: u8,
}

impl Digit {
    /// A digit that [`KeyMap::prepare`] must complete.
    pub(super) fn new(position: u32, alphabet: u8) -> Self {
        Digit {
            weight: 0,
            position,
            alphabet,
            lo: 0,
            span: 0,
            run: 1,
        }
    }
}

impl KeyMap {
    /// Completes a map whose alphabets, digits and literals are set: computes weights and runs,
    /// from the right, and chooses the method. `None` if the product exceeds its limit.
    pub(super) fn prepare(&mut self) -> Option<()> {
        let mut product = 1u128;
        let mut next: Option<Digit> = None;
        for digit in self.digits.iter_mut().rev() {
            let alphabet = self.alphabets.get(usize::from(digit.alphabet))?;
            digit.weight = u64::try_from(product).ok()?;
            if let Alphabet::Range { lo, hi } = alphabet {
                (digit.lo, digit.span) = (*lo, hi - lo);
            }
            let adjoins = |next: &Digit| {
                next.position == digit.position + 1
                    && next.position != self.shortest
                    && is_range(&self.alphabets, next) == is_range(&self.alphabets, digit)
            };
            digit.run = 1 + next.filter(adjoins).map_or(0, |next| next.run);
            next = Some(*digit);
            product *= u128::from(alphabet.len() + u32::from(digit.position >= self.shortest));
            if product > MAX_PRODUCT {
                return None;
            }
        }
        self.product = product;
        self.method = self.best_method();
        Some(())
    }

    fn best_method(&self) -> Method {
        // The shortest key has 8 bytes, and no key is longer.
        if !self.truncated && !self.empty && self.shortest == 8 && self.depth() == 8 {
            return Method::Identity;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = super::simd::Lanes::new(self) {
            return Method::Lanes(Box::new(lanes));
        }
        Method::Digits
    }

    /// The number of a key by the rule in the docs of [`KeyMap`].
    pub(super) fn number_by_digits(&self, key: &[u8]) -> u64 {
        // While all symbols are known the sum is below the product of radices, so 64 bits suffice.
        let mut sum = 0u64;
        let mut weight = self.product;
        let mut literals = self.literals.as_slice();
        let mut digits = self.digits.as_slice();
        let mut at = 0;
        while let Some(first) = digits.first() {
            let position = first.position as usize;
            if position > at {
                let (run, after) = literals.split_at((position - at).min(literals.len()));
                match compare_at(key, at, run) {
                    Ordering::Less => return sum,
                    Ordering::Greater => return carry(sum, 1, weight),
                    Ordering::Equal => literals = after,
                }
            }
            let (run, after) = digits.split_at(usize::from(first.run).min(digits.len()));
            let ends = u64::from(first.position >= self.shortest);
            let symbols = key.get(position..).unwrap_or_default();
            let quick = match is_range(&self.alphabets, first) {
                true => add_offsets(sum, run, symbols, ends),
                false => None,
            };
            sum = match quick.map_or_else(|| self.add_ranks(sum, run, symbols, ends), Continue) {
                Continue(sum) => sum,
                Break(number) => return number,
            };
            // END is the least symbol, here and at all later positions, so these add nothing.
            if symbols.len() < run.len() {
                return sum;
            }
            weight = run.last().map_or(weight, |last| last.weight.into());
            (digits, at) = (after, position + run.len());
        }
        let above = compare_at(key, at, literals) == Ordering::Greater;
        carry(sum, above.into(), 1)
    }

    /// Adds the digits of some symbols one by one. Breaks with the final number at an unknown
    /// symbol.
    #[inline]
    fn add_ranks(
        &self,
        mut sum: u64,
        digits: &[Digit],
        symbols: &[u8],
        ends: u64,
    ) -> ControlFlow<u64, u64> {
        for (digit, &byte) in digits.iter().zip(symbols) {
            let alphabet = self.alphabets.get(usize::from(digit.alphabet));
            let (below, known) = alphabet.map_or((0, false), |alphabet| alphabet.rank(byte));
            let rank = u64::from(below) + ends;
            if !known {
                return Break(carry(sum, rank, digit.weight.into()));
            }
            sum = sum.wrapping_add(rank.wrapping_mul(digit.weight));
        }
        Continue(sum)
    }
}

/// Whether the rank of a digit's symbol is a subtraction.
fn is_range(alphabets: &[Alphabet], digit: &Digit) -> bool {
    let alphabet = alphabets.get(usize::from(digit.alphabet));
    matches!(alphabet, Some(Alphabet::Range { .. }))
}

/// Adds the digits of some symbols that all rank by subtraction, if all are known. This is tested
/// only at the end: without a branch between them, the processor overlaps the digits.
#[inline]
fn add_offsets(mut sum: u64, digits: &[Digit], symbols: &[u8], ends: u64) -> Option<u64> {
    let mut known = true;
    for (digit, &byte) in digits.iter().zip(symbols) {
        let offset = byte.wrapping_sub(digit.lo);
        known &= offset <= digit.span;
        sum = sum.wrapping_add((u64::from(offset) + ends).wrapping_mul(digit.weight));
    }
    known.then_some(sum)
}

/// Adds the last digit that counts. The digit may equal its radix, and the sum may then reach 2^64,
/// which saturates.
fn carry(sum: u64, below: u64, weight: u128) -> u64 {
    let total = u128::from(sum) + u128::from(below) * weight;
    u64::try_from(total).unwrap_or(u64::MAX)
}

/// Compares a run of bytes with the key's symbols from position `at` on. A key that ends inside the
/// run is less, since END is the least symbol.
fn compare_at(key: &[u8], at: usize, run: &[u8]) -> Ordering {
    // This is more than a short cut: for an empty vector's dangling pointer a masked `memcmp` takes
    // a microcode assist of a hundred cycles.
    if run.is_empty() {
        return Ordering::Equal;
    }
    let rest = key.get(at..).unwrap_or_default();
    rest.get(..run.len()).unwrap_or(rest).cmp(run)
}
