//! Charts from cells.

use super::figure::{self, value};
use super::{Against, Along, Chart, How, Measure, Split, chosen, classes, values};
use crate::report::model::{self, Axis, Marks, Multiples, Panel, Point, Scale, Series};
use crate::results::Cell;

/// Numbers over an axis: one chart, or several beside each other.
pub fn chart(chart: &Chart, all: &[&Cell]) -> Option<Panel> {
    let cells = chosen(all, chart.only);
    let parts = match chart.split {
        Split::None => vec![(chart.title.to_string(), cells)],
        Split::Classes => classes::divided(&cells),
        Split::By(axis) => by(&cells, axis),
    };
    let charts = parts.into_iter().map(|(title, cells)| {
        let drawing = Drawing { chart, all, cells };
        drawing.draw(title)
    });
    beside(chart.title, charts.collect())
}

/// The cells of each value of an axis.
fn by<'c>(cells: &[&'c Cell], axis: &str) -> Vec<(String, Vec<&'c Cell>)> {
    let parts = values(cells, axis).into_iter().map(|value| {
        let of = cells
            .iter()
            .copied()
            .filter(|cell| cell.axis(axis) == value);
        let cells: Vec<&Cell> = of.collect();
        (value, cells)
    });
    parts.collect()
}

/// One chart alone or several beside each other; none if there is nothing to draw.
fn beside(title: &str, mut charts: Vec<model::Chart>) -> Option<Panel> {
    charts.retain(|chart| !chart.series.is_empty());
    match charts.len() {
        0 => None,
        1 => charts.pop().map(|chart| {
            Panel::Chart(model::Chart {
                title: title.to_string(),
                ..chart
            })
        }),
        _ => Some(Panel::Multiples(Multiples {
            title: title.to_string(),
            charts,
        })),
    }
}

/// A chart of some cells.
struct Drawing<'a> {
    chart: &'a Chart,
    /// The cells of the experiment, among which others are found for comparison.
    all: &'a [&'a Cell],
    cells: Vec<&'a Cell>,
}

impl Drawing<'_> {
    fn draw(&self, title: String) -> model::Chart {
        let chart = self.chart;
        let x = match &chart.x {
            Along::Names { axis, label } => {
                Axis::new(label, "", Scale::Category(values(&self.cells, axis)))
            }
            Along::Numbers { label, unit, .. } => Axis::new(label, unit, Scale::Log2),
            Along::Steps { label } => Axis::new(label, "", Scale::Linear),
            Along::Measure { measure, .. } => {
                Axis::new(measure.label, measure.unit, measure.scale())
            }
        };
        let mut series = self.ours(&chart.y, false);
        if let Some(y2) = &chart.y2 {
            series.extend(self.ours(y2, true));
        }
        if !series.is_empty() {
            series.extend(self.published());
        }
        model::Chart {
            title,
            x,
            y: axis(&chart.y, chart.against),
            y2: chart.y2.as_ref().map(|y2| axis(y2, chart.against)),
            series,
        }
    }

    /// The position of a cell along the axis.
    fn place(&self, cell: &Cell) -> Option<f64> {
        match &self.chart.x {
            Along::Names { axis, .. } => {
                let names = values(&self.cells, axis);
                let at = names.iter().position(|name| name == cell.axis(axis));
                at.map(|at| at as f64)
            }
            Along::Numbers { axis, divisor, .. } => {
                let number = cell.axis(axis).trim_end_matches([' ', '%']);
                Some(number.parse::<f64>().ok()? / divisor)
            }
            Along::Measure { measure, .. } => value(cell, measure),
            Along::Steps { .. } => None,
        }
    }

    /// The points of a cell: one, or one for each step.
    fn points(&self, cell: &Cell, measure: &Measure) -> Vec<Point> {
        let point = |place, metric: &str| {
            let of = (metric, measure.divisor);
            figure::point(self.all, cell, place, of, self.chart.against)
        };
        let metric = measure.metric;
        match &self.chart.x {
            Along::Steps { .. } => {
                let steps = figure::steps(cell, metric).into_iter();
                let points = steps.filter_map(|n| point(n.into(), &format!("{metric}_{n}")));
                points.collect()
            }
            _ => {
                let place = self.place(cell);
                place.and_then(|at| point(at, metric)).into_iter().collect()
            }
        }
    }

    /// The series of a measure.
    fn ours(&self, measure: &Measure, second: bool) -> Vec<Series> {
        let points = |cell: &Cell| self.points(cell, measure);
        let marks = if second {
            Marks::Line
        } else {
            self.chart.marks
        };
        self.series(marks, second, None, &points)
    }

    /// The published numbers.
    fn published(&self) -> Vec<Series> {
        let series = self.chart.published.iter().flat_map(|published| {
            let source = Some(published.source.to_string());
            let point = |cell: &Cell| {
                let number = (published.of)(cell)?;
                Some(Point::new(self.place(cell)?, number))
            };
            if published.name.is_empty() {
                let points = |cell: &Cell| point(cell).into_iter().collect();
                return self.series(self.chart.marks, false, source, &points);
            }
            let ours = self.cells.iter().filter_map(|cell| point(cell));
            let also = published.also.iter().map(|(x, y)| Point::new(*x, *y));
            let mut points: Vec<Point> = ours.chain(also).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            points.dedup();
            vec![Series {
                name: published.name.to_string(),
                marks: Marks::Line,
                on_second_axis: false,
                published: source,
                points,
            }]
        });
        series.filter(|series| !series.points.is_empty()).collect()
    }

    /// A series for each value of the axis that names them, with the points of its cells.
    fn series(
        &self,
        marks: Marks,
        second: bool,
        published: Option<String>,
        points: &dyn Fn(&Cell) -> Vec<Point>,
    ) -> Vec<Series> {
        let (chart, mut all) = (self.chart, Vec::new());
        for name in values(&self.cells, chart.series) {
            let of = self.cells.iter();
            let of = of.filter(|cell| cell.axis(chart.series) == name);
            let labelled = |cell: &&Cell| {
                let mut points = points(cell);
                if let Along::Measure { beside, .. } = &chart.x {
                    let label = |point: Point| point.labelled(cell.axis(beside));
                    points = points.into_iter().map(label).collect();
                }
                points
            };
            let mut points: Vec<Point> = of.flat_map(labelled).collect();
            if !matches!(chart.x, Along::Measure { .. }) {
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
            }
            if !points.is_empty() {
                all.push(Series {
                    name,
                    marks,
                    on_second_axis: second,
                    published: published.clone(),
                    points,
                });
            }
        }
        all
    }
}

/// The axis of a measure, or of its ratios or differences.
fn axis(measure: &Measure, against: Option<Against>) -> Axis {
    match against.map(|against| against.how) {
        None => Axis::new(measure.label, measure.unit, measure.scale()),
        Some(How::Ratio) => Axis::new(measure.label, "ratio", measure.scale()),
        Some(How::Difference) => Axis::new(measure.label, measure.unit, Scale::Linear),
    }
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
            published: None,
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

/// A chart for each metric, with a bar for each cell.
pub fn groups(
    title: &str,
    cells: &[&Cell],
    by: &str,
    (label, unit, divisor): Named,
    groups: &[(&'static str, &'static str)],
) -> Option<Panel> {
    let names = values(cells, by);
    let charts = groups.iter().map(|(metric, name)| {
        let series = cells.iter().filter_map(|cell| {
            let at = names.iter().position(|name| name == cell.axis(by))?;
            let point = figure::point(cells, cell, at as f64, (metric, divisor), None)?;
            Some(Series {
                name: cell.axis(by).to_string(),
                marks: Marks::Bar,
                on_second_axis: false,
                published: None,
                points: vec![point],
            })
        });
        model::Chart {
            title: name.to_string(),
            x: Axis::new(by, "", Scale::Category(names.clone())),
            y: Axis::new(label, unit, Scale::Linear),
            y2: None,
            series: series.collect(),
        }
    });
    beside(title, charts.collect())
}

/// A chart for each cell with a curve through values at evenly spaced positions.
pub fn curves(
    title: &str,
    cells: &[&Cell],
    metric: &str,
    (x, y): ((&str, &str), (&str, &str)),
    by: &str,
) -> Option<Panel> {
    let charts = cells.iter().filter_map(|cell| {
        let values = &cell.figures.get(metric)?.values;
        let last = values.len().saturating_sub(1).max(1) as f64;
        let points = values.iter().enumerate();
        let points = points.map(|(at, (_, place))| Point::new(*place, at as f64 / last));
        let series = Series {
            name: cell.axis(by).to_string(),
            marks: Marks::Line,
            on_second_axis: false,
            published: None,
            points: points.collect(),
        };
        Some(model::Chart {
            title: cell.axis(by).to_string(),
            x: Axis::new(x.0, x.1, Scale::Linear),
            y: Axis::new(y.0, y.1, Scale::Linear),
            y2: None,
            series: vec![series],
        })
    });
    beside(title, charts.collect())
}
