//! RadixSpline (Kipf et al., "RadixSpline: a single-pass learned index", aiDM 2020): a greedy
//! linear spline under a radix table over the most significant bits of a number's distance to the
//! first.
//!
//! The table has the bits of the knob `radix_bits`, however few the knots are: with 18 bits, as in
//! the published experiments, 2^17 to 2^18 cells of 4 bytes. By default it has about one cell a
//! knot.
//!
//! See [`super::shared::spline`] for the guarantee and the byte form. Building takes constant time
//! a key. A look-up reads two cells of the table and searches the knots between them: one or two
//! knots where numbers are spread evenly, all M of them, in O(log M) steps, where nearly all
//! numbers share their highest bits.

use super::shared::knobs::BOUNDARY;
use super::shared::retained::RETAINED;
use super::shared::spline::{Knot, LeftOut, RadixTable, Spline, SplineBuilder, Top};
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::knob::{Knob, Settings};

const RADIX_BITS: Knob = Knob {
    name: "radix_bits",
    about: "bits that index the radix table; 0: as many as give about one cell a knot, at most 18",
    default: 0,
    min: 0,
    max: 24,
    choices: &[],
};

pub(crate) const KIND: Kind = Kind {
    name: "radix-spline",
    id: 7,
    about: "greedy linear spline under a radix table (Kipf et al., aiDM 2020)",
    knobs: &[BOUNDARY, RETAINED, RADIX_BITS],
    needs_number: true,
    answers: Answers::Windows,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| {
        Box::new(SplineBuilder::new(
            &KIND,
            settings,
            BOUNDARY.of(settings),
            table_for,
        ))
    },
    open: |bytes| Ok(Box::new(Spline::open(&KIND, &bytes, is_table)?)),
};

fn is_table(top: Top, left_out: LeftOut) -> bool {
    matches!(top, Top::Radix(_)) && left_out == LeftOut::default()
}

/// The most bits that are used without being asked for: those of the published experiments.
const MOST_BITS: u32 = 18;

/// A table of the bits asked for. Otherwise one with at most about one cell a knot: more would cost
/// memory and save next to nothing.
fn table_for(settings: &Settings, knots: &[Knot], _keys: u64) -> (Top, LeftOut) {
    let (first, last) = (knots.first(), knots.last());
    let range = last.zip(first).map_or(0, |(l, f)| l.number - f.number);
    let enough = knots.len().next_power_of_two().ilog2();
    let bits = match RADIX_BITS.of(settings) as u32 {
        0 => enough.min(MOST_BITS),
        bits => bits,
    };
    let table = RadixTable::new(range, bits);
    (Top::Radix(table), LeftOut::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IndexBuilder, IndexError, registry};

    /// As plex may, whose byte form is the same.
    fn leave_one_out(_: &Settings, knots: &[Knot], _: u64) -> (Top, LeftOut) {
        let left_out = LeftOut { low: 0, high: 1 };
        let rest = left_out.rest(knots);
        let range = rest[rest.len() - 1].number - rest[0].number;
        (Top::Radix(RadixTable::new(range, 4)), left_out)
    }

    #[test]
    fn a_table_that_leaves_knots_out_is_damage() {
        let settings = registry::settings("radix-spline");
        let mut builder = SplineBuilder::new(&KIND, &settings, 16, leave_one_out);
        let numbers: Vec<u64> = (0..10_000).map(|i| i * i).collect();
        builder.push_numbers(&numbers).unwrap();
        let form = Box::new(builder).finish().unwrap();
        assert!(Spline::open(&KIND, &form, |_, _| true).is_ok());
        let opened = registry::open(&form).map(|index| index.extent());
        assert!(
            matches!(opened, Err(IndexError::Damaged { .. })),
            "{opened:?}"
        );
    }

    #[test]
    fn more_cells_than_the_bytes_hold_are_damage() {
        let settings = registry::settings("radix-spline:radix_bits=18");
        let mut builder = (KIND.builder)(&settings);
        builder.push_numbers(&[0, 1 << 40, u64::MAX]).unwrap();
        let form = builder.finish().unwrap();
        assert!(registry::open(&form).is_ok());
        for cells in [(1u32 << 18) + 2, 1 << 24, u32::MAX] {
            let mut damaged = form.clone();
            damaged[28..32].copy_from_slice(&cells.to_le_bytes());
            let opened = registry::open(damaged).map(|index| index.extent());
            assert!(
                matches!(opened, Err(IndexError::Damaged { .. })),
                "{opened:?}"
            );
        }
    }
}
