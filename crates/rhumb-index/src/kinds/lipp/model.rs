//! Models, which compute the slot of a number in a node; their packed form in the byte form; and
//! models that always separate two or three numbers, or halve more.

/// Bits of a slope (f32) that are always zero, because a packed model has no room for them.
const SLOPE_DROPPED: u32 = 7;

/// A line: the slot is `floor(slope * double(number - base))`, clamped to the existing slots.
///
/// Weakly monotone in floating point, since the difference, its conversion, the product with a
/// slope that is not negative, and the rounding down are. Slopes keep 16 bits of their mantissa
/// ([`Model::pack`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Model {
    /// Numbers up to this one have slot 0.
    base: u64,
    /// Slots for each number: finite, not negative.
    slope: f32,
    /// The last slot.
    last: u32,
}

/// The largest slope of 16 mantissa bits that is not above this one.
fn rounded_down(slope: f64) -> f32 {
    // The cast rounds to nearest; clearing the lower bits undoes this except possibly for one step.
    let slope = slope.clamp(f64::from(f32::MIN_POSITIVE), 4e9);
    let mask = !0 << SLOPE_DROPPED;
    let cut = f32::from_bits((slope as f32).to_bits() & mask);
    match f64::from(cut) > slope {
        true => f32::from_bits((cut.to_bits() - 1) & mask),
        false => cut,
    }
}

impl Model {
    /// A model of one or more slots, each `width` numbers wide, the first from `base` on. Rounding
    /// makes slots wider by up to 2^-16, never narrower.
    pub(crate) fn new(base: u64, width: f64, slots: u32) -> Self {
        Model {
            base,
            slope: rounded_down(1.0 / width),
            last: slots.saturating_sub(1),
        }
    }

    /// A model that assigns slot 0 to numbers up to `base` and other slots to numbers from `next`,
    /// which is greater: slot 1 to those below `base + 2 * (next - base) * 0.9999`.
    pub(crate) fn splitting(base: u64, next: u64, slots: u32) -> Self {
        let slope = 1.0 / (next.saturating_sub(base).max(1)) as f64;
        // One step up, so that rounding cannot move `next` into slot 0.
        let slope = rounded_down(slope).to_bits() + (1 << SLOPE_DROPPED);
        Model {
            base,
            slope: f32::from_bits(slope),
            last: slots.saturating_sub(1),
        }
    }

    /// A model of at least three slots that assigns slots 0, 1 and 2 or more to three ascending
    /// numbers.
    pub(crate) fn of_three(numbers: [u64; 3], slots: u32) -> Self {
        let [first, second, third] = numbers;
        let after = third - second;
        match second - first <= after {
            true => Model::splitting(first, second, slots),
            // The first is below the base; the third is two steps above it.
            false => Model::splitting(second - after, second, slots),
        }
    }

    /// The same line over `slots` slots, with `before` of them added before the first; fewer if
    /// that would need numbers below 0.
    pub(crate) fn extended(&self, before: u32, slots: u32) -> Self {
        let shift = f64::from(before) / f64::from(self.slope);
        Model {
            base: self.base.saturating_sub(shift as u64),
            slope: self.slope,
            last: slots.saturating_sub(1),
        }
    }

    /// How many slots there are.
    #[inline(always)]
    pub(crate) fn slots(&self) -> u32 {
        self.last.saturating_add(1)
    }

    /// Numbers up to this one have slot 0.
    #[inline(always)]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Slots for each number.
    #[inline(always)]
    pub(crate) fn slope(&self) -> f32 {
        self.slope
    }

    /// A model with these fields, which may be damaged.
    #[inline(always)]
    pub(crate) fn of_parts(base: u64, slope: f32, last: u32) -> Self {
        Model { base, slope, last }
    }

    /// The slot of a number: below [`Model::slots`], for any fields.
    #[inline(always)]
    pub(crate) fn slot(&self, number: u64) -> u32 {
        // The cast saturates and turns NaN into 0.
        (self.line(number) as u32).min(self.last)
    }

    /// The value of the line for a number, in slots, not clamped.
    #[inline(always)]
    pub(crate) fn line(&self, number: u64) -> f64 {
        number.saturating_sub(self.base) as f64 * f64::from(self.slope)
    }

    /// Slope and slots in 32 bits, never 0: 8 bits of exponent, 16 of mantissa, 8 of [`class`].
    pub(crate) fn pack(&self) -> u32 {
        (self.slope.to_bits() >> SLOPE_DROPPED) << 8 | class(self.slots())
    }

    /// The model with this base and these packed bits, which may be damaged.
    #[inline(always)]
    pub(crate) fn unpack(base: u64, packed: u32) -> Self {
        let slope = f32::from_bits((packed >> 8) << SLOPE_DROPPED);
        let last = slots_of(packed & 0xff).wrapping_sub(1);
        Model::of_parts(base, slope, last)
    }
}

/// The number of slots of a class: all numbers up to 15, then eight for each power of two;
/// ascending.
#[inline(always)]
pub(crate) fn slots_of(class: u32) -> u32 {
    match class {
        0..16 => class,
        // At most 15 * 2^28; the clamp keeps the shift in range.
        _ => (8 + (class & 7)) << ((class >> 3) - 1).min(28),
    }
}

/// The smallest class of at least this many slots.
pub(crate) fn class(slots: u32) -> u32 {
    if slots < 16 {
        return slots;
    }
    let shift = 28 - slots.leading_zeros();
    // Rounding up may carry into the next power of two, whose first class is the next class.
    ((shift << 3) + slots.div_ceil(1 << shift)).min(239)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    #[test]
    fn classes_ascend_and_round_up_by_an_eighth_at_most() {
        let sizes: Vec<u32> = (0..240).map(slots_of).collect();
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
        assert!((240..256).all(|class| slots_of(class) >= 1 << 31));
        for (i, &slots) in (0..).zip(&sizes) {
            assert_eq!(class(slots), i);
            if i > 0 {
                assert_eq!(
                    class(slots - 1),
                    i - u32::from(sizes[i as usize - 1] == slots - 1)
                );
            }
        }
        let mut random = SplitMix64::new(7);
        for _ in 0..100_000 {
            let slots = (random.next_u64() >> random.below(60)) as u32 & !(1 << 31);
            let rounded = slots_of(class(slots));
            assert!(
                slots <= rounded && rounded <= slots + slots / 8,
                "{slots} {rounded}"
            );
        }
    }

    #[test]
    fn packed_models_are_the_same_models() {
        let mut random = SplitMix64::new(8);
        for _ in 0..100_000 {
            let width = (random.next_u64() >> random.below(64)) as f64 / 1000.0;
            let slots = slots_of(1 + random.below(239) as u32);
            let model = Model::new(random.next_u64(), width, slots);
            assert_eq!(Model::unpack(model.base, model.pack()), model);
            assert!(model.slope.is_finite() && model.pack() != 0);
            let ratio = f64::from(model.slope) * width;
            assert!(
                ratio <= 1.0 && ratio > 0.999_98 || width < 1e-9,
                "{width}: {ratio}"
            );
        }
    }

    #[test]
    fn two_and_three_numbers_are_always_separated() {
        let mut random = SplitMix64::new(9);
        for i in 0..300_000u64 {
            let near = [0, 1 << 53, 1 << 63, u64::MAX - 5][(i % 4) as usize];
            let mut any = || match random.below(3) {
                0 => near + random.below(6),
                1 => random.next_u64() >> random.below(64),
                _ => u64::MAX - (random.next_u64() >> random.below(64)),
            };
            let mut three = [any(), any(), any()];
            three.sort_unstable();
            if three[0] == three[1] || three[1] == three[2] {
                continue;
            }
            let model = Model::of_three(three, 3);
            assert_eq!(
                three.map(|number| model.slot(number)),
                [0, 1, 2],
                "{three:?}"
            );
            let model = Model::splitting(three[0], three[1], 2);
            assert_eq!(
                three.map(|number| model.slot(number)),
                [0, 1, 1],
                "{three:?}"
            );
        }
    }

    #[test]
    fn slots_are_monotone_and_damaged_parts_harmless() {
        let mut random = SplitMix64::new(10);
        for _ in 0..200_000 {
            let packed = random.next_u64() as u32;
            let model = Model::unpack(random.next_u64() >> random.below(64), packed);
            let numbers = [random.next_u64(), random.next_u64() >> random.below(64)];
            let [a, b] = numbers.map(|number| model.slot(number));
            assert!(a < model.slots() || model.slots() == 0 || model.last == u32::MAX);
            if !model.slope.is_nan() {
                assert_eq!(
                    a.cmp(&b),
                    numbers[0].cmp(&numbers[1]).min(a.cmp(&b)).max(a.cmp(&b))
                );
                assert!(
                    (numbers[0] <= numbers[1]) == (a <= b) || a == b,
                    "{model:?} {numbers:?}"
                );
            }
        }
    }
}
