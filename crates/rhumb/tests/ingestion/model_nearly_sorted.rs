//! Histories in which many keys arrive nearly in order: flushes that keep back those that do not, and flushes
//! that write all, show the same as a sorted map.

use std::sync::Mutex;

use crate::kit_model::choices::Choices;
use crate::kit_model::generate::Generator;
use crate::kit_model::model::Model;
use crate::kit_model::operation::{Cover, Key, Op, Scan, ValueSpec, Walk, Write};
use crate::kit_model::runs::{cases, number, scaled};
use crate::kit_model::session::{Session, Worked};
use crate::kit_model::shrink::{Failure, check};
use rhumb::{Levels, Options, TableSpec};

/// Writes of the default keyspace in order, but for some.
struct Arrivals {
    next: u64,
    displaced_percent: u64,
    farthest: u64,
}

impl Arrivals {
    fn new(choices: &mut Choices) -> Self {
        Arrivals {
            next: 0,
            displaced_percent: choices.pick(&[0, 1, 3, 10]),
            farthest: choices.pick(&[20, 100, 1000]),
        }
    }

    fn batch(&mut self, choices: &mut Choices) -> Op {
        let writes = (0..choices.pick(&[10, 40, 120])).map(|_| {
            self.next += 1;
            let away = match choices.percent(self.displaced_percent) {
                true => choices.below(self.farthest),
                false => 0,
            };
            let at = match choices.percent(50) {
                true => self.next + away,
                false => self.next.saturating_sub(away),
            };
            let key = Key(format!("in order {at:06}").into_bytes());
            match choices.percent(4) {
                true => Write::Delete(0, key),
                false => {
                    let (bytes, tag) = (choices.below(12) as usize, choices.next());
                    Write::Put(0, key, ValueSpec { bytes, tag })
                }
            }
        });
        Op::Batch(true, writes.collect())
    }
}

fn history(seed: u64) -> Vec<Op> {
    let mut choices = Choices::seeded(seed);
    let length = choices.pick(&[10, 30, 60]);
    let others = Generator::new(&mut choices).list(length);
    let mut arrivals = Arrivals::new(&mut choices);
    let mut ops = Vec::new();
    for other in others {
        for _ in 0..choices.below(4) {
            ops.push(arrivals.batch(&mut choices));
        }
        ops.push(other);
    }
    ops.extend([Walk::Forward, Walk::Backward].map(|walk| {
        Op::Scan(Scan {
            keyspace: 0,
            snapshot: None,
            cover: Cover::All,
            walk,
            between: (0, Vec::new()),
        })
    }));
    ops
}

fn options(seed: u64) -> Options {
    let mut choices = Choices::seeded(seed ^ 0xa11);
    Options {
        write_buffer_bytes: 8 << 10,
        log_bytes: choices.pick(&[16 << 10, 64 << 10, 1 << 20]),
        table: TableSpec {
            table_bytes: choices.pick(&[2 << 10, 1 << 20]),
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: choices.pick(&[2, 4]),
            base_bytes: choices.pick(&[1, 8 << 10, 1 << 20]),
            level0_tables: choices.pick(&[1, 2, 4]),
            ..Levels::default()
        },
        ..Options::in_memory()
    }
}

fn run(options: &Options, ops: &[Op], totals: &Mutex<[Worked; 2]>) -> Result<(), Failure> {
    let mut model = Model::new();
    let mut sessions = [true, false].map(|on| {
        let options = Options {
            file_system: Options::in_memory().file_system,
            ..options.clone()
        };
        let mut session = Session::new(options).unwrap();
        session.set_holding_back(on);
        (on, session)
    });
    for (i, op) in ops.iter().enumerate() {
        let expected = model.run(op);
        for (on, session) in &mut sessions {
            let found = session.run(op);
            if found != expected {
                let why = format!(
                    "keeping back: {on}: {op:?}\n found    {found:?}\n expected {expected:?}"
                );
                return Err(Failure { after: i + 1, why });
            }
        }
    }
    let mut totals = totals.lock().unwrap();
    for (total, (_, session)) in totals.iter_mut().zip(&sessions) {
        total.add(session.worked());
    }
    Ok(())
}

#[test]
fn three_hundred_histories_show_the_same_whether_flushes_keep_back_or_not() {
    let totals = Mutex::new([Worked::default(); 2]);
    cases("nearly sorted", 300, |seed| {
        let (ops, options) = (history(seed), options(seed));
        check(&ops, &|ops| run(&options, ops, &totals))
    });
    let [on, off] = totals.into_inner().unwrap();
    println!("{on:?}\n{off:?}");
    let alone = number("RHUMB_SEED").is_some();
    assert!(alone || on.partial_flushes.min(on.direct_placements) > scaled(300));
    // What an opening replays may be flushed before it is turned off.
    assert!(off.partial_flushes * 4 <= on.partial_flushes);
}
