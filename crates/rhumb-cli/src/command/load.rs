//! `rhumb load`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{HumanBytes, HumanCount, ProgressBar};
use rhumb::{Db, Durability, Error, Keyspace, WriteBatch};
use serde_json::json;

use crate::arguments::{DurabilityName, InKeyspace, Layout, Store};
use crate::failure::{Failure, complain};
use crate::format::{EntryReader, Format};
use crate::input::Input;
use crate::{output, progress};

/// The number of entries at which a batch is written.
const BATCH_ENTRIES: usize = 1_000;
/// The bytes of keys and values at which a batch is written.
const BATCH_BYTES: usize = 1 << 20;

/// Load the entries of a file; store and keyspace are created if missing.
///
/// A malformed line ends the load: entries before it are kept, entries after it are not loaded.
/// After a Ctrl-C, a crash or an error the same command can be run again, since a key that is
/// loaded twice has its last value. When the command ends, all entries are on the disk, some of
/// them perhaps in the log and not yet in tables.
///
/// With `--sorted`, all entries are loaded or none: they are written straight into tables, which show
/// up at once when the file has ended.
#[derive(Debug, Args)]
pub struct Load {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    keyspace: InKeyspace,
    #[command(flatten)]
    layout: Layout,
    /// The keys ascend in the order of their bytes, each once: write them into tables without passing the
    /// log, all or nothing.
    #[arg(long, conflicts_with = "durability")]
    sorted: bool,
    /// When each batch counts as written; with `buffered` there is one sync, at the end.
    #[arg(long, value_enum, default_value = "buffered")]
    durability: DurabilityName,
    /// The format of the file; if not given, it is guessed from the file's name or first line.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Print a summary as JSON.
    #[arg(long)]
    json: bool,
    /// The file, `-` for the standard input; files whose names end in `.gz` are decompressed.
    file: PathBuf,
}

impl Load {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let mut input = Input::open(&self.file)?;
        let format = match self.format {
            Some(format) => format,
            None => {
                let format = Format::guess(&self.file, &mut input)?;
                complain(&format!("reading {} as {format}", input.name));
                format
            }
        };
        let stop = stop_on_signal()?;
        let db = self.store.write_or_create(self.layout.options())?;
        let keyspace = db.get_or_create_keyspace(&self.keyspace.keyspace)?;
        let mut reader = format.reader(input.reader);
        let summary = match self.sorted {
            true => load_sorted(&keyspace, &mut *reader, &input.name, &stop)?,
            false => {
                let mut loader = Loader::new(&db, keyspace, self.durability.into());
                let outcome = loader.load(&mut *reader, &input.name, &stop);
                let summary = loader.finish();
                outcome?;
                summary?
            }
        };
        db.close()?;
        match self.json {
            true => output::print_json(&summary.json(&self.keyspace.keyspace)),
            false => output::print(&summary.sentence(&self.keyspace.keyspace)),
        }
    }
}

/// The first Ctrl-C stops the load at the end of its batch, a second one stops it at once.
fn stop_on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
    })
    .map_err(|e| Failure::Failed(format!("cannot watch for Ctrl-C: {e}")))?;
    Ok(stop)
}

/// Totals of a load.
struct Summary {
    entries: u64,
    bytes: u64,
    elapsed: Duration,
}

impl Summary {
    fn rate(&self) -> f64 {
        self.entries as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    fn sentence(&self, keyspace: &str) -> String {
        format!(
            "loaded {} ({}) into keyspace {keyspace} in {:.2} s, {} entries/s",
            output::count(self.entries, "entry"),
            HumanBytes(self.bytes),
            self.elapsed.as_secs_f64(),
            HumanCount(self.rate() as u64),
        )
    }

    fn json(&self, keyspace: &str) -> serde_json::Value {
        json!({
            "keyspace": keyspace,
            "entries": self.entries,
            "bytes": self.bytes,
            "seconds": self.elapsed.as_secs_f64(),
            "entries_per_second": self.rate(),
        })
    }
}

/// Loads sorted entries up to the end of the file, or none of them.
fn load_sorted(
    keyspace: &Keyspace,
    reader: &mut dyn EntryReader,
    name: &str,
    stop: &AtomicBool,
) -> Result<Summary, Failure> {
    let (started, progress) = (Instant::now(), progress::counter("entries"));
    let mut ingest = keyspace.sorted_ingest()?;
    let mut bytes = 0;
    let refused = |place: String, why: String| {
        let message = format!("{place} of {name} {why}; nothing was loaded");
        Err(Failure::Failed(message))
    };
    loop {
        match reader.next() {
            Ok(None) => break,
            Ok(Some((key, value))) => {
                let entry_bytes = (key.len() + value.len()) as u64;
                match ingest.put(key, value) {
                    Ok(()) => bytes += entry_bytes,
                    Err(Error::InvalidArgument(why)) => {
                        return refused(reader.place(), format!("cannot be loaded: {why}"));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Err(malformed) => return refused(malformed.place, malformed.why),
        }
        if ingest.entries().is_multiple_of(BATCH_ENTRIES as u64) {
            progress.set_position(ingest.entries());
            if stop.load(Ordering::Relaxed) {
                let message = "stopped, nothing was loaded".to_string();
                return Err(Failure::Failed(message));
            }
        }
    }
    let ingested = ingest.finish()?;
    progress.finish_and_clear();
    Ok(Summary {
        entries: ingested.entries,
        bytes,
        elapsed: started.elapsed(),
    })
}

/// Collects entries into batches and writes them.
struct Loader<'a> {
    db: &'a Db,
    keyspace: Keyspace,
    durability: Durability,
    batch: WriteBatch,
    batch_bytes: usize,
    entries: u64,
    bytes: u64,
    started: Instant,
    progress: ProgressBar,
}

impl<'a> Loader<'a> {
    fn new(db: &'a Db, keyspace: Keyspace, durability: Durability) -> Self {
        Loader {
            db,
            keyspace,
            durability,
            batch: WriteBatch::new(),
            batch_bytes: 0,
            entries: 0,
            bytes: 0,
            started: Instant::now(),
            progress: progress::counter("entries"),
        }
    }

    /// Loads until the end, the first malformed entry, or a signal.
    fn load(
        &mut self,
        reader: &mut dyn EntryReader,
        name: &str,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        loop {
            let (place, why) = match reader.next() {
                Ok(None) => return self.write_batch(),
                Ok(Some((key, value))) => match self.batch.put(&self.keyspace, key, value) {
                    Ok(()) => {
                        self.batch_bytes += key.len() + value.len();
                        if self.batch_is_full() {
                            self.write_batch()?;
                            self.check_signal(stop)?;
                        }
                        continue;
                    }
                    Err(error) => (reader.place(), format!("cannot be stored: {error}")),
                },
                Err(malformed) => (malformed.place, malformed.why),
            };
            self.write_batch()?;
            let kept = output::count(self.entries, "entry");
            return Err(Failure::Failed(format!(
                "{place} of {name} {why}; loading stopped there, {kept} before it were kept"
            )));
        }
    }

    fn batch_is_full(&self) -> bool {
        self.batch.len() >= BATCH_ENTRIES || self.batch_bytes >= BATCH_BYTES
    }

    fn write_batch(&mut self) -> Result<(), Failure> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.db.write_with(&self.batch, self.durability)?;
        self.entries += self.batch.len() as u64;
        self.bytes += self.batch_bytes as u64;
        self.batch.clear();
        self.batch_bytes = 0;
        self.progress.set_position(self.entries);
        Ok(())
    }

    fn check_signal(&self, stop: &AtomicBool) -> Result<(), Failure> {
        if !stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "stopped after {}, which were kept: run the same command again to load the whole file",
            output::count(self.entries, "entry")
        )))
    }

    /// Makes everything written durable.
    fn finish(self) -> Result<Summary, Failure> {
        self.db.sync()?;
        self.progress.finish_and_clear();
        Ok(Summary {
            entries: self.entries,
            bytes: self.bytes,
            elapsed: self.started.elapsed(),
        })
    }
}
