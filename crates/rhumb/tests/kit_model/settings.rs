//! Option sets that make small stores behave like large ones.

use rhumb::fs::Access;
use rhumb::{
    Compaction, Compression, Granularity, KeyspaceOptions, Levels, Options, Partition, TableSpec,
    TierForm, TierSpec,
};

use super::choices::Choices;

/// The index kinds, some with several settings.
pub const INDEXES: [&str; 23] = [
    "fp",
    "fp-raw",
    "plr",
    "plr:boundary=4",
    "plr:boundary=128",
    "fiting-tree",
    "pgm:boundary=16,eps_recursive=1",
    "rmi:boundary=64",
    "rmi:leaves=7,root=cubic",
    "radix-spline:radix_bits=5",
    "plex",
    "pgm:boundary=8,retained=1",
    "alex",
    "lipp",
    "dili",
    "lits",
    "nfl",
    "btree",
    "greedy-plr-plus",
    "pla:error=2",
    "pra",
    "rss",
    "rss:over=keys,error=2",
];

/// The ways of cutting blocks that the model check covers.
pub const PARTITIONS: [Partition; 8] = [
    Partition::Predicted(0),
    Partition::Predicted(1),
    Partition::Predicted(4),
    Partition::Bytes(256),
    Partition::Bytes(4096),
    Partition::Dual(500),
    Partition::Entries(1),
    Partition::Entries(4),
];

/// Which values lie apart from their keys: none, all, long ones.
const SEPARATED: [Option<u32>; 6] = [None, None, Some(0), Some(16), Some(100), Some(1_000)];

/// Into how many groups keys are divided where values lie apart; several mean as many files a flush.
const GROUPS: [Option<u16>; 5] = [None, None, Some(1), Some(3), Some(16)];

/// The compressions that this build has.
pub const COMPRESSIONS: &[Compression] = match cfg!(feature = "zstd") {
    true => &[Compression::None, Compression::Lz4, Compression::Zstd],
    false => &[Compression::None, Compression::Lz4],
};

/// The shapes that levels can have.
pub const SHAPES: [Compaction; 6] = [
    Compaction::Leveled,
    Compaction::FullLevel,
    Compaction::Tiered,
    Compaction::LearnedTier(TierSpec {
        form: TierForm::Keys,
        range_bytes: 2 << 10,
        runs: 3,
        filter_bits_per_key: 10,
        concurrent_probes: true,
    }),
    Compaction::LearnedTier(TierSpec {
        form: TierForm::Inline,
        range_bytes: 2 << 10,
        runs: 3,
        filter_bits_per_key: 10,
        concurrent_probes: true,
    }),
    Compaction::LearnedTier(TierSpec {
        form: TierForm::Published,
        range_bytes: 2 << 10,
        runs: 3,
        filter_bits_per_key: 0,
        concurrent_probes: false,
    }),
];

/// What one index covers.
const GRANULARITIES: [Granularity; 4] = [
    Granularity::Table,
    Granularity::Trained,
    Granularity::Joined { boundary: 4 },
    Granularity::Joined { boundary: 128 },
];

/// Options for one opening; all of these may change when the store is reopened.
pub fn choose(choices: &mut Choices, indexes: &[&str], base: &Options) -> Options {
    // A write buffer allocates its first 4 KiB at once: with a limit of 1, every write becomes a
    // table.
    let write_buffer_bytes = choices.pick(&[1, 8 << 10, 8 << 10, 1 << 20]);
    let separate_values = choices.pick(&SEPARATED);
    let mut options = Options {
        write_buffer_bytes,
        index: choices.pick(indexes).parse().unwrap(),
        table: TableSpec {
            partition: choices.pick(&PARTITIONS),
            filter_bits_per_key: choices.pick(&[0, 10, 3]),
            compression: choices.pick(COMPRESSIONS),
            table_bytes: choices.pick(&[1, 1 << 10, 4 << 10, 1 << 20]),
            separate_values,
            value_groups: separate_values.and(choices.pick(&GROUPS)),
        },
        levels: Levels {
            compaction: choices.pick(&SHAPES),
            size_ratio: choices.pick(&[2, 3, 10]),
            base_bytes: choices.pick(&[1, 4 << 10, 16 << 10, 1 << 20]),
            level0_tables: choices.pick(&[1, 2, 4]),
            ..Levels::default()
        },
        cache_bytes: choices.pick(&[0, 16 << 10, 1 << 20]),
        log_bytes: choices.pick(&[1, 1 << 20]),
        compaction_threads: choices.pick(&[1, 3]),
        over_provision_percent: choices.pick(&[0, 10, 30, u32::MAX]),
        access: choices.pick(&[Access::Buffered, Access::Direct]),
        tuner: choices
            .pick(&["off", "cost", "q-learning", "bourbon:wait=0ms"])
            .parse()
            .unwrap(),
        ..base.clone()
    };
    options.levels.granularity = choices.pick(&GRANULARITIES);
    options
}

/// The options of a keyspace that a number stands for.
pub fn keyspace_options(number: u64) -> KeyspaceOptions {
    let mut choices = Choices::seeded(number);
    let index = choices.pick(&INDEXES).parse().unwrap();
    let separate_values = choices.pick(&SEPARATED);
    let table = TableSpec {
        partition: choices.pick(&PARTITIONS),
        filter_bits_per_key: choices.pick(&[0, 10, 3]),
        compression: choices.pick(COMPRESSIONS),
        table_bytes: choices.pick(&[1 << 10, 4 << 10, 1 << 20]),
        separate_values,
        value_groups: separate_values.and(choices.pick(&GROUPS)),
    };
    KeyspaceOptions {
        index: choices.percent(60).then_some(index),
        table: choices.percent(60).then_some(table),
    }
}

/// The relevant settings of a store, on one line.
pub fn describe(options: &Options) -> String {
    format!(
        "index {}, table {}, {:?}, {} threads, write buffer {}, log {}, cache {}, {:?}, \
         over-provision {} %, tuner {}",
        options.index,
        options.table,
        options.levels,
        options.compaction_threads,
        options.write_buffer_bytes,
        options.log_bytes,
        options.cache_bytes,
        options.access,
        options.over_provision_percent,
        options.tuner
    )
}
