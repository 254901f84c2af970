//! The systems that are compared in the experiments on value logs.

use super::Amounts;
use crate::error::Result;
use crate::store::System;

/// The entries of the paper, for which sizes are stated.
const PUBLISHED_ENTRIES: u64 = 10_000_000;

/// The least size of what is scaled down. RocksDB has no smaller write buffer.
const LEAST: u64 = 64 << 10;

const MIB: u64 = 1 << 20;

/// Values from these bytes on are kept apart in the stores that have a threshold.
const APART: &str = "values=512";

/// The over-provision of the protocol, in percent.
pub const OVER_PROVISION: u32 = 30;

/// The partitions of values by the hash of their keys: 13 main segments of about 100 MB hold 1 GiB as published; a power of two here.
const GROUPS: u32 = 16;

/// Files that a log is cut into, about.
const FILES: u64 = 160;

/// Bytes of a record.
pub const RECORD_BYTES: u64 = 8 + 1016;

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
}

impl Sizes {
    fn of(entries: usize) -> Sizes {
        let entries = entries as u64;
        let of = |bytes: u64, least: u64| (bytes * entries / PUBLISHED_ENTRIES).max(least);
        Sizes {
            buffer: of(64 * MIB, LEAST),
            table: of(64 * MIB, LEAST),
            base: of(256 * MIB, LEAST),
            cache: of(64 * MIB, LEAST),
            published_buffer: LEAST,
            published_base: of(16 << 10, 1 << 10),
            published_cache: of(32 * MIB, LEAST),
            range: of(256 * MIB, LEAST),
            segment: (entries * RECORD_BYTES / FILES).max(LEAST),
        }
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
        ("rounds", amounts.rounds.into(), "rounds"),
    ]
}

/// The systems of this build with their names, for a number of entries.
///
/// # Errors
/// If the text of one is invalid.
pub fn systems(
    amounts: &Amounts,
    entries: usize,
    over_provision: u32,
) -> Result<Vec<(&'static str, System)>> {
    let sizes = Sizes::of(entries);
    let (equal, published) = (sizes.equal(), sizes.published());
    let segment = sizes.segment;
    let [keys, inline, whole] = ["keys", "inline", "published"].map(|form| sizes.tier(form));
    let texts = [
        ("tier-keys", format!("rhumb {APART} {keys} {equal}")),
        ("tier-inline", format!("rhumb {APART} {inline} {equal}")),
        ("tier-published", format!("rhumb {APART} {whole} {equal}")),
        ("lsm-values", format!("rhumb {APART} {equal}")),
        ("hashkv", format!("rhumb {APART} groups={GROUPS} {equal}")),
        ("rocksdb-blob", format!("rocksdb {APART} {equal}")),
        ("rdb+published", format!("rocksdb+ gc=whole {published}")),
        ("rdb+equal", format!("rocksdb+ gc=whole {equal}")),
        (
            "rdb+equal-files",
            format!("rocksdb+ gc=files segment={segment} {equal}"),
        ),
        (
            "lsm+equal-files",
            format!("rhumb+ gc=files segment={segment} {equal}"),
        ),
    ];
    let mut systems = Vec::new();
    for (name, text) in texts {
        let system = amounts.system(&format!("{text} over_provision={over_provision}"))?;
        if system.is_built_in() {
            systems.push((name, system));
        }
    }
    Ok(systems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Scale;

    #[test]
    fn systems_are_scaled_with_the_entries() {
        let amounts = Scale::Small.amounts();
        let all = systems(&amounts, 1_000_000, 50).unwrap();
        let named = |name: &str| all.iter().find(|(known, _)| *known == name);
        let (_, ours) = named("lsm-values").unwrap();
        let settings = ours.settings();
        assert_eq!(settings.table.separate_values, Some(512));
        assert_eq!(settings.over_provision_percent, 50);
        assert_eq!(settings.levels.base_bytes, (256 << 20) / 10);
        let (_, tier) = named("tier-inline").unwrap();
        let compaction = tier.settings().levels.compaction.to_string();
        let range = (256 << 20) / 10;
        assert_eq!(
            compaction,
            format!("learned-tier:form=inline,range={range},runs=8,filter=10")
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
}
