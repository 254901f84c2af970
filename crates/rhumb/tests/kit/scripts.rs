//! The scripts with which every call site and every crash point is tried. Each is named after the
//! part of the store that it exercises.

pub mod steps;

use rhumb::Compaction;

use super::script::Step;
use super::{Random, SHAPES, case_seed};

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
        (TIER_VALUES, _) => SHAPES.len() - 3,
        (TIER_INLINE, _) => SHAPES.len() - 2,
        (TIER_WHOLE, _) => SHAPES.len() - 1,
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

/// The scripts of a learned tier: without value files, with some that values stay in or come back from, and as published.
const TIER: &str = "learned-tier";
const TIER_VALUES: &str = "tier-values";
const TIER_INLINE: &str = "tier-inline";
const TIER_WHOLE: &str = "tier-whole";

/// The script whose value files hold groups of keys.
pub const HASHED: &str = "hashed";

/// All scripts, of about `length` steps each.
pub fn all(length: u64) -> Vec<Script> {
    let made: [(&'static str, Make); 27] = [
        ("writes", steps::writes),
        ("batches", steps::batches),
        ("flush", steps::flush),
        ("compaction", steps::compaction),
        ("moves", steps::moves),
        ("rotation", steps::rotation),
        ("manifest", steps::manifest),
        ("reopen", steps::reopen),
        ("keyspaces", steps::keyspaces),
        ("range-deletes", steps::range_deletes),
        ("reads", steps::reads),
        ("unsettled", steps::mixed),
        (FULL_DISK, steps::full_disk),
        ("leveled", steps::merges),
        ("full-level", steps::merges),
        ("tiered", steps::merges),
        ("options", steps::options),
        ("swaps", steps::swaps),
        (LOGS, steps::logs),
        (NEARLY_SORTED, steps::nearly_sorted),
        ("ingest", steps::ingests),
        ("collection", steps::collection),
        (HASHED, steps::collection),
        (TIER, steps::merges),
        (TIER_VALUES, steps::collection),
        (TIER_INLINE, steps::collection),
        (TIER_WHOLE, steps::collection),
    ];
    let scripts = made.into_iter().enumerate().map(|(i, (name, make))| {
        let mut random = Random(case_seed(i as u64));
        // Their steps make more calls than those of others.
        let shorter = [TIER, TIER_VALUES, TIER_INLINE, TIER_WHOLE].contains(&name);
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
