//! Figures of experiments: declarations of views, and the code that draws them from cells.

mod charts;
mod tables;

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
    /// Bars for several figures of each cell, side by side.
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
    /// Curves of a figure whose values are at evenly spaced positions from 0 to 1.
    Curves {
        title: &'static str,
        metric: &'static str,
        x: (&'static str, &'static str),
        y: (&'static str, &'static str),
        series: &'static str,
    },
    /// A figure over two axes, as colours.
    Heatmap {
        title: &'static str,
        only: Only,
        columns: (&'static str, &'static str),
        rows: (&'static str, &'static str),
        measure: Measure,
    },
    /// Rows of cells, columns of figures.
    Table {
        title: &'static str,
        only: Only,
        /// Axes, with headings.
        axes: &'static [(&'static str, &'static str)],
        columns: &'static [Column],
        /// Published figures of a cell, in columns after ours.
        published: &'static [Published],
    },
    /// All figures of the first cell.
    List { title: &'static str },
}

/// Axes with the values that cells must have; of several values, separated by `|`, any one.
pub type Only = &'static [(&'static str, &'static str)];

/// Numbers over an axis.
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
}

/// The horizontal axis.
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

/// A column of a table with a published figure.
#[derive(Clone, Copy)]
pub struct Published {
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
            View::Heatmap {
                title,
                only,
                columns,
                rows,
                measure,
            } => tables::heatmap(title, &chosen(cells, only), *columns, *rows, measure),
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
