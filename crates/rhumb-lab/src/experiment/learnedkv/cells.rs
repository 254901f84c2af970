//! Cells of experiments on value logs: one for each system.

use super::arms::{OVER_PROVISION, RECORD_BYTES, systems};
use super::{Amounts, Build, Count, Data, Fill, Phase, Planned, Result, Work};
use crate::data::Sizes;

/// Cells that have everything in common but their systems.
pub struct Cells<'a> {
    /// The groups of systems.
    pub systems: &'a [&'a [&'static str]],
    /// The set of keys.
    pub set: &'a str,
    pub entries: usize,
    /// At which collection begins, in percent.
    pub over_provision: u32,
    /// The other axis with its value.
    pub axis: Option<(&'static str, String)>,
    /// More settings of the systems.
    pub settings: String,
    pub work: Work,
}

impl<'a> Cells<'a> {
    /// Cells over uniform keys, with the over-provision of the protocol.
    pub fn new(systems: &'a [&'a [&'static str]], entries: usize, work: Work) -> Cells<'a> {
        Cells {
            systems,
            set: "uniform",
            entries,
            over_provision: OVER_PROVISION,
            axis: None,
            settings: String::new(),
            work,
        }
    }

    /// The cells by a value of an axis.
    pub fn at(self, axis: &'static str, value: impl ToString) -> Cells<'a> {
        Cells {
            axis: Some((axis, value.to_string())),
            ..self
        }
    }

    /// A cell for each system of this build.
    ///
    /// # Errors
    /// If the settings of one are invalid.
    pub fn planned(&self, amounts: &Amounts) -> Result<Vec<Planned>> {
        let cell = |(name, system): (&str, _)| {
            let mut axes = vec![("system", name.to_string())];
            axes.extend(self.axis.clone());
            Planned {
                axes,
                data: Data {
                    values: Some(Sizes::Fixed(RECORD_BYTES as usize - 8)),
                    ..Data::new(self.set, self.entries)
                },
                build: Some(Build {
                    system,
                    fill: Fill::Nothing,
                }),
                work: self.work,
            }
        };
        let sizes = (self.entries, self.over_provision);
        let systems = systems(amounts, sizes, self.systems, &self.settings)?;
        Ok(systems.into_iter().map(cell).collect())
    }
}

/// The cells of all points of an axis.
///
/// # Errors
/// As [`Cells::planned`].
pub fn over<'a, T>(
    points: impl IntoIterator<Item = T>,
    amounts: &Amounts,
    cells: impl Fn(T) -> Cells<'a>,
) -> Result<Vec<Planned>> {
    let planned = points.into_iter().map(|at| cells(at).planned(amounts));
    Ok(planned.collect::<Result<Vec<_>>>()?.concat())
}

/// Entries from which on all points of an axis are measured, else its ends.
const FEWEST: usize = 100_000;

/// Whether a scale is too small for all points of an axis.
pub fn is_brief(amounts: &Amounts) -> bool {
    amounts.swept < FEWEST
}

/// All points of an axis, or its first and last.
pub fn points<T: Copy>(all: &[T], amounts: &Amounts) -> Vec<T> {
    match all {
        [first, .., last] if is_brief(amounts) => vec![*first, *last],
        all => all.to_vec(),
    }
}

/// The load of all records.
pub const LOAD: Phase = Phase::whole("p0", "insert=100", Count::OfRecords(1.0));

/// The load, and three phases of a mix.
pub const fn phases(mix: &'static str) -> [Phase; 4] {
    [
        LOAD,
        Phase::whole("p1", mix, Count::OfRecords(1.0)),
        Phase::whole("p2", mix, Count::OfRecords(1.0)),
        Phase::whole("p3", mix, Count::OfRecords(1.0)),
    ]
}

/// The load, and three phases of which half the operations read.
pub const HALF: &[Phase] = &phases("rw=50:50,zipfian=0.99");
