//! When models of tables are learned beside their indexes ([`Tuner::Bourbon`](crate::Tuner::Bourbon)).

use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhumb_index::KeyMap;

use super::background::Round;
use super::compact::LONGEST_NAP;
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::sync::lock;
use crate::table::{Learning, Training};
use crate::tune::{Learned, Learner, Next, Task};
use crate::version::Table;

/// A learner works for so long at a time, and beside flushes and merges rests for so many times as long: it would take the
/// processor from them, and nobody waits for it.
const TURN: Duration = Duration::from_millis(1);
const RESTS: u32 = 3;

/// When a learner began its turn, and how long it has rested.
pub(super) struct Turn {
    begun: Instant,
    rested: Duration,
}

impl Turn {
    pub(super) fn begun_at(begun: Instant) -> Self {
        Turn {
            begun,
            rested: Duration::ZERO,
        }
    }
}

impl Store {
    /// Learns the tables of all keyspaces from which most is to be gained; none while writers are held up. A table that cannot
    /// be learned is told of in the statistics, and read as before.
    pub(super) fn learn_next(&self) -> Round {
        let (mut best, mut soonest): (Option<(Arc<OpenKeyspace>, Task)>, Option<Duration>) =
            (None, None);
        let now = Instant::now();
        for keyspace in self.keyspaces.load().values() {
            let Some(learner) = keyspace.learner() else {
                continue;
            };
            // No view is kept for so long that it would wait to be freed.
            let levels = keyspace.view.load().levels.clone();
            match learner.next(&levels, now) {
                Next::Learn(task) => {
                    if best.as_ref().is_none_or(|(_, best)| task.gain > best.gain) {
                        best = Some((keyspace.clone(), task));
                    }
                }
                Next::In(time) => soonest = Some(soonest.map_or(time, |s: Duration| s.min(time))),
                Next::Nothing => {}
            }
        }
        if self.scheduler.signals.is_pressed() {
            // A signal tells when it ends.
            return Round::Nothing;
        }
        match (best, soonest) {
            (Some((keyspace, task)), _) => {
                if let Some(learner) = keyspace.learner() {
                    self.learn(&keyspace, learner, &task);
                }
                Round::Worked
            }
            (None, Some(time)) => Round::NothingFor(time),
            (None, None) => Round::Nothing,
        }
    }

    /// Learns tables as long as that is wanted: they are not merged away, their run stays as it is where it is learned as a whole, the
    /// keyspace is not dropped, and the store takes writes.
    pub(super) fn learn(&self, keyspace: &OpenKeyspace, learner: &Learner, task: &Task) {
        let started = Instant::now();
        let mut turn = Turn::begun_at(started);
        let is_wanted = || self.is_to_learn(keyspace, task);
        let mut go_on = || self.give_way(&mut turn, &is_wanted);
        let Some(tables) = learnable(learner, &task.tables) else {
            return;
        };
        let learned = self.train(keyspace, &tables, &mut go_on);
        let time = started.elapsed().saturating_sub(turn.rested);
        match learned {
            Ok(Learning::Done) => learner.note(&tables, Learned::Model { time }),
            Ok(Learning::Unfit) => learner.note(&tables, Learned::Unfit),
            Ok(Learning::Stopped) => learner.note(&tables, Learned::GivenUp),
            Err(_) if !is_wanted() => learner.note(&tables, Learned::GivenUp),
            Err((table, error)) => learner.note(&[table], Learned::Failed(error)),
        }
    }

    fn is_to_learn(&self, keyspace: &OpenKeyspace, task: &Task) -> bool {
        let takes_writes = self.check_writable().is_ok();
        takes_writes
            && self.is_wanted(keyspace).is_ok()
            && task.tables.iter().all(|table| !table.is_obsolete())
            && task.run.as_ref().is_none_or(|run| keyspace.has_run(run))
    }

    /// Learns one model of tables that are learnable.
    ///
    /// # Errors
    /// With the table that cannot be learned.
    fn train(
        &self,
        keyspace: &OpenKeyspace,
        tables: &[Arc<Table>],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Learning, (Arc<Table>, Error)> {
        let of = |table: &Arc<Table>| {
            let table = Arc::clone(table);
            |error: Error| (table, error)
        };
        let Some(first) = tables.first() else {
            return Ok(Learning::Stopped);
        };
        let Some(map) = self.map_of(keyspace, first).map_err(of(first))? else {
            return Ok(Learning::Stopped);
        };
        let mut training = Training::begin(map).map_err(of(first))?;
        for table in tables {
            let reader = table.reader().map_err(of(table))?;
            if let Some(ended) = training.take(reader, go_on).map_err(of(table))? {
                return Ok(ended);
            }
        }
        training.end().map_err(of(first))
    }

    /// The key map of a table, with its number; `None` if the table is gone.
    fn map_of(
        &self,
        keyspace: &OpenKeyspace,
        table: &Arc<Table>,
    ) -> Result<Option<(u64, Arc<KeyMap>)>> {
        let number = table.meta.map_number;
        let catalog = lock(&self.catalog);
        let state = catalog.state.keyspaces.get(&keyspace.id);
        let is_there = |(_, there): (_, &Arc<Table>)| there.meta.number == table.meta.number;
        // Maps go with their last table.
        let Some(state) = state.filter(|state| state.levels.tables().any(is_there)) else {
            return Ok(None);
        };
        match state.maps.by_number().get(&number) {
            Some(map) => Ok(Some((number, Arc::clone(map)))),
            None => {
                let expected = format!("key map {number} in the manifest");
                Err(Error::corruption(&table.path(), 0, expected, "none"))
            }
        }
    }

    /// Rests beside flushes and merges, and while writers are held up. Returns whether the work is still wanted then.
    pub(super) fn give_way(&self, turn: &mut Turn, is_wanted: &dyn Fn() -> bool) -> bool {
        let (worked, started) = (turn.begun.elapsed(), Instant::now());
        if worked < TURN {
            return is_wanted();
        }
        let signals = &self.scheduler.signals;
        if self.scheduler.running().is_busy() {
            signals.rest(RESTS * worked);
        }
        while signals.is_pressed() && is_wanted() {
            signals.rest(LONGEST_NAP);
        }
        turn.begun = Instant::now();
        turn.rested += turn.begun - started;
        is_wanted()
    }
}

/// Those of some tables that can be learned, if there are any; takes note of the others.
fn learnable(learner: &Learner, tables: &[Arc<Table>]) -> Option<Vec<Arc<Table>>> {
    let mut learnable = Vec::new();
    for table in tables {
        let learned = match table.reader().map(|reader| reader.is_learnable()) {
            Ok(true) => {
                learnable.push(Arc::clone(table));
                continue;
            }
            Ok(false) => Learned::Modelled,
            Err(_) if table.is_obsolete() => Learned::GivenUp,
            Err(error) => Learned::Failed(error),
        };
        learner.note(slice::from_ref(table), learned);
    }
    (!learnable.is_empty()).then_some(learnable)
}
