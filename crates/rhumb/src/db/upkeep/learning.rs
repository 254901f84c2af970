//! When models of tables are learned beside their indexes ([`Tuner::Bourbon`](crate::Tuner::Bourbon)).

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::background::Round;
use super::compact::LONGEST_NAP;
use crate::db::store::{OpenKeyspace, Store};
use crate::db::write::pressure::Pressure;
use crate::error::{Error, Result};
use crate::sync::lock;
use crate::tune::{Learned, Learner, Next};
use crate::version::Table;

/// A learner works for so long at a time, and beside flushes and merges rests for so many times as long: it would take the
/// processor from them, and nobody waits for it.
const TURN: Duration = Duration::from_millis(1);
const RESTS: u32 = 3;

/// When a learner began its turn, and how long it has rested.
struct Turn {
    begun: Instant,
    rested: Duration,
}

impl Store {
    /// Learns the table of all keyspaces from which most is to be gained. A table that cannot be learned is told of in the
    /// statistics, and read as before.
    ///
    /// # Errors
    /// If the store closes.
    pub(super) fn learn_next(&self) -> Result<Round> {
        let (mut best, mut soonest) = (None, None);
        let mut most = 0.0;
        let now = Instant::now();
        for keyspace in self.keyspaces.load().values() {
            let Some(learner) = keyspace.learner() else {
                continue;
            };
            // No view is kept for so long that it would wait to be freed.
            let levels = keyspace.view.load().levels.clone();
            match learner.next(&levels, now) {
                Next::Learn { gain, table } if gain > most => {
                    (best, most) = (Some((keyspace.clone(), table)), gain);
                }
                Next::In(time) => soonest = Some(soonest.map_or(time, |s: Duration| s.min(time))),
                Next::Learn { .. } | Next::Nothing => {}
            }
        }
        match (best, soonest) {
            (Some((keyspace, table)), _) => {
                if let Some(learner) = keyspace.learner() {
                    self.learn(&keyspace, learner, &table)?;
                }
                Ok(Round::Worked)
            }
            (None, Some(time)) => Ok(Round::NothingFor(time)),
            (None, None) => Ok(Round::Nothing),
        }
    }

    /// Learns a table, unless it is merged meanwhile.
    ///
    /// # Errors
    /// If the store closes.
    fn learn(&self, keyspace: &OpenKeyspace, learner: &Learner, table: &Arc<Table>) -> Result<()> {
        let started = Instant::now();
        let mut turn = Turn {
            begun: started,
            rested: Duration::ZERO,
        };
        let mut go_on = || {
            self.give_way(&mut turn);
            self.is_wanted(keyspace)?;
            match table.is_obsolete() {
                true => Err(Error::NoSuchKeyspace(keyspace.name.clone())),
                false => Ok(()),
            }
        };
        let learned = self.learn_table(keyspace, table, &mut go_on);
        let time = started.elapsed().saturating_sub(turn.rested);
        learner.note(
            table,
            match learned {
                Ok(Some(bytes)) => Learned::Model { bytes, time },
                Ok(None) => Learned::Modelled,
                Err(Error::Closed) => return Err(Error::Closed),
                // It is gone, by a merge or with its keyspace.
                Err(Error::NoSuchKeyspace(_)) => return Ok(()),
                Err(error) => Learned::Failed(error),
            },
        );
        Ok(())
    }

    /// Learns a table, and returns the bytes of its model; `None` if its own index is one.
    fn learn_table(
        &self,
        keyspace: &OpenKeyspace,
        table: &Table,
        go_on: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<u64>> {
        let reader = table.reader()?;
        if !reader.is_learnable() {
            return Ok(None);
        }
        let number = table.meta.map_number;
        let map = {
            let catalog = lock(&self.catalog);
            let state = catalog.state.keyspaces.get(&keyspace.id);
            state.and_then(|state| state.maps.by_number().get(&number).cloned())
        };
        // Maps go with their last table.
        let map = map.ok_or_else(|| Error::NoSuchKeyspace(keyspace.name.clone()))?;
        reader.learn((number, map), go_on)?;
        Ok(Some(reader.learned_bytes() as u64))
    }

    /// Rests beside flushes and merges, and while writers are held up.
    fn give_way(&self, turn: &mut Turn) {
        let (worked, started) = (turn.begun.elapsed(), Instant::now());
        if worked < TURN {
            return;
        }
        if self.scheduler.running().is_busy() {
            thread::sleep((RESTS * worked).min(LONGEST_NAP));
        }
        let signals = &self.scheduler.signals;
        while signals.pressure() != Pressure::None && !signals.shutting_down() {
            thread::sleep(LONGEST_NAP);
        }
        turn.begun = Instant::now();
        turn.rested += turn.begun - started;
    }
}
