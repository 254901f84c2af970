//! Figures of experiments: declarations of views, and the code that draws them from cells.

mod charts;
mod classes;
mod figure;
mod tables;
mod values;

pub use self::values::Values;
use crate::report::model::{Marks, Panel, Scale};
use crate::results::Cell;

/// One part of a figure.
pub enum View {
    /// Numbers over an axis of the cells.
    Chart(Chart),
    /// A bar for each value of an axis, made of several figures on top of each other.
    Parts {
        title: &'static str,
        only: Only,
        along: &'static str,
        label: &'static str,
        unit: &'static str,
        divisor: f64,
        /// Metrics with their names, from below. A metric with a leading `-` is the whole of which
        /// the others are parts: its bar is the rest.
        parts: &'static [(&'static str, &'static str)],
    },
    /// A chart for each of several figures, with a bar for each cell.
    Groups {
        title: &'static str,
        only: Only,
        series: &'static str,
        label: &'static str,
        unit: &'static str,
        divisor: f64,
        /// Metrics with their names.
        groups: &'static [(&'static str, &'static str)],
    },
    /// A chart for each cell: the curve of a figure whose values are at evenly spaced positions from 0
    /// to 1.
    Curves {
        title: &'static str,
        metric: &'static str,
        x: (&'static str, &'static str),
        y: (&'static str, &'static str),
        series: &'static str,
    },
    /// Ratios of cells to other cells, as colours.
    Ratios {
        title: &'static str,
        only: Only,
        columns: Across,
        /// An axis, and its heading.
        rows: (&'static str, &'static str),
        /// Axes in which the other cell differs, with its values.
        over: Only,
        label: &'static str,
    },
    /// Figures of the first cell in rows and columns, as colours.
    Values(values::Values),
    /// Rows of cells, columns of figures.
    Table {
        title: &'static str,
        only: Only,
        /// Axes, with headings.
        axes: &'static [(&'static str, &'static str)],
        columns: &'static [Column],
        /// Published figures of a cell, in columns after ours.
        published: &'static [Stated],
    },
    /// All figures of the first cell.
    List { title: &'static str },
}

/// Axes with the values that cells must have; of several values, separated by `|`, any one.
pub type Only = &'static [(&'static str, &'static str)];

/// The columns of a heatmap.
pub enum Across {
    /// The values of an axis, with its heading; the figure with this metric is compared.
    Axis(&'static str, &'static str, &'static str),
    /// Several metrics with their names, and a heading for all.
    Metrics(&'static str, &'static [(&'static str, &'static str)]),
}

/// Numbers over an axis.
#[derive(Clone, Copy)]
pub struct Chart {
    pub title: &'static str,
    pub only: Only,
    pub x: Along,
    pub y: Measure,
    /// Another measure of the same cells, as lines by the right axis.
    pub y2: Option<Measure>,
    /// The axis whose values are the series.
    pub series: &'static str,
    pub marks: Marks,
    /// Whether the numbers are compared with those of other cells.
    pub against: Option<Against>,
    /// What the paper says of these numbers.
    pub published: &'static [Published],
    /// How the cells are divided among charts beside each other.
    pub split: Split,
}

impl Chart {
    /// A chart of all chosen cells with marks for each of the series.
    pub const fn new(
        title: &'static str,
        only: Only,
        x: Along,
        y: Measure,
        series: &'static str,
        marks: Marks,
    ) -> Chart {
        Chart {
            title,
            only,
            x,
            y,
            y2: None,
            series,
            marks,
            against: None,
            published: &[],
            split: Split::None,
        }
    }

    /// With a second measure by the right axis.
    pub const fn with(self, y2: Measure) -> Chart {
        Chart {
            y2: Some(y2),
            ..self
        }
    }

    /// Compared with other cells.
    pub const fn against(self, against: Against) -> Chart {
        Chart {
            against: Some(against),
            ..self
        }
    }

    /// Beside what was published.
    pub const fn beside(self, published: &'static [Published]) -> Chart {
        Chart { published, ..self }
    }

    /// Divided among several charts.
    pub const fn split(self, split: Split) -> Chart {
        Chart { split, ..self }
    }
}

/// How cells are divided among charts beside each other.
#[derive(Clone, Copy)]
pub enum Split {
    /// One chart.
    None,
    /// A chart for each class of index kinds.
    Classes,
    /// A chart for each value of an axis.
    By(&'static str),
}

/// Other cells that the numbers are compared with.
#[derive(Clone, Copy)]
pub struct Against {
    /// The axes in which the other cell differs, with its values.
    pub cell: Only,
    pub how: How,
}

/// How a number is compared with another one of the same round.
#[derive(Clone, Copy)]
pub enum How {
    /// Divided by it.
    Ratio,
    /// Less it.
    Difference,
}

/// Published numbers beside ours.
#[derive(Clone, Copy)]
pub struct Published {
    /// The name of a line through them. If it is empty, the numbers have names and marks of the cells
    /// that they are compared with.
    pub name: &'static str,
    /// Where the paper states them, and for which data and device.
    pub source: &'static str,
    /// The published number for a cell.
    pub of: fn(&Cell) -> Option<f64>,
    /// More points of the line, where we have no cells.
    pub also: &'static [(f64, f64)],
}

/// The horizontal axis.
#[derive(Clone, Copy)]
pub enum Along {
    /// Names, in the order of the cells.
    Names {
        axis: &'static str,
        label: &'static str,
    },
    /// Numbers.
    Numbers {
        axis: &'static str,
        label: &'static str,
        unit: &'static str,
        divisor: f64,
    },
    /// The steps of each cell: the number behind the name of the measure, such as 12 in `episode_rate_12`.
    Steps { label: &'static str },
    /// Another measure; each point is labelled with the value of the axis.
    Measure {
        measure: Measure,
        beside: &'static str,
    },
}

/// A figure with its label, unit and scale for drawing.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    pub metric: &'static str,
    pub label: &'static str,
    pub unit: &'static str,
    pub divisor: f64,
    pub log: bool,
}

/// A column of a table with one of our figures.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub metric: &'static str,
    pub heading: &'static str,
    pub divisor: f64,
    pub digits: usize,
}

/// A [`Column`].
pub const fn column(
    metric: &'static str,
    heading: &'static str,
    divisor: f64,
    digits: usize,
) -> Column {
    Column {
        metric,
        heading,
        divisor,
        digits,
    }
}

/// A column of a table with a published figure.
#[derive(Clone, Copy)]
pub struct Stated {
    pub heading: &'static str,
    pub digits: usize,
    /// The published figure for a cell.
    pub of: fn(&Cell) -> Option<f64>,
}

impl Measure {
    fn scale(&self) -> Scale {
        if self.log {
            Scale::Log10
        } else {
            Scale::Linear
        }
    }
}

impl View {
    /// Draws the view from the cells of its experiment at one scale; none if it has no cells.
    pub fn draw(&self, cells: &[&Cell]) -> Option<Panel> {
        match self {
            View::Chart(chart) => charts::chart(chart, cells),
            View::Parts {
                title,
                only,
                along,
                label,
                unit,
                divisor,
                parts,
            } => charts::parts(
                title,
                &chosen(cells, only),
                along,
                (label, unit, *divisor),
                parts,
            ),
            View::Groups {
                title,
                only,
                series,
                label,
                unit,
                divisor,
                groups,
            } => charts::groups(
                title,
                &chosen(cells, only),
                series,
                (label, unit, *divisor),
                groups,
            ),
            View::Curves {
                title,
                metric,
                x,
                y,
                series,
            } => charts::curves(title, cells, metric, (*x, *y), series),
            View::Ratios {
                title,
                only,
                columns,
                rows,
                over,
                label,
            } => tables::ratios(title, (cells, only), columns, *rows, (over, label)),
            View::Values(values) => values.draw(&chosen(cells, values.only)),
            View::Table {
                title,
                only,
                axes,
                columns,
                published,
            } => tables::table(title, &chosen(cells, only), axes, columns, published),
            View::List { title } => tables::list(title, cells),
        }
    }
}

/// The cells that have all these values.
fn chosen<'c>(cells: &[&'c Cell], only: Only) -> Vec<&'c Cell> {
    let fits = |cell: &&Cell| {
        let is = |(axis, values): &(&str, &str)| values.split('|').any(|v| v == cell.axis(axis));
        only.iter().all(is)
    };
    cells.iter().copied().filter(fits).collect()
}

/// The different values of an axis, in the order of the cells.
fn values(cells: &[&Cell], axis: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for cell in cells {
        let value = cell.axis(axis);
        if !values.iter().any(|known| known == value) {
            values.push(value.to_string());
        }
    }
    values
}
