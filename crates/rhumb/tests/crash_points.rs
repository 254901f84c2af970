//! The power is cut before, during and after every call that changes the disk, with every kind of
//! loss. The store must come back with a prefix of the commit order that holds every durable write.
//! Then one sync at a time is left out, and the same checks must notice it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Instant;

use kit::check::Checker;
use kit::scripts::{self, Script};
use kit::world::{Work, World};
use kit::{LOSSES, case_seed, dir, files, in_parallel};
use rhumb::fs::{MemoryFileSystem, Plan, Site};

/// Steps in a script.
const LENGTH: u64 = 46;

/// Runs a script and records every moment at which the power can be cut.
fn record(script: &Script, plan: Plan) -> Result<World, String> {
    let mut world = World::new(plan, true);
    let run = world.run(script);
    world.end();
    run.map_err(|trouble| format!("script {}: {trouble}", script.name))?;
    Ok(world)
}

/// Cuts the power at every recorded moment, with every kind of loss, or with one in `step` of them.
fn check(script: &Script, world: &World, checker: &Checker, step: usize) -> Result<(), String> {
    in_parallel(world.points.len(), |at| {
        let point = &world.points[at];
        let prints = world.prints(point.generation);
        let losses = LOSSES.into_iter().enumerate();
        for (number, loss) in losses.skip(at % step).step_by(step) {
            let seed = case_seed((at * LOSSES.len() + number) as u64);
            let checked = checker.point(point, loss, seed, &prints);
            checked.map_err(|wrong| format!("script {}, {wrong}", script.name))?;
        }
        Ok(())
    })
}

/// The number of logs with writes that have no clean end.
fn open_logs(disk: &MemoryFileSystem) -> usize {
    let logs = files(disk, dir(), ".log").into_iter();
    let bytes = logs.map(|name| disk.bytes(&dir().join(name)).unwrap());
    // A clean end is a frame of 48 bytes, with its kind behind 8 of them.
    let is_open = |log: &Vec<u8>| {
        let last = log.len().checked_sub(48).and_then(|at| log.get(at + 8));
        !log.is_empty() && last != Some(&2)
    };
    bytes.filter(is_open).count()
}

#[test]
fn every_moment_leaves_a_legal_prefix() {
    let panics = kit::count_panics();
    let started = Instant::now();
    println!("seed {}", kit::seed());
    let (mut points, mut disks) = (0, 0);
    let mut work = Vec::new();
    for script in scripts::all(LENGTH * kit::deep() as u64) {
        let world = record(&script, Plan::default()).unwrap();
        let checker = Checker::default();
        check(&script, &world, &checker, kit::brief()).unwrap();
        let here = checker.points.load(Ordering::Relaxed);
        let distinct = checker.disks.load(Ordering::Relaxed);
        work.push(world.work);
        if script.name == scripts::LOGS {
            let ending = world
                .points
                .iter()
                .filter(|p| open_logs(&p.disk) > 1)
                .count();
            println!("{ending} moments with writes in several logs that have not ended");
            assert!(ending > 50, "{ending} such moments");
        }
        if script.name == scripts::NEARLY_SORTED {
            let partial = work.last().map_or(0, |work: &Work| work.partial);
            println!("{partial} flushes kept something back");
            assert!(partial > 2, "{partial} such flushes");
        }
        let (moments, time) = (world.points.len(), started.elapsed().as_secs_f64());
        let name = script.name;
        println!("{name:14} {moments:5} moments {here:6} points {distinct:6} disks  {time:5.1} s");
        points += here;
        disks += distinct;
    }
    println!("{points} points, {disks} different disks");
    assert!(points >= 10_000, "too few points: {points}");
    let sum = |of: fn(&Work) -> u64| work.iter().map(of).sum::<u64>();
    let (flushes, moves, placed) = (sum(|w| w.flushes), sum(|w| w.moves), sum(|w| w.placed));
    let merges = kit::world::check_merges(&work, 1);
    let collections = sum(|w| w.collections);
    let (openings, manifests, logs) = (sum(|w| w.openings), sum(|w| w.manifests), sum(|w| w.logs));
    println!(
        "{flushes} flushes, {merges} merges, {moves} moves, {placed} put below level 0, {logs} logs, \
         {collections} merges that moved values"
    );
    println!("{openings} openings, {manifests} manifests");
    assert!(flushes > 100 && merges > 20 && moves > 5 && placed > 10 && logs > 100);
    assert!(collections > 5, "{collections} merges moved values");
    assert!(manifests > openings, "no manifest was replaced");
    assert_eq!(kit::panics(), panics);
}

/// The name of the function that contains a site.
fn function_at(site: &Site) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let source = std::fs::read_to_string(format!("{root}/{}", site.file)).unwrap();
    let before: Vec<&str> = source.lines().take(site.line as usize).collect();
    let header = before.iter().rev().find_map(|line| line.split_once("fn "));
    let name = header.unwrap().1.split(['(', '<']).next();
    name.unwrap().to_string()
}

/// Functions whose sync no script misses, with the reason and the test that does.
const NOTICED_ELSEWHERE: [(&str, &str); 1] = [(
    "remove_leftovers",
    "it matters after a second loss of power, with an opening without writes between the two: \
     inspect::tests::a_log_that_does_not_count_never_comes_back",
)];

#[test]
fn leaving_out_any_sync_is_noticed() {
    let started = Instant::now();
    println!("seed {}", kit::seed());
    let scripts = scripts::all(LENGTH);
    let mut sites: BTreeSet<Site> = BTreeSet::new();
    let mut callers = Vec::new();
    for script in &scripts {
        let mut world = World::new(Plan::default(), false);
        world.run(script).unwrap();
        world.end();
        sites.extend(world.sync_sites());
        callers.push(world.sync_sites());
    }
    let mut unnoticed = Vec::new();
    let found = sites.len();
    let elsewhere = NOTICED_ELSEWHERE.map(|(function, _)| function.to_string());
    for site in sites {
        let function = function_at(&site);
        // Nothing ends the search for those that no script notices.
        let step = match elsewhere.contains(&function) {
            true => kit::brief(),
            false => 1,
        };
        let noticed = scripts.iter().zip(&callers).find_map(|(script, called)| {
            let plan = Plan {
                ignored_sync: Some(site),
                ..Plan::default()
            };
            called.contains(&site).then_some(())?;
            let world = match record(script, plan) {
                Ok(world) => world,
                Err(wrong) => return Some(wrong),
            };
            check(script, &world, &Checker::default(), step).err()
        });
        let time = started.elapsed().as_secs_f64();
        match noticed {
            Some(wrong) => {
                let wrong = wrong.lines().next().unwrap_or_default();
                println!("{time:5.1} s  {function}, {site}: {wrong}");
            }
            None => {
                println!("{time:5.1} s  {function}, {site}: not noticed");
                unnoticed.push(function);
            }
        }
    }
    assert_eq!(unnoticed, elsewhere, "no others may go unnoticed");
    assert!(found > 15, "too few sites: {found}");
}
