//! Answers look-ups from lines and their route.

use super::{LineKind, Lines, Route};
use crate::bytes::Reader;
use crate::kind::HEADER;
use crate::{Band, ByteForm, Index, IndexError, Position, Probe, Window};

/// Lines and their route, read from the byte form.
#[derive(Debug)]
pub(crate) struct LineIndex<'a, K: LineKind> {
    bytes: ByteForm<'a>,
    lines: Lines,
    route: K::Route,
}

impl<'a, K: LineKind> LineIndex<'a, K> {
    pub(crate) fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(K::kind().name, &bytes);
        reader.take(HEADER)?;
        let lines = Lines::open(&mut reader)?;
        let route = K::Route::open(&mut reader, &lines)?;
        reader.end()?;
        Ok(LineIndex {
            lines,
            route,
            bytes,
        })
    }
}

impl<K: LineKind> Index for LineIndex<'_, K> {
    fn kind(&self) -> &'static str {
        K::kind().name
    }

    fn needs_number(&self) -> bool {
        K::kind().needs_number
    }

    #[inline]
    fn locate(&self, probe: Probe<'_>) -> Position {
        Position::Window(self.window(probe.number))
    }

    fn window(&self, number: u64) -> Window {
        if self.lines.segments() == 0 {
            return Window { lo: 0, hi: 0 };
        }
        let segment = self.route.find(&self.bytes, &self.lines, number);
        self.lines.window(&self.bytes, segment, number)
    }

    fn predict(&self, number: u64) -> Option<u64> {
        if self.lines.segments() == 0 {
            return None;
        }
        let segment = self.route.find(&self.bytes, &self.lines, number);
        Some(self.lines.line(&self.bytes, segment).predict(number))
    }

    fn bands(&self) -> Vec<Band> {
        let segments = 0..self.lines.segments();
        segments.map(|i| self.lines.band(&self.bytes, i)).collect()
    }

    fn extent(&self) -> u64 {
        self.lines.keys()
    }

    fn widest_window(&self) -> u64 {
        self.lines.widest()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len() + self.route.size_in_bytes()
    }
}
