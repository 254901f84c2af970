//! Trains the model while the keys stream by.

use super::{KIND, RUNS, Segment};
use crate::kinds::order::Order;
use crate::segment::greedy::Cone;
use crate::segment::{Line, MAX_RANKS, ROUNDING};
use crate::{ClosedSegment, IndexBuilder, IndexError};

/// Keys that share a number.
#[derive(Debug, Clone, Copy)]
struct Run {
    number: u64,
    first_rank: u64,
    keys: u64,
}

/// A segment that still grows. Its runs are kept until it closes, to measure the true error.
#[derive(Debug)]
struct Open {
    runs: Vec<Run>,
    cone: Cone,
    /// The error bound that its longest run leaves.
    bound: u64,
}

#[derive(Debug)]
pub(super) struct PlrBuilder {
    boundary: u64,
    order: Order,
    last_number: Option<u64>,
    /// The run that may still grow; it belongs to no segment yet.
    pending: Option<Run>,
    open: Option<Open>,
    closed: Vec<Segment>,
    /// How many closed segments have been taken.
    taken: usize,
    unfit: Option<String>,
}

impl PlrBuilder {
    pub(super) fn new(boundary: u64) -> Self {
        PlrBuilder {
            boundary,
            order: Order::default(),
            last_number: None,
            pending: None,
            open: None,
            closed: Vec::new(),
            taken: 0,
            unfit: None,
        }
    }

    /// The error bound that a run of this length leaves within the position boundary.
    fn bound_for(&self, keys: u64) -> u64 {
        (self.boundary - 2).saturating_sub(keys - 1) / 2
    }

    fn give_up(&mut self, why: String) {
        self.unfit.get_or_insert(why);
        (self.pending, self.open) = (None, None);
    }

    /// Moves the pending run into a segment, now that its length is known.
    fn settle(&mut self) {
        let Some(run) = self.pending.take() else {
            return;
        };
        let bound = self.bound_for(run.keys);
        if !self.open.as_mut().is_some_and(|open| open.add(run, bound)) {
            self.close();
            self.open = Some(Open::new(run, bound));
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let segment = open.close();
        // `ROUNDING` was kept back, so this does not happen; were that wrong, the table would
        // fall back rather than break its promise.
        if segment.width() > self.boundary {
            return self.give_up("rounding exceeds the position boundary: use fp".into());
        }
        self.closed.push(segment);
    }
}

impl Open {
    fn new(run: Run, bound: u64) -> Self {
        // A prediction is rounded to a whole rank, so half a rank more than the bound is within.
        let cone = Cone::new(bound as f64 + 0.5 - ROUNDING);
        Open {
            runs: vec![run],
            cone,
            bound,
        }
    }

    /// Takes in the next run, or says that it needs a new segment.
    fn add(&mut self, run: Run, bound: u64) -> bool {
        let Some(first) = self.runs.first() else {
            return false;
        };
        let rank = run.first_rank - first.first_rank;
        let x = (run.number - first.number) as f64;
        let fits =
            bound >= self.bound && rank + run.keys <= MAX_RANKS && self.cone.add(x, rank as f64);
        if fits {
            self.runs.push(run);
        }
        fits
    }

    /// The finished segment, its error measured by the lookup's arithmetic.
    fn close(&self) -> Segment {
        let (x, y, slope) = self.cone.line();
        let (first_number, first_rank) = self
            .runs
            .first()
            .map_or((0, 0), |run| (run.number, run.first_rank));
        let ranks = self
            .runs
            .last()
            .map_or(1, |run| run.first_rank + run.keys - first_rank);
        let line = Line {
            first_number,
            first_rank,
            ranks,
            slope: 0.0,
            offset: 0,
        };
        let line = line.through(x, y, slope);
        let errors = self
            .runs
            .iter()
            .map(|run| line.predict(run.number).abs_diff(run.first_rank));
        let error = errors.max().unwrap_or(0);
        let run = self.runs.iter().map(|run| run.keys).max().unwrap_or(1);
        let clip = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
        Segment {
            line,
            error: clip(error),
            run: clip(run),
        }
    }
}

impl IndexBuilder for PlrBuilder {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        if self.last_number.is_some_and(|last| number < last) {
            return Err(IndexError::Unsorted {
                rank: self.order.keys(),
            });
        }
        let rank = self.order.push(key)?;
        let repeats = self.last_number.replace(number) == Some(number);
        if self.unfit.is_some() {
            return Ok(());
        }
        if rank >= u64::from(u32::MAX) {
            self.give_up("more than 2^32 - 1 keys: write smaller tables".into());
        } else if let Some(run) = self.pending.as_mut().filter(|run| run.number == number) {
            run.keys += 1;
            let keys = run.keys;
            if self.bound_for(keys) == 0 {
                self.give_up(format!(
                    "{keys} keys share a number, too many for a position boundary of {}: \
                     raise it or use fp",
                    self.boundary
                ));
            }
        } else if repeats {
            self.give_up("a number went on after its segment was closed".into());
        } else {
            self.settle();
            if self.unfit.is_none() {
                self.pending = Some(Run {
                    number,
                    first_rank: rank,
                    keys: 1,
                });
            }
        }
        Ok(())
    }

    /// A model knows no blocks.
    fn cut(&mut self, _last_key: &[u8], _first_key: &[u8]) {}

    fn take_closed(&mut self, closed: &mut Vec<ClosedSegment>) {
        let new = self.closed.get(self.taken..).unwrap_or_default();
        closed.extend(new.iter().map(|segment| ClosedSegment {
            first_rank: segment.line.first_rank,
            ranks: segment.line.ranks,
        }));
        self.taken = self.closed.len();
    }

    fn predict_closed(&self, number: u64) -> Option<u64> {
        let open = self
            .open
            .as_ref()
            .and_then(|open| open.runs.first())
            .or(self.pending.as_ref());
        if open.is_some_and(|run| number >= run.number) {
            return None;
        }
        let after = self
            .closed
            .partition_point(|segment| segment.line.first_number <= number);
        let segment = self.closed.get(after.saturating_sub(1))?;
        Some(segment.line.predict(number))
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        self.close_segment();
        match self.unfit {
            Some(why) => Err(IndexError::Unfit {
                kind: KIND.name,
                why,
            }),
            None => Ok(encode(&self.closed, self.order.keys(), self.boundary)),
        }
    }

    fn close_segment(&mut self) {
        self.settle();
        self.close();
    }

    fn is_unfit(&self) -> bool {
        self.unfit.is_some()
    }
}

/// The byte form: a header, then column after column.
fn encode(segments: &[Segment], keys: u64, boundary: u64) -> Vec<u8> {
    let runs = segments.iter().any(|segment| segment.run != 1);
    let mut out = KIND.header().to_vec();
    out.extend((segments.len() as u32).to_le_bytes());
    out.extend(keys.to_le_bytes());
    out.extend((boundary as u16).to_le_bytes());
    out.extend((u16::from(runs) * RUNS).to_le_bytes());
    out.extend([0; 4]);
    out.extend(
        segments
            .iter()
            .flat_map(|segment| segment.line.first_number.to_le_bytes()),
    );
    out.extend(
        segments
            .iter()
            .flat_map(|segment| (segment.line.first_rank as u32).to_le_bytes()),
    );
    out.extend(
        segments
            .iter()
            .flat_map(|segment| segment.line.slope.to_le_bytes()),
    );
    out.extend(
        segments
            .iter()
            .flat_map(|segment| segment.line.offset.to_le_bytes()),
    );
    out.extend(
        segments
            .iter()
            .flat_map(|segment| segment.error.to_le_bytes()),
    );
    if runs {
        out.extend(
            segments
                .iter()
                .flat_map(|segment| segment.run.to_le_bytes()),
        );
    }
    out
}
