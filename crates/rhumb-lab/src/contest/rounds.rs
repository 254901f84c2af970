//! The figures of one system, round by round.

use super::Interval;
use crate::measure::Spread;

/// A round: the run of the program that measured it, and its number. Rounds of different runs are
/// no pair, even with the same number: they may be days apart.
pub type Round = (i64, u32);

/// A figure of a system in each of its rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds(Vec<(Round, f64)>);

impl Rounds {
    /// The figures of some rounds, each round once.
    pub fn new(figures: Vec<(Round, f64)>) -> Rounds {
        Rounds(figures)
    }

    fn figures(&self) -> Vec<f64> {
        self.0.iter().map(|(_, figure)| *figure).collect()
    }

    /// The median of all rounds.
    pub fn median(&self) -> f64 {
        self.spread().median
    }

    /// The number of rounds.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Median, minimum and maximum of all rounds.
    pub fn spread(&self) -> Spread {
        Spread::of(&self.figures())
    }

    /// A function of the figures of several systems in each round that all of them have; no rounds
    /// if there are no systems.
    pub fn of_all(systems: &[Rounds], function: impl Fn(&[f64]) -> f64) -> Rounds {
        let Some((first, others)) = systems.split_first() else {
            return Rounds(Vec::new());
        };
        let common = first.0.iter().filter_map(|(round, figure)| {
            let mut figures = vec![*figure];
            for other in others {
                figures.push(other.0.iter().find(|(known, _)| known == round)?.1);
            }
            Some((*round, function(&figures)))
        });
        Rounds(common.collect())
    }

    /// The ratios to another system, in the rounds that both have.
    pub fn over(&self, other: &Rounds) -> Rounds {
        let both = [self.clone(), other.clone()];
        Rounds::of_all(&both, |figures| match figures {
            [of, over] => of / over,
            _ => f64::NAN,
        })
    }

    /// The interval of the mean.
    pub fn interval(&self) -> Interval {
        Interval::of(&self.figures())
    }

    /// The interval of the geometric mean, for ratios. Unlimited if a figure is not above 0.
    pub fn ratio(&self) -> Interval {
        let logs: Vec<f64> = self.0.iter().map(|(_, figure)| figure.ln()).collect();
        Interval::of(&logs).map(f64::exp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::Side;

    fn rounds(run: i64, figures: &[f64]) -> Rounds {
        let figures = (1..).zip(figures);
        Rounds::new(
            figures
                .map(|(round, figure)| ((run, round), *figure))
                .collect(),
        )
    }

    #[test]
    fn only_rounds_of_one_run_are_pairs() {
        let (one, other) = (rounds(1, &[2.0, 4.0, 9.0]), rounds(1, &[1.0, 2.0]));
        assert_eq!(one.over(&other), rounds(1, &[2.0, 2.0]));
        assert_eq!(one.over(&rounds(2, &[1.0, 2.0])), rounds(1, &[]));
        let none = one.over(&rounds(2, &[1.0])).ratio();
        assert_eq!(none.side_of(1.0, 1.0), Side::Undecided);
        assert_eq!(one.median(), 4.0);
    }

    #[test]
    fn ratios_need_figures_above_zero() {
        for bad in [0.0, -1.0, f64::NAN] {
            let interval = rounds(1, &[bad, 2.0, 2.0]).ratio();
            assert_eq!(interval.side_of(1.0, 1.0), Side::Undecided, "{bad}");
        }
        let doubled = rounds(1, &[2.0; 3]).ratio();
        assert_eq!(doubled.side_of(1.9, 2.1), Side::Within);
        let middle = Rounds::of_all(&[rounds(1, &[1.0, 5.0]), rounds(1, &[3.0, 7.0])], |both| {
            both.iter().sum::<f64>()
        });
        assert_eq!(middle, rounds(1, &[4.0, 12.0]));
    }
}
