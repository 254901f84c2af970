//! Which tables get a model beside their own index, and when: Bourbon's learning in the background (OSDI 2020, section 4).
//!
//! A thread asks again and again which table comes [next](Learner::next). A table waits for a while, since many do not live for
//! long; then it is learned if that [pays](worth), those before others that gain most. What tables do when they are gone
//! tells what to expect of others of their level.

mod worth;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use self::worth::{History, Seen};
use super::stats::ModelStats;
use super::workload::SAMPLED;
use crate::error::Error;
use crate::options::Granularity;
use crate::sync::{Arc, Mutex, Weak, lock};
use crate::version::{LEVELS, Levels, LookUps, Table};

/// Behind so many tables of a key map in a row whose keys fit no model, its others are not tried.
const MOST_UNFIT: u64 = 3;

/// What learns models of a keyspace's tables.
#[derive(Debug)]
pub(crate) struct Learner {
    /// How old a table is before it may be learned.
    wait: Duration,
    state: Mutex<State>,
}

/// What a keyspace's learner does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// To learn this table, which is expected to gain so many nanoseconds.
    Learn { gain: f64, table: Arc<Table> },
    /// Nothing before so much time has passed.
    In(Duration),
    /// Nothing as long as the tables do not change.
    Nothing,
}

/// How learning a table ended.
#[derive(Debug)]
pub(crate) enum Learned {
    /// It has a model of so many bytes, which took so long.
    Model { bytes: u64, time: Duration },
    /// Its own index is a model.
    Modelled,
    /// Its keys fit no model.
    Unfit,
    /// It cannot be learned, and is not tried again.
    Failed(Error),
}

#[derive(Debug, Default)]
struct State {
    /// The levels that were seen last. Nothing of them is kept for that.
    last: Weak<Levels>,
    /// The tables that there are, by their numbers.
    tables: BTreeMap<u64, Followed>,
    /// How many tables in a row fit no model, by their key maps.
    unfit: BTreeMap<u64, u64>,
    levels: [History; LEVELS],
    /// The time of learning so far, and the entries that were learned.
    build_nanos: f64,
    build_entries: f64,
    learned: u64,
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
    Learned { bytes: u64 },
    Modelled,
    Unfit,
    Failed,
}

impl Learner {
    /// A learner that lets tables wait for so long.
    pub fn new(wait: Duration) -> Self {
        Learner {
            wait,
            state: Mutex::new(State::default()),
        }
    }

    /// Takes note of the tables that there are `now`, and tells what to do next.
    pub fn next(&self, levels: &Arc<Levels>, now: Instant) -> Next {
        let mut state = lock(&self.state);
        state.follow(levels, self.wait, now);
        let age = |followed: &Followed| now.saturating_duration_since(followed.born);
        let waits = |(_, f): &(&u64, &Followed)| state.status(f) == Status::Waits;
        let waiting = || state.tables.iter().filter(waits);
        let old = waiting().filter(|(_, followed)| age(followed) >= self.wait);
        let gains = old.map(|(number, followed)| (state.gain(followed), *number, followed));
        // Of those of which too little is known, the one that is asked most.
        let asked = |followed: &Followed| Seen::of(&followed.look_ups).look_ups();
        let best = gains.filter(|(gain, ..)| *gain > 0.0).max_by(|a, b| {
            let by_gain = a.0.total_cmp(&b.0);
            by_gain.then_with(|| asked(a.2).total_cmp(&asked(b.2)))
        });
        if let Some((gain, number, _)) = best
            && let Some((_, table)) = levels.tables().find(|(_, t)| t.meta.number == number)
        {
            let table = Arc::clone(table);
            return Next::Learn { gain, table };
        }
        let left = |(_, followed)| self.wait.saturating_sub(age(followed));
        let young = waiting().map(left).filter(|left| !left.is_zero());
        young.min().map_or(Next::Nothing, Next::In)
    }

    /// Takes note of how learning a table ended.
    pub fn note(&self, table: &Table, learned: Learned) {
        let mut state = lock(&self.state);
        let status = match learned {
            Learned::Model { bytes, time } => {
                state.learned += 1;
                state.build_nanos += time.as_nanos() as f64;
                state.build_entries += table.meta.entries as f64;
                state.unfit.remove(&table.meta.map_number);
                Status::Learned { bytes }
            }
            Learned::Modelled => Status::Modelled,
            Learned::Unfit => {
                *state.unfit.entry(table.meta.map_number).or_default() += 1;
                Status::Unfit
            }
            Learned::Failed(error) => {
                state.failure = Some(error.to_string());
                Status::Failed
            }
        };
        if let Some(followed) = state.tables.get_mut(&table.meta.number) {
            followed.status = status;
        }
    }

    /// What it did so far.
    pub fn stats(&self) -> (ModelStats, Option<String>) {
        let state = lock(&self.state);
        let mut stats = ModelStats {
            learned: state.learned,
            learning_time: Duration::from_nanos(state.build_nanos as u64),
            ..ModelStats::default()
        };
        let now = Instant::now();
        let mut by_models = state.by_models;
        for followed in state.tables.values() {
            by_models += Seen::of(&followed.look_ups).by_models();
            let is_old = now.saturating_duration_since(followed.born) >= self.wait;
            match state.status(followed) {
                Status::Learned { bytes } => {
                    stats.tables += 1;
                    stats.bytes += bytes;
                }
                Status::Waits if is_old && state.gain(followed) <= 0.0 => stats.not_worth += 1,
                Status::Waits => stats.waiting += 1,
                Status::Modelled => stats.modelled += 1,
                Status::Unfit => stats.unfit += 1,
                Status::Failed => stats.failed += 1,
            }
        }
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
