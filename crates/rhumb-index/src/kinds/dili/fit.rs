//! A line and slots for the keys of a leaf.

use super::cell::RUN;
use crate::kinds::shared::fixed_line::FixedLine;

/// A line and slots for a leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeafShape {
    pub(super) line: FixedLine,
    pub(super) slots: usize,
    /// Cells of runs after the slots.
    pub(super) run_cells: usize,
}

/// The line and the slots of a leaf of these entries, at least two; see
/// [`super::leaf::Leaf::build`].
pub(super) fn best(entries: &[(u64, u64)], ratio: f64, expects_more: bool) -> LeafShape {
    let len = entries.len();
    let first = entries.first().map_or(0, |entry| entry.0);
    let last = entries.last().map_or(0, |entry| entry.0);
    let most = ((len as f64 * ratio) as usize).max(2);
    let fitted = FixedLine::fitted(entries, ratio);
    let equal = FixedLine::equal(first, last, most);
    let most = if expects_more { most + most / 2 } else { most };
    let (by_fitted, by_equal) = (
        fall_of(fitted, most, entries),
        fall_of(equal, most, entries),
    );
    let (mut line, mut fall) = match by_fitted.cost < by_equal.cost {
        true => (fitted, by_fitted),
        false => (equal, by_equal),
    };
    if fall.largest > len.div_ceil(2).max(RUN) {
        // Neither line separates the keys well. This one halves them, which keeps depth
        // logarithmic.
        let middle = entries
            .get(len / 2 - 1..)
            .and_then(|rest| rest.first_chunk::<2>());
        line = middle.map_or(line, |[below, above]| FixedLine::parting(below.0, above.0));
        fall = fall_of(line, most, entries);
    }
    let slots = match expects_more {
        true => most,
        false => line.slot(last, most).max(1) + 1,
    };
    LeafShape {
        line,
        slots,
        run_cells: fall.cells,
    }
}

/// The cost of a line for the keys of a leaf.
#[derive(Debug, Default, Clone, Copy)]
struct Fall {
    cost: usize,
    /// Cells of runs.
    cells: usize,
    largest: usize,
}

fn fall_of(line: FixedLine, slots: usize, entries: &[(u64, u64)]) -> Fall {
    let mut fall = Fall::default();
    for (_, group) in groups(line, slots, entries) {
        let len = group.len();
        fall.largest = fall.largest.max(len);
        fall.cost += match len {
            1 => 1,
            // A nested leaf: its line and slots are read too, and some of its keys collide again.
            _ if len > RUN => 4 * len,
            _ => {
                fall.cells += len;
                2 * len
            }
        };
    }
    fall
}

/// Groups entries by slot.
pub(super) fn groups(
    line: FixedLine,
    slots: usize,
    entries: &[(u64, u64)],
) -> impl Iterator<Item = (usize, &[(u64, u64)])> {
    let slot = move |entry: &(u64, u64)| line.slot(entry.0, slots);
    let together = entries.chunk_by(move |a, b| slot(a) == slot(b));
    together.filter_map(move |group| Some((slot(group.first()?), group)))
}
