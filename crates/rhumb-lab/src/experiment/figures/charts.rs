//! Charts from cells.

use super::{Along, Chart, Measure, chosen, values};
use crate::report::model::{self, Axis, Marks, Panel, Point, Scale, Series};
use crate::results::Cell;

/// Numbers over an axis.
pub fn chart(chart: &Chart, cells: &[&Cell]) -> Option<Panel> {
    let cells = chosen(cells, chart.only);
    let (x, names) = match &chart.x {
        Along::Names { axis, label } => {
            let names = values(&cells, axis);
            (Axis::new(label, "", Scale::Category(names.clone())), names)
        }
        Along::Numbers { label, unit, .. } => (Axis::new(label, unit, Scale::Log2), Vec::new()),
        Along::Measure { measure, .. } => (
            Axis::new(measure.label, measure.unit, measure.scale()),
            Vec::new(),
        ),
    };
    let place = |cell: &Cell| match &chart.x {
        Along::Names { axis, .. } => {
            let at = names.iter().position(|name| name == cell.axis(axis));
            at.map(|at| at as f64)
        }
        Along::Numbers { axis, divisor, .. } => {
            Some(cell.axis(axis).parse::<f64>().ok()? / divisor)
        }
        Along::Measure { measure, .. } => value(cell, measure),
    };
    let mut series = Vec::new();
    let measures = [(Some(&chart.y), false), (chart.y2.as_ref(), true)];
    for (measure, second) in measures {
        let Some(measure) = measure else { continue };
        for name in values(&cells, chart.series) {
            let of = cells.iter().filter(|cell| cell.axis(chart.series) == name);
            let mut points: Vec<Point> = of
                .filter_map(|cell| {
                    let point = point(cell, place(cell)?, measure)?;
                    Some(match &chart.x {
                        Along::Measure { beside, .. } => point.labelled(cell.axis(beside)),
                        _ => point,
                    })
                })
                .collect();
            if !matches!(chart.x, Along::Measure { .. }) {
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
            }
            if !points.is_empty() {
                series.push(Series {
                    name,
                    marks: if second { Marks::Line } else { marks(chart) },
                    on_second_axis: second,
                    published: false,
                    points,
                });
            }
        }
    }
    let axis = |measure: &Measure| Axis::new(measure.label, measure.unit, measure.scale());
    let panel = model::Chart {
        title: chart.title.to_string(),
        x,
        y: axis(&chart.y),
        y2: chart.y2.as_ref().map(axis),
        series,
    };
    (!panel.series.is_empty()).then_some(Panel::Chart(panel))
}

/// The marks of a chart: bars stand alone, without a group, if each name along the axis has one
/// bar.
fn marks(chart: &Chart) -> Marks {
    match chart.x {
        Along::Names { axis, .. } if axis == chart.series && chart.marks == Marks::Bar => {
            Marks::Stacked
        }
        _ => chart.marks,
    }
}

fn value(cell: &Cell, measure: &Measure) -> Option<f64> {
    Some(cell.value(measure.metric)? / measure.divisor)
}

/// A point with its spread, if it was measured several times.
fn point(cell: &Cell, x: f64, measure: &Measure) -> Option<Point> {
    let point = Point::new(x, value(cell, measure)?);
    let kept = cell.figures.get(measure.metric)?;
    let (min, max) = (kept.spread.min, kept.spread.max);
    Some(match kept.values.len() {
        0 | 1 => point,
        _ => point.between(min / measure.divisor, max / measure.divisor),
    })
}

/// The name of a measure, its unit, and the divisor of its values.
type Named = (&'static str, &'static str, f64);

/// Stacked bars.
pub fn parts(
    title: &str,
    cells: &[&Cell],
    along: &str,
    (label, unit, divisor): Named,
    parts: &[(&str, &str)],
) -> Option<Panel> {
    let names = values(cells, along);
    let one = |cell: &Cell, metric: &str| match metric.strip_prefix('-') {
        None => cell.value(metric),
        Some(whole) => {
            let others = parts.iter().filter(|(other, _)| *other != metric);
            let sum: Option<f64> = others.map(|(other, _)| cell.value(other)).sum();
            Some((cell.value(whole)? - sum?).max(0.0))
        }
    };
    let series = parts.iter().map(|(metric, name)| {
        let points = cells.iter().filter_map(|cell| {
            let x = names.iter().position(|name| name == cell.axis(along))?;
            Some(Point::new(x as f64, one(cell, metric)? / divisor))
        });
        Series {
            name: name.to_string(),
            marks: Marks::Stacked,
            on_second_axis: false,
            published: false,
            points: points.collect(),
        }
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let panel = model::Chart {
        title: title.to_string(),
        x: Axis::new(along, "", Scale::Category(names)),
        y: Axis::new(label, unit, Scale::Linear),
        y2: None,
        series,
    };
    (!panel.series.is_empty()).then_some(Panel::Chart(panel))
}

/// Bars side by side, a group for each metric.
pub fn groups(
    title: &str,
    cells: &[&Cell],
    by: &str,
    (label, unit, divisor): Named,
    groups: &[(&str, &str)],
) -> Option<Panel> {
    let series = cells.iter().map(|cell| {
        let points = groups.iter().enumerate().filter_map(|(at, (metric, _))| {
            Some(Point::new(at as f64, cell.value(metric)? / divisor))
        });
        Series {
            name: cell.axis(by).to_string(),
            marks: Marks::Bar,
            on_second_axis: false,
            published: false,
            points: points.collect(),
        }
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let names = groups.iter().map(|(_, name)| name.to_string()).collect();
    let panel = model::Chart {
        title: title.to_string(),
        x: Axis::new("", "", Scale::Category(names)),
        y: Axis::new(label, unit, Scale::Linear),
        y2: None,
        series,
    };
    (!panel.series.is_empty()).then_some(Panel::Chart(panel))
}

/// Curves through values at evenly spaced positions.
pub fn curves(
    title: &str,
    cells: &[&Cell],
    metric: &str,
    (x, y): ((&str, &str), (&str, &str)),
    by: &str,
) -> Option<Panel> {
    let series = cells.iter().filter_map(|cell| {
        let values = &cell.figures.get(metric)?.values;
        let last = values.len().saturating_sub(1).max(1) as f64;
        let points = values.iter().enumerate();
        let points = points.map(|(at, (_, place))| Point::new(*place, at as f64 / last));
        Some(Series {
            name: cell.axis(by).to_string(),
            marks: Marks::Line,
            on_second_axis: false,
            published: false,
            points: points.collect(),
        })
    });
    let panel = model::Chart {
        title: title.to_string(),
        x: Axis::new(x.0, x.1, Scale::Linear),
        y: Axis::new(y.0, y.1, Scale::Linear),
        y2: None,
        series: series.collect(),
    };
    (!panel.series.is_empty()).then_some(Panel::Chart(panel))
}
