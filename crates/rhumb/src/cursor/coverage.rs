//! The range deletes over the keys that an iterator visits.

use std::sync::Arc;

use crate::entry::{RangeDeleteTree, Sequence, Span};
use crate::error::Result;
use crate::memtable::Memtable;
use crate::version::Run;

/// Finds the newest visible range delete over each key that an iterator visits. Remembers the range
/// of keys for which the last answer holds, so that neighbouring keys mostly need no search.
pub(super) struct Coverage {
    visible: Sequence,
    memtables: Vec<Arc<RangeDeleteTree>>,
    /// The runs that have range deletes.
    runs: Vec<Arc<Run>>,
    /// The last answer, and the range of keys for which it holds: `from..to`, empty at first.
    sequence: Sequence,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

impl Coverage {
    /// Takes the range deletes up to sequence `visible` in `memtables` and in `runs`.
    pub fn new<'a>(
        memtables: impl Iterator<Item = &'a Arc<Memtable>>,
        runs: impl Iterator<Item = &'a Arc<Run>>,
        visible: Sequence,
    ) -> Self {
        let runs = runs.filter(|run| run.has_range_deletes());
        Coverage {
            visible,
            memtables: memtables.filter_map(|m| m.range_deletes()).collect(),
            runs: runs.cloned().collect(),
            sequence: 0,
            from: Vec::new(),
            to: Some(Vec::new()),
        }
    }

    /// The sequence of the newest visible range delete over `key`: it deletes all older versions. 0
    /// if there is none.
    ///
    /// # Errors
    /// If a table that may delete the key cannot be opened.
    #[inline]
    pub fn over(&mut self, key: &[u8]) -> Result<Sequence> {
        if self.memtables.is_empty() && self.runs.is_empty() {
            return Ok(0);
        }
        let known = self.from.as_slice() <= key && self.to.as_deref().is_none_or(|to| key < to);
        if !known {
            self.look(key)?;
        }
        Ok(self.sequence)
    }

    fn look(&mut self, key: &[u8]) -> Result<()> {
        let mut span = Span::NOTHING;
        for tree in &self.memtables {
            span = span.and(tree.around(key, self.visible));
        }
        for run in &self.runs {
            span = span.and(around(run, key, self.visible)?);
        }
        self.sequence = span.sequence;
        self.from.clear();
        self.from.extend_from_slice(span.from);
        self.to = span.to.map(<[u8]>::to_vec);
        Ok(())
    }
}

/// The newest visible range delete over `key` in the tables of a run. A table deletes nothing
/// outside its key range.
fn around<'a>(run: &'a Run, key: &[u8], visible: Sequence) -> Result<Span<'a>> {
    let tables = run.tables();
    let at = tables.partition_point(|t| t.meta.ends_before(key));
    let Some(table) = tables.get(at).filter(|t| &*t.meta.smallest <= key) else {
        let before = at.checked_sub(1).and_then(|before| tables.get(before));
        return Ok(Span {
            from: before.map_or(&[], |t| &*t.meta.largest),
            to: tables.get(at).map(|t| &*t.meta.smallest),
            sequence: 0,
        });
    };
    let bounds = Span {
        from: &table.meta.smallest,
        to: Some(&table.meta.largest),
        sequence: 0,
    };
    match table.meta.range_deletes {
        0 => Ok(bounds),
        _ => Ok(bounds.and(table.reader()?.range_deletes().around(key, visible))),
    }
}
