//! The work of cells.

mod breakdown;
mod environment;
mod keys;
mod phases;
mod points;
mod ranges;

pub use self::ranges::count as ranges_of;
use super::Work;
use super::study::{Records, Setting, Study};
use crate::error::Result;
use crate::results::Measured;

/// Measures a cell without a store.
///
/// # Errors
/// Failures of the machine's files.
pub fn keys_or_machine(work: Work, setting: &Setting<'_>, records: &Records) -> Result<Measured> {
    match work {
        Work::Environment => environment::measure(setting),
        _ => Ok(keys::measure(&records.input)),
    }
}

/// Measures a cell over a store; none if this machine does not permit it.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn over_store(work: Work, study: &Study<'_>) -> Result<Option<Measured>> {
    match work {
        Work::Points(reading) => points::measure(study, reading),
        Work::Breakdown => with_fallbacks(breakdown::measure(study)?, study),
        Work::Ranges(length) => with_fallbacks(ranges::measure(study, length)?, study),
        Work::Phases(phases) => with_fallbacks(phases::measure(study, phases)?, study),
        Work::Loading => Ok(Some(study.loading.clone())),
        Work::Environment | Work::Keys => {
            keys_or_machine(work, study.setting, study.records).map(Some)
        }
    }
}

/// Adds the share of tables that fell back to fence pointers when they were loaded.
fn with_fallbacks(mut measured: Measured, study: &Study<'_>) -> Result<Option<Measured>> {
    measured.put("fallback_share", study.fallback_share, "tables/table");
    Ok(Some(measured))
}
