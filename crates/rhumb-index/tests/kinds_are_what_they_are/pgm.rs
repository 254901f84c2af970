//! `pgm`: the fewest possible lines on every level.

use rhumb_index::registry;

use crate::lines::{Row, bound, corner};
use crate::{count, form, keys};

/// The first ranks of the fewest lines that pass within the bound of all points, computed by
/// another method than the index's. Each line is extended as long as some line fits: the greatest
/// slope from one point's upper end to a later point's lower end must not exceed the least slope
/// from a lower end to a later upper end.
fn fewest(numbers: &[u64], bound: f64) -> Vec<u64> {
    let twice = (bound * 64.0) as i128;
    let mut starts = vec![0];
    let (mut start, mut down, mut up) = (0, (-1, 0), (1, 0));
    let mut rank = 1;
    while rank < numbers.len() {
        for before in start..rank {
            let dx = i128::from(numbers[rank] - numbers[before]);
            let dy = 32 * (rank - before) as i128;
            // Fractions, compared by cross products.
            if (dy - twice) * down.1 > down.0 * dx || down.1 == 0 {
                down = (dy - twice, dx);
            }
            if (dy + twice) * up.1 < up.0 * dx || up.1 == 0 {
                up = (dy + twice, dx);
            }
        }
        if down.0 * up.1 > up.0 * down.1 {
            starts.push(rank as u64);
            (start, down, up) = (rank, (-1, 0), (1, 0));
        }
        rank += 1;
    }
    starts
}

/// The lines and the levels above them, the lowest first.
fn levels(spec: &str, numbers: &[u64]) -> Vec<Row> {
    let bytes = form(spec, numbers);
    let mut rows = vec![Row::read(&bytes, 4)];
    let above = count(&bytes, rows[0].end);
    let mut at = rows[0].end + 4;
    for _ in 0..above {
        rows.push(Row::read(&bytes, at));
        at = rows[rows.len() - 1].end;
    }
    assert_eq!(at, bytes.len());
    rows
}

#[test]
fn every_level_has_the_fewest_lines_and_the_top_can_be_searched_at_once() {
    let sets = [
        keys::uniform(30_000),
        keys::heavy_tailed(30_000),
        keys::clustered(30_000, 40),
        corner(),
    ];
    for numbers in sets {
        for (boundary, recursive) in [(4, 1), (16, 4), (64, 2), (500, 256)] {
            let spec = format!("pgm:boundary={boundary},eps_recursive={recursive}");
            let few = 2 * recursive + 2;
            let (mut below, mut boundary) = (numbers.clone(), boundary);
            let levels = levels(&spec, &numbers);
            for (height, row) in levels.iter().enumerate() {
                let fewest = fewest(&below, bound(boundary));
                assert_eq!(row.ranks[..row.len()], fewest, "{spec}, level {height}");
                // Another level is needed only if this one has more lines than can be searched at
                // once.
                assert!(height == 0 || below.len() as u64 > few, "{spec}");
                (below, boundary) = (row.starts.clone(), few);
            }
            assert!(below.len() as u64 <= few, "{spec}");
        }
    }
}

/// A look-up goes through all levels to the line that covers its number, from the line's first
/// number to the last one below the next line. Predictions are clamped to the ranks of a line, so
/// they show which line was reached.
#[test]
fn levels_lead_to_the_line_that_holds_a_number() {
    let sets = [
        keys::uniform(30_000),
        keys::heavy_tailed(30_000),
        keys::clustered(30_000, 40),
    ];
    for numbers in sets {
        for recursive in [1, 2, 4] {
            let spec = format!("pgm:boundary=4,eps_recursive={recursive}");
            let row = Row::of(&spec, &numbers);
            let index = registry::open(form(&spec, &numbers)).unwrap();
            for (i, start) in row.starts.iter().enumerate() {
                let ranks = row.ranks[i]..row.ranks[i + 1];
                let end = row.starts.get(i + 1).map_or(u64::MAX, |next| next - 1);
                for number in [*start, end] {
                    let predicted = index.predict(number).unwrap();
                    assert!(ranks.contains(&predicted), "{spec}: line {i}, {number}");
                }
            }
        }
    }
}

/// Exact counts of the lines and the levels above for a seed.
#[test]
fn uniform_keys_take_known_numbers_of_lines() {
    let numbers = keys::uniform(200_000);
    let of = |spec: &str| -> Vec<usize> { levels(spec, &numbers).iter().map(Row::len).collect() };
    let specs = ["pgm", "pgm:boundary=130", "pgm:eps_recursive=1"];
    assert_eq!(specs.map(of), [vec![858, 2], vec![14, 1], vec![858, 14, 1]]);
}

#[test]
fn the_first_line_is_as_long_as_that_of_plr() {
    // Over these numbers, lines through the middle of the first two points are the longest
    // possible, see `corner`.
    assert_eq!(
        Row::of("pgm", &corner()).ranks[1],
        Row::of("plr", &corner()).ranks[1]
    );
}
