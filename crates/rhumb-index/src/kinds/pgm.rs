//! The PGM-index: Ferragina and Vinciguerra, "The PGM-index: a fully-dynamic compressed learned
//! index with provable worst-case bounds", VLDB 2020, sections 2 and 3 (the static index).
//!
//! See [`super::shared::lines`] for the guarantee and the form of the lines, cut by
//! [`crate::segment::hull`]: no other division into lines of this bound, over at most 2^18 ranks
//! each, has fewer segments. Segments are found recursively: their first numbers are cut into
//! segments of a smaller bound, `eps_recursive`, and so on until few are left. A look-up predicts
//! from level to level and searches about `2 eps_recursive + 3` numbers at each; there are O(log M)
//! levels for M segments. Building takes constant time a key on average, and memory for the
//! segments and the points of the open one.
//!
//! After the lines come the number of levels above them (4 bytes) and then these levels, the lowest
//! first, in the form of lines. The keys of a level are the segments of the level below; its
//! position boundary is `2 eps_recursive + 2`.

use super::shared::knobs::BOUNDARY;
use super::shared::lines::{
    LineBuilder, LineIndex, LineKind, Lines, Route, Segment, cut_numbers, encode_lines,
};
use super::shared::retained::RETAINED;
use crate::IndexError;
use crate::bytes::Reader;
use crate::kind::{Answers, FORM_ONLY, Kind};
use crate::knob::{Knob, Settings};
use crate::search::last_not_above;
use crate::segment::hull::Hull;

const EPS_RECURSIVE: Knob = Knob {
    name: "eps_recursive",
    about: "error bound of the levels above the lowest, in segments",
    default: 4,
    min: 1,
    max: 256,
    choices: &[],
};

pub(crate) const KIND: Kind = Kind {
    name: "pgm",
    id: 5,
    about: "PGM-index (Ferragina and Vinciguerra, VLDB 2020): the fewest segments, recursively",
    knobs: &[BOUNDARY, RETAINED, EPS_RECURSIVE],
    needs_number: true,
    answers: Answers::Windows,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| Box::new(LineBuilder::<Pgm>::new(settings)),
    open: |bytes| Ok(Box::new(LineIndex::<Pgm>::open(bytes)?)),
};

#[derive(Debug)]
struct Pgm;

impl LineKind for Pgm {
    type Fit = Hull;
    type Route = Levels;

    fn kind() -> &'static Kind {
        &KIND
    }
}

/// The levels above the lines, decoded for look-ups.
#[derive(Debug)]
struct Levels {
    /// The first numbers of the pieces of the highest level; empty without levels.
    top: Vec<u64>,
    /// The highest first.
    levels: Vec<Level>,
}

/// One level above the lines.
#[derive(Debug)]
struct Level {
    pieces: Vec<LevelLine>,
    /// How far the place of a number in the level below may be from the place that a piece
    /// predicts.
    reach: usize,
    /// The numbers of the level below; empty for the lowest level, which is over the lines' own
    /// column.
    below: Vec<u64>,
}

/// A line over places in the level below, relative to `first_place`.
#[derive(Debug)]
struct LevelLine {
    first_number: u64,
    slope: f64,
    offset: f64,
    /// The largest place relative to `first_place`.
    last: f64,
    first_place: usize,
}

impl Level {
    fn new(lines: &Lines, below: Vec<u64>, bytes: &[u8]) -> Self {
        let pieces = (0..lines.segments()).map(|i| {
            let line = lines.line(bytes, i);
            LevelLine {
                first_number: line.first_number,
                slope: line.slope.into(),
                offset: line.offset(),
                last: line.ranks.saturating_sub(1) as f64,
                first_place: line.first_rank as usize,
            }
        });
        Level {
            pieces: pieces.collect(),
            // Let e be the error and p the rounded prediction for a number. The last number not
            // above it is at p - e - 1 at least, as the next one may already be above it, and at p
            // + e at most. Pieces round down and predict p or p - 1, so e + 1 is enough in both
            // directions.
            reach: (lines.widest() / 2 + 1) as usize,
            below,
        }
    }

    /// The place in the level below at which a number of piece `i` is expected.
    #[inline(always)]
    fn expected(&self, i: usize, number: u64) -> usize {
        let Some(piece) = self.pieces.get(i) else {
            return 0;
        };
        let x = number.saturating_sub(piece.first_number) as f64;
        let y = (piece.slope * x + piece.offset).max(0.0).min(piece.last);
        piece.first_place + y as u32 as usize
    }

    /// The range of places in the level below, of length `len`, in which a number can be.
    #[inline(always)]
    fn around(&self, piece: usize, number: u64, len: usize) -> (usize, usize) {
        let start = self.expected(piece, number).saturating_sub(self.reach);
        let end = (start + 2 * self.reach + 1).min(len);
        (start.min(end), end)
    }
}

/// The first numbers of the lines.
fn numbers(lines: &Lines, bytes: &[u8]) -> Vec<u64> {
    let numbers = lines.numbers(bytes).iter();
    numbers.map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

impl Route for Levels {
    fn encode(settings: &Settings, segments: &[Segment], out: &mut Vec<u8>) {
        let few = 2 * EPS_RECURSIVE.of(settings) + 2;
        let starts = |segments: &[Segment]| -> Vec<u64> {
            segments
                .iter()
                .map(|segment| segment.line.first_number)
                .collect()
        };
        let mut levels: Vec<(u64, Vec<Segment>)> = Vec::new();
        let mut below = starts(segments);
        while below.len() as u64 > few {
            let level = cut_numbers::<Hull>(&below, few);
            let keys = below.len() as u64;
            below = starts(&level);
            levels.push((keys, level));
        }
        out.extend((levels.len() as u32).to_le_bytes());
        for (keys, level) in &levels {
            encode_lines(level, *keys, few, out);
        }
    }

    fn open(reader: &mut Reader<'_>, lines: &Lines) -> Result<Self, IndexError> {
        let count = reader.length()?;
        let mut all = vec![lines.clone()];
        for _ in 0..count {
            let level = Lines::open(reader)?;
            let below = all.last().unwrap_or(lines).segments();
            if level.keys() != below as u64 || level.segments() >= below {
                return Err(reader.damaged(
                    format!("a level of fewer segments over {below}"),
                    format!("{} over {}", level.segments(), level.keys()),
                ));
            }
            all.push(level);
        }
        all.reverse();
        let bytes = reader.bytes();
        let top = all.first().filter(|_| count > 0);
        let top = top.map_or(Vec::new(), |top| numbers(top, bytes));
        let mut levels = Vec::new();
        for (place, pair) in all.windows(2).enumerate() {
            let [level, below] = pair else { continue };
            // The column of the lines serves as the numbers below the lowest level.
            let below = match place + 1 == count {
                true => Vec::new(),
                false => numbers(below, bytes),
            };
            levels.push(Level::new(level, below, bytes));
        }
        Ok(Levels { top, levels })
    }

    #[inline(always)]
    fn find(&self, bytes: &[u8], lines: &Lines, number: u64) -> usize {
        let column = lines.numbers(bytes);
        let Some((lowest, above)) = self.levels.split_last() else {
            return last_not_above(column, 0, column.len(), number);
        };
        let mut piece = last_not_above(&self.top, 0, self.top.len(), number);
        for level in above {
            let (start, end) = level.around(piece, number, level.below.len());
            piece = last_not_above(&level.below, start, end, number);
        }
        let (start, end) = lowest.around(piece, number, column.len());
        last_not_above(column, start, end, number)
    }

    fn size_in_bytes(&self) -> usize {
        let sizes = self.levels.iter().map(|level| {
            size_of::<Level>() + size_of_val(&*level.pieces) + size_of_val(&*level.below)
        });
        size_of_val(&*self.top) + sizes.sum::<usize>()
    }
}
