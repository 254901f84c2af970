//! The ranges of keys of a learned tier.

use std::ops::Bound;

use super::job::Hull;
use crate::version::{LEVELS, Levels};

/// The level of the learned tier: the last one, so that nothing is older.
pub(crate) const TIER: usize = LEVELS - 1;

/// The ranges into which the tier divides all keys, in their order: one for each table of its oldest run, up to the next
/// table's smallest key. One without bounds if there are no tables.
///
/// They are not stored. A table that is written anew may begin at a larger key than before, but what stood above it was
/// cut at the smaller one, and so lies in it or in what was the table before it.
pub(super) fn ranges(levels: &Levels) -> impl Iterator<Item = Hull<'_>> {
    let mut cuts = cuts(levels);
    let mut from = Some(&[][..]);
    std::iter::from_fn(move || {
        let begins = from.take()?;
        from = cuts.next();
        Some(Hull {
            from: begins,
            to: from.map_or(Bound::Unbounded, Bound::Excluded),
        })
    })
}

/// The keys, ascending, at which a new range begins.
pub(super) fn cuts(levels: &Levels) -> impl Iterator<Item = &[u8]> {
    let tier = levels.runs(TIER).last();
    let tables = tier.map_or(&[][..], |run| run.tables());
    tables.iter().skip(1).map(|table| &*table.meta.smallest)
}
