//! The systems that are compared in the experiments on value logs.

use super::Amounts;
use crate::error::Result;
use crate::store::System;

/// The entries of the paper, for which sizes are stated.
const PUBLISHED_ENTRIES: u64 = 10_000_000;

/// The least cache, and the least of what is scaled down of the published settings. RocksDB has no smaller write buffer.
pub const LEAST: u64 = 64 << 10;

/// The least write buffer and table of equal memory. A smaller one would mean more syncs than operations.
const LEAST_BUFFER: u64 = 256 << 10;

/// The least level 1, and the least range of a tier: four of these, as of the larger ones.
const LEAST_RANGE: u64 = 4 * LEAST_BUFFER;

const MIB: u64 = 1 << 20;

/// Values from these bytes on are kept apart in the stores that have a threshold.
const APART: &str = "values=512";

/// The over-provision of the protocol, in percent: the garbage, over what is live, at which collection begins.
pub const OVER_PROVISION: u32 = 30;

/// The start of the texts of our own systems. These begin to collect at three fifths of the over-provision that is set, which
/// bounds the garbage that there is at any time. They are set to five thirds of that of the protocol, but for [`BOUNDS`].
const OURS: &str = "rhumb ";

/// The partitions of values by the hash of their keys: 13 main segments of about 100 MB hold 1 GiB as published; a power of two here.
const GROUPS: u32 = 16;

/// Files that a log is cut into, about.
const FILES: u64 = 160;

/// Bytes of a record.
pub const RECORD_BYTES: u64 = 8 + 1016;

/// The learned tier in the forms that are converted range by range.
pub const TIERS: &[&str] = &["tier-keys", "tier-inline"];

/// The same with the over-provision as the bound of garbage.
pub const BOUNDS: &[&str] = &["tier-keys-bound", "tier-inline-bound"];

/// The learned tier as published.
pub const WHOLE: &[&str] = &["tier-published"];

/// The learned tier with its filter over what stands above, and without.
pub const FILTERS: &[&str] = &["tier-keys", "tier-keys-unfiltered"];

/// Our store without a tier.
pub const LEVELS: &[&str] = &["lsm-values"];

/// The published baseline, with its settings and with memory equal to ours.
pub const BASELINES: &[&str] = &["rdb+published", "rdb+equal"];

/// What else RocksDB offers for large values.
pub const BLOBS: &[&str] = &["rocksdb-blob"];

/// The text of a system of some sizes.
type Text = fn(&Sizes) -> String;

/// All systems by their names in results. Experiments name those that they take.
const ARMS: [(&str, Text); 18] = [
    ("tier-keys", |sizes| sizes.rhumb(&sizes.tier("keys"))),
    ("tier-inline", |sizes| sizes.rhumb(&sizes.tier("inline"))),
    ("tier-keys-bound", |sizes| sizes.rhumb(&sizes.tier("keys"))),
    ("tier-inline-bound", |sizes| {
        sizes.rhumb(&sizes.tier("inline"))
    }),
    ("tier-published", |sizes| {
        sizes.rhumb(&sizes.tier("published"))
    }),
    ("tier-keys-unfiltered", |sizes| {
        sizes.rhumb(&sizes.tier("keys,filter=0"))
    }),
    ("lsm-values", |sizes| sizes.rhumb("")),
    ("hashkv", |sizes| sizes.rhumb(&format!("groups={GROUPS}"))),
    ("bourbon", |sizes| sizes.rhumb(BOURBON)),
    ("rocksdb", |sizes| format!("rocksdb {}", sizes.equal())),
    ("rocksdb-blob", |sizes| {
        format!("rocksdb {APART} {}", sizes.equal())
    }),
    ("rdb+published", |sizes| {
        format!("rocksdb+ gc=whole {}", sizes.published())
    }),
    ("rdb+equal", |sizes| {
        format!("rocksdb+ gc=whole {}", sizes.equal())
    }),
    ("rdb+equal-files", |sizes| {
        format!("rocksdb+ {}", sizes.files())
    }),
    ("lsm+equal-files", |sizes| {
        format!("rhumb+ {}", sizes.files())
    }),
    ("btree-disk+", |_| "btree-disk+ gc=whole".to_string()),
    ("hybrid-pgm+", |sizes| sizes.hybrid("hybrid-pgm")),
    ("hybrid-leco+", |sizes| sizes.hybrid("hybrid-leco")),
];

/// As in Bourbon: a piecewise linear model of each table, which is wrong by at most 8 entries, and reads of exactly
/// the entries of its window.
const BOURBON: &str = "index=plr:boundary=18 partition=entries(1)";

/// The sizes of the systems for a number of entries.
struct Sizes {
    buffer: u64,
    table: u64,
    base: u64,
    cache: u64,
    published_buffer: u64,
    published_base: u64,
    published_cache: u64,
    segment: u64,
    /// A range of a learned tier.
    range: u64,
    /// The memory of a hybrid index, all in all.
    hybrid: u64,
}

impl Sizes {
    fn of(entries: usize) -> Sizes {
        let entries = entries as u64;
        let of = |bytes: u64, least: u64| (bytes * entries / PUBLISHED_ENTRIES).max(least);
        Sizes {
            buffer: of(64 * MIB, LEAST_BUFFER),
            table: of(64 * MIB, LEAST_BUFFER),
            base: of(256 * MIB, LEAST_RANGE),
            cache: of(64 * MIB, LEAST),
            published_buffer: LEAST,
            published_base: of(16 << 10, 1 << 10),
            published_cache: of(32 * MIB, LEAST),
            range: of(256 * MIB, LEAST_RANGE),
            // 10 MiB for the million entries of the published comparison.
            hybrid: of(100 * MIB, LEAST),
            segment: (entries * RECORD_BYTES / FILES).max(LEAST),
        }
    }

    /// Our store with values apart.
    fn rhumb(&self, more: &str) -> String {
        format!("{OURS}{APART} {more} {}", self.equal())
    }

    /// A value log over a hybrid index.
    fn hybrid(&self, name: &str) -> String {
        let memory = self.hybrid;
        format!("{name}+ gc=whole memory={memory}")
    }

    /// The settings of equal memory.
    fn equal(&self) -> String {
        let Sizes {
            buffer,
            table,
            base,
            cache,
            ..
        } = self;
        format!(
            "filter=10 compression=none write_buffer={buffer} size={table} base={base} cache={cache}"
        )
    }

    /// Those of a value log that is cut into files.
    fn files(&self) -> String {
        format!("gc=files segment={} {}", self.segment, self.equal())
    }

    /// The settings of a learned tier of this form.
    fn tier(&self, form: &str) -> String {
        let range = self.range;
        format!("compaction=learned-tier:form={form},range={range} ratio=4")
    }

    /// The settings of the published baseline.
    fn published(&self) -> String {
        let (buffer, base, cache) = (
            self.published_buffer,
            self.published_base,
            self.published_cache,
        );
        format!(
            "filter=0 compression=none write_buffer={buffer} size=64MiB base={base} ratio=10 cache={cache} direct=true"
        )
    }
}

/// The amounts of the protocol: names, values and units.
pub fn protocol(amounts: &Amounts) -> Vec<(&'static str, u64, &'static str)> {
    let sizes = Sizes::of(amounts.updated);
    vec![
        ("records", amounts.updated as u64, "records"),
        ("records_over_other_axes", amounts.swept as u64, "records"),
        (
            "records_beside_other_stores",
            amounts.compared as u64,
            "records",
        ),
        ("records_on_a_slow_disk", amounts.slowed as u64, "records"),
        ("records_of_l_f3", amounts.small as u64, "records"),
        ("record_bytes", RECORD_BYTES, "B"),
        ("over_provision", OVER_PROVISION.into(), "%"),
        ("buffer_bytes", sizes.buffer, "B"),
        ("table_bytes", sizes.table, "B"),
        ("base_bytes", sizes.base, "B"),
        ("cache_bytes", sizes.cache, "B"),
        ("published_buffer_bytes", sizes.published_buffer, "B"),
        ("published_base_bytes", sizes.published_base, "B"),
        ("published_cache_bytes", sizes.published_cache, "B"),
        ("segment_bytes", sizes.segment, "B"),
        ("range_bytes", sizes.range, "B"),
        ("hybrid_bytes", sizes.hybrid, "B"),
        ("rounds", amounts.rounds.into(), "rounds"),
    ]
}

/// Those of some systems that this build has, for a number of entries and an over-provision in percent, with more settings.
///
/// # Errors
/// If the text of one is invalid.
pub fn systems(
    amounts: &Amounts,
    (entries, over_provision): (usize, u32),
    names: &[&[&str]],
    more: &str,
) -> Result<Vec<(&'static str, System)>> {
    let sizes = Sizes::of(entries);
    let mut systems = Vec::new();
    for (name, text) in ARMS {
        if names.concat().contains(&name) {
            let text = text(&sizes);
            let percent = match text.starts_with(OURS) && !BOUNDS.contains(&name) {
                true => over_provision * 5 / 3,
                false => over_provision,
            };
            let text = format!("{text} over_provision={percent} {more}");
            let system = amounts.system(&text)?;
            if system.is_built_in() {
                systems.push((name, system));
            }
        }
    }
    Ok(systems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Scale;

    fn all() -> Vec<&'static str> {
        ARMS.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn systems_are_scaled_with_the_entries() {
        let amounts = Scale::Small.amounts();
        let found = systems(&amounts, (1_000_000, 30), &[&all()], "").unwrap();
        let named = |name: &str| found.iter().find(|(known, _)| *known == name);
        let (_, ours) = named("lsm-values").unwrap();
        let settings = ours.settings();
        assert_eq!(settings.table.separate_values, Some(512));
        assert_eq!(settings.over_provision_percent, 50);
        assert_eq!(settings.levels.base_bytes, (256 << 20) / 10);
        let (_, bound) = named("tier-keys-bound").unwrap();
        assert_eq!(bound.settings().over_provision_percent, 30);
        let (_, tier) = named("tier-inline").unwrap();
        let compaction = tier.settings().levels.compaction.to_string();
        let range = (256 << 20) / 10;
        assert_eq!(
            compaction,
            format!("learned-tier:form=inline,range={range},runs=8,filter=10,concurrent=false")
        );
        let (_, hashkv) = named("hashkv").unwrap();
        assert_eq!(hashkv.settings().table.value_groups, Some(16));
        assert_eq!(
            named("rdb+published").is_some(),
            cfg!(feature = "peers"),
            "what is not built in is left out"
        );
        let small = Sizes::of(1_000);
        assert_eq!((small.cache, small.published_base), (LEAST, 1 << 10));
        let ten = Sizes::of(10_000_000);
        assert_eq!(
            (
                ten.published_buffer,
                ten.published_base,
                ten.published_cache
            ),
            (64 << 10, 16 << 10, 32 << 20)
        );
    }

    #[test]
    fn groups_name_systems_that_exist() {
        for name in [TIERS, BOUNDS, WHOLE, LEVELS, BASELINES, BLOBS].concat() {
            assert!(all().contains(&name), "{name}");
        }
        let amounts = Scale::Quick.amounts();
        let two = systems(&amounts, (1_000, 30), &[TIERS, LEVELS], "").unwrap();
        let names: Vec<&str> = two.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["tier-keys", "tier-inline", "lsm-values"]);
    }
}
