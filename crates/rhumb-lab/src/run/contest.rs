//! Systems over one input, by turns, in rounds: as in the experiments of the papers, each round builds
//! every store anew, loads it in another order, and has its turns in another order.

use std::path::PathBuf;

use super::phases::Loaded;
use super::{Arguments, Bench};
use crate::contest::rounds;
use crate::data::Input;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::results::{Measured, Subject};
use crate::store::{Store, System, Temperature};

/// The systems to compare.
pub struct Contest<'a> {
    /// The experiment's name.
    experiment: &'static str,
    systems: &'a [System],
    input: &'a Input,
    rounds: usize,
    /// Seed from which the seeds of the rounds follow.
    seed: u64,
}

/// A system in one round. Its store is removed when the round of the system ends.
pub struct Turn<'a> {
    /// The system.
    pub system: &'a System,
    /// Its name in results and messages.
    pub name: String,
    /// The keys and values.
    pub input: &'a Input,
    /// Seed of every random choice of the round.
    pub seed: u64,
    /// The display of the progress.
    pub progress: &'a Progress,
    /// A directory for the store, empty at first.
    pub directory: PathBuf,
}

impl<'a> Contest<'a> {
    /// Systems over the keys and values of an input, in [`Arguments::runs`] rounds (one by default).
    pub fn new(
        experiment: &'static str,
        systems: &'a [System],
        input: &'a Input,
        arguments: &Arguments,
    ) -> Self {
        Contest {
            experiment,
            systems,
            input,
            rounds: arguments.runs.unwrap_or(1),
            seed: arguments.seed,
        }
    }

    /// Calls `measure` for each system in each round, and adds what it measured to the report: each
    /// figure has one value for each round. Returns the subjects in the order of the systems.
    ///
    /// # Errors
    /// The first error of `measure`, which leaves the report as it was.
    pub fn run(
        &self,
        bench: &mut Bench,
        mut measure: impl FnMut(&Turn<'_>) -> Result<Measured>,
    ) -> Result<Vec<Subject>> {
        let mut all: Vec<Measured> = self.systems.iter().map(|_| Measured::default()).collect();
        for round in rounds(self.systems.len(), self.rounds as u32, self.seed) {
            for at in round.order {
                let turn = Turn {
                    system: &self.systems[at],
                    name: self.systems[at].label(),
                    input: self.input,
                    seed: round.seed,
                    progress: &bench.progress,
                    directory: bench.directory.join("store"),
                };
                let directory = &turn.directory;
                std::fs::create_dir(directory).map_err(Error::io("create", directory))?;
                all[at].add_round(measure(&turn)?);
                std::fs::remove_dir_all(directory).map_err(Error::io("remove", directory))?;
            }
        }
        let subject = |system: &System| Subject {
            experiment: self.experiment,
            input: self.input.name.clone(),
            index: system.label(),
        };
        let subjects: Vec<Subject> = self.systems.iter().map(subject).collect();
        for (subject, measured) in subjects.iter().zip(all) {
            bench.report.of(subject).add_round(measured);
        }
        Ok(subjects)
    }
}

impl Turn<'_> {
    /// Opens or creates the store.
    ///
    /// # Errors
    /// Any error of the store.
    pub fn open(&self, temperature: Temperature) -> Result<Box<dyn Store>> {
        self.system.open(&self.directory, temperature)
    }

    /// The steps over the open store.
    pub fn steps<'s>(&'s self, store: &'s dyn Store) -> Loaded<'s> {
        Loaded::new(store, &self.name, self.input, self.progress, self.seed)
    }
}
