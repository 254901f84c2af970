//! Figures of cells, by themselves or compared with other cells round by round.

use super::{Against, How, Measure, Only};
use crate::contest::Rounds;
use crate::report::model::Point;
use crate::results::Cell;

/// The cell that differs from another one in these axes alone.
pub fn other<'c>(cells: &[&'c Cell], cell: &Cell, axes: Only) -> Option<&'c Cell> {
    let mut wanted = cell.axes.clone();
    for (axis, value) in axes {
        wanted.insert(axis.to_string(), value.to_string());
    }
    cells.iter().copied().find(|other| other.axes == wanted)
}

/// The median of a figure of a cell, in the unit of its drawing.
pub fn value(cell: &Cell, measure: &Measure) -> Option<f64> {
    Some(cell.value(measure.metric)? / measure.divisor)
}

/// A figure of a cell in each round, compared with that of another of `cells`.
fn rounds(cells: &[&Cell], cell: &Cell, metric: &str, against: Option<Against>) -> Option<Rounds> {
    let ours = cell.in_rounds(metric)?;
    let Some(against) = against else {
        return Some(ours);
    };
    let theirs = other(cells, cell, against.cell)?.in_rounds(metric)?;
    Some(Rounds::of_all(&[ours, theirs], |both| {
        match (both, against.how) {
            ([ours, theirs], How::Ratio) => ours / theirs,
            ([ours, theirs], How::Difference) => ours - theirs,
            _ => f64::NAN,
        }
    }))
}

/// A figure of a cell as a point: the median of its rounds, from the smallest to the largest.
pub fn point(
    cells: &[&Cell],
    cell: &Cell,
    x: f64,
    (metric, divisor): (&str, f64),
    against: Option<Against>,
) -> Option<Point> {
    let divisor = match against {
        Some(Against {
            how: How::Ratio, ..
        }) => 1.0,
        _ => divisor,
    };
    let rounds = rounds(cells, cell, metric, against)?;
    let spread = rounds.spread();
    let point = Point::new(x, spread.median / divisor);
    Some(match rounds.count() {
        0 => return None,
        1 => point,
        _ => point.between(spread.min / divisor, spread.max / divisor),
    })
}

/// The numbers behind the name of a metric of a cell, ascending.
pub fn steps(cell: &Cell, metric: &str) -> Vec<u32> {
    let names = cell.figures.keys();
    let number = |name: &String| name.strip_prefix(metric)?.strip_prefix('_')?.parse().ok();
    let mut steps: Vec<u32> = names.filter_map(number).collect();
    steps.sort_unstable();
    steps
}

/// The ratio of a figure to that of another cell, and whether the rounds decide that it is not 1.
pub fn ratio(cells: &[&Cell], cell: &Cell, metric: &str, over: Only) -> Option<(f64, bool)> {
    let over = other(cells, cell, over)?;
    let ratios = cell.in_rounds(metric)?.over(&over.in_rounds(metric)?);
    let interval = ratios.ratio();
    let decided = interval.least > 1.0 || interval.greatest < 1.0;
    // To a figure of 0 there is none.
    let ratio = ratios.median();
    (ratios.count() > 0 && ratio.is_finite()).then_some((ratio, decided))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::Spread;
    use crate::results::Kept;

    /// A time in microseconds.
    const TIME: (&str, f64) = ("time", 1e3);

    fn cell(kind: &str, values: &[f64]) -> Cell {
        let kept = Kept {
            unit: "ns".to_string(),
            spread: Spread::of(values),
            values: (1..).zip(values.iter().copied()).collect(),
        };
        Cell {
            experiment: "E-F7".to_string(),
            scale: "quick".to_string(),
            seed: 42,
            records: 100,
            axes: BTreeMap::from([
                ("kind".to_string(), kind.to_string()),
                ("boundary".to_string(), "16".to_string()),
            ]),
            rounds: Vec::new(),
            figures: BTreeMap::from([("time".to_string(), kept)]),
        }
    }

    #[test]
    fn numbers_are_compared_round_by_round() {
        let (ours, theirs) = (
            cell("pgm", &[1000.0, 4000.0, 3000.0]),
            cell("fp", &[500.0, 2000.0, 1500.0]),
        );
        let cells = [&ours, &theirs];
        let over = |how| {
            Some(Against {
                cell: &[("kind", "fp")],
                how,
            })
        };
        let alone = point(&cells, &ours, 7.0, TIME, None).unwrap();
        assert_eq!(alone, Point::new(7.0, 3.0).between(1.0, 4.0));
        // Twice as long in each round, whatever the rounds differ by.
        let ratio = point(&cells, &ours, 7.0, TIME, over(How::Ratio)).unwrap();
        assert_eq!(ratio, Point::new(7.0, 2.0).between(2.0, 2.0));
        let difference = point(&cells, &ours, 7.0, TIME, over(How::Difference)).unwrap();
        assert_eq!(difference, Point::new(7.0, 1.5).between(0.5, 2.0));
        let none = point(&[&ours], &ours, 7.0, TIME, over(How::Ratio));
        assert_eq!(none, None, "there is no cell to compare with");
        let mut stepped = ours.clone();
        for name in ["time_10", "time_9", "time_x", "times_3"] {
            let kept = stepped.figures["time"].clone();
            stepped.figures.insert(name.to_string(), kept);
        }
        assert_eq!(steps(&stepped, "time"), [9, 10]);
    }

    #[test]
    fn ratios_are_decided_by_all_rounds() {
        let theirs = cell("fp", &[500.0, 2000.0, 1500.0]);
        let twice = cell("pgm", &[1000.0, 4000.0, 3000.0]);
        let unclear = cell("rmi", &[400.0, 2600.0, 1500.0]);
        let cells = [&theirs, &twice, &unclear];
        let over: Only = &[("kind", "fp")];
        assert_eq!(ratio(&cells, &twice, "time", over), Some((2.0, true)));
        let nothing = cell("fp", &[0.0; 3]);
        let cells_of_nothing = [&nothing, &twice];
        assert_eq!(ratio(&cells_of_nothing, &twice, "time", over), None);
        assert_eq!(ratio(&cells, &unclear, "time", over), Some((1.0, false)));
        assert_eq!(ratio(&cells, &theirs, "time", over), Some((1.0, false)));
        assert_eq!(ratio(&cells, &twice, "space", over), None);
    }
}
