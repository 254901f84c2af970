//! Shared parts of the tests of whole stores: settings, scripts that drive a store, an oracle of
//! all legal contents, and file systems that record every moment.
#![allow(dead_code, reason = "each test uses its part")]

/// The calls of a file system that go to its field `inner` as they are: all but creating and syncing.
macro_rules! pass_calls_on {
    () => {
        fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn ReadFile>> {
            self.inner.open(path, access)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.inner.rename(from, to)
        }

        fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.inner.link(from, to)
        }

        fn remove(&self, path: &Path) -> io::Result<()> {
            self.inner.remove(path)
        }

        fn create_dir(&self, path: &Path) -> io::Result<()> {
            self.inner.create_dir(path)
        }

        fn list(&self, path: &Path) -> io::Result<Vec<String>> {
            self.inner.list(path)
        }

        fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn FileLock>>> {
            self.inner.lock(path, mode)
        }
    };
}

pub mod access;
pub mod check;
pub mod child;
pub mod oracle;
pub mod recorder;
pub mod script;
pub mod scripts;
pub mod slow;
pub mod watch;
pub mod world;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use rhumb::fs::{DataLoss, DirectoryLoss, FileSystem, Loss};
use rhumb::{
    Compaction, Compression, Granularity, Levels, Options, Partition, TableSpec, TierForm, TierSpec,
};

/// The directory of the stores in their file systems.
pub const DIR: &str = "/store";

/// The directory of the store as a path.
pub fn dir() -> &'static Path {
    Path::new(DIR)
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a seed always gives the same numbers.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// A random number of 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// One of `from`.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// `true` with a probability of `odds` percent.
    pub fn percent(&mut self, odds: u64) -> bool {
        self.below(100) < odds
    }
}

/// The seed of this run: `RHUMB_SEED`, or else a fixed one.
pub fn seed() -> u64 {
    let given = std::env::var("RHUMB_SEED").ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_260_101)
}

/// The factor by which to do more work than CI does: `RHUMB_DEEP`.
pub fn deep() -> usize {
    let given = std::env::var("RHUMB_DEEP").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(1).max(1)
}

/// Long tests do one in this many of their cases: `RHUMB_BRIEF`, or else all. CI, whose build is slower for its checks,
/// does a part.
pub fn brief() -> usize {
    let given = std::env::var("RHUMB_BRIEF").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(1).max(1)
}

/// The seed for case `case` of a test.
pub fn case_seed(case: u64) -> u64 {
    Random(seed() ^ case.wrapping_mul(0xD1B5_4A32_D192_ED03)).next()
}

/// The shapes of levels. A store may be opened with a different one each time.
pub const SHAPES: [Compaction; 6] = [
    Compaction::Leveled,
    Compaction::FullLevel,
    Compaction::Tiered,
    Compaction::LearnedTier(TierSpec {
        form: TierForm::Keys,
        range_bytes: 2 << 10,
        runs: 3,
        filter_bits_per_key: 10,
        concurrent_probes: false,
    }),
    Compaction::LearnedTier(TierSpec {
        form: TierForm::Inline,
        range_bytes: 2 << 10,
        runs: 3,
        filter_bits_per_key: 10,
        concurrent_probes: false,
    }),
    Compaction::LearnedTier(TierSpec {
        form: TierForm::Published,
        range_bytes: 2 << 10,
        runs: 3,
        filter_bits_per_key: 0,
        concurrent_probes: false,
    }),
];

/// Settings on a file system in memory with which a few thousand writes make tables in several
/// levels. Everything else is as for users, including merges by several threads.
pub fn small() -> Options {
    Options {
        write_buffer_bytes: 8 << 10,
        table: TableSpec {
            table_bytes: 4 << 10,
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: 2,
            base_bytes: 8 << 10,
            level0_tables: 2,
            ..Levels::default()
        },
        ..Options::in_memory()
    }
}

/// The names of the files of a store in `dir` with this ending.
pub fn files(file_system: &dyn FileSystem, dir: &Path, ending: &str) -> Vec<String> {
    let mut names = file_system.list(dir).unwrap_or_default();
    names.retain(|name| name.ends_with(ending));
    names
}

/// Settings so small that a few hundred writes flush, merge, rotate logs and replace manifests.
/// Only one thread merges, since otherwise the order of calls would differ each time.
pub fn tiny(file_system: Arc<dyn FileSystem>) -> Options {
    Options {
        write_buffer_bytes: 8 << 10,
        log_bytes: 16 << 10,
        cache_bytes: 64 << 10,
        table: TableSpec {
            partition: Partition::Bytes(512),
            filter_bits_per_key: 10,
            compression: Compression::Lz4,
            table_bytes: 4 << 10,
            separate_values: None,
            value_groups: None,
        },
        levels: Levels {
            compaction: Compaction::Leveled,
            size_ratio: 4,
            base_bytes: 16 << 10,
            level0_tables: 2,
            ..Levels::default()
        },
        compaction_threads: 1,
        file_system,
        ..Options::default()
    }
}

/// The ways to cut tables into blocks: by bytes, or by the predictions of the index's model.
pub const PARTITIONS: [Partition; 2] = [Partition::Bytes(512), Partition::Predicted(3)];

/// The settings of [`tiny`] with levels of the given shape, and models over several tables where it may have such.
pub fn tiny_shaped(file_system: Arc<dyn FileSystem>, compaction: Compaction) -> Options {
    let mut options = tiny(file_system);
    options.levels.compaction = compaction;
    options.levels.granularity = match compaction {
        Compaction::FullLevel => Granularity::Trained,
        Compaction::Leveled => Granularity::Joined { boundary: 64 },
        _ => Granularity::Table,
    };
    options
}

/// The losses of power that are tried for every moment.
pub const LOSSES: [Loss; 11] = {
    use DataLoss::{Kept, Lost, Scattered, Torn};
    let page = 512;
    let kept_percent = 50;
    [
        loss(Lost, DirectoryLoss::Lost),
        loss(Lost, DirectoryLoss::Kept),
        loss(Kept, DirectoryLoss::Lost),
        loss(Kept, DirectoryLoss::Kept),
        loss(Kept, DirectoryLoss::Prefix),
        loss(Lost, DirectoryLoss::Scattered),
        loss(Kept, DirectoryLoss::Scattered),
        loss(Torn { page }, DirectoryLoss::Prefix),
        loss(Torn { page: 4096 }, DirectoryLoss::Kept),
        loss(Scattered { page, kept_percent }, DirectoryLoss::Scattered),
        loss(
            Scattered {
                page: 4096,
                kept_percent,
            },
            DirectoryLoss::Kept,
        ),
    ]
};

const fn loss(data: DataLoss, directory: DirectoryLoss) -> Loss {
    Loss { data, directory }
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics from now on, including those of background threads, which are never joined.
/// Returns the number so far.
pub fn count_panics() -> usize {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            before(info);
        }));
    });
    panics()
}

/// The number of panics so far.
pub fn panics() -> usize {
    PANICS.load(Ordering::SeqCst)
}

/// Does `work` for every number below `count` on two threads, until a call fails.
pub fn in_parallel<E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let one_thread = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(());
            }
            if let Err(e) = work(at) {
                next.store(count, Ordering::Relaxed);
                return Err(e);
            }
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(one_thread);
        let mine = one_thread();
        match other.join() {
            Ok(others) => mine.and(others),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
