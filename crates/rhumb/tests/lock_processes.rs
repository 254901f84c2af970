//! Two processes compete for a store, which can have one writer or any number of readers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;

use std::io::{BufRead, BufReader, Write, stdin};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use kit::{Random, case_seed, child, deep};
use rhumb::{Db, Error, Options};

/// The result of opening, as a line that the test runner does not write.
fn opened(opening: &rhumb::Result<Db>) -> &'static str {
    match opening {
        Ok(_) => "@won",
        Err(Error::Locked { .. }) => "@locked",
        Err(_) => "@failed",
    }
}

/// The child: opens the store on each `write` or `read`, and closes it on `release`.
#[test]
fn contender() {
    let Some(dir) = child::task("contender") else {
        return;
    };
    let mut held = None;
    for line in stdin().lock().lines() {
        let answer = match line.unwrap().as_str() {
            "write" => {
                let opening = Db::open(&dir, Options::default());
                let answer = opened(&opening);
                held = opening.ok();
                answer
            }
            "read" => {
                let opening = Db::open_read_only(&dir, Options::default());
                let answer = opened(&opening);
                held = opening.ok();
                answer
            }
            _ => {
                held = None;
                "@released"
            }
        };
        println!("{answer}");
    }
    drop(held);
}

struct Contender {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
}

impl Contender {
    fn start(dir: &str) -> Contender {
        let mut child = child::start("contender", dir).unwrap();
        let orders = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // The runner may have written to the same line before.
                if let Some((_, answer)) = line.split_once('@') {
                    let _ = sender.send(answer.to_string());
                }
            }
        });
        Contender {
            child,
            orders,
            answers,
        }
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
    }

    fn answer(&self) -> String {
        self.answers.recv_timeout(Duration::from_secs(30)).unwrap()
    }
}

#[test]
fn one_of_two_processes_wins() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("store");
    let dir = dir.to_str().unwrap();
    let db = Db::open(dir, Options::default()).unwrap();
    db.put("key", "value").unwrap();
    db.close().unwrap();
    let mut pair = [Contender::start(dir), Contender::start(dir)];
    let rounds = 100 * deep();
    let mut random = Random(case_seed(0));
    let (mut wins, mut shared) = ([0, 0], 0);
    for round in 0..rounds {
        let orders = match round % 4 {
            0..2 => ["write", "write"],
            2 => ["read", "read"],
            _ => ["write", "read"],
        };
        let first = random.below(2) as usize;
        pair[first].order(orders[first]);
        pair[1 - first].order(orders[1 - first]);
        let answers = [pair[0].answer(), pair[1].answer()];
        let won = |who: usize| usize::from(answers[who] == "won");
        assert!(
            answers.iter().all(|a| a != "failed"),
            "{orders:?}: {answers:?}"
        );
        if orders == ["read", "read"] {
            assert_eq!(won(0) + won(1), 2, "readers share: {answers:?}");
            shared += 1;
        } else {
            assert_eq!(won(0) + won(1), 1, "{orders:?}: {answers:?}");
            wins[0] += won(0);
            wins[1] += won(1);
        }
        for contender in &mut pair {
            contender.order("release");
            assert_eq!(contender.answer(), "released");
        }
    }
    for mut contender in pair {
        drop(contender.orders);
        assert!(contender.child.wait().unwrap().success());
    }
    let seed = kit::seed();
    println!("{rounds} races: {wins:?} won, {shared} shared; seed {seed}");
}
