//! `radix-spline`: a radix table of the bits that were asked for or, if none were, of about one
//! cell for each knot.

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

/// The shift of the table over the distance from the first knot to the last, and its cells, for a
/// number of bits.
fn table(spline: &Spline, bits: u32) -> ([u8; 4], usize) {
    let (first, last) = (spline.knots[0].0, spline.knots[spline.knots.len() - 1].0);
    let width = u64::BITS - (last - first).leading_zeros();
    let shift = width.saturating_sub(bits);
    let cells = ((last - first) >> shift) + 2;
    ([0, shift as u8, 0, 0], cells as usize)
}

#[test]
fn the_table_has_the_bits_asked_for_however_few_the_knots_are() {
    for numbers in [keys::uniform(50_000), keys::uniform(50), keys::even(9, 1)] {
        for bits in [1, 4, 9, 10, 18, 24] {
            let spline = Spline::of(&format!("radix-spline:radix_bits={bits}"), &numbers);
            assert_eq!((spline.top, spline.cells), table(&spline, bits), "{bits}");
            assert_eq!(spline.left_out, [0, 0]);
        }
    }
    // The published table: 2^18 entries, and the one after the last.
    let all = [0, 1 << 63, u64::MAX];
    let spline = Spline::of("radix-spline:radix_bits=18", &all);
    assert_eq!(spline.cells, (1 << 18) + 1);
}

#[test]
fn by_default_the_table_has_about_one_cell_for_each_knot() {
    for count in [3, 50, 5_000, 50_000] {
        let numbers = keys::uniform(count);
        for spec in ["radix-spline", "radix-spline:radix_bits=0"] {
            let spline = Spline::of(spec, &numbers);
            let enough = spline.knots.len().next_power_of_two().ilog2();
            assert_eq!((spline.top, spline.cells), table(&spline, enough), "{spec}");
            assert!(spline.cells <= 2 * spline.knots.len() + 2);
        }
    }
    // But no more than 2^18 cells: each third key ends a line here.
    let numbers: Vec<u64> = (0..1_200_000u64)
        .map(|i| (i / 4) * 1_000_000 + i % 4 * (i % 4))
        .collect();
    let spline = Spline::of("radix-spline:boundary=4", &numbers);
    assert!(spline.knots.len() > 1 << 18, "{}", spline.knots.len());
    assert_eq!((spline.top, spline.cells), table(&spline, 18));
}
