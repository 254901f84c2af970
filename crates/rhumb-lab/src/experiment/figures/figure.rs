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
    measure: &Measure,
    against: Option<Against>,
) -> Option<Point> {
    let divisor = match against {
        Some(Against {
            how: How::Ratio, ..
        }) => 1.0,
        _ => measure.divisor,
    };
    let rounds = rounds(cells, cell, measure.metric, against)?;
    let spread = rounds.spread();
    let point = Point::new(x, spread.median / divisor);
    Some(match rounds.count() {
        0 => return None,
        1 => point,
        _ => point.between(spread.min / divisor, spread.max / divisor),
    })
}

/// The ratio of a figure to that of another cell, and whether the rounds decide that it is not 1.
pub fn ratio(cells: &[&Cell], cell: &Cell, metric: &str, over: Only) -> Option<(f64, bool)> {
    let over = other(cells, cell, over)?;
    let ratios = cell.in_rounds(metric)?.over(&over.in_rounds(metric)?);
    let interval = ratios.ratio();
    let decided = interval.least > 1.0 || interval.greatest < 1.0;
    (ratios.count() > 0).then_some((ratios.median(), decided))
}
