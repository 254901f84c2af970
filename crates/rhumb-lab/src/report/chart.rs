//! Charts as SVG, alone or side by side: selection of the numbers that can be drawn, and what side
//! by side charts share.

use super::legend::Legend;
use super::limits::{Extent, Limits};
use super::marks;
use super::markup::{Attributes, Markup, Px};
use super::model::{Axis, Chart, Marks, Multiples, Point, Scale, Series};
use super::notes::Notes;
use super::plot::{Frame, Plot, y_names};
use super::scale::{Misfit, fits};
use super::style::{KEY, Style, is_kind, styles};

/// Width of a chart; two fit side by side on a page. A chart with many bars has the page's width.
const WIDTH: f64 = 560.0;
const WIDE: f64 = 1140.0;
const HEIGHT: f64 = 250.0;

/// Width and height of charts beside each other, by the number of charts in a row from 1.
const BESIDE: [(f64, f64); 4] = [
    (1140.0, 230.0),
    (560.0, 220.0),
    (368.0, 190.0),
    (272.0, 160.0),
];

/// Bars narrower than this need more width.
const LEAST_BAR: f64 = 5.0;

/// Categories narrower than this need more width: their names would cover each other.
const LEAST_NAME: f64 = 16.0;

/// The share of a category's width that its bars fill.
pub const FILLED: f64 = 0.84;

/// A series with those of its points that can be drawn.
pub struct Drawn<'a> {
    pub series: &'a Series,
    pub style: Style,
    pub points: Vec<&'a Point>,
    /// Whether it uses the right axis.
    pub second: bool,
    /// The position of its bars within a category, from the left; stacks share one position.
    pub slot: usize,
}

impl Drawn<'_> {
    pub fn is_bar(&self) -> bool {
        matches!(self.series.marks, Marks::Bar | Marks::Stacked)
    }
}

/// Draws a chart, with notes below it.
pub fn draw(chart: &Chart, out: &mut Markup) {
    let mut notes = Notes::default();
    let series = sift(chart, &mut notes);
    let legend = Legend::of(chart, &series);
    let wide = is_wide(chart);
    let width = if wide { WIDE } else { WIDTH };
    let frame = Frame {
        size: (width, HEIGHT),
        legend: legend.height(width),
        y: limits(&chart.y, &[&series], false),
        y2: chart.y2.as_ref().map(|y2| limits(y2, &[&series], true)),
        named: true,
    };
    let plot = Plot::new(chart, series, &frame);
    let class = if wide { "wide" } else { "normal" };
    svg(&plot, &legend, class, out);
    notes.add(&plot);
    notes.draw(out);
}

/// Draws charts beside each other, with notes on all of them below.
pub fn draw_all(multiples: &Multiples, out: &mut Markup) {
    let charts = &multiples.charts;
    let Some(first) = charts.first() else { return };
    let mut notes = Notes::default();
    let series: Vec<_> = charts.iter().map(|chart| sift(chart, &mut notes)).collect();
    let all: Vec<&[Drawn<'_>]> = series.iter().map(Vec::as_slice).collect();
    let in_a_row = in_a_row(charts);
    let size = in_a_row.checked_sub(1).and_then(|at| BESIDE.get(at));
    let size = size.copied().unwrap_or((WIDTH, HEIGHT));
    let (y, y2) = (
        limits(&first.y, &all, false),
        first.y2.as_ref().map(|axis| limits(axis, &all, true)),
    );
    let legends = charts.iter().zip(&series);
    let legends: Vec<Legend> = legends.map(|(c, series)| Legend::of(c, series)).collect();
    let frame = Frame {
        size,
        legend: legends.iter().map(|l| l.height(size.0)).fold(0.0, f64::max),
        y,
        y2,
        named: false,
    };
    out.nest(
        "div",
        &[("class", &format!("multiples m{in_a_row}"))],
        |out| {
            for ((chart, series), legend) in charts.iter().zip(series).zip(&legends) {
                let plot = Plot::new(chart, series, &frame);
                out.nest("div", &[], |out| {
                    out.element("h5", &[], &chart.title);
                    svg(&plot, legend, "normal", out);
                });
                notes.add(&plot);
            }
        },
    );
    let [left, right] = y_names(first, &frame);
    let right = match right.as_str() {
        "" => String::new(),
        right => format!("; right axes: {right}"),
    };
    let names = format!("Left axes, alike in all: {left}{right}.");
    out.element("p", &[("class", &"axes")], &names);
    notes.draw(out);
}

/// The number of charts in a row: at most four, fewer if there are many bars or names.
fn in_a_row(charts: &[Chart]) -> usize {
    let needs = |chart: &Chart| match &chart.x.scale {
        Scale::Category(names) => {
            let bars = (bars_of_category(chart) * names.len()) as f64;
            (60.0 + LEAST_NAME * names.len() as f64).max(60.0 + LEAST_BAR * bars / FILLED)
        }
        _ => 0.0,
    };
    let least = charts.iter().map(needs).fold(0.0, f64::max);
    let fits = |(width, _): &&(f64, f64)| *width >= least;
    let fitting = BESIDE.iter().filter(fits).count().max(1);
    fitting.min(charts.len())
}

fn svg(plot: &Plot<'_>, legend: &Legend, class: &str, out: &mut Markup) {
    let view = format!("0 0 {} {}", Px(plot.width), Px(plot.height));
    out.nest("div", &[("class", &format!("drawing {class}"))], |out| {
        let attributes: Attributes<'_> = &[
            ("viewBox", &view),
            ("role", &"img"),
            ("aria-label", &plot.chart.title),
        ];
        out.nest("svg", attributes, |out| {
            legend.draw(plot.width, out);
            plot.axes(out);
            marks::draw(plot, out);
        });
    });
}

/// The points that can be drawn; the others are noted.
fn sift<'a>(chart: &'a Chart, notes: &mut Notes) -> Vec<Drawn<'a>> {
    let names: Vec<&str> = chart.series.iter().map(|series| &*series.name).collect();
    let slots = slots(chart);
    let mut drawn = Vec::new();
    for ((series, style), slot) in chart.series.iter().zip(styles(&names)).zip(slots) {
        let ours = chart
            .series
            .iter()
            .any(|ours| ours.published.is_none() && ours.name == series.name);
        let style = Style {
            class: if ours || is_kind(&series.name) {
                style.class
            } else {
                KEY
            },
            ..style
        };
        let fit = |point: &&Point| match fits_chart(chart, series, point) {
            Ok(()) => true,
            Err(misfit) => {
                notes.misfit(misfit);
                false
            }
        };
        let points = series.points.iter().filter(fit).collect();
        drawn.push(Drawn {
            series,
            style,
            points,
            second: chart.y2.is_some() && series.on_second_axis,
            slot,
        });
    }
    drawn
}

fn fits_chart(chart: &Chart, series: &Series, point: &Point) -> Result<(), Misfit> {
    fits(&chart.x.scale, point.x)?;
    fits(&axis_of(chart, series).scale, point.y)?;
    let bar = matches!(series.marks, Marks::Bar | Marks::Stacked);
    match &chart.x.scale {
        Scale::Linear | Scale::Log10 | Scale::Log2 if bar => Err(Misfit::NoCategory),
        _ if series.marks == Marks::Stacked && point.y < 0.0 => Err(Misfit::NotPositive),
        _ => Ok(()),
    }
}

/// The vertical axis of a series.
pub fn axis_of<'a>(chart: &'a Chart, series: &Series) -> &'a Axis {
    let second = chart.y2.as_ref().filter(|_| series.on_second_axis);
    second.unwrap_or(&chart.y)
}

/// A position for bars within their categories.
struct Slot {
    published: bool,
    /// The categories in which a series of bars uses this position; `None` for stacks.
    taken: Option<Vec<f64>>,
}

/// The position of each series within a category. A series of bars has its own position, which it
/// may share with series that have no category in common with it; all our stacks share one
/// position, and all published stacks another.
fn slots(chart: &Chart) -> Vec<usize> {
    let mut slots: Vec<Slot> = Vec::new();
    let place = |series: &Series| {
        let own: Option<Vec<f64>> = match series.marks {
            Marks::Bar => Some(series.points.iter().map(|point| point.x).collect()),
            Marks::Stacked => None,
            Marks::Line | Marks::Scatter => return 0,
        };
        let free = |slot: &Slot| {
            slot.published == series.published.is_some()
                && match (&slot.taken, &own) {
                    (None, None) => true,
                    (Some(taken), Some(own)) => !own.iter().any(|x| taken.contains(x)),
                    _ => false,
                }
        };
        let at = slots.iter().position(free).unwrap_or(slots.len());
        match slots.get_mut(at) {
            None => slots.push(Slot {
                published: series.published.is_some(),
                taken: own,
            }),
            Some(slot) => slot
                .taken
                .iter_mut()
                .zip(own)
                .for_each(|(t, o)| t.extend(o)),
        }
        at
    };
    chart.series.iter().map(place).collect()
}

pub fn bars_of_category(chart: &Chart) -> usize {
    slots(chart).into_iter().max().map_or(1, |last| last + 1)
}

/// Whether a chart has so many bars that it needs the page's width.
pub fn is_wide(chart: &Chart) -> bool {
    let Scale::Category(names) = &chart.x.scale else {
        return false;
    };
    let bars = bars_of_category(chart) * names.len();
    bars > names.len() && WIDTH * 0.85 * FILLED < LEAST_BAR * bars as f64
}

/// What a vertical axis of some charts must cover: numbers with their error bars, and tops of stacks.
fn limits(axis: &Axis, charts: &[&[Drawn<'_>]], second: bool) -> Limits {
    let mut extents = Vec::new();
    let mut bars = false;
    for series in charts {
        for drawn in series.iter().filter(|drawn| drawn.second == second) {
            bars |= drawn.is_bar();
            extents.extend(drawn.points.iter().map(|point| Extent {
                number: top(series, drawn, point),
                ends: point.spread.unwrap_or((point.y, point.y)),
            }));
        }
    }
    Limits::of_heights(&axis.scale, &extents, bars)
}

/// A point's number, or the top of its part of a stack.
pub fn top(all: &[Drawn<'_>], drawn: &Drawn<'_>, point: &Point) -> f64 {
    match stacked_below(all, drawn, point.x) {
        _ if drawn.series.marks != Marks::Stacked => point.y,
        (below, own) => below + own,
    }
}

/// The sum of the values below a series in its stack at a category, and its own value there; both
/// are 0 if it is not stacked.
pub fn stacked_below(all: &[Drawn<'_>], drawn: &Drawn<'_>, x: f64) -> (f64, f64) {
    let height = |drawn: &Drawn<'_>| -> f64 {
        let here = drawn.points.iter().filter(|point| point.x == x);
        here.map(|point| point.y).sum()
    };
    if drawn.series.marks != Marks::Stacked {
        return (0.0, 0.0);
    }
    let same =
        |other: &&Drawn<'_>| other.series.marks == Marks::Stacked && other.slot == drawn.slot;
    let before = all.iter().take_while(|other| !std::ptr::eq(*other, drawn));
    (before.filter(same).map(height).sum(), height(drawn))
}
