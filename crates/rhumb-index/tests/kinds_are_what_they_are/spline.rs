//! Common properties of `radix-spline` and `plex`: the byte form of a spline, and its greedy
//! corridor.

use rhumb_index::registry;

use crate::{count, form, keys, number};

/// A spline and its top, read from its bytes.
pub struct Spline {
    /// The number and the rank of each knot.
    pub knots: Vec<(u64, u64)>,
    /// The kind, shift, bits a level and limit of the top.
    pub top: [u8; 4],
    /// Knots at either end that the top leaves out.
    pub left_out: [u8; 2],
    /// Cells of the top.
    pub cells: usize,
}

impl Spline {
    pub fn of(spec: &str, numbers: &[u64]) -> Spline {
        Spline::read(&form(spec, numbers))
    }

    pub fn read(bytes: &[u8]) -> Spline {
        let knot = |i| {
            let at = 32 + 12 * i;
            (number::<8>(bytes, at), number::<4>(bytes, at + 8))
        };
        Spline {
            knots: (0..count(bytes, 4)).map(knot).collect(),
            top: bytes[21..25].try_into().unwrap(),
            left_out: [bytes[25], bytes[26]],
            cells: count(bytes, 28),
        }
    }
}

/// The knots of the greedy corridor (Neumann and Michel, section 4) for an error in 1/64 of a rank:
/// a segment continues while the next point is inside the corridor, and ends at the last point that
/// was.
fn corridor(numbers: &[u64], bound: i128) -> Vec<(u64, u64)> {
    let point = |rank: usize| (i128::from(numbers[rank]), 64 * rank as i128);
    // A direction is a pair of run and rise.
    let above = |a: (i128, i128), b: (i128, i128)| a.1 * b.0 > b.1 * a.0;
    let mut knots = vec![0];
    let (mut base, mut low, mut high) = (0, (1, 0), (0, 1));
    for rank in 1..numbers.len() {
        let to = |base: usize| {
            let (from, to) = (point(base), point(rank));
            (to.0 - from.0, to.1 - from.1)
        };
        let direction = to(base);
        if above(direction, high) || above(low, direction) {
            base = rank - 1;
            knots.push(base);
            (low, high) = ((1, 0), (0, 1));
        }
        let (run, rise) = to(base);
        let (floor, ceiling) = ((run, (rise - bound).max(0)), (run, rise + bound));
        if above(floor, low) {
            low = floor;
        }
        if above(high, ceiling) {
            high = ceiling;
        }
    }
    knots.push(numbers.len() - 1);
    knots
        .iter()
        .map(|rank| (numbers[*rank], *rank as u64))
        .collect()
}

#[test]
fn knots_are_those_of_the_greedy_corridor() {
    for numbers in [
        keys::uniform(30_000),
        keys::heavy_tailed(30_000),
        keys::clustered(30_000, 40),
    ] {
        for boundary in [4, 16, 130] {
            let error = (boundary - 2) / 2;
            // Rounding gains half a rank, of which 1/32 of a rank is reserved.
            let expected = corridor(&numbers, i128::from(64 * error + 30));
            for kind in ["radix-spline", "plex"] {
                let spline = Spline::of(&format!("{kind}:boundary={boundary}"), &numbers);
                assert!(spline.knots == expected, "{kind} {boundary}");
            }
        }
    }
}

/// A segment ends after 2^18 ranks, like a line.
#[test]
fn no_segment_is_longer_than_its_prediction_is_exact() {
    let most = 1 << 18;
    let numbers = keys::even(2 * most + 1000, 3);
    for kind in ["radix-spline", "plex"] {
        let spline = Spline::of(kind, &numbers);
        let mut builder = registry::builder(&kind.parse().unwrap()).unwrap();
        for number in &numbers {
            builder.push(&number.to_be_bytes(), *number).unwrap();
        }
        let single = Spline::read(&builder.finish().unwrap());
        assert_eq!(spline.knots, single.knots, "{kind}");
        let ranks: Vec<u64> = spline.knots.iter().map(|knot| knot.1).collect();
        // A knot is also the last key of a segment.
        let ends = [0, most - 1, 2 * (most - 1), 2 * most + 999];
        assert_eq!(ranks, ends, "{kind}");
    }
}
