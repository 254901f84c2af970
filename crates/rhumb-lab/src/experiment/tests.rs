//! Small runs of experiments from end to end.

mod planning;

use std::collections::HashSet;
use std::path::Path;

use super::*;
use crate::progress::Progress;
use crate::report::model::Panel;
use crate::results::{Cell, ResultsFile, Run};

const TINY: Amounts = Amounts {
    long: 1_500,
    short: 8_000,
    updated: 600,
    swept: 300,
    compared: 300,
    slowed: 60,
    small: 1_000,
    arrivals: 2_000,
    disorders: &[10.0, 100.0],
    gets: 150,
    device_gets: 100,
    ranges: 20,
    operations: 100,
    rounds: 2,
    cache_bytes: 256 << 10,
    buffer_bytes: 512 << 10,
    base_bytes: 512 << 10,
    table_bytes: 512 << 10,
    table_sizes: [64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20],
    boundaries: &[128, 16],
    uncached: Uncached {
        records: 3_000,
        operations: 200,
        table_bytes: 32 << 10,
        base_bytes: 128 << 10,
        rounds: 2,
    },
    episodes: Episodes {
        count: 4,
        operations: 400,
        table_bytes: 32 << 10,
    },
};

/// An experiment that no paper has.
const fn experiment(id: &'static str, cells: fn(&Amounts) -> Result<Vec<Planned>>) -> Experiment {
    Experiment {
        id,
        paper: "",
        title: "",
        shows: "",
        method: "",
        cells,
        views: &[],
    }
}

fn order(experiments: Vec<&'static Experiment>) -> Order {
    Order {
        experiments,
        scale: Scale::Quick,
        amounts: TINY,
        seed: 42,
        again: false,
        shard: (1, 1),
        only: Vec::new(),
    }
}

fn rhumb(amounts: &Amounts, index: IndexSpec, table: TableSpec) -> System {
    System::Rhumb(Settings {
        index,
        table,
        ..amounts.settings()
    })
}

fn some(ids: &[&str]) -> Order {
    order(ids.iter().map(|id| find(id).unwrap()).collect())
}

/// Runs an order with a file, which is created if it does not exist.
fn measure(order: &Order, path: &Path) -> Result<Summary> {
    let mut file = ResultsFile::create(path)?;
    let number = file.begin(&Run {
        settings: "test".to_string(),
        seed: 42,
        load: None,
    })?;
    let directory = tempfile::tempdir().unwrap();
    run(order, directory.path(), &Progress::new(), &mut file, number)
}

fn cells(path: &Path) -> Vec<Cell> {
    ResultsFile::open(path).unwrap().cells().unwrap()
}

fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    (directory, path)
}

/// Measures one experiment with each kind of work; then no cell is left, and every figure can be
/// drawn.
#[test]
fn cells_are_measured_once_and_drawn() {
    let (_directory, path) = file();
    let ids = [
        "E-ENV", "E-PAR", "E-T1", "E-F6", "E-F8", "E-F12", "E-F14", "E-F16", "E-F17", "L-ENV",
        "L-F3", "L-F8", "L-F9", "L-T2", "L-T3", "L-T4", "L-T7", "L-F10", "L-F11", "L-T5", "L-T6",
        "B-F4", "B-F5", "B-F8", "D-ENV", "D-F1", "D-F9", "D-F11", "D-F12", "D-F13", "D-F14",
        "D-F15", "D-ABL", "D-SATA",
    ];
    let order = some(&ids);
    let first = measure(&order, &path).unwrap();
    let planned = |id: &str| (find(id).unwrap().cells)(&TINY).unwrap().len();
    let rounds: usize = ids.iter().map(|id| rounds_of(id)).sum();
    let all: usize = ids.iter().map(|id| planned(id)).sum();
    assert_eq!(
        (first.measured, first.finished, first.refused),
        (rounds, 0, 0)
    );
    let second = measure(&order, &path).unwrap();
    assert_eq!((second.measured, second.finished), (0, rounds));
    let again = Order {
        again: true,
        ..some(&["E-T1"])
    };
    assert_eq!(measure(&again, &path).unwrap().measured, planned("E-T1"));

    let kept = cells(&path);
    assert_eq!(kept.len(), all);
    for cell in kept.iter().filter(|cell| cell.axis("arm") == "exact") {
        let about = format!("{} {:?}", cell.experiment, cell.axes);
        assert_eq!(cell.value("fallback_share"), Some(0.0), "{about}");
        if cell.value("get_mean").is_some() {
            // The entry, and sometimes another entry with the same number.
            let ranks = cell.value("get_window_ranks").expect(&about);
            assert!((0.99..1.01).contains(&ranks), "{about}: {ranks} ranks");
        }
    }
    let loading = kept
        .iter()
        .filter(|cell| cell.value("training_share").is_some());
    let merged = loading.filter(|cell| ["E-F14", "E-F17"].contains(&cell.experiment.as_str()));
    let merges: Vec<_> = merged.map(|cell| cell.value("merges")).collect();
    assert_eq!(merges.len(), planned("E-F14") + planned("E-F17"));
    assert!(
        merges.iter().all(|merges| *merges >= Some(1.0)),
        "{merges:?}"
    );
    // All kinds have one layout: an entry of 8 + 8 bytes takes 20, and a share of what a table has once.
    // The bytes of index and filter in memory, which are subtracted, are a few more than in the file.
    let small = merged_small(&kept);
    assert_eq!(small.len(), arms::kinds().count());
    assert!(
        small.iter().all(|bytes| (19.8..21.0).contains(bytes)),
        "{small:?}"
    );
    let papers = papers(&kept, Scale::Quick);
    for figure in papers.iter().flat_map(|paper| &paper.figures) {
        let views = find(&figure.id).unwrap().views.len();
        let drawn = if ids.contains(&&*figure.id) { views } else { 0 };
        // Some views need RocksDB, and agents are replayed over forms that were measured, for which these tables are too small.
        let without = match (figure.id.as_str(), cfg!(feature = "peers")) {
            ("D-ABL" | "D-F15", _) => 3,
            ("B-F8", false) => 3,
            ("L-F10", false) => 3,
            ("L-F8" | "L-F9" | "L-T2" | "L-T3" | "L-T4" | "L-T7", false) => 2,
            _ => 0,
        };
        assert_eq!(figure.panels.len(), drawn - without, "{}", figure.id);
        let charts = figure.panels.iter().flat_map(|panel| match panel {
            Panel::Chart(chart) => std::slice::from_ref(chart),
            Panel::Multiples(multiples) => &multiples.charts,
            Panel::Heatmap(_) | Panel::Table(_) => &[],
        });
        let series: Vec<_> = charts.flat_map(|chart| &chart.series).collect();
        assert!(series.iter().all(|series| !series.points.is_empty()));
        let published = series.iter().any(|series| series.published.is_some());
        let states_numbers = ["E-F8", "E-F12", "E-F17", "L-F3"].contains(&&*figure.id)
            || cfg!(feature = "peers") && BESIDE_ROCKSDB.contains(&&*figure.id);
        assert_eq!(published, states_numbers, "{}", figure.id);
    }
    let same = chosen(None, None, kept);
    assert_eq!((same.scale, same.cells.len()), (Scale::Quick, all));
    assert!(
        chosen(Some(Scale::Paper), None, same.cells)
            .cells
            .is_empty()
    );
}

/// The experiments that state published ratios over RocksDB+.
const BESIDE_ROCKSDB: [&str; 5] = ["L-F9", "L-T2", "L-T3", "L-T4", "L-T7"];

/// The bytes of an entry in the tables of each kind in E-F12 (D).
fn merged_small(kept: &[Cell]) -> Vec<f64> {
    let small = kept.iter();
    let small = small.filter(|cell| cell.experiment == "E-F12" && cell.axis("set") == "fb");
    small.filter_map(|cell| cell.value("entry_bytes")).collect()
}

/// The number of rounds of all cells of an experiment: cells over stores have several.
fn rounds_of(id: &str) -> usize {
    let cells = (find(id).unwrap().cells)(&TINY).unwrap();
    let rounds = cells.iter().map(|cell| match cell.build {
        Some(_) => TINY.rounds as usize,
        None => 1,
    });
    rounds.sum()
}

/// Each round of a cell is built from other data, and stands in the file with its circumstances; a
/// round that is missing is measured alone.
#[test]
fn rounds_are_kept_with_their_circumstances() {
    let (_directory, path) = file();
    let mut order = some(&["E-PAR"]);
    measure(&order, &path).unwrap();
    let kept = cells(&path);
    assert!(!kept.is_empty());
    for cell in &kept {
        let numbers: Vec<u32> = cell.rounds.iter().map(|round| round.number).collect();
        assert_eq!(numbers, [1, 2]);
        let [first, second] = [&cell.rounds[0], &cell.rounds[1]];
        assert_eq!((first.seed, cell.seed), (42, 42));
        assert!(second.seed != 42 && first.time < second.time);
        assert!(first.caches == "warm" && first.run == second.run);
        let rounds: Vec<u32> = cell.figures["get_mean"]
            .values
            .iter()
            .map(|(r, _)| *r)
            .collect();
        assert_eq!(rounds, [1, 2]);
    }
    order.amounts.rounds = 3;
    let more = measure(&order, &path).unwrap();
    assert_eq!((more.measured, more.finished), (kept.len(), 2 * kept.len()));
    // All stores of a round take turns, in an order of its own.
    let contests = order.contests().unwrap();
    let [first, second] = [0, 1].map(|at| {
        let builds = contests[at].stores.iter();
        builds
            .map(|group| format!("{:?}", group.build))
            .collect::<Vec<_>>()
    });
    assert_ne!(first, second);
    assert_eq!(
        first.iter().collect::<HashSet<_>>(),
        second.iter().collect()
    );
}

/// Cells that differ in the cache alone have one store, which each of them reads as its own settings say.
#[test]
fn stores_that_differ_in_the_cache_are_one() {
    const PHASES: &[Phase] = &[Phase {
        is_warm: true,
        ..Phase::new("mix", "read-only")
    }];
    static CACHES: Experiment = experiment("caches", |amounts| {
        let cell = |text: &str| {
            Ok(Planned {
                axes: vec![("system", text.to_string())],
                data: Data::new("ycsb-uniform", amounts.long),
                build: Some(Build {
                    system: amounts.system(text)?,
                    fill: Fill::All,
                }),
                work: Work::Phases(PHASES),
            })
        };
        let systems = [
            "rhumb cache=0",
            "rhumb cache=1GiB",
            "rhumb cache=0 direct=true",
            "rhumb ratio=4 cache=0",
        ];
        systems.into_iter().map(cell).collect()
    });
    let (_directory, path) = file();
    let order = order(vec![&CACHES]);
    let stores = &order.contests().unwrap()[0].stores;
    let mut cells: Vec<usize> = stores.iter().map(|store| store.cells.len()).collect();
    cells.sort();
    assert_eq!(cells, [1, 3], "other levels are another store");
    measure(&order, &path).unwrap();
    for cell in self::cells(&path) {
        let read = cell.value("mix_get_blocks_read").unwrap_or(0.0);
        let is_cached = cell.axis("system").contains("1GiB");
        assert_eq!(read == 0.0, is_cached, "{}: {read}", cell.axis("system"));
    }
}

#[test]
fn cells_of_other_scales_and_seeds_do_not_hide_any() {
    let (_directory, path) = file();
    measure(&some(&["E-T1"]), &path).unwrap();
    let other = Order {
        seed: 7,
        ..some(&["E-ENV"])
    };
    measure(&other, &path).unwrap();
    let larger = Order {
        scale: Scale::Small,
        ..some(&["E-ENV"])
    };
    measure(&larger, &path).unwrap();
    let most = chosen(None, None, cells(&path));
    let planned = (find("E-T1").unwrap().cells)(&TINY).unwrap().len();
    assert_eq!(
        (most.scale, most.seed, most.cells.len()),
        (Scale::Quick, 42, planned)
    );
    let text = most.text();
    assert!(text.contains("1 cells of scale small, seed 42"), "{text}");
    assert!(text.contains("1 cells of scale quick, seed 7"), "{text}");
    let asked = chosen(None, Some(7), cells(&path));
    assert_eq!(
        (asked.scale, asked.seed, asked.cells.len()),
        (Scale::Quick, 7, 1)
    );
    let asked = chosen(Some(Scale::Small), None, cells(&path));
    assert_eq!((asked.seed, asked.cells.len()), (42, 1));
}

/// The bytes that a get reads fall with the position boundary as the window does, for entries of 16
/// bytes and of 1 KB: exactly the window is read.
#[test]
fn exact_windows_are_what_is_read() {
    const KINDS: [&str; 4] = ["fp-raw", "fp", "plr", "pgm"];
    const EXACT: Experiment = Experiment {
        id: "exact",
        paper: "",
        title: "",
        shows: "",
        method: "",
        cells: |amounts| {
            let mut cells = Vec::new();
            for set in ["ycsb-uniform", "osm-like"] {
                for kind in KINDS {
                    for boundary in [128u32, 32, 8] {
                        let (index, table) = arms::Arm::Window.specs(kind, boundary, 1 << 30)?;
                        cells.push(Planned {
                            axes: vec![
                                ("set", set.to_string()),
                                ("kind", kind.to_string()),
                                ("boundary", boundary.to_string()),
                            ],
                            data: Data::new(set, amounts.long),
                            build: Some(Build {
                                system: rhumb(amounts, index, table),
                                fill: Fill::All,
                            }),
                            work: Work::Points(Reading::Cached),
                        });
                    }
                }
            }
            Ok(cells)
        },
        views: &[],
    };
    static EXACT_HERE: Experiment = EXACT;
    let (_directory, path) = file();
    let mut order = order(vec![&EXACT_HERE]);
    // No block stays in the cache.
    order.amounts.cache_bytes = 0;
    measure(&order, &path).unwrap();
    let kept = cells(&path);
    for (set, entry) in [("ycsb-uniform", 1_024.0), ("osm-like", 16.0)] {
        for kind in KINDS {
            let of = |boundary: &str, metric: &str| -> f64 {
                let axes = [("set", set), ("kind", kind), ("boundary", boundary)];
                let fits =
                    |cell: &&Cell| axes.iter().all(|(axis, value)| cell.axis(axis) == *value);
                kept.iter().find(fits).unwrap().value(metric).unwrap()
            };
            let mut last = f64::MAX;
            for boundary in ["128", "32", "8"] {
                let (bytes, ranks) = (
                    of(boundary, "get_bytes_read"),
                    of(boundary, "get_window_ranks"),
                );
                let about = format!("{set} {kind} {boundary}: {bytes} bytes, {ranks} ranks");
                // A unit has the entry, its checksum, and its sequence where that is not 0 yet.
                let each = bytes / ranks;
                assert!((entry + 4.0..entry + 8.0).contains(&each), "{about}");
                let most: f64 = boundary.parse().unwrap();
                assert!(ranks <= 1.02 * most && bytes < last, "{about}");
                if FENCES.contains(&kind) {
                    // Only the last window of a table may have fewer entries.
                    assert!(ranks > 0.9 * most, "{about}");
                }
                assert!(
                    (0.98..1.02).contains(&(of(boundary, "get_blocks_read") / ranks)),
                    "{about}"
                );
                last = bytes;
            }
        }
    }
}

#[test]
fn shards_have_all_cells_once_and_merge() {
    let (_first, path) = file();
    let (_second, other) = file();
    let part = |this: usize| Order {
        shard: (this, 2),
        ..some(&["E-PAR", "E-T1"])
    };
    let [one, two] =
        [(1, &path), (2, &other)].map(|(this, path)| measure(&part(this), path).unwrap());
    assert_eq!((one.measured, one.elsewhere), (two.elsewhere, two.measured));
    assert!(one.measured > 0 && two.measured > 0);
    ResultsFile::create(&path).unwrap().merge(&other).unwrap();
    let whole = measure(&some(&["E-PAR", "E-T1"]), &path).unwrap();
    assert_eq!(whole.measured, 0, "the cells of both shards are present");
}

/// An experiment is data: two systems as text, a set with other values and keys held out, and phases with
/// absent keys, several clients and a rate. Each phase has its counters and the bytes of its files.
#[test]
fn an_experiment_of_systems_and_phases_is_data_alone() {
    const PHASES: &[Phase] = &[
        Phase::new("absent", "absent"),
        Phase {
            count: Count::OfScale(3.0),
            clients: 2,
            ..Phase::new("put", "write-only")
        },
        Phase {
            rate: Some(50_000.0),
            ..Phase::new("scan", "scan,length=1-9")
        },
    ];
    static SYSTEMS: Experiment = experiment("systems", |amounts| {
        let systems = [
            "rhumb index=fp partition=entries(8)",
            "rhumb ratio=4 cache=1MiB",
        ];
        let cell = |text: &str| {
            Ok(Planned {
                axes: vec![("system", text.to_string())],
                data: Data {
                    values: Some(Sizes::Fixed(300)),
                    hold_outs: 0.1,
                    ..Data::new("ycsb-uniform", amounts.long)
                },
                build: Some(Build {
                    system: amounts.system(text)?,
                    fill: Fill::Tenths(9),
                }),
                work: Work::Phases(PHASES),
            })
        };
        systems.into_iter().map(cell).collect()
    });
    let (_directory, path) = file();
    let order = order(vec![&SYSTEMS]);
    let contests = order.contests().unwrap();
    let loads = contests[0].stores.iter().map(plan::Group::shared);
    let loads: Vec<Option<Build>> = loads.collect();
    assert_ne!(
        loads[0], loads[1],
        "the ratio of levels is no setting of an index"
    );
    measure(&order, &path).unwrap();
    let kept = cells(&path);
    assert_eq!(kept.len(), 2);
    for cell in &kept {
        let value = |metric: &str| cell.value(metric);
        assert_eq!(
            value("absent_gets"),
            Some((TINY.operations + TINY.operations / 10) as f64)
        );
        assert!(value("put_rate") > Some(0.0) && value("put_log_bytes") > Some(300.0 * 300.0));
        assert!(value("scan_disk_bytes") > Some(1_000.0 * 300.0));
        let [all, fast, slow] = ["mean", "mean_below_p99", "slowest_5_mean"]
            .map(|figure| value(&format!("put_{figure}")).unwrap());
        assert!(
            fast <= all * 1.001 && slow >= all * 0.999,
            "{fast} {all} {slow}"
        );
        // Gets flush nothing, and counters of 0 are left out.
        assert_eq!(value("absent_flushes"), None);
    }
}

/// An interrupted run leaves the cells that it finished.
#[test]
fn finished_cells_are_kept_when_a_later_one_fails() {
    static BROKEN: Experiment = experiment("broken", |_| {
        let sets = ["dense", "sosd:/no/such/file"];
        let cells = sets.map(|set| Planned {
            axes: vec![("set", set.to_string())],
            data: Data::new(set, 100),
            build: None,
            work: Work::Keys,
        });
        Ok(cells.to_vec())
    });
    let (_directory, path) = file();
    let error = measure(&order(vec![&BROKEN]), &path)
        .unwrap_err()
        .to_string();
    assert!(error.contains("/no/such/file"), "{error}");
    let kept = cells(&path);
    assert_eq!((kept.len(), kept[0].axis("set")), (1, "dense"));
}

/// The same store, contested with itself in 100 small trials: at most five may find a difference.
/// Run it alone: `cargo test --release -p rhumb-lab -- --ignored --nocapture differ_from_itself`.
#[test]
#[ignore = "a minute or two; measures times, so run it alone on the machine"]
fn a_store_does_not_differ_from_itself() {
    const TRIALS: u64 = 100;
    const ROUNDS: u64 = 5;
    let seed = std::env::var("RHUMB_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed: u64 = seed.unwrap_or(42);
    let directory = tempfile::tempdir().unwrap();
    let (index, table) = arms::Arm::Window
        .specs("pgm", 16, TINY.table_bytes)
        .unwrap();
    let build = Build {
        system: rhumb(&TINY, index, table),
        fill: Fill::All,
    };
    let data = Data::new("ycsb-uniform", TINY.long);
    let progress = Progress::new();
    let get = |records: &study::Records, seed| {
        let setting = study::Setting {
            amounts: &TINY,
            seed,
            directory: directory.path().to_path_buf(),
            progress: &progress,
        };
        let study = study::Study::load(&setting, records, &build).unwrap();
        let measured = work::over_store(Work::Points(Reading::Cached), &study)
            .unwrap()
            .unwrap();
        study.remove().unwrap();
        measured.figure("get_mean").unwrap().values[0]
    };
    let (mut decided, mut widths) = (0, Vec::new());
    for trial in 0..TRIALS {
        let mut pairs = Vec::new();
        for round in 0..ROUNDS {
            let seed = seed ^ (trial * ROUNDS + round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let records = study::Records::of(&data, seed).unwrap();
            let turns = [get(&records, seed), get(&records, seed)];
            // Which of both is called the first is drawn, as the order in a contest is.
            let first = crate::data::Random::new(seed, 0xaa).below(2) as usize;
            pairs.push(((1, round as u32), turns[first] / turns[1 - first]));
        }
        let interval = crate::contest::Rounds::new(pairs).ratio();
        decided += usize::from(interval.least > 1.0 || interval.greatest < 1.0);
        widths.push(interval.greatest / interval.least);
    }
    let width = crate::measure::Spread::of(&widths);
    println!(
        "{decided} of {TRIALS} decided, seed {seed}; the upper limit over the lower: {:.3}, {:.3} to {:.3}",
        width.median, width.min, width.max
    );
    assert!(
        decided <= 5,
        "{decided} of {TRIALS} trials found a difference, seed {seed}"
    );
}
