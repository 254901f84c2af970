//! The order of measuring. What figures compare is measured by turns: in each round every store
//! over a set of keys is built anew, from other keys and in another order. Stores that differ in index
//! and layout alone share one load: each is a copy of it whose tables are written anew. Those that differ in the cache alone, or in
//! whether the device is read, are one.

use super::{Amounts, Build, Data, Experiment, Planned, Scale};
use crate::contest::{seed_of, turns};
use crate::error::{Error, Result};
use crate::results::Key;

/// The cells to measure.
pub struct Order {
    /// The experiments.
    pub experiments: Vec<&'static Experiment>,
    /// Their scale.
    pub scale: Scale,
    /// The amounts of that scale.
    pub amounts: Amounts,
    /// Seed from which the seeds of the rounds follow.
    pub seed: u64,
    /// Whether finished rounds are measured again.
    pub again: bool,
    /// The number of this machine, from 1, and the number of machines.
    pub shard: (usize, usize),
    /// The values of axes to which cells are limited that have the axis: of each axis one of those that are named.
    pub only: Vec<(String, String)>,
}

/// The cells over one set of keys in one round: everything that figures compare by turns.
pub struct Contest {
    /// The round, from 1.
    pub round: u32,
    /// Seed of the keys, values and random choices of the round.
    pub seed: u64,
    /// The set.
    pub data: Data,
    /// The stores in the order of this round.
    pub stores: Vec<Group>,
    /// Whether another machine measures it.
    pub elsewhere: bool,
}

/// Cells over one store, or over keys without a store.
#[derive(Clone)]
pub struct Group {
    /// The store, [at rest](Build::at_rest) where it can be: its cells may differ in how they read it.
    pub build: Option<Build>,
    /// Its cells with their keys in results, in the order of measuring.
    pub cells: Vec<(Key, Planned)>,
}

impl Group {
    /// The build whose load the store shares with others.
    pub fn shared(&self) -> Option<Build> {
        self.build.as_ref()?.shared()
    }
}

impl Order {
    /// All contests, round by round.
    ///
    /// # Errors
    /// If an experiment cannot declare its cells.
    pub fn contests(&self) -> Result<Vec<Contest>> {
        let sets = self.sets()?;
        let rounds = self.experiments.iter().map(|it| it.rounds(&self.amounts));
        let mut contests = Vec::new();
        for round in 1..=rounds.max().unwrap_or(0) {
            for (number, (data, groups)) in sets.iter().enumerate() {
                let mut stores = groups.clone();
                for group in &mut stores {
                    group
                        .cells
                        .retain(|(key, planned)| round <= self.rounds(key, planned));
                }
                stores.retain(|group| !group.cells.is_empty());
                if stores.is_empty() {
                    continue;
                }
                let order = turns(stores.len(), self.seed ^ number as u64, round);
                let stores = order.iter().filter_map(|at| stores.get(*at).cloned());
                let stores = beside_each_other(stores.collect());
                let round_of_set = (number, round);
                contests.push(Contest {
                    round,
                    seed: seed_of(self.seed, round),
                    data: data.clone(),
                    stores,
                    elsewhere: !self.is_mine(round_of_set, sets.len()),
                });
            }
        }
        Ok(contests)
    }

    /// The number of rounds of a cell. What has no store is no contest, so it is measured once.
    fn rounds(&self, key: &Key, planned: &Planned) -> u32 {
        let mut experiments = self.experiments.iter();
        let experiment = experiments.find(|it| it.id == key.experiment);
        match &planned.build {
            Some(_) => experiment.map_or(0, |it| it.rounds(&self.amounts)),
            None => 1,
        }
    }

    /// The cells by their sets of keys, then by their stores.
    fn sets(&self) -> Result<Vec<(Data, Vec<Group>)>> {
        let mut sets: Vec<(Data, Vec<Group>)> = Vec::new();
        for experiment in &self.experiments {
            let planned = (experiment.cells)(&self.amounts)?.into_iter();
            for planned in planned.filter(|planned| self.is_wanted(planned)) {
                let key = Key {
                    experiment: experiment.id,
                    scale: self.scale.name(),
                    seed: self.seed,
                    records: planned.data.records,
                    axes: planned.axes.clone(),
                };
                let known = sets.iter().position(|(data, _)| *data == planned.data);
                let at = known.unwrap_or_else(|| {
                    sets.push((planned.data.clone(), Vec::new()));
                    sets.len() - 1
                });
                let build = planned.build.clone();
                let build = build.map(|build| build.at_rest().unwrap_or(build));
                let groups = &mut sets[at].1;
                match groups.iter_mut().find(|group| group.build == build) {
                    Some(group) => group.cells.push((key, planned)),
                    None => groups.push(Group {
                        build,
                        cells: vec![(key, planned)],
                    }),
                }
            }
        }
        for group in sets.iter_mut().flat_map(|(_, groups)| groups) {
            group.cells.sort_by_key(|(_, planned)| planned.work.place());
        }
        Ok(sets)
    }

    /// Whether the order is not limited to others.
    fn is_wanted(&self, planned: &Planned) -> bool {
        planned.axes.iter().all(|(axis, value)| {
            let mut named = self.only.iter().filter(|(only, _)| only == axis).peekable();
            named.peek().is_none() || named.any(|(_, only)| only == value)
        })
    }

    /// Whether this machine measures a round of a set. A set is measured on one machine; only if
    /// there are more machines than sets, its rounds are divided among several.
    fn is_mine(&self, (set, round): (usize, u32), sets: usize) -> bool {
        let (this, machines) = self.shard;
        let part = match machines <= sets {
            true => set,
            false => (round as usize - 1) * sets + set,
        };
        part % machines + 1 == this
    }
}

/// The same stores; those of one load follow the first of them.
fn beside_each_other(stores: Vec<Group>) -> Vec<Group> {
    let loads: Vec<Option<Build>> = stores.iter().map(Group::shared).collect();
    let first = |(at, load): (usize, &Option<Build>)| match load {
        Some(_) => loads.iter().position(|known| known == load).unwrap_or(at),
        None => at,
    };
    let places: Vec<usize> = loads.iter().enumerate().map(first).collect();
    let mut placed: Vec<(usize, Group)> = places.into_iter().zip(stores).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, group)| group).collect()
}

/// Parses a value of an axis, such as `system=tier-keys`.
///
/// # Errors
/// If the text is not of this form.
pub fn parse_only(text: &str) -> Result<(String, String)> {
    let parts = text.split_once('=').filter(|(axis, _)| !axis.is_empty());
    let (axis, value) = parts.ok_or_else(|| {
        Error::Usage(format!(
            "--only {text}: write an axis and its value, such as system=tier-keys"
        ))
    })?;
    Ok((axis.to_string(), value.to_string()))
}

/// Parses the part of an order for a machine, such as `2/3`.
///
/// # Errors
/// If the text is not of this form.
pub fn parse_shard(text: &str) -> Result<(usize, usize)> {
    let parts = text.split_once('/');
    let numbers = parts.and_then(|(this, all)| Some((this.parse().ok()?, all.parse().ok()?)));
    numbers
        .filter(|(this, all)| (1..=*all).contains(this))
        .ok_or_else(|| {
            Error::Usage(format!(
                "--shard {text}: write i/n, such as 2/3 for the second of three"
            ))
        })
}
