//! The scripts with which every call site and every crash point is tried. Each is named after the
//! part of the store that it exercises.

use std::collections::BTreeMap;

use super::script::{Recipe, Step, key, value};
use rhumb::Compaction;

use super::{LOSSES, Random, SHAPES, case_seed};

/// A script with its name.
#[derive(Debug, Clone)]
pub struct Script {
    pub name: &'static str,
    pub steps: Vec<Step>,
    /// Whether to wait after each step until background work is done.
    pub settled: bool,
    /// The shapes of levels with which the store is opened, in turn.
    pub shapes: Vec<Compaction>,
    /// The index in [`PARTITIONS`](super::PARTITIONS) for the first opening; later openings
    /// alternate.
    pub first_partition: usize,
    /// Into how many groups keys are divided at the openings that write values apart from them.
    pub groups: Option<u16>,
}

/// All shapes; `number` determines which comes first.
pub fn shapes(number: u64) -> Vec<Compaction> {
    let mut shapes = SHAPES.to_vec();
    shapes.rotate_left(number as usize % SHAPES.len());
    shapes
}

/// All shapes in turn for the script of that number, whose name may say which comes first.
fn shapes_for(name: &str, number: usize) -> Vec<Compaction> {
    let named = |shape: &Compaction| shape.to_string().starts_with(name);
    let number = match (name, SHAPES.iter().position(named)) {
        (TIER_VALUES, _) => SHAPES.len() - 2,
        (TIER_INLINE, _) => SHAPES.len() - 1,
        (_, Some(named)) => named,
        // Leveled comes first for the scripts whose tables should move, or be put below level 0.
        _ => (number + 2) % 3,
    };
    shapes(number as u64)
}

/// Makes the steps of a script with about this many writes.
type Make = fn(&mut Random, u64) -> Vec<Step>;

/// The script whose disk is full at times.
pub const FULL_DISK: &str = "full-disk";

/// The script that replaces logs faster than they end.
pub const LOGS: &str = "logs";

/// The script of which flushes keep something back.
pub const NEARLY_SORTED: &str = "nearly-sorted";

/// The scripts of a learned tier: without value files, and with some that values stay in or come back from.
const TIER: &str = "learned-tier";
const TIER_VALUES: &str = "tier-values";
const TIER_INLINE: &str = "tier-inline";

/// The script whose value files hold groups of keys.
pub const HASHED: &str = "hashed";

/// All scripts, of about `length` steps each.
pub fn all(length: u64) -> Vec<Script> {
    let made: [(&'static str, Make); 26] = [
        ("writes", writes),
        ("batches", batches),
        ("flush", flush),
        ("compaction", compaction),
        ("moves", moves),
        ("rotation", rotation),
        ("manifest", manifest),
        ("reopen", reopen),
        ("keyspaces", keyspaces),
        ("range-deletes", range_deletes),
        ("reads", reads),
        ("unsettled", mixed),
        (FULL_DISK, full_disk),
        ("leveled", merges),
        ("full-level", merges),
        ("tiered", merges),
        ("options", options),
        ("swaps", swaps),
        (LOGS, logs),
        (NEARLY_SORTED, nearly_sorted),
        ("ingest", ingests),
        ("collection", collection),
        (HASHED, collection),
        (TIER, merges),
        (TIER_VALUES, collection),
        (TIER_INLINE, collection),
    ];
    let scripts = made.into_iter().enumerate().map(|(i, (name, make))| {
        let mut random = Random(case_seed(i as u64));
        // Their steps make more calls than those of others.
        let shorter = [TIER, TIER_VALUES, TIER_INLINE].contains(&name);
        let steps = make(&mut random, if shorter { length / 2 } else { length });
        let settled = !["unsettled", LOGS].contains(&name) && name.parse::<Compaction>().is_err();
        Script {
            name,
            steps,
            settled,
            shapes: shapes_for(name, i),
            first_partition: i / 3 % 2,
            groups: (name == HASHED).then_some(3),
        }
    });
    scripts.collect()
}

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

fn writes(random: &mut Random, length: u64) -> Vec<Step> {
    repeat(random, length, Recipe::PLAIN, 6, |_, _| Some(Step::Sync))
}

fn batches(random: &mut Random, length: u64) -> Vec<Step> {
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

fn flush(random: &mut Random, length: u64) -> Vec<Step> {
    let recipe = Recipe {
        value_bytes: 700,
        buffered_percent: 85,
        ..Recipe::PLAIN
    };
    repeat(random, length, recipe, 14, |_, _| Some(Step::Flush(0)))
}

fn compaction(random: &mut Random, length: u64) -> Vec<Step> {
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
fn collection(random: &mut Random, length: u64) -> Vec<Step> {
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
            5 => Step::Crash(LOSSES[r.below(LOSSES.len() as u64) as usize], r.next()),
            6 => Step::Reopen,
            2 | 8 => Step::Compact(0, r.percent(50)),
            _ => Step::Flush(0),
        })
    })
}

fn moves(random: &mut Random, length: u64) -> Vec<Step> {
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
fn nearly_sorted(random: &mut Random, length: u64) -> Vec<Step> {
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

fn rotation(random: &mut Random, length: u64) -> Vec<Step> {
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

fn manifest(random: &mut Random, length: u64) -> Vec<Step> {
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

fn reopen(random: &mut Random, length: u64) -> Vec<Step> {
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
            _ => Step::Crash(LOSSES[r.below(LOSSES.len() as u64) as usize], r.next()),
        })
    }));
    steps
}

fn keyspaces(random: &mut Random, length: u64) -> Vec<Step> {
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

/// A value set, or removed, by comparing.
fn swap(random: &mut Random, keyspaces: u64) -> Step {
    let (which, at) = (random.below(keyspaces) as usize, random.below(60));
    let new = random.percent(80).then(|| value(random, 100));
    Step::Swap(which, key(at), new)
}

/// Values are compared in the write buffer and in tables, behind buffered writes that may be lost.
fn swaps(random: &mut Random, length: u64) -> Vec<Step> {
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
            8 => Step::Crash(LOSSES[r.below(LOSSES.len() as u64) as usize], r.next()),
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
fn ingests(random: &mut Random, length: u64) -> Vec<Step> {
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
            7 => Step::Crash(LOSSES[r.below(LOSSES.len() as u64) as usize], r.next()),
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
fn options(random: &mut Random, length: u64) -> Vec<Step> {
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

fn range_deletes(random: &mut Random, length: u64) -> Vec<Step> {
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

fn reads(random: &mut Random, length: u64) -> Vec<Step> {
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
fn logs(random: &mut Random, length: u64) -> Vec<Step> {
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
            7 => Step::Crash(LOSSES[r.below(LOSSES.len() as u64) as usize], r.next()),
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
fn merges(random: &mut Random, length: u64) -> Vec<Step> {
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
            16 => Step::Crash(LOSSES[r.below(LOSSES.len() as u64) as usize], r.next()),
            _ => Step::Read,
        })
    }));
    steps
}
