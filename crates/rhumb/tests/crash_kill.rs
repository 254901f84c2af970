//! A writing process is killed at a random moment, and the store is opened again: everything that
//! was acknowledged must be there, whatever its durability, since the operating system survives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;

use std::io::{BufRead, BufReader, Write, stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kit::access::{read_all, write};
use kit::oracle::{Change, Event, Oracle, difference, fingerprint, position};
use kit::script::{KEYSPACES, Recipe, Step};
use kit::{Random, case_seed, child, deep, tiny};
use rhumb::fs::OsFileSystem;
use rhumb::{Db, Durability, KeyspaceOptions, Options};

const RECIPE: Recipe = Recipe {
    keys: 200,
    value_bytes: 300,
    buffered_percent: 70,
    batch: 6,
    keyspaces: 3,
    delete_percent: 15,
    range_delete_percent: 3,
    ascending: false,
    displaced_percent: 0,
};

fn options() -> Options {
    tiny(Arc::new(OsFileSystem::new()))
}

/// The write with this number; both processes compute the same.
fn numbered(number: usize) -> (Vec<(String, Change)>, Durability) {
    let mut random = Random(case_seed(number as u64));
    let Step::Write(changes, durability) = RECIPE.write(&mut random, number as u64) else {
        unreachable!("a recipe makes only writes");
    };
    let named = |(which, change): (usize, Change)| (KEYSPACES[which].to_string(), change);
    (changes.into_iter().map(named).collect(), durability)
}

/// The child: writes from a number on and prints the number of each acknowledged write, until it is
/// killed.
#[test]
fn writer() {
    let Some(task) = child::task("writer") else {
        return;
    };
    let (first, dir) = task.split_once(' ').unwrap();
    let db = Db::open(Path::new(dir), options()).unwrap();
    let mut out = stdout().lock();
    for number in first.parse().unwrap().. {
        let (changes, durability) = numbered(number);
        write(&db, &changes, durability).unwrap();
        writeln!(out, "@{number}").unwrap();
    }
}

#[test]
fn killed_processes_leave_all_that_was_acknowledged() {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("store");
    let mut oracle = Oracle::new();
    let db = Db::open(&dir, options()).unwrap();
    for name in &KEYSPACES[1..3] {
        db.create_keyspace(name).unwrap();
        let options = KeyspaceOptions::default();
        oracle.push(Event::Create((*name).to_string(), options));
    }
    db.close().unwrap();
    let created = oracle.len();
    let kills = 50 * deep();
    let mut random = Random(case_seed(1 << 50));
    let (mut lost_acknowledgements, mut written) = (0, 0);
    for kill in 0..kills {
        let first = oracle.len() - created;
        let mut child = child::start("writer", &format!("{first} {}", dir.display())).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = first;
        let mut take = |line: &str| {
            if let Some((_, number)) = line.split_once('@') {
                acknowledged = number.parse::<usize>().unwrap() + 1;
            }
            acknowledged
        };
        let enough = first + 1 + random.below(80) as usize;
        for line in lines.by_ref() {
            if take(&line.unwrap()) >= enough {
                break;
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(2000)));
        child.kill().unwrap();
        // An incomplete last line is ignored.
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        for line in rest.iter().rev().skip(1).rev() {
            take(line);
        }
        let acknowledged = take("");
        child.wait().unwrap();
        // The write in progress when the process was killed may be there as well, and so may writes
        // whose acknowledgement stayed in the pipe.
        for number in first..acknowledged + 200 {
            oracle.push(Event::Write(numbered(number).0));
        }
        let db = Db::open(&dir, options()).unwrap();
        let content = read_all(&db).unwrap();
        let legal = created + acknowledged..=oracle.len();
        let found = position(&oracle.prints, legal, fingerprint(&content));
        let Some(found) = found else {
            let expected = oracle.content_at(created + acknowledged);
            let difference = difference(&expected, &content);
            panic!("kill {kill}: not the first {acknowledged} writes\n  {difference}");
        };
        db.close().unwrap();
        lost_acknowledgements += found - created - acknowledged;
        written += found - created - first;
        oracle.truncate(found);
    }
    let (seed, time) = (kit::seed(), started.elapsed().as_secs_f64());
    println!(
        "{kills} kills, {written} writes, {lost_acknowledgements} unacknowledged; \
         seed {seed}, {time:.1} s"
    );
    assert!(written >= kills);
}
