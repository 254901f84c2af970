//! Lines in integer arithmetic: exact and monotone for all numbers.

/// A line from numbers to places: `floor((number - base) * slope / 2^64)`, and 0 for numbers below
/// the base.
///
/// The place is the upper half of a 128-bit product, so this division is the only rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kinds) struct FixedLine {
    /// The number from which distances count; it and all smaller numbers have place 0.
    pub(in crate::kinds) base: u64,
    /// Places for each 2^64 numbers.
    pub(in crate::kinds) slope: u64,
}

impl FixedLine {
    /// The place of a number.
    #[inline(always)]
    pub(in crate::kinds) fn place(&self, number: u64) -> u64 {
        let distance = u128::from(number.saturating_sub(self.base));
        ((distance * u128::from(self.slope)) >> 64) as u64
    }

    /// The first number of a place; the slope must not be 0.
    pub(in crate::kinds) fn first_number(&self, place: u64) -> u64 {
        let distance = (u128::from(place) << 64).div_ceil(u128::from(self.slope));
        self.base
            .saturating_add(u64::try_from(distance).unwrap_or(u64::MAX))
    }
}
