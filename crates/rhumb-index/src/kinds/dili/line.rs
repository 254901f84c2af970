//! The linear model of a node, in whole numbers: from a key to one of the node's slots.

use super::moments::Moments;

/// Slots grow by `slope` / 2^64 a key from `base` on, where slot 0 starts.
///
/// The slope is below one slot a key: keys one apart never need more. A key's slot is the upper half of
/// a product of 128 bits, exact and monotone, and rounding the slope moves no key by more than one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    base: u64,
    slope: u64,
}

impl Line {
    /// A line of this base and slope, steepened and moved just so far that 0 stands in slot 0 and
    /// `u64::MAX` in another one.
    pub(super) fn new(base: u64, slope: u64) -> Self {
        let base = base.min(u64::MAX - 2);
        let least = (u64::MAX / (u64::MAX - base)).saturating_add(1);
        Line {
            base,
            slope: slope.max(least),
        }
    }

    /// The line that deals the keys from `min` to `max` out to so many slots, equally wide. With three
    /// keys or more, the first and the last are in different slots.
    pub(super) fn equal(min: u64, max: u64, slots: usize) -> Self {
        let keys = u128::from(max - min) + 1;
        match u64::try_from(((slots as u128) << 64) / keys) {
            Ok(slope) => Line::new(min, slope),
            // A slot for each key: the base is the key before the first.
            Err(_) => Line::new(min.saturating_sub(1), u64::MAX),
        }
    }

    /// A line that gives slot 0 to keys up to `below`, which is not 0, and others to those from `above` on, which
    /// is above it.
    pub(super) fn parting(below: u64, above: u64) -> Self {
        let distance = above - below;
        match distance {
            1 => Line::new(below.saturating_sub(1), u64::MAX),
            _ => Line::new(below, u64::MAX / distance + 1),
        }
    }

    /// The least-squares line through the slots of ascending keys, of which there are at least two, if
    /// each had `ratio` slots.
    pub(super) fn fitted(entries: &[(u64, u64)], ratio: f64) -> Self {
        let origin = entries.first().map_or(0, |entry| entry.0);
        let last = entries.last().map_or(0, |entry| entry.0);
        let len = entries.len();
        let key = |i: usize| entries.get(i).map_or(origin, |entry| entry.0);
        let moments = Moments::of(0..len, key);
        let slope = moments.slope() * ratio;
        if !(slope > 0.0 && slope < 1.0) {
            return Line::equal(origin, last, (len as f64 * ratio) as usize);
        }
        let start = moments.x - (moments.y + 0.5) * ratio / slope;
        let base = i128::from(origin) + start as i128;
        Line::new(
            base.clamp(0, i128::from(u64::MAX)) as u64,
            (slope * 2f64.powi(64)) as u64,
        )
    }

    /// A key's slot among so many; 0 if there are none.
    #[inline(always)]
    pub(super) fn slot(&self, key: u64, slots: usize) -> usize {
        self.place(key).min(slots.saturating_sub(1))
    }

    /// A key's slot if slots go on for ever.
    #[inline(always)]
    pub(super) fn place(&self, key: u64) -> usize {
        let distance = u128::from(key.saturating_sub(self.base));
        ((distance * u128::from(self.slope)) >> 64) as usize
    }

    /// The first key of a slot.
    pub(super) fn first_key(&self, slot: usize) -> u64 {
        let distance = ((slot as u128) << 64).div_ceil(u128::from(self.slope));
        self.base
            .saturating_add(u64::try_from(distance).unwrap_or(u64::MAX))
    }

    /// Base and slope, for the byte form.
    pub(super) fn parts(&self) -> (u64, u64) {
        (self.base, self.slope)
    }

    /// A line from the byte form. Damaged ones only lead to other slots.
    #[inline(always)]
    pub(super) fn of_parts(base: u64, slope: u64) -> Self {
        Line { base, slope }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    #[test]
    fn ends_are_apart_whatever_the_line() {
        let mut random = SplitMix64::new(1);
        for _ in 0..20_000 {
            let any = |random: &mut SplitMix64| random.next_u64() >> random.below(64);
            let line = match random.below(2) {
                0 => Line::new(any(&mut random), any(&mut random)),
                _ => Line::new(u64::MAX - any(&mut random), any(&mut random)),
            };
            assert_eq!(line.slot(0, 9), 0, "{line:?}");
            assert!(line.slot(u64::MAX, 9) > 0, "{line:?}");
        }
    }

    #[test]
    fn equal_slots_part_the_ends_and_start_where_they_say() {
        let mut random = SplitMix64::new(2);
        for _ in 0..20_000 {
            let min = random.next_u64() >> random.below(64);
            let max = min.saturating_add(2 + (random.next_u64() >> random.below(63)));
            if max < min + 2 {
                continue;
            }
            let slots = 2 + random.below(10_000) as usize;
            let line = Line::equal(min, max, slots);
            assert_eq!(line.slot(min, slots), 0);
            assert!(line.slot(max, slots) > 0);
            let slot = 1 + random.below(slots as u64 - 1) as usize;
            let first = line.first_key(slot);
            if first < u64::MAX {
                assert!(line.place(first) >= slot && line.place(first - 1) < slot);
            }
        }
    }

    #[test]
    fn parting_lines_part() {
        let mut random = SplitMix64::new(4);
        for i in 0..20_000 {
            let near = [1, 1 << 53, 1 << 63, u64::MAX - 20][i % 4];
            let below = near + random.below(10);
            let above = (below + 1).saturating_add(random.next_u64() >> random.below(63));
            let line = Line::parting(below, above);
            assert_eq!(
                (line.slot(below, 2), line.slot(above, 2)),
                (0, 1),
                "{below} {above}"
            );
        }
    }

    #[test]
    fn a_far_outlier_leaves_its_fit_near_the_others() {
        // Raw sums of squares lose neighbours above 2^53: the public code then answers wrongly.
        let base = 1u64 << 62;
        let entries: Vec<(u64, u64)> = (0..1000).map(|i| (base + i * 7, i)).collect();
        let line = Line::fitted(&entries, 2.0);
        let slots: Vec<usize> = entries.iter().map(|entry| line.place(entry.0)).collect();
        assert!(slots.windows(2).all(|pair| pair[0] < pair[1]), "{slots:?}");
        assert!(slots[999] < 2000);
    }
}
