//! What an axis of numbers covers: where it begins, and which numbers are cut because they would
//! flatten all others.

use super::model::Scale;

/// At most one number in this many is cut, if the largest is more than this many times as large as the
/// largest that stays.
type Rule = (usize, f64);

/// The rule for vertical axes.
const HEIGHTS: Rule = (6, 2.5);

/// The rule for horizontal axes: a long tail of a distribution stays.
const PLACES: Rule = (50, 10.0);

/// Ends of error bars are drawn up to this many times the largest number that is drawn in full.
const REACH: f64 = 1.3;

/// An axis of numbers starts at 0 if its smallest number is below this share of the largest.
const FROM_ZERO: f64 = 0.5;

/// A number with the ends of its error bar.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub number: f64,
    pub ends: (f64, f64),
}

impl Extent {
    /// A number without an error bar.
    pub fn of(number: f64) -> Extent {
        Extent {
            number,
            ends: (number, number),
        }
    }
}

/// The numbers that an axis covers.
#[derive(Debug, Clone)]
pub struct Limits {
    /// All that is to be visible.
    pub values: Vec<f64>,
    /// Whether the axis begins at 0, or on a logarithmic axis leaves room for bars.
    pub base: bool,
    /// The largest number that is drawn in full; infinite if none is cut.
    most: f64,
}

impl Limits {
    /// The limits of a vertical axis for all of the numbers. Only a linear axis cuts numbers or begins
    /// elsewhere than at 0; below bars it always begins at 0.
    pub fn of_heights(scale: &Scale, extents: &[Extent], bars: bool) -> Limits {
        Limits::new(scale, extents, bars, HEIGHTS)
    }

    /// The limits of a horizontal axis.
    pub fn of_places(scale: &Scale, extents: &[Extent]) -> Limits {
        Limits::new(scale, extents, false, PLACES)
    }

    fn new(scale: &Scale, extents: &[Extent], bars: bool, rule: Rule) -> Limits {
        let numbers = extents.iter().map(|extent| extent.number);
        let numbers: Vec<f64> = numbers.filter(|number| number.is_finite()).collect();
        if *scale != Scale::Linear {
            let ends = extents.iter().flat_map(|e| [e.number, e.ends.0, e.ends.1]);
            return Limits {
                values: ends.collect(),
                base: bars,
                most: f64::INFINITY,
            };
        }
        let most = most(numbers.clone(), rule);
        let kept = numbers.iter().copied().filter(|number| *number <= most);
        let greatest = kept.clone().fold(f64::NEG_INFINITY, f64::max);
        let least = kept.clone().fold(f64::INFINITY, f64::min);
        let shown = extents.iter().filter(|extent| extent.number <= most);
        let reach = greatest.abs() * REACH;
        let ends = shown.flat_map(|e| [e.ends.0, e.ends.1].map(|end| end.clamp(-reach, reach)));
        Limits {
            values: kept.chain(ends).collect(),
            base: bars || least < FROM_ZERO * greatest,
            most,
        }
    }

    /// Whether the axis does not reach as far as a number for its own sake.
    pub fn cuts(&self, number: f64) -> bool {
        number > self.most
    }
}

/// The largest number that is not cut.
fn most(mut numbers: Vec<f64>, (one_in, far): Rule) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let Some(last) = numbers.last().copied() else {
        return f64::INFINITY;
    };
    let cut = numbers.len() / one_in;
    let mut staying = numbers.iter().rev().skip(1).take(cut).copied();
    let most = staying.find(|number| *number > 0.0 && number * far < last);
    most.unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(numbers: &[f64], bars: bool) -> Limits {
        let extents: Vec<Extent> = numbers.iter().map(|number| Extent::of(*number)).collect();
        Limits::of_heights(&Scale::Linear, &extents, bars)
    }

    #[test]
    fn few_numbers_far_above_the_others_are_cut() {
        let mut numbers: Vec<f64> = (0..12).map(|at| 3.0 + f64::from(at) / 10.0).collect();
        assert!(!limits(&numbers, false).cuts(4.1));
        numbers.extend([40.0, 80.0]);
        let cut = limits(&numbers, false);
        assert!(cut.cuts(40.0) && cut.cuts(80.0) && !cut.cuts(4.1));
        assert!(cut.values.iter().all(|value| *value < 5.0));
        // Three of fifteen are not few.
        numbers.push(60.0);
        assert!(!limits(&numbers, false).cuts(80.0));
        assert!(!limits(&[1.0, 9.0], false).cuts(9.0));
        assert!(!limits(&[], false).cuts(9.0));
        let extents = numbers[..14].iter().map(|number| Extent::of(*number));
        let extents: Vec<Extent> = extents.collect();
        assert!(!Limits::of_heights(&Scale::Log10, &extents, false).cuts(80.0));
    }

    #[test]
    fn a_far_place_is_cut_but_not_a_long_tail() {
        let tail: Vec<f64> = (1..=200).map(|at| 1.0 / f64::from(at)).collect();
        let cuts = |places: &[f64]| {
            let places: Vec<Extent> = places.iter().map(|place| Extent::of(*place)).collect();
            Limits::of_places(&Scale::Linear, &places).cuts(1.0)
        };
        assert!(!cuts(&tail));
        let mut far: Vec<f64> = tail.iter().map(|place| place / 1e8).collect();
        far.push(1.0);
        assert!(cuts(&far));
    }

    #[test]
    fn an_axis_begins_at_zero_unless_differences_would_vanish() {
        assert!(!limits(&[3.0, 3.5], false).base);
        assert!(limits(&[3.0, 3.5], true).base, "bars begin at 0");
        assert!(limits(&[1.0, 3.5], false).base);
        assert!(limits(&[-3.0, 3.5], false).base);
    }

    #[test]
    fn a_long_error_bar_does_not_flatten_the_rest() {
        let noisy = Extent {
            number: 3.0,
            ends: (2.9, 90.0),
        };
        let limits = Limits::of_heights(&Scale::Linear, &[Extent::of(3.5), noisy], false);
        assert!(limits.values.iter().all(|value| *value < 5.0));
    }
}
