//! A store of our own, loaded with an input, for experiments that look at nothing else.

use std::path::PathBuf;

use rhumb::Db;

use super::phases::Loaded;
use super::{Arguments, Bench};
use crate::data::Input;
use crate::error::{Error, Result};
use crate::results::Subject;
use crate::store::{Candidate, Settings, Temperature};

const WRITE_BUFFER_BYTES: u64 = 64 << 20;

/// A loaded store, open and warm as far as its cache goes.
pub struct Ours {
    /// The store.
    pub db: Db,
    /// What figures are put under.
    pub subject: Subject,
    directory: PathBuf,
}

impl Ours {
    /// Loads an input into a store with a cache of `cache_bytes`, merges all of it, opens it anew and
    /// gets every key, each answer checked. The index is the first that the user names, or the default.
    ///
    /// # Errors
    /// Failures of the store; wrong answers.
    pub fn load(
        experiment: &'static str,
        input: &Input,
        cache_bytes: u64,
        arguments: &Arguments,
        bench: &Bench,
    ) -> Result<Ours> {
        let settings = Settings {
            index: arguments.indexes.first().cloned().unwrap_or_default(),
            table: arguments.table.clone().unwrap_or_default(),
            cache_bytes,
            write_buffer_bytes: WRITE_BUFFER_BYTES,
        };
        let candidate = Candidate::Rhumb(settings.clone());
        let name = candidate.label();
        let directory = bench.directory.join("store");
        std::fs::create_dir(&directory).map_err(Error::io("create", &directory))?;
        for first in [true, false] {
            let store = candidate.open(&directory, Temperature::Warm)?;
            let steps = Loaded::new(&*store, &name, input, &bench.progress, arguments.seed);
            if first {
                steps.load()?;
                store.settle()?;
            } else {
                steps.verify()?;
            }
            store.close()?;
        }
        let ours = Ours {
            db: settings.db(&directory, Temperature::Warm)?,
            subject: Subject {
                experiment,
                input: input.name.clone(),
                index: name,
            },
            directory,
        };
        bench
            .progress
            .stage(format!("{}: warm", input.name), input.keys.len());
        for (rank, key) in input.keys.iter().enumerate() {
            ours.db.get(key)?;
            if rank % 1_000 == 999 {
                bench.progress.advance(1_000)?;
            }
        }
        Ok(ours)
    }

    /// Closes and removes the store.
    ///
    /// # Errors
    /// Failures of the store or of removing its files.
    pub fn end(self) -> Result<()> {
        self.db.close()?;
        std::fs::remove_dir_all(&self.directory).map_err(Error::io("remove", &self.directory))
    }
}
