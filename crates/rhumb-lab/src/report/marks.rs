//! Bars, stacks, lines and labelled points, with their error bars and tooltips.

use super::chart::{Drawn, FILLED, axis_of, stacked_below};
use super::markup::Markup;
use super::model::{Marks, Point, Scale};
use super::notes::is_noisy;
use super::number::{exact, short, with_unit};
use super::plot::Plot;
use super::shapes::{Area, area, line, text, text_width};
use super::style::marker;

/// A line through more points is drawn without markers.
const MOST_MARKERS: usize = 40;
const RADIUS: f64 = 4.0;

/// The distance between points of different lines at one category, at most; and if there is no
/// other category.
const BESIDE: f64 = 8.0;
const BESIDE_ALONE: f64 = 28.0;

/// Draws all series: bars below lines, published series below ours.
pub fn draw(plot: &Plot<'_>, out: &mut Markup) {
    let mut order: Vec<&Drawn<'_>> = plot.series.iter().collect();
    order.sort_by_key(|drawn| (!drawn.is_bar(), drawn.series.published.is_none()));
    for drawn in &order {
        let class = format!("{} {}", drawn.style.class, whose(drawn));
        out.nest("g", &[("class", &class)], |out| match drawn.series.marks {
            Marks::Bar | Marks::Stacked => bars(plot, drawn, out),
            Marks::Line => through(plot, drawn, "line", out),
            Marks::Scatter => through(plot, drawn, "thin", out),
        });
    }
    labels(plot, out);
    cut(plot, out);
    if plot.series.iter().all(|drawn| drawn.points.is_empty()) {
        let middle = (
            (plot.left + plot.right) / 2.0,
            (plot.top + plot.bottom) / 2.0,
        );
        text(out, "middle", middle, "no numbers to draw");
    }
}

/// The class of our or of published marks.
fn whose(drawn: &Drawn<'_>) -> &'static str {
    match drawn.series.published {
        Some(_) => "published",
        None => "ours",
    }
}

fn bars(plot: &Plot<'_>, drawn: &Drawn<'_>, out: &mut Markup) {
    let y = plot.y(drawn);
    for point in &drawn.points {
        let (from, to) = match stacked_below(&plot.series, drawn, point.x) {
            _ if drawn.series.marks == Marks::Bar => (y.base(), y.at(point.y)),
            (below, own) => (y.at(below), y.at(below + own)),
        };
        let (left, middle, right) = bar_edges(plot, drawn, point);
        let place = [left, from.min(to), right, from.max(to)];
        area(out, "bar", place, &told(plot, drawn, point));
        error_bar(plot, drawn, point, middle, out);
    }
}

/// The left edge, the middle and the right edge of a bar.
fn bar_edges(plot: &Plot<'_>, drawn: &Drawn<'_>, point: &Point) -> (f64, f64, f64) {
    let group = plot.x.step() * FILLED;
    // Limits the width of bars if there are few.
    let width = (group / plot.slots as f64).min(56.0);
    let first = -width * plot.slots as f64 / 2.0;
    let left = plot.x.at(point.x) + first + width * drawn.slot as f64;
    (left + width * 0.05, left + width / 2.0, left + width * 0.95)
}

/// A line with markers.
fn through(plot: &Plot<'_>, drawn: &Drawn<'_>, class: &str, out: &mut Markup) {
    let place = |point: &Point| place_of(plot, drawn, point);
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
        error_bar(plot, drawn, point, place(point).0, out);
    }
    for point in &drawn.points {
        let told = told(plot, drawn, point);
        marker(out, drawn.style.shape, place(point), RADIUS, &told);
    }
}

/// The position of a point. Points of several lines at one category stand beside each other.
fn place_of(plot: &Plot<'_>, drawn: &Drawn<'_>, point: &Point) -> (f64, f64) {
    let (x, y) = (plot.x.at(point.x), plot.y(drawn).at(point.y));
    let Scale::Category(categories) = &plot.chart.x.scale else {
        return (x, y);
    };
    let mut names: Vec<&str> = Vec::new();
    for line in plot.series.iter().filter(|line| !line.is_bar()) {
        if !names.contains(&&*line.series.name) {
            names.push(&line.series.name);
        }
    }
    let at = names.iter().position(|name| *name == drawn.series.name);
    let beside = match categories.len() {
        1 => BESIDE_ALONE,
        _ => BESIDE,
    };
    let gap = (plot.x.step() * 0.6 / names.len() as f64).min(beside);
    let from_middle = at.unwrap_or(0) as f64 - (names.len() as f64 - 1.0) / 2.0;
    (x + gap * from_middle, y)
}

fn error_bar(plot: &Plot<'_>, drawn: &Drawn<'_>, point: &Point, x: f64, out: &mut Markup) {
    let Some((low, high)) = point.spread else {
        return;
    };
    if !(low.is_finite() && high.is_finite() && low < high) {
        return;
    }
    let y = plot.y(drawn);
    let class = match (drawn.is_bar(), is_noisy(point)) {
        (true, false) => "error",
        (true, true) => "error noisy",
        (false, false) => "error own",
        (false, true) => "error own noisy",
    };
    line(out, class, (x, y.at(low)), (x, y.at(high)));
    // An end beyond the axis has no cap.
    for end in [low, high].into_iter().filter(|end| *end <= y.end()) {
        let end = y.at(end);
        line(out, class, (x - 2.5, end), (x + 2.5, end));
    }
}

/// `PGM, published: 16 entries; Latency (µs) 2.50 [2.40 to 2.60]`.
fn told(plot: &Plot<'_>, drawn: &Drawn<'_>, point: &Point) -> String {
    let series = drawn.series;
    let mut parts = vec![series.name.clone()];
    if series.published.is_some() {
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
    for drawn in scattered().filter(|drawn| drawn.series.published.is_none()) {
        let class = format!("{} small", drawn.style.class);
        let mut named = false;
        // Numbers beyond the axis are told at its end.
        let inside = drawn.points.iter().filter(|point| !plot.cuts(drawn, point));
        for point in inside {
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

/// A mark at the end of the axis for each number beyond it, with the number where there is room.
fn cut(plot: &Plot<'_>, out: &mut Markup) {
    let mut taken: Vec<Area> = Vec::new();
    for drawn in &plot.series {
        let class = format!("{} cut", drawn.style.class);
        let mut told = None;
        for point in &drawn.points {
            let (x, y) = match drawn.is_bar() {
                true => (bar_edges(plot, drawn, point).1, plot.top),
                false => place_of(plot, drawn, point),
            };
            if plot.cuts_along(point) {
                let corners = [(-4.0, -5.0), (-4.0, 5.0), (6.0, 0.0)];
                arrow(&class, (plot.right, y), corners, out);
            }
            if !plot.cuts(drawn, point) {
                continue;
            }
            let corners = [(-5.0, 2.0), (5.0, 2.0), (0.0, -7.0)];
            arrow(&class, (x, plot.top), corners, out);
            // A line far above is told once.
            if told == Some(point.y) {
                continue;
            }
            told = Some(point.y);
            let label = short(point.y);
            if let Some(area) = free(plot, (x, plot.top + 8.0), &label, &taken) {
                taken.push([area[0] - 4.0, area[1], area[2] + 4.0, area[3]]);
                text(out, "small start", (area[0], area[3] - 3.0), &label);
            }
        }
    }
}

fn arrow(class: &str, (x, y): (f64, f64), corners: [(f64, f64); 3], out: &mut Markup) {
    let corners = corners.map(|(right, down)| format!("{:.1},{:.1}", x + right, y + down));
    out.nest("g", &[("class", &class)], |out| {
        out.empty("polygon", &[("points", &corners.join(" "))]);
    });
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
