//! The steps of each script, by what they exercise.

use std::collections::BTreeMap;

use super::super::script::{Recipe, Step, key, value};
use super::super::{LOSSES, Random};

/// Repeats writes; after every `every` of them comes the step of `also`.
fn repeat(
    random: &mut Random,
    length: u64,
    recipe: Recipe,
    every: u64,
    mut also: impl FnMut(&mut Random, u64) -> Option<Step>,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for number in 0..length {
        steps.push(recipe.write(random, number));
        if number % every == every - 1 {
            steps.extend(also(random, number / every));
        }
    }
    steps.push(Step::Read);
    steps
}

pub fn writes(random: &mut Random, length: u64) -> Vec<Step> {
    repeat(random, length, Recipe::PLAIN, 6, |_, _| Some(Step::Sync))
}

pub fn batches(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        batch: 6,
        keyspaces: 3,
        buffered_percent: 70,
        ..Recipe::PLAIN
    };
    let mut steps = vec![Step::Create(1), Step::Create(2)];
    // One keyspace is flushed while writes of the others are only in the log.
    steps.extend(repeat(random, length, recipe, 9, |r, n| {
        Some(match n % 4 {
            3 => Step::Kill,
            _ => Step::Flush(r.below(3) as usize),
        })
    }));
    steps
}

pub fn flush(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        value_bytes: 700,
        buffered_percent: 85,
        ..Recipe::PLAIN
    };
    repeat(random, length, recipe, 14, |_, _| Some(Step::Flush(0)))
}

pub fn compaction(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keys: 40,
        value_bytes: 500,
        batch: 8,
        buffered_percent: 80,
        ..Recipe::PLAIN
    };
    repeat(random, length, recipe, 8, |r, n| {
        Some(match n % 3 {
            2 => Step::Compact(0, r.percent(50)),
            _ => Step::Flush(0),
        })
    })
}

/// Long values are overwritten, so that value files hold garbage.
pub fn collection(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keys: 60,
        value_bytes: 1_500,
        batch: 6,
        buffered_percent: 80,
        ..Recipe::PLAIN
    };
    repeat(random, length, recipe, 7, |r, n| {
        Some(match n % 9 {
            1 => Step::Hold,
            4 => Step::Read,
            5 => crash(r),
            6 => Step::Reopen,
            2 | 8 => Step::Compact(0, r.percent(50)),
            _ => Step::Flush(0),
        })
    })
}

pub fn moves(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        ascending: true,
        value_bytes: 600,
        batch: 6,
        delete_percent: 0,
        buffered_percent: 80,
        ..Recipe::PLAIN
    };
    repeat(random, length, recipe, 8, |_, _| Some(Step::Flush(0)))
}

/// Small entries, so that a write buffer has many, most of them in order.
pub fn nearly_sorted(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        ascending: true,
        displaced_percent: 2,
        value_bytes: 1,
        batch: 30,
        delete_percent: 5,
        buffered_percent: 80,
        ..Recipe::PLAIN
    };
    let mut steps = repeat(random, length, recipe, 7, |_, n| match n % 6 {
        0 => Some(Step::Hold),
        2 => Some(Step::Sync),
        5 => Some(Step::Flush(0)),
        _ => None,
    });
    steps.push(Step::Kill);
    steps
}

pub fn rotation(random: &mut Random, length: u64) -> Vec<Step> {
    // A keyspace with few writes pins the logs until it is flushed for their sake.
    let pin = Recipe {
        keyspaces: 2,
        ..Recipe::PLAIN
    };
    let recipe = Recipe {
        value_bytes: 1500,
        buffered_percent: 60,
        ..Recipe::PLAIN
    };
    let mut steps = vec![Step::Create(1)];
    steps.extend(repeat(random, length, recipe, 11, |r, n| {
        Some(if n % 3 == 2 {
            Step::Kill
        } else {
            pin.write(r, n)
        })
    }));
    steps
}

pub fn manifest(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        value_bytes: 60,
        keyspaces: 4,
        batch: 3,
        ..Recipe::PLAIN
    };
    let mut steps: Vec<Step> = (1..4).map(Step::Create).collect();
    steps.extend(repeat(random, length, recipe, 2, |r, _| {
        Some(Step::Flush(r.below(4) as usize))
    }));
    steps
}

pub fn reopen(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keyspaces: 2,
        batch: 3,
        value_bytes: 400,
        range_delete_percent: 3,
        ..Recipe::PLAIN
    };
    let mut steps = vec![Step::Create(1)];
    steps.extend(repeat(random, length, recipe, 5, |r, n| {
        Some(match n % 6 {
            0 => Step::Kill,
            1 => Step::Flush(0),
            3 => Step::Reopen,
            5 => Step::Flush(1),
            _ => crash(r),
        })
    }));
    steps
}

pub fn keyspaces(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keyspaces: 4,
        batch: 4,
        value_bytes: 300,
        ..Recipe::PLAIN
    };
    repeat(random, length, recipe, 2, |r, n| {
        let which = 1 + r.below(3) as usize;
        Some(match n % 8 {
            0 | 2 | 5 => Step::Create(which),
            3 | 6 => Step::Drop(which),
            4 => Step::Kill,
            _ => Step::Flush(which),
        })
    })
}

/// A loss of power that takes more or less of what was not synced.
fn crash(random: &mut Random) -> Step {
    let loss = LOSSES[random.below(LOSSES.len() as u64) as usize];
    Step::Crash(loss, random.next())
}

/// A value set, or removed, by comparing.
fn swap(random: &mut Random, keyspaces: u64) -> Step {
    let (which, at) = (random.below(keyspaces) as usize, random.below(60));
    let new = random.percent(80).then(|| value(random, 100));
    Step::Swap(which, key(at), new)
}

/// Values are compared in the write buffer and in tables, behind buffered writes that may be lost.
pub fn swaps(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keyspaces: 2,
        buffered_percent: 80,
        range_delete_percent: 5,
        ..Recipe::PLAIN
    };
    let mut steps = vec![Step::Create(1)];
    steps.extend(repeat(random, length, recipe, 1, |r, n| {
        Some(match n % 9 {
            3 => Step::Flush(r.below(2) as usize),
            8 => crash(r),
            _ => swap(r, 2),
        })
    }));
    steps
}

/// Some keys with values or without, as finished tables or as sorted entries.
fn ingest(random: &mut Random, keyspaces: u64) -> Step {
    let which = random.below(keyspaces) as usize;
    let (from, span) = (random.below(60), 1 + random.below(60));
    let mut entries = BTreeMap::new();
    for _ in 0..1 + random.below(12) {
        let value = random.percent(85).then(|| value(random, 100));
        entries.insert(key(from + random.below(span)), value);
    }
    Step::Ingest(which, entries, random.percent(50))
}

/// Ingests into empty keyspaces, over and beside what is there, among writes that are not durable.
pub fn ingests(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keyspaces: 2,
        batch: 3,
        value_bytes: 300,
        buffered_percent: 80,
        range_delete_percent: 5,
        ..Recipe::PLAIN
    };
    let mut steps = vec![ingest(random, 1), Step::Create(1)];
    steps.extend(repeat(random, length, recipe, 2, |r, n| {
        Some(match n % 10 {
            1 => Step::Hold,
            3 => Step::Compact(r.below(2) as usize, r.percent(50)),
            5 => Step::Read,
            7 => crash(r),
            9 => match n % 20 {
                9 => Step::Drop(1),
                _ => Step::Create(1),
            },
            _ => ingest(r, 2),
        })
    }));
    steps
}

/// Options of keyspaces come, change and go, between flushes by them.
pub fn options(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keyspaces: 3,
        batch: 3,
        value_bytes: 300,
        ..Recipe::PLAIN
    };
    repeat(random, length, recipe, 3, |r, n| {
        let (which, number) = (r.below(3) as usize, r.below(6) as usize);
        Some(match n % 8 {
            0 => Step::CreateWith(1 + n as usize / 8 % 2, number),
            2 => Step::Flush(which),
            4 => Step::Compact(which, false),
            5 => Step::Drop(2),
            6 => Step::Reopen,
            7 => Step::Kill,
            _ => Step::SetOptions(which, number),
        })
    })
}

pub fn range_deletes(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        range_delete_percent: 15,
        batch: 4,
        value_bytes: 400,
        ..Recipe::PLAIN
    };
    repeat(random, length, recipe, 6, |r, n| {
        Some(match n % 5 {
            0 => Step::Hold,
            2 => Step::Read,
            4 => Step::Compact(0, r.percent(50)),
            _ => Step::Flush(0),
        })
    })
}

pub fn reads(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        batch: 5,
        keyspaces: 2,
        value_bytes: 500,
        range_delete_percent: 4,
        ..Recipe::PLAIN
    };
    let mut steps = vec![Step::Create(1)];
    steps.extend(repeat(random, length / 2, recipe, 2, |r, n| {
        Some(match n % 8 {
            1 => Step::Hold,
            3 => Step::Flush(r.below(2) as usize),
            5 => Step::Reopen,
            7 => Step::Compact(r.below(2) as usize, false),
            _ => Step::Read,
        })
    }));
    steps
}

/// Buffered writes fill one log after another, while the ones before end; some writes among them are synced, or
/// flushed, or ask for what is; ingests come between.
pub fn logs(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        value_bytes: 1200,
        keyspaces: 2,
        buffered_percent: 90,
        ..Recipe::PLAIN
    };
    let mut steps = vec![Step::Create(1)];
    steps.extend(repeat(random, 2 * length, recipe, 9, |r, n| {
        Some(match n % 8 {
            0 => Step::Flush(r.below(2) as usize),
            2 => Step::Sync,
            3 => Step::SetOptions(1, r.below(6) as usize),
            4 => ingest(r, 2),
            5 => Step::Drop(1),
            6 => Step::Create(1),
            7 => crash(r),
            _ => Step::Read,
        })
    }));
    steps
}

/// Writes on a disk that is full at times.
pub fn full_disk(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        value_bytes: 700,
        keyspaces: 2,
        batch: 2,
        ..Recipe::PLAIN
    };
    let mut steps = vec![Step::Create(1)];
    steps.extend(repeat(random, length, recipe, 12, |r, n| {
        Some(match n % 4 {
            3 => Step::Kill,
            _ => Step::Full(r.below(4000)),
        })
    }));
    steps
}

/// Many writes, so that several merges run at once and lag behind.
pub fn merges(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keys: 200,
        value_bytes: 500,
        keyspaces: 2,
        batch: 30,
        buffered_percent: 95,
        range_delete_percent: 1,
        ..Recipe::PLAIN
    };
    let mut steps = vec![Step::Create(1)];
    steps.extend(repeat(random, length / 2, recipe, 3, |r, n| {
        let which = r.below(2) as usize;
        Some(match n % 10 {
            1 | 5 => Step::Compact(which, r.percent(50)),
            0 => Step::Hold,
            3 => Step::Drop(1),
            4 => Step::Create(1),
            2 | 6 | 8 => Step::Kill,
            _ => Step::Flush(which),
        })
    }));
    steps
}

/// All kinds of steps, at random.
pub fn mixed(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        keys: 20 + random.below(60),
        value_bytes: 50 + random.below(900),
        buffered_percent: random.below(101),
        batch: 1 + random.below(8),
        keyspaces: 1 + random.below(4),
        delete_percent: random.below(30),
        range_delete_percent: random.below(10),
        ascending: random.percent(20),
        displaced_percent: random.below(5),
    };
    let mut steps: Vec<Step> = (1..recipe.keyspaces as usize).map(Step::Create).collect();
    let every = 1 + random.below(8);
    steps.extend(repeat(random, length, recipe, every, |r, _| {
        let which = r.below(recipe.keyspaces) as usize;
        Some(match r.below(24) {
            23 => ingest(r, recipe.keyspaces),
            22 => swap(r, recipe.keyspaces),
            20 => Step::CreateWith(which, r.below(6) as usize),
            21 => Step::SetOptions(which, r.below(6) as usize),
            0..6 => Step::Flush(which),
            6..8 => Step::Compact(which, r.percent(50)),
            8..10 => Step::Sync,
            10 => Step::Create(which),
            11 => Step::Drop(which),
            12..14 => Step::Hold,
            14 => Step::Reopen,
            15 => Step::Kill,
            16 => crash(r),
            _ => Step::Read,
        })
    }));
    steps
}
