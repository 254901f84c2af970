//! Which tables get a model beside their own index, and when: Bourbon's learning in the background (OSDI 2020, section 4).
//!
//! A thread asks again and again which tables come [next](Learner::next). A table waits for a while, since many do not live for
//! long; then it is learned if that [pays](worth), those before others that gain most. What tables do when they are gone
//! tells what to expect of others of their level. One table is learned at a time, or all of a run that have no model yet.

mod worth;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use self::worth::{History, Seen};
use super::stats::ModelStats;
use super::workload::SAMPLED;
use crate::error::Error;
use crate::options::{Covers, Granularity};
use crate::sync::{Arc, Mutex, Weak, lock};
use crate::version::{LEVELS, Levels, LookUps, Run, Table};

/// Behind so many models in a row that do not fit the keys of one key map, its other tables are not tried.
const MOST_UNFIT: u64 = 3;

/// One model covers no more entries: an index has at most 2^32 keys.
const MOST_ENTRIES: u64 = 1 << 31;

/// What learns models of a keyspace's tables.
#[derive(Debug)]
pub(crate) struct Learner {
    /// How old a table is before it may be learned.
    wait: Duration,
    /// What is learned at a time.
    covers: Covers,
    state: Mutex<State>,
}

/// What a keyspace's learner does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// To learn this.
    Learn(Task),
    /// Nothing before so much time has passed.
    In(Duration),
    /// Nothing as long as the tables do not change.
    Nothing,
}

/// Tables that one model shall cover.
#[derive(Debug)]
pub(crate) struct Task {
    /// The nanoseconds that the model is expected to gain.
    pub gain: f64,
    /// At least one, in key order.
    pub tables: Vec<Arc<Table>>,
    /// The run that must not change meanwhile, if it is learned as a whole.
    pub run: Option<Arc<Run>>,
}

/// How learning tables ended.
#[derive(Debug)]
pub(crate) enum Learned {
    /// They have a model, which took so long.
    Model { time: Duration },
    /// Their own indexes are models.
    Modelled,
    /// Their keys fit no model; `alone` if no other table was learned before them in the same one.
    Unfit { alone: bool },
    /// They cannot be learned, and are not tried again.
    Failed(Error),
    /// It was given up after so much time, since tables went or came meanwhile.
    GivenUp { time: Duration },
}

#[derive(Debug, Default)]
struct State {
    /// The levels that were seen last. Nothing of them is kept for that.
    last: Weak<Levels>,
    /// The tables that there are, by their numbers.
    tables: BTreeMap<u64, Followed>,
    /// How many models in a row did not fit, by the key maps of their tables, which have one in common.
    unfit: BTreeMap<u64, u64>,
    levels: [History; LEVELS],
    /// The time of learning, and what was given up too.
    time: Duration,
    /// The time of what was learned, and its entries.
    build_nanos: f64,
    build_entries: f64,
    /// How many models and tables were learned, and how often it was given up.
    models: u64,
    learned: u64,
    given_up: u64,
    /// Timed look-ups by models in tables that are gone.
    by_models: f64,
    failure: Option<String>,
}

/// A table.
#[derive(Debug)]
struct Followed {
    level: usize,
    entries: f64,
    map_number: u64,
    /// When it was first seen.
    born: Instant,
    look_ups: Arc<LookUps>,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Waits,
    /// By the model of this number.
    Learned(u64),
    Modelled,
    Unfit,
    Failed,
}

/// Tables that one model may cover.
struct Unit<'t> {
    /// Those that have a model too.
    tables: &'t [Arc<Table>],
    /// What a model of those without one is expected to gain, and how often they were asked.
    gain: f64,
    asked: f64,
}

impl Unit<'_> {
    /// Whether it is learned before another one: where more is to be gained, or, if too little is known of both, more is asked.
    fn is_before(&self, other: &Unit<'_>) -> bool {
        let by_gain = self.gain.total_cmp(&other.gain);
        by_gain
            .then_with(|| self.asked.total_cmp(&other.asked))
            .is_gt()
    }
}

impl Learner {
    /// A learner that lets tables wait for so long.
    pub fn new(wait: Duration, covers: Covers) -> Self {
        Learner {
            wait,
            covers,
            state: Mutex::new(State::default()),
        }
    }

    /// Takes note of the tables that there are `now`, and tells what to do next.
    pub fn next(&self, levels: &Arc<Levels>, now: Instant) -> Next {
        let mut state = lock(&self.state);
        state.follow(levels, self.wait, now);
        let (mut best, mut soonest): (Option<(Unit<'_>, &Arc<Run>)>, Option<Duration>) =
            (None, None);
        for (_, run) in levels.all_runs() {
            let of_run = self.is_whole().then(|| state.age(run.tables(), now));
            for unit in self.units(run).filter_map(|unit| state.unit(unit)) {
                let age = of_run.unwrap_or_else(|| state.age(unit.tables, now));
                if age < self.wait {
                    let left = self.wait - age;
                    soonest = Some(soonest.map_or(left, |s| s.min(left)));
                } else if unit.gain > 0.0
                    && best.as_ref().is_none_or(|(best, _)| unit.is_before(best))
                {
                    best = Some((unit, run));
                }
            }
        }
        match (best, soonest) {
            (Some((unit, run)), _) => Next::Learn(Task {
                gain: unit.gain,
                tables: state
                    .waiting(unit.tables)
                    .map(|(table, _)| Arc::clone(table))
                    .collect(),
                run: self.is_whole().then(|| Arc::clone(run)),
            }),
            (None, Some(left)) => Next::In(left),
            (None, None) => Next::Nothing,
        }
    }

    fn is_whole(&self) -> bool {
        self.covers == Covers::Level
    }

    /// The tables of a run that one model may cover: neighbours that number their keys alike.
    fn units<'r>(&self, run: &'r Run) -> impl Iterator<Item = &'r [Arc<Table>]> {
        let (is_whole, mut entries) = (self.is_whole(), 0_u64);
        run.tables().chunk_by(move |table, next| {
            entries = entries.saturating_add(table.meta.entries);
            let is_alike = table.meta.map_number == next.meta.map_number;
            let goes_on =
                is_whole && is_alike && entries.saturating_add(next.meta.entries) <= MOST_ENTRIES;
            if !goes_on {
                entries = 0;
            }
            goes_on
        })
    }

    /// Takes note of how learning tables ended.
    pub fn note(&self, tables: &[Arc<Table>], learned: Learned) {
        let mut state = lock(&self.state);
        let status = match learned {
            Learned::Model { time } => {
                let entries: u64 = tables.iter().map(|table| table.meta.entries).sum();
                state.models += 1;
                state.learned += tables.len() as u64;
                state.time += time;
                state.build_nanos += time.as_nanos() as f64;
                state.build_entries += entries as f64;
                if let Some(first) = tables.first() {
                    state.unfit.remove(&first.meta.map_number);
                }
                Status::Learned(state.models)
            }
            Learned::Modelled => Status::Modelled,
            Learned::Unfit { alone } => {
                // What does not fit behind others tells nothing of these.
                if let Some(first) = tables.first().filter(|_| alone) {
                    *state.unfit.entry(first.meta.map_number).or_default() += 1;
                }
                Status::Unfit
            }
            Learned::Failed(error) => {
                state.failure = Some(error.to_string());
                Status::Failed
            }
            Learned::GivenUp { time } => {
                state.given_up += 1;
                state.time += time;
                return;
            }
        };
        for table in tables {
            if let Some(followed) = state.tables.get_mut(&table.meta.number) {
                followed.status = status;
            }
        }
    }

    /// What it did so far, and the memory of the models of tables.
    pub fn stats(&self, levels: &Levels) -> (ModelStats, Option<String>) {
        let readers = levels.tables().filter_map(|(_, table)| table.open_reader());
        let state = lock(&self.state);
        let mut stats = ModelStats {
            bytes: readers.map(|reader| reader.learned_bytes() as u64).sum(),
            learned: state.learned,
            given_up: state.given_up,
            learning_time: state.time,
            ..ModelStats::default()
        };
        let now = Instant::now();
        let mut by_models = state.by_models;
        let mut models = BTreeSet::new();
        for followed in state.tables.values() {
            by_models += Seen::of(&followed.look_ups).by_models();
            let is_old = now.saturating_duration_since(followed.born) >= self.wait;
            match state.status(followed) {
                Status::Learned(model) => {
                    stats.tables += 1;
                    models.insert(model);
                }
                Status::Waits if is_old && state.gain(followed) <= 0.0 => stats.not_worth += 1,
                Status::Waits => stats.waiting += 1,
                Status::Modelled => stats.modelled += 1,
                Status::Unfit => stats.unfit += 1,
                Status::Failed => stats.failed += 1,
            }
        }
        stats.models = models.len() as u64;
        stats.look_ups = by_models as u64 * SAMPLED;
        (stats, state.failure.clone())
    }
}

impl State {
    /// Takes note of the tables that there are, and of those that are gone.
    fn follow(&mut self, levels: &Arc<Levels>, wait: Duration, now: Instant) {
        if Weak::as_ptr(&self.last) == Arc::as_ptr(levels) {
            return;
        }
        self.last = Arc::downgrade(levels);
        let mut gone = std::mem::take(&mut self.tables);
        for (place, table) in levels.tables() {
            let number = table.meta.number;
            let known = gone.remove(&number);
            let mut followed = known.unwrap_or_else(|| Followed {
                level: place.level,
                entries: table.meta.entries as f64,
                map_number: table.meta.map_number,
                born: now,
                look_ups: Arc::clone(table.follow()),
                // Models over several tables come before any of one.
                status: match table.granularity() {
                    Granularity::Table => Status::Waits,
                    _ => Status::Modelled,
                },
            });
            followed.level = place.level;
            self.tables.insert(number, followed);
        }
        let in_use = |number| self.tables.values().any(|f| f.map_number == number);
        self.unfit.retain(|number, _| in_use(*number));
        for followed in gone.into_values() {
            let seen = Seen::of(&followed.look_ups);
            self.by_models += seen.by_models();
            // Of a table that was merged before it could be learned, nothing follows for others.
            if now.saturating_duration_since(followed.born) > wait
                && let Some(history) = self.levels.get_mut(followed.level)
            {
                history.add(followed.entries, &seen);
            }
        }
    }

    /// What became of a table. Those that wait fit no model where others with their key map did not.
    fn status(&self, followed: &Followed) -> Status {
        let unfit = self.unfit.get(&followed.map_number);
        match followed.status {
            Status::Waits if unfit.is_some_and(|&unfit| unfit >= MOST_UNFIT) => Status::Unfit,
            status => status,
        }
    }

    /// The tables without a model among some.
    fn waiting<'t>(
        &self,
        tables: &'t [Arc<Table>],
    ) -> impl Iterator<Item = (&'t Arc<Table>, &Followed)> {
        let followed = tables.iter().filter_map(|table| {
            let followed = self.tables.get(&table.meta.number)?;
            Some((table, followed))
        });
        followed.filter(|(_, followed)| self.status(followed) == Status::Waits)
    }

    /// What is known of tables that one model may cover; `None` if all of them have one, or can have none.
    fn unit<'t>(&self, tables: &'t [Arc<Table>]) -> Option<Unit<'t>> {
        self.waiting(tables).next()?;
        let (mut gain, mut asked) = (0.0, 0.0);
        for (_, followed) in self.waiting(tables) {
            gain += self.gain(followed);
            asked += Seen::of(&followed.look_ups).look_ups();
        }
        Some(Unit {
            tables,
            gain,
            asked,
        })
    }

    /// The time since the youngest of some tables came.
    fn age(&self, tables: &[Arc<Table>], now: Instant) -> Duration {
        let followed = tables
            .iter()
            .filter_map(|table| self.tables.get(&table.meta.number));
        let youngest = followed.map(|followed| followed.born).max();
        youngest.map_or(Duration::ZERO, |born| now.saturating_duration_since(born))
    }

    /// The nanoseconds that a model of a table is expected to gain.
    fn gain(&self, followed: &Followed) -> f64 {
        let build = followed.entries * self.build_nanos / self.build_entries.max(1.0);
        let history = self.levels.get(followed.level).copied();
        history.unwrap_or_default().gain(followed.entries, build)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
