//! Whether a table is worth a model: Bourbon's cost-benefit analysis (OSDI 2020, section 4.4.2).
//!
//! A table is expected to be asked as often, for its size, as those of its level were that are gone. A model gains what its
//! look-ups take less than those without, for those that the table serves and for the others, and costs the time of learning.

use crate::tune::workload::SAMPLED;
use crate::version::{LookUp, LookUps};

/// Of a level it is known what tables of it are worth behind so many tables that are gone,
const LEAST_FILES: f64 = 20.0;
/// and so many look-ups of each sort: served or not, with a model or without. Those that filters end are among them.
const LEAST_LOOK_UPS: f64 = 500.0;
/// The mean of fewer look-ups says nothing.
const LEAST_OF_MEAN: f64 = 32.0;
/// Behind so many tables, what was seen of them begins to count for less.
const MOST_FILES: f64 = 200.0;

/// All pairs of answers to two questions about a look-up.
const SORTS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// Timed look-ups of one sort: their number, and the sum of the logarithms to base 2 of their nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Timed {
    gets: f64,
    logarithms: f64,
}

impl Timed {
    fn mean(&self) -> f64 {
        (self.logarithms / self.gets.max(1.0)).exp2()
    }
}

/// What look-ups did in tables.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Seen {
    /// By the places of their sorts.
    timed: [Timed; LookUp::SORTS],
    /// Those that filters ended, without a model and with one.
    filtered: [f64; 2],
}

impl Seen {
    /// What was seen of one table so far.
    pub fn of(look_ups: &LookUps) -> Seen {
        let timed = look_ups.times().each_ref().map(|times| Timed {
            gets: times.gets() as f64,
            logarithms: times.logarithms(),
        });
        Seen {
            timed,
            filtered: look_ups.filtered().map(|count| count as f64),
        }
    }

    fn add(&mut self, other: &Seen) {
        for (timed, more) in self.timed.iter_mut().zip(&other.timed) {
            timed.gets += more.gets;
            timed.logarithms += more.logarithms;
        }
        for (count, more) in self.filtered.iter_mut().zip(other.filtered) {
            *count += more;
        }
    }

    fn halve(&mut self) {
        for timed in &mut self.timed {
            timed.gets /= 2.0;
            timed.logarithms /= 2.0;
        }
        for count in &mut self.filtered {
            *count /= 2.0;
        }
    }

    fn timed(&self, serves: bool, by_model: bool, has_read: bool) -> Timed {
        let sort = LookUp {
            serves,
            by_model,
            has_read,
        };
        self.timed.get(sort.place()).copied().unwrap_or_default()
    }

    /// How many look-ups of a sort there were.
    fn count(&self, serves: bool, by_model: bool) -> f64 {
        let [without, with] = self.filtered;
        let filtered = match (serves, by_model) {
            (true, _) => 0.0,
            (false, false) => without,
            (false, true) => with,
        };
        let timed = [false, true].map(|has_read| self.timed(serves, by_model, has_read).gets);
        filtered + timed.iter().sum::<f64>()
    }

    /// How many look-ups there were.
    pub fn look_ups(&self) -> f64 {
        let counts = SORTS.map(|(serves, by_model)| self.count(serves, by_model));
        counts.iter().sum()
    }

    /// How many look-ups models answered.
    pub fn by_models(&self) -> f64 {
        let answered = SORTS.map(|(serves, has_read)| self.timed(serves, true, has_read).gets);
        answered.iter().sum()
    }

    /// The nanoseconds that models save in as many look-ups; `None` if that is not known. Those that read are compared among each
    /// other, as are those that do not: tables are mostly read when they are new and have no model, which says nothing against
    /// fences. What one side did not do often enough is not known. That is left out as long as more is known of keys that tables
    /// have, and of those that they do not have, than is not.
    fn gain(&self) -> Option<f64> {
        [false, true].iter().map(|&s| self.gain_where(s)).sum()
    }

    /// The same for the look-ups that tables serve, or for the others.
    fn gain_where(&self, serves: bool) -> Option<f64> {
        let (mut gain, mut known, mut unknown) = (0.0, 0.0, 0.0);
        for has_read in [false, true] {
            let [without, with] = [false, true].map(|by| self.timed(serves, by, has_read));
            let gets = without.gets + with.gets;
            if without.gets.min(with.gets) >= LEAST_OF_MEAN {
                known += gets;
                gain += gets * (without.mean() - with.mean());
            } else {
                unknown += gets;
            }
        }
        (unknown < LEAST_LOOK_UPS || unknown <= known).then_some(gain)
    }
}

/// What was seen of the tables of a level that are gone.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct History {
    files: f64,
    entries: f64,
    seen: Seen,
}

impl History {
    /// Takes over what was seen of a table with so many entries that is gone.
    pub fn add(&mut self, entries: f64, seen: &Seen) {
        if self.files >= MOST_FILES {
            self.files /= 2.0;
            self.entries /= 2.0;
            self.seen.halve();
        }
        self.files += 1.0;
        self.entries += entries;
        self.seen.add(seen);
    }

    /// Whether enough is known to judge by.
    fn is_known(&self) -> bool {
        let enough = |(serves, by): (bool, bool)| self.seen.count(serves, by) >= LEAST_LOOK_UPS;
        self.files >= LEAST_FILES && SORTS.into_iter().all(enough)
    }

    /// The nanoseconds that a model of a table with so many entries is expected to save beyond the `build` that learning it
    /// takes: (T_n.b - T_n.m) N_n + (T_p.b - T_p.m) N_p - T_build. Without end as long as too little is known.
    pub fn gain(&self, entries: f64, build: f64) -> f64 {
        if !self.is_known() {
            return f64::INFINITY;
        }
        let Some(gain) = self.seen.gain() else {
            return f64::INFINITY;
        };
        // One get of so many is timed.
        gain * SAMPLED as f64 * entries / self.entries.max(1.0) - build
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    /// A table that was asked so often, for keys that it has and for others, with a model and without, where look-ups take
    /// these times.
    fn seen(gets: u64, [without, with]: [u64; 2]) -> Seen {
        let look_ups = LookUps::default();
        for (by_model, nanos) in [(false, without), (true, with)] {
            for serves in [false, true] {
                let look_up = LookUp {
                    serves,
                    by_model,
                    has_read: false,
                };
                (0..gets).for_each(|_| look_ups.note(look_up, nanos));
            }
        }
        Seen::of(&look_ups)
    }

    fn history(files: u64, gets: u64, nanos: [u64; 2]) -> History {
        let mut history = History::default();
        (0..files).for_each(|_| history.add(1_000.0, &seen(gets, nanos)));
        history
    }

    #[test]
    fn all_are_worth_it_until_enough_is_known() {
        for (files, gets) in [(0, 0), (19, 100), (20, 24), (100, 0)] {
            let history = history(files, gets, [100, 200]);
            assert_eq!(history.gain(1_000.0, 1.0), f64::INFINITY, "{files} {gets}");
        }
        assert!(history(20, 25, [100, 200]).gain(1_000.0, 1.0) < 0.0);
        // One sort alone is missing.
        let mut history = history(20, 25, [100, 200]);
        history.seen.timed[7] = Timed::default();
        history.seen.timed[6] = Timed::default();
        assert_eq!(history.gain(1_000.0, 1.0), f64::INFINITY);
    }

    /// 100 timed look-ups a table with each of two sorts, with and without a model, stand for 25,600, each of which gains
    /// 100 ns.
    #[test]
    fn the_gain_is_that_of_the_expected_look_ups_less_the_time_of_learning() {
        let history = history(20, 100, [400, 300]);
        for (entries, build) in [(1_000.0, 0.0), (500.0, 1e6), (4_000.0, 2e7)] {
            let expected = 100.0 * 400.0 * 64.0 * entries / 1_000.0 - build;
            let gain = history.gain(entries, build);
            assert!(
                (gain - expected).abs() < expected.abs() * 0.01,
                "{gain} {expected}"
            );
        }
        let slower = super::tests::history(20, 100, [300, 400]);
        assert!(slower.gain(1_000.0, 0.0) < 0.0);
    }

    /// They tell that tables were asked, but a model saves nothing of them.
    #[test]
    fn look_ups_that_filters_end_gain_nothing() {
        let look_ups = LookUps::default();
        for by_model in [false, true] {
            let look_up = LookUp {
                serves: true,
                by_model,
                has_read: false,
            };
            (0..50).for_each(|_| look_ups.note(look_up, if by_model { 300 } else { 400 }));
            (0..50).for_each(|_| look_ups.note_filtered(by_model));
        }
        let mut history = History::default();
        (0..20).for_each(|_| history.add(1_000.0, &Seen::of(&look_ups)));
        let (gain, expected) = (history.gain(1_000.0, 0.0), 100.0 * 100.0 * 64.0);
        assert!((gain - expected).abs() < expected * 0.01, "{gain}");
        assert_eq!(Seen::of(&look_ups).by_models(), 50.0);
        assert_eq!(Seen::of(&look_ups).look_ups(), 200.0);
    }

    /// Tables are read when they are new, and have no model yet.
    #[test]
    fn reads_are_compared_with_reads_alone() {
        let look_ups = LookUps::default();
        let look_up = |by_model, has_read| LookUp {
            serves: true,
            by_model,
            has_read,
        };
        (0..50).for_each(|_| look_ups.note(look_up(false, true), 80_000));
        (0..50).for_each(|_| look_ups.note(look_up(false, false), 300));
        (0..50).for_each(|_| look_ups.note(look_up(true, false), 300));
        assert!(Seen::of(&look_ups).gain().unwrap().abs() < 1.0);
        (0..50).for_each(|_| look_ups.note(look_up(true, true), 90_000));
        assert!(Seen::of(&look_ups).gain().unwrap() < -900_000.0);
    }

    /// Twenty tables that were asked for keys that they have and for others: so often without models where they were read
    /// and where they were not, and so often with models likewise.
    fn cold_and_warm(without: [u64; 2], with: [u64; 2]) -> History {
        let look_ups = LookUps::default();
        for (by_model, [read, cached]) in [(false, without), (true, with)] {
            for (has_read, gets) in [(true, read), (false, cached)] {
                for serves in [false, true] {
                    let look_up = LookUp {
                        serves,
                        by_model,
                        has_read,
                    };
                    (0..gets).for_each(|_| look_ups.note(look_up, 300));
                }
            }
        }
        let mut history = History::default();
        (0..20).for_each(|_| history.add(1_000.0, &Seen::of(&look_ups)));
        history
    }

    /// Where all look-ups without models read, and none with models, nothing can be compared: it is not that models save nothing.
    #[test]
    fn a_gain_that_is_not_known_is_not_none() {
        let known = |history: History| history.gain(1_000.0, 1.0).is_finite();
        assert!(!known(cold_and_warm([50, 0], [0, 50])));
        // Nor does a small part tell of the rest.
        assert!(!known(cold_and_warm([500, 2], [0, 50])));
        assert!(known(cold_and_warm([50, 50], [0, 50])));
        assert!(known(cold_and_warm([0, 50], [0, 50])));
        assert!(known(cold_and_warm([10, 50], [50, 50])));
    }

    /// What readers do changes.
    #[test]
    fn what_was_seen_long_ago_counts_for_less() {
        let mut history = history(200, 100, [400, 300]);
        assert!(history.gain(1_000.0, 0.0) > 0.0);
        (0..1_000).for_each(|_| history.add(1_000.0, &seen(100, [300, 400])));
        assert!(history.gain(1_000.0, 0.0) < 0.0 && history.files <= MOST_FILES);
    }
}
