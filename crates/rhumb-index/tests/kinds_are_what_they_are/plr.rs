//! `plr`: greedy lines through the crossing of the extreme lines of the first two points.

use crate::keys;
use crate::lines::{Row, bound, corner};

#[test]
fn lines_go_through_the_middle_of_the_first_two_points() {
    // 1 + 32 (u - 1) - b <= 1 + b + (1 + 2 b) (u - 1), see `corner`; plus the key at 0.
    let b = bound(16);
    let behind = 32.0 * (2.0 * b / (32.0 - 1.0 - 2.0 * b));
    assert_eq!(Row::of("plr", &corner()).ranks[1], 2 + behind as u64);
}

/// A line of `plr` must go through a fixed point. After 14 consecutive numbers, only a line that
/// passes above the first and below the last of them can continue, which `pgm` finds and `plr` does
/// not.
#[test]
fn a_crowd_at_the_start_ends_a_line() {
    let crowd = (0..14).chain((1..1000).map(|i| i << 30));
    let crowd: Vec<u64> = crowd.collect();
    let lines = |kind: &str| Row::of(kind, &crowd).len();
    assert_eq!((lines("plr"), lines("pgm")), (2, 1));
}

/// About 1.4 times the fewest lines, as for Xie et al. and Bourbon. Exact counts for a seed.
#[test]
fn uniform_keys_take_four_tenths_more_lines_than_the_fewest() {
    let numbers = keys::uniform(200_000);
    let lines = [16, 34, 66].map(|boundary| {
        let of = |kind: &str| Row::of(&format!("{kind}:boundary={boundary}"), &numbers).len();
        let (found, fewest) = (of("plr"), of("pgm"));
        let ratio = found as f64 / fewest as f64;
        assert!((1.3..1.45).contains(&ratio), "{boundary}: {ratio}");
        found
    });
    assert_eq!(lines, [1_147, 266, 81]);
}
