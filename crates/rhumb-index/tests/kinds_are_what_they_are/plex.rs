//! `plex`: the top with the least expected cost, which no knob controls.

use crate::keys;
use crate::spline::Spline;

/// The cost model's choice for keys of a seed: a radix table if knots are spread evenly, else a
/// Hist-Tree, without outliers. Bits, limit and shift follow from the costs.
#[test]
fn each_distribution_gets_the_cheapest_top() {
    let sets = [
        ("uniform", keys::uniform(50_000)),
        ("heavy-tailed", keys::heavy_tailed(50_000)),
        ("clustered", keys::clustered(50_000, 300)),
        ("outliers", keys::with_late_outliers(50_000)),
    ];
    let tops = sets.map(|(name, numbers)| {
        let spline = Spline::of("plex:boundary=4", &numbers);
        // The top takes no more bytes than the spline.
        assert!(spline.cells * 4 <= spline.knots.len() * 12, "{name}");
        (spline.top, spline.left_out)
    });
    let expected = [
        ([1, 58, 6, 8], [0, 0]),
        ([1, 22, 4, 8], [0, 31]),
        ([0, 49, 0, 0], [0, 0]),
        ([1, 34, 6, 8], [0, 2]),
    ];
    assert_eq!(tops, expected);
}
