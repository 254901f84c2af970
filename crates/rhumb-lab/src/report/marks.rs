//! Bars, stacks, lines and labelled points, with their error bars and tooltips.

use super::chart::{Drawn, FILLED, Plot, axis_of, stacked_below};
use super::markup::Markup;
use super::model::{Marks, Point, Scale};
use super::number::{exact, with_unit};
use super::shapes::{Area, area, line, text, text_width};
use super::style::marker;

/// A line through more points is drawn without markers.
const MOST_MARKERS: usize = 60;
const RADIUS: f64 = 4.0;

/// Draws all series: bars below lines, published series below ours.
pub fn draw(plot: &Plot<'_>, out: &mut Markup) {
    let mut order: Vec<&Drawn<'_>> = plot.series.iter().collect();
    order.sort_by_key(|drawn| (!drawn.is_bar(), !drawn.series.published));
    for drawn in &order {
        let whose = if drawn.series.published {
            "published"
        } else {
            "ours"
        };
        let class = format!("{} {whose}", drawn.style.class);
        out.nest("g", &[("class", &class)], |out| match drawn.series.marks {
            Marks::Bar | Marks::Stacked => bars(plot, drawn, out),
            Marks::Line => through(plot, drawn, "line", out),
            Marks::Scatter => through(plot, drawn, "thin", out),
        });
    }
    labels(plot, out);
    if plot.series.iter().all(|drawn| drawn.points.is_empty()) {
        let middle = (
            (plot.left + plot.right) / 2.0,
            (plot.top + plot.bottom) / 2.0,
        );
        text(out, "middle", middle, "no numbers to draw");
    }
}

fn bars(plot: &Plot<'_>, drawn: &Drawn<'_>, out: &mut Markup) {
    let y = plot.y(drawn);
    let group = plot.x.step() * FILLED;
    // Limits the width of bars if there are few.
    let width = (group / plot.slots as f64).min(56.0);
    let first = -width * plot.slots as f64 / 2.0;
    for point in &drawn.points {
        let left = plot.x.at(point.x) + first + width * drawn.slot as f64;
        let (from, to) = match stacked_below(&plot.series, drawn, point.x) {
            _ if drawn.series.marks == Marks::Bar => (y.base(), y.at(point.y)),
            (below, own) => (y.at(below), y.at(below + own)),
        };
        let edges = (left + width * 0.05, left + width * 0.95);
        let place = [edges.0, from.min(to), edges.1, from.max(to)];
        area(out, "bar", place, &told(plot, drawn, point));
        error_bar(plot, drawn, point, left + width / 2.0, out);
    }
}

/// A line with markers.
fn through(plot: &Plot<'_>, drawn: &Drawn<'_>, class: &str, out: &mut Markup) {
    let y = plot.y(drawn);
    let place = |point: &Point| (plot.x.at(point.x), y.at(point.y));
    let places = drawn.points.iter().map(|point| place(point));
    let corners: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    if corners.len() > 1 {
        let corners = corners.join(" ");
        // A line in the colour of the bars below it needs an edge to be visible.
        if plot.series.iter().any(Drawn::is_bar) {
            out.empty("polyline", &[("class", &"halo"), ("points", &corners)]);
        }
        out.empty("polyline", &[("class", &class), ("points", &corners)]);
    }
    if corners.len() > MOST_MARKERS {
        return;
    }
    for point in &drawn.points {
        error_bar(plot, drawn, point, plot.x.at(point.x), out);
    }
    for point in &drawn.points {
        let told = told(plot, drawn, point);
        marker(out, drawn.style.shape, place(point), RADIUS, &told);
    }
}

fn error_bar(plot: &Plot<'_>, drawn: &Drawn<'_>, point: &Point, x: f64, out: &mut Markup) {
    let Some((low, high)) = point.spread else {
        return;
    };
    if !(low.is_finite() && high.is_finite() && low < high) {
        return;
    }
    let y = plot.y(drawn);
    let (low, high) = (y.at(low), y.at(high));
    line(out, "error", (x, low), (x, high));
    for end in [low, high] {
        line(out, "error", (x - 2.5, end), (x + 2.5, end));
    }
}

/// `PGM, published: 16 entries; Latency (µs) 2.50 [2.40 to 2.60]`.
fn told(plot: &Plot<'_>, drawn: &Drawn<'_>, point: &Point) -> String {
    let series = drawn.series;
    let mut parts = vec![series.name.clone()];
    if series.published {
        parts.push("published".to_string());
    }
    if !point.label.is_empty() {
        parts.push(point.label.clone());
    }
    let axis = axis_of(plot.chart, series);
    let y = format!("{}: {}", with_unit(&axis.label, &axis.unit), value(point));
    let x = format!(
        "{}: {}",
        plot.chart.x.label,
        place(&plot.chart.x.scale, point.x)
    );
    format!("{}\n{x}\n{y}", parts.join(", "))
}

/// A number with its spread.
pub fn value(point: &Point) -> String {
    match point.spread {
        Some((low, high)) if low < high => {
            format!("{} [{} to {}]", exact(point.y), exact(low), exact(high))
        }
        _ => exact(point.y),
    }
}

/// A number of the horizontal axis, or the name of a category.
pub fn place(scale: &Scale, x: f64) -> String {
    match scale {
        Scale::Category(names) if x >= 0.0 => {
            let name = names.get(x as usize);
            name.cloned().unwrap_or_else(|| exact(x))
        }
        _ if x.fract() == 0.0 && x.abs() < 1e3 => format!("{x}"),
        _ => exact(x),
    }
}

/// The labels of points, where there is room beside them; the tooltip has the label in any case.
/// The first drawn label of each series begins with the name of the series.
fn labels(plot: &Plot<'_>, out: &mut Markup) {
    let scattered = || {
        let all = plot.series.iter();
        all.filter(|drawn| drawn.series.marks == Marks::Scatter)
    };
    let place = |drawn: &Drawn<'_>, point: &Point| (plot.x.at(point.x), plot.y(drawn).at(point.y));
    let mut taken: Vec<Area> = Vec::new();
    for drawn in scattered() {
        for point in &drawn.points {
            let (x, y) = place(drawn, point);
            taken.push([x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS]);
        }
    }
    for drawn in scattered().filter(|drawn| !drawn.series.published) {
        let class = format!("{} small", drawn.style.class);
        let mut named = false;
        for point in &drawn.points {
            let label = match named {
                false => format!("{} {}", drawn.series.name, point.label),
                true => point.label.clone(),
            };
            let Some(area) = free(plot, place(drawn, point), label.trim(), &taken) else {
                continue;
            };
            named = true;
            taken.push(area);
            text(
                out,
                &format!("{class} start"),
                (area[0], area[3] - 3.0),
                label.trim(),
            );
        }
    }
}

/// Room for a label beside a marker.
fn free(plot: &Plot<'_>, (x, y): (f64, f64), label: &str, taken: &[Area]) -> Option<Area> {
    // Labels are smaller than other text.
    let (width, height) = (text_width(label) * 0.88, 12.0);
    let gap = RADIUS + 2.0;
    let (right, left, middle) = (x + gap, x - gap - width, x - width / 2.0);
    let (above, below) = (y - gap - height, y + gap);
    let corners = [
        (right, y - height / 2.0),
        (right, above + 4.0),
        (right, below - 4.0),
        (middle, above),
        (middle, below),
        (left, y - height / 2.0),
        (left, above + 4.0),
        (left, below - 4.0),
    ];
    let areas = corners.map(|(x, y)| [x, y, x + width, y + height]);
    let apart = |a: &Area, b: &Area| a[0] >= b[2] || b[0] >= a[2] || a[1] >= b[3] || b[1] >= a[3];
    let inside = |a: &Area| {
        a[0] > plot.left && a[2] < plot.right + 20.0 && a[1] > plot.top && a[3] < plot.bottom
    };
    let mut fitting = areas.into_iter().filter(inside);
    fitting.find(|area| taken.iter().all(|other| apart(area, other)))
}
