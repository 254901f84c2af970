//! Power cuts at random moments of random scripts, with random losses, and power cuts while the
//! store recovers from earlier ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use kit::access::read_all;
use kit::check::Checker;
use kit::oracle::{fingerprint, position};
use kit::recorder::held;
use kit::scripts::steps::mixed;
use kit::scripts::{Script, shapes};
use kit::world::{Trouble, Work, World, check_merges};
use kit::{DIR, PARTITIONS, Random, SHAPES, case_seed, deep, in_parallel, tiny_shaped};
use rhumb::Db;
use rhumb::fs::{DataLoss, DirectoryLoss, FaultyFileSystem, Loss, MemoryFileSystem, Plan};

/// Losses tried for one run of a script, all at the same moment.
const LOSSES_A_RUN: usize = 5;

/// A random kind of loss; scattered losses keep 0, 10, 50, 90 or 100 % of unsynced pages.
fn any_loss(random: &mut Random) -> Loss {
    let page = if random.percent(50) { 512 } else { 4096 };
    let kept_percent = [0, 10, 50, 90, 100][random.below(5) as usize];
    let data = match random.below(4) {
        0 => DataLoss::Torn { page },
        _ => DataLoss::Scattered { page, kept_percent },
    };
    let directory = match random.below(4) {
        0 => DirectoryLoss::Lost,
        1 => DirectoryLoss::Kept,
        2 => DirectoryLoss::Prefix,
        _ => DirectoryLoss::Scattered,
    };
    Loss { data, directory }
}

/// A disk at the moment of the power cut, and the contents that may be found on it.
struct Crashed {
    disk: MemoryFileSystem,
    legal: RangeInclusive<usize>,
    prints: Vec<u64>,
    /// The work that the store had done before.
    work: Work,
}

/// Runs a random script up to a random call that changes the disk.
fn cut(random: &mut Random) -> Result<Crashed, String> {
    let length = 4 + random.below(24);
    let script = Script {
        name: "random",
        steps: mixed(random, length),
        settled: random.percent(30),
        shapes: shapes(random.next()),
        first_partition: random.below(2) as usize,
        groups: random.percent(30).then_some(3),
    };
    let cut_at = Some(1 + random.below(length * 8));
    let mut world = World::new(
        Plan {
            cut_at,
            ..Plan::default()
        },
        false,
    );
    let run = world.run(&script);
    let cut = world.faulty.power_is_cut();
    world.end();
    match run {
        Err(Trouble::Wrong(wrong)) => return Err(wrong),
        Err(Trouble::Stopped(e)) if !cut => return Err(format!("stopped with the power on: {e}")),
        Ok(()) | Err(Trouble::Stopped(_)) => {}
    }
    Ok(Crashed {
        disk: world.memory.clone(),
        legal: world.legal(),
        work: world.work,
        prints: world.oracle.prints.clone(),
    })
}

#[test]
fn random_crashes_leave_legal_prefixes() {
    let panics = kit::count_panics();
    let started = Instant::now();
    let runs = 4_000 * deep();
    let checker = Checker::default();
    let work = Mutex::new(Vec::new());
    in_parallel(runs, |run| {
        let mut random = Random(case_seed(run as u64));
        let crashed = cut(&mut random).map_err(|wrong| format!("run {run}: {wrong}"))?;
        held(&work).push(crashed.work);
        for _ in 0..LOSSES_A_RUN {
            let (loss, seed) = (any_loss(&mut random), random.next());
            let disk = crashed.disk.crash(loss, seed);
            let checked = checker.disk(&disk, crashed.legal.clone(), &crashed.prints);
            checked.map_err(|wrong| format!("run {run}, {loss:?}, seed {seed}: {wrong}"))?;
        }
        Ok::<(), String>(())
    })
    .unwrap();
    let crashes = checker.points.load(Ordering::Relaxed);
    let disks = checker.disks.load(Ordering::Relaxed);
    let time = started.elapsed().as_secs_f64();
    let seed = kit::seed();
    println!("{crashes} crashes in {runs} runs, {disks} disks, seed {seed}, {time:.1} s");
    check_merges(&*held(&work), 1);
    assert!(crashes >= 20_000);
    assert_eq!(kit::panics(), panics);
}

#[test]
fn crashes_during_recovery_leave_legal_prefixes() {
    let panics = kit::count_panics();
    let started = Instant::now();
    let runs = 1_000 * deep();
    let checker = Checker::default();
    let (cuts, opened) = (AtomicUsize::new(0), AtomicUsize::new(0));
    in_parallel(runs, |run| {
        let mut random = Random(case_seed((1 << 40) + run as u64));
        let named = |wrong: String| format!("run {run}: {wrong}");
        let mut crashed = cut(&mut random).map_err(named)?;
        for _ in 0..3 {
            let disk = crashed.disk.crash(any_loss(&mut random), random.next());
            crashed.disk = disk;
            match recover(&mut crashed, 1 + random.below(14)).map_err(named)? {
                true => opened.fetch_add(1, Ordering::Relaxed),
                false => cuts.fetch_add(1, Ordering::Relaxed),
            };
        }
        let disk = crashed.disk.crash(any_loss(&mut random), random.next());
        checker
            .disk(&disk, crashed.legal, &crashed.prints)
            .map_err(named)
    })
    .unwrap();
    let (cuts, opened) = (cuts.into_inner(), opened.into_inner());
    let (seed, time) = (kit::seed(), started.elapsed().as_secs_f64());
    println!("{runs} runs of three recoveries: {cuts} cut, {opened} not; seed {seed}, {time:.1} s");
    assert!(cuts >= runs, "too few recoveries were cut");
    assert_eq!(kit::panics(), panics);
}

/// Opens the store and cuts the power during one of the calls that this makes; returns whether it
/// opened nevertheless. If its contents could be read, only they are legal afterwards.
fn recover(crashed: &mut Crashed, cut_at: u64) -> Result<bool, String> {
    let plan = Plan {
        cut_at: Some(cut_at),
        ..Plan::default()
    };
    let faulty = FaultyFileSystem::new(Arc::new(crashed.disk.clone()), plan);
    let shape = SHAPES[cut_at as usize % SHAPES.len()];
    let mut options = tiny_shaped(Arc::new(faulty.clone()), shape);
    options.table.partition = PARTITIONS[cut_at as usize / 3 % 2];
    options.compaction_threads = 2;
    let db = match Db::open(DIR, options) {
        Ok(db) => db,
        Err(_) if faulty.power_is_cut() => return Ok(false),
        Err(e) => return Err(format!("does not open with the power on: {e}")),
    };
    match read_all(&db) {
        Ok(content) => {
            let found = fingerprint(&content);
            let found = position(&crashed.prints, crashed.legal.clone(), found);
            let found = found.ok_or("opened with contents that are no legal prefix")?;
            crashed.legal = found..=found;
        }
        Err(_) if faulty.power_is_cut() => {}
        Err(trouble) => return Err(trouble.to_string()),
    }
    Ok(true)
}
