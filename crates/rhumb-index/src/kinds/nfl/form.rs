//! The byte form of AFLI: written, and read in place.
//!
//! ```text
//! offset  size  field
//!      0     4  T, number of lines, at least 1
//!      4     4  R, number of lines of the root, 1 to T
//!      8     1  model of the root: 0 a line, 1 a flow
//!      9     1  shift of the line, 0 to 63; 0 with a flow
//!     10     6  zero
//!     16     8  base of the line; 0 with a flow
//!     24     8  factor of the line; 0 with a flow
//!     32   64T  lines as in [`super::cache_line`]: the root's R first, every node after its parent
//!               only with a flow: base (8), C, number of its cells (4), bits (1), shift (1), zero (2)
//!           4C  cells, ascending weakly
//! ```
//!
//! A line gives the slot `floor(max(x - base, 0) * factor / 2^(64 + shift))`, a flow that of
//! [`super::warped`]; both are clamped to the number of lines less 1.

use super::cache_line::{self, Step};
use super::lay::{Laying, Root, Use, root};
use super::model::{Linear, Model};
use super::warped::Warped;
use super::{FLOW, KIND};
use crate::IndexError;
use crate::bytes::Reader;
use crate::kind::Kind;
use crate::kinds::shared::exact::{Layout, Place};
use crate::kinds::shared::fixed_line::FixedLine;
use crate::knob::Settings;

/// The most lines that a look-up reads.
pub(super) const DEEPEST: usize = 64;

/// Bytes before the lines.
const HEADER: usize = 32;

/// The after-flow learned index.
#[derive(Debug)]
pub(crate) struct Afli {
    root: Root,
    lines: usize,
}

impl Layout for Afli {
    fn kind() -> &'static Kind {
        &KIND
    }

    fn lay(
        settings: &Settings,
        entries: &[(u64, u64)],
        out: &mut Vec<u8>,
    ) -> Result<(), IndexError> {
        let flow = match FLOW.of(settings) {
            1 => Use::Never,
            2 => Use::Always,
            _ => Use::Auto,
        };
        let header_at = out.len();
        out.resize(header_at + HEADER, 0);
        let mut lines = Laying::new(out, entries.len());
        let root = root(entries, flow);
        match &root {
            Root::Linear(model) => lines.node(entries, model, 0),
            Root::Warped(model) => lines.node(entries, model, 0),
        };
        let Ok(total) = u32::try_from(lines.len()) else {
            return Err(IndexError::Unfit {
                kind: KIND.name,
                why: format!(
                    "{} slots are too many, 2^32 or more: write smaller tables",
                    lines.len()
                ),
            });
        };
        let (tag, base, factor, slots) = match &root {
            Root::Linear(model) => (
                u64::from(model.shift) << 8,
                model.line.base,
                model.line.slope,
                model.lines,
            ),
            Root::Warped(model) => {
                model.put(out);
                (1, 0, 0, model.lines)
            }
        };
        let header = [u64::from(total) | u64::from(slots) << 32, tag, base, factor];
        let place = out.iter_mut().skip(header_at);
        let bytes = header.iter().flat_map(|word| word.to_le_bytes());
        place.zip(bytes).for_each(|(to, from)| *to = from);
        Ok(())
    }

    fn open(bytes: &[u8], _numbers: usize) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, bytes);
        let (lines, slots) = (reader.length()?, reader.u32()?);
        if slots == 0 || slots as usize > lines {
            let expected = "1 to all lines for the root";
            return Err(reader.damaged_at(4, expected, format!("{slots} of {lines}")));
        }
        let (tag, shift) = (reader.u8()?, reader.u8()?);
        reader.reserved(6)?;
        let (base, factor) = (reader.u64()?, reader.u64()?);
        reader.take(lines.saturating_mul(cache_line::BYTES))?;
        let root = match tag {
            0 if shift < 64 => Root::Linear(Linear {
                line: FixedLine {
                    base,
                    slope: factor,
                },
                shift,
                lines: slots,
            }),
            1 if shift == 0 && base == 0 && factor == 0 => {
                Root::Warped(Warped::read(&mut reader, slots)?)
            }
            _ => {
                let expected = "model 0 with a line, or model 1 without one";
                return Err(reader.damaged_at(
                    8,
                    expected,
                    format!("{tag}, {shift}, {base}, {factor}"),
                ));
            }
        };
        reader.end()?;
        Ok(Afli { root, lines })
    }

    fn cache_line_at(&self) -> Option<usize> {
        Some(HEADER)
    }

    fn heap_bytes(&self) -> usize {
        match &self.root {
            Root::Linear(_) => 0,
            Root::Warped(model) => model.heap_bytes(),
        }
    }

    #[inline]
    fn find(&self, bytes: &[u8], number: u64) -> Place {
        let lines = bytes.get(HEADER..).unwrap_or_default();
        let lines = lines.as_chunks::<{ cache_line::BYTES }>().0;
        let lines = lines.get(..self.lines).unwrap_or_default();
        let mut at = match &self.root {
            Root::Linear(model) => model.slot(number),
            Root::Warped(model) => model.slot(number),
        };
        for _ in 0..DEEPEST {
            let Some(line) = lines.get(at) else { break };
            match cache_line::step(line, number) {
                Step::Found(place) => return place,
                Step::Line(next) => at = next,
            }
        }
        // Reached only if the form is damaged.
        Place::Before(0)
    }
}
