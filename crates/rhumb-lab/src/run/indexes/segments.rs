//! The number of segments for each set, with each algorithm of segmentation.

use rhumb_index::Segmentation;

use super::{BOUNDS, Bench, NAME, Source};
use crate::data::numbers::Numbers;
use crate::error::Result;
use crate::results::Subject;
use crate::table;

const WAYS: [(Segmentation, &str); 3] = [
    (Segmentation::Optimal, "optimal"),
    (Segmentation::Greedy, "greedy"),
    (Segmentation::Cone, "cone"),
];

/// Segments of the published implementations for 10,000,000 keys, in the order of [`WAYS`].
const REFERENCE: [(Numbers, u32, [u32; 3]); 8] = [
    (Numbers::Uniform, 8, [37_622, 51_772, 110_905]),
    (Numbers::Uniform, 16, [10_176, 14_082, 31_469]),
    (Numbers::Uniform, 64, [695, 965, 2_199]),
    (Numbers::Uniform, 128, [177, 247, 573]),
    (Numbers::Osm, 16, [124_207, 138_509, 177_752]),
    (Numbers::Osm, 64, [35_960, 53_395, 77_309]),
    (Numbers::Wiki, 64, [4_053, 4_389, 5_321]),
    (Numbers::Dense, 64, [142, 190, 448]),
];

/// Counts segments, saves the counts, and returns their table.
///
/// # Errors
/// Ctrl-C.
pub fn count(source: &Source, bench: &mut Bench) -> Result<String> {
    let headings = [
        "eps",
        "optimal",
        "ref",
        "greedy",
        "ref",
        "cone",
        "ref",
        "greedy/optimal",
        "cone/optimal",
    ];
    let mut table = table::new(&headings.map(str::to_string), 0);
    let steps = BOUNDS.len() * WAYS.len();
    bench
        .progress
        .stage(format!("{}: segments", source.name), steps);
    for bound in BOUNDS {
        let known = REFERENCE
            .iter()
            .find(|(set, eps, _)| source.set == Some(*set) && *eps == bound);
        let mut row = vec![bound.to_string()];
        let mut counts = [0.0; 3];
        for (way, (segmentation, name)) in WAYS.into_iter().enumerate() {
            counts[way] = segmentation.pieces(&source.keys, bound) as f64;
            let reference = known.map(|(_, _, counts)| f64::from(counts[way]));
            row.extend([Some(counts[way]), reference].map(|count| table::number(count, 0)));
            let subject = Subject {
                experiment: NAME,
                input: source.name.clone(),
                index: name.to_string(),
            };
            let metric = format!("segments, eps {bound}");
            bench.report.put(&subject, &metric, counts[way], "segments");
            bench.progress.advance(1)?;
        }
        row.extend([1, 2].map(|way| table::number(Some(counts[way] / counts[0]), 2)));
        table.add_row(row);
    }
    Ok(format!(
        "{table}\n\n{}: number of line segments that are within eps of every key.\n\n",
        source.name
    ))
}
