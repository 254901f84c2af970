//! Common properties of `plr`, `fiting-tree` and `pgm`: the byte form of lines, and how long a line
//! may be.

use rhumb_index::registry;

use crate::{count, form, keys, number};

/// A row of lines, read from its bytes.
pub struct Row {
    /// The number of the first key of each.
    pub starts: Vec<u64>,
    /// The rank of the first key of each, and the number of keys.
    pub ranks: Vec<u64>,
    /// Where the row ends.
    pub end: usize,
}

impl Row {
    pub fn read(bytes: &[u8], at: usize) -> Row {
        let (lines, flags) = (count(bytes, at), number::<2>(bytes, at + 14));
        let records = at + 20 + 8 * lines;
        Row {
            starts: (0..lines)
                .map(|i| number::<8>(bytes, at + 20 + 8 * i))
                .collect(),
            ranks: (0..=lines)
                .map(|i| number::<4>(bytes, records + 12 * i))
                .collect(),
            end: records + 12 * (lines + 1) + if flags == 1 { 2 * lines } else { 0 },
        }
    }

    pub fn of(spec: &str, numbers: &[u64]) -> Row {
        Row::read(&form(spec, numbers), 4)
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }
}

/// How far a line may be from a rank if windows hold at most `boundary` keys: rounding predictions
/// gains half a rank, and 1/32 of a rank is reserved for rounding slopes.
pub fn bound(boundary: u64) -> f64 {
    ((boundary - 2) / 2) as f64 + 0.5 - 1.0 / 32.0
}

/// Numbers that distinguish the algorithms by how many numbers the first line covers: one at 0, one
/// at X, and then 32 for each further X, where the line through the first two numbers has only one.
///
/// With the bound b, a line that is u X long can rise by at most
/// - (1 + b) u if it goes through the first number ([`crate::fiting_tree`]),
/// - 1 + b + (1 + 2 b) (u - 1) if it goes through the middle of the first two ([`crate::plr`]), or
///   if any line is allowed ([`crate::pgm`]).
///
/// To cover the number of rank 1 + 32 (u - 1), a line must rise to at least this rank minus b.
pub fn corner() -> Vec<u64> {
    let steps = (0..100).map(|i| (1 << 40) + i * (1 << 35));
    [0].into_iter().chain(steps).collect()
}

/// A line ends after 2^18 ranks even if the keys are on a straight line. This holds for keys pushed
/// singly and in bulk, and with and without keys that share numbers.
#[test]
fn no_line_is_longer_than_its_slope_is_exact() {
    let most = 1 << 18;
    let numbers = keys::even(2 * most + 1000, 3);
    for kind in ["plr", "fiting-tree", "pgm"] {
        let row = Row::of(kind, &numbers);
        assert_eq!(row.ranks, [0, most, 2 * most, 2 * most + 1000], "{kind}");
        for keys_a_number in [1, 2] {
            let mut builder = registry::builder(&kind.parse().unwrap()).unwrap();
            for number in &numbers[..1000 + most as usize / keys_a_number] {
                for i in 0..keys_a_number as u8 {
                    let key = [number.to_be_bytes().as_slice(), &[i]].concat();
                    builder.push(&key, *number).unwrap();
                }
            }
            let row = Row::read(&builder.finish().unwrap(), 4);
            let keys = most + 1000 * keys_a_number as u64;
            assert_eq!(row.ranks, [0, most, keys], "{kind}");
        }
    }
}
