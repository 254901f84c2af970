//! The benchmark of indexes on nearly sorted arrivals (BLISS): K % of entries are out of place, by
//! at most L %.

use super::compare::{ALL as EVERY, NEARLY_ALL, Told, less, near, short, vote};
use super::evidence::Missing;
use super::part::{Cause, Why};
use super::ratio::{Only, Ratio};
use super::{Claim, Evidence, Judge, Part};
use crate::contest::{Interval, Rounds};

/// The paper's claims.
pub const ALL: &[Claim] = &[
    Claim {
        id: "C-B1",
        paper: "BLISS",
        published: "LIPP is from 4.4x faster to 1.9x slower than ALEX, by sortedness; it fails \
                    on sequential inserts of fully sorted keys.",
        judge: Judge {
            rule: "Writes behind a bulk load: at some K and L LIPP takes less than half of ALEX's time, at others at least a tenth \
                   more; inserting sorted keys ends early.",
            experiments: &["B-F5"],
            parts: lipp_and_alex,
        },
    },
    Claim {
        id: "C-B2",
        paper: "BLISS",
        published: "Writes to RocksDB become up to 1.7x slower with displacement, 20 % from \
                    fully to barely not sorted; compactions grow up to 2.7x; trivial moves fall \
                    from 524 to 96 at K = L = 1 %.",
        judge: Judge {
            rule: "Writes at (100, 100) take 1.1 to 2.6 times, at (1, 1) 1.05 to 1.8 times as long as at (0, 0); moved tables at \
                   (1, 1) are 0.09 to 0.37 of those at (0, 0); for RocksDB, where it is measured, and for rhumb beside it.",
            experiments: &["B-F8"],
            parts: stores,
        },
    },
    Claim {
        id: "C-B3",
        paper: "BLISS",
        published: "Bulk load: ALEX loses up to 60 % at K, L >= 25 %; LIPP is at least 1.5x \
                    better at L <= 25 %.",
        judge: Judge {
            rule: "ALEX at (100, 100) takes 1.7 to 3.8 times as long as at (0, 0) (published 2.5); LIPP at (100, 100) takes at \
                   least 1.5 times as long as at (100, 10).",
            experiments: &["B-F5"],
            parts: |evidence| {
                BULK_LOADS
                    .iter()
                    .map(|ratio| ratio.part(evidence))
                    .collect()
            },
        },
    },
    Claim {
        id: "C-B4",
        paper: "BLISS",
        published: "Writes: ALEX is best at K, L < 10 % and worst at (100, 100); LIPP is up to \
                    8x better at K <= 10 %, L >= 25 %, and 2.5x ALEX at (100, 100).",
        judge: Judge {
            rule: "ALEX: (1, 1) takes less time than (100, 100), nearly all others less than (100, 100); LIPP at (10, 1) takes 4 to \
                   16 times as long as at (10, 100); ALEX at (100, 100) takes 1.7 to 3.8 times as long as LIPP.",
            experiments: &["B-F5"],
            parts: writes,
        },
    },
    Claim {
        id: "C-B5",
        paper: "BLISS",
        published: "Reads: ALEX stays within 10 % everywhere; LIPP is faster with larger L.",
        judge: Judge {
            rule: "ALEX: all K and L within 10 % of (0, 0); LIPP: (10, 100) takes less time than (10, 1).",
            experiments: &["B-F5"],
            parts: reads,
        },
    },
];

/// The cell of a kind at K and L, behind a bulk load.
macro_rules! cell {
    ($kind:literal, $k:literal, $l:literal) => {
        &[
            ("kind", $kind),
            ("preload", "bulk load"),
            ("k", $k),
            ("l", $l),
        ]
    };
}

const BULK_LOADS: [Ratio; 2] = [
    of_indexes(
        "ALEX loses by disorder",
        (cell!("alex", "100", "100"), cell!("alex", "0", "0")),
        "preload_time",
        (2.5, (1.7, 3.8)),
    ),
    of_indexes(
        "LIPP is better with small displacements",
        (cell!("lipp", "100", "100"), cell!("lipp", "100", "10")),
        "preload_time",
        (1.5, (1.5, f64::INFINITY)),
    ),
];

const WRITES: [Ratio; 2] = [
    of_indexes(
        "LIPP is better with large displacements",
        (cell!("lipp", "10", "1"), cell!("lipp", "10", "100")),
        "write_time",
        (8.0, (4.0, 16.0)),
    ),
    of_indexes(
        "LIPP above ALEX, scrambled",
        (cell!("alex", "100", "100"), cell!("lipp", "100", "100")),
        "write_time",
        (2.5, (1.7, 3.8)),
    ),
];

const fn of_indexes(
    what: &'static str,
    (of, over): (Only, Only),
    metric: &'static str,
    (published, band): (f64, (f64, f64)),
) -> Ratio {
    Ratio {
        what,
        experiment: "B-F5",
        of,
        over,
        metric,
        published,
        band,
        why: None,
    }
}

/// The time of a phase of an index behind a bulk load.
fn times(
    evidence: &Evidence<'_>,
    kind: &str,
    (k, l): (&str, &str),
    metric: &'static str,
) -> Result<Rounds, Missing> {
    let cells = evidence.cells("B-F5").only("kind", kind);
    let cell = cells.only("preload", "bulk load").only("k", k).only("l", l);
    cell.whole()?.rounds(metric)
}

/// All K and L but those of sorted arrivals.
fn disorders<'e>(evidence: &'e Evidence<'_>) -> Vec<(&'e str, &'e str)> {
    let cells = evidence.cells("B-F5");
    let (ks, ls) = (cells.each("k"), cells.each("l"));
    let pairs = ks.iter().flat_map(|k| ls.iter().map(move |l| (*k, *l)));
    pairs.filter(|(k, l)| *k != "0" && *l != "0").collect()
}

fn lipp_and_alex(evidence: &Evidence<'_>) -> Vec<Part> {
    let ratios = || -> Result<Vec<Interval>, Missing> {
        let ratio = |at| {
            let lipp = times(evidence, "lipp", at, "write_time")?;
            Ok(lipp
                .over(&times(evidence, "alex", at, "write_time")?)
                .ratio())
        };
        disorders(evidence).into_iter().map(ratio).collect()
    };
    let some = |what, told: fn(Interval) -> Told| {
        let judged = ratios().map(|ratios| {
            let all: Vec<Told> = ratios.iter().map(|ratio| told(*ratio)).collect();
            let is = |one| all.contains(&one);
            let told = match (is(Told::Yes), is(Told::Unclear)) {
                (true, _) => Told::Yes,
                (false, true) => Told::Unclear,
                (false, false) => Told::No,
            };
            let middles = ratios.iter().map(|ratio| ratio.middle);
            let (least, greatest) = middles
                .fold((f64::INFINITY, 0.0), |(least, greatest), ratio| {
                    (ratio.min(least), ratio.max(greatest))
                });
            let (least, greatest) = (short(least), short(greatest));
            (
                told,
                format!(
                    "LIPP takes {least} to {greatest} times ALEX's time; published 0.23 to 1.9"
                ),
            )
        });
        Part::judged(what, judged)
    };
    let sorted = times(evidence, "lipp", ("0", "0"), "write_time").map(|rounds| {
        let each = short(rounds.interval().middle);
        (
            Told::No,
            format!("each of them took {each} ns, and every key was found"),
        )
    });
    vec![
        some("much faster by sortedness", |ratio| {
            Told::at_most(ratio, 0.5)
        }),
        some("slower by sortedness", |ratio| Told::at_least(ratio, 1.1)),
        Part::judged("fails on sorted inserts", sorted).because((
            Cause::Design,
            "our LIPP bounds its depth: a subtree that conflicts have made too deep is rebuilt",
        )),
    ]
}

const PACKED: Why = (
    Cause::Design,
    "keys that arrive in order between a few early ones find no gaps in our leaves: at (1, 1) four fifths of the time \
     goes into moving entries and laying out leaves anew; scrambled keys fall where leaves have gaps",
);

fn writes(evidence: &Evidence<'_>) -> Vec<Part> {
    let alex = |at| times(evidence, "alex", at, "write_time");
    let scrambled = ("100", "100");
    let best = || -> Result<(Told, String), Missing> {
        let (ordered, scrambled) = (alex(("1", "1"))?, alex(scrambled)?);
        let ratio = short(scrambled.over(&ordered).ratio().middle);
        Ok((
            less(&ordered, &scrambled),
            format!("(100, 100) takes {ratio} times as long as (1, 1)"),
        ))
    };
    let worst = || -> Result<(Told, String), Missing> {
        let last = alex(scrambled)?;
        let others = disorders(evidence)
            .into_iter()
            .filter(|at| *at != scrambled);
        let told = others.map(|at| Ok(less(&alex(at)?, &last)));
        let (told, count) = vote(&told.collect::<Result<Vec<_>, Missing>>()?, NEARLY_ALL);
        Ok((told, format!("{count} take less time than (100, 100)")))
    };
    let mut parts = vec![
        Part::judged("ALEX best in order", best()).because(PACKED),
        Part::judged("ALEX worst when scrambled", worst()).because(PACKED),
    ];
    parts.extend(WRITES.iter().map(|ratio| ratio.part(evidence)));
    parts
}

fn reads(evidence: &Evidence<'_>) -> Vec<Part> {
    let alex = || -> Result<(Told, String), Missing> {
        let sorted = times(evidence, "alex", ("0", "0"), "read_time")?;
        let told = disorders(evidence).into_iter().map(|at| {
            let these = times(evidence, "alex", at, "read_time")?;
            Ok(near(&these, &sorted, 0.1))
        });
        let (told, count) = vote(&told.collect::<Result<Vec<_>, Missing>>()?, EVERY);
        Ok((told, format!("{count} within 10 % of sorted arrivals")))
    };
    let lipp = || -> Result<(Told, String), Missing> {
        let near = times(evidence, "lipp", ("10", "1"), "read_time")?;
        let far = times(evidence, "lipp", ("10", "100"), "read_time")?;
        let ratio = short(near.over(&far).ratio().middle);
        Ok((
            less(&far, &near),
            format!("(10, 1) takes {ratio} times as long as (10, 100)"),
        ))
    };
    vec![
        Part::judged("ALEX steady", alex()).because((
            Cause::Design,
            "reads follow the depth of our ALEX: 2 nodes at (0, 0) and (100, 100), and up to 3.8 on average at (1, 1), \
             where leaves are split in few places",
        )),
        Part::judged("LIPP faster with displacement", lipp()),
    ]
}

fn stores(evidence: &Evidence<'_>) -> Vec<Part> {
    let has_rocksdb = evidence
        .cells("B-F8")
        .only("system", "rocksdb")
        .is_declared();
    let part = |ratio: &Ratio| match has_rocksdb || ratio.what.ends_with("(rhumb)") {
        true => ratio.part(evidence),
        false => Part::not_measured(
            ratio.what,
            "RocksDB is not built in: build with --features peers",
        ),
    };
    STORES.iter().map(part).collect()
}

/// The cell of a store at K and L.
macro_rules! store {
    ($system:literal, $k:literal, $l:literal) => {
        &[("system", $system), ("k", $k), ("l", $l)]
    };
}

/// Ratios of a store to its sorted arrivals.
macro_rules! of_store {
    ($system:literal, $what:literal, ($k:literal, $l:literal), $metric:literal, $published:literal, $band:expr) => {
        Ratio {
            what: concat!($what, " (", $system, ")"),
            experiment: "B-F8",
            of: store!($system, $k, $l),
            over: store!($system, "0", "0"),
            metric: $metric,
            published: $published,
            band: $band,
            why: None,
        }
    };
}

const SLOWER: (f64, f64) = (1.1, 2.6);
const BARELY: (f64, f64) = (1.05, 1.8);
const MOVES: (f64, f64) = (0.09, 0.37);

const KEPT_BACK: Why = (
    Cause::Design,
    "our flushes keep back what came before its turn, so tables of nearly sorted entries overlap no others",
);

const STORES: [Ratio; 6] = [
    of_store!(
        "rocksdb",
        "slower when scrambled",
        ("100", "100"),
        "write_time",
        1.7,
        SLOWER
    ),
    of_store!(
        "rocksdb",
        "slower when barely unsorted",
        ("1", "1"),
        "write_time",
        1.2,
        BARELY
    ),
    of_store!(
        "rocksdb",
        "moves fall",
        ("1", "1"),
        "trivial_moves",
        0.18,
        MOVES
    ),
    of_store!(
        "rhumb",
        "slower when scrambled",
        ("100", "100"),
        "write_time",
        1.7,
        SLOWER
    ),
    Ratio {
        why: Some(KEPT_BACK),
        ..of_store!(
            "rhumb",
            "slower when barely unsorted",
            ("1", "1"),
            "write_time",
            1.2,
            BARELY
        )
    },
    Ratio {
        why: Some(KEPT_BACK),
        ..of_store!(
            "rhumb",
            "moves fall",
            ("1", "1"),
            "trivial_moves",
            0.18,
            MOVES
        )
    },
];
