//! The lines of nodes, from a key to one of the node's slots.
//!
//! Slopes are below one slot a key, since consecutive keys never need more. Rounding the slope
//! moves no key by more than one slot.

use crate::kinds::shared::fixed_line::FixedLine;
use crate::kinds::shared::least_squares::Moments;

impl FixedLine {
    /// A line with this base and slope, adjusted just enough that key 0 is in slot 0 and `u64::MAX`
    /// in another slot.
    pub(super) fn separating(base: u64, slope: u64) -> Self {
        let base = base.min(u64::MAX - 2);
        let least = (u64::MAX / (u64::MAX - base)).saturating_add(1);
        FixedLine {
            base,
            slope: slope.max(least),
        }
    }

    /// The line that distributes the keys from `min` to `max` over slots of equal width. If the
    /// range holds three keys or more, `min` and `max` are in different slots.
    pub(super) fn equal(min: u64, max: u64, slots: usize) -> Self {
        let keys = u128::from(max - min) + 1;
        match u64::try_from(((slots as u128) << 64) / keys) {
            Ok(slope) => FixedLine::separating(min, slope),
            // A slot for each key: the base is one below the first key.
            Err(_) => FixedLine::separating(min.saturating_sub(1), u64::MAX),
        }
    }

    /// A line that assigns slot 0 to keys up to `below`, which is not 0, and other slots to keys
    /// from `above` on, which must be greater than `below`.
    pub(super) fn parting(below: u64, above: u64) -> Self {
        let distance = above - below;
        match distance {
            1 => FixedLine::separating(below.saturating_sub(1), u64::MAX),
            _ => FixedLine::separating(below, u64::MAX / distance + 1),
        }
    }

    /// The least-squares line from ascending keys, at least two, to their slots, with `ratio` slots
    /// a key.
    pub(super) fn fitted(entries: &[(u64, u64)], ratio: f64) -> Self {
        let origin = entries.first().map_or(0, |entry| entry.0);
        let last = entries.last().map_or(0, |entry| entry.0);
        let len = entries.len();
        let key = |i: usize| entries.get(i).map_or(origin, |entry| entry.0);
        let moments = Moments::of(0..len, key);
        let slope = moments.slope() * ratio;
        if !(slope > 0.0 && slope < 1.0) {
            return FixedLine::equal(origin, last, (len as f64 * ratio) as usize);
        }
        let start = moments.x - (moments.y + 0.5) * ratio / slope;
        let base = i128::from(origin) + start as i128;
        FixedLine::separating(
            base.clamp(0, i128::from(u64::MAX)) as u64,
            (slope * 2f64.powi(64)) as u64,
        )
    }

    /// The slot of a key among `slots`; 0 if there are none.
    #[inline(always)]
    pub(super) fn slot(&self, key: u64, slots: usize) -> usize {
        self.place(key).min(slots.saturating_sub(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    #[test]
    fn extreme_keys_have_different_slots_on_every_line() {
        let mut random = SplitMix64::new(1);
        for _ in 0..20_000 {
            let any = |random: &mut SplitMix64| random.next_u64() >> random.below(64);
            let line = match random.below(2) {
                0 => FixedLine::separating(any(&mut random), any(&mut random)),
                _ => FixedLine::separating(u64::MAX - any(&mut random), any(&mut random)),
            };
            assert_eq!(line.slot(0, 9), 0, "{line:?}");
            assert!(line.slot(u64::MAX, 9) > 0, "{line:?}");
        }
    }

    #[test]
    fn equal_slots_separate_the_ends_and_start_at_their_first_numbers() {
        let mut random = SplitMix64::new(2);
        for _ in 0..20_000 {
            let min = random.next_u64() >> random.below(64);
            let max = min.saturating_add(2 + (random.next_u64() >> random.below(63)));
            if max < min + 2 {
                continue;
            }
            let slots = 2 + random.below(10_000) as usize;
            let line = FixedLine::equal(min, max, slots);
            assert_eq!(line.slot(min, slots), 0);
            assert!(line.slot(max, slots) > 0);
            let slot = 1 + random.below(slots as u64 - 1);
            let first = line.first_number(slot);
            if first < u64::MAX {
                assert!(line.place(first) >= slot && line.place(first - 1) < slot);
            }
        }
    }

    #[test]
    fn parting_lines_separate_two_keys() {
        let mut random = SplitMix64::new(4);
        for i in 0..20_000 {
            let near = [1, 1 << 53, 1 << 63, u64::MAX - 20][i % 4];
            let below = near + random.below(10);
            let above = (below + 1).saturating_add(random.next_u64() >> random.below(63));
            let line = FixedLine::parting(below, above);
            assert_eq!(
                (line.slot(below, 2), line.slot(above, 2)),
                (0, 1),
                "{below} {above}"
            );
        }
    }

    #[test]
    fn neighbouring_keys_above_2_53_get_different_slots() {
        // Sums of squares over raw keys cannot tell neighbours above 2^53 apart; the public code
        // then gives wrong answers.
        let base = 1u64 << 62;
        let entries: Vec<(u64, u64)> = (0..1000).map(|i| (base + i * 7, i)).collect();
        let line = FixedLine::fitted(&entries, 2.0);
        let slots: Vec<u64> = entries.iter().map(|entry| line.place(entry.0)).collect();
        assert!(slots.windows(2).all(|pair| pair[0] < pair[1]), "{slots:?}");
        assert!(slots[999] < 2000);
    }
}
