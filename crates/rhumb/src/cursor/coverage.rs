//! The range deletes over the keys that an iterator visits.

use std::ops::Bound;
use std::sync::Arc;

use crate::entry::{Direction, RangeDeleteTree, Sequence, Span, is_before, is_behind};
use crate::error::Result;
use crate::memtable::Memtable;
use crate::table::Limits;
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
        let mut coverage = Coverage {
            visible,
            memtables: Vec::new(),
            runs: runs.cloned().collect(),
            sequence: 0,
            from: Vec::new(),
            to: Some(Vec::new()),
        };
        coverage.reuse(memtables, visible);
        coverage
    }

    /// Makes this the range deletes up to another sequence in the same runs and memtables.
    pub fn reuse<'a>(
        &mut self,
        memtables: impl Iterator<Item = &'a Arc<Memtable>>,
        visible: Sequence,
    ) {
        self.rest();
        self.visible = visible;
        (self.memtables).extend(memtables.filter_map(|m| m.range_deletes()));
        (self.sequence, self.to) = (0, Some(Vec::new()));
        self.from.clear();
    }

    /// Keeps no range deletes of memtables until it [is used again](Coverage::reuse).
    pub fn rest(&mut self) {
        self.memtables.clear();
    }

    /// Whether there are no range deletes at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.memtables.is_empty() && self.runs.is_empty()
    }

    /// The sequence of the newest visible range delete over `key`: it deletes all older versions. 0
    /// if there is none.
    ///
    /// # Errors
    /// If a table that may delete the key cannot be opened.
    #[inline]
    pub fn over(&mut self, key: &[u8]) -> Result<Sequence> {
        if self.is_empty() {
            return Ok(0);
        }
        let known = self.from.as_slice() <= key && self.to.as_deref().is_none_or(|to| key < to);
        if !known {
            self.look(key)?;
        }
        Ok(self.sequence)
    }

    /// What entries in a direction from the last key asked for must not reach: a bound, and where range deletes may be over keys
    /// again. `None` if one is over that key.
    pub fn limits<'k>(
        &'k self,
        direction: Direction,
        bound: Bound<&'k [u8]>,
    ) -> Option<Limits<'k>> {
        let bound = match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        };
        if self.is_empty() {
            return Some([bound, None, None]);
        }
        let free_until = match direction {
            Direction::Forward => self.to.as_deref(),
            Direction::Backward => Some(&*self.from),
        };
        (self.sequence == 0).then_some([bound, free_until, None])
    }

    /// A start of keys, up to the last one asked for, that are all deleted at the same sequence or
    /// later; a key before the bound `from` if that is reached first. Only for a key that is
    /// deleted.
    ///
    /// # Errors
    /// As [`Coverage::over`].
    pub fn start(&mut self, from: Bound<&[u8]>) -> Result<Vec<u8>> {
        let sequence = self.sequence;
        let mut start = self.from.clone();
        let mut below = Vec::new();
        while !is_before(&start, from) && key_below(&start, &mut below) {
            self.look(&below)?;
            let reaches = self.to.as_deref().is_none_or(|to| to >= start.as_slice());
            if self.sequence < sequence || !reaches {
                break;
            }
            start.clone_from(&self.from);
        }
        Ok(start)
    }

    /// The end, excluded, of the keys from the last one asked for on that are deleted at the same
    /// sequence or later; a key behind the bound `to` if that comes first. Only for a key that is
    /// deleted.
    ///
    /// # Errors
    /// As [`Coverage::over`].
    pub fn end(&mut self, to: Bound<&[u8]>) -> Result<Vec<u8>> {
        let sequence = self.sequence;
        let mut end = Vec::new();
        while self.sequence >= sequence
            && let Some(further) = self.to.as_deref().filter(|to| *to > end.as_slice())
        {
            end.clear();
            end.extend_from_slice(further);
            if is_behind(&end, to) {
                break;
            }
            self.look(&end)?;
        }
        Ok(end)
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

/// Makes `below` a key shortly before `key`; returns `false` if there is none. Where some lie
/// between the two, a range that starts or ends there is not joined with its neighbour.
fn key_below(key: &[u8], below: &mut Vec<u8>) -> bool {
    let Some((last, rest)) = key.split_last() else {
        return false;
    };
    below.clear();
    below.extend_from_slice(rest);
    if let Some(last) = last.checked_sub(1) {
        below.push(last);
        below.extend_from_slice(&[u8::MAX; 16]);
    }
    true
}

/// The newest visible range delete over `key` in the tables of a run. A table deletes nothing
/// outside its key range: the span reaches to the neighbours of the table that may hold the key.
fn around<'a>(run: &'a Run, key: &[u8], visible: Sequence) -> Result<Span<'a>> {
    let tables = run.tables();
    let at = run.ending_before(key);
    let before = at.checked_sub(1).and_then(|before| tables.get(before));
    let from = before.map_or(&[][..], |t| &*t.meta.largest);
    let table = tables.get(at);
    let Some(holding) = table.filter(|t| &*t.meta.smallest <= key) else {
        let to = table.map(|t| &*t.meta.smallest);
        return Ok(Span {
            from,
            to,
            sequence: 0,
        });
    };
    let bounds = Span {
        from,
        to: tables.get(at + 1).map(|t| &*t.meta.smallest),
        sequence: 0,
    };
    match holding.meta.range_deletes {
        0 => Ok(bounds),
        _ => Ok(bounds.and(holding.reader()?.range_deletes().around(key, visible))),
    }
}
