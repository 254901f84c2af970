//! `rhumb stats`

use std::collections::BTreeMap;

use clap::Args;
use rhumb::{
    FormStats, KeyspaceStats, ModelStats, ReadStats, ScanStats, Stats, TunerStats, WriteStats,
};
use serde_json::{Value, json};

use crate::arguments::Store;
use crate::failure::Failure;
use crate::output;

/// Show the tables and entries of each level, and the memory that the store uses.
#[derive(Debug, Args)]
pub struct StatsCommand {
    #[command(flatten)]
    store: Store,
    /// Print one JSON object, with the counters of reads and writes since the store was opened.
    #[arg(long)]
    json: bool,
    /// Show what the tuner of each keyspace knows and chose when the store was open the last time.
    #[arg(long)]
    tuner: bool,
}

impl StatsCommand {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let db = self.store.read()?;
        let mut stats = db.stats()?;
        if !self.tuner {
            // Its table would be longer than all the rest.
            let keyspaces = stats.keyspaces.iter_mut();
            keyspaces.for_each(|keyspace| keyspace.tuner = None);
        }
        match self.json {
            true => output::print_json(&stats_json(&stats)),
            false => output::print(&stats.to_string()),
        }
    }
}

fn stats_json(stats: &Stats) -> Value {
    let keyspaces: Vec<Value> = stats.keyspaces.iter().map(keyspace_json).collect();
    json!({
        "keyspaces": keyspaces,
        "reads": reads_json(&stats.reads),
        "scans": scans_json(&stats.scans),
        "writes": writes_json(&stats.writes),
        "cache_bytes": stats.cache_bytes,
        "cache_capacity": stats.cache_capacity,
        "log_bytes": stats.log_bytes,
        "recovery": {
            "log_frames": stats.recovery.log_frames,
            "log_operations": stats.recovery.log_operations,
            "torn_bytes": stats.recovery.torn_bytes,
        },
    })
}

fn keyspace_json(keyspace: &KeyspaceStats) -> Value {
    let level = |level: &rhumb::LevelStats| json!({"runs": level.runs, "tables": level.tables, "bytes": level.bytes, "entries": level.entries});
    let levels: Vec<Value> = keyspace.levels.iter().map(level).collect();
    json!({
        "name": keyspace.name,
        "options": {
            "index": keyspace.options.index.as_ref().map(ToString::to_string),
            "table": keyspace.options.table.as_ref().map(ToString::to_string),
        },
        "levels": levels,
        "entries": keyspace.entries,
        "memtable_bytes": keyspace.memtable_bytes,
        "index_bytes": keyspace.index_bytes,
        "directory_bytes": keyspace.directory_bytes,
        "filter_bytes": keyspace.filter_bytes,
        "above_filter_bytes": keyspace.above_filter_bytes,
        "key_map_bytes": keyspace.key_map_bytes,
        "range_delete_bytes": keyspace.range_delete_bytes,
        "value_files": keyspace.value_files,
        "value_groups": keyspace.value_groups,
        "value_bytes": keyspace.value_bytes,
        "used_value_bytes": keyspace.used_value_bytes,
        "tables_in_models": keyspace.tables_in_models,
        "index_kinds": keyspace.index_kinds,
        "fallbacks": keyspace.fallbacks,
        "tuner": keyspace.tuner.as_ref().map(tuner_json),
    })
}

fn tuner_json(tuner: &TunerStats) -> Value {
    let form = |form: &FormStats| {
        json!({
            "form": form.form,
            "cached_get": form.cached_get,
            "uncached_get": form.uncached_get,
            "cached_scan": form.cached_scan,
            "uncached_scan": form.uncached_scan,
            "memory": form.memory,
            "ratio": form.ratio,
            "tables": form.tables,
            "value": form.value,
            "actions": form.actions.iter().copied().collect::<BTreeMap<_, _>>(),
        })
    };
    json!({
        "forms": tuner.forms.iter().map(form).collect::<Vec<Value>>(),
        "present": tuner.present,
        "measured": tuner.measured,
        "episodes": tuner.episodes,
        "device": tuner.device,
        "failure": tuner.failure,
        "models": tuner.models.as_ref().map(models_json),
    })
}

fn models_json(models: &ModelStats) -> Value {
    json!({
        "waiting": models.waiting,
        "not_worth": models.not_worth,
        "modelled": models.modelled,
        "unfit": models.unfit,
        "failed": models.failed,
        "tables": models.tables,
        "models": models.models,
        "bytes": models.bytes,
        "learned": models.learned,
        "learning_seconds": models.learning_time.as_secs_f64(),
        "given_up": models.given_up,
        "look_ups": models.look_ups,
    })
}

fn reads_json(reads: &ReadStats) -> Value {
    json!({
        "gets": reads.gets,
        "memtable_hits": reads.memtable_hits,
        "tables_probed": reads.tables_probed,
        "filter_negative": reads.filter_negative,
        "filter_positive": reads.filter_positive,
        "filter_false_positive": reads.filter_false_positive,
        "model_probes": reads.model_probes,
        "tier_probed": reads.tier_probed,
        "tier_hits": reads.tier_hits,
        "above_negative": reads.above_negative,
        "above_false_positive": reads.above_false_positive,
        "tier_ahead": reads.tier_ahead,
        "window_ranks": reads.window_ranks,
        "read_calls": reads.read_calls,
        "blocks_read": reads.blocks_read,
        "bytes_read": reads.bytes_read,
        "blocks_cached": reads.blocks_cached,
    })
}

fn scans_json(scans: &ScanStats) -> Value {
    json!({
        "seeks": scans.seeks,
        "window_ranks": scans.window_ranks,
        "read_calls": scans.read_calls,
        "blocks_read": scans.blocks_read,
        "bytes_read": scans.bytes_read,
        "blocks_cached": scans.blocks_cached,
    })
}

fn writes_json(writes: &WriteStats) -> Value {
    json!({
        "user_bytes": writes.user_bytes,
        "log_bytes": writes.log_bytes,
        "flushes": writes.flushes,
        "flushed_bytes": writes.flushed_bytes,
        "compactions": writes.compactions,
        "partial_flushes": writes.partial_flushes,
        "direct_placements": writes.direct_placements,
        "trivial_moves": writes.trivial_moves,
        "collections": writes.collections,
        "moved_value_bytes": writes.moved_value_bytes,
        "compaction_bytes_read": writes.compaction_bytes_read,
        "compaction_bytes_written": writes.compaction_bytes_written,
        "flush_seconds": writes.flush_time.as_secs_f64(),
        "flush_training_seconds": writes.flush_training_time.as_secs_f64(),
        "flush_write_seconds": writes.flush_write_time.as_secs_f64(),
        "compaction_seconds": writes.compaction_time.as_secs_f64(),
        "modelled_tables": writes.modelled_tables,
        "model_seconds": writes.model_time.as_secs_f64(),
        "compaction_training_seconds": writes.compaction_training_time.as_secs_f64(),
        "compaction_read_seconds": writes.compaction_read_time.as_secs_f64(),
        "compaction_write_seconds": writes.compaction_write_time.as_secs_f64(),
        "slowdowns": writes.slowdowns,
        "stalls": writes.stalls,
        "longest_stall_seconds": writes.longest_stall.as_secs_f64(),
        "longest_stall_reason": writes.longest_stall_reason,
        "stall_reasons": writes.stall_reasons,
    })
}
