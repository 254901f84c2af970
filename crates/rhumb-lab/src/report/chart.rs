//! A chart as SVG: selection of the numbers that can be drawn, layout, axes and grid.

use super::legend::Legend;
use super::marks;
use super::markup::{Attributes, Markup, Px};
use super::model::{Axis, Chart, Marks, Point, Scale, Series};
use super::number::with_unit;
use super::scale::{Mapping, Misfit, fits};
use super::shapes::{LINE, area, line, text, text_width};
use super::style::{Style, styles};

/// Width of a chart; two fit side by side on a page. A chart with many bars has the page's width.
const WIDTH: f64 = 560.0;
const WIDE: f64 = 1140.0;
const HEIGHT: f64 = 250.0;

/// Bars narrower than this need the wide form.
const LEAST_BAR: f64 = 5.0;

/// The share of a category's width that its bars fill.
pub const FILLED: f64 = 0.84;

/// Longer names of categories are shortened to this length.
const LONGEST_NAME: usize = 24;

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

/// A chart with its layout.
pub struct Plot<'a> {
    pub chart: &'a Chart,
    pub series: Vec<Drawn<'a>>,
    pub x: Mapping,
    y: Mapping,
    y2: Option<Mapping>,
    /// The number of positions for bars in each category.
    pub slots: usize,
    pub width: f64,
    height: f64,
    /// Edges of the area between the axes.
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Whether names of categories are too long to be written horizontally.
    slanted: bool,
}

/// Draws a chart, with a note below it on points that cannot be drawn.
pub fn draw(chart: &Chart, out: &mut Markup) {
    let (series, misfits) = sift(chart);
    let legend = Legend::of(&series);
    let plot = Plot::new(chart, series, &legend);
    let class = if is_wide(chart) { "wide" } else { "normal" };
    let view = format!("0 0 {} {}", Px(plot.width), Px(plot.height));
    out.nest("div", &[("class", &format!("drawing {class}"))], |out| {
        let attributes: Attributes<'_> = &[
            ("viewBox", &view),
            ("role", &"img"),
            ("aria-label", &chart.title),
        ];
        out.nest("svg", attributes, |out| {
            legend.draw(plot.width, out);
            plot.axes(out);
            marks::draw(&plot, out);
        });
    });
    if let Some(text) = omitted(&misfits) {
        out.element("p", &[("class", &"omitted")], &text);
    }
}

/// Separates the points that can be drawn from those that cannot.
fn sift(chart: &Chart) -> (Vec<Drawn<'_>>, Vec<Misfit>) {
    let names: Vec<&str> = chart.series.iter().map(|series| &*series.name).collect();
    let slots = slots(chart);
    let mut misfits = Vec::new();
    let mut drawn = Vec::new();
    for ((series, style), slot) in chart.series.iter().zip(styles(&names)).zip(slots) {
        let fit = |point: &&Point| match fits_chart(chart, series, point) {
            Ok(()) => true,
            Err(misfit) => {
                misfits.push(misfit);
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
    (drawn, misfits)
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
            slot.published == series.published
                && match (&slot.taken, &own) {
                    (None, None) => true,
                    (Some(taken), Some(own)) => !own.iter().any(|x| taken.contains(x)),
                    _ => false,
                }
        };
        let at = slots.iter().position(free).unwrap_or(slots.len());
        match slots.get_mut(at) {
            None => slots.push(Slot {
                published: series.published,
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

fn bars_of_category(chart: &Chart) -> usize {
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

fn omitted(misfits: &[Misfit]) -> Option<String> {
    let reasons = [
        (Misfit::NotFinite, "not finite"),
        (Misfit::NotPositive, "not above 0 on a logarithmic axis"),
        (Misfit::NoCategory, "without a category"),
    ];
    let counted = reasons.iter().filter_map(|(misfit, reason)| {
        let count = misfits.iter().filter(|other| *other == misfit).count();
        (count > 0).then(|| format!("{count} {reason}"))
    });
    let counted: Vec<String> = counted.collect();
    (!counted.is_empty()).then(|| format!("Points not drawn: {}.", counted.join(", ")))
}

/// All values that a vertical axis must cover: numbers, ends of error bars, tops of stacks.
fn heights<'a>(series: &'a [Drawn<'a>], second: bool) -> impl Iterator<Item = f64> + 'a {
    let here = move |drawn: &&Drawn<'_>| drawn.second == second;
    let points = series.iter().filter(here).flat_map(|drawn| &drawn.points);
    let ends = points.flat_map(|point| {
        let (low, high) = point.spread.unwrap_or((point.y, point.y));
        [point.y, low, high]
    });
    let stacked = series.iter().filter(here);
    let stacked = stacked.filter(|drawn| drawn.series.marks == Marks::Stacked);
    let tops = stacked.flat_map(move |drawn| {
        drawn.points.iter().map(move |point| {
            let (below, own) = stacked_below(series, drawn, point.x);
            below + own
        })
    });
    ends.chain(tops)
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

impl<'a> Plot<'a> {
    fn new(chart: &'a Chart, series: Vec<Drawn<'a>>, legend: &Legend) -> Plot<'a> {
        let bars = |second: bool| {
            let here = |drawn: &&Drawn<'_>| drawn.second == second;
            series.iter().filter(here).any(Drawn::is_bar)
        };
        let vertical = |axis: &Axis, second| {
            let base = bars(second) || axis.scale == Scale::Linear;
            Mapping::new(&axis.scale, heights(&series, second), base, (0.0, 1.0))
        };
        let y = vertical(&chart.y, false);
        let y2 = chart.y2.as_ref().map(|axis| vertical(axis, true));
        let places = series.iter().flat_map(|drawn| &drawn.points);
        let x = Mapping::new(&chart.x.scale, places.map(|p| p.x), false, (0.0, 1.0));

        let categories = x.ticks().len().max(1) as f64;
        let width = if is_wide(chart) { WIDE } else { WIDTH };
        let widest = |mapping: &Mapping| {
            let widths = mapping
                .ticks()
                .into_iter()
                .map(|(_, label)| text_width(&label));
            widths.fold(0.0, f64::max)
        };
        let mut left = widest(&y) + 14.0;
        let right = width - y2.as_ref().map_or(22.0, |y2| widest(y2) + 14.0);
        let name = widest(&x).min(text_width(&"m".repeat(LONGEST_NAME)));
        let is_category = matches!(chart.x.scale, Scale::Category(_));
        let slanted = is_category && name > (right - left) / categories - 4.0;
        if slanted {
            left = left.max(name * 0.82 - (right - left) / categories / 2.0 + 6.0);
        }
        let names = if slanted {
            name * 0.58 + 20.0
        } else {
            LINE + 6.0
        };
        let top = legend.height(width) + axis_rows(chart, width) * LINE + 10.0;
        let bottom = top + HEIGHT;
        Plot {
            x: x.over((left, right)),
            y: y.over((bottom, top)),
            y2: y2.map(|y2| y2.over((bottom, top))),
            slots: bars_of_category(chart),
            chart,
            series,
            width,
            height: bottom + names + LINE + 4.0,
            left,
            right,
            top,
            bottom,
            slanted,
        }
    }

    /// The vertical axis of a series.
    pub fn y(&self, drawn: &Drawn<'_>) -> &Mapping {
        let second = self.y2.as_ref().filter(|_| drawn.second);
        second.unwrap_or(&self.y)
    }

    fn axes(&self, out: &mut Markup) {
        let many = self.slots > 1;
        for (place, _) in self.x.ticks().iter().skip(1).step_by(2).filter(|_| many) {
            let (left, right) = (place - self.x.step() / 2.0, place + self.x.step() / 2.0);
            area(out, "band", [left, self.top, right, self.bottom], "");
        }
        for (place, label) in self.y.ticks() {
            line(out, "grid", (self.left, place), (self.right, place));
            text(out, "end", (self.left - 6.0, place + 4.0), &label);
        }
        for (place, label) in self.y2.iter().flat_map(Mapping::ticks) {
            line(out, "axis", (self.right, place), (self.right + 4.0, place));
            text(out, "start", (self.right + 7.0, place + 4.0), &label);
        }
        if self.y2.is_some() {
            line(
                out,
                "axis",
                (self.right, self.top),
                (self.right, self.bottom),
            );
        }
        line(out, "axis", (self.left, self.top), (self.left, self.bottom));
        line(
            out,
            "axis",
            (self.left, self.bottom),
            (self.right, self.bottom),
        );
        self.x_ticks(out);
        self.axis_names(out);
    }

    fn x_ticks(&self, out: &mut Markup) {
        let is_category = matches!(self.chart.x.scale, Scale::Category(_));
        for (place, label) in self.x.ticks() {
            if !is_category {
                line(out, "grid", (place, self.top), (place, self.bottom));
                line(
                    out,
                    "axis",
                    (place, self.bottom),
                    (place, self.bottom + 4.0),
                );
            }
            let name = shortened(&label);
            if !self.slanted {
                text(out, "middle", (place, self.bottom + LINE), &name);
                continue;
            }
            let (x, y) = (Px(place + 4.0), Px(self.bottom + 14.0));
            let turn = format!("rotate(-35 {x} {y})");
            let at: Attributes<'_> = &[
                ("class", &"end"),
                ("x", &x),
                ("y", &y),
                ("transform", &turn),
            ];
            out.nest("text", at, |out| {
                out.text(&name);
                out.element("title", &[], &label);
            });
        }
    }

    fn axis_names(&self, out: &mut Markup) {
        let [first, second] = y_names(self.chart);
        let y = self.top - 9.0;
        let rows = axis_rows(self.chart, self.width);
        text(out, "start name", (2.0, y - (rows - 1.0) * LINE), &first);
        text(out, "end name", (self.width - 2.0, y), &second);
        let middle = (self.left + self.right) / 2.0;
        let x_name = with_unit(&self.chart.x.label, &self.chart.x.unit);
        text(out, "middle name", (middle, self.height - 5.0), &x_name);
    }
}

/// The names of the vertical axes; if there are two, each also names its marks.
fn y_names(chart: &Chart) -> [String; 2] {
    let name = |axis: &Axis, second: bool| {
        let mut marks: Vec<&str> = Vec::new();
        for series in chart.series.iter().filter(|s| s.on_second_axis == second) {
            let word = match series.marks {
                Marks::Line => "lines",
                Marks::Bar | Marks::Stacked => "bars",
                Marks::Scatter => "points",
            };
            if !marks.contains(&word) {
                marks.push(word);
            }
        }
        format!(
            "{}: {}",
            with_unit(&axis.label, &axis.unit),
            marks.join(", ")
        )
    };
    match &chart.y2 {
        None => [with_unit(&chart.y.label, &chart.y.unit), String::new()],
        Some(y2) => [name(&chart.y, false), name(y2, true)],
    }
}

/// The number of lines for the names of the vertical axes.
fn axis_rows(chart: &Chart, width: f64) -> f64 {
    let [first, second] = y_names(chart);
    let together = text_width(&first) + text_width(&second) + 20.0;
    if together > width { 2.0 } else { 1.0 }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_string();
    }
    let start: String = name.chars().take(LONGEST_NAME - 1).collect();
    start + "…"
}
