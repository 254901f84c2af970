//! The content of a report as plain data, which [`super::html`] draws.

/// The whole report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Its heading.
    pub title: String,
    /// What was measured and why, in two or three sentences.
    pub summary: String,
    /// Names and values such as machine, commit, time and scale.
    pub environment: Vec<(String, String)>,
    /// What must be known before any number is believed; may be empty.
    pub warning: String,
    /// The four to six most important numbers.
    pub headlines: Vec<Headline>,
    /// The ledger of published claims, in the order of their ids.
    pub claims: Vec<Claim>,
    /// Figures and tables, paper by paper.
    pub papers: Vec<Paper>,
}

/// One of the most important numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// The number as text, such as `3.1` or `12 of 13`.
    pub value: String,
    /// Its unit, such as `µs` or `×`; empty for none.
    pub unit: String,
    /// The meaning of the number.
    pub text: String,
}

/// One published claim, re-measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its id, such as `C-E1`.
    pub id: String,
    /// What was published, in words.
    pub claim: String,
    /// The published number.
    pub published: String,
    /// Our numbers, a line for each part; or why there are none.
    pub ours: Vec<String>,
    /// Why ours differs, a line for each part that does.
    pub why: Vec<String>,
    /// The verdict from our measurements.
    pub verdict: Verdict,
    /// The rule by which the verdict follows from the numbers.
    pub rule: String,
    /// The ids of the figures whose cells decide it, such as `E-F7`.
    pub figures: Vec<String>,
}

/// Whether a published claim holds in our measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Confirmed,
    /// A part of it holds.
    Partly,
    /// It does not hold.
    Refuted,
    /// The measurements do not decide.
    Undecided,
    /// There are no measurements to judge it by yet.
    NotMeasured,
}

/// The figures of one paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Paper {
    /// Its title, such as `Evaluating Learned Indexes in LSM-tree Systems (EDBT 2026)`.
    pub title: String,
    /// Its figures, in the order of the paper.
    pub figures: Vec<Figure>,
}

/// One figure or table of a paper, measured again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// Its id, such as `E-F7`, which is also its name for `rhumb-lab run` and its anchor on the
    /// page.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The place of publication, such as `EDBT 2026, Figure 7`.
    pub paper: String,
    /// What the published figure shows.
    pub shows: String,
    /// How ours was measured: sets, scale, repeats, differences from the paper.
    pub method: String,
    /// A remark on the result; may be empty.
    pub note: String,
    /// The drawings, in the order of the paper's panels. If there are none, or only published
    /// numbers, the page shows the command that measures the figure.
    pub panels: Vec<Panel>,
}

/// One part of a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Panel {
    /// Numbers over an axis.
    Chart(Chart),
    /// Charts beside each other.
    Multiples(Multiples),
    /// Ratios over two categories.
    Heatmap(Heatmap),
    /// Text and marks.
    Table(Table),
}

/// Charts beside each other with the same vertical axes, so that they can be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Multiples {
    /// The title of all of them.
    pub title: String,
    /// The charts, whose vertical axes have the same names, units and scales.
    pub charts: Vec<Chart>,
}

/// Numbers over an axis. Published numbers are series with `published` set, of the same name if
/// they are to be compared with ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Its title, such as `(A) uniform`.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The left axis; never [`Scale::Category`].
    pub y: Axis,
    /// The right axis, for series with `on_second_axis`; never [`Scale::Category`].
    pub y2: Option<Axis>,
    /// The series, in the order of the legend; bars are side by side in this order, or stacked from
    /// below.
    pub series: Vec<Series>,
}

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The name of the quantity.
    pub label: String,
    /// Its unit; empty for none.
    pub unit: String,
    /// The map from numbers to positions.
    pub scale: Scale,
}

/// The map from numbers to positions on an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors, ticks at powers of ten. Only numbers above 0 can be drawn.
    Log10,
    /// Equal factors, ticks at powers of two. Only numbers above 0 can be drawn.
    Log2,
    /// Names side by side; the number of a point is the index of its name, from 0.
    Category(Vec<String>),
}

/// A series of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The index kind, store or stage. An index kind has the same colour everywhere.
    pub name: String,
    /// The marks that draw it.
    pub marks: Marks,
    /// Whether it uses [`Chart::y2`].
    pub on_second_axis: bool,
    /// If these are the paper's numbers: where the paper states them, and for which data and device.
    /// They are drawn hollow and dashed. None if the numbers are ours.
    pub published: Option<String>,
    /// The points, in the order of the line through them.
    pub points: Vec<Point>,
}

/// The marks that draw a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// A line through marked points.
    Line,
    /// Bars side by side; needs a category axis.
    Bar,
    /// Bars on top of each other; needs a category axis.
    Stacked,
    /// Labelled points with a thin line through them, as for a trade-off of two costs.
    Scatter,
}

/// One number with its spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The value on the horizontal axis, or the index of the category.
    pub x: f64,
    /// The median or mean.
    pub y: f64,
    /// The lower and upper end of the error bar, in the unit of `y`.
    pub spread: Option<(f64, f64)>,
    /// The label of the point in [`Marks::Scatter`], such as the position boundary; empty for none.
    pub label: String,
}

/// What the colours of a heatmap tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shades {
    /// Ratios: one colour below 1, another above, the further from 1 the darker.
    Ratios,
    /// Values: one colour, the larger the darker.
    Values,
}

/// Numbers over two categories, as colours with the numbers in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Heatmap {
    /// Its title.
    pub title: String,
    /// The meaning of the columns.
    pub x: String,
    /// Their names.
    pub columns: Vec<String>,
    /// The meaning of the rows.
    pub y: String,
    /// Their names, from the top.
    pub rows: Vec<String>,
    /// What their colours tell.
    pub shades: Shades,
    /// The meaning of the numbers.
    pub label: String,
    /// The numbers row by row. Cells that were not measured are `None` or missing at the end of a
    /// row.
    pub values: Vec<Vec<Option<f64>>>,
    /// Rows and columns of ratios that the rounds do not decide, or of values that were never learned: drawn without colour.
    pub undecided: Vec<(usize, usize)>,
}

/// Text in rows and columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Names of the columns.
    pub headings: Vec<String>,
    /// The number of columns of text, from the left; the others are numbers, aligned right.
    pub text_columns: usize,
    /// The cells row by row.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// Its mark, if it has one.
    pub mark: Option<Mark>,
}

/// The marks of a suitability matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Efficient.
    Good,
    /// With possible issues.
    Caution,
    /// With severe limits.
    Bad,
}

impl Point {
    /// A number without spread.
    pub fn new(x: f64, y: f64) -> Point {
        Point {
            x,
            y,
            spread: None,
            label: String::new(),
        }
    }

    /// The point with an error bar from `low` to `high`.
    pub fn between(self, low: f64, high: f64) -> Point {
        Point {
            spread: Some((low, high)),
            ..self
        }
    }

    /// The point with a label.
    pub fn labelled(self, label: &str) -> Point {
        Point {
            label: label.to_string(),
            ..self
        }
    }
}

impl Cell {
    /// Text alone.
    pub fn text(text: &str) -> Cell {
        Cell {
            text: text.to_string(),
            mark: None,
        }
    }

    /// A mark, with text that may be empty.
    pub fn marked(mark: Mark, text: &str) -> Cell {
        Cell {
            text: text.to_string(),
            mark: Some(mark),
        }
    }
}

impl Axis {
    /// An axis from its three parts.
    pub fn new(label: &str, unit: &str, scale: Scale) -> Axis {
        Axis {
            label: label.to_string(),
            unit: unit.to_string(),
            scale,
        }
    }
}
