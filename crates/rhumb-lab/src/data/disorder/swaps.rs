//! Displaces an exact number of entries of a sorted sequence.

use super::beta::Beta;
use crate::data::Random;

/// Random draws of a target before the nearest suitable one is taken.
const DRAWS: usize = 32;
/// Steps by which an entry that nothing can be swapped with passes its lack of a partner on.
const STEPS: usize = 4_096;
/// Entries that may be left in place because nothing can be swapped with them.
const FAILURES: usize = 100;

/// A sequence of ranks, some of them displaced.
struct Swaps<'r> {
    /// The rank at each place.
    ranks: Vec<u32>,
    /// The largest displacement in places.
    reach: u32,
    /// A place whose entry has the largest displacement and keeps it.
    longest: u32,
    targets: Beta,
    random: &'r mut Random,
}

/// The ranks below `entries` in an order in which exactly `displaced` of them, at least two, are out of
/// place, one of them by `reach` places, which is at least 1 and below `entries`, and none by more.
/// `None` if no such order was found, which only happens if `reach` is one or two places and nearly
/// all entries are to be displaced.
///
/// Entries are chosen at random and swapped with one that is drawn from those within reach, as the
/// generator of BoDS does. Where that leaves entries over, they are inserted into a swap nearby.
pub fn displace(
    entries: u32,
    displaced: u32,
    reach: u32,
    targets: Beta,
    random: &mut Random,
) -> Option<Vec<u32>> {
    let first = random.below(u64::from(entries - reach)) as u32;
    let order = random.order(entries);
    let mut swaps = Swaps {
        ranks: (0..entries).collect(),
        reach,
        longest: first + reach,
        targets,
        random,
    };
    swaps.swap(first, first + reach);
    let (mut missing, mut failures) = (displaced - 2, 0);
    for place in order {
        if missing == 0 || failures == FAILURES {
            break;
        }
        if swaps.is_in_place(place) {
            let moved = swaps.displace(place, missing >= 2);
            missing -= moved;
            failures += usize::from(moved == 0);
        }
    }
    (missing == 0).then_some(swaps.ranks)
}

impl Swaps<'_> {
    fn is_in_place(&self, place: u32) -> bool {
        self.ranks[place as usize] == place
    }

    fn swap(&mut self, one: u32, other: u32) {
        self.ranks.swap(one as usize, other as usize);
    }

    /// The first and the last place within reach of a place.
    fn window(&self, place: u32) -> (u32, u32) {
        let last = self.ranks.len() as u32 - 1;
        let end = place.saturating_add(self.reach);
        (place.saturating_sub(self.reach), end.min(last))
    }

    /// Displaces the entry at a place, and another one if `both`. Returns how many were displaced.
    fn displace(&mut self, mut place: u32, both: bool) -> u32 {
        for _ in 0..STEPS {
            if let Some(other) = both.then(|| self.partner(place)).flatten() {
                self.swap(place, other);
                return 2;
            }
            if self.insert(place) {
                return 1;
            }
            match self.take_over(place) {
                Some(left_over) => place = left_over,
                None => return 0,
            }
        }
        0
    }

    /// Another entry within reach that is in place: a drawn one, or the nearest one to the last draw.
    fn partner(&mut self, place: u32) -> Option<u32> {
        let (first, last) = self.window(place);
        let mut drawn = place;
        for _ in 0..DRAWS {
            let share = self.targets.draw(self.random);
            drawn = first + (share * f64::from(last - first)).round() as u32;
            if drawn != place && self.is_in_place(drawn) {
                return Some(drawn);
            }
        }
        let suits = |other: &u32| *other != place && self.is_in_place(*other);
        (0..=last - first).find_map(|distance| {
            let below = drawn.checked_sub(distance).filter(|other| *other >= first);
            let above = drawn.checked_add(distance).filter(|other| *other <= last);
            below.into_iter().chain(above).find(suits)
        })
    }

    /// A random displaced entry within reach of a place, and the place it would have in order.
    fn neighbour(&mut self, place: u32) -> Option<(u32, u32)> {
        let (first, last) = self.window(place);
        let drawn = first + self.random.below(u64::from(last - first) + 1) as u32;
        let suits = !self.is_in_place(drawn) && drawn != self.longest;
        suits.then(|| (drawn, self.ranks[drawn as usize]))
    }

    /// Swaps the entry at a place with a displaced one, which remains displaced and within reach.
    fn insert(&mut self, place: u32) -> bool {
        let (first, last) = self.window(place);
        for _ in 0..DRAWS {
            let Some((other, rank)) = self.neighbour(place) else {
                continue;
            };
            if (first..=last).contains(&rank) {
                self.swap(place, other);
                return true;
            }
        }
        false
    }

    /// Swaps the entry at a place with one of a swapped pair nearby. Returns the place of the other one
    /// of the pair, which is in place again.
    fn take_over(&mut self, place: u32) -> Option<u32> {
        for _ in 0..DRAWS {
            let Some((other, left_over)) = self.neighbour(place) else {
                continue;
            };
            if left_over != self.longest && self.ranks[left_over as usize] == other {
                self.swap(other, left_over);
                self.swap(place, other);
                return Some(left_over);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_counts_and_narrow_windows_are_exact_too() {
        for (entries, displaced, reach) in [
            (2, 2, 1),
            (3, 3, 2),
            (10, 7, 3),
            (11, 11, 4),
            (1_000, 1_000, 2),
            (1_001, 1_001, 3),
            (1_000, 999, 999),
            (1_000, 40, 1),
        ] {
            for seed in 0..50 {
                let mut random = Random::new(seed, 1);
                let ranks = displace(entries, displaced, reach, Beta::UNIFORM, &mut random);
                let ranks = ranks.unwrap();
                let distance = |(place, rank): (u32, &u32)| place.abs_diff(*rank);
                let distances = (0..).zip(&ranks).map(distance);
                assert_eq!(distances.clone().max(), Some(reach));
                let moved = distances.filter(|distance| *distance > 0).count();
                assert_eq!(moved, displaced as usize, "seed {seed}");
                let mut sorted = ranks;
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..entries));
            }
        }
    }

    #[test]
    fn an_order_that_does_not_exist_is_not_found() {
        // With a reach of one only pairs of neighbours can be swapped.
        let mut random = Random::new(1, 1);
        assert_eq!(displace(9, 3, 1, Beta::UNIFORM, &mut random), None);
    }
}
