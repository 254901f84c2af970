//! Measures how far a sequence is from sorted.

/// The degree of order of a sequence. The place of an entry in sorted order is its place after a stable
/// sort, so that equal entries that follow each other are in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sortedness {
    /// The number of entries.
    pub entries: u64,
    /// Entries that are not at their place in sorted order.
    pub out_of_place: u64,
    /// The largest distance of an entry from its place in sorted order.
    pub largest: u64,
    /// The sum of all distances.
    pub displacement: u128,
    /// Pairs of entries of which the later one is smaller.
    pub inversions: u64,
    /// Ascending runs: one more than the entries that are smaller than the one before.
    pub runs: u64,
}

impl Sortedness {
    /// Measures fewer than 2^32 entries, in time O(n log n).
    pub fn of<T: Ord>(entries: &[T]) -> Sortedness {
        let mut sorted: Vec<u32> = (0..entries.len() as u32).collect();
        sorted.sort_by(|one, other| entries[*one as usize].cmp(&entries[*other as usize]));
        let mut measured = Sortedness {
            entries: entries.len() as u64,
            runs: u64::from(!entries.is_empty()),
            ..Sortedness::default()
        };
        for (place, came) in (0u32..).zip(&sorted) {
            let distance = place.abs_diff(*came);
            measured.out_of_place += u64::from(distance > 0);
            measured.largest = measured.largest.max(u64::from(distance));
            measured.displacement += u128::from(distance);
        }
        let descents = entries.windows(2).filter(|pair| pair[1] < pair[0]);
        measured.runs += descents.count() as u64;
        // Sorting the places by their entries undoes the same inversions as sorting the entries.
        measured.inversions = inversions(&mut sorted);
        measured
    }

    /// Adds what follows, all of whose entries are larger.
    pub fn append(&mut self, next: &Sortedness) {
        let joined = u64::from(self.entries > 0 && next.entries > 0);
        self.entries += next.entries;
        self.out_of_place += next.out_of_place;
        self.largest = self.largest.max(next.largest);
        self.displacement += next.displacement;
        self.inversions += next.inversions;
        self.runs += next.runs - joined;
    }

    /// The mean distance of the entries out of place; 0 if there is none.
    pub fn mean_displacement(&self) -> f64 {
        self.displacement as f64 / self.out_of_place.max(1) as f64
    }

    /// A share of the entries in percent.
    pub fn percent(&self, entries: u64) -> f64 {
        100.0 * entries as f64 / self.entries.max(1) as f64
    }
}

/// Sorts distinct numbers by merging, and counts the pairs that were in the wrong order.
fn inversions(numbers: &mut [u32]) -> u64 {
    let mut buffer = numbers.to_vec();
    let (mut from, mut to) = (numbers, &mut buffer[..]);
    let (mut width, mut count) = (1, 0);
    while width < from.len() {
        for (from, to) in from.chunks(2 * width).zip(to.chunks_mut(2 * width)) {
            let (left, right) = from.split_at(width.min(from.len()));
            count += merge(left, right, to);
        }
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    count
}

/// Merges two ascending halves. Returns the number of pairs of which the first is in the right half
/// and smaller.
fn merge(left: &[u32], right: &[u32], to: &mut [u32]) -> u64 {
    let (mut left, mut right, mut count) = (left, right, 0);
    for slot in to {
        *slot = match (left.split_first(), right.split_first()) {
            (Some((first, rest)), None) => {
                left = rest;
                *first
            }
            (Some((first, rest)), Some((other, _))) if first < other => {
                left = rest;
                *first
            }
            (_, Some((other, rest))) => {
                count += left.len() as u64;
                right = rest;
                *other
            }
            (None, None) => break,
        };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Random;

    #[test]
    fn small_sequences_are_measured_by_hand() {
        let of = |numbers: &[u64]| {
            let found = Sortedness::of(numbers);
            let counts = [
                found.out_of_place,
                found.largest,
                found.inversions,
                found.runs,
            ];
            (counts, found.displacement)
        };
        assert_eq!(of(&[]), ([0, 0, 0, 0], 0));
        assert_eq!(of(&[7]), ([0, 0, 0, 1], 0));
        assert_eq!(of(&[1, 1, 1, 2]), ([0, 0, 0, 1], 0));
        assert_eq!(of(&[2, 1]), ([2, 1, 1, 2], 2));
        assert_eq!(of(&[5, 1, 2, 3, 4]), ([5, 4, 4, 2], 8));
        assert_eq!(of(&[4, 3, 2, 1]), ([4, 3, 6, 4], 8));
        assert_eq!(of(&[3, 3, 1]), ([3, 2, 2, 2], 4));
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let whole = [3u32, 1, 2, 5, 4, 9, 8];
        for at in [0, 3, 5, 7] {
            let (before, after) = whole.split_at(at);
            let mut sum = Sortedness::of(before);
            sum.append(&Sortedness::of(after));
            assert_eq!(sum, Sortedness::of(&whole));
        }
    }

    #[test]
    fn inversions_are_those_of_comparing_all_pairs() {
        let mut random = Random::new(4, 4);
        for len in [2, 3, 17, 64, 100, 255] {
            let numbers: Vec<u64> = (0..len).map(|_| random.below(60)).collect();
            let later = |at: usize| {
                let smaller = numbers[at + 1..].iter().filter(|n| **n < numbers[at]);
                smaller.count()
            };
            let pairs: usize = (0..numbers.len()).map(later).sum();
            assert_eq!(Sortedness::of(&numbers).inversions, pairs as u64);
        }
    }
}
