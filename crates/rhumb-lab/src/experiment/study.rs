//! A store of ours with the keys of a cell, and the cost of loading it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rhumb::internals::reindex;
use rhumb::{KeyspaceOptions, Tuner};

use super::amounts::QUICK;
use super::{Amounts, Build, Data, Fill, Reading};
use crate::data::sets::SetSpec;
use crate::data::{Input, Pairs, Random};
use crate::error::{Error, Result};
use crate::measure::directory_bytes;
use crate::progress::Progress;
use crate::results::Measured;
use crate::run::phases::Loaded;
use crate::store::{Counters, Footprint, Settings, Store, System, Temperature};
use crate::workload::order::Order;

/// Records of a batch.
const BATCH: usize = 1_000;
/// Bytes of a record in a log and in a write buffer besides its key and value, about.
const HEADER_BYTES: usize = 4;

/// Keys with the order in which they are loaded.
pub struct Records {
    /// Sorted keys and their values.
    pub input: Input,
    /// Ranks in the order of loading, each at least once; a repeated rank is an update.
    pub order: Vec<u32>,
}

impl Records {
    /// The order in which the keys arrive first.
    ///
    /// # Errors
    /// If they do not all arrive.
    pub fn first_seen(&self) -> Result<Order> {
        Order::first_seen(self.input.keys.len(), self.order.iter().copied())
    }

    /// The records of a data set.
    ///
    /// # Errors
    /// If there is no such set, or it cannot be read.
    pub fn of(data: &Data, seed: u64) -> Result<Records> {
        let set: SetSpec = data.set.parse()?;
        let hold_out = (data.records as f64 * data.hold_outs).ceil() as usize;
        let mut input = set.input(data.records, data.values, hold_out, seed)?;
        if let Some(prefixes) = &data.prefixes {
            input = input.behind(prefixes, seed);
        }
        if let Some(order) = data.order {
            let ranks = order.order(input.keys.len(), seed)?;
            input = input.in_order(ranks);
        }
        let order = input.load_order(&mut Random::new(seed, 0x10ad));
        Ok(Records { input, order })
    }
}

/// The settings that all cells of a round share.
pub struct Setting<'a> {
    /// The amounts of data and operations.
    pub amounts: &'a Amounts,
    /// Seed of every random choice.
    pub seed: u64,
    /// The directory for stores.
    pub directory: PathBuf,
    /// The display of the progress.
    pub progress: &'a Progress,
}

impl<'a> Setting<'a> {
    /// The settings of an experiment whose amounts the user gives.
    pub fn alone(seed: u64, directory: &Path, progress: &'a Progress) -> Setting<'a> {
        Setting {
            amounts: &QUICK,
            seed,
            directory: directory.to_path_buf(),
            progress,
        }
    }
}

/// A store on the disk.
#[derive(Clone)]
pub struct Study<'a> {
    pub setting: &'a Setting<'a>,
    pub records: &'a Records,
    pub build: Build,
    /// Its name in messages.
    pub name: String,
    /// The figures of loading it.
    pub loading: Measured,
    /// The share of its tables that fell back to fence pointers.
    pub fallback_share: f64,
    pub directory: PathBuf,
}

impl<'a> Study<'a> {
    /// Loads the records into a new store.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn load(
        setting: &'a Setting<'a>,
        records: &'a Records,
        build: &Build,
    ) -> Result<Study<'a>> {
        Study::load_into("store", setting, records, build)
    }

    /// Loads the records into a new store that builds are made from by [`Study::rebuilt`]. Its own
    /// index and layout are the same in all rounds, so that all builds have tables of the same keys.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn to_share(
        setting: &'a Setting<'a>,
        records: &'a Records,
        build: &Build,
    ) -> Result<Study<'a>> {
        Study::load_into("shared", setting, records, build)
    }

    fn load_into(
        directory: &str,
        setting: &'a Setting<'a>,
        records: &'a Records,
        build: &Build,
    ) -> Result<Study<'a>> {
        let directory = setting.directory.join(directory);
        std::fs::create_dir(&directory).map_err(Error::io("create", &directory))?;
        let mut study = Study {
            setting,
            records,
            build: build.clone(),
            name: build.system.label(),
            loading: Measured::default(),
            fallback_share: 0.0,
            directory,
        };
        if build.fill == Fill::Nothing {
            return Ok(study);
        }
        let store = study.open_to_load()?;
        let order = study.order()?;
        let first = match build.fill {
            Fill::Halves => order.len() / 2,
            Fill::All | Fill::Tenths(_) | Fill::Nothing => 0,
        };
        let (before, after) = order.split_at(first);
        study.write(&*store, before)?;
        study.merge(&*store)?;
        let (started, known) = (Instant::now(), store.counters()?);
        study.write(&*store, after)?;
        study.merge(&*store)?;
        let wall = started.elapsed();
        study.put_costs(&store.counters()?.since(&known));
        if let Some(held) = store.footprint()? {
            study.put_sizes(&held);
        }
        study.loading.put("load_wall", wall.as_secs_f64(), "s");
        store.close()?;
        let disk = directory_bytes(&study.directory)? as f64;
        study.loading.put("disk_bytes", disk, "B");
        let user = records.input.user_bytes() as f64;
        study.loading.put("user_bytes", user, "B");
        Ok(study)
    }

    /// A copy of the store, all of whose tables are written anew with the index and the layout of
    /// another build.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn rebuilt(&self, build: &Build) -> Result<Study<'a>> {
        let mut study = Study {
            setting: self.setting,
            records: self.records,
            build: build.clone(),
            name: build.system.label(),
            loading: Measured::default(),
            fallback_share: 0.0,
            directory: self.setting.directory.join("store"),
        };
        let progress = study.setting.progress;
        let stage = format!("{}, {}: index", study.records.input.name, study.name);
        progress.stage(stage, 1);
        copy_store(&self.directory, &study.directory)?;
        // All tables have the form that is set: a tuner begins with it.
        let settings = Settings {
            tuner: Tuner::Off,
            ..build.system.settings().clone()
        };
        let db = settings.db(&study.directory, Temperature::Warm)?;
        db.set_options(KeyspaceOptions {
            index: Some(settings.index.clone()),
            table: Some(settings.table.clone()),
        })?;
        reindex(&db)?;
        study.fallback_share = Footprint::of(&db.stats()?).fallback_share();
        db.close()?;
        progress.advance(0)?;
        Ok(study)
    }

    /// A copy of the store, which may be changed.
    ///
    /// # Errors
    /// If its files cannot be copied.
    pub fn copy(&self) -> Result<Study<'a>> {
        let study = self.at(self.setting.directory.join("copy"));
        copy_store(&self.directory, &study.directory)?;
        Ok(study)
    }

    /// The same in another directory, without what was loaded.
    pub fn at(&self, directory: PathBuf) -> Study<'a> {
        Study {
            loading: Measured::default(),
            directory,
            ..self.clone()
        }
    }

    /// The same store, opened by a build that is the same at rest, if there is another.
    pub fn read_as(&self, build: Option<&Build>) -> Study<'a> {
        Study {
            build: build.unwrap_or(&self.build).clone(),
            ..self.clone()
        }
    }

    /// The number of distinct keys that are loaded.
    pub fn loaded(&self) -> usize {
        let keys = self.records.input.keys.len();
        match self.build.fill {
            Fill::Nothing => 0,
            Fill::All | Fill::Halves => keys,
            Fill::Tenths(tenths) => keys - keys * (10 - usize::from(tenths.min(10))) / 10,
        }
    }

    /// The ranks to load, in their order.
    fn order(&self) -> Result<Cow<'a, [u32]>> {
        let order = &self.records.order;
        if !matches!(self.build.fill, Fill::Tenths(_)) {
            return Ok(Cow::Borrowed(order));
        }
        let first = self.records.first_seen()?;
        Ok(Cow::Owned(first.first(self.loaded()).to_vec()))
    }

    /// Writes some records, one write buffer at a time, and waits for its flush and merges, so that
    /// the tree always has the same shape.
    fn write(&self, store: &dyn Store, order: &[u32]) -> Result<()> {
        let input = &self.records.input;
        let progress = self.setting.progress;
        progress.stage(format!("{}, {}: load", input.name, self.name), order.len());
        let (mut batch, mut value) = (Pairs::default(), Vec::new());
        let buffer_bytes = self.build.system.settings().write_buffer_bytes;
        let mut waiting = 0;
        for ranks in order.chunks(BATCH) {
            batch.clear();
            for rank in ranks {
                let rank = *rank as usize;
                let key = input.keys.get(rank);
                input.value(rank, &mut value);
                batch.push(key, &value);
                waiting += (HEADER_BYTES + key.len() + value.len()) as u64;
            }
            store.write(&batch)?;
            if waiting >= buffer_bytes {
                waiting = 0;
                store.flush()?;
            }
            progress.advance(ranks.len())?;
        }
        store.flush()
    }

    /// Merges the whole store if merging is to be measured.
    fn merge(&self, store: &dyn Store) -> Result<()> {
        if self.build.fill == Fill::Halves {
            store.settle()?;
            // Wait for background merges of levels that are too large: they must not be counted in
            // the next measurement.
            store.flush()?;
        }
        Ok(())
    }

    /// Saves the bytes that an entry takes in tables, with its checksum and its share of what a table has
    /// once, but without index, key map and filter, whose bytes in memory are about those in tables; and
    /// in the index; and the bytes that find blocks, index, directory and key map together. Merged stores alone have
    /// each key once.
    fn put_sizes(&mut self, held: &Footprint) {
        self.fallback_share = held.fallback_share();
        self.loading
            .put("fallback_share", self.fallback_share, "tables/table");
        if let (Some(bytes), Fill::Halves) = (held.table_bytes, self.build.fill) {
            let apart = held.index + held.filter + held.key_map;
            let each = |bytes: u64| bytes as f64 / self.loaded() as f64;
            let (entry, index) = (each(bytes.saturating_sub(apart)), each(held.index));
            let finding = (held.index + held.directory + held.key_map) as f64;
            let mut put = |metric, value, unit| self.loading.put(metric, value, unit);
            put("entry_bytes", entry, "B/entry");
            put("index_bytes_an_entry", index, "B/entry");
            put("finding_bytes", finding, "B");
            put(
                "finding_bytes_a_table",
                finding / held.tables.max(1) as f64,
                "B/table",
            );
        }
    }

    /// Saves the cost of flushes and merges from the counters of the time of loading, if the store
    /// has them.
    fn put_costs(&mut self, counters: &Counters) {
        let Some(merges) = counters.get("merges") else {
            return;
        };
        if self.build.fill == Fill::Halves && merges == 0 {
            // There was no merge: figures of flushes alone would be misleading.
            return;
        }
        let count = |name| counters.get(name).unwrap_or_default() as f64;
        let sum = |of_flushes, of_merges| (count(of_flushes) + count(of_merges)) / 1e9;
        let compaction = sum("flush_time", "merge_time");
        let mut put = |metric, value, unit| self.loading.put(metric, value, unit);
        put("flush_time", count("flush_time") / 1e9, "s");
        put("merge_time", count("merge_time") / 1e9, "s");
        put("compaction_time", compaction, "s");
        // Other stores do not tell what takes this time.
        if counters.get("merge_training_time").is_some() {
            let training = sum("flush_training_time", "merge_training_time");
            let io = sum("flush_write_time", "merge_write_time") + count("merge_read_time") / 1e9;
            put("training_time", training, "s");
            put("io_time", io, "s");
            put("training_share", training / compaction, "");
        }
        let bytes = count("merged_bytes") + count("flushed_bytes");
        put("written_bytes", bytes, "B");
        put("merges", merges as f64, "merges");
    }

    /// Opens the store with a write buffer that is not full before loading requests a flush.
    fn open_to_load(&self) -> Result<Box<dyn Store>> {
        let mut system = self.build.system.clone();
        if let System::Rhumb(settings) = &mut system {
            settings.write_buffer_bytes *= 2;
        }
        system.open(&self.directory, Temperature::Warm)
    }

    /// Opens the store.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn open(&self, reading: Reading) -> Result<Box<dyn Store>> {
        self.build
            .system
            .open(&self.directory, reading.temperature())
    }

    /// The steps over the open store.
    pub fn steps<'s>(&'s self, store: &'s dyn Store) -> Loaded<'s> {
        let (name, setting) = (&self.name, self.setting);
        Loaded::new(
            store,
            name,
            &self.records.input,
            setting.progress,
            setting.seed,
        )
    }

    /// The steps of a warm-up, in another order.
    pub fn warm_up<'s>(&'s self, store: &'s dyn Store) -> Loaded<'s> {
        let steps = self.steps(store);
        Loaded {
            seed: !steps.seed,
            ..steps
        }
    }

    /// Removes all that work has written, so that the next one begins with an empty store.
    ///
    /// # Errors
    /// If its files cannot be removed.
    pub fn empty(&self) -> Result<()> {
        let directory = &self.directory;
        std::fs::remove_dir_all(directory).map_err(Error::io("remove", directory))?;
        std::fs::create_dir(directory).map_err(Error::io("create", directory))
    }

    /// Removes the store.
    ///
    /// # Errors
    /// If its files cannot be removed.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_dir_all(&self.directory).map_err(Error::io("remove", &self.directory))
    }
}

/// Copies a closed store of ours or of RocksDB. Tables never change, so the copy shares them with the original where
/// the file system has hard links.
fn copy_store(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir(to).map_err(Error::io("create", to))?;
    for entry in std::fs::read_dir(from).map_err(Error::io("list", from))? {
        let file = entry.map_err(Error::io("list", from))?;
        let (source, target) = (file.path(), to.join(file.file_name()));
        let is_table = source
            .extension()
            .is_some_and(|name| name == "table" || name == "sst");
        if !is_table || std::fs::hard_link(&source, &target).is_err() {
            std::fs::copy(&source, &target).map_err(Error::io("copy", &source))?;
        }
    }
    Ok(())
}
