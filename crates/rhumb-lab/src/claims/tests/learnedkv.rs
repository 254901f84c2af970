//! Verdicts on the claims of LearnedKV.

use super::edbt::{check_refuted, judged};
use super::{NARROW, SCALE, as_published as figure, cells};
use crate::claims::learnedkv::published::{DIRECT, SCANS, row_of};
use crate::claims::{Judgement, Verdict};
use crate::results::Cell;

/// The systems of a build without RocksDB.
const WITHOUT: bool = !cfg!(feature = "peers");

/// A figure as published: that of a baseline is 100, and that of the tier as many times as good.
pub fn as_published(cell: &Cell, metric: &str) -> f64 {
    let is_ours = cell.axis("system") == "tier-keys";
    match metric {
        "fallback_share" => 0.0,
        "p0_live_bytes" | "p3_live_bytes" => SCALE.amounts().compared as f64 * 1_024.0,
        "scan0_forced_memory" => 4e6,
        "p3_filter_wrong" => 4.0,
        "p1_above_negative" => 4.8,
        "p1_gets" => 100.0,
        "model_bytes" => 0.0096 * SCALE.amounts().compared as f64,
        _ if !is_ours => 100.0,
        "table_bytes" => 100.0 / 2.98,
        "p1_from_tier_mean" => 33.0,
        "p1_above_tier_mean" => 77.0,
        _ => 100.0 * gain(cell, metric),
    }
}

fn gain(cell: &Cell, metric: &str) -> f64 {
    let row = row_of(cell);
    match (cell.experiment.as_str(), metric) {
        ("L-F8", "p3_read_throughput") => 3.35,
        ("L-F8", "p3_update_throughput") => 1.30,
        ("L-F9", "p3_read_throughput") => 4.32,
        ("L-F9", "p3_update_throughput") => 1.41,
        ("L-F10", "scan0_scan_throughput") => SCANS[0],
        ("L-F10", "scan2_scan_throughput") => SCANS[1],
        // The larger ones, over Bourbon.
        ("L-F11", "ycsb_rate") => match cell.axis("workload") {
            "A" => 1.58,
            "B" => 1.89,
            _ => 1.34,
        },
        ("L-T5", "ycsb_rate") => DIRECT[1].1[0] / DIRECT[1].1[2],
        ("L-F13", "p3_read_throughput") => 1.096,
        ("L-F13", "p3_update_throughput") => 0.9435,
        ("L-F14", _) => 1.26,
        ("L-F15", _) => 1.43,
        (_, "p3_read_throughput") => row.map_or(1.0, |row| row.gain_of_reads()),
        (_, "p3_update_throughput") => row.map_or(1.0, |row| row.gain_of_writes()),
        _ => 1.0,
    }
}

fn with(id: &str, figure: impl Fn(&Cell, &str) -> f64) -> Judgement {
    judged(id, &cells(NARROW, figure))
}

/// The claims that are about RocksDB alone.
const OVER_ROCKSDB: [&str; 6] = ["C-L1", "C-L2", "C-L3", "C-L8", "C-L9", "C-L10"];

#[test]
fn published_figures_confirm_the_claims() {
    for id in OVER_ROCKSDB {
        let judgement = with(id, figure);
        match &judgement.verdict {
            Verdict::Undecided(why) if WITHOUT => {
                assert!(why.contains("RocksDB is not built in"), "{id}: {why}");
            }
            Verdict::HoldsInPart(parts) if id == "C-L9" => {
                assert!(!parts.contains("does not hold"), "{parts}");
            }
            verdict => assert_eq!(*verdict, Verdict::Holds, "{id}: {judgement:?}"),
        }
    }
    for id in ["C-L5", "C-L6", "C-L12"] {
        assert_eq!(with(id, figure).verdict, Verdict::Holds, "{id}");
    }
    // One figure of ours stands beside several systems, over which other gains were published.
    let others = with("C-L4", figure).verdict;
    let Verdict::HoldsInPart(parts) = &others else {
        panic!("{others:?}");
    };
    assert!(parts.contains("read-only over bourbon"), "{parts}");
}

#[test]
fn a_tier_that_is_no_better_refutes_the_claims() {
    let alike = |cell: &Cell, metric: &str| match (metric, cell.axis("system")) {
        ("fallback_share", _) => 0.0,
        // But for what waits longer and takes more.
        (_, "tier-keys") if metric.ends_with("_p999") => 200.0,
        ("model_bytes" | "scan0_forced_memory", "tier-keys") => 1e9,
        ("p1_above_negative", _) => 0.0,
        (metric, _) if metric.ends_with("_live_bytes") => figure(cell, metric),
        _ => 100.0,
    };
    for id in ["C-L4", "C-L6", "C-L12"] {
        check_refuted(id, &cells(NARROW, alike));
    }
    for id in OVER_ROCKSDB {
        let verdict = with(id, alike).verdict;
        match WITHOUT {
            true => assert!(
                matches!(verdict, Verdict::Undecided(_)),
                "{id}: {verdict:?}"
            ),
            false => assert_eq!(verdict, Verdict::DoesNotHold, "{id}"),
        }
    }
}

/// A store of few entries does not say what a conversion of many takes.
#[test]
fn few_entries_do_not_decide_on_memory() {
    let few = |cell: &Cell, metric: &str| match metric {
        "p0_live_bytes" | "p3_live_bytes" => 1e6,
        _ => figure(cell, metric),
    };
    let judgement = with("C-L12", few);
    let Verdict::HoldsInPart(parts) = &judgement.verdict else {
        panic!("{judgement:?}");
    };
    let undecided = "undecided: memory of a conversion, models";
    assert!(parts.contains(undecided), "{parts}");
    let said = judgement
        .ours
        .iter()
        .filter(|part| part.contains("a million entries are needed"));
    assert_eq!(said.count(), 2, "{judgement:?}");
}

/// What the machine did not permit is told, and not asked for again.
#[test]
fn refused_cells_say_why() {
    let mut made = cells(NARROW, figure);
    for cell in &mut made {
        if cell.experiment == "L-F11" && cell.axis("system") == "hashkv" {
            cell.figures.clear();
            for round in &mut cell.rounds {
                round.caches = "refused: no room".to_string();
            }
        }
    }
    let judgement = judged("C-L4", &made);
    let said = |part: &String| part.contains("over hashkv: undecided") && part.contains("no room");
    assert!(judgement.ours.iter().any(said), "{judgement:?}");
}
