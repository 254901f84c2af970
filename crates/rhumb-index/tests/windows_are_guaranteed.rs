//! Checks the windows and blocks of every kind over every distribution against the true ranks.
//!
//! Replays from `RHUMB_SEED`; `RHUMB_DEEP` multiplies the look-ups.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::time::Instant;

use common::{from_env, specs};
use rhumb_index::check::{self, Case, CheckError, SplitMix64, check, distributions, map_of};
use rhumb_index::registry::Answers;
use rhumb_index::{IndexError, IndexSpec, KeyMap, KeyMapBuilder, registry};

const LOOKUPS: u64 = 10_000_000;
const BOUNDARIES: [u64; 6] = [4, 5, 16, 17, 64, 1024];

/// The longest run of keys that share a number.
fn longest_tie(keys: &[Vec<u8>], map: &KeyMap) -> usize {
    keys.chunk_by(|a, b| map.number(a) == map.number(b))
        .map(<[_]>::len)
        .max()
        .unwrap_or(0)
}

/// Whether an index with the most leaves that are tried, one for each key, has too many windows
/// above the boundary with each root that may be used. This is what `rmi` claims when it gives up.
fn leaves_run_out(case: &Case<'_>, boundary: u64) -> bool {
    let (leaves, map) = (case.keys.len().max(1), case.map.unwrap());
    let spare = leaves * (100 - case.spec.get("within").unwrap() as usize) / 100;
    let roots = match case.spec.named("root") {
        Some(1) => &["linear"][..],
        Some(2) => &["cubic"],
        _ => &["linear", "cubic"],
    };
    roots.iter().all(|root| {
        let spec: IndexSpec = format!("rmi:leaves={leaves},root={root}").parse().unwrap();
        let case = Case {
            spec: &spec,
            ..*case
        };
        let index = registry::open(check::build(&case, map).unwrap()).unwrap();
        let is_wide = |key: &&Vec<u8>| {
            let window = index.window(map.number(key));
            // Windows at either end of the table may have been cut there.
            let is_cut = window.lo == 0 || window.hi == index.extent();
            let width = match is_cut {
                true => index.widest_window(),
                false => window.hi - window.lo,
            };
            width > boundary
        };
        case.keys.iter().filter(is_wide).count() > spare
    })
}

/// Checks one index. Returns how many look-ups were made, and whether the keys were rightly
/// reported unfit.
fn one(
    keys: &[Vec<u8>],
    spec: &IndexSpec,
    map: &KeyMap,
    cut_every: usize,
    seed: u64,
) -> (u64, bool) {
    let case = Case {
        keys,
        spec,
        cut_every,
        map: Some(map),
        random: keys.len(),
    };
    match check(&case, seed) {
        Ok(counts) => (counts.lookups, false),
        Err(CheckError::Index(IndexError::Unfit { why, .. })) => {
            if spec.answers() == Answers::Slots {
                let number = |rank: usize| map.number(&keys[rank]);
                let mut starts = (cut_every..keys.len()).step_by(cut_every);
                let tied = starts.any(|rank| number(rank - 1) == number(rank));
                assert!(tied, "{spec} gave up: {why}");
                return (0, true);
            }
            let boundary = spec.get("boundary").expect("only boundaries are not kept");
            let tie = longest_tie(keys, map) as u64;
            let tied = spec.promised_window().is_some() && boundary - 2 < tie + 1;
            assert!(
                tied || spec.kind().name == "rmi" && leaves_run_out(&case, boundary),
                "{spec} gave up for a tie of {tie}: {why}"
            );
            (0, true)
        }
        Err(error) => panic!("seed {seed}: {error}"),
    }
}

#[test]
fn every_window_and_block_holds_its_key() {
    let seed = from_env("RHUMB_SEED", 0x7268_756d_6221);
    let target = LOOKUPS * from_env("RHUMB_DEEP", 1);
    println!("replay with RHUMB_SEED={seed}");
    let start = Instant::now();
    let (mut lookups, mut indexes, mut fallbacks, mut round) = (0, 0, 0, 0usize);
    while lookups < target {
        let mut random = SplitMix64::new(seed.wrapping_add(round as u64));
        for distribution in distributions::all() {
            let count = [300, 3, 5500, 20_000][round % 4];
            let keys = distribution.keys(&mut random, count);
            let own = map_of(&keys);
            // Sometimes the map also covers other keys, as after a compaction.
            let mut union = KeyMapBuilder::new();
            union.absorb(&own);
            union.absorb(&map_of(
                &check::distributions::by_name("uuid")
                    .unwrap()
                    .keys(&mut random, 50),
            ));
            let maps = [own, union.build()];
            for spec in specs(&BOUNDARIES) {
                let map = &maps[usize::from(random.below(5) == 0)];
                let cut_every = 1 + random.below(40) as usize;
                let (more, fell_back) = one(&keys, &spec, map, cut_every, random.next_u64());
                lookups += more;
                indexes += 1;
                fallbacks += u64::from(fell_back);
            }
        }
        round += 1;
    }
    println!(
        "{lookups} look-ups in {indexes} indexes ({fallbacks} fell back) over {} distributions, \
         seed {seed}, {:?}",
        distributions::all().count(),
        start.elapsed()
    );
    assert!(distributions::all().count() >= 40);
    assert!(fallbacks * 4 < indexes, "models serve most distributions");
}
