//! The flow as trained: a monotone network of two layers from two features of a number to its
//! image.
//!
//! ```text
//! d = double(x - base), 0 where x is below        t = d * linear scale
//! g = logarithm(d + 1) * log scale
//! u[j] = (a[j] * t + b[j] * g) + c[j]             s(u) = 1 - 1 / (1 + |u|), with the sign of u
//! image = (p * t + q * g) + v[0] * s(u[0]) + v[1] * s(u[1]) + ... from left to right
//! ```
//!
//! *Weakly monotone in floating point, by construction:* rounding keeps order, so each operation is
//! monotone wherever its exact value is. Conversion of integers, addition of constants and products
//! with weights that are not negative are monotone; 1 / (1 + |u|) falls as |u| grows, so 1 less
//! this value grows; sums of monotone functions are monotone. The logarithm is the sum of the
//! exponent, which is exact, and of a fraction limited to 1. Only + - * / are used, which IEEE 754
//! defines to the bit, so images are the same on every machine. Look-ups use a table of images
//! ([`super::warped`]).

/// Units in the hidden layer.
pub(super) const WIDTH: usize = 4;

/// The fraction of the logarithm in an octave is A (1 - 1 / (1 + B m)). With B = 2^(1/2) - 1 its
/// slope at the end of an octave is half of that at the start, so octaves join without kinks; with
/// A = (1 + B) / B it reaches 1 there. It is within 0.001 of log2(1 + m).
const B: f64 = std::f64::consts::SQRT_2 - 1.0;
const A: f64 = (1.0 + B) / B;

/// About log2 of a number that is at least 1, smooth and weakly monotone.
#[inline(always)]
pub(super) fn logarithm(x: f64) -> f64 {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = x.to_bits();
    let exponent = (bits >> MANTISSA) as i32 - 1023;
    let m = f64::from_bits(bits & ((1 << MANTISSA) - 1) | 1.0f64.to_bits()) - 1.0;
    f64::from(exponent) + (A * (1.0 - 1.0 / (1.0 + B * m))).min(1.0)
}

/// The derivative of [`logarithm`]. Only training uses it.
pub(super) fn logarithm_slope(x: f64) -> f64 {
    let octave = f64::from_bits(x.to_bits() & (0x7ff << 52));
    let m = x / octave - 1.0;
    let below = 1.0 + B * m;
    A * B / (below * below) / octave
}

/// The activation function: grows from -1 to 1.
#[inline(always)]
pub(super) fn activation(u: f64) -> f64 {
    (1.0 - 1.0 / (1.0 + u.abs())).copysign(u)
}

/// One unit of the hidden layer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Unit {
    /// Weight of the linear feature, not negative.
    pub(super) a: f64,
    /// Weight of the logarithmic feature, not negative.
    pub(super) b: f64,
    /// Bias.
    pub(super) c: f64,
    /// Weight of the output, not negative.
    pub(super) v: f64,
}

impl Unit {
    /// The input of the activation function.
    #[inline(always)]
    pub(super) fn input(&self, [t, g]: [f64; 2]) -> f64 {
        (self.a * t + self.b * g) + self.c
    }
}

/// The features of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Features {
    /// All numbers up to this one have the features of this one.
    pub(super) base: u64,
    /// Scales of the linear and the logarithmic feature; not negative.
    pub(super) scales: [f64; 2],
}

impl Features {
    /// Features that are 0 for `first`; the linear one is 1 for `high`, the logarithmic one for
    /// `last`.
    pub(super) fn over(first: u64, high: u64, last: u64) -> Self {
        let range = |to: u64| (to.saturating_sub(first) as f64).max(1.0);
        Features {
            base: first,
            scales: [1.0 / range(high), 1.0 / logarithm(range(last) + 1.0)],
        }
    }

    #[inline(always)]
    pub(super) fn of(&self, number: u64) -> [f64; 2] {
        let distance = number.saturating_sub(self.base) as f64;
        [
            distance * self.scales[0],
            logarithm(distance + 1.0) * self.scales[1],
        ]
    }
}

/// A trained flow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flow {
    pub(super) features: Features,
    /// Weights of the features in the output, past the hidden layer; not negative.
    pub(super) past: [f64; 2],
    pub(super) units: [Unit; WIDTH],
}

impl Flow {
    /// The image for these features.
    #[inline(always)]
    pub(super) fn image_of(&self, features: [f64; 2]) -> f64 {
        let past = self.past[0] * features[0] + self.past[1] * features[1];
        let parts = self
            .units
            .map(|unit| unit.v * activation(unit.input(features)));
        parts.iter().fold(past, |sum, part| sum + part)
    }

    /// The image of a number.
    #[inline(always)]
    pub(super) fn image(&self, number: u64) -> f64 {
        self.image_of(self.features.of(number))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::check::SplitMix64;

    pub(in super::super) fn random_flow(random: &mut SplitMix64) -> Flow {
        let mut weight = |bits: u64| random.fraction() * (1u64 << random.below(bits)) as f64;
        let units = std::array::from_fn(|_| Unit {
            a: weight(30),
            b: weight(12),
            c: weight(3) - weight(12),
            v: weight(3),
        });
        let past = [weight(2), weight(2)];
        let (a, b) = (random.next_u64(), random.next_u64() >> random.below(64));
        Flow {
            features: Features::over(a.min(b), a.max(b), a.max(b)),
            past,
            units,
        }
    }

    #[test]
    fn images_never_fall() {
        let mut random = SplitMix64::new(0x666c_6f77);
        for _ in 0..3_000 {
            let flow = random_flow(&mut random);
            let mut probes = vec![0, u64::MAX, flow.features.base];
            for _ in 0..50 {
                let near = flow
                    .features
                    .base
                    .wrapping_add(random.next_u64() >> random.below(64));
                // Neighbouring numbers, including those around powers of two, where octaves meet.
                let corner = flow
                    .features
                    .base
                    .wrapping_add((1u64 << random.below(64)) - 1);
                for at in [near, corner] {
                    probes.extend((0..3).map(|i| at.wrapping_add(i)));
                    probes.push(at.wrapping_sub(1));
                }
            }
            probes.sort_unstable();
            let images = probes.iter().map(|probe| flow.image(*probe));
            assert!(images.clone().all(f64::is_finite));
            assert!(images.is_sorted(), "{flow:?}");
        }
    }

    #[test]
    fn the_logarithm_is_near_log2() {
        let mut random = SplitMix64::new(3);
        for _ in 0..10_000 {
            let x = 1.0 + (random.next_u64() >> random.below(64)) as f64;
            assert!((logarithm(x) - x.log2()).abs() < 0.002, "{x}");
            let step = x * 1e-4;
            let slope = (logarithm(x + step) - logarithm(x)) / step;
            assert!((slope / logarithm_slope(x) - 1.0).abs() < 0.001, "{x}");
        }
        assert_eq!(logarithm(1.0), 0.0);
        assert_eq!(logarithm(2f64.powi(64)), 64.0);
    }
}
