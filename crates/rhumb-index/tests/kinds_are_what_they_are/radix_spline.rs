//! `radix-spline`: a radix table of at most the bits that were asked for and about one cell for
//! each knot.

use crate::keys;
use crate::lines::Row;
use crate::spline::Spline;

/// Exact counts for a seed: one knot more than segments. A segment must end at a key, so there are
/// three times as many as the fewest lines.
#[test]
fn uniform_keys_take_three_times_the_fewest_lines() {
    let numbers = keys::uniform(200_000);
    let knots = [16, 34, 66].map(|boundary| {
        let of = |kind: &str| format!("{kind}:boundary={boundary}");
        let found = Spline::of(&of("radix-spline"), &numbers).knots.len();
        let fewest = Row::of(&of("pgm"), &numbers).len();
        let ratio = found as f64 / fewest as f64;
        assert!((2.8..3.2).contains(&ratio), "{boundary}: {ratio}");
        found
    });
    assert_eq!(knots, [2_567, 606, 160]);
}

#[test]
fn the_table_has_the_given_bits_or_those_of_the_number_of_knots() {
    let numbers = keys::uniform(50_000);
    for bits in [1, 4, 9, 10, 18, 24] {
        let spline = Spline::of(&format!("radix-spline:radix_bits={bits}"), &numbers);
        let (first, last) = (spline.knots[0].0, spline.knots[spline.knots.len() - 1].0);
        let worth = spline.knots.len().next_power_of_two().ilog2();
        let shift = 64 - bits.min(worth);
        assert_eq!(spline.top, [0, shift as u8, 0, 0], "{bits}");
        assert_eq!(spline.left_out, [0, 0]);
        assert_eq!(spline.cells as u64, ((last - first) >> shift) + 2, "{bits}");
    }
}
