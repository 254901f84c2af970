//! The work of cells.

mod breakdown;
mod environment;
mod ingest;
mod keys;
mod limited;
mod media;
mod phases;
mod points;
mod ranges;
mod sources;
mod tuning;
mod watch;

pub use self::ingest::measure as ingest;
pub use self::ranges::count as ranges_of;
use super::Work;
use super::study::{Records, Setting, Study};
use crate::error::Result;
use crate::results::{Measured, Permitted};

/// Measures a cell without a store.
///
/// # Errors
/// Failures of the machine's files.
pub fn keys_or_machine(work: Work, setting: &Setting<'_>, records: &Records) -> Result<Measured> {
    match work {
        Work::Environment => environment::measure(setting),
        Work::ValueLogs => environment::value_logs(setting),
        Work::Uncached => environment::uncached(setting),
        _ => Ok(keys::measure(&records.input)),
    }
}

/// Measures a cell over a store, or says why this machine does not permit it.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn over_store(work: Work, study: &Study<'_>) -> Result<Permitted> {
    let measured = match work {
        Work::Points(reading) => return points::measure(study, reading),
        Work::Ranges(length, reading) => ranges::measure(study, length, reading)?,
        Work::Breakdown => Ok(breakdown::measure(study)?),
        Work::Phases(phases) => Ok(phases::measure(study, phases)?),
        Work::PhasesOn(medium, phases) => media::measure(study, medium, phases)?,
        Work::Ingest(phases) => return Ok(Ok(ingest(study, phases)?)),
        Work::Tuning(mixes) => Ok(tuning::measure(study, mixes)?),
        Work::Loading => return Ok(Ok(study.loading.clone())),
        Work::Environment | Work::ValueLogs | Work::Uncached | Work::Keys => {
            return keys_or_machine(work, study.setting, study.records).map(Ok);
        }
    };
    Ok(measured.map(|measured| with_fallbacks(measured, study)))
}

/// Adds the share of tables that fell back to fence pointers when they were loaded.
fn with_fallbacks(mut measured: Measured, study: &Study<'_>) -> Measured {
    measured.put("fallback_share", study.fallback_share, "tables/table");
    measured
}
