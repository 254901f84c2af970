//! [`Stats`] as text for people.

use std::fmt::{self, Display, Formatter};

use super::{KeyspaceStats, LevelStats, OrderStats, ReadStats, ScanStats, Stats, WriteStats};
use crate::options::KeyspaceOptions;
use crate::tune::{ModelStats, TunerStats};

/// Readable text of several lines: the levels of each keyspace as a table, the memory in use, and the
/// counters that are not zero; without a line end after the last. The text may change from one version to the next.
impl Display for Stats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for keyspace in &self.keyspaces {
            writeln!(f, "{keyspace}\n")?;
        }
        let recovery = &self.recovery;
        write!(
            f,
            "log: {}; {} in {} replayed when the store was opened",
            Bytes(self.log_bytes),
            Counted(recovery.log_operations, "operation"),
            Counted(recovery.log_frames, "frame"),
        )?;
        if recovery.torn_bytes > 0 {
            write!(
                f,
                "\ntorn tail of the log: {} ignored; these writes were never acknowledged as durable",
                Bytes(recovery.torn_bytes),
            )?;
        }
        let cache = &self.cache;
        if cache.memory_bytes > 0 {
            write!(
                f,
                "\ncache: {} of {}; {} ({}) pinned, {} evicted",
                Bytes(cache.memory_bytes),
                Bytes(self.cache_capacity),
                Counted(cache.pinned_blocks, "block"),
                Bytes(cache.pinned_bytes),
                Counted(cache.evictions, "block"),
            )?;
        }
        write_gets(&self.reads, f)?;
        write_scans(&self.scans, f)?;
        write_writes(&self.writes, f)
    }
}

/// The part of [`Stats`]' text for one keyspace.
impl Display for KeyspaceStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "keyspace {}", Name(&self.name))?;
        if self.options != KeyspaceOptions::default() {
            writeln!(f, "  options: {}", self.options)?;
        }
        let filled = |(_, level): &(usize, &LevelStats)| level.tables > 0;
        let levels: Vec<_> = self.levels.iter().enumerate().filter(filled).collect();
        if levels.is_empty() {
            writeln!(f, "  no tables")?;
        } else {
            write_levels(&levels, f)?;
            let kinds = self.index_kinds.iter();
            let kinds =
                kinds.map(|(kind, tables)| format!("{kind} in {}", Counted(*tables, "table")));
            writeln!(
                f,
                "  index: {}; {} fell back to fence pointers",
                kinds.collect::<Vec<_>>().join(", "),
                Counted(self.fallbacks, "table"),
            )?;
        }
        if self.tables_in_models > 0 {
            writeln!(
                f,
                "  models over several tables: of {}",
                Counted(self.tables_in_models, "table")
            )?;
        }
        if let Some(tuner) = &self.tuner {
            write_tuner(tuner, f)?;
        }
        if self.value_files > 0 {
            writeln!(
                f,
                "  values apart from keys: {} in {}{}, {} of them in use, about {} of these overwritten",
                Bytes(self.value_bytes),
                Counted(self.value_files, "file"),
                match self.value_groups {
                    0 => String::new(),
                    groups => format!(" of {}", Counted(groups, "group")),
                },
                Bytes(self.used_value_bytes),
                Bytes(self.hidden_value_bytes),
            )?;
        }
        write!(
            f,
            "  in memory: write buffer {}, index {}, directory {}, filter {}, key map {}, range deletes {}",
            Bytes(self.memtable_bytes),
            Bytes(self.index_bytes),
            Bytes(self.directory_bytes),
            Bytes(self.filter_bytes),
            Bytes(self.key_map_bytes),
            Bytes(self.range_delete_bytes),
        )?;
        if self.above_filter_bytes > 0 {
            write!(
                f,
                ", filter above the tier {}",
                Bytes(self.above_filter_bytes)
            )?;
        }
        write_order(&self.order, f)
    }
}

/// Nothing before the first flush of a full write buffer.
fn write_order(order: &OrderStats, f: &mut Formatter<'_>) -> fmt::Result {
    if order.in_order + order.late + order.early == 0.0 {
        return Ok(());
    }
    let percent = |share: f64| (100.0 * share).round();
    write!(
        f,
        "\n  order of keys: {}% in order, {}% late, {}% early; ",
        percent(order.in_order),
        percent(order.late),
        percent(order.early),
    )?;
    match order.holds_back {
        true => write!(
            f,
            "{} entries ({}) kept back",
            Count(order.held_entries),
            Bytes(order.held_bytes),
        ),
        false => f.write_str("nothing is kept back"),
    }
}

/// What a tuner chose, and from what.
fn write_tuner(tuner: &TunerStats, f: &mut Formatter<'_>) -> fmt::Result {
    if let Some(models) = &tuner.models {
        return write_models(models, tuner.failure.as_deref(), f);
    }
    let measured = match tuner.episodes {
        0 => format!("measured {}", Counted(tuner.measured, "time")),
        episodes => format!("{} of an agent", Counted(episodes, "episode")),
    };
    let now = if tuner.is_on {
        ""
    } else {
        ", which is off now"
    };
    match tuner.forms.get(tuner.present) {
        Some(form) => writeln!(f, "  tuner{now}: {} for new tables; {measured}", form.form)?,
        None => writeln!(f, "  tuner{now}: nothing chosen yet; {measured}")?,
    }
    if let Some(nanos) = tuner.device {
        writeln!(
            f,
            "  tuner{now}: reads take {nanos:.0} ns more in tables than in samples"
        )?;
    }
    if let Some(failure) = &tuner.failure {
        writeln!(f, "  tuner{now}: {failure}")?;
    }
    if tuner.forms.is_empty() {
        return Ok(());
    }
    let longest = tuner.forms.iter().map(|form| form.form.len()).max();
    let width = longest.unwrap_or(0).max("form".len());
    writeln!(
        f,
        "    {:width$}  get, ns  reads, ns  scan, ns  reads, ns  B/entry  in tables  tables   value",
        "form"
    )?;
    for form in &tuner.forms {
        let ratio = form
            .ratio
            .map_or("-".to_string(), |ratio| format!("x{ratio:.2}"));
        let value = form
            .value
            .map_or("-".to_string(), |value| format!("{value:.3}"));
        writeln!(
            f,
            "    {:width$}  {:>7.0}  {:>9.0}  {:>8.0}  {:>9.0}  {:>7.3}  {ratio:>9}  {:>6}  {value:>6}",
            form.form,
            form.cached_get,
            form.uncached_get,
            form.cached_scan,
            form.uncached_scan,
            form.memory,
            form.tables,
        )?;
    }
    Ok(())
}

/// What was learned beside the indexes of tables.
fn write_models(models: &ModelStats, failure: Option<&str>, f: &mut Formatter<'_>) -> fmt::Result {
    writeln!(
        f,
        "  tuner: {} of {} ({}), {} waiting, {} not worth it, {} with models of their own, {} unfit; {} learned in {:.1?}, \
         {} given up, about {} answered",
        Counted(models.models, "model"),
        Counted(models.tables, "table"),
        Bytes(models.bytes),
        Count(models.waiting),
        Count(models.not_worth),
        Count(models.modelled),
        Count(models.unfit),
        Count(models.learned),
        models.learning_time,
        Count(models.given_up),
        Counted(models.look_ups, "look-up"),
    )?;
    match failure {
        Some(failure) => writeln!(
            f,
            "  tuner: {} cannot be learned, the last one since {failure}",
            Counted(models.failed, "table"),
        ),
        None => Ok(()),
    }
}

/// One line a level, in columns that are as wide as they need to be.
fn write_levels(levels: &[(usize, &LevelStats)], f: &mut Formatter<'_>) -> fmt::Result {
    let mut rows = vec![["level", "runs", "tables", "bytes", "entries"].map(str::to_string)];
    rows.extend(levels.iter().map(|(number, level)| {
        [
            number.to_string(),
            Count(level.runs).to_string(),
            Count(level.tables).to_string(),
            Bytes(level.bytes).to_string(),
            Count(level.entries).to_string(),
        ]
    }));
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    for row in &rows {
        for (cell, width) in row.iter().zip(widths) {
            write!(f, "  {cell:>width$}")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

fn write_gets(reads: &ReadStats, f: &mut Formatter<'_>) -> fmt::Result {
    if reads.gets == 0 {
        return Ok(());
    }
    write!(
        f,
        "\ngets: {}, {} answered by write buffers; {} asked, {} ruled out by filters; {} ({}) read, {} \
         found in memory",
        Counted(reads.gets, "key"),
        Count(reads.memtable_hits),
        Counted(reads.tables_probed, "table"),
        Count(reads.filter_negative),
        Counted(reads.blocks_read, "block"),
        Bytes(reads.bytes_read),
        Count(reads.blocks_cached),
    )?;
    if reads.above_negative + reads.above_false_positive > 0 {
        write!(
            f,
            "\n  learned tier: {} asked it at once, {} searched above it for nothing; {} of {} found their key there",
            Counted(reads.above_negative, "get"),
            Count(reads.above_false_positive),
            Count(reads.tier_hits),
            Count(reads.tier_probed),
        )?;
    }
    Ok(())
}

fn write_scans(scans: &ScanStats, f: &mut Formatter<'_>) -> fmt::Result {
    if scans.seeks == 0 {
        return Ok(());
    }
    write!(
        f,
        "\nscans: {}; {} ({}) read, {} found in memory",
        Counted(scans.seeks, "seek"),
        Counted(scans.blocks_read, "block"),
        Bytes(scans.bytes_read),
        Count(scans.blocks_cached),
    )
}

fn write_writes(writes: &WriteStats, f: &mut Formatter<'_>) -> fmt::Result {
    if writes.user_bytes + writes.flushes + writes.compactions + writes.trivial_moves > 0 {
        write!(
            f,
            "\nwrites: {} of keys and values, {} of log; {} of {} in {:.1?}, {} put below level 0; {} read {} \
             and wrote {} in {:.1?}; {} moved; write amplification {:.1}",
            Bytes(writes.user_bytes),
            Bytes(writes.log_bytes),
            Counted(writes.flushes, "flush"),
            Bytes(writes.flushed_bytes),
            writes.flush_time,
            Counted(writes.direct_placements, "table"),
            Counted(writes.compactions, "merge"),
            Bytes(writes.compaction_bytes_read),
            Bytes(writes.compaction_bytes_written),
            writes.compaction_time,
            Counted(writes.trivial_moves, "table"),
            writes.write_amplification(),
        )?;
    }
    if writes.collections > 0 {
        write!(
            f,
            "\nvalues moved to give space back: {} in {}",
            Bytes(writes.moved_value_bytes),
            Counted(writes.collections, "merge"),
        )?;
    }
    if writes.ingested_tables > 0 {
        write!(
            f,
            "\ningested: {} of {}",
            Counted(writes.ingested_tables, "table"),
            Bytes(writes.ingested_bytes),
        )?;
    }
    if writes.slowdowns + writes.stalls > 0 {
        write!(
            f,
            "\nwrites held up: {}, {}, the longest {:.1?} ({})",
            Counted(writes.slowdowns, "slowdown"),
            Counted(writes.stalls, "stall"),
            writes.longest_stall,
            writes.longest_stall_reason,
        )?;
    }
    Ok(())
}

/// The name of a keyspace, with its control characters escaped.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter.is_control() {
                true => write!(f, "{}", letter.escape_default())?,
                false => write!(f, "{letter}")?,
            }
        }
        Ok(())
    }
}

/// A size, such as `12 B` or `1.50 MiB`.
struct Bytes(u64);

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let (mut size, mut unit) = (self.0 as f64 / 1024.0, "KiB");
        for larger in ["MiB", "GiB", "TiB", "PiB", "EiB"] {
            // What would be written as 1024.00 is 1.00 of the next unit.
            if size < 1023.995 {
                break;
            }
            (size, unit) = (size / 1024.0, larger);
        }
        write!(f, "{size:.2} {unit}")
    }
}

/// A number with commas, such as `12,345`.
struct Count(u64);

impl Display for Count {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A number with its noun, such as `1 table`, `2 tables` or `3 flushes`.
struct Counted(u64, &'static str);

impl Display for Counted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Counted(number, noun) = self;
        let ending = match (number, noun.ends_with("sh")) {
            (1, _) => "",
            (_, true) => "es",
            (_, false) => "s",
        };
        write!(f, "{} {noun}{ending}", Count(*number))
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1_572_864, "1.50 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (u64::MAX, "16.00 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(Count(count).to_string(), text);
        }
        assert_eq!(Counted(1, "flush").to_string(), "1 flush");
        assert_eq!(Counted(2, "flush").to_string(), "2 flushes");
        assert_eq!(Counted(1000, "table").to_string(), "1,000 tables");
    }

    #[test]
    fn levels_stand_in_columns() {
        let level = |runs, bytes, entries| LevelStats {
            runs,
            tables: 1,
            bytes,
            entries,
        };
        let keyspace = KeyspaceStats {
            name: "us\ners".to_string(),
            options: KeyspaceOptions {
                index: Some("fp".parse().unwrap()),
                table: None,
            },
            levels: vec![
                level(2, 700, 1_234_567),
                LevelStats::default(),
                level(1, 3 << 20, 9),
            ],
            index_kinds: [("fp".to_string(), 2)].into(),
            ..KeyspaceStats::default()
        };
        let stats = Stats {
            keyspaces: vec![keyspace],
            ..Stats::default()
        };
        let expected = "\
keyspace us\\ners
  options: index fp, table of the store
  level  runs  tables     bytes    entries
      0     2       1     700 B  1,234,567
      2     1       1  3.00 MiB          9
  index: fp in 2 tables; 0 tables fell back to fence pointers
  in memory: write buffer 0 B, index 0 B, directory 0 B, filter 0 B, key map 0 B, range deletes 0 B

log: 0 B; 0 operations in 0 frames replayed when the store was opened";
        assert_eq!(stats.to_string(), expected);
    }
}
