//! Workloads against stores that answer correctly, wrongly or slowly.

use std::time::Duration;

use super::drive::Driver;
use super::load::{Amount, Load, Pace};
use super::mix::{Mix, Operation, YCSB};
use super::order::Order;
use super::outcome::{self, Outcome};
use super::population::Population;
use crate::data::{Input, Sizes, uniform};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::results::Measured;
use crate::store::model::{Lie, Model};
use crate::store::{Settings, Store, System, Temperature};

/// Asserts that counts fit their shares by Pearson's chi-squared test. A correct implementation
/// fails it for less than one in ten thousand seeds.
pub fn assert_fits(counts: &[u64], shares: &[f64]) {
    assert_eq!(counts.len(), shares.len());
    let total = counts.iter().sum::<u64>() as f64;
    assert!(
        (shares.iter().sum::<f64>() - 1.0).abs() < 1e-4,
        "{shares:?}"
    );
    let (mut sum, mut classes) = (0.0, 0);
    for (count, share) in counts.iter().zip(shares) {
        let expected = total * share;
        if expected < 1e-9 {
            assert_eq!(*count, 0, "{counts:?}");
            continue;
        }
        assert!(expected >= 5.0, "too few draws for a share of {share}");
        sum += (*count as f64 - expected).powi(2) / expected;
        classes += 1;
    }
    // Wilson and Hilferty: the cube root is nearly normal; 3.72 deviations have a probability of
    // one in ten thousand.
    let freedom = f64::from((classes - 1).max(1));
    let spread = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - spread + 3.72 * spread.sqrt()).powi(3);
    assert!(sum < limit, "chi-squared {sum} over {limit}: {counts:?}");
}

fn input() -> Input {
    Input::with_random_values("u", &uniform::keys(4_200, 1), Sizes::Fixed(24), 200, 1)
}

fn load(operations: u64, threads: usize) -> Load {
    Load {
        amount: Amount::Operations(operations),
        warm_up: 100,
        threads,
        pace: Pace::Closed,
    }
}

/// Loads 3,000 of 4,000 records, runs workloads, and returns their outcomes.
fn drive(
    store: &dyn Store,
    mixes: &[&str],
    load: Load,
    lie: impl FnOnce(),
) -> Result<Vec<Outcome>> {
    let (input, progress) = (input(), Progress::new());
    let order = Order::hashed(input.keys.len(), 2)?;
    let population = Population::new(&input, &order, 3_000, 3)?;
    population.load(store, &progress)?;
    lie();
    let driver = Driver {
        store,
        name: "model",
        population: &population,
        load,
        seed: 4,
        progress: &progress,
        on_read: None,
    };
    let mixes: Vec<Mix> = mixes.iter().map(|mix| mix.parse()).collect::<Result<_>>()?;
    let outcomes = driver.run_all(&mixes)?;
    assert_eq!(population.present(), population.begun());
    Ok(outcomes)
}

const ALL: &str = "read=5,absent=1,update=4,insert=1,scan=2,rmw=3,zipfian";

fn count(outcome: &Outcome, operation: Operation) -> u64 {
    let mut all = outcome.by_operation.iter();
    all.find(|(o, _)| *o == operation)
        .map_or(0, |(_, l)| l.count())
}

fn check_ycsb(store: &dyn Store, threads: usize) {
    let outcomes = drive(store, &YCSB, load(4_001, threads), || ()).unwrap();
    for (name, outcome) in YCSB.iter().zip(&outcomes) {
        let mix: Mix = name.parse().unwrap();
        assert_eq!(outcome.operations, 4_001);
        let counts = Operation::ALL.map(|operation| count(outcome, operation));
        assert_fits(
            &counts,
            &Operation::ALL.map(|operation| mix.share(operation)),
        );
        assert!(outcome.per_second > 0.0 && outcome.seconds > 0.0);
        assert!(outcome.cpu_seconds > 0.0 && outcome.harness_seconds > 0.0);
        // Time in the store and in the clients is at most the time that passed.
        let inside: f64 = outcome
            .by_operation
            .iter()
            .map(|(_, took)| took.mean() * took.count() as f64 / 1e9)
            .sum();
        let all = threads as f64 * outcome.seconds;
        assert!(
            inside + outcome.harness_seconds <= all * 1.001,
            "{outcome:?}"
        );
    }
}

#[test]
fn ycsb_runs_over_rhumb() {
    for threads in [1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings {
            index: "plr".parse().unwrap(),
            table: "size=64KiB".parse().unwrap(),
            cache_bytes: 1 << 20,
            write_buffer_bytes: 64 << 10,
            ..Settings::default()
        };
        let candidate = System::Rhumb(settings);
        let store = candidate.open(directory.path(), Temperature::Warm).unwrap();
        check_ycsb(&*store, threads);
        store.close().unwrap();
    }
}

#[test]
fn every_operation_runs_over_a_model() {
    for threads in [1, 2, 5] {
        let store = Model::default();
        check_ycsb(&store, threads);
        let store = Model::default();
        let outcomes = drive(
            &store,
            &[ALL, "absent", "seek"],
            load(5_000, threads),
            || (),
        )
        .unwrap();
        assert!(Operation::ALL.iter().all(|o| count(&outcomes[0], *o) > 0));
    }
}

#[test]
fn threads_that_share_few_records_get_correct_answers() {
    let input = Input::with_random_values("u", &uniform::keys(2_000, 1), Sizes::Mixed, 10, 1);
    let (progress, store) = (Progress::new(), Model::default());
    let order = Order::hashed(input.keys.len(), 2).unwrap();
    let population = Population::new(&input, &order, 4, 3).unwrap();
    population.load(&store, &progress).unwrap();
    let driver = Driver {
        store: &store,
        name: "model",
        population: &population,
        load: load(60_000, 4),
        seed: 5,
        progress: &progress,
        on_read: None,
    };
    let mix = "read=300,update=300,scan=100,rmw=300,insert=1,length=1-9,latest";
    driver.run(&mix.parse().unwrap()).unwrap();
    assert_eq!(store.pairs().len() as u64, population.present());
}

#[test]
fn the_same_seed_gives_the_same_operations() {
    let run = || {
        let store = Model::default();
        drive(&store, &[ALL, "ycsb-d"], load(2_000, 1), || ()).unwrap();
        store.pairs()
    };
    assert!(run() == run());
}

#[test]
fn inserts_alone_can_begin_with_an_empty_store() {
    let (input, progress, store) = (input(), Progress::new(), Model::default());
    let order = Order::first_seen(4_000, 0..4_000).unwrap();
    let population = Population::new(&input, &order, 0, 3).unwrap();
    let driver = Driver {
        store: &store,
        name: "model",
        population: &population,
        load: Load {
            warm_up: 0,
            ..load(4_000, 2)
        },
        seed: 4,
        progress: &progress,
        on_read: None,
    };
    driver.run(&"insert=1".parse().unwrap()).unwrap();
    assert_eq!((population.present(), store.pairs().len()), (4_000, 4_000));
    let error = driver
        .run(&"insert=1".parse().unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("only 0 of u are left"), "{error}");
}

#[test]
fn inserts_of_all_workloads_are_counted_before_the_first() {
    let store = Model::default();
    let mixes = ["update=1", "insert=1", "insert=1"];
    let error = drive(&store, &mixes, load(500, 1), || ())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("insert about 1200 records and only 1000 of u"),
        "{error}"
    );
    let (input, pairs) = (input(), store.pairs());
    assert_eq!(pairs.len(), 3_000);
    let mut expected = Vec::new();
    for (key, value) in &pairs {
        let rank = input.keys.iter().position(|k| k == &key[..]).unwrap();
        input.value(rank, &mut expected);
        assert!(expected == *value, "no workload was run");
    }
}

/// The error of a workload on a store with wrong answers.
fn complaint(lie: Lie, mix: &str, threads: usize) -> String {
    let store = Model::default();
    let outcome = drive(&store, &[mix], load(10_000, threads), || store.lie(lie));
    match outcome.unwrap_err() {
        error @ Error::WrongAnswer { .. } => error.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn every_wrong_answer_is_detected() {
    for threads in [1, 2] {
        for (lie, mix, part) in [
            (Lie::LoseUpdates, "ycsb-a", "get"),
            (Lie::LoseUpdates, "ycsb-f", "get"),
            (Lie::LoseUpdates, "update=1,scan=1", "scan"),
            (Lie::InventKeys, "absent", "expected no value"),
            (Lie::ForgetKeys, "ycsb-c", "found no value"),
            (Lie::FlipValue, "ycsb-c", "version 0 to 0 of rank"),
            (Lie::EndScansEarly, "ycsb-e", "an end after"),
            (Lie::SkipInScans, "ycsb-e", "scan"),
        ] {
            let message = complaint(lie, mix, threads);
            assert!(message.contains("WRONG ANSWER by model to"), "{message}");
            assert!(message.contains(part), "{lie:?} {mix}: {message}");
        }
    }
}

#[test]
fn the_error_names_the_versions_for_an_old_value() {
    let message = complaint(Lie::LoseUpdates, "ycsb-a", 1);
    assert!(
        message.contains("expected version 1 to 1 of rank"),
        "{message}"
    );
    assert!(message.contains("found version 0"), "{message}");
}

#[test]
fn an_open_loop_counts_the_delay_of_later_operations() {
    let store = Model::default();
    let stall = Duration::from_millis(60);
    let open = Load {
        amount: Amount::Operations(200),
        warm_up: 0,
        threads: 1,
        pace: Pace::Open {
            per_second: 2_000.0,
        },
    };
    let outcomes = drive(&store, &["read-only"], open, || store.stall_once(stall)).unwrap();
    let (_, took) = &outcomes[0].by_operation[0];
    // One operation takes 60 ms, so those of the next 30 ms begin more than 30 ms late, however
    // fast they are then. A closed loop would count the one alone.
    assert!(took.quantile(1.0) >= 60e6 * 0.99);
    assert!(took.quantile(1.0 - 59.0 / 200.0) >= 30e6 * 0.99, "{took:?}");
    // The last one was not to begin before 99.5 ms.
    assert!(outcomes[0].seconds >= 0.0995, "{}", outcomes[0].seconds);
}

#[test]
fn a_time_ends_a_run() {
    for pace in [
        Pace::Closed,
        Pace::Open {
            per_second: 1_000.0,
        },
    ] {
        let load = Load {
            amount: Amount::Time(Duration::from_millis(30)),
            warm_up: 10,
            threads: 2,
            pace,
        };
        let outcomes = drive(&Model::default(), &["ycsb-b"], load, || ()).unwrap();
        assert!(outcomes[0].seconds >= 0.025 && outcomes[0].operations >= 2);
        if let Pace::Open { .. } = pace {
            assert_eq!(outcomes[0].operations, 30);
        }
    }
}

#[test]
fn workloads_that_cannot_be_run_are_refused() {
    let refuse = |mix: &str, change: &dyn Fn(&mut Load)| {
        let mut load = load(1_000, 1);
        change(&mut load);
        let store = Model::default();
        drive(&store, &[mix], load, || ()).unwrap_err().to_string()
    };
    for (error, part) in [
        (refuse("ycsb-a", &|load| load.threads = 0), "take 1 to 127"),
        (
            refuse("ycsb-a", &|load| load.threads = 128),
            "take 1 to 127",
        ),
        (
            refuse("ycsb-a", &|load| load.pace = Pace::Open { per_second: 0.0 }),
            "take at least 0.001",
        ),
        (
            refuse("ycsb-d", &|load| load.amount = Amount::Operations(20_000)),
            "will insert about 1005 records and only 1000 of u are left",
        ),
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn figures_cover_all_operations_and_each_kind_that_occurred() {
    let of_one = |mix, load| {
        let outcomes = drive(&Model::default(), &[mix], load, || ()).unwrap();
        outcomes.into_iter().next().unwrap()
    };
    let outcome = of_one("read=3,update=1,insert=1", load(500, 2));
    let times = outcome.by_operation.iter().map(|(_, took)| took);
    let sum: f64 = times.map(|took| took.mean() * took.count() as f64).sum();
    let mut measured = Measured::default();
    outcome::put("mix", &outcome, &mut measured).unwrap();
    let value = |metric: &str| measured.figure(metric).unwrap().values[0];
    assert_eq!(value("mix_rate"), outcome.per_second);
    assert!((value("mix_mean") * 500.0 / sum - 1.0).abs() < 1e-9);
    assert!(value("mix_update_p99") > 0.0 && value("mix_cpu") > 0.0);
    assert!((0.0..100.0).contains(&value("mix_harness")));
    assert!(outcome.round_trips.len() == 2 && value("mix_round_trip") > 0.0);

    let outcome = of_one("read=1000000,insert=1", load(10, 1));
    let mut measured = Measured::default();
    outcome::put("rare", &outcome, &mut measured).unwrap();
    assert!(measured.figure("rare_read_mean").is_some());
    assert!(measured.figure("rare_insert_mean").is_none());
    assert!(measured.figure("rare_round_trip").is_none());
}
