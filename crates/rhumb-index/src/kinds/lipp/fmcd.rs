//! The model of a node: the one with the fewest conflicts for its slots or, if no line separates
//! the numbers well, another one. No child gets more than two thirds of the numbers, and the number
//! of slots is linear in the numbers.

use super::model::Model;

/// Slots for each used one in any node, apart from a few that every node may have.
const SPARSEST: u32 = 16;

/// A model and its effect on the numbers it was fitted to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FittedModel {
    pub(crate) model: Model,
    /// The most numbers in one slot: at most two thirds of them, rounded up, and less than all.
    pub(crate) largest: usize,
    /// How many slots have a number.
    pub(crate) used: u32,
    /// Whether the model is a line over all numbers, which [`Model::extended`] may extend.
    pub(crate) is_line: bool,
}

impl FittedModel {
    /// The model of a node for at least two ascending entries. It has about `slots` slots; `round`
    /// returns an allowed number of slots not below its argument and at most an eighth above it.
    ///
    /// This is the model with the fewest conflicts (FMCD) or, if there is none, the line through
    /// the ends. If it uses less than a sixteenth of the slots, fewer slots are tried. If it leaves
    /// more than two thirds of the entries together, the model has few slots and separates the
    /// lower half of the entries from the upper, which is always possible. Takes linear time for
    /// each number of slots tried.
    pub(crate) fn new(entries: &[(u64, u64)], slots: u32, round: fn(u32) -> u32) -> Self {
        let numbers = entries.len();
        if let [(first, _), .., (last, _)] = *entries {
            if let [(first, _), (second, _), (third, _)] = *entries {
                return FittedModel::of(Model::of_three([first, second, third], round(3)), entries);
            }
            // If there are slots for all numbers of the range, each gets its own.
            let range = u32::try_from((last - first).saturating_add(1)).ok();
            let is_dense = |range: &u32| *range <= slots && *range as usize / 8 <= numbers;
            if let Some(range) = range.filter(is_dense) {
                let fit = FittedModel::of(Model::new(first, 1.0, round(range)), entries);
                return FittedModel {
                    is_line: true,
                    ..fit
                };
            }
            let mut slots = round(slots.max(2));
            while numbers > 3 && slots > 3 {
                let fewest = fewest_conflicts(entries, slots);
                let line = fewest.unwrap_or_else(|| through_ends(entries, slots));
                let fit = FittedModel::of(line, entries);
                if fit.largest > (numbers * 2).div_ceil(3) {
                    break;
                }
                match fewer_slots(fit.used, slots, round) {
                    Some(fewer) => slots = fewer,
                    None => {
                        return FittedModel {
                            is_line: true,
                            ..fit
                        };
                    }
                }
            }
        }
        FittedModel::of(halving(entries, round(2)), entries)
    }

    fn of(model: Model, entries: &[(u64, u64)]) -> Self {
        let (mut largest, mut used, mut slot, mut start) = (0, 0, u32::MAX, 0);
        for (i, entry) in entries.iter().enumerate() {
            let at = model.slot(entry.0);
            if at != slot {
                largest = largest.max(i - start);
                (slot, start, used) = (at, i, used + 1);
            }
        }
        FittedModel {
            model,
            largest: largest.max(entries.len() - start),
            used,
            is_line: false,
        }
    }
}

/// A sufficient smaller number of slots when `used` of them are used; `None` if `slots` is not too
/// many.
fn fewer_slots(used: u32, slots: u32, round: fn(u32) -> u32) -> Option<u32> {
    if used >= slots / SPARSEST {
        return None;
    }
    // This is less than half of the slots.
    let fewer = round((used * (SPARSEST / 2)).max(4));
    (fewer < slots).then_some(fewer)
}

/// Groups entries by slot; slots ascend.
pub(crate) fn runs(
    model: Model,
    entries: &[(u64, u64)],
) -> impl Iterator<Item = (u32, &[(u64, u64)])> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let slot = model.slot(rest.first()?.0);
        let others = rest.iter().skip(1);
        let len = 1 + others
            .take_while(|entry| model.slot(entry.0) == slot)
            .count();
        let (run, behind) = rest.split_at_checked(len)?;
        rest = behind;
        Some((slot, run))
    })
}

/// The model of LIPP (VLDB 2021, algorithm 4) for the least conflict degree D: when the D first and
/// D last numbers are left out, slots of the resulting width hold at most D numbers each. `None` if
/// D would exceed a third of the numbers.
///
/// Only integer differences are compared. Takes at most as many steps as there are numbers, plus D.
fn fewest_conflicts(entries: &[(u64, u64)], slots: u32) -> Option<Model> {
    let number = |i: usize| entries.get(i).map_or(u64::MAX, |entry| entry.0);
    let len = entries.len();
    let inner = u64::from(slots.max(3) - 2);
    // The range to be covered by all slots but two; the first and the last slot take the numbers
    // left out.
    let covered = |degree: usize| number(len - 1 - degree) - number(degree);
    let mut degree = 1;
    let mut width = covered(degree).div_ceil(inner);
    let mut at = 0;
    while at + degree < len {
        if number(at + degree) - number(at) >= width {
            at += 1;
            continue;
        }
        degree += 1;
        if degree > len / 3 {
            return None;
        }
        width = covered(degree).div_ceil(inner);
    }
    let width = (covered(degree) as f64 / inner as f64).max(1e-9);
    // Slot 1 starts at the first number that is not left out.
    let base = number(degree).saturating_sub(width.ceil() as u64);
    Some(Model::new(base, width, slots))
}

/// The line through the first and the last number.
fn through_ends(entries: &[(u64, u64)], slots: u32) -> Model {
    let (first, last) = match entries {
        [first, .., last] => (first.0, last.0),
        _ => (0, 1),
    };
    let width = (last - first) as f64 / f64::from(slots.max(2) - 1);
    Model::new(first, width, slots)
}

/// A model of few slots that separates the lower half of the numbers from the upper.
fn halving(entries: &[(u64, u64)], slots: u32) -> Model {
    let middle = entries.len() / 2;
    let number = |i: usize| entries.get(i).map_or(0, |entry| entry.0);
    Model::splitting(number(middle.saturating_sub(1)), number(middle), slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{SplitMix64, distributions};
    use crate::kinds::lipp::model::{class, slots_of};

    fn round(slots: u32) -> u32 {
        slots_of(class(slots))
    }

    /// Ascending numbers of many distributions, with ranks.
    fn sets(random: &mut SplitMix64) -> Vec<Vec<(u64, u64)>> {
        let mut sets = Vec::new();
        for distribution in distributions::all() {
            for len in [2, 3, 4, 5, 7, 40, 2_000] {
                let keys = distribution.keys(random, len);
                let numbers = keys.iter().map(|key| {
                    let first = key.iter().take(8);
                    first.fold(0, |number, byte| number << 8 | u64::from(*byte))
                });
                let mut numbers: Vec<u64> = numbers.collect();
                numbers.sort_unstable();
                numbers.dedup();
                sets.push(numbers.into_iter().zip(0..).collect());
            }
        }
        sets
    }

    #[test]
    fn no_slot_gets_more_than_two_thirds_and_slots_are_used() {
        for entries in sets(&mut SplitMix64::new(12)) {
            let len = entries.len();
            if len < 2 {
                continue;
            }
            for slots in [2, len as u32, 2 * len as u32, 6 * len as u32, 1_000_000] {
                let fit = FittedModel::new(&entries, slots, round);
                let most = (len * 2).div_ceil(3).min(len - 1);
                assert!(fit.largest <= most, "{fit:?} of {len}, {entries:?}");
                let slots = fit.model.slots();
                assert!(
                    slots <= (fit.used * SPARSEST + SPARSEST).max(18),
                    "{fit:?} of {len}"
                );
                let runs: Vec<_> = runs(fit.model, &entries).collect();
                assert_eq!(runs.len(), fit.used as usize);
                assert!(runs.is_sorted_by(|a, b| a.0 < b.0));
                assert_eq!(
                    runs.iter().map(|run| run.1).collect::<Vec<_>>().concat(),
                    entries
                );
            }
        }
    }

    #[test]
    fn slots_become_fewer_only_where_most_are_empty() {
        for slots in [1 << 30, 9 << 27, u32::MAX] {
            // Also for 2^29 used slots, eight times which would overflow.
            for used in [slots / SPARSEST, 1 << 29, slots] {
                assert_eq!(fewer_slots(used, slots, |slots| slots), None);
            }
            let used = slots / SPARSEST - 1;
            assert_eq!(fewer_slots(used, slots, |slots| slots), Some(used * 8));
        }
        assert_eq!(fewer_slots(1, 32, round), Some(8));
        assert_eq!(fewer_slots(0, 17, round), Some(4));
        assert_eq!(fewer_slots(0, 4, round), None);
    }

    #[test]
    fn the_conflict_degree_is_the_least() {
        for entries in sets(&mut SplitMix64::new(13)) {
            let (len, slots) = (entries.len(), 2 * entries.len() as u32);
            let Some(model) = (len > 3)
                .then(|| fewest_conflicts(&entries, slots))
                .flatten()
            else {
                continue;
            };
            let number = |i: usize| u128::from(entries[i].0);
            // The definition of the degree.
            let fits = |degree: usize| {
                let covered = number(len - 1 - degree) - number(degree);
                let apart = (0..len - degree).map(|i| number(i + degree) - number(i));
                apart.min().unwrap() * u128::from(slots - 2) >= covered
            };
            let least = (1..=len / 3).find(|degree| fits(*degree)).unwrap();
            // Widths are rounded up to integers in the search, and slopes down by 2^-16 in the
            // model.
            let largest = runs(model, &entries).map(|run| run.1.len()).max().unwrap();
            assert!(
                largest <= 2 * least + 1,
                "{largest}, degree {least} of {len}"
            );
        }
    }

    #[test]
    fn evenly_spaced_numbers_collide_only_at_the_ends() {
        for gap in [1, 3, 1 << 20, 1 << 50] {
            for base in [0, 1 << 53, 1 << 63] {
                let entries: Vec<_> = (0..5_000).map(|i| (base + i * gap, i)).collect();
                let fit = FittedModel::new(&entries, 10_000, round);
                let least = if gap == 1 { 5_000 } else { 4_998 };
                assert!(fit.used >= least, "{gap} {base}: {fit:?}");
            }
        }
    }
}
