//! Verdicts on the claims of DobLIX.

use super::edbt::{check_refuted, judged};
use super::{NARROW, SCALE, as_published as figure, cells};
use crate::claims::doblix::published::{REQUESTS, SETS, TWO_SETS};
use crate::claims::{Judgement, Verdict};
use crate::experiment;
use crate::results::Cell;

/// A figure as published: that of DobLIX is 1,000, and those of others as many times as bad.
pub fn as_published(cell: &Cell, metric: &str) -> f64 {
    const OURS: f64 = 1_000.0;
    if cell.experiment == "D-F15" {
        return of_tuning(cell, metric);
    }
    let place = match cell.axis("system") {
        "tridentkv" => 0,
        "bourbon" | "bourbon-log" => 1,
        "rocksdb-like" | "rocksdb" => 2,
        _ => 3,
    };
    let gain = gains(cell, metric).get(place).copied().unwrap_or(1.0);
    match metric {
        "fallback_share" => 0.0,
        "training_share" => 0.085,
        "training_time" => 1.0,
        "merges" => 10.0,
        // A hundredth are false positives, a tenth of which take two blocks.
        "mix_gets" => 1_000.0,
        "mix_get_probes" => 1_010.0,
        "mix_get_blocks" => 1_011.0,
        "mix_rate" => OURS / gain,
        _ => OURS * gain,
    }
}

/// A figure of the experiment on tuning: the published settings are the best ones.
fn of_tuning(cell: &Cell, metric: &str) -> f64 {
    let best = match (cell.axis("requests"), metric) {
        (_, "last_finding") => "pla-256/32K",
        ("points", _) => "pla-128/4K",
        _ => "pra/16K",
    };
    let is_best = cell.axis("system") == best;
    match metric {
        "fallback_share" => 0.0,
        "last_finding" if is_best => 0.5,
        "last_finding" => 1.0,
        "first_rate" => 45_000.0,
        "last_rate" if cell.axis("system").contains("nu=") => 93_000.0,
        _ if is_best => 93_000.0,
        _ => 80_000.0,
    }
}

/// The gains over TridentKV, Bourbon and RocksDB.
fn gains(cell: &Cell, metric: &str) -> [f64; 3] {
    let axis = |name| cell.axis(name);
    match (cell.experiment.as_str(), metric) {
        ("D-F9", "mix_rate") => match axis("mix") {
            "90/10" => [1.27, 1.36, 1.22],
            "50/50" => [1.29, 1.27, 1.31],
            "0/100" => [1.16, 1.14, 1.04],
            _ => [1.41, 1.57, 1.92],
        },
        ("D-F9", "mix_slowest_5_mean") => match axis("mix") {
            // In one mix of those with writes.
            "0/100" => [2.67, 1.0, 1.0],
            "90/10" | "50/50" => [1.0; 3],
            _ => [1.85, 1.89, 2.13],
        },
        ("D-F11", "part_all") => [1.0 / 0.77, 1.0 / 0.73, 1.0 / 0.44],
        ("D-F11", "part_predict") => [1.0, 1.0, 1.0 / 0.78],
        // Over one system of two.
        ("D-F11", "part_read") => [1.0, 1.0 / 0.878, 1.0],
        ("D-F11", "part_search") => [1.0 / 0.889, 1.0 / 0.889, 1.0],
        ("D-F12", "mix_rate") => match axis("workload") {
            "B" | "C" | "D" => [1.32, 1.42, 2.02],
            "A" | "F" => [1.56; 3],
            "E" => [1.092, 1.167, 1.428],
            _ => [1.394, 1.521, 1.789],
        },
        ("D-F13", "mix_rate") => match (axis("part"), axis("size")) {
            ("keys", size) if size != "8" => [2.0, 1.0, 1.0],
            ("values", "4096") => [1.0, 0.8, 1.0],
            (_, "udb") => [1.0, 1.0, 1.32],
            (_, "zippydb") => [1.0, 1.0, 1.38],
            (_, "up2x") => [1.0, 1.0, 1.62],
            _ => [1.0; 3],
        },
        ("D-F14", "finding_bytes_a_table") => [1.0, 1.0, 1.0 / 0.741],
        ("D-F14", "compaction_time") => [1.0 / 0.753, 1.0, 1.0 / 0.941],
        _ => [1.0; 3],
    }
}

/// A rule passes over values of an axis that a scale does not have, so that a wrong name would not be noticed.
#[test]
fn rules_name_cells_that_are_declared() {
    for (id, axis, values) in [
        ("D-F9", "set", &SETS[..]),
        ("D-F9", "mix", &["100/0", "90/10", "50/50", "0/100"]),
        ("D-F11", "set", &TWO_SETS),
        ("D-F12", "workload", &["A", "B", "C", "D", "E", "F"]),
        ("D-F12", "workload", &REQUESTS),
        (
            "D-F13",
            "size",
            &["udb", "zippydb", "up2x", "8", "128", "4096"],
        ),
        ("D-F13", "part", &["keys", "values", "applications"]),
        ("D-F13", "prefixes", &["one prefix", "1,000 prefixes"]),
        (
            "D-F13",
            "system",
            &["tridentkv", "rocksdb-like", "bourbon-log"],
        ),
        ("D-F14", "set", &TWO_SETS),
        ("D-F14", "key", &["64 B"]),
        ("D-F15", "requests", &["points", "ranges"]),
        ("D-F15", "cache", &["none"]),
        (
            "D-F15",
            "system",
            &[
                "predicted",
                "cost:nu=1",
                "pla-128/4K",
                "pra/16K",
                "pla-256/32K",
            ],
        ),
    ] {
        let cells = (experiment::find(id).unwrap().cells)(&SCALE.amounts()).unwrap();
        for value in values {
            let has = (axis, value.to_string());
            let declared = cells.iter().any(|cell| cell.axes.contains(&has));
            assert!(declared, "{id} {axis}={value}");
        }
    }
}

fn with(id: &str, figure: impl Fn(&Cell, &str) -> f64) -> Judgement {
    judged(id, &cells(NARROW, figure))
}

/// Claims of which all is judged by how much better ours is.
const WHOLE: [&str; 8] = [
    "C-D1", "C-D2", "C-D3", "C-D4", "C-D6", "C-D8", "C-D9", "C-D10",
];
/// That of which a part is about what gets do not do here.
const IN_PART: &str = "C-D7";

#[test]
fn published_figures_confirm_the_claims() {
    for id in WHOLE.iter().chain(&["C-D11"]) {
        let judgement = with(id, figure);
        assert_eq!(judgement.verdict, Verdict::Holds, "{id}: {judgement:?}");
    }
    let judgement = with(IN_PART, figure);
    let Verdict::HoldsInPart(parts) = &judgement.verdict else {
        panic!("{judgement:?}");
    };
    let decided = !parts.contains("does not hold") && !parts.contains("undecided");
    assert!(decided && parts.contains("; not measured: "), "{parts}");
    assert!(parts.contains("tridentkv"), "{parts}");
}

#[test]
fn blocks_that_are_no_better_refute_the_claims() {
    let alike = |cell: &Cell, metric: &str| match (metric, cell.axis("system")) {
        ("fallback_share", _) => 0.0,
        ("training_share", _) => 0.2,
        ("training_time" | "merges", _) => 10.0,
        ("mix_get_probes", _) => 1_010.0,
        // As under windows of ranks.
        ("mix_get_blocks", _) => 1_140.0,
        _ => 1_000.0,
    };
    for id in WHOLE.iter().chain(&[IN_PART]) {
        check_refuted(id, &cells(NARROW, alike));
    }
}

/// On average means the geometric mean over the sets: one that is much better makes up for another.
#[test]
fn an_average_is_over_all_sets() {
    let uneven = |cell: &Cell, metric: &str| {
        let value = figure(cell, metric);
        match (metric, cell.axis("system"), cell.axis("set")) {
            ("mix_rate", "doblix", "uni") => value / 1.5,
            ("mix_rate", "doblix", "wiki-like") => value * 1.5,
            _ => value,
        }
    };
    assert_eq!(with("C-D1", uneven).verdict, Verdict::Holds);
}

/// Of equal settings none is the best; one that another one surely beats is not. Our tuner is told of beside the verdict.
#[test]
fn settings_are_told_apart_or_equal() {
    let equal = |cell: &Cell, metric: &str| match metric {
        "last_rate" if cell.axis("system") == "pra/4K" => 1.2 * 80_000.0,
        "last_rate" => 80_000.0,
        _ => figure(cell, metric),
    };
    let judgement = with("C-D11", equal);
    let Verdict::HoldsInPart(parts) = &judgement.verdict else {
        panic!("{judgement:?}");
    };
    assert!(
        parts.contains("does not hold: points: PLA 128, 4 KiB"),
        "{parts}"
    );
    let points = &judgement.ours[0];
    assert!(points.contains("surely better: pra/4K;"), "{points}");
    let all_equal = |cell: &Cell, metric: &str| match metric {
        "last_rate" => 80_000.0,
        _ => figure(cell, metric),
    };
    let judgement = with("C-D11", all_equal);
    let Verdict::HoldsInPart(parts) = &judgement.verdict else {
        panic!("{judgement:?}");
    };
    assert!(
        parts.contains("undecided: points: PLA 128, 4 KiB, ranges: PRA, 16 KiB"),
        "{parts}"
    );
    let notes = &judgement.notes;
    assert!(
        notes.len() == 2 && notes[0].contains("wanted 0.95: reached"),
        "{notes:?}"
    );
}

#[test]
fn the_agent_is_judged_by_how_much_throughput_rises() {
    assert_eq!(with("C-D5", figure).verdict, Verdict::Holds);
}

/// What tables without a model take is not told of TridentKV, and neither are keys that take as much from fence pointers.
#[test]
fn tridentkv_is_judged_by_its_models_and_beside_fence_pointers() {
    let fallen = |cell: &Cell, metric: &str| match (metric, cell.axis("system")) {
        ("fallback_share", "tridentkv") => 0.1,
        _ => figure(cell, metric),
    };
    for id in ["C-D9", "C-D10"] {
        let verdict = format!("{:?}", with(id, fallen).verdict);
        let undecided = verdict.to_lowercase().contains("undecided");
        assert!(undecided && verdict.contains("tridentkv"), "{verdict}");
    }
    let all_drop = |cell: &Cell, metric: &str| match (metric, cell.axis("size")) {
        ("mix_rate", "8") => 1_000.0,
        ("mix_rate", _) if cell.experiment == "D-F13" => 500.0,
        _ => figure(cell, metric),
    };
    assert_eq!(with("C-D9", all_drop).verdict, Verdict::DoesNotHold);
}
