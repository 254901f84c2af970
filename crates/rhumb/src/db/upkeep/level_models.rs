//! Trained models that were lost are trained again, while there is nothing more urgent to do.

use std::sync::Arc;

use crate::compaction::Counters;
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::options::Granularity;
use crate::version::{Run, train};

impl Store {
    /// Trains a model whose file was not there, damaged, or of other tables. Returns whether one was.
    ///
    /// # Errors
    /// If the store closes.
    pub(in crate::db) fn renew_level_models(&self) -> Result<bool> {
        if self.options.levels.granularity != Granularity::Trained {
            return Ok(false);
        }
        for keyspace in self.keyspaces.load().values() {
            let levels = keyspace.view.load().levels.clone();
            if let Some((_, run)) = levels.all_runs().find(|(_, run)| run.has_lost_model()) {
                let trained = self.train_again(keyspace, run);
                if matches!(trained, Err(Error::Closed)) {
                    return trained;
                }
                // If it could not be trained, it is not tried again: its tables have indexes of their own.
                run.renew_model();
                let trained = matches!(trained, Ok(true));
                self.writes
                    .update(|w| w.renewed_models += u64::from(trained));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Trains a model over a run, unless that changes meanwhile.
    fn train_again(&self, keyspace: &OpenKeyspace, run: &Arc<Run>) -> Result<bool> {
        self.with_context(keyspace, &Counters::default(), &|_| {}, |context| {
            let go_on = || {
                let levels = keyspace.view.load().levels.clone();
                let mut runs = levels.all_runs();
                match runs.any(|(_, now)| Arc::ptr_eq(now, run)) {
                    true => (context.go_on)(),
                    false => Err(Error::NoSuchKeyspace(keyspace.name.clone())),
                }
            };
            train(&self.files, run.tables(), context.index, &go_on)
        })
    }
}
