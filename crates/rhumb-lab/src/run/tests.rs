//! Tests of the checks of every run, and small runs of all experiments from end to end.

use rhumb_index::registry::{self, Answers};

use super::phases::Loaded;
use super::*;
use crate::data::{Input, Pairs, Sizes, uniform};
use crate::results::Subject;
use crate::store::Store;
use crate::store::model::{Lie, Model};
use crate::workload::mix::YCSB;

/// The reading steps, of five, that report an error for a store with this sort of wrong answer.
fn complaints(lie: Option<Lie>) -> Vec<&'static str> {
    let input = Input::with_random_values("u", &uniform::keys(3_000, 1), Sizes::Fixed(20), 100, 1);
    let store = Model::default();
    let progress = Progress::new();
    let steps = Loaded::new(&store, "model", &input, &progress, 5);
    steps.load().unwrap();
    assert_eq!(store.pairs().len(), input.keys.len());
    if let Some(lie) = lie {
        store.lie(lie);
    }
    let outcomes = [
        ("verify", steps.verify()),
        (
            "get",
            steps.get(2_000).map(|took| assert_eq!(took.count(), 2_000)),
        ),
        (
            "many",
            (steps.get_many(640)).map(|took| assert_eq!(took.count(), 10)),
        ),
        ("absent", steps.get_absent(2_000).map(drop)),
        ("scan 1", steps.scan(300, 1).map(drop)),
        ("scan 100", steps.scan(300, 100).map(drop)),
    ];
    let wrong = |result| matches!(result, Err(Error::WrongAnswer { .. }));
    let complained = outcomes
        .into_iter()
        .filter_map(|(step, r)| wrong(r).then_some(step));
    complained.collect()
}

#[test]
fn a_correct_store_passes() {
    assert!(complaints(None).is_empty());
}

#[test]
fn every_wrong_answer_is_detected() {
    assert_eq!(complaints(Some(Lie::InventKeys)), ["absent"]);
    assert_eq!(complaints(Some(Lie::ForgetKeys)), ["verify", "get", "many"]);
    assert_eq!(complaints(Some(Lie::EndScansEarly)), ["scan 1", "scan 100"]);
    assert_eq!(complaints(Some(Lie::SkipInScans)), ["scan 1", "scan 100"]);
}

#[test]
fn a_flipped_bit_is_detected() {
    let input = Input::with_random_values("u", &uniform::keys(100, 1), Sizes::Fixed(20), 0, 1);
    let store = Model::default();
    let progress = Progress::new();
    let mut pairs = Pairs::default();
    pairs.push(input.keys.get(0), &[7; 20]);
    store.write(&pairs).unwrap();
    store.lie(Lie::FlipValue);
    let steps = Loaded::new(&store, "model", &input, &progress, 5);
    let error = steps.verify().unwrap_err().to_string();
    assert!(error.contains("WRONG ANSWER by model to get"), "{error}");
}

pub(super) fn arguments(experiment_keys: usize) -> Arguments {
    Arguments {
        seed: 3,
        keys: Some(experiment_keys),
        indexes: Vec::new(),
        table: None,
        paths: None,
        sosd: Vec::new(),
        numbers: Vec::new(),
        sets: vec![Set::C1, Set::C2],
        peers: Vec::new(),
        runs: None,
        gets: None,
        workloads: Vec::new(),
        threads: 1,
        rate: None,
        sync: false,
        time: None,
        cache_bytes: None,
        systems: Vec::new(),
        orders: Vec::new(),
        arriving: None,
    }
}

/// Runs a small experiment, and returns its figures and its text.
pub(super) fn run(experiment: &str, arguments: &Arguments) -> (Report, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench {
        directory: directory.path().to_path_buf(),
        progress: Progress::new(),
        report: Report::default(),
    };
    let experiment = BENCHES.iter().find(|e| e.name == experiment).unwrap();
    let text = (experiment.run)(arguments, &mut bench).unwrap();
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "stores are removed");
    (bench.report, text)
}

#[test]
fn quick_runs_from_end_to_end() {
    let (report, text) = run("kinds", &arguments(2_000));
    let subjects = report.subjects();
    let models = registry::kinds().iter();
    let models = models.filter(|kind| kind.answers != Answers::Blocks);
    let models: Vec<&str> = models.map(|kind| kind.name).collect();
    assert_eq!(subjects.len(), 2 * (1 + models.len()), "two inputs");
    for subject in subjects {
        let get = |metric: &str| report.get(subject, metric).expect(metric);
        assert_eq!(
            get("keys"),
            if subject.input == "paths" {
                1_900.0
            } else {
                2_000.0
            }
        );
        assert!(get("get_p50") > 0.0 && get("get_p50") <= get("get_p99"));
        assert!(get("scan10_p50") < get("scan100_p50"));
        assert!(get("tables") >= 1.0 && get("index_bytes") > 0.0);
        assert!(
            get("get_blocks") >= 1.0,
            "warm gets search at least one block"
        );
        assert_eq!(get("get_file_blocks"), 0.0, "warm gets read no file");
        // Keys with shared prefixes take fewer bytes than their lengths.
        assert!(get("disk_bytes") > get("user_bytes") / 10.0);
    }
    for kind in models {
        assert!(text.contains(&format!("| {kind} ")), "{kind}: {text}");
    }
}

#[test]
fn stores_runs_from_end_to_end() {
    let (report, text) = run("stores", &arguments(2_000));
    for set in ["c1", "c2"] {
        let subjects = report.subjects();
        let of_set: Vec<&Subject> = subjects.into_iter().filter(|s| s.input == set).collect();
        assert_eq!(of_set.len(), 3 + usize::from(cfg!(feature = "peer-lmdb")));
        for subject in of_set {
            assert!(report.get(subject, "get_mean").unwrap() > 0.0);
            let cold = report.get(subject, "cold_file_blocks");
            assert_eq!(cold.is_some(), subject.index.starts_with(['f', 'p']));
        }
    }
    assert!(text.contains("2,000 keys"), "{text}");
}

#[test]
fn ingest_runs_from_end_to_end() {
    let orders = ["k=0,l=0", "k=50,l=10"].map(|order| order.parse().unwrap());
    let arguments = Arguments {
        systems: ["rhumb write_buffer=64KiB size=64KiB", "index btree"]
            .map(str::to_string)
            .to_vec(),
        orders: orders.to_vec(),
        runs: Some(2),
        ..arguments(6_000)
    };
    let (report, text) = run("ingest", &arguments);
    assert_eq!(report.subjects().len(), 4);
    for subject in report.subjects() {
        let get = |metric: &str| report.get(subject, metric);
        assert!(get("write_time").unwrap() > 0.0 && get("read_time").unwrap() > 0.0);
        let is_index = subject.index.starts_with("index");
        assert_eq!(get("preload_time").is_some(), is_index);
        assert_eq!(
            get("flushes").is_some_and(|flushes| flushes > 1.0),
            !is_index
        );
        assert_eq!(get("entries"), is_index.then_some(6_000.0));
    }
    assert!(text.contains("counting k=50,l=10"), "{text}");
}

#[test]
fn a_file_is_ingested_in_its_own_order() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines: String = (0..500).map(|n| format!("{} x\n", (n * 7) % 500)).collect();
    std::fs::write(file.path(), lines + "3\n3\n").unwrap();
    let arguments = Arguments {
        systems: vec!["index alex".to_string()],
        arriving: Some(format!("arrivals:{}", file.path().display())),
        ..arguments(1_000)
    };
    let (report, _) = run("ingest", &arguments);
    let subjects = report.subjects();
    assert_eq!(report.get(subjects[0], "entries"), Some(500.0));
}

#[test]
fn stores_take_turns_and_rounds_give_a_spread() {
    let arguments = Arguments {
        runs: Some(3),
        gets: Some(500),
        sets: vec![Set::V1, Set::V2],
        ..arguments(2_000)
    };
    let (report, text) = run("stores", &arguments);
    for set in ["v1", "v2"] {
        let subjects = report.subjects();
        let of = |index| subjects.iter().find(|s| s.input == set && s.index == index);
        let subject = of("fp").unwrap();
        let get = |metric: &str| report.get(subject, metric).expect(metric);
        let spread = report.spread(subject, "get_mean").unwrap();
        assert!(0.0 < spread.min && spread.min <= spread.median && spread.median <= spread.max);
        assert!(get("get_blocks_a_probe") >= 1.0);
        assert_eq!(get("get_file_bytes"), 0.0, "warm gets read no file");
        assert!(get("cold_file_bytes") >= 0.0 && get("blocks") > 1.0);
        let entries = get("blocks") * get("block_entries_mean");
        assert_eq!(entries.round(), 2_000.0, "every entry is in a block");
        assert!(get("block_bytes_min") <= get("block_bytes_max"));
        let parts = ["index", "directory", "filter", "key_map"];
        let sum: f64 = parts.iter().map(|part| get(&format!("{part}_bytes"))).sum();
        assert_eq!(get("finding_bytes"), sum);
    }
    assert!(text.contains("Medians of 3 rounds"), "{text}");
}

#[test]
fn peers_run_from_end_to_end() {
    let arguments = Arguments {
        runs: Some(2),
        gets: Some(500),
        sets: vec![Set::C1, Set::C2],
        ..arguments(2_000)
    };
    let (report, text) = run("peers", &arguments);
    for set in ["c1", "c2"] {
        let subjects = report.subjects();
        let of_set: Vec<&Subject> = subjects.into_iter().filter(|s| s.input == set).collect();
        assert_eq!(of_set.len(), 2 + Peer::built_in().count());
        for subject in of_set {
            let get = |metric: &str| report.get(subject, metric).expect(metric);
            for metric in [
                "get_mean",
                "absent_p99",
                "get64_mean",
                "get_by_2_each",
                "cold_p50",
                "cold64_mean",
                "disk_bytes",
            ] {
                assert!(get(metric) > 0.0, "{}: {metric}", subject.index);
            }
            let ratio = get("get_by_2_mean") / get("get_by_2_each");
            assert!((1.99..2.01).contains(&ratio), "{ratio}");
        }
    }
    assert!(text.contains("Medians of 2 rounds"), "{text}");
    assert!(text.contains("ratio to rocksdb"));
}

#[test]
fn ycsb_runs_over_all_stores() {
    let arguments = Arguments {
        runs: Some(2),
        ..tiny(500)
    };
    let (report, text) = run("ycsb", &arguments);
    assert_eq!(report.subjects().len(), 2 + Peer::built_in().count());
    for subject in report.subjects() {
        for workload in ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"] {
            for end in ["_p50", "_p99", "_each"] {
                let metric = format!("{workload}{end}");
                assert!(report.get(subject, &metric).unwrap() > 0.0, "{metric}");
            }
            assert!(
                report
                    .spread(subject, &format!("{workload}_each"))
                    .is_some()
            );
        }
    }
    assert!(text.contains("500 operations a workload"), "{text}");
}

fn tiny(gets: usize) -> Arguments {
    Arguments {
        sets: vec![Set::C1],
        runs: Some(2),
        gets: Some(gets),
        ..arguments(5_000)
    }
}

#[test]
fn threads_are_measured_against_memory() {
    let (report, text) = run("threads", &tiny(2_000));
    let subject = report.subjects()[0];
    for place in ["distinct blocks", "one block"] {
        for metric in ["store, scaling", "memory, scaling", "scaling ratio"] {
            assert!(report.get(subject, &format!("{place}, {metric}")).unwrap() > 0.0);
        }
    }
    assert!(text.contains("of 2 runs"), "{text}");
}

#[test]
fn the_cache_is_watched_and_compared_with_clock() {
    let (report, text) = run("cache", &tiny(5_000));
    let subject = report.subjects()[0];
    let get = |metric: &str| report.get(subject, metric).expect(metric);
    for gets in ["uniform", "zipf 0.99"] {
        for metric in ["hits", "CLOCK hits"] {
            let share = get(&format!("{gets}, {metric}"));
            assert!((0.0..100.0).contains(&share), "{gets}, {metric}: {share}");
        }
        assert!(get(&format!("{gets}, look-ups")) >= 1.0);
    }
    assert!(get("zipf 0.99, CLOCK hits") > get("uniform, CLOCK hits"));
    assert!(text.contains("CLOCK"), "{text}");
}

#[test]
fn reads_are_repeated_as_often_as_told() {
    for (name, least, most) in [
        ("gets", 64, 64),
        ("seeks", 72, 72),
        // Some reach the end.
        ("scans", 95 * 72, 100 * 72),
    ] {
        let (_, text) = run(name, &tiny(500));
        let (_, rest) = text.split_once(&format!(": 500 {name} of ")).unwrap();
        let bytes: usize = rest.split_once(' ').unwrap().0.parse().unwrap();
        assert!((500 * least..=500 * most).contains(&bytes), "{text}");
    }
}

#[test]
fn stages_add_up_to_a_get() {
    let (report, text) = run("stages", &tiny(1_000));
    let subject = report.subjects()[0];
    let get = |metric: &str| report.get(subject, metric).expect(metric);
    let stages = report.metrics(subject);
    let costs = stages.iter().filter(|name| !name.starts_with("until "));
    let sum: f64 = costs.map(|name| get(name)).sum();
    assert!((sum - get("until value read")).abs() < 1e-6 * sum);
    assert!(text.contains("search in the block"), "{text}");
}

#[test]
fn indexes_are_compared_with_the_reference() {
    let arguments = Arguments {
        numbers: Numbers::ALL.to_vec(),
        runs: Some(2),
        gets: Some(300),
        ..arguments(3_000)
    };
    let (report, text) = run("indexes", &arguments);
    for set in Numbers::ALL {
        let subjects = report.subjects();
        let of_set = subjects.iter().filter(|s| s.input == set.name());
        let (segments, of_set): (Vec<&Subject>, Vec<&Subject>) =
            of_set.partition(|s| report.get(s, "segments, eps 8").is_some());
        let counts = segments.iter().map(|s| report.get(s, "segments, eps 8"));
        let counts: Vec<f64> = counts.map(Option::unwrap).collect();
        assert!(counts.len() == 3 && counts[1..].iter().all(|count| *count >= counts[0]));
        assert!(of_set.len() >= 8, "at least fence pointers and plr");
        for subject in of_set {
            let get = |metric: &str| report.get(subject, metric).expect(metric);
            assert_eq!(get("keys"), 3_000.0);
            if report.get(subject, "bytes").is_none() {
                assert!(
                    subject.index.starts_with("rmi:boundary"),
                    "only rmi may fail: its leaves ran out"
                );
                continue;
            }
            for metric in [
                "bytes",
                "build",
                "look-up",
                "absent",
                "yardstick",
                "look-up ratio",
            ] {
                assert!(get(metric) > 0.0, "{metric}");
            }
            let compared = report.get(subject, "look-up, ours/ref").is_some();
            assert!(compared || !subject.index.starts_with("fp"));
            assert!(!compared || !subject.index.starts_with("plr"));
        }
        assert!(text.contains(&format!("{}: 3,000 keys", set.name())));
    }
    assert!(text.contains("| fence pointers "), "{text}");
}

#[test]
fn indexes_are_measured_on_files_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("squares");
    let squares: Vec<u64> = (0..2_000u64).map(|n| n * n).collect();
    crate::data::sosd::write(&path, &squares).unwrap();
    let arguments = Arguments {
        sosd: vec![path],
        indexes: vec!["plr:boundary=18".parse().unwrap()],
        runs: Some(1),
        gets: Some(300),
        ..arguments(1_000)
    };
    let (report, text) = run("indexes", &arguments);
    let subject = report.subjects()[0];
    assert_eq!(subject.input, "sosd:squares");
    assert_eq!(report.get(subject, "keys"), Some(1_000.0));
    assert!(text.contains("plr:boundary=18"), "{text}");
}

#[test]
fn updatable_kinds_are_measured_and_checked() {
    let arguments = Arguments {
        numbers: vec![Numbers::Fb, Numbers::Wiki],
        runs: Some(2),
        gets: Some(400),
        ..arguments(3_000)
    };
    let (report, text) = run("updatable", &arguments);
    let able = registry::kinds()
        .iter()
        .filter(|kind| kind.is_updatable()[0]);
    assert_eq!(report.subjects().len(), 2 * able.count());
    for subject in report.subjects() {
        let get = |metric: &str| report.get(subject, metric).expect(metric);
        assert_eq!(get("keys"), 3_000.0);
        for metric in [
            "load",
            "look-up",
            "absent",
            "walk",
            "random inserts",
            "sorted inserts",
        ] {
            assert!(get(metric) > 0.0, "{metric}");
        }
        for metric in [
            "bytes",
            "bytes after random inserts",
            "bytes after sorted inserts",
        ] {
            assert!(get(metric) > 16.0 * 3_000.0, "{metric}");
        }
        assert!(get("deepest") >= get("depth") && get("depth") >= 1.0);
    }
    assert!(text.contains("wiki: 3,000 keys"), "{text}");
    // A file is measured once, whatever the number of keys of the references.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("squares");
    let squares: Vec<u64> = (0..2_000).map(|number| number * number).collect();
    crate::data::sosd::write(&path, &squares).unwrap();
    let (report, _) = run(
        "updatable",
        &Arguments {
            numbers: Vec::new(),
            sosd: vec![path],
            keys: None,
            runs: Some(1),
            ..arguments
        },
    );
    let able = registry::kinds()
        .iter()
        .filter(|kind| kind.is_updatable()[0]);
    assert_eq!(report.subjects().len(), able.count());
}

#[test]
fn strings_are_found_in_memory_and_in_tables() {
    let arguments = Arguments {
        runs: Some(1),
        gets: Some(300),
        ..arguments(5_000)
    };
    let (report, text) = run("texts", &arguments);
    let of = |input: &str| {
        let subjects = report.subjects().into_iter();
        let of_input = subjects.filter(|subject| subject.input == input);
        of_input.collect::<Vec<_>>()
    };
    for input in ["paths in memory", "words in memory"] {
        let subjects = of(input);
        assert!(
            subjects
                .iter()
                .any(|subject| subject.index.starts_with("btree"))
        );
        for subject in subjects {
            let get = |metric: &str| report.get(subject, metric).expect(metric);
            assert!(get("bytes a key") > 16.0 && get("random inserts") > 0.0);
        }
    }
    for input in ["paths in tables", "words in tables"] {
        let subjects = of(input);
        let (unfit, fit): (Vec<&Subject>, Vec<&Subject>) = subjects
            .into_iter()
            .partition(|subject| report.get(subject, "fallback").is_some());
        for kind in ["fp", "nfl", "btree"] {
            let is = |subject: &&Subject| subject.index.starts_with(kind);
            assert!(fit.iter().chain(&unfit).any(is), "{kind}");
        }
        assert!(unfit.iter().all(|subject| subject.index != "fp"));
        for subject in fit {
            let get = |metric: &str| report.get(subject, metric).expect(metric);
            assert!(get("bytes a key") > 0.0 && get("look-up") > 0.0);
        }
    }
    assert!(text.contains("| in tables "), "{text}");
}

#[test]
fn key_maps_are_compared_with_eight_bytes() {
    let (report, text) = run("keymaps", &arguments(20_000));
    for subject in report.subjects() {
        let get = |metric: &str| report.get(subject, metric).expect(metric);
        assert!(get("key map_a_key") > 0.0 && get("fp_a_key") > 0.0);
        let input = subject.input.as_str();
        // Words depend on the machine, and rmi may run out of leaves. The first eight bytes of
        // decimal keys are four zeros and four digits.
        if input != "words" && !subject.index.starts_with("rmi") {
            assert_eq!(get("key map_fallback") == 1.0, input == "paths", "{input}");
            let ties = ["decimal", "paths"].contains(&input);
            assert_eq!(get("eight bytes_fallback") == 1.0, ties, "{input}");
        }
        if input == "decimal" {
            let map = get("map_bytes") / get("keys");
            let ratio = (get("key map_a_key") - map) / get("integers_a_key");
            assert!((0.9..1.1).contains(&ratio), "{ratio}");
        }
    }
    assert!(
        text.contains("fp (fallback)") && text.contains("| uuid "),
        "{text}"
    );
}

#[test]
fn workloads_run_closed_and_open_by_one_and_by_two() {
    for (threads, rate, runs) in [
        (1, None, 2),
        (2, None, 2),
        (1, Some(20_000.0), 1),
        (2, Some(20_000.0), 1),
    ] {
        let arguments = Arguments {
            threads,
            rate,
            runs: Some(runs),
            gets: Some(300),
            indexes: vec!["plr".parse().unwrap()],
            ..arguments(3_000)
        };
        let (report, text) = run("workloads", &arguments);
        let subjects = report.subjects();
        assert_eq!(subjects.len(), 2, "two sets, one index, no peer");
        for subject in subjects {
            let get = |metric: &str| report.get(subject, metric).expect(metric);
            for mix in YCSB {
                let get = |metric: &str| get(&format!("{mix}_{metric}"));
                assert!(get("rate") > 0.0 && get("cpu") > 0.0);
                assert!(0.0 < get("p50") && get("p50") <= get("p99"));
                assert!((0.0..=100.0).contains(&get("harness")));
                // At least 299 intervals of 50 us pass.
                assert!(rate.is_none() || get("rate") < 20_068.0, "{}", get("rate"));
                assert!(text.contains(&format!("| {mix} ")), "{text}");
            }
            assert!(get("ycsb-f_read_mean") > 0.0 && get("ycsb-f_rmw_p99") > 0.0);
            assert!(report.get(subject, "ycsb-f_update_mean").is_none());
        }
        assert_eq!(text.contains("open loop: 20000 operations"), rate.is_some());
    }
}

#[test]
fn a_custom_workload_runs_for_a_time() {
    let arguments = Arguments {
        workloads: vec!["read=9,absent=1,hotspot".parse().unwrap()],
        time: Some(Duration::from_millis(20)),
        sets: vec![Set::V2],
        indexes: vec!["plr".parse().unwrap()],
        peers: Peer::built_in().take(1).collect(),
        ..arguments(2_000)
    };
    let (report, text) = run("workloads", &arguments);
    assert_eq!(report.subjects().len(), 1 + arguments.peers.len());
    for subject in report.subjects() {
        for kind in ["read", "absent"] {
            let metric = format!("read=9,absent=1,hotspot_{kind}_mean");
            assert!(report.get(subject, &metric).unwrap() > 0.0);
        }
    }
    assert!(text.contains("0.02 s by 1 clients"), "{text}");
}

#[test]
fn workloads_that_do_not_fit_are_refused_before_anything_is_loaded() {
    let refuse = |change: &dyn Fn(&mut Arguments)| {
        let mut arguments = arguments(1_000);
        change(&mut arguments);
        let mut bench = Bench {
            directory: "/nonexistent".into(),
            progress: Progress::new(),
            report: Report::default(),
        };
        let error = workloads::run(&arguments, &mut bench).unwrap_err();
        error.to_string()
    };
    for (error, part) in [
        (refuse(&|a| a.gets = Some(1_000)), "only 100 of c1 are left"),
        (refuse(&|a| a.gets = Some(0)), "run at least one"),
        (refuse(&|a| a.threads = 0), "take 1 to 127"),
        (refuse(&|a| a.rate = Some(f64::NAN)), "take at least 0.001"),
    ] {
        assert!(error.contains(part), "{error}");
    }
}
