//! Stores for workloads, all loaded in the same way.

use super::contest::Turn;
use crate::data::Input;
use crate::error::Result;
use crate::store::{Store, Temperature};
use crate::workload::drive::Driver;
use crate::workload::load::Load;
use crate::workload::order::Order;
use crate::workload::population::Population;

/// The number of keys of an input that are not loaded at first, for the workloads that insert: a
/// tenth.
pub fn left_out(input: &Input) -> usize {
    input.keys.len() / 10
}

/// A store in use, and its records.
pub struct Served<'a> {
    turn: &'a Turn<'a>,
    store: Box<dyn Store>,
    population: Population<'a>,
}

impl<'a> Served<'a> {
    /// Loads nine tenths of an input into a new store in random order, merges the whole store,
    /// opens it again, and reads every record, which checks it and loads everything into memory.
    ///
    /// # Errors
    /// Wrong answers, and failures of the store.
    pub fn load(turn: &'a Turn<'a>, order: &'a Order) -> Result<Served<'a>> {
        let input = turn.input;
        let records = input.keys.len() - left_out(input);
        let population = Population::new(input, order, records, turn.seed)?;
        let store = turn.open(Temperature::Warm)?;
        population.load(&*store, turn.progress)?;
        store.settle()?;
        store.close()?;
        let served = Served {
            turn,
            store: turn.open(Temperature::Warm)?,
            population,
        };
        let load = Load::closed(records as u64, 1);
        let every_record = "read=100,sequential".parse()?;
        served.driver(load, turn.seed).run(&every_record)?;
        Ok(served)
    }

    /// The driver that runs workloads.
    pub fn driver(&self, load: Load, seed: u64) -> Driver<'_> {
        Driver {
            store: &*self.store,
            name: &self.turn.name,
            population: &self.population,
            load,
            seed,
            progress: self.turn.progress,
            on_read: None,
        }
    }

    /// Closes the store.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn close(self) -> Result<()> {
        self.store.close()
    }
}
