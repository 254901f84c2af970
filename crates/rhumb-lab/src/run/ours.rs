//! A store of our own, loaded with an input, for experiments over this store alone.

use std::path::PathBuf;

use rhumb::Db;

use super::phases::Loaded;
use super::{Arguments, Bench, large};
use crate::data::Input;
use crate::error::{Error, Result};
use crate::results::Subject;
use crate::store::{Store, System, Temperature};

/// A loaded store, open, with a full cache.
pub struct Ours {
    /// The store.
    pub db: Db,
    /// The subject of its figures.
    pub subject: Subject,
    directory: PathBuf,
}

impl Ours {
    /// Loads an input into a store with a cache of `cache_bytes`, merges the whole store, opens it
    /// again, gets every key and checks each answer. The index is the first one of the user, or the
    /// default.
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
        let index = arguments.indexes.first().cloned().unwrap_or_default();
        let settings = large(arguments, index, cache_bytes);
        let name = System::Rhumb(settings.clone()).label();
        let (progress, seed) = (&bench.progress, arguments.seed);
        let directory = bench.directory.join("store");
        std::fs::create_dir(&directory).map_err(Error::io("create", &directory))?;
        let open = || settings.store(&directory, Temperature::Warm);
        let store = open()?;
        Loaded::new(&store, &name, input, progress, seed).load()?;
        store.settle()?;
        store.db.close()?;
        let store = open()?;
        Loaded::new(&store, &name, input, progress, seed).verify()?;
        Ok(Ours {
            db: store.db,
            subject: Subject {
                experiment,
                input: input.name.clone(),
                index: name,
            },
            directory,
        })
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
