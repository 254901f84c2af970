//! Gathers [`Stats`].

use std::collections::BTreeSet;

use crate::compaction::Room;
use crate::db::stats::{CacheStats, KeyspaceStats, LevelStats, OrderStats, Stats, WriteStats};
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::memtable::Memtable;
use crate::options::{KeyspaceOptions, TierSpec};
use crate::sync::atomic::Ordering;
use crate::sync::lock;
use crate::tune::remembered;
use crate::version::LEVELS;

impl Store {
    fn measure_writes(&self) -> WriteStats {
        let published = &self.published;
        let mut writes = self.writes.stats();
        writes.user_bytes += published.user_bytes.load(Ordering::Relaxed);
        writes.log_bytes += published.log_bytes.load(Ordering::Relaxed);
        writes
    }

    pub(in crate::db) fn measure(&self) -> Result<Stats> {
        let mut keyspaces = Vec::new();
        let tier = self.options.levels.compaction.tier();
        for keyspace in self.keyspaces.load().values() {
            let options = match self.keyspace_options(keyspace) {
                // Dropped meanwhile.
                Err(Error::NoSuchKeyspace(_)) => continue,
                options => options?,
            };
            let mut stats = measure_keyspace(keyspace, options, tier)?;
            if stats.tuner.is_none() {
                stats.tuner = remembered(&self.files, keyspace.id);
            }
            keyspaces.push(stats);
        }
        keyspaces.sort_by(|a, b| a.name.cmp(&b.name));
        let cache = self.files.cache.state();
        Ok(Stats {
            keyspaces,
            reads: self.reads.stats(),
            scans: self.reads.scans(),
            writes: self.measure_writes(),
            cache_bytes: cache.used.blocks,
            cache_capacity: self.files.cache.capacity(),
            cache: CacheStats {
                memory_bytes: cache.used.total(),
                slot_bytes: cache.used.slots,
                pinned_blocks: cache.pinned_blocks,
                pinned_bytes: cache.pinned_bytes,
                evictions: cache.used.evictions,
                bypassed: cache.bypassed,
                bypassed_bytes: cache.bypassed_bytes,
            },
            log_bytes: lock(&self.logs).bytes(),
            recovery: self.recovery,
        })
    }
}

fn measure_order(keyspace: &OpenKeyspace, held: Option<&Memtable>) -> OrderStats {
    let seen = lock(&keyspace.order).seen;
    OrderStats {
        holds_back: seen.holds_back,
        in_order: seen.in_order,
        late: seen.late,
        early: seen.early,
        held_entries: held.map_or(0, Memtable::entries),
        held_bytes: held.map_or(0, |m| m.bytes() as u64),
    }
}

fn measure_keyspace(
    keyspace: &OpenKeyspace,
    options: KeyspaceOptions,
    tier: Option<TierSpec>,
) -> Result<KeyspaceStats> {
    let view = keyspace.view.load_full();
    let mut stats = KeyspaceStats {
        name: keyspace.name.clone(),
        options,
        levels: vec![LevelStats::default(); LEVELS],
        memtable_bytes: view.memtables().map(|m| m.bytes() as u64).sum(),
        order: measure_order(keyspace, view.held.as_deref()),
        tuner: keyspace.tuned().map(|tuned| tuned.stats(&view.levels)),
        ..KeyspaceStats::default()
    };
    for (number, level) in stats.levels.iter_mut().enumerate() {
        level.runs = view.levels.runs(number).len() as u64;
    }
    let mut groups = BTreeSet::new();
    for (_, used) in view.levels.value_files().iter() {
        groups.extend(used.file.meta.group);
        stats.value_files += 1;
        stats.value_bytes += used.file.meta.bytes;
        stats.used_value_bytes += used.used_bytes;
    }
    stats.value_groups = groups.len() as u64;
    let filters = view.filters_above().map(|filter| filter.bytes() as u64);
    stats.above_filter_bytes = filters.sum();
    stats.hidden_value_bytes = Room::of(&view.levels, 0, tier).hidden() as u64;
    for (place, table) in view.levels.tables() {
        let reader = table.reader()?;
        let memory = reader.memory();
        stats.index_bytes += memory.index as u64;
        stats.directory_bytes += memory.directory as u64;
        stats.filter_bytes += memory.filter as u64;
        stats.key_map_bytes += memory.key_map as u64;
        stats.range_delete_bytes += memory.range_deletes as u64;
        stats.entries += table.meta.entries;
        stats.fallbacks += u64::from(reader.fell_back());
        *stats
            .index_kinds
            .entry(table.meta.index_kind.clone())
            .or_default() += 1;
        if let Some(level) = stats.levels.get_mut(place.level) {
            level.tables += 1;
            level.bytes += table.meta.file_bytes;
            level.entries += table.meta.entries;
        }
    }
    for (_, run) in view.levels.all_runs() {
        let models = run.model_memory();
        stats.index_bytes += models.index as u64;
        stats.key_map_bytes += models.key_map as u64;
        stats.tables_in_models += models.tables;
    }
    Ok(stats)
}
