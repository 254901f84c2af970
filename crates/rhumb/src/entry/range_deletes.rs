//! Range deletes as fragments: ranges that do not overlap, each with the sequences that delete it.
//!
//! Which range delete covers a key is answered here alone: by `around`, for a table's list
//! ([`RangeDeletes`]) and for a memtable's ([`RangeDeleteTree`]), and by [`Ascending`] for all keys of a
//! merge in turn. Their users only combine the answers of several sources, with [`Span::and`].

mod ascending;
mod span;
mod sweep;
#[cfg(test)]
mod tests;
mod tree;

use super::Sequence;
use super::varint::{Reader, encode, encode_bytes};
use crate::sync::Arc;
pub(crate) use ascending::Ascending;
pub(crate) use span::Span;
pub(crate) use sweep::Piece;
use sweep::sweep;
pub(crate) use tree::RangeDeleteTree;

/// The user keys from `start` up to but excluding `end`, deleted at each of `sequences`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The first key deleted.
    pub start: Arc<[u8]>,
    /// The end of the range, excluded.
    pub end: Arc<[u8]>,
    /// The sequences of the deletes: at least one, strictly descending.
    pub sequences: Vec<Sequence>,
}

/// The range deletes of a table: fragments that ascend and do not overlap.
///
/// Every operation except decoding joins neighbours with the same sequences, so two values built by
/// operations are equal if they delete the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RangeDeletes {
    fragments: Vec<Fragment>,
}

/// Why an encoded list of fragments is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MalformedRangeDeletes {
    /// The position, in bytes from the start of the encoded list.
    pub offset: usize,
    /// What a sound list has there.
    pub expected: &'static str,
    /// What was found there.
    pub found: &'static str,
}

impl RangeDeletes {
    /// Whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// The fragments, ascending.
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// The first key deleted.
    pub fn smallest_start(&self) -> Option<&[u8]> {
        self.fragments.first().map(|f| &*f.start)
    }

    /// The end, excluded, of the last fragment.
    pub fn largest_end(&self) -> Option<&[u8]> {
        self.fragments.last().map(|f| &*f.end)
    }

    /// The memory taken, in bytes; visits all fragments.
    pub fn bytes(&self) -> usize {
        self.fragments
            .iter()
            .map(|f| size_of::<Fragment>() + f.start.len() + f.end.len() + 8 * f.sequences.len())
            .sum()
    }

    /// Deletes `start..end` at `sequence`; does nothing if the range is empty.
    #[cfg(test)]
    pub fn insert(&mut self, start: &[u8], end: &[u8], sequence: Sequence) {
        if start >= end {
            return;
        }
        let (start, end) = (&start.into(), &end.into());
        let new = Piece {
            start,
            end,
            sequences: &[sequence],
        };
        let mut all: Vec<Sequence> = self
            .fragments
            .iter()
            .flat_map(|f| f.sequences.clone())
            .collect();
        all.push(sequence);
        all.sort_unstable();
        let pieces: Vec<Piece<'_>> = self.pieces().chain([new]).collect();
        *self = Self::merge(&pieces, &all);
    }

    /// The largest sequence, not above `visible`, that deletes `key`.
    pub fn covering(&self, key: &[u8], visible: Sequence) -> Option<Sequence> {
        self.around(key, visible).covering()
    }

    /// The largest sequence, not above `visible`, that deletes `key`, and a range of keys around
    /// `key` for which it is the same.
    pub fn around(&self, key: &[u8], visible: Sequence) -> Span<'_> {
        match span::place(&self.fragments, key, |f| (&f.start, &f.end)) {
            Err(gap) => gap,
            Ok(fragment) => Span {
                from: &fragment.start,
                to: Some(&fragment.end),
                sequence: newest_visible(&fragment.sequences, visible).unwrap_or(0),
            },
        }
    }

    /// The fragments, for merging with others.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.fragments.iter().map(|f| Piece {
            start: &f.start,
            end: &f.end,
            sequences: &f.sequences,
        })
    }

    /// The union of `pieces`, reduced to what a reader can observe at one of `snapshots`
    /// (ascending) or at a sequence above all those in `pieces`: over each key only the newest
    /// sequence visible to each of these readers is kept. So however the pieces overlap, the result
    /// has at most 2 (n + 1) sequences for each piece, n being the number of snapshots.
    pub fn merge(pieces: &[Piece<'_>], snapshots: &[Sequence]) -> RangeDeletes {
        let mut fragments = Vec::new();
        sweep(pieces, |start, end, active| {
            push(&mut fragments, start, end, active.newest_of_each(snapshots));
        });
        RangeDeletes { fragments }
    }

    /// The part of the deletes from `from` up to but excluding `to`; `None` stands for no bound.
    pub fn truncate(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> RangeDeletes {
        let mut fragments = Vec::new();
        for f in &self.fragments {
            let start = match from {
                Some(from) if *f.start < *from => &from.into(),
                _ => &f.start,
            };
            let end = match to {
                Some(to) if *f.end > *to => &to.into(),
                _ => &f.end,
            };
            if start < end {
                push(&mut fragments, start, end, f.sequences.clone());
            }
        }
        RangeDeletes { fragments }
    }

    /// Keeps the sequences for which `keep(start, end, sequence)` is true, and the fragments that
    /// still have any. Calls it for the fragments in ascending order, and within each for the
    /// newest first.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8], Sequence) -> bool) {
        let mut kept = Vec::with_capacity(self.fragments.len());
        for mut f in std::mem::take(&mut self.fragments) {
            f.sequences.retain(|&s| keep(&f.start, &f.end, s));
            if !f.sequences.is_empty() {
                push(&mut kept, &f.start, &f.end, f.sequences);
            }
        }
        self.fragments = kept;
    }

    /// Appends the encoding of docs/format.md, "Range deletes".
    pub fn encode(&self, into: &mut Vec<u8>) {
        encode(self.fragments.len() as u64, into);
        for f in &self.fragments {
            encode_bytes(&f.start, into);
            encode_bytes(&f.end, into);
            encode(f.sequences.len() as u64, into);
            for &sequence in &f.sequences {
                encode(sequence, into);
            }
        }
    }

    /// Decodes what [`RangeDeletes::encode`] wrote, from all of `bytes`.
    ///
    /// # Errors
    /// The position and reason if the bytes are not a sound list. Memory stays proportional to the
    /// length of `bytes`, whatever they contain.
    pub fn decode(bytes: &[u8]) -> Result<RangeDeletes, MalformedRangeDeletes> {
        let mut rest = Reader::new(bytes);
        Self::take(&mut rest).map_err(|(expected, found)| MalformedRangeDeletes {
            offset: rest.position(),
            expected,
            found,
        })
    }

    fn take(rest: &mut Reader<'_>) -> Result<RangeDeletes, (&'static str, &'static str)> {
        let count = rest
            .varint()
            .ok_or(("a number of fragments", "no varint"))?;
        let mut fragments: Vec<Fragment> = Vec::new();
        for _ in 0..count {
            let fragment = take_fragment(rest)?;
            if fragments.last().is_some_and(|f| f.end > fragment.start) {
                return Err((
                    "fragments that ascend",
                    "one that starts before the end of the previous one",
                ));
            }
            fragments.push(fragment);
        }
        if !rest.is_empty() {
            return Err(("the end of the range deletes", "more bytes"));
        }
        Ok(RangeDeletes { fragments })
    }
}

/// The first of descending `sequences` that is not above `visible`.
fn newest_visible(sequences: &[Sequence], visible: Sequence) -> Option<Sequence> {
    let at = sequences.partition_point(|&s| s > visible);
    sequences.get(at).copied()
}

/// Appends a fragment, or extends the last one if the two touch and have the same sequences.
fn push(
    fragments: &mut Vec<Fragment>,
    start: &Arc<[u8]>,
    end: &Arc<[u8]>,
    sequences: Vec<Sequence>,
) {
    match fragments.last_mut() {
        Some(last) if last.end == *start && last.sequences == sequences => last.end = end.clone(),
        _ => fragments.push(Fragment {
            start: start.clone(),
            end: end.clone(),
            sequences,
        }),
    }
}

fn take_fragment(rest: &mut Reader<'_>) -> Result<Fragment, (&'static str, &'static str)> {
    let start = rest.bytes().ok_or(("a start key", "no byte string"))?;
    let end = rest.bytes().ok_or(("an end key", "no byte string"))?;
    if start >= end {
        return Err(("a range that ends after its start", "an empty range"));
    }
    let count = rest
        .varint()
        .ok_or(("a number of sequences", "no varint"))?;
    if count == 0 {
        return Err(("at least one sequence", "none"));
    }
    let mut sequences: Vec<Sequence> = Vec::new();
    for _ in 0..count {
        let sequence = rest.varint().ok_or(("a sequence", "no varint"))?;
        if sequences.last().is_some_and(|&last| last <= sequence) {
            return Err((
                "descending sequences",
                "one that is not smaller than the previous one",
            ));
        }
        sequences.push(sequence);
    }
    Ok(Fragment {
        start: start.into(),
        end: end.into(),
        sequences,
    })
}
