//! Chooses the knots on a stream of keys.

use super::knots::KnotLine;
use super::{Knot, LeftOut, REACHES, Top};
use crate::kind::Kind;
use crate::kinds::shared::in_turn::in_turn;
use crate::kinds::shared::reach::Reach;
use crate::kinds::shared::runs::{Run, Runs};
use crate::knob::Settings;
use crate::segment::MAX_RANKS;
use crate::segment::corridor::Corridor;
use crate::{ClosedSegment, IndexBuilder, IndexError};

/// Chooses the top and the knots it leaves out, given all knots and the number of keys.
type ChooseTop = fn(&Settings, &[Knot], u64) -> (Top, LeftOut);

/// Builds a spline, for any kind.
#[derive(Debug)]
pub(in crate::kinds) struct SplineBuilder {
    kind: &'static Kind,
    settings: Settings,
    choose_top: ChooseTop,
    runs: Runs,
    /// The fixed knots. The last one starts the open segment, if there is one.
    knots: Vec<Knot>,
    /// How far the windows of each closed segment extend, from the first segment on.
    reaches: Vec<Reach>,
    /// The segment that starts at the last knot and still grows.
    open: Option<Open>,
    /// How many closed segments [`IndexBuilder::take_closed`] has returned.
    taken: usize,
}

/// A segment whose right knot is not fixed yet.
#[derive(Debug)]
struct Open {
    base: Knot,
    corridor: Corridor,
    /// The error bound that its longest run leaves, in ranks.
    bound: u64,
    longest: u64,
    /// The length of the last run. That run's first key becomes the right knot if the next run does
    /// not fit.
    last_keys: u64,
    /// The number of every key, to measure the true error.
    numbers: Vec<u64>,
}

impl SplineBuilder {
    /// A builder without knots.
    pub(in crate::kinds) fn new(
        kind: &'static Kind,
        settings: &Settings,
        boundary: u64,
        choose_top: ChooseTop,
    ) -> Self {
        SplineBuilder {
            kind,
            settings: settings.clone(),
            choose_top,
            runs: Runs::new(boundary),
            knots: Vec::new(),
            reaches: Vec::new(),
            open: None,
            taken: 0,
        }
    }

    /// Adds a run whose length is known.
    fn settle(&mut self, run: Run) {
        let bound = self.runs.bound_for(run.keys);
        let Some(open) = &mut self.open else {
            return self.begin(run, bound, Vec::new());
        };
        if open.can_reach(run) && bound >= open.bound {
            open.add(run);
        } else {
            self.turn(run, bound);
        }
    }

    /// As [`SplineBuilder::settle`] for runs of one key each, the first of which has rank
    /// `first_rank`.
    fn settle_all(&mut self, mut numbers: &[u64], mut first_rank: u64) {
        while !self.runs.is_unfit() {
            let taken = self.open.as_mut().map_or(0, |open| open.add_all(numbers));
            first_rank += taken as u64;
            let Some((&number, rest)) = numbers.get(taken..).and_then(<[_]>::split_first) else {
                return;
            };
            self.settle(Run {
                number,
                first_rank,
                keys: 1,
            });
            (numbers, first_rank) = (rest, first_rank + 1);
        }
    }

    /// Adds a run that the open segment cannot hold as it is.
    #[cold]
    fn turn(&mut self, run: Run, bound: u64) {
        if self.open.as_ref().is_some_and(|open| !open.can_reach(run)) {
            let last = self.end_before_last();
            let (Some((last, numbers)), false) = (last, self.runs.is_unfit()) else {
                return;
            };
            self.begin(last, self.runs.bound_for(last.keys), numbers);
        }
        // Any run is within reach of the one before it.
        if let Some(open) = self.open.as_mut().filter(|open| bound >= open.bound) {
            return open.add(run);
        }
        // A run too long for the segment's bound ends it and starts one with a bound of its own.
        let Some(open) = self.open.take() else { return };
        self.note(open.measure(open.numbers.len(), knot_of(run)));
        self.begin(run, bound, open.numbers);
    }

    /// Starts a segment at a run; `numbers` is a buffer to reuse.
    fn begin(&mut self, run: Run, bound: u64, mut numbers: Vec<u64>) {
        if self.runs.is_unfit() {
            return;
        }
        numbers.clear();
        numbers.extend((0..run.keys).map(|_| run.number));
        self.knots.push(knot_of(run));
        self.open = Some(Open {
            base: knot_of(run),
            corridor: Corridor::new(bound),
            bound,
            longest: run.keys,
            last_keys: run.keys,
            numbers,
        });
    }

    /// Closes the open segment with its last run as the right knot. Returns that run and the
    /// buffer.
    fn end_before_last(&mut self) -> Option<(Run, Vec<u64>)> {
        let open = self.open.take()?;
        let last = open.last();
        let before = open.numbers.len() - last.keys as usize;
        self.note(open.measure(before, knot_of(last)));
        Some((last, open.numbers))
    }

    /// Notes how far the windows of a closed segment extend.
    fn note(&mut self, reach: Reach) {
        // The corridor reserves more than rounding takes, so this should not happen. If it does,
        // the model is given up instead of breaking the position boundary.
        if reach.width() > self.runs.boundary() {
            return self
                .runs
                .give_up("rounding exceeds the position boundary: use fp");
        }
        self.reaches.push(reach);
    }

    /// The end of a closed segment's ranks.
    fn end_of(&self, segment: usize) -> u64 {
        let next = self.knots.get(segment + 1);
        next.map_or_else(|| self.closed_keys(), |knot| knot.rank.into())
    }

    /// The end of the last closed segment's ranks if it starts at the last knot.
    fn closed_keys(&self) -> u64 {
        let run = self.reaches.last().map_or(0, |reach| reach.run.into());
        self.knots
            .last()
            .map_or(0, |knot| u64::from(knot.rank) + run)
    }
}

fn knot_of(run: Run) -> Knot {
    Knot {
        number: run.number,
        // The number of keys is below 2^32.
        rank: run.first_rank as u32,
    }
}

impl Open {
    /// Whether a line from the base to this run is near enough to all runs between, and the segment
    /// would not cover too many ranks.
    #[inline]
    fn can_reach(&self, run: Run) -> bool {
        let rank = run.first_rank - u64::from(self.base.rank);
        rank + run.keys <= MAX_RANKS && self.corridor.holds(run.number - self.base.number, rank)
    }

    /// Adds a run that [`Open::can_reach`].
    #[inline]
    fn add(&mut self, run: Run) {
        let rank = run.first_rank - u64::from(self.base.rank);
        self.corridor.narrow(run.number - self.base.number, rank);
        self.last_keys = run.keys;
        self.numbers.push(run.number);
        if run.keys > 1 {
            self.longest = self.longest.max(run.keys);
            self.numbers.extend((1..run.keys).map(|_| run.number));
        }
    }

    /// Adds as many of these runs of one key as can be reached; returns how many.
    fn add_all(&mut self, numbers: &[u64]) -> usize {
        let room = MAX_RANKS.saturating_sub(self.numbers.len() as u64) as usize;
        let near = numbers.get(..room).unwrap_or(numbers);
        let rank = self.numbers.len() as u64;
        let taken = self.corridor.add_all(self.base.number, rank, near);
        if taken > 0 {
            self.numbers.extend(near.iter().take(taken));
            self.last_keys = 1;
        }
        taken
    }

    /// The last run.
    fn last(&self) -> Run {
        Run {
            number: self.numbers.last().copied().unwrap_or(self.base.number),
            first_rank: u64::from(self.base.rank) + self.numbers.len() as u64 - self.last_keys,
            keys: self.last_keys,
        }
    }

    /// How far the windows of a segment extend that holds the first `keys` keys and ends at the
    /// knot `right`, measured with the arithmetic of look-ups.
    fn measure(&self, keys: usize, right: Knot) -> Reach {
        let line = KnotLine::new(self.base, Some(right), right.rank.into());
        let numbers = self.numbers.get(..keys).unwrap_or_default();
        let (mut error, mut longest) = (0, 1);
        if self.longest == 1 {
            error = line.largest_error(numbers);
        } else {
            let mut rank = u64::from(self.base.rank);
            for run in numbers.chunk_by(|a, b| a == b) {
                let predicted = run.first().map(|number| line.predict(*number));
                error = error.max(predicted.unwrap_or(rank).abs_diff(rank));
                longest = longest.max(run.len() as u64);
                rank += run.len() as u64;
            }
        }
        Reach::new(error, longest)
    }
}

impl IndexBuilder for SplineBuilder {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        if let Some(run) = self.runs.push(key, number)? {
            self.settle(run);
        }
        Ok(())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        let ended = self.runs.push_numbers(numbers)?;
        if let Some(run) = ended.run {
            self.settle(run);
        }
        self.settle_all(ended.plain, ended.first_rank);
        Ok(())
    }

    fn trust_order(&mut self) {
        self.runs.trust_order();
    }

    fn take_closed(&mut self, closed: &mut Vec<ClosedSegment>) {
        let new = self.knots.iter().enumerate().take(self.reaches.len());
        closed.extend(new.skip(self.taken).map(|(i, knot)| ClosedSegment {
            first_rank: knot.rank.into(),
            ranks: self.end_of(i) - u64::from(knot.rank),
        }));
        self.taken = self.reaches.len();
    }

    fn predict_closed(&self, numbers: &[u64], predicted: &mut Vec<u64>) {
        let knots = &self.knots;
        let closed = knots.get(..self.reaches.len()).unwrap_or_default();
        let end = match knots.get(closed.len()) {
            Some(open) => numbers.partition_point(|number| *number < open.number),
            // Numbers above the last key may still join a segment.
            None => (knots.last()).map_or(0, |last| numbers.partition_point(|n| *n <= last.number)),
        };
        let numbers = numbers.get(..end).unwrap_or_default();
        let number_of = |knot: &Knot| knot.number;
        in_turn(closed, number_of, numbers, |at, own| {
            let Some(&left) = closed.get(at) else {
                return;
            };
            let line = KnotLine::new(left, knots.get(at + 1).copied(), self.end_of(at));
            predicted.extend(own.iter().map(|number| line.predict(*number)));
        });
    }

    fn close_segment(&mut self) {
        if let Some(run) = self.runs.end() {
            self.settle(run);
        }
        let Some(last) = self.open.as_ref().map(Open::last) else {
            return;
        };
        if self.knots.last() != Some(&knot_of(last)) {
            self.end_before_last();
            self.knots.push(knot_of(last));
        }
        // No line starts at the last knot; its run is a segment of its own.
        self.open = None;
        self.note(Reach::new(0, last.keys));
    }

    fn is_unfit(&self) -> bool {
        self.runs.is_unfit()
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        self.close_segment();
        let boundary = self.runs.boundary();
        let keys = self.runs.finish(self.kind.name)?;
        let (top, left_out) = (self.choose_top)(&self.settings, &self.knots, keys);
        Ok(Parts {
            kind: self.kind,
            boundary,
            keys,
            knots: &self.knots,
            reaches: &self.reaches,
            top,
            left_out,
        }
        .encode())
    }
}

/// The parts of the byte form.
struct Parts<'a> {
    kind: &'static Kind,
    boundary: u64,
    keys: u64,
    knots: &'a [Knot],
    reaches: &'a [Reach],
    top: Top,
    left_out: LeftOut,
}

impl Parts<'_> {
    fn encode(&self) -> Vec<u8> {
        let has_reaches = self.reaches.iter().any(|reach| reach.run != 1);
        let error = self.reaches.iter().map(|reach| reach.error).max();
        let error = error.filter(|_| !has_reaches).unwrap_or(0);
        let cells = self.top.build(self.left_out.rest(self.knots));
        let mut out = self.kind.header().to_vec();
        out.extend((self.knots.len() as u32).to_le_bytes());
        out.extend(self.keys.to_le_bytes());
        out.extend((self.boundary as u16).to_le_bytes());
        out.extend(error.to_le_bytes());
        out.push(u8::from(has_reaches) * REACHES);
        out.extend(self.top.to_bytes());
        out.extend([self.left_out.low, self.left_out.high, 0]);
        out.extend((cells.len() as u32).to_le_bytes());
        out.extend(self.knots.iter().flat_map(|knot| knot.to_bytes()));
        if has_reaches {
            let fields = |reach: &Reach| [reach.error, reach.run];
            let fields = self.reaches.iter().flat_map(fields);
            out.extend(fields.flat_map(u16::to_le_bytes));
        }
        out.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
        out
    }
}
