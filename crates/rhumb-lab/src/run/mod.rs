//! Experiments of our own, and the code they share.

mod at_once;
mod blocks;
mod cache;
mod check;
mod columns;
mod contest;
mod counted;
mod indexes;
mod ingest;
mod keymaps;
mod kinds;
mod merges;
mod ours;
mod peers;
pub mod phases;
mod reads;
mod served;
mod set;
mod stages;
mod stores;
#[cfg(test)]
mod tests;
mod texts;
mod threads;
mod updatable;
mod verdict;
mod workloads;
mod ycsb;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rhumb::{IndexSpec, TableSpec};

pub use self::set::Set;
use crate::data::Disorder;
use crate::data::numbers::Numbers;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::results::Report;
use crate::store::{Peer, Settings};
use crate::workload::mix::Mix;

/// The user's settings.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// Seed of keys, values and every random choice.
    pub seed: u64,
    /// Number of keys of each input; none for the experiment's own number.
    pub keys: Option<usize>,
    /// Indexes to compare; empty for the experiment's own.
    pub indexes: Vec<IndexSpec>,
    /// Layout of tables; none for the experiment's own.
    pub table: Option<TableSpec>,
    /// A file index to read paths from.
    pub paths: Option<PathBuf>,
    /// SOSD key files.
    pub sosd: Vec<PathBuf>,
    /// Sets of integers for the experiments over indexes alone.
    pub numbers: Vec<Numbers>,
    /// Sets for the experiments over stores other than `kinds`.
    pub sets: Vec<Set>,
    /// Peers to compare with; empty for all peers of this build, or in `workloads` for no peer.
    pub peers: Vec<Peer>,
    /// Number of repeats of what is timed; none for the experiment's own number.
    pub runs: Option<usize>,
    /// Number of gets of each kind, or of operations of each workload, in one repeat; none for the
    /// experiment's own number.
    pub gets: Option<usize>,
    /// The workloads of `workloads`; empty for the six of YCSB.
    pub workloads: Vec<Mix>,
    /// Number of clients in `workloads`.
    pub threads: usize,
    /// Operations that all clients together begin each second; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Whether each write of `workloads` is durable before it returns.
    pub sync: bool,
    /// The time for each workload, instead of a number of operations.
    pub time: Option<Duration>,
    /// Bytes of the block cache of a warm store; none for the experiment's own number.
    pub cache_bytes: Option<u64>,
    /// The systems of `ingest` as text; empty for its own.
    pub systems: Vec<String>,
    /// The orders of arrival of `ingest`; empty for that of a file, or its own.
    pub orders: Vec<Disorder>,
    /// The set of integers that arrive in `ingest`; none for its own.
    pub arriving: Option<String>,
}

/// An experiment of our own.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The options of `run` that have an effect on it, besides those of every run.
    pub takes: &'static [&'static str],
    /// Measures, and returns the text to print.
    pub run: fn(&Arguments, &mut Bench) -> Result<String>,
}

/// All experiments of our own.
pub const BENCHES: &[Experiment] = &[
    Experiment {
        name: "kinds",
        about: "compare fence pointers with every kind of model on decimal keys and real paths, in half a minute",
        takes: &[
            "--keys", "--index", "--table", "--paths", "--sosd", "--runs", "--gets", "--cache",
        ],
        run: kinds::run,
    },
    Experiment {
        name: "stores",
        about: "compare rhumb with LMDB and a binary search, over millions of keys (--set, --runs)",
        takes: &[
            "--set", "--keys", "--paths", "--index", "--table", "--cache", "--gets", "--runs",
        ],
        run: stores::run,
    },
    Experiment {
        name: "blocks",
        about: "count the blocks of gets and of false positives under each way of cutting tables, over eleven sets and words (--peer, --cache)",
        takes: &["--keys", "--cache", "--gets", "--runs", "--peer"],
        run: blocks::run,
    },
    Experiment {
        name: "peers",
        about: "compare rhumb with RocksDB, fjall, redb and LMDB (--set, --runs, --peer)",
        takes: &[
            "--set", "--keys", "--paths", "--index", "--table", "--cache", "--gets", "--runs",
            "--peer",
        ],
        run: peers::run,
    },
    Experiment {
        name: "workloads",
        about: "measure rhumb and any peers under YCSB's or other workloads (--workload, --peer, --threads, --rate)",
        takes: &[
            "--set",
            "--keys",
            "--paths",
            "--index",
            "--table",
            "--cache",
            "--gets",
            "--runs",
            "--peer",
            "--workload",
            "--threads",
            "--rate",
            "--seconds",
        ],
        run: workloads::run,
    },
    Experiment {
        name: "ycsb",
        about: "measure YCSB's core workloads over the stores of `peers` (--set, --runs, --peer)",
        takes: &[
            "--set", "--keys", "--paths", "--index", "--table", "--cache", "--gets", "--runs",
            "--peer",
        ],
        run: ycsb::run,
    },
    Experiment {
        name: "threads",
        about: "compare gets of one and two threads, over distinct blocks and over one block, with plain memory",
        takes: &[
            "--set", "--keys", "--paths", "--index", "--table", "--cache", "--gets", "--runs",
        ],
        run: threads::run,
    },
    Experiment {
        name: "cache",
        about: "measure gets over data larger than the cache: peak memory, and hits compared with CLOCK",
        takes: &[
            "--set", "--keys", "--paths", "--index", "--table", "--cache", "--gets",
        ],
        run: cache::run,
    },
    Experiment {
        name: "stages",
        about: "measure the cost of each stage of a warm get",
        takes: &[
            "--set", "--keys", "--paths", "--index", "--table", "--cache", "--gets", "--runs",
        ],
        run: stages::run,
    },
    Experiment {
        name: "gets",
        about: "run only warm gets of one store, for counting by external tools (docs/performance.md)",
        takes: counted::TAKES,
        run: counted::gets,
    },
    Experiment {
        name: "many",
        about: "run only warm gets of one store, 64 in a call, for counting by external tools (docs/performance.md)",
        takes: counted::TAKES,
        run: counted::many,
    },
    Experiment {
        name: "seeks",
        about: "run only warm seeks of one store, for counting by external tools (docs/performance.md)",
        takes: counted::TAKES,
        run: counted::seeks,
    },
    Experiment {
        name: "scans",
        about: "run only warm scans of 100 entries of one store, for counting by external tools (docs/performance.md)",
        takes: counted::TAKES,
        run: counted::scans,
    },
    Experiment {
        name: "merges",
        about: "measure the processor time of merges, for each byte that they read",
        takes: &[
            "--set", "--keys", "--paths", "--index", "--table", "--cache", "--runs",
        ],
        run: merges::run,
    },
    Experiment {
        name: "indexes",
        about: "compare every index kind alone over 10M integers with published implementations (--input)",
        takes: &["--keys", "--index", "--input", "--sosd", "--runs", "--gets"],
        run: indexes::run,
    },
    Experiment {
        name: "updatable",
        about: "compare updatable kinds in memory with published implementations: look-ups, inserts, scans (--input)",
        takes: &["--keys", "--index", "--input", "--sosd", "--runs", "--gets"],
        run: updatable::run,
    },
    Experiment {
        name: "ingest",
        about: "let keys arrive in stores and in indexes alone, in orders of any sortedness (--system, --order, --from)",
        takes: &["--keys", "--runs", "--system", "--order", "--from"],
        run: ingest::run,
    },
    Experiment {
        name: "texts",
        about: "measure kinds over strings: updatable ones in memory, and indexes of tables (--paths)",
        takes: &["--keys", "--paths", "--index", "--runs", "--gets"],
        run: texts::run,
    },
    Experiment {
        name: "check",
        about: "check the answers of every index kind, over all distributions of keys",
        takes: &["--keys", "--index"],
        run: check::run,
    },
    Experiment {
        name: "keymaps",
        about: "compare sizes over text: models with the key map, models with eight bytes, fence pointers",
        takes: &["--keys", "--paths", "--index"],
        run: keymaps::run,
    },
];

/// The directory, progress and figures of a run of experiments.
#[derive(Debug)]
pub struct Bench {
    /// A directory for stores, removed at the end.
    pub directory: PathBuf,
    /// The display of the progress.
    pub progress: Progress,
    /// The figures.
    pub report: Report,
}

/// The indexes to compare: the user's, or the given ones.
fn indexes<'a>(
    arguments: &Arguments,
    default: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<IndexSpec>> {
    if !arguments.indexes.is_empty() {
        return Ok(arguments.indexes.clone());
    }
    default.into_iter().map(spec).collect()
}

/// Parses a specification of an experiment.
fn spec(text: &str) -> Result<IndexSpec> {
    text.parse().map_err(|error| Error::index(&text, error))
}

/// Fence pointers and the default model.
const TWO: [&str; 2] = ["fp", "plr"];

/// The settings of our own store for millions of keys.
fn large(arguments: &Arguments, index: IndexSpec, cache_bytes: u64) -> Settings {
    Settings {
        index,
        table: arguments.table.clone().unwrap_or_default(),
        cache_bytes,
        sync: arguments.sync,
        ..Settings::default()
    }
}

/// The name of an input that comes from a SOSD file.
pub fn file_name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or(path.as_os_str());
    format!("sosd:{}", name.to_string_lossy())
}
