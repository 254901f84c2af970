//! The numbers of the drawings as tables: all numbers, and the published numbers beside ours.

use super::chart::axis_of;
use super::marks::{place, value};
use super::model::{Axis, Cell, Chart, Mark, Marks, Point, Series, Table};
use super::number::{exact, factor, with_unit};

/// The maximum number of listed points; of a longer series every n-th point is listed, with a note.
const MOST_ROWS: usize = 64;

/// The maximum number of series with columns of their own.
const MOST_COLUMNS: usize = 9;

/// All numbers of a chart: a row for each position and a column for each series, or, if there are many series
/// or they have different positions, a row for each point.
pub fn numbers(chart: &Chart) -> Table {
    let mut places: Vec<f64> = Vec::new();
    for point in chart.series.iter().flat_map(|series| &series.points) {
        if !places.contains(&point.x) && !point.x.is_nan() {
            places.push(point.x);
        }
    }
    places.sort_by(f64::total_cmp);
    let longest = chart.series.iter().map(|series| series.points.len()).max();
    let shared = places.len() <= 2 * longest.unwrap_or(0)
        && places.len() <= MOST_ROWS
        && chart.series.len() <= MOST_COLUMNS;
    let scattered = chart
        .series
        .iter()
        .any(|series| series.marks == Marks::Scatter);
    if shared && !scattered {
        by_place(chart, &places)
    } else {
        by_point(chart)
    }
}

fn by_place(chart: &Chart, places: &[f64]) -> Table {
    let mut headings = vec![with_unit(&chart.x.label, &chart.x.unit)];
    headings.extend(chart.series.iter().map(|series| match chart.y2 {
        Some(_) => format!("{}: {}", name(series), quantity(axis_of(chart, series))),
        None => name(series),
    }));
    let rows = places.iter().map(|x| {
        let first = Cell::text(&place(&chart.x.scale, *x));
        let rest = chart.series.iter().map(|series| {
            let point = series.points.iter().find(|point| point.x == *x);
            Cell::text(&point.map_or("–".to_string(), value))
        });
        [first].into_iter().chain(rest).collect()
    });
    let title = match chart.y2 {
        Some(_) => chart.title.clone(),
        None => format!("{}: {}", chart.title, quantity(&chart.y)),
    };
    Table {
        title,
        headings,
        text_columns: 1,
        rows: rows.collect(),
    }
}

fn by_point(chart: &Chart) -> Table {
    let every = chart.series.iter().map(|series| series.points.len());
    let every = every.max().unwrap_or(0).div_ceil(MOST_ROWS).max(1);
    let points = chart.series.iter().flat_map(|series| {
        let points = series.points.iter().step_by(every);
        points.map(move |point| (series, point))
    });
    let rows = points.map(|(series, point)| {
        let label = Cell::text(&point.label);
        let x = Cell::text(&place(&chart.x.scale, point.x));
        vec![
            Cell::text(&name(series)),
            label,
            x,
            Cell::text(&value(point)),
        ]
    });
    let note = match every {
        1 => String::new(),
        _ => format!(" (one point in {every})"),
    };
    let y = match &chart.y2 {
        Some(y2) => format!("{} or {}", quantity(&chart.y), quantity(y2)),
        None => quantity(&chart.y),
    };
    Table {
        title: format!("{}{note}", chart.title),
        headings: vec![
            "Series".to_string(),
            "At".to_string(),
            quantity(&chart.x),
            y,
        ],
        text_columns: 2,
        rows: rows.collect(),
    }
}

/// Each published number of a chart, our number and their quotient; for points with two costs, both
/// costs. None if no series is published under the name of one of ours.
pub fn beside(chart: &Chart) -> Option<Table> {
    let ours = |name: &str| {
        let mut ours = chart.series.iter().filter(|ours| ours.published.is_none());
        ours.any(|ours| ours.name == name)
    };
    let comparable = |series: &&Series| series.published.is_some() && ours(&series.name);
    let published = || chart.series.iter().filter(comparable);
    let rows = published().flat_map(|theirs| {
        let points = theirs.points.iter();
        points.map(move |point| compared(chart, theirs, point))
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let mut headings = vec!["Series".to_string(), "At".to_string()];
    let axes = published()
        .next()
        .map(|theirs| compared_axes(chart, theirs));
    for axis in axes.into_iter().flatten() {
        headings.push(format!("{}: published", quantity(axis)));
        headings.extend(["ours", "ours / published"].map(str::to_string));
    }
    (!rows.is_empty()).then(|| Table {
        title: chart.title.clone(),
        headings,
        text_columns: 2,
        rows,
    })
}

/// The axes whose numbers may differ from the published ones.
fn compared_axes<'a>(chart: &'a Chart, theirs: &Series) -> Vec<&'a Axis> {
    let y = axis_of(chart, theirs);
    match theirs.marks {
        Marks::Scatter => vec![&chart.x, y],
        Marks::Line | Marks::Bar | Marks::Stacked => vec![y],
    }
}

/// The row of one published point.
fn compared(chart: &Chart, theirs: &Series, point: &Point) -> Vec<Cell> {
    let scattered = theirs.marks == Marks::Scatter;
    let ours = chart.series.iter().find(|ours| {
        let same = ours.name == theirs.name && ours.on_second_axis == theirs.on_second_axis;
        same && ours.published.is_none()
    });
    let ours = ours.and_then(|ours| {
        let same = |other: &&Point| match scattered {
            true => other.label == point.label,
            false => other.x == point.x,
        };
        ours.points.iter().find(same)
    });
    let at = match scattered {
        true => point.label.clone(),
        false => place(&chart.x.scale, point.x),
    };
    let mut texts = vec![theirs.name.clone(), at];
    let mut add = |published: f64, ours: Option<f64>| {
        texts.push(exact(published));
        texts.push(ours.map_or("–".to_string(), exact));
        let ratio = ours.map(|ours| ours / published);
        let ratio = ratio.filter(|ratio| ratio.is_finite());
        texts.push(ratio.map_or("–".to_string(), factor));
    };
    if scattered {
        add(point.x, ours.map(|ours| ours.x));
    }
    add(point.y, ours.map(|ours| ours.y));
    texts.iter().map(|text| Cell::text(text)).collect()
}

fn name(series: &Series) -> String {
    match series.published {
        Some(_) => format!("{}, published", series.name),
        None => series.name.clone(),
    }
}

fn quantity(axis: &Axis) -> String {
    with_unit(&axis.label, &axis.unit)
}

/// The sign of a mark, its class, and its meaning in words (as a tooltip).
pub fn sign(mark: Mark) -> (&'static str, &'static str, &'static str) {
    match mark {
        Mark::Good => ("✓", "good", "efficient"),
        Mark::Caution => ("⚠", "caution", "possible issues"),
        Mark::Bad => ("✗", "bad", "severe limits"),
    }
}
