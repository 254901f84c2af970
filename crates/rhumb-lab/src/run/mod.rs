//! Experiments of our own, and what they share.

mod at_once;
mod cache;
mod check;
mod columns;
mod gets;
mod indexes;
mod keymaps;
mod kinds;
mod ours;
mod peers;
pub mod phases;
mod plan;
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
use crate::data::numbers::Numbers;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::results::Report;
use crate::store::{Peer, Settings};
use crate::workload::mix::Mix;

/// What the user may set.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// Seed of keys, values and every random choice.
    pub seed: u64,
    /// How many keys of each input to take; every experiment has its own number.
    pub keys: Option<usize>,
    /// Indexes to compare; none for the experiment's own.
    pub indexes: Vec<IndexSpec>,
    /// Layout of tables; none for the experiment's own.
    pub table: Option<TableSpec>,
    /// A file index to take paths from.
    pub paths: Option<PathBuf>,
    /// SOSD key files.
    pub sosd: Vec<PathBuf>,
    /// Sets of integers for the experiments over indexes alone.
    pub numbers: Vec<Numbers>,
    /// Which sets the experiments over stores take, all but `kinds`.
    pub sets: Vec<Set>,
    /// Peers to compare with; none for all that are built in, and in `workloads` for none.
    pub peers: Vec<Peer>,
    /// How often to repeat what is timed; every experiment has its own number.
    pub runs: Option<usize>,
    /// How many gets of each kind, or operations of each workload, to do a time; every experiment
    /// has its own number.
    pub gets: Option<usize>,
    /// What `workloads` runs; none for the six of YCSB.
    pub workloads: Vec<Mix>,
    /// How many clients it has.
    pub threads: usize,
    /// Operations a second that they begin together; `None` for a closed loop.
    pub rate: Option<f64>,
    /// How long each workload is run, instead of a number of operations.
    pub time: Option<Duration>,
    /// Bytes of blocks that a warm store keeps; none for the experiment's own.
    pub cache_bytes: Option<u64>,
}

/// One experiment: a name, what it shows, and how to run it.
pub struct Experiment {
    /// What to say on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Measures, and gives the text to print.
    pub run: fn(&Arguments, &mut Bench) -> Result<String>,
}

/// All of them.
pub const BENCHES: &[Experiment] = &[
    Experiment {
        name: "kinds",
        about: "fence pointers against every kind of model on decimal keys and real paths, in half a minute",
        run: kinds::run,
    },
    Experiment {
        name: "stores",
        about: "rhumb head to head with LMDB and a binary search, millions of keys (--set, --runs)",
        run: stores::run,
    },
    Experiment {
        name: "peers",
        about: "rhumb head to head with RocksDB, fjall, redb and LMDB (--set, --runs, --peer)",
        run: peers::run,
    },
    Experiment {
        name: "workloads",
        about: "rhumb and any peers under YCSB's or other mixes (--workload, --peer, --threads, --rate)",
        run: workloads::run,
    },
    Experiment {
        name: "ycsb",
        about: "the core workloads of YCSB over the same stores (--set, --runs, --peer)",
        run: ycsb::run,
    },
    Experiment {
        name: "threads",
        about: "gets by one and by two threads, over distinct blocks and over one, against plain memory",
        run: threads::run,
    },
    Experiment {
        name: "cache",
        about: "gets over data larger than the cache: its bytes at their peak, its hits against CLOCK's",
        run: cache::run,
    },
    Experiment {
        name: "stages",
        about: "what each stage of a warm get costs",
        run: stages::run,
    },
    Experiment {
        name: "gets",
        about: "warm gets and nothing else, to be counted from outside (docs/performance.md)",
        run: gets::run,
    },
    Experiment {
        name: "indexes",
        about: "every index kind alone over 10M integers, against the published implementations (--input)",
        run: indexes::run,
    },
    Experiment {
        name: "updatable",
        about: "every kind that changes in place, alone: look-ups, inserts, walks, against published ones (--input)",
        run: updatable::run,
    },
    Experiment {
        name: "texts",
        about: "what finds strings: kinds that change in place, and indexes of tables (--paths)",
        run: texts::run,
    },
    Experiment {
        name: "check",
        about: "every index kind against the truth, over all distributions of keys there are",
        run: check::run,
    },
    Experiment {
        name: "keymaps",
        about: "sizes of models over text by the key map, by the first eight bytes, and of fence pointers",
        run: keymaps::run,
    },
];

/// Where experiments run and what they have found so far.
#[derive(Debug)]
pub struct Bench {
    /// A directory for stores, removed at the end.
    pub directory: PathBuf,
    /// Where progress goes.
    pub progress: Progress,
    /// The figures.
    pub report: Report,
}

/// The indexes to compare: the user's, or these.
fn indexes<'a>(
    arguments: &Arguments,
    default: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<IndexSpec>> {
    if !arguments.indexes.is_empty() {
        return Ok(arguments.indexes.clone());
    }
    default.into_iter().map(spec).collect()
}

/// A specification that an experiment names.
fn spec(text: &str) -> Result<IndexSpec> {
    text.parse().map_err(|error| Error::index(&text, error))
}

/// Fence pointers and the model that is the default.
const TWO: [&str; 2] = ["fp", "plr"];

/// How our own store is opened for millions of keys.
fn large(arguments: &Arguments, index: IndexSpec, cache_bytes: u64) -> Settings {
    Settings {
        index,
        table: arguments.table.clone().unwrap_or_default(),
        cache_bytes,
        write_buffer_bytes: 64 << 20,
    }
}

/// The name of an input that comes from a SOSD file.
pub fn file_name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or(path.as_os_str());
    format!("sosd:{}", name.to_string_lossy())
}
