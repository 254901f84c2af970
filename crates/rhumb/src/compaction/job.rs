//! A planned merge: its input tables, and where the result goes.

use std::collections::HashSet;
use std::ops::Bound;

use crate::entry::successor;
use crate::sync::Arc;
use crate::version::{LEVELS, Levels, Place, Run, Table, TableMeta, first_overlap};

/// Tables of one run.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// The run that they belong to.
    pub place: Place,
    /// The tables, in key order.
    pub tables: Vec<Arc<Table>>,
}

impl Input {
    /// One table of a run.
    pub fn one(level: usize, run: &Run, table: &Arc<Table>) -> Self {
        Input::new(level, run, std::slice::from_ref(table))
    }

    /// Some tables of a run of `level`.
    pub fn new(level: usize, run: &Run, tables: &[Arc<Table>]) -> Self {
        let run = run.number();
        Input {
            place: Place { level, run },
            tables: tables.to_vec(),
        }
    }

    /// The total size of the tables in bytes.
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|t| t.meta.file_bytes).sum()
    }
}

/// Tables to be merged into one run of a level.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// The tables to merge, newer runs first.
    pub inputs: Vec<Input>,
    /// The level of the merged tables.
    pub target_level: usize,
    /// The run of that level that they join; `None` for a new run, newer than the others. If they
    /// join a run, the level's other runs must not hold older versions of their keys, except in
    /// inputs: these versions would stand above the newer ones of the result.
    pub target_run: Option<u64>,
    /// Whether the tables only change their places.
    pub trivial: bool,
}

impl Job {
    /// The tables to merge, newer ones first.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.inputs.iter().flat_map(|input| &input.tables)
    }

    /// The total size of the tables in bytes.
    pub fn bytes(&self) -> u64 {
        self.inputs.iter().map(Input::bytes).sum()
    }

    /// The total size of the values that the tables point to, in bytes.
    pub fn bytes_apart(&self) -> u64 {
        self.tables().map(|table| bytes_apart(&table.meta)).sum()
    }

    /// Whether one table is written anew where it is.
    pub fn is_rewrite(&self) -> bool {
        let [input] = self.inputs.as_slice() else {
            return false;
        };
        let stays = input.place.level == self.target_level;
        stays && Some(input.place.run) == self.target_run && input.tables.len() == 1
    }

    /// The smallest range with all keys of the tables; `None` if there are no tables.
    pub fn hull(&self) -> Option<Hull<'_>> {
        Hull::of(self.tables())
    }
}

/// The bytes of the values that a table points to.
pub(super) fn bytes_apart(table: &TableMeta) -> u64 {
    table.values.iter().map(|used| used.bytes).sum()
}

/// The range of keys that some tables span.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hull<'a> {
    /// The smallest key.
    pub from: &'a [u8],
    /// The upper bound.
    pub to: Bound<&'a [u8]>,
}

impl<'a> Hull<'a> {
    /// The range of keys of a table.
    pub fn of_one(table: &'a TableMeta) -> Self {
        Hull {
            from: &table.smallest,
            to: table.end(),
        }
    }

    /// The smallest range with all keys of `tables`; `None` if there are none.
    pub fn of(tables: impl Iterator<Item = &'a Arc<Table>>) -> Option<Self> {
        tables.map(|t| Hull::of_one(&t.meta)).reduce(Hull::and)
    }

    /// The smallest key behind the range; `None` if there is none.
    pub fn next_key(&self) -> Option<Vec<u8>> {
        match self.to {
            Bound::Unbounded => None,
            Bound::Excluded(to) => Some(to.to_vec()),
            Bound::Included(to) => Some(successor(to)),
        }
    }

    /// The smallest range that contains both.
    pub fn and(self, other: Self) -> Self {
        Hull {
            from: self.from.min(other.from),
            to: later(self.to, other.to),
        }
    }
}

/// The larger of two upper bounds.
fn later<'a>(a: Bound<&'a [u8]>, b: Bound<&'a [u8]>) -> Bound<&'a [u8]> {
    use Bound::{Excluded, Included, Unbounded};
    let (Included(x) | Excluded(x)) = a else {
        return Unbounded;
    };
    let (Included(y) | Excluded(y)) = b else {
        return Unbounded;
    };
    match x.cmp(y) {
        std::cmp::Ordering::Less => b,
        std::cmp::Ordering::Greater => a,
        std::cmp::Ordering::Equal if matches!(a, Included(_)) => a,
        std::cmp::Ordering::Equal => b,
    }
}

/// Whether no two tables may hold the same key: they can then become a run unchanged.
pub(super) fn are_disjoint<'a>(tables: impl Iterator<Item = &'a Arc<Table>>) -> bool {
    let mut metas: Vec<_> = tables.map(|t| &t.meta).collect();
    metas.sort_by(|a, b| a.smallest.cmp(&b.smallest));
    first_overlap(metas.into_iter()).is_none()
}

/// The tables that may hold older versions of the keys in a job's result: those of older runs of
/// its level and of deeper levels. One list for each run, in key order.
pub(super) fn older_tables<'a>(levels: &'a Levels, job: &Job) -> Vec<Vec<&'a Table>> {
    let Some(hull) = job.hull() else {
        return Vec::new();
    };
    let inputs: HashSet<u64> = job.tables().map(|t| t.meta.number).collect();
    let beside = levels.runs(job.target_level).iter();
    let beside = beside.filter(|run| job.target_run.is_none_or(|target| run.number() < target));
    let deeper = (job.target_level + 1..LEVELS).flat_map(|level| levels.runs(level));
    let others = |run: &'a Arc<Run>| {
        let tables = run.overlapping(hull.from, hull.to).iter();
        let others = tables.filter(|t| !inputs.contains(&t.meta.number));
        others.map(|t| &**t).collect::<Vec<&Table>>()
    };
    let runs = beside.chain(deeper).map(others);
    runs.filter(|tables| !tables.is_empty()).collect()
}
