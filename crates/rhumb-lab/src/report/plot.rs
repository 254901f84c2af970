//! The layout of a chart: its axes, ticks and grid.

use super::chart::{Drawn, bars_of_category, top};
use super::limits::{Extent, Limits};
use super::markup::{Attributes, Markup, Px};
use super::model::{Axis, Chart, Marks, Point, Scale};
use super::number::with_unit;
use super::scale::Mapping;
use super::shapes::{LINE, area, line, text, text_width};

/// Longer names of categories are shortened to this length.
const LONGEST_NAME: usize = 24;

/// The size of a drawing, and what it may share with others.
pub struct Frame {
    /// The width of all and the height of the area between the axes.
    pub size: (f64, f64),
    /// The height of the legend.
    pub legend: f64,
    pub y: Limits,
    pub y2: Option<Limits>,
    /// Whether the vertical axes have their names in the drawing.
    pub named: bool,
}

/// A chart with its layout.
pub struct Plot<'a> {
    pub chart: &'a Chart,
    pub series: Vec<Drawn<'a>>,
    pub x: Mapping,
    y: Mapping,
    y2: Option<Mapping>,
    /// What the axes cover: along, left and right.
    limits: (Limits, Limits, Option<Limits>),
    names: [String; 2],
    /// The number of positions for bars in each category.
    pub slots: usize,
    pub width: f64,
    pub height: f64,
    /// Edges of the area between the axes.
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Whether names of categories are too long to be written horizontally.
    slanted: bool,
}

impl<'a> Plot<'a> {
    pub fn new(chart: &'a Chart, series: Vec<Drawn<'a>>, frame: &Frame) -> Plot<'a> {
        let y = mapping(&chart.y.scale, &frame.y);
        let scale = chart.y2.as_ref().map(|axis| &axis.scale);
        let y2 = scale.zip(frame.y2.as_ref());
        let y2 = y2.map(|(scale, limits)| mapping(scale, limits));
        let along = along(chart, &series);
        let x = mapping(&chart.x.scale, &along);

        let categories = x.ticks().len().max(1) as f64;
        let (width, height) = frame.size;
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
        let below = if slanted {
            name * 0.58 + 20.0
        } else {
            LINE + 6.0
        };
        let names = match frame.named {
            true => y_names(chart, frame),
            false => [String::new(), String::new()],
        };
        let top = frame.legend + rows(&names, width) * LINE + 10.0;
        let bottom = top + height;
        Plot {
            x: x.over((left, right)),
            y: y.over((bottom, top)),
            y2: y2.map(|y2| y2.over((bottom, top))),
            limits: (along, frame.y.clone(), frame.y2.clone()),
            names,
            slots: bars_of_category(chart),
            chart,
            series,
            width,
            height: bottom + below + LINE + 4.0,
            left,
            right,
            top,
            bottom,
            slanted,
        }
    }

    /// Whether a point is beyond the end of its vertical axis.
    pub fn cuts(&self, drawn: &Drawn<'_>, point: &Point) -> bool {
        let second = self.limits.2.as_ref().filter(|_| drawn.second);
        let limits = second.unwrap_or(&self.limits.1);
        let number = top(&self.series, drawn, point);
        limits.cuts(number) && number > self.y(drawn).end()
    }

    /// Whether a point is beyond the end of the horizontal axis.
    pub fn cuts_along(&self, point: &Point) -> bool {
        self.limits.0.cuts(point.x) && point.x > self.x.end()
    }

    /// The vertical axis of a series.
    pub fn y(&self, drawn: &Drawn<'_>) -> &Mapping {
        let second = self.y2.as_ref().filter(|_| drawn.second);
        second.unwrap_or(&self.y)
    }

    pub fn axes(&self, out: &mut Markup) {
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
        let ticks = self.x.ticks();
        let widest = ticks.iter().map(|(_, label)| text_width(label));
        let room = (self.right - self.left) / ticks.len().max(1) as f64;
        let every = match is_category {
            true => 1,
            false => ((widest.fold(0.0, f64::max) + 6.0) / room).ceil().max(1.0) as usize,
        };
        for (at, (place, label)) in ticks.into_iter().enumerate() {
            if !is_category {
                line(out, "grid", (place, self.top), (place, self.bottom));
                line(
                    out,
                    "axis",
                    (place, self.bottom),
                    (place, self.bottom + 4.0),
                );
            }
            if at % every != 0 {
                continue;
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
        let [first, second] = &self.names;
        let y = self.top - 9.0;
        let rows = rows(&self.names, self.width).max(1.0);
        text(out, "start name", (2.0, y - (rows - 1.0) * LINE), first);
        text(out, "end name", (self.width - 2.0, y), second);
        let middle = (self.left + self.right) / 2.0;
        let x_name = with_unit(&self.chart.x.label, &self.chart.x.unit);
        text(out, "middle name", (middle, self.height - 5.0), &x_name);
    }
}

fn mapping(scale: &Scale, limits: &Limits) -> Mapping {
    Mapping::new(
        scale,
        limits.values.iter().copied(),
        limits.base,
        (0.0, 1.0),
    )
}

/// What the horizontal axis covers.
fn along(chart: &Chart, series: &[Drawn<'_>]) -> Limits {
    let places = series.iter().flat_map(|drawn| &drawn.points);
    let places: Vec<Extent> = places.map(|point| Extent::of(point.x)).collect();
    Limits::of_places(&chart.x.scale, &places)
}

/// The names of the vertical axes; if there are two, each also names its marks. An axis that begins
/// above 0 says where.
pub fn y_names(chart: &Chart, frame: &Frame) -> [String; 2] {
    let start = |axis: &Axis, limits: &Limits| {
        let start = mapping(&axis.scale, limits).ticks().into_iter().next();
        match start {
            Some((_, label)) if axis.scale == Scale::Linear && label != "0" && !limits.base => {
                format!(", from {label}, not 0")
            }
            _ => String::new(),
        }
    };
    let name = |axis: &Axis, second: bool, limits: &Limits| {
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
        let marks = match chart.y2 {
            Some(_) => format!(": {}", marks.join(", ")),
            None => String::new(),
        };
        format!(
            "{}{}{marks}",
            with_unit(&axis.label, &axis.unit),
            start(axis, limits)
        )
    };
    let second = chart.y2.as_ref().zip(frame.y2.as_ref());
    let second = second.map(|(axis, limits)| name(axis, true, limits));
    [name(&chart.y, false, &frame.y), second.unwrap_or_default()]
}

/// The number of lines for the names of the vertical axes.
fn rows(names: &[String; 2], width: f64) -> f64 {
    let [first, second] = names;
    match text_width(first) + text_width(second) + 20.0 {
        _ if first.is_empty() => 0.0,
        together if together > width => 2.0,
        _ => 1.0,
    }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_string();
    }
    let start: String = name.chars().take(LONGEST_NAME - 1).collect();
    start + "…"
}
