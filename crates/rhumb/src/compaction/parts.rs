//! Which keys a flush writes, in how many tables, and which it keeps back.

use super::order::Cut;
use crate::entry::{Cursor, MAX_SEQUENCE, Sequence, set_key};
use crate::error::Result;
use crate::memtable::Memtable;
use crate::sync::Arc;

#[cfg(test)]
#[cfg(not(loom))]
mod tests;

/// Late entries are written when they make up this part of a memtable: fewer do not pay for a merge with all
/// that their keys span.
const LATE_PAYS: u64 = 4;

/// User keys from `from` on, below `to`; without `to`, all from `from` on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct KeyRange {
    pub from: Box<[u8]>,
    pub to: Option<Box<[u8]>>,
}

impl KeyRange {
    fn new(from: Option<&[u8]>, to: Option<&[u8]>) -> Self {
        KeyRange {
            from: from.unwrap_or_default().into(),
            to: to.map(Box::from),
        }
    }

    /// Whether the keys of the range end before a key.
    #[inline]
    pub fn ends_before(&self, key: &[u8]) -> bool {
        self.to.as_deref().is_some_and(|to| to <= key)
    }

    /// Whether no key is in it.
    fn is_empty(&self) -> bool {
        self.ends_before(&self.from)
    }
}

/// The parts into which a flush divides the keys of its memtables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The ranges to be written, each as a table of its own, in order.
    pub write: Vec<KeyRange>,
    /// The ranges to be kept back, in order.
    pub keep: Vec<KeyRange>,
}

impl Parts {
    /// Everything is written, as one table.
    pub fn whole() -> Self {
        Parts {
            write: vec![KeyRange::default()],
            keep: Vec::new(),
        }
    }

    /// What a flush of `memtable` and of what is `held` back now does where it may cut. Entries with
    /// sequences up to `expired` are written.
    pub fn of(
        cut: &Cut,
        memtable: &Memtable,
        held: Option<&Arc<Memtable>>,
        expired: Sequence,
    ) -> Result<Self> {
        let (frontier, early) = (cut.frontier.as_deref(), cut.early.as_deref());
        let far = cut.far.as_deref().or(early);
        let late = KeyRange::new(None, Some(frontier.unwrap_or_default()));
        let in_order = KeyRange::new(frontier, early);
        let near = KeyRange::new(early, Some(early.and(far).unwrap_or_default()));
        let farther = match far {
            Some(far) => KeyRange::new(Some(far), None),
            None => KeyRange::new(None, Some(&[])),
        };
        let look = |range: &KeyRange| look_at(held, range);
        let (of_late, of_near, of_far) = (look(&late)?, look(&near)?, look(&farther)?);
        let is_old = |oldest: Option<Sequence>| oldest.is_some_and(|s| s <= expired);
        if is_old(memtable.smallest_sequence()) || is_old(of_near.oldest) {
            return Ok(Parts::whole());
        }
        let late_keys = of_late.keys + cut.late_keys;
        let late_pays = late_keys * LATE_PAYS >= memtable.keys();
        let mut parts = Parts {
            write: Vec::new(),
            keep: Vec::new(),
        };
        parts.add(late, late_pays || is_old(of_late.oldest));
        parts.add(in_order, true);
        parts.add(near, false);
        parts.add(farther, is_old(of_far.oldest));
        Ok(parts)
    }

    fn add(&mut self, range: KeyRange, write: bool) {
        if range.is_empty() {
            return;
        }
        let list = if write {
            &mut self.write
        } else {
            &mut self.keep
        };
        match list.last_mut() {
            // What is kept back is in one memtable, and need not be gone through twice.
            Some(last) if !write && last.to.as_ref() == Some(&range.from) => last.to = range.to,
            _ => list.push(range),
        }
    }
}

/// What is held back of some keys.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    keys: u64,
    /// The smallest sequence.
    oldest: Option<Sequence>,
}

fn look_at(held: Option<&Arc<Memtable>>, range: &KeyRange) -> Result<Held> {
    let mut seen = Held::default();
    let Some(held) = held.filter(|_| !range.is_empty()) else {
        return Ok(seen);
    };
    let mut cursor = held.cursor();
    cursor.seek(&range.from, MAX_SEQUENCE)?;
    let mut last: Option<Vec<u8>> = None;
    while let Some(here) = cursor.here().filter(|here| !range.ends_before(here.key)) {
        if last.as_deref() != Some(here.key) {
            seen.keys += 1;
            set_key(last.get_or_insert_default(), here.key);
        }
        let oldest = seen.oldest.unwrap_or(here.sequence);
        seen.oldest = Some(oldest.min(here.sequence));
        cursor.next()?;
    }
    Ok(seen)
}
