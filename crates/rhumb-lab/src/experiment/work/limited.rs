//! Where a store reads blocks from: a page cache that holds all of it, one that is limited, or the
//! device.

use crate::error::Result;
use crate::experiment::Reading;
use crate::experiment::study::Study;
use crate::measure::{ControlGroup, directory_bytes};
use crate::results::{Measured, Permitted};
use crate::store::{Pages, Store};

/// The size of a limited page cache as a share of the store, as published (75 GB of 100 GiB).
const PAGE_CACHE_SHARE: f64 = 0.70;

/// Opens the store, warms it up, and measures. Says why if the page cache cannot be limited here.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn with_reading(
    study: &Study<'_>,
    reading: Reading,
    warm_up: impl Fn(&dyn Store) -> Result<()>,
    measure: impl FnOnce(&dyn Store) -> Result<Measured>,
) -> Result<Permitted> {
    if reading != Reading::Limited {
        let store = study.open(reading)?;
        warm_up(&*store)?;
        let measured = measure(&*store)?;
        store.close()?;
        return Ok(Ok(measured));
    }
    // A page counts for the group that first loaded it, so pages loaded before must go.
    Pages::of(&study.directory)?.leave()?;
    let group = match ControlGroup::enter()? {
        Ok(group) => group,
        Err(why) => return Ok(Err(why)),
    };
    let measured = in_group(study, &group, warm_up, measure);
    group.leave()?;
    measured.map(Ok)
}

fn in_group(
    study: &Study<'_>,
    group: &ControlGroup,
    warm_up: impl Fn(&dyn Store) -> Result<()>,
    measure: impl FnOnce(&dyn Store) -> Result<Measured>,
) -> Result<Measured> {
    let bytes = directory_bytes(&study.directory)? as f64;
    let store = study.open(Reading::Limited)?;
    // The memory of the store itself is not part of the page cache, so it is taken first.
    warm_up(&*store)?;
    group.limit_page_cache((bytes * PAGE_CACHE_SHARE) as u64)?;
    Pages::of(&study.directory)?.enter()?;
    let mut measured = measure(&*store)?;
    let held = group.page_cache()? as f64 / bytes;
    measured.put("page_cache_share", held, "B/B");
    store.close()?;
    Ok(measured)
}
