//! Files of stores are damaged in all ways: each store then gives a right answer or a clear error, and
//! `repair` saves only what was written and never says that it saved more than it did.
// A broken expectation is a failed test.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use crate::kit::{Random, case_seed, count_panics, deep, panics, seed};
use crate::kit_mutation::history::{Contents, History, options, read_store};
use crate::kit_mutation::mutate::{Mutation, mutate};
use crate::kit_mutation::special::remove;
use crate::kit_watchdog::Watchdog;
use rhumb::inspect::{self, RepairReport};
use rhumb::{Compaction, Db, Error};

/// Stores in CI, and how often each is damaged.
const STORES: usize = 6;
const MUTATIONS: usize = 10;

/// How often what happened.
type Counts = BTreeMap<String, usize>;

/// A damaged store, and what it held when it was sound.
struct Case<'a> {
    history: &'a History,
    whole: &'a Contents,
    mutations: Vec<Mutation>,
}

#[test]
fn damaged_stores_answer_right_or_say_what_is_wrong() {
    println!("RHUMB_SEED={}", seed());
    let (mut counts, watchdog) = (Counts::new(), Watchdog::new("writing a store"));
    let panicked = count_panics();
    for store in 0..STORES * deep() {
        watchdog.now(format!("writing store {store}"));
        let mut random = Random(case_seed(store as u64));
        let history = History::new(&mut random, store % 3 > 0);
        let whole = history.after(history.operations.len());
        history.restore();
        assert!(
            read_store(&history.path()).unwrap() == whole,
            "store {store} is wrong from the start"
        );
        for number in 0..MUTATIONS {
            let mutations = damage(&history, &mut random);
            let case = Case {
                history: &history,
                whole: &whole,
                mutations,
            };
            let name = format!("store {store}, case {number}: {:?}", case.mutations);
            watchdog.now(name.clone());
            let checked = catch_unwind(AssertUnwindSafe(|| case.check(number, &mut counts)));
            if let Err(panic) = checked {
                println!("{name}, closed: {}", history.closed);
                resume_unwind(panic);
            }
        }
    }
    println!("{counts:#?}");
    assert_eq!(panics(), panicked, "threads panicked");
    let seen = |what: &str| counts.keys().any(|name| name.starts_with(what));
    for what in [
        "open: right",
        "open: error",
        "repair: all saved",
        "repair: lost",
    ] {
        assert!(seen(what), "{what}: {counts:?}");
    }
}

/// Damages one file, or two or three.
fn damage(history: &History, random: &mut Random) -> Vec<Mutation> {
    history.restore();
    let wanted = if random.percent(70) {
        1
    } else {
        2 + random.below(2) as usize
    };
    let mut mutations: Vec<Mutation> = Vec::new();
    while mutations.len() < wanted {
        mutations.extend(mutate(history, random));
    }
    mutations
}

impl Case<'_> {
    fn path(&self) -> PathBuf {
        self.history.path()
    }

    fn check(&self, number: usize, counts: &mut Counts) {
        for mutation in &self.mutations {
            *counts.entry(format!("way: {}", mutation.way)).or_default() += 1;
        }
        let opened = self.open();
        *counts.entry(format!("open: {}", opened.0)).or_default() += 1;
        let verified = self.verify(&opened);
        *counts.entry(format!("verify: {verified}")).or_default() += 1;
        self.dump();
        let ended = match number % 4 {
            0 => self.open_for_writing(&opened),
            _ => self.repair(),
        };
        *counts.entry(ended).or_default() += 1;
        // What cannot be removed with its directory by everybody.
        for mutation in self.mutations.iter().filter(|m| m.way == "special") {
            mutation
                .files
                .iter()
                .for_each(|f| remove(&self.path().join(f)));
        }
    }

    /// What opening and reading gives: the word for it, and the contents if there are any.
    fn open(&self) -> (&'static str, Option<Contents>) {
        match read_store(&self.path()) {
            Ok(found) if found == *self.whole => ("right", Some(found)),
            Ok(found) => {
                assert!(self.may_pass_for_a_crash(), "a wrong answer");
                assert!(
                    self.history.is_prefix(&found),
                    "no prefix of what was written"
                );
                ("an earlier state, as after a crash", Some(found))
            }
            Err(e) => {
                self.check_error(&e);
                ("error", None)
            }
        }
    }

    /// Whether what is lost can be what a crash cuts off: the last writes of a store that was not closed,
    /// or of one of which the log and the manifest, which bears witness against it, are both damaged.
    fn may_pass_for_a_crash(&self) -> bool {
        let touched = |kind: &str| {
            let files = self.mutations.iter().flat_map(|m| &m.files);
            files.filter(|f| f.ends_with(kind)).count() > 0
        };
        let manifest = touched("manifest") || touched("CURRENT");
        match self.history.closed {
            true => manifest && touched("log"),
            false => manifest || touched("log"),
        }
    }

    /// An error says which file it is about.
    fn check_error(&self, error: &Error) {
        let said = error.to_string();
        let store = self.path().display().to_string();
        assert!(said.contains(&store), "which file? {said}");
    }

    fn verify(&self, opened: &(&'static str, Option<Contents>)) -> &'static str {
        let options = options(Compaction::Leveled);
        match inspect::verify(&self.path(), &options, &mut |_| {}) {
            Ok(report) if report.damage.is_empty() => {
                assert!(
                    opened.1.is_some(),
                    "verify finds nothing wrong with what cannot be read"
                );
                "sound"
            }
            Ok(report) => {
                report.damage.iter().for_each(|e| self.check_error(e));
                "damaged"
            }
            Err(e) => {
                self.check_error(&e);
                "error"
            }
        }
    }

    fn dump(&self) {
        for file in self.mutations.iter().flat_map(|m| &m.files) {
            let (path, options) = (self.path().join(file), options(Compaction::Leveled));
            if let Err(e) = inspect::dump(&path, &options, &mut std::io::sink()) {
                self.check_error(&e);
            }
        }
    }

    /// Opening for writing decides as opening for reading does.
    fn open_for_writing(&self, opened: &(&'static str, Option<Contents>)) -> String {
        match Db::open(self.path(), options(Compaction::Leveled)) {
            Ok(db) => {
                drop(db);
                if let Some(before) = &opened.1 {
                    assert!(
                        read_store(&self.path()).unwrap() == *before,
                        "opening changed it"
                    );
                }
                "open for writing: opens".to_string()
            }
            Err(e) => {
                self.check_error(&e);
                assert!(opened.1.is_none(), "opens for reading only: {e}");
                "open for writing: error".to_string()
            }
        }
    }

    fn repair(&self) -> String {
        let options = options(Compaction::Leveled);
        let report = match inspect::repair(&self.path(), &options, &mut |_| {}) {
            Ok(report) => report,
            Err(e) => {
                self.check_error(&e);
                let special = |m: &Mutation| ["special", "sparse"].contains(&m.way);
                let refused = self.mutations.iter().any(special);
                let nothing_left = matches!(e, Error::NotFound { .. });
                assert!(refused || nothing_left, "repair fails: {e}");
                return "repair: refused".to_string();
            }
        };
        self.check_repaired(&report);
        let sound = inspect::verify(&self.path(), &options, &mut |_| {}).unwrap();
        assert!(
            sound.damage.is_empty(),
            "{:?} after {report:?}",
            sound.damage
        );
        self.check_it_lasts();
        let outcome = match (report.lost.is_empty(), report.doubts.is_empty()) {
            (true, true) => "all saved",
            (true, false) => "not known whether all was saved",
            (false, _) => "lost something",
        };
        format!("repair: {outcome}")
    }

    /// What is there was written; what is not there, or is older, the report names.
    fn check_repaired(&self, report: &RepairReport) {
        let found = read_store(&self.path()).unwrap();
        for ((id, key), value) in &found {
            assert!(
                self.history.was_written(*id, key, value),
                "made up: {id} {key:?} {value:?}"
            );
        }
        assert!(
            !report.all_saved() || found == *self.whole,
            "not all is saved: {report:?}"
        );
        let missing = report.may_be_missing();
        for (place, sequence) in self.history.newest() {
            let (now, right) = (found.get(&place), self.whole.get(&place));
            let told = missing.iter().any(|sequences| sequences.contains(sequence));
            assert!(
                now == right || told,
                "{place:?} of sequence {sequence} is {now:?}, not {right:?}: {report:?}"
            );
        }
    }

    /// A repaired store takes writes that stay, and there is no more to repair.
    fn check_it_lasts(&self) {
        let options = options(Compaction::Leveled);
        let again = inspect::repair(&self.path(), &options, &mut |_| {}).unwrap();
        let quiet = again.lost.is_empty() && again.notes.is_empty();
        assert!(quiet, "a second repair: {again:?}");
        let mut expected = read_store(&self.path()).unwrap();
        let db = Db::open(self.path(), options).unwrap();
        for number in 0..50u32 {
            let key = format!("key{:06}", number * 7).into_bytes();
            db.put(&key, "after the repair").unwrap();
            expected.insert((0, key), b"after the repair".to_vec());
        }
        db.close().unwrap();
        assert!(
            read_store(&self.path()).unwrap() == expected,
            "writes after it do not stay"
        );
    }
}

/// Damages the files of a store, which have these names.
type Damage = fn(&Path, &[String]);

#[test]
fn nothing_is_said_to_be_saved_where_files_prove_that_it_is_not() {
    let damages: [(&str, Damage); 5] = [
        ("CURRENT is gone", |path, _| remove(&path.join("CURRENT"))),
        ("manifests are gone", |path, names| {
            remove_all(path, names, "manifest")
        }),
        ("logs are gone", |path, names| {
            remove_all(path, names, "log")
        }),
        ("tables are gone", |path, names| {
            remove_all(path, names, "table")
        }),
        ("CURRENT and manifests are gone", |path, names| {
            remove(&path.join("CURRENT"));
            remove_all(path, names, "manifest");
        }),
    ];
    for closed in [true, false] {
        let history = History::new(&mut Random(seed()), closed);
        let whole = history.after(history.operations.len());
        let names: Vec<String> = history.image.keys().cloned().collect();
        for (what, damage) in damages {
            history.restore();
            damage(&history.path(), &names);
            let options = options(Compaction::Leveled);
            let report = inspect::repair(&history.path(), &options, &mut |_| {}).unwrap();
            assert!(!report.all_saved(), "{what}: {report:?}");
            let (mutations, history, whole) = (Vec::new(), &history, &whole);
            Case {
                history,
                whole,
                mutations,
            }
            .check_repaired(&report);
        }
        history.restore();
        let report = inspect::repair(&history.path(), &options(Compaction::Leveled), &mut |_| {});
        assert!(
            report.unwrap().all_saved() || !closed,
            "the end is known of what was closed"
        );
    }
}

fn remove_all(path: &Path, names: &[String], kind: &str) {
    let of_kind = names.iter().filter(|name| name.ends_with(kind));
    of_kind.for_each(|name| remove(&path.join(name)));
}
