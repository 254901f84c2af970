//! What a report shows, as plain data: whoever measures fills these, and [`super::html`] draws
//! them.

/// The whole report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Its heading.
    pub title: String,
    /// What was measured and why, in two or three sentences.
    pub summary: String,
    /// Machine, commit, time, scale and the like: name and value.
    pub environment: Vec<(String, String)>,
    /// The four to six numbers that a reader should take away.
    pub headlines: Vec<Headline>,
    /// The ledger of published claims, in the order of their ids.
    pub claims: Vec<Claim>,
    /// Figures and tables, paper by paper.
    pub papers: Vec<Paper>,
}

/// One number to take away.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// The number as it is shown, such as `3.1` or `12 of 13`.
    pub value: String,
    /// Its unit, such as `µs` or `×`; empty for none.
    pub unit: String,
    /// What it is the number of.
    pub text: String,
}

/// One published claim, re-measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Such as `C-E1`.
    pub id: String,
    /// What was published, in words.
    pub claim: String,
    /// The published number.
    pub published: String,
    /// Ours; empty if not measured yet.
    pub ours: String,
    /// Whether it holds here.
    pub verdict: Verdict,
    /// How the verdict follows from the numbers.
    pub rule: String,
    /// The figures that it was measured by, such as `E-F7`.
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
    /// Nothing to judge by yet.
    NotMeasured,
}

/// The figures of one paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Paper {
    /// Such as `Evaluating Learned Indexes in LSM-tree Systems (EDBT 2026)`.
    pub title: String,
    /// In the order of the paper.
    pub figures: Vec<Figure>,
}

/// One figure or table of a paper, measured again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// Such as `E-F7`: the name that `rhumb-lab run` knows it by, and its anchor on the page.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Where it was published: `EDBT 2026, Figure 7`.
    pub paper: String,
    /// What the published figure shows and says.
    pub shows: String,
    /// How ours was measured: sets, scale, repeats, what differs from the paper.
    pub method: String,
    /// What a reader should see in it; empty for nothing.
    pub note: String,
    /// The drawings, in the order of the paper's panels. Without them, or with published numbers
    /// only, the page says how to measure it.
    pub panels: Vec<Panel>,
}

/// One part of a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Panel {
    /// Numbers over an axis.
    Chart(Chart),
    /// Numbers over two categories.
    Heatmap(Heatmap),
    /// Text and marks.
    Table(Table),
}

/// Numbers over an axis. The published ones are series of the same name with `published` set.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Such as `(A) uniform`.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The left axis; never [`Scale::Category`].
    pub y: Axis,
    /// The right axis, for series with `on_second_axis`; never [`Scale::Category`].
    pub y2: Option<Axis>,
    /// In the order of the legend; bars lie side by side in this order, or stack from below.
    pub series: Vec<Series>,
}

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is measured.
    pub label: String,
    /// In which unit; empty for none.
    pub unit: String,
    /// How numbers become places.
    pub scale: Scale,
}

/// How numbers become places on an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors, ticks at powers of ten. Numbers that are not above 0 have no place.
    Log10,
    /// Equal factors, ticks at powers of two. Numbers that are not above 0 have no place.
    Log2,
    /// Names side by side: the number of a point is the place of its name, from 0.
    Category(Vec<String>),
}

/// Numbers that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The index kind, store or stage. The names of index kinds have the same colour everywhere.
    pub name: String,
    /// How it is drawn.
    pub marks: Marks,
    /// Whether [`Chart::y2`] counts.
    pub on_second_axis: bool,
    /// Whether these are the paper's numbers: drawn hollow and dashed.
    pub published: bool,
    /// In the order in which a line goes through them.
    pub points: Vec<Point>,
}

/// How a series is drawn.
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
    /// Along the horizontal axis, or the place of its category.
    pub x: f64,
    /// The median or mean.
    pub y: f64,
    /// The lower and upper end of the error bar, in the unit of `y`.
    pub spread: Option<(f64, f64)>,
    /// Text beside the point in [`Marks::Scatter`], such as the position boundary; empty for none.
    pub label: String,
}

/// Numbers over two categories, as colours with the numbers in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Heatmap {
    /// What it shows.
    pub title: String,
    /// What the columns are.
    pub x: String,
    /// Their names.
    pub columns: Vec<String>,
    /// What the rows are.
    pub y: String,
    /// Their names, from the top.
    pub rows: Vec<String>,
    /// What the numbers are.
    pub label: String,
    /// Their unit; empty for none.
    pub unit: String,
    /// Row by row; `None` and what is missing at the end of a row were not measured.
    pub values: Vec<Vec<Option<f64>>>,
}

/// Text in rows and columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub headings: Vec<String>,
    /// How many columns from the left are text; the others are numbers, flushed right.
    pub text_columns: usize,
    /// Row by row.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How good that is.
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

    /// With an error bar from `low` to `high`.
    pub fn between(self, low: f64, high: f64) -> Point {
        Point {
            spread: Some((low, high)),
            ..self
        }
    }

    /// With text beside it.
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
