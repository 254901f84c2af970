//! The PGM-index: Ferragina and Vinciguerra, "The PGM-index: a fully-dynamic compressed learned index
//! with provable worst-case bounds", VLDB 2020, sections 2 and 3 (the static index).
//!
//! Guarantee and lines are those of [`super::lines`], cut by [`crate::segment::hull`]: no other cut into
//! lines of this bound has fewer segments. To find a number's segment the same is done again: the
//! segments' first numbers are cut into segments of a smaller bound, `eps_recursive`, and so on until
//! few are left. A look-up predicts from level to level and searches `2 eps_recursive + 2` numbers or so
//! at each.
//!
//! Behind the lines come the number of levels above them (4 bytes) and then these, the lowest first, in
//! the form of lines. The keys of a level are the segments of the one below; its position boundary is
//! `2 eps_recursive + 2`.

use super::column::last_not_above;
use super::knobs::BOUNDARY;
use super::lines::{
    LineBuilder, LineIndex, LineKind, Lines, Route, Segment, cut_numbers, encode_lines,
};
use super::retained::RETAINED;
use crate::bytes::Reader;
use crate::registry::Kind;
use crate::segment::hull::Hull;
use crate::spec::Knob;
use crate::{IndexError, IndexSpec};

const EPS_RECURSIVE: Knob = Knob {
    name: "eps_recursive",
    about: "error bound of the levels above the lowest, in segments",
    default: 4,
    min: 1,
    max: 256,
};

pub(crate) const KIND: Kind = Kind {
    name: "pgm",
    id: 5,
    about: "PGM-index (Ferragina and Vinciguerra, VLDB 2020): the fewest segments, recursively",
    knobs: &[BOUNDARY, RETAINED, EPS_RECURSIVE],
    needs_number: true,
    version: 1,
    builder: |spec| Box::new(LineBuilder::<Pgm>::new(spec)),
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

/// The levels above the lines, the top first.
#[derive(Debug)]
struct Levels {
    levels: Vec<Lines>,
}

impl Route for Levels {
    fn encode(spec: &IndexSpec, segments: &[Segment], out: &mut Vec<u8>) -> Result<(), IndexError> {
        let few = 2 * EPS_RECURSIVE.of(spec) + 2;
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
        Ok(())
    }

    fn open(reader: &mut Reader<'_>, lines: &Lines) -> Result<Self, IndexError> {
        let count = reader.length()?;
        let mut levels: Vec<Lines> = Vec::new();
        for _ in 0..count {
            let level = Lines::open(reader)?;
            let below = levels.last().unwrap_or(lines).segments();
            if level.keys() != below as u64 || level.segments() >= below {
                return Err(reader.damaged(
                    format!("a level of fewer segments over {below}"),
                    format!("{} over {}", level.segments(), level.keys()),
                ));
            }
            levels.push(level);
        }
        levels.reverse();
        Ok(Levels { levels })
    }

    #[inline]
    fn find(&self, bytes: &[u8], lines: &Lines, number: u64) -> usize {
        let mut below = self.levels.iter().skip(1).chain([lines]);
        let top = self.levels.first().unwrap_or(lines);
        let mut segment = last_not_above(top.numbers(bytes), 0, top.segments(), number);
        for level in &self.levels {
            // The first number that is not below the one sought is in the window or right behind it,
            // so the last that is not above it may be right before.
            let window = level.window(bytes, segment, number);
            let start = window.lo.saturating_sub(1) as usize;
            let Some(below) = below.next() else { break };
            let end = (window.hi as usize + 1).min(below.segments());
            segment = last_not_above(below.numbers(bytes), start, end, number);
        }
        segment
    }
}
