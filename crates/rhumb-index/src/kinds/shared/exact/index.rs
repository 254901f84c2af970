//! Answers look-ups from the byte form of a layout.

use std::ops::Range;

use super::ties;
use super::{Layout, Place};
use crate::bytes::Reader;
use crate::kind::HEADER;
use crate::search::LINE_BYTES;
use crate::{ByteForm, Index, IndexError, Position, Probe, Window};

/// An index that answers with exact ranks.
#[derive(Debug)]
pub(crate) struct ExactIndex<'a, L> {
    bytes: ByteForm<'a>,
    /// `None` if there are no keys.
    layout: Option<L>,
    layout_at: usize,
    /// The bytes of the tie bits; empty if no keys share a number.
    ties: Range<usize>,
    keys: u64,
    longest_run: u64,
}

/// Moves the bytes, if necessary, so that byte `at` starts a cache line. Returns how far they
/// moved.
fn aligned(bytes: ByteForm<'_>, at: usize) -> (ByteForm<'_>, usize) {
    let behind = |start: *const u8| (start.addr() + at) % LINE_BYTES;
    if behind(bytes.as_ptr()) == 0 {
        return (bytes, 0);
    }
    let mut room = Vec::with_capacity(bytes.len() + LINE_BYTES);
    let by = LINE_BYTES - behind(room.as_ptr());
    room.resize(by, 0);
    room.extend_from_slice(&bytes);
    (ByteForm::from_owner(room), by)
}

/// The same damage with its offset moved back by `by` bytes.
fn behind(mut error: IndexError, by: usize) -> IndexError {
    if let IndexError::Damaged { offset, .. } = &mut error {
        *offset += by;
    }
    error
}

impl<'a, L: Layout> ExactIndex<'a, L> {
    /// Opens the byte form.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if it cannot be one.
    pub(crate) fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(L::kind().name, &bytes);
        reader.take(HEADER)?;
        let keys = u64::from(reader.u32()?);
        let offset = reader.at();
        let numbers = reader.length()?;
        if numbers as u64 > keys || (numbers == 0) != (keys == 0) {
            let expected = format!("the distinct numbers of {keys} keys");
            return Err(reader.damaged_at(offset, expected, numbers));
        }
        let offset = reader.at();
        let boundary = u64::from(reader.u16()?);
        let longest = u64::from(reader.u16()?);
        if !(4..=1024).contains(&boundary) || longest > boundary {
            let expected = "a boundary of 4 to 1024 and a run not above it";
            return Err(reader.damaged_at(offset, expected, format!("{boundary}, {longest}")));
        }
        let ties_at = reader.at();
        let found = match (numbers as u64).cmp(&keys) {
            std::cmp::Ordering::Less => ties::read(&mut reader, keys, numbers as u64)?,
            _ => u64::from(keys > 0),
        };
        if found != longest {
            return Err(reader.damaged_at(offset, format!("a longest run of {found}"), longest));
        }
        let layout_at = reader.at();
        let rest = bytes.get(layout_at..).unwrap_or_default();
        let layout = match numbers {
            0 => {
                reader.end()?;
                None
            }
            _ => Some(L::open(rest, numbers).map_err(|error| behind(error, layout_at))?),
        };
        let on_line = layout.as_ref().and_then(L::cache_line_at);
        let (bytes, moved) = match on_line {
            Some(at) => aligned(bytes, layout_at + at),
            None => (bytes, 0),
        };
        let layout_at = layout_at + moved;
        Ok(ExactIndex {
            layout,
            layout_at,
            ties: ties_at + moved..layout_at,
            keys,
            longest_run: longest,
            bytes,
        })
    }

    /// The bytes of the layout.
    #[inline(always)]
    fn layout_bytes(&self) -> &[u8] {
        self.bytes.get(self.layout_at..).unwrap_or_default()
    }

    /// The window of a number for which [`Layout::find_at_once`] gives `None`, or in an index with
    /// shared numbers. Not inlined, to keep the common path short.
    #[inline(never)]
    fn whole_window(&self, number: u64) -> Window {
        let Some(layout) = &self.layout else {
            return Window { lo: 0, hi: 0 };
        };
        let place = layout.find(self.layout_bytes(), number);
        // Opening has checked that all set bits belong to keys.
        let bits = self.bytes.get(self.ties.clone()).unwrap_or_default();
        let behind = |rank: u64| match bits {
            [] => rank + 1,
            _ => rank + ties::run(bits, rank).min(self.longest_run),
        };
        let last = self.keys - 1;
        let (lo, hi) = match place {
            Place::At(rank) => (rank.min(last), behind(rank.min(last))),
            Place::Before(rank) => (rank, rank),
            Place::After(rank) => (behind(rank.min(last)), behind(rank.min(last))),
        };
        Window {
            lo: lo.min(self.keys),
            hi: hi.min(self.keys),
        }
    }
}

impl<L: Layout> Index for ExactIndex<'_, L> {
    fn kind(&self) -> &'static str {
        L::kind().name
    }

    fn needs_number(&self) -> bool {
        true
    }

    #[inline]
    fn locate(&self, probe: Probe<'_>) -> Position {
        Position::Window(self.window(probe.number))
    }

    #[inline]
    fn window(&self, number: u64) -> Window {
        let layout = self.layout.as_ref().filter(|_| self.ties.is_empty());
        let place = layout.and_then(|layout| layout.find_at_once(self.layout_bytes(), number));
        let (lo, keys) = match place {
            Some(Place::At(rank)) => (rank, 1),
            Some(Place::Before(rank)) => (rank, 0),
            Some(Place::After(rank)) => (rank + 1, 0),
            None => return self.whole_window(number),
        };
        Window {
            lo: lo.min(self.keys),
            hi: (lo + keys).min(self.keys),
        }
    }

    fn predict(&self, _number: u64) -> Option<u64> {
        None
    }

    fn extent(&self) -> u64 {
        self.keys
    }

    fn widest_window(&self) -> u64 {
        self.longest_run
    }

    fn size_in_bytes(&self) -> usize {
        let heap = self.layout.as_ref().map_or(0, Layout::heap_bytes);
        size_of::<Self>() + self.bytes.len() + heap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{self, Answers};

    #[test]
    fn offsets_of_damage_count_from_the_start_of_the_index() {
        let exact = registry::kinds()
            .iter()
            .filter(|kind| kind.answers == Answers::Exact);
        let mut forms = 0;
        for kind in exact.filter(|kind| kind.needs_number) {
            // With as many numbers as keys, and with fewer.
            for run in [1, 3] {
                let mut builder = registry::builder(&kind.name.parse().unwrap()).unwrap();
                for key in 0..300u64 {
                    let number = (key / run).pow(2);
                    builder.push(&key.to_be_bytes(), number).unwrap();
                }
                let mut form = builder.finish().unwrap();
                let end = form.len();
                form.push(0);
                let opened = registry::open(form).map(|index| index.extent());
                assert!(
                    matches!(opened, Err(IndexError::Damaged { offset, .. }) if offset == end),
                    "{}, {end} bytes: {opened:?}",
                    kind.name
                );
                forms += 1;
            }
        }
        assert!(forms >= 10, "{forms}");
    }

    #[test]
    fn bytes_are_moved_to_the_start_of_a_cache_line() {
        for at in 0..200 {
            let bytes: Vec<u8> = (0..=255).collect();
            let (moved, by) = aligned(ByteForm::from(&bytes), at);
            assert_eq!((moved.as_ptr().addr() + at + by) % LINE_BYTES, 0);
            assert_eq!(moved[by..], bytes);
        }
    }
}
