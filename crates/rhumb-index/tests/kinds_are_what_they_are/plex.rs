//! `plex`: the top with the least expected cost, chosen without a knob.

use crate::keys;
use crate::spline::Spline;

/// What the cost model takes for keys of a seed: a radix table where knots are spread evenly, a Hist-Tree where
/// they are not, outliers left out. Bits, limit and shift follow from the costs.
#[test]
fn each_shape_of_keys_gets_the_top_that_suits_it() {
    let sets = [
        ("uniform", keys::uniform(50_000)),
        ("heavy-tailed", keys::heavy_tailed(50_000)),
        ("clustered", keys::clustered(50_000, 300)),
        ("outliers", keys::with_late_outliers(50_000)),
    ];
    let tops = sets.map(|(name, numbers)| {
        let spline = Spline::of("plex:boundary=4", &numbers);
        // No more than the spline itself takes.
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
