//! `nfl`: a flow is used if the more even numbers repay its cost, and the slots follow from the
//! costs.

use crate::{count, form, keys};

/// The cache lines in all, those of the root, and whether there is a flow.
fn shape(spec: &str, numbers: &[u64]) -> (usize, usize, bool) {
    let bytes = form(spec, numbers);
    (count(&bytes, 16), count(&bytes, 20), bytes[24] == 1)
}

/// Exact counts for a seed of the cache lines that the costs choose, without and with a flow.
#[test]
fn a_flow_is_kept_for_heavy_tails_only() {
    let sets = [
        (
            keys::even(100_000, 9),
            [(10_101, 10_101), (10_101, 10_101)],
            false,
        ),
        (
            keys::uniform(100_000),
            [(35_580, 33_333), (35_570, 33_333)],
            false,
        ),
        (
            keys::clustered(100_000, 300),
            [(20_379, 1_666), (20_358, 1_666)],
            false,
        ),
        (
            keys::with_late_outliers(100_000),
            [(21_941, 21_649), (22_816, 21_649)],
            false,
        ),
        (
            keys::heavy_tailed(100_000),
            [(15_219, 5_698), (17_368, 17_094)],
            true,
        ),
    ];
    for (numbers, [(lines, root), (lines_of_flow, root_of_flow)], is_kept) in sets {
        let [auto, never, always] =
            ["auto", "never", "always"].map(|flow| shape(&format!("nfl:flow={flow}"), &numbers));
        assert_eq!(never, (lines, root, false));
        assert_eq!(always, (lines_of_flow, root_of_flow, true));
        assert_eq!(auto, if is_kept { always } else { never });
    }
}
