//! What RocksDB's own log says of its flushes and merges: it has no other count of the files that it moves.

use std::collections::HashMap;

use super::Counters;

/// The events of a log, as counters with the names of our own.
pub fn counters(log: &str) -> Counters {
    let (mut flushes, mut merges, mut moves) = (0, 0, 0);
    let (mut created, mut merged) = (0, 0);
    // In microseconds. A flush tells when it begins and when it ends, by its job.
    let (mut flush_time, mut merge_time, mut began) = (0, 0, HashMap::new());
    for line in log.lines() {
        let Some((_, event)) = line.split_once("EVENT_LOG_v1 ") else {
            continue;
        };
        let number = |name: &str| number(event, name);
        match text(event, "event") {
            Some("flush_started") => {
                began.insert(number("job"), number("time_micros"));
            }
            Some("flush_finished") => {
                flushes += 1;
                let from = began.remove(&number("job"));
                flush_time += from.map_or(0, |from| number("time_micros").saturating_sub(from));
            }
            Some("compaction_finished") => {
                merges += 1;
                merge_time += number("compaction_time_micros");
                merged += number("total_output_size");
            }
            Some("trivial_move") => moves += number("files"),
            Some("table_file_creation") => created += number("file_size"),
            _ => {}
        }
    }
    let mut counters = Counters::default();
    counters.put("flushes", flushes, "flushes");
    counters.put("merges", merges, "merges");
    counters.put("trivial_moves", moves, "tables");
    counters.put("flushed_bytes", u64::saturating_sub(created, merged), "B");
    counters.put("merged_bytes", merged, "B");
    counters.put("flush_time", 1_000 * flush_time, "ns");
    counters.put("merge_time", 1_000 * merge_time, "ns");
    counters
}

/// What follows the name of a field of an event.
fn field<'a>(event: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = event.split_once(&format!("\"{name}\": "))?;
    Some(rest)
}

fn text<'a>(event: &'a str, name: &str) -> Option<&'a str> {
    field(event, name)?.strip_prefix('"')?.split('"').next()
}

/// A number, 0 if there is none.
fn number(event: &str, name: &str) -> u64 {
    let rest = field(event, name).unwrap_or_default();
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"
2026/01/02-03:04:05.000001 71 RocksDB version: 11.8.1
2026/01/02-03:04:05.000002 71 EVENT_LOG_v1 {"time_micros": 1, "cf_name": "default", "job": 3, "event": "table_file_creation", "file_number": 8, "file_size": 500, "file_checksum": ""}
2026/01/02-03:04:05.000001 71 EVENT_LOG_v1 {"time_micros": 1, "job": 3, "event": "flush_started", "num_memtables": 1}
2026/01/02-03:04:05.000003 71 EVENT_LOG_v1 {"time_micros": 2, "job": 3, "event": "flush_finished", "output_compression": "NoCompression"}
2026/01/02-03:04:05.000004 71 EVENT_LOG_v1 {"time_micros": 3, "job": 4, "event": "trivial_move", "destination_level": 1, "files": 2, "total_files_size": 500}
2026/01/02-03:04:05.000005 71 EVENT_LOG_v1 {"time_micros": 4, "job": 5, "event": "table_file_creation", "file_number": 9, "file_size": 700, "file_checksum": ""}
2026/01/02-03:04:05.000006 71 EVENT_LOG_v1 {"time_micros": 5, "job": 5, "event": "compaction_finished", "compaction_time_micros": 7, "compaction_time_cpu_micros": 6, "output_level": 1, "num_output_files": 1, "total_output_size": 700}
2026/01/02-03:04:05.000007 71 EVENT_LOG_v1 {"time_micros": 6, "job": 5, "event": "table_file_dele"#;

    #[test]
    fn events_are_counted_by_their_names() {
        let counters = counters(LOG);
        let of = |name| counters.get(name);
        assert_eq!((of("flushes"), of("flushed_bytes")), (Some(1), Some(500)));
        assert_eq!((of("merges"), of("merged_bytes")), (Some(1), Some(700)));
        assert_eq!(of("trivial_moves"), Some(2));
        assert_eq!(
            (of("flush_time"), of("merge_time")),
            (Some(1_000), Some(7_000))
        );
        assert_eq!(super::counters("").get("merges"), Some(0));
    }
}
