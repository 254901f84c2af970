//! Trained models that were lost are trained again, while there is nothing more urgent to do.

use std::sync::Arc;

use crate::compaction::Counters;
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::options::{Compaction, Granularity};
use crate::version::{Run, train};

/// How it ended to train a model again.
enum Trained {
    /// It is written.
    Yes,
    /// It could not be trained: its tables have indexes of their own.
    No,
    /// Something else was more urgent.
    Later,
}

impl Store {
    /// Trains a lost model while nothing else is to be done. Only where a merge writes a level whole: elsewhere each merge of a few
    /// tables would have all of them read again. Returns whether it was tried.
    ///
    /// # Errors
    /// If the store closes.
    pub(super) fn renew_level_models_idly(&self) -> Result<bool> {
        match self.options.levels.compaction {
            Compaction::FullLevel => self.renew_level_models(),
            _ => Ok(false),
        }
    }

    /// Trains a model whose file was not there, damaged, or of other tables. Returns whether it was tried.
    ///
    /// # Errors
    /// If the store closes.
    pub(in crate::db) fn renew_level_models(&self) -> Result<bool> {
        if self.options.levels.granularity != Granularity::Trained {
            return Ok(false);
        }
        for keyspace in self.keyspaces.load().values() {
            let levels = keyspace.view.load().levels.clone();
            let mut runs = levels.all_runs();
            if let Some((_, run)) = runs.find(|(_, run)| run.claim_lost_model()) {
                return match self.train_again(keyspace, run)? {
                    Trained::Yes => {
                        run.renew_model();
                        self.writes.update(|w| w.renewed_models += 1);
                        Ok(true)
                    }
                    Trained::No => Ok(true),
                    Trained::Later => {
                        run.unclaim_lost_model();
                        Ok(false)
                    }
                };
            }
        }
        Ok(false)
    }

    /// Trains a model over a run, unless that changes meanwhile, or writers wait for merges.
    fn train_again(&self, keyspace: &OpenKeyspace, run: &Arc<Run>) -> Result<Trained> {
        let signals = &self.scheduler.signals;
        let trained = self.with_context(keyspace, &Counters::default(), &|_| {}, |context| {
            let go_on = || match keyspace.has_run(run) && !signals.is_pressed() {
                true => (context.go_on)(),
                false => Err(Error::NoSuchKeyspace(keyspace.name.clone())),
            };
            train(&self.files, run.tables(), context.index, &go_on)
        });
        match trained {
            Err(Error::Closed) => Err(Error::Closed),
            Ok(true) => Ok(Trained::Yes),
            Err(Error::NoSuchKeyspace(_)) if signals.is_pressed() => Ok(Trained::Later),
            _ => Ok(Trained::No),
        }
    }
}
