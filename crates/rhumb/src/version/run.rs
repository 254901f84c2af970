//! A sorted run: tables that ascend by key without overlap, searched by binary search.

use std::cmp::Ordering;
use std::ops::{Bound, Deref};

use rhumb_index::search::common_prefix;

use crate::entry::abbreviate;
use crate::sync::Arc;
use crate::table::SliceRef;
use crate::version::models::RunModels;
use crate::version::{ModelMemory, Table, TableMeta};

/// Tables of one level that ascend by key without overlap. All versions of a user key in the run
/// are in one table. A run never changes; a change makes a new one.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    number: u64,
    tables: Vec<Arc<Table>>,
    /// The prefix shared by all keys of the run.
    prefix: Box<[u8]>,
    /// The abbreviated smallest and largest keys of the tables: they lie in a few cache lines,
    /// while the keys themselves are spread out.
    starts: Vec<u64>,
    ends: Vec<u64>,
    /// The file numbers of the tables, ascending, with their positions.
    numbers: Vec<(u64, usize)>,
    bytes: u64,
    /// How many keys hide older versions.
    hides: u64,
    range_deletes: bool,
    /// Models over several of the tables, if the store has such.
    models: Option<RunModels>,
}

impl Run {
    /// A run of tables that ascend by key without overlap. What it shares with the run `before` it changed keeps its
    /// models.
    pub(super) fn new(number: u64, tables: Vec<Arc<Table>>, before: Option<&Run>) -> Self {
        let models = RunModels::of(&tables, before.and_then(|run| run.models.as_ref()));
        let ends = tables.first().zip(tables.last());
        let prefix = ends.map_or(&[][..], |(first, last)| {
            let (smallest, largest) = (&first.meta.smallest, &last.meta.largest);
            let alike = common_prefix(smallest, largest);
            smallest.get(..alike).unwrap_or_default()
        });
        let metas = || tables.iter().map(|t| &t.meta);
        let mut numbers: Vec<_> = metas().map(|t| t.number).zip(0..).collect();
        numbers.sort_unstable();
        Run {
            number,
            starts: metas().map(|t| abbreviate(prefix, &t.smallest)).collect(),
            ends: metas().map(|t| abbreviate(prefix, &t.largest)).collect(),
            numbers,
            // A damaged manifest may name any number.
            bytes: metas().fold(0, |sum, t| sum.saturating_add(t.file_bytes)),
            hides: metas().fold(0, |sum, t| sum.saturating_add(t.hides)),
            range_deletes: metas().any(|t| t.range_deletes > 0),
            prefix: prefix.into(),
            models,
            tables,
        }
    }

    /// The run's number: of the runs of a level that hold a key, the one with the largest number
    /// has the newest versions.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The tables, in key order.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// Whether one of the tables has range deletes.
    pub fn has_range_deletes(&self) -> bool {
        self.range_deletes
    }

    /// The table that may hold `key`, or delete it.
    // Inlined by force: a get would make a call for each run.
    #[inline(always)]
    pub fn table_for(&self, key: &[u8]) -> Option<InRun<'_>> {
        let number = abbreviate(&self.prefix, key);
        let at = self.ending_before_number(key, number);
        let table = self.tables.get(at)?;
        let starts = match self.starts.get(at)?.cmp(&number) {
            Ordering::Less => true,
            Ordering::Equal => &*table.meta.smallest <= key,
            Ordering::Greater => false,
        };
        starts.then_some(InRun {
            run: self,
            at,
            table,
        })
    }

    /// The tables that may hold keys from `from` up to the bound `to`, in key order.
    pub fn overlapping(&self, from: &[u8], to: Bound<&[u8]>) -> &[Arc<Table>] {
        let first = self.ending_before(from);
        let rest = self.tables.get(first..).unwrap_or_default();
        let count = rest.partition_point(|t| !t.meta.starts_behind(to));
        rest.get(..count).unwrap_or_default()
    }

    /// The number of tables that end before `key`.
    pub fn ending_before(&self, key: &[u8]) -> usize {
        self.ending_before_number(key, abbreviate(&self.prefix, key))
    }

    /// As [`Run::ending_before`], given the abbreviation of `key`.
    #[inline]
    fn ending_before_number(&self, key: &[u8], number: u64) -> usize {
        let at = self.ends.partition_point(|end| *end < number);
        if self.ends.get(at).is_none_or(|end| *end != number) {
            return at;
        }
        // Some tables have the same abbreviated end: compare their keys.
        let alike = self.ends.get(at..).unwrap_or_default();
        let alike = alike.partition_point(|end| *end == number);
        let tables = self.tables.get(at..at + alike).unwrap_or_default();
        at + tables.partition_point(|t| t.meta.ends_before(key))
    }

    /// The slice that the table at a place has of a model over several tables, if there is one.
    #[inline(always)]
    pub fn slice(&self, at: usize) -> Option<SliceRef<'_>> {
        self.models.as_ref()?.slice(at, &self.tables)
    }

    /// Makes the models over several of the tables that are not there yet, so that no reader has to wait for them.
    /// Returns of how many tables.
    pub fn make_models(&self) -> u64 {
        self.models
            .as_ref()
            .map_or(0, |models| models.make(&self.tables))
    }

    /// Whether it should have a trained model and has none, and the caller is the one who shall train it again.
    pub fn claim_lost_model(&self) -> bool {
        let models = self.models.as_ref();
        models.is_some_and(|models| models.claim(&self.tables))
    }

    /// Lets somebody else train it.
    pub fn unclaim_lost_model(&self) {
        self.models.iter().for_each(RunModels::unclaim);
    }

    /// Uses a trained model that was written since.
    pub fn renew_model(&self) {
        if let Some(models) = &self.models {
            models.renew(&self.tables);
        }
    }

    /// The memory that models over several of the tables take which are there.
    pub fn model_memory(&self) -> ModelMemory {
        let models = self.models.as_ref();
        models.map_or(ModelMemory::default(), RunModels::memory)
    }

    /// The table with a file number.
    pub(super) fn find(&self, number: u64) -> Option<&Arc<Table>> {
        let found = self.numbers.binary_search_by_key(&number, |(n, _)| *n);
        let (_, at) = self.numbers.get(found.ok()?)?;
        self.tables.get(*at)
    }

    /// How many keys of the tables hide an older version in other runs, whose value may lie apart.
    pub fn hides(&self) -> u64 {
        self.hides
    }

    /// The bytes of the tables.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A table of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InRun<'a> {
    run: &'a Run,
    at: usize,
    pub table: &'a Arc<Table>,
}

impl<'a> InRun<'a> {
    /// Its slice of a model over several tables of the run, if there is one.
    #[inline(always)]
    pub fn slice(self) -> Option<SliceRef<'a>> {
        self.run.slice(self.at)
    }
}

impl Deref for InRun<'_> {
    type Target = Table;

    fn deref(&self) -> &Table {
        self.table
    }
}

/// The first two neighbours of `tables`, which ascend by their smallest keys, that may hold the
/// same key.
pub(crate) fn first_overlap<'a>(
    tables: impl Iterator<Item = &'a TableMeta>,
) -> Option<(&'a TableMeta, &'a TableMeta)> {
    let mut before: Option<&TableMeta> = None;
    for table in tables {
        if let Some(before) = before.replace(table)
            && before.overlaps(table)
        {
            return Some((before, table));
        }
    }
    None
}
