//! Four threads write while a fifth creates and drops keyspaces, flushes, merges and syncs. The power is
//! cut, calls fail, or the disk runs full, at any moment: what survives is a prefix of the commit order
//! with every durable write, and batches over two keyspaces are whole.
//!
//! `RHUMB_SEED=n` repeats a case: its operations, settings, fault and losses are the same, the order in
//! which threads run is not. `RHUMB_DEEP=n` then runs it n times. The disk of a failed case is kept in a
//! directory that the message names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;
mod kit_concurrent;
mod kit_model;
mod kit_watchdog;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kit::check::check_disk;
use kit::{DIR, LOSSES, PARTITIONS, Random, SHAPES, case_seed, dir, tiny_shaped};
use kit_concurrent::history::{History, WRITERS};
use kit_concurrent::judge::{Legal, judge};
use kit_concurrent::load::Load;
use kit_concurrent::run::{Answer, Run};
use kit_model::runs::{cases, number, scaled};
use kit_watchdog::Watchdog;
use rhumb::fs::{Fault, FaultAt, FaultyFileSystem, FileSystem, Loss, MemoryFileSystem, Plan, Site};
use rhumb::{Db, Error, Options};

/// Losses tried for the end of a run.
const LOSSES_A_RUN: usize = 3;
/// Losses of power while a run goes on undisturbed.
const LOSSES_AMID: u64 = 3;

/// What goes wrong.
#[derive(Debug, Clone, Copy)]
enum Mishap {
    /// The power is cut in this call that changes the disk.
    Cut(u64),
    /// This call fails.
    Fail(u64, Fault),
    /// The disk takes this many more bytes, and after some failures more again.
    Full(u64),
    /// The syncs at this place do nothing.
    Unsynced(Site),
}

/// Sums over all cases.
#[derive(Debug, Default)]
struct Seen {
    happened: AtomicUsize,
    operations: AtomicUsize,
    lost: AtomicUsize,
    kept: AtomicUsize,
    disks: AtomicUsize,
    reads: AtomicUsize,
    flushes: AtomicUsize,
    merges: AtomicUsize,
}

/// A store of which many moments are known.
struct Case {
    load: Load,
    random: Random,
    memory: MemoryFileSystem,
    faulty: FaultyFileSystem,
    history: History,
    mishap: Mishap,
}

/// The disk after a loss of power.
struct Moment {
    disk: MemoryFileSystem,
    legal: Legal,
    loss: Loss,
}

impl Case {
    fn new(seed: u64, mishap: impl Fn(&mut Random) -> Mishap) -> Case {
        let mut random = Random(Random(seed ^ 0x6372_6173_6843).next());
        let memory = MemoryFileSystem::new();
        let faulty = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
        let mishap = mishap(&mut random);
        let load = Load {
            seed,
            operations: random.pick(&[10, 40, 120]),
            keys: 8 + random.below(40),
            value_bytes: random.pick(&[20, 150, 600]),
            buffered_percent: random.pick(&[10, 50, 90, 100]),
        };
        Case {
            load,
            random,
            memory,
            faulty,
            history: History::default(),
            mishap,
        }
    }

    fn options(&mut self) -> Options {
        let random = &mut self.random;
        let shape = random.pick(&SHAPES);
        let mut options = tiny_shaped(Arc::new(self.faulty.clone()), shape);
        options.table.partition = random.pick(&PARTITIONS);
        options.compaction_threads = 1 + random.below(3) as usize;
        options.write_buffer_bytes = random.pick(&[2 << 10, 8 << 10, 32 << 10]);
        options.log_bytes = random.pick(&[4 << 10, 16 << 10, 64 << 10]);
        options
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        match self.mishap {
            Mishap::Cut(after) => plan.cut_at = Some(self.faulty.mutating_calls() + after),
            Mishap::Fail(after, fault) => {
                let at = FaultAt::Call(self.faulty.calls() + after);
                plan.fault = Some((at, fault));
            }
            Mishap::Full(bytes) => plan.budget = Some(bytes),
            Mishap::Unsynced(site) => plan.ignored_sync = Some(site),
        }
        plan
    }

    /// What to make of an error: none is expected before something went wrong.
    fn on_error(&self, error: &Error, tried: usize) -> Answer {
        let for_good = matches!(error, Error::ReadOnly { .. } | Error::Closed);
        match self.mishap {
            Mishap::Cut(_) if self.faulty.power_is_cut() => Answer::Stop,
            Mishap::Cut(_) => Answer::Wrong,
            _ if self.faulty.faults() == 0 => Answer::Wrong,
            Mishap::Full(_) => match error {
                Error::DiskFull { .. } if tried < 5_000 => {
                    if tried > 2 {
                        self.faulty.set_budget(None);
                    }
                    Answer::Again
                }
                _ => Answer::Wrong,
            },
            Mishap::Fail(_, Fault::InputOutput) if for_good => Answer::Stop,
            // A sync of the manifest that failed leaves it open what is on the disk.
            Mishap::Fail(_, Fault::NoSpace) if for_good => Answer::Stop,
            Mishap::Fail(_, Fault::InputOutput | Fault::NoSpace) if tried < 5_000 => Answer::Again,
            Mishap::Fail(..) | Mishap::Unsynced(_) => Answer::Wrong,
        }
    }

    /// Cuts the power on a copy of the disk, now.
    fn moment(&self, random: &mut Random) -> Moment {
        let loss = random.pick(&LOSSES);
        let durable = self.history.durable();
        let disk = self.memory.crash(loss, random.next());
        let begun = self.history.begun();
        Moment {
            disk,
            legal: Legal { durable, begun },
            loss,
        }
    }

    /// Runs the threads, and gives the moments to check.
    fn run(&mut self, seen: &Seen) -> Result<Vec<Moment>, String> {
        let db = Db::open(DIR, self.options()).map_err(|e| e.to_string())?;
        let other = db.create_keyspace("other").map_err(|e| e.to_string())?;
        drop(other);
        self.faulty.set_plan(self.plan());
        let mut moments = Vec::new();
        let mut random = self.random.clone();
        let on_error = |error: &Error, tried| self.on_error(error, tried);
        let run = Run::new(&db, self.load, &self.history, &on_error);
        run.all(&self.memory, 1, |run| {
            for _ in 0..LOSSES_AMID {
                std::thread::sleep(Duration::from_micros(random.below(5_000)));
                if run.writing() && !self.faulty.power_is_cut() {
                    moments.push(self.moment(&mut random));
                }
            }
        })?;
        seen.reads
            .fetch_add(run.reads.into_inner(), Ordering::Relaxed);
        if let Ok(stats) = db.stats() {
            let (flushes, merges) = (stats.writes.flushes, stats.writes.compactions);
            seen.flushes.fetch_add(flushes as usize, Ordering::Relaxed);
            seen.merges.fetch_add(merges as usize, Ordering::Relaxed);
        }
        self.check_finished()?;
        // Before the store is closed: its threads go on meanwhile.
        moments.push(self.moment(&mut random));
        drop(db);
        for _ in 0..LOSSES_A_RUN {
            moments.push(self.moment(&mut random));
        }
        self.random = random;
        Ok(moments)
    }

    /// Nothing but a cut or an error that stays may end the writing.
    fn check_finished(&self) -> Result<(), String> {
        let may_end = match self.mishap {
            Mishap::Cut(_) => self.faulty.power_is_cut(),
            Mishap::Fail(_, fault) => matches!(fault, Fault::InputOutput | Fault::NoSpace),
            Mishap::Full(_) | Mishap::Unsynced(_) => false,
        };
        let done = self.history.acknowledged();
        let finished = done[..WRITERS].iter().all(|n| *n == self.load.operations);
        match finished || may_end {
            true => Ok(()),
            false => Err(format!("writers ended after {done:?} operations")),
        }
    }

    /// Checks all moments of a run. The disk of one that is wrong is kept.
    fn check(&mut self, seen: &Seen, keeps: bool) -> Result<(), String> {
        let moments = self.run(seen)?;
        let happened = self.faulty.power_is_cut() || self.faulty.faults() > 0;
        seen.happened
            .fetch_add(usize::from(happened), Ordering::Relaxed);
        let operations: usize = self.history.begun().iter().sum();
        seen.operations.fetch_add(operations, Ordering::Relaxed);
        for Moment { disk, legal, loss } in moments {
            let copy = disk.fork();
            let judged = check_disk(&disk)
                .and_then(|content| judge(&self.load, &self.history, legal, &content));
            let found = judged.map_err(|wrong| match keeps {
                true => {
                    let at = keep(&copy, self.load.seed);
                    format!("{loss:?}: {wrong}\n  the disk is in {}", at.display())
                }
                false => format!("{loss:?}: {wrong}"),
            })?;
            let kept: usize = found.iter().sum();
            let lost = legal.begun.iter().sum::<usize>() - kept;
            seen.disks.fetch_add(1, Ordering::Relaxed);
            seen.kept.fetch_add(kept, Ordering::Relaxed);
            seen.lost.fetch_add(lost, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Writes the files of a disk into a directory, to be looked at.
fn keep(disk: &MemoryFileSystem, seed: u64) -> PathBuf {
    let at = std::env::temp_dir().join(format!("rhumb-crash-{seed}-{}", std::process::id()));
    std::fs::create_dir_all(&at).unwrap();
    for name in disk.list(dir()).unwrap_or_default() {
        let bytes = disk.bytes(&dir().join(&name)).unwrap();
        std::fs::write(at.join(name), bytes).unwrap();
    }
    at
}

/// Runs cases and returns the sums; a case that hangs ends the process.
fn run_cases(what: &str, count: u64, mishap: impl Fn(&mut Random) -> Mishap + Sync) {
    let panics = kit::count_panics();
    let seen = Seen::default();
    cases(what, count, |seed| {
        let watchdog = Watchdog::new(format!("{what}, seed {seed}"));
        let mut case = Case::new(seed, &mishap);
        let checked = case.check(&seen, true);
        drop(watchdog);
        checked.map_err(|wrong| format!("{:?}, {:?}: {wrong}", case.mishap, case.load))
    });
    println!("{seen:?}");
    assert_eq!(kit::panics(), panics);
    // A single case may prove little.
    if number("RHUMB_SEED").is_none() {
        let of = |n: &AtomicUsize| n.load(Ordering::Relaxed) as u64;
        let count = scaled(count);
        assert!(of(&seen.happened) > count / 3, "too little went wrong");
        assert!(of(&seen.lost) > count, "too few writes were lost");
        assert!(of(&seen.kept) > count * 10, "too few writes were kept");
    }
}

#[test]
fn a_power_cut_amid_writers_leaves_a_legal_prefix() {
    run_cases("power cuts", 150, |random| {
        let most = random.pick(&[30, 300, 1_500]);
        Mishap::Cut(1 + random.below(most))
    });
}

#[test]
fn any_call_may_fail_amid_writers() {
    run_cases("failing calls", 100, |random| {
        let fault = random.pick(&Fault::ALL);
        Mishap::Fail(1 + random.below(600), fault)
    });
}

#[test]
fn a_disk_that_runs_full_amid_writers_loses_nothing() {
    run_cases("full disks", 60, |random| {
        let most = random.pick(&[2_000, 20_000, 100_000]);
        Mishap::Full(random.below(most))
    });
}

/// The cases above can fail: with the syncs of a place left out, what a crash leaves is not legal. Which
/// places are noticed within some cases depends on the order of threads.
#[test]
fn leaving_out_syncs_is_noticed() {
    let mut undisturbed = Case::new(kit::seed(), |_| Mishap::Full(u64::MAX));
    undisturbed.run(&Seen::default()).unwrap();
    let sites = undisturbed.faulty.sites();
    let often = |(site, calls): &(&Site, &u64)| site.call.is_sync() && **calls >= 5;
    let mut noticed = 0;
    for (site, calls) in sites.iter().filter(often) {
        let wrong = (0..12).find_map(|number| {
            let mut case = Case::new(case_seed(number), |_| Mishap::Unsynced(*site));
            case.check(&Seen::default(), false).err()
        });
        noticed += usize::from(wrong.is_some());
        let wrong = wrong.unwrap_or_default();
        let wrong = wrong.lines().next().unwrap_or("not noticed");
        println!("{site}, {calls} calls: {wrong}");
        if noticed == 4 {
            return;
        }
    }
    panic!("of all places that sync, only {noticed} were noticed");
}
