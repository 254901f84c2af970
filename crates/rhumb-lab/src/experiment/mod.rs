//! The published experiments, as declarations: an experiment says which cells it has, what is done
//! in each, and how its figure is drawn; `runner` does them.

mod amounts;
mod arms;
mod edbt;
mod figures;
mod page;
mod runner;
mod study;
#[cfg(test)]
mod tests;
mod work;

use rhumb::fs::Access;
use rhumb::{IndexSpec, TableSpec};

pub use self::amounts::{Amounts, Scale};
pub use self::arms::Arm;
use self::figures::View;
pub use self::page::{chosen, papers};
pub use self::runner::{Order, Summary, parse_shard, run};
use crate::error::{Error, Result};
use crate::results::Axes;

/// One figure or table of a paper.
pub struct Experiment {
    /// Its id, such as `E-F7`.
    pub id: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What the published figure shows.
    pub shows: &'static str,
    /// How ours is measured, and what is not as published.
    pub method: &'static str,
    /// Its cells at a scale.
    pub cells: fn(&Amounts) -> Result<Vec<Planned>>,
    /// How they are drawn.
    pub views: &'static [View],
}

/// A cell that is to be measured.
#[derive(Debug, Clone)]
pub struct Planned {
    /// What tells it from the other cells of the experiment.
    pub axes: Axes,
    /// The keys.
    pub data: Data,
    /// The store that holds them; none where the keys alone are looked at. Cells of equal data and
    /// build share one.
    pub build: Option<Build>,
    /// What is done.
    pub work: Work,
}

/// Which keys and values, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    /// The name of the set.
    pub set: String,
    /// How many records.
    pub records: usize,
}

/// How a store is built.
#[derive(Debug, Clone, PartialEq)]
pub struct Build {
    /// The index of its tables.
    pub index: IndexSpec,
    /// The layout of its tables.
    pub table: TableSpec,
    /// Which records are in it.
    pub fill: Fill,
}

/// Which records of the data are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// All.
    All,
    /// All, half of them first: only what merging the other half into them takes counts as the cost
    /// of loading.
    Halves,
    /// Nine tenths: workloads insert some of the others.
    Most,
}

/// What is done in a cell. All of it is over one thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// The machine and the protocol are described.
    Environment,
    /// The keys are described: their sizes, and their distribution.
    Keys,
    /// Gets of present keys, and what finding takes in memory.
    Points(Reading),
    /// Where the time of a get goes.
    Breakdown,
    /// Ranges of so many entries: the seek, and the scan behind it.
    Ranges(usize),
    /// What loading, merging and training took.
    Loading,
    /// YCSB A to F one after another. The store is changed.
    Mixed,
}

/// Where blocks come from that are not in the store's own cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// From the page cache, which holds everything.
    Cached,
    /// From a page cache of three quarters of the data, as published: a control group sees to it.
    Limited,
    /// From the device.
    Direct,
}

impl Work {
    /// When it comes among the cells over one store: what empties the page cache behind what wants
    /// it full, and what changes the store last.
    fn place(self) -> u8 {
        match self {
            Work::Points(Reading::Direct) => 1,
            Work::Points(Reading::Limited) => 2,
            Work::Mixed => 3,
            _ => 0,
        }
    }
}

impl Reading {
    /// As in results.
    pub fn name(self) -> &'static str {
        match self {
            Reading::Cached => "page cache",
            Reading::Limited => "page cache of 75 %",
            Reading::Direct => "device",
        }
    }

    /// How tables are opened.
    pub fn access(self) -> Access {
        match self {
            Reading::Cached | Reading::Limited => Access::Buffered,
            Reading::Direct => Access::Direct,
        }
    }
}

/// All experiments, in the order of their papers.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    edbt::ALL.iter()
}

/// The experiment with an id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().find(|experiment| experiment.id == id)
}

/// The experiments that a user names; `all` stands for every one.
///
/// # Errors
/// If there is none of a name.
pub fn named(ids: &[String]) -> Result<Vec<&'static Experiment>> {
    let mut found: Vec<&'static Experiment> = Vec::new();
    for id in ids {
        let these: Vec<&'static Experiment> = match id.as_str() {
            "all" => all().collect(),
            id => find(id).into_iter().collect(),
        };
        if these.is_empty() {
            return Err(Error::Usage(format!(
                "there is no experiment {id:?}: see `rhumb-lab list`"
            )));
        }
        for experiment in these {
            if !found.iter().any(|known| known.id == experiment.id) {
                found.push(experiment);
            }
        }
    }
    Ok(found)
}
