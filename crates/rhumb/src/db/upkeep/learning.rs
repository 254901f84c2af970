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
use crate::table::{LearnedBuilder, Learning};
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
        let is_there = || match &task.run {
            Some(run) => keyspace.has_run(run),
            None => task.tables.iter().all(|table| !table.is_obsolete()),
        };
        let is_wanted = || {
            let takes_writes = self.check_writable().is_ok();
            takes_writes && self.is_wanted(keyspace).is_ok() && is_there()
        };
        let mut go_on = || self.give_way(&mut turn, &is_wanted);
        let ended = self.train(keyspace, learner, &task.tables, &mut go_on);
        let time = started.elapsed().saturating_sub(turn.rested);
        match ended {
            Ok(tables) if tables.is_empty() => {}
            Ok(tables) => learner.note(&tables, Learned::Model { time }),
            Err(_) if !is_there() => learner.note(&task.tables, Learned::GivenUp { time }),
            // The store closes, or the keyspace is dropped.
            Err(Halt::Stopped) => {}
            Err(Halt::Unfit { tables, alone }) => learner.note(&tables, Learned::Unfit { alone }),
            Err(Halt::Failed(tables, error)) => learner.note(&tables, Learned::Failed(error)),
        }
    }

    /// Learns one model of those tables that need one, and returns them; takes note of the others.
    fn train(
        &self,
        keyspace: &OpenKeyspace,
        learner: &Learner,
        tables: &[Arc<Table>],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Arc<Table>>, Halt> {
        let (mut builder, mut taken) = (None, Vec::new());
        for table in tables {
            if !go_on() {
                return Err(Halt::Stopped);
            }
            let reader = Halt::at(table, table.reader())?;
            if !reader.is_learnable() {
                learner.note(slice::from_ref(table), Learned::Modelled);
                continue;
            }
            let builder = match &mut builder {
                Some(builder) => builder,
                none => {
                    let map = Halt::at(table, self.map_of(keyspace, table))?;
                    let map = map.ok_or(Halt::Stopped)?;
                    none.insert(Halt::at(table, LearnedBuilder::begin(map))?)
                }
            };
            match Halt::at(table, builder.take(reader, go_on))? {
                Learning::GoesOn => taken.push(Arc::clone(table)),
                Learning::Unfit => {
                    return Err(Halt::Unfit {
                        alone: taken.is_empty(),
                        tables: vec![Arc::clone(table)],
                    });
                }
                Learning::Stopped => return Err(Halt::Stopped),
            }
        }
        match builder.map_or(Ok(true), LearnedBuilder::end) {
            Ok(true) => Ok(taken),
            Ok(false) => Err(Halt::Unfit {
                alone: true,
                tables: taken,
            }),
            Err(error) => Err(Halt::Failed(taken, error)),
        }
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

/// Why no model was learned.
enum Halt {
    /// It was not to go on.
    Stopped,
    /// The keys of these tables fit none; `alone` if no other table was learned before them.
    Unfit {
        tables: Vec<Arc<Table>>,
        alone: bool,
    },
    /// It failed at one of these tables.
    Failed(Vec<Arc<Table>>, Error),
}

impl Halt {
    /// A failure at a table.
    fn at<T>(table: &Arc<Table>, result: Result<T>) -> Result<T, Halt> {
        result.map_err(|error| Halt::Failed(vec![Arc::clone(table)], error))
    }
}
