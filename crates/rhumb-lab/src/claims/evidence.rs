//! Access of the rules to results: complete sets of the cells that an experiment declares.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::contest::Rounds;
use crate::error::Result;
use crate::experiment::{self, Scale};
use crate::results::Cell;

/// The cells of one scale.
pub struct Evidence<'a> {
    scale: Scale,
    cells: HashMap<(&'a str, &'a BTreeMap<String, String>), &'a Cell>,
    /// Cells that the machine refused to measure.
    refused: HashMap<(&'a str, &'a BTreeMap<String, String>), &'a Cell>,
    planned: HashMap<&'static str, Vec<BTreeMap<String, String>>>,
    /// What rules say beside their verdicts since the last [`Evidence::notes`].
    notes: RefCell<Vec<String>>,
}

impl<'a> Evidence<'a> {
    /// The cells of a scale among `cells`. If a cell was measured several times, the latest run
    /// counts.
    ///
    /// # Errors
    /// If an experiment cannot declare its cells.
    pub fn new(cells: &'a [Cell], scale: Scale) -> Result<Evidence<'a>> {
        let mut latest: HashMap<_, &Cell> = HashMap::new();
        let mut refused = HashMap::new();
        for cell in cells.iter().filter(|cell| cell.scale == scale.name()) {
            if cell.refusal().is_some() {
                refused.insert((cell.experiment.as_str(), &cell.axes), cell);
                continue;
            }
            let known = latest
                .entry((cell.experiment.as_str(), &cell.axes))
                .or_insert(cell);
            if known.run() <= cell.run() {
                *known = cell;
            }
        }
        let mut planned = HashMap::new();
        for experiment in experiment::all() {
            let cells = (experiment.cells)(&scale.amounts())?;
            let axes = |(name, value): (&str, String)| (name.to_string(), value);
            let cells = cells
                .into_iter()
                .map(|cell| cell.axes.into_iter().map(axes).collect());
            planned.insert(experiment.id, cells.collect());
        }
        Ok(Evidence {
            scale,
            cells: latest,
            refused,
            planned,
            notes: RefCell::default(),
        })
    }

    /// Says something beside the verdict that is being found, once.
    pub fn note(&self, text: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    /// What was said since the last call.
    pub fn notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// The cells of an experiment.
    pub fn cells(&self, experiment: &'static str) -> Selection<'_> {
        Selection {
            evidence: self,
            experiment,
            wanted: Vec::new(),
        }
    }
}

/// A kind is judged if at most this share of its tables fell back to fence pointers: some tables
/// are too small for any model.
const MOST_FALLEN_BACK: f64 = 0.25;

/// The percentage of a cell's tables that fell back, if it is too large to judge the kind.
fn fell_back(cell: &Cell) -> Option<u32> {
    let share = cell.value("fallback_share")?;
    (share > MOST_FALLEN_BACK).then(|| (100.0 * share).ceil() as u32)
}

/// What must have happened in a cell for a figure to mean anything: a counter, the number above
/// which it must be, and what it counts.
type Event = (&'static str, f64, &'static str);

/// The workloads of YCSB mean something for an LSM-tree if it changes while they run.
const MERGES: &[Event] = &[("merges", 0.0, "no merge took place")];

const EVENTS: [(&str, &[Event]); 7] = [
    ("ycsb-a_mean", MERGES),
    ("ycsb-b_mean", MERGES),
    ("ycsb-c_mean", MERGES),
    ("ycsb-d_mean", MERGES),
    ("ycsb-e_mean", MERGES),
    ("ycsb-f_mean", MERGES),
    (
        "training_share",
        &[
            // Without a merge this would be the share in flushes alone, which the papers do not mean.
            ("merges", 0.0, "no merge took place"),
            ("training_time", 1e-3, "training took less than 1 ms in all"),
        ],
    ),
];

/// Some of the cells that an experiment declares, measured or not.
#[derive(Clone)]
pub struct Selection<'e> {
    evidence: &'e Evidence<'e>,
    experiment: &'static str,
    wanted: Vec<(&'static str, String)>,
}

impl<'e> Selection<'e> {
    /// Only those with this value of an axis.
    pub fn only(&self, axis: &'static str, value: impl ToString) -> Selection<'e> {
        let mut these = self.clone();
        these.wanted.push((axis, value.to_string()));
        these
    }

    /// These cells, if at least one is declared and all are measured.
    ///
    /// # Errors
    /// The number of missing cells.
    pub fn whole(self) -> Result<Selection<'e>, Missing> {
        let measured = self.measured();
        let (there, all) = (measured.iter().flatten().count(), measured.len());
        match all > 0 && there == all {
            true => Ok(self),
            false => Err(self.missing(Lack::Cells { there, all })),
        }
    }

    /// The values of an axis among the declared cells, in their order.
    pub fn each(&self, axis: &str) -> Vec<&'e str> {
        let mut values: Vec<&str> = Vec::new();
        for value in self.declared().filter_map(|axes| axes.get(axis)) {
            if !values.contains(&value.as_str()) {
                values.push(value);
            }
        }
        values
    }

    /// The values of an axis as numbers, ascending.
    pub fn numbers(&self, axis: &str) -> Vec<u64> {
        let values = self.each(axis);
        let mut numbers: Vec<u64> = values.iter().filter_map(|text| text.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Why the machine refused to measure these cells; none if one was measured or none was refused.
    pub fn refusal(&self) -> Option<&'e str> {
        if self.is_declared() && self.measured().iter().all(Option::is_none) {
            let refused = &self.evidence.refused;
            let mut cells = self
                .declared()
                .filter_map(|axes| refused.get(&(self.experiment, axes)));
            return cells.find_map(|cell| cell.refusal());
        }
        None
    }

    /// Whether there are such cells at this scale.
    pub fn is_declared(&self) -> bool {
        self.declared().next().is_some()
    }

    /// Those of some kinds that were built as asked in all of these cells. The others are left out of
    /// the comparison by name, in a note.
    ///
    /// # Errors
    /// If tables of all kinds fell back to fence pointers.
    pub fn kinds(
        &self,
        kinds: impl IntoIterator<Item = &'static str>,
    ) -> Result<Vec<&'static str>, Missing> {
        let mut built = Vec::new();
        for kind in kinds {
            let cells = self.only("kind", kind).measured();
            let fallen = cells
                .into_iter()
                .flatten()
                .find_map(|cell| Some((cell, fell_back(cell)?)));
            match fallen {
                Some((cell, share)) => {
                    let place = ["set", "boundary"].map(|axis| cell.axis(axis));
                    let place = place.into_iter().filter(|value| !value.is_empty());
                    self.evidence.note(format!(
                        "{kind} is left out: {share} % of its tables in {} ({}) fell back to fence pointers",
                        self.experiment,
                        place.collect::<Vec<_>>().join(", boundary "),
                    ));
                }
                None => built.push(kind),
            }
        }
        match built.is_empty() {
            true => Err(self.undecided("tables of every kind fell back to fence pointers")),
            false => Ok(built),
        }
    }

    /// A figure by rounds. The selection must have exactly one cell.
    ///
    /// # Errors
    /// If there is no such cell or figure, or there are several cells; if the cell shows something
    /// else than what was asked for, or what the figure is about did not happen in it.
    pub fn rounds(&self, metric: &'static str) -> Result<Rounds, Missing> {
        let measured = self.measured();
        let &[Some(cell)] = measured.as_slice() else {
            let (there, all) = (measured.iter().flatten().count(), measured.len());
            return Err(self.missing(match all > 1 {
                true => Lack::Several,
                false => Lack::Cells { there, all },
            }));
        };
        if let Some(share) = fell_back(cell) {
            return Err(self.missing(Lack::FellBack(share)));
        }
        if let Some((_, events)) = EVENTS.iter().find(|(of, _)| *of == metric) {
            for (event, least, what) in *events {
                let happened = cell.value(event).is_some_and(|count| count > *least);
                if !happened {
                    return Err(self.missing(Lack::Event(what)));
                }
            }
        }
        cell.in_rounds(metric)
            .ok_or_else(|| self.missing(Lack::Figure(metric)))
    }

    /// The median of a figure over the rounds, for what is counted. The selection must have exactly
    /// one cell.
    ///
    /// # Errors
    /// As [`Selection::rounds`].
    pub fn value(&self, metric: &'static str) -> Result<f64, Missing> {
        Ok(self.rounds(metric)?.median())
    }

    /// That these cells cannot decide, and why.
    pub fn undecided(&self, why: impl ToString) -> Missing {
        self.missing(Lack::Undecided(why.to_string()))
    }

    fn declared(&self) -> impl Iterator<Item = &'e BTreeMap<String, String>> {
        let declared = self.evidence.planned.get(self.experiment);
        declared.into_iter().flatten().filter(|axes| {
            let is = |(axis, value): &(&str, String)| axes.get(*axis) == Some(value);
            self.wanted.iter().all(is)
        })
    }

    fn measured(&self) -> Vec<Option<&'e Cell>> {
        let cells = &self.evidence.cells;
        let of = |axes| cells.get(&(self.experiment, axes)).copied();
        self.declared().map(of).collect()
    }

    fn missing(&self, lack: Lack) -> Missing {
        let wanted = self
            .wanted
            .iter()
            .map(|(axis, value)| format!("{axis}={value}"));
        Missing {
            experiment: self.experiment,
            scale: self.evidence.scale,
            wanted: wanted.collect::<Vec<_>>().join(" "),
            lack,
        }
    }
}

/// The reason why a figure is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    experiment: &'static str,
    scale: Scale,
    wanted: String,
    lack: Lack,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Lack {
    Cells {
        there: usize,
        all: usize,
    },
    Several,
    Figure(&'static str),
    /// This percentage of the tables fell back to fence pointers.
    FellBack(u32),
    /// Something that did not happen.
    Event(&'static str),
    /// Another reason why the cells cannot decide.
    Undecided(String),
}

impl Missing {
    /// Whether a kind fell back to fence pointers.
    pub fn is_fallback(&self) -> bool {
        matches!(self.lack, Lack::FellBack(_))
    }

    /// Whether something was not measured; else what was measured does not decide.
    pub fn is_unmeasured(&self) -> bool {
        matches!(
            self.lack,
            Lack::Cells { .. } | Lack::Several | Lack::Figure(_)
        )
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, scale) = (self.experiment, self.scale);
        let run = format!("run `rhumb-lab run {id} --scale {scale}`");
        let wanted = match self.wanted.is_empty() {
            true => String::new(),
            false => format!(" with {}", self.wanted),
        };
        match &self.lack {
            Lack::Cells { all: 0, .. } => {
                write!(
                    f,
                    "{id} has no cells{wanted} at scale {scale}: a larger --scale may have them"
                )
            }
            Lack::Cells { there, all } => {
                write!(
                    f,
                    "{there} of {all} cells of {id}{wanted} are measured: {run}"
                )
            }
            Lack::FellBack(share) => write!(
                f,
                "{id}: {share} % of the tables{wanted} fell back to fence pointers"
            ),
            Lack::Event(what) => write!(f, "{id}{wanted}: {what}"),
            Lack::Undecided(why) => write!(f, "{id}{wanted}: {why}"),
            Lack::Several => write!(f, "{id} has several cells{wanted}, but one is needed"),
            Lack::Figure(metric) => {
                write!(f, "a cell of {id}{wanted} has no {metric}: {run} --again")
            }
        }
    }
}
