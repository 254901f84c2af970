//! A logarithm that has the same bits on every machine.
//!
//! The logarithm of the standard library calls the system's mathematical library. Its last bit
//! differs between libraries and, in glibc, between processors with and without fused
//! multiplication. With costs computed by it, the same keys could lead to other choices and so to
//! other bytes.

/// The number of odd powers in the series after the first: the next power would add less than
/// 2^-60.
const POWERS: u32 = 11;

/// The logarithm to base 2 of a positive normal number; NaN for any other number. The error is at
/// most 2^-50 times the logarithm, or 2^-50 if the logarithm is less than 1. It is exact for powers
/// of two.
///
/// Only + - * / are used, which IEEE 754 defines to the bit: `log2(2^e m) = e + 2 artanh(s) / ln 2`
/// with `s = (m - 1) / (m + 1)`, m between the square roots of 1/2 and 2.
pub(crate) fn log2(x: f64) -> f64 {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    if !x.is_normal() || x < 0.0 {
        return f64::NAN;
    }
    let bits = x.to_bits();
    let exponent = (bits >> MANTISSA) as i32 - 1023;
    let m = f64::from_bits(bits & ((1 << MANTISSA) - 1) | 1.0f64.to_bits());
    let (m, exponent) = match m > std::f64::consts::SQRT_2 {
        true => (m / 2.0, exponent + 1),
        false => (m, exponent),
    };
    let s = (m - 1.0) / (m + 1.0);
    let series = (0..=POWERS)
        .rev()
        .fold(0.0, |sum, i| sum * (s * s) + 1.0 / f64::from(2 * i + 1));
    f64::from(exponent) + 2.0 * s * series * std::f64::consts::LOG2_E
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    #[test]
    fn the_error_is_at_most_2_to_the_minus_50() {
        let mut random = SplitMix64::new(2);
        for _ in 0..100_000 {
            let x = (1.0 + random.fraction()) * 2f64.powi(random.below(200) as i32 - 100);
            let off = (log2(x) - x.log2()).abs();
            assert!(
                off <= 2f64.powi(-50) * x.log2().abs().max(1.0),
                "{x}: {off}"
            );
        }
        for e in -60..60 {
            assert_eq!(log2(2f64.powi(e)), f64::from(e));
        }
        let others = [0.0, -1.0, f64::INFINITY, f64::NAN];
        assert!(others.iter().all(|x| log2(*x).is_nan()));
    }

    /// The expected bits were calculated once and must be the same on every machine.
    #[test]
    fn known_numbers_give_known_bits() {
        let bits = [3.0, 10.0, 1e-3, 12_345.678].map(|x| log2(x).to_bits());
        let expected = [
            0x3ff9_5c01_a39f_bd69,
            0x400a_934f_0979_a371,
            0xc023_ee7b_471b_3a95,
            0x402b_2ef5_b86e_63d0,
        ];
        assert_eq!(bits, expected);
    }
}
