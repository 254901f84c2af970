//! Forms of tables are measured within a merge: a loss of power or a failing call at any point of it loses nothing, and no sample
//! is ever taken for data.

use std::path::Path;
use std::sync::Arc;

use rhumb::fs::{
    DataLoss, DirectoryLoss, Fault, FaultAt, FaultyFileSystem, FileSystem, Loss, MemoryFileSystem,
    Plan,
};
use rhumb::{Db, Options, Tuner};

const STORE: &str = "store";
const KEYS: u64 = 1_200;
/// Points of the merge that are tried.
const POINTS: u64 = 20;

/// All that was not synced is lost.
const LOST: Loss = Loss {
    data: DataLoss::Lost,
    directory: DirectoryLoss::Lost,
};
/// Names are found whose data are not.
const SCATTERED: Loss = Loss {
    data: DataLoss::Scattered {
        page: 4096,
        kept_percent: 50,
    },
    directory: DirectoryLoss::Kept,
};

fn options(file_system: Arc<dyn FileSystem>) -> Options {
    Options {
        tuner: Tuner::Cost { nu: 0.0 },
        compaction_threads: 1,
        file_system,
        ..Options::in_memory()
    }
}

/// A store with a table and deletes that are not merged into it yet.
fn before(disk: &MemoryFileSystem) {
    let db = Db::open(STORE, options(Arc::new(disk.clone()))).unwrap();
    for n in 0..KEYS {
        db.put(n.to_be_bytes(), [7; 20]).unwrap();
    }
    db.flush().unwrap();
    for n in (0..KEYS).step_by(2) {
        db.delete(n.to_be_bytes()).unwrap();
    }
    db.close().unwrap();
}

/// Merges with a file system that fails as planned. Returns the calls, all and mutating ones, before the merge and after it.
fn merge(disk: &MemoryFileSystem, plan: Plan) -> [(u64, u64); 2] {
    let faulty = FaultyFileSystem::new(Arc::new(disk.clone()), Plan::default());
    let counts = || (faulty.calls(), faulty.mutating_calls());
    let db = Db::open(STORE, options(Arc::new(faulty.clone()))).unwrap();
    let before = counts();
    let shifted = |at: u64| before.0 + at;
    faulty.set_plan(Plan {
        cut_at: plan.cut_at.map(|at| before.1 + at),
        fault: plan.fault.map(|(at, fault)| match at {
            FaultAt::Call(at) => (FaultAt::Call(shifted(at)), fault),
            site => (site, fault),
        }),
        ..plan
    });
    let _ = db.compact_range(None, None);
    let after = counts();
    drop(db);
    [before, after]
}

fn check(disk: &MemoryFileSystem, what: &str) {
    let db = Db::open(STORE, options(Arc::new(disk.clone()))).unwrap();
    let keys: Vec<u64> = db
        .iter()
        .unwrap()
        .map(|entry| u64::from_be_bytes(entry.unwrap().0[..].try_into().unwrap()))
        .collect();
    let expected: Vec<u64> = (0..KEYS).filter(|n| n % 2 == 1).collect();
    assert_eq!(keys, expected, "{what}");
    let names = disk.list(Path::new(STORE)).unwrap();
    assert!(
        names.iter().all(|name| !name.ends_with(".sample")),
        "{what}: {names:?}"
    );
    // What was left unmerged can be merged, and measured, now.
    db.compact_range(None, None).unwrap();
    assert_eq!(db.iter().unwrap().count(), expected.len(), "{what}");
}

fn points(calls: u64) -> impl Iterator<Item = u64> {
    (0..POINTS).map(move |nth| 1 + nth * calls / POINTS)
}

#[test]
fn a_loss_of_power_while_forms_are_measured_loses_nothing() {
    let start = MemoryFileSystem::new();
    before(&start);
    let [(_, from), (_, to)] = merge(&start.crash(LOST, 0), Plan::default());
    assert!(to - from > 50, "samples are written");
    for at in points(to - from) {
        for (seed, loss) in [LOST, SCATTERED].into_iter().enumerate() {
            let disk = start.crash(LOST, 0);
            let cut_at = Some(at);
            merge(
                &disk,
                Plan {
                    cut_at,
                    ..Plan::default()
                },
            );
            check(
                &disk.crash(loss, seed as u64 + at),
                &format!("cut at {at}, {loss:?}"),
            );
        }
    }
}

#[test]
fn a_call_that_fails_while_forms_are_measured_loses_nothing() {
    let start = MemoryFileSystem::new();
    before(&start);
    let [(from, _), (to, _)] = merge(&start.crash(LOST, 0), Plan::default());
    for at in points(to - from) {
        for fault in [Fault::NoSpace, Fault::InputOutput] {
            let disk = start.crash(LOST, 0);
            let fault = Some((FaultAt::Call(at), fault));
            merge(
                &disk,
                Plan {
                    fault,
                    ..Plan::default()
                },
            );
            check(&disk, &format!("{fault:?}"));
        }
    }
}
