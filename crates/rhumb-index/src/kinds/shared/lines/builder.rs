//! Trains a row of lines on a stream of keys.

use std::marker::PhantomData;

use super::{LineKind, RECORD, RUNS, Route, Segment};
use crate::kinds::shared::in_turn::in_turn;
use crate::kinds::shared::knobs::BOUNDARY;
use crate::kinds::shared::reach::Reach;
use crate::kinds::shared::runs::{Ended, Run, Runs};
use crate::knob::Settings;
use crate::segment::{Fit, Line, MAX_RANKS, line_bound};
use crate::{ClosedSegment, IndexBuilder, IndexError};

#[derive(Debug)]
pub(crate) struct LineBuilder<K: LineKind> {
    settings: Settings,
    runs: Runs,
    row: Row<K::Fit>,
    /// How many closed segments [`IndexBuilder::take_closed`] has returned.
    taken: usize,
    kind: PhantomData<K>,
}

/// A row of segments under construction.
#[derive(Debug, Default)]
struct Row<F> {
    open: Open<F>,
    closed: Vec<Segment>,
}

/// A segment that may still grow. Its points are kept until it closes, to measure the true error.
#[derive(Debug, Default)]
struct Open<F> {
    fit: F,
    /// The numbers of its runs; empty if no segment is open.
    numbers: Vec<u64>,
    /// The first rank of each run less that of the first; empty while every run is one key long.
    ranks: Vec<u32>,
    first_rank: u64,
    /// How many keys it covers.
    keys: u64,
    longest_run: u64,
}

impl<K: LineKind> LineBuilder<K> {
    pub(crate) fn new(settings: &Settings) -> Self {
        LineBuilder {
            settings: settings.clone(),
            runs: Runs::new(BOUNDARY.of(settings)),
            row: Row::default(),
            taken: 0,
            kind: PhantomData,
        }
    }
}

impl<F: Fit> Row<F> {
    /// Adds a run of known length to the open segment, or starts a new segment with it.
    #[inline]
    fn settle(&mut self, runs: &mut Runs, run: Run) {
        if !self.open.add(runs, run) {
            self.close(runs);
            self.open.begin(runs, run);
        }
    }

    /// As [`Row::settle`] for runs of one key each, the first of which has rank `first_rank`.
    fn settle_all(&mut self, runs: &mut Runs, mut numbers: &[u64], mut first_rank: u64) {
        while let [number, rest @ ..] = numbers {
            let taken = self.open.add_all(numbers);
            if taken > 0 {
                numbers = numbers.get(taken..).unwrap_or_default();
                first_rank += taken as u64;
                continue;
            }
            self.close(runs);
            let run = Run {
                number: *number,
                first_rank,
                keys: 1,
            };
            self.open.begin(runs, run);
            (numbers, first_rank) = (rest, first_rank + 1);
        }
    }

    fn close(&mut self, runs: &mut Runs) {
        let Some(segment) = self.open.close() else {
            return;
        };
        // The fits reserve more than rounding takes, so this should not happen. If it does, the
        // model is given up instead of breaking the position boundary.
        if segment.reach.width() > runs.boundary() {
            return runs.give_up("rounding exceeds the position boundary: use fp");
        }
        self.closed.push(segment);
    }
}

impl<F: Fit> Open<F> {
    fn clear(&mut self) {
        self.numbers.clear();
        self.ranks.clear();
    }

    fn begin(&mut self, runs: &Runs, run: Run) {
        self.clear();
        self.fit.start(line_bound(runs.bound_for(run.keys)));
        self.numbers.push(run.number);
        (self.first_rank, self.keys, self.longest_run) = (run.first_rank, run.keys, run.keys);
    }

    /// Adds the next run if it fits; returns false if it needs a new segment.
    #[inline]
    fn add(&mut self, runs: &Runs, run: Run) -> bool {
        let Some(&first) = self.numbers.first() else {
            return false;
        };
        if self.keys + run.keys > MAX_RANKS {
            return false;
        }
        let fits = match run.keys <= self.longest_run {
            true => self.fit.add(run.number - first, self.keys),
            false => self.add_longest(runs, run, first),
        };
        if fits {
            if self.keys != self.numbers.len() as u64 || run.keys != 1 {
                self.note_ranks(1);
            }
            self.numbers.push(run.number);
            self.keys += run.keys;
        }
        fits
    }

    /// Adds as many of these runs of one key as fit; returns how many.
    fn add_all(&mut self, numbers: &[u64]) -> usize {
        let Some(&first) = self.numbers.first() else {
            return 0;
        };
        let room = MAX_RANKS.saturating_sub(self.keys) as usize;
        let numbers = numbers.get(..room).unwrap_or(numbers);
        let taken = self.fit.add_all(first, self.keys, numbers);
        let taken = numbers.get(..taken).unwrap_or(numbers);
        if self.keys != self.numbers.len() as u64 {
            self.note_ranks(taken.len());
        }
        self.numbers.extend_from_slice(taken);
        self.keys += taken.len() as u64;
        taken.len()
    }

    /// Adds a run longer than all before it, which leaves a smaller error bound for the whole
    /// segment.
    #[cold]
    fn add_longest(&mut self, runs: &Runs, run: Run, first: u64) -> bool {
        let fits = self.refit(runs, run.keys) && self.fit.add(run.number - first, self.keys);
        match fits {
            true => self.longest_run = run.keys,
            false => {
                self.refit(runs, self.longest_run);
            }
        }
        fits
    }

    /// Fits all points again with the error bound that a longest run of this length leaves.
    fn refit(&mut self, runs: &Runs, longest_run: u64) -> bool {
        self.fit.start(line_bound(runs.bound_for(longest_run)));
        // The first point is the origin of the coordinates.
        let first = self.numbers.first().copied().unwrap_or(0);
        (1..self.numbers.len()).all(|i| {
            let number = self.numbers.get(i).copied().unwrap_or(first);
            self.fit.add(number - first, self.rank(i))
        })
    }

    /// Notes the ranks of the next `runs` runs, of which all but the last have one key. If `ranks`
    /// is empty, it is first filled with the ranks so far, which equal the positions.
    fn note_ranks(&mut self, runs: usize) {
        if self.ranks.is_empty() {
            self.ranks.extend(0..self.numbers.len() as u32);
        }
        self.ranks.extend((self.keys as u32..).take(runs));
    }

    /// The first rank of run `i` less that of the first run.
    fn rank(&self, i: usize) -> u64 {
        self.ranks.get(i).map_or(i as u64, |&rank| rank.into())
    }

    /// The finished segment; its error is measured with the arithmetic of look-ups.
    fn close(&mut self) -> Option<Segment> {
        let (x, y, slope) = self.fit.line();
        let line = Line {
            first_number: *self.numbers.first()?,
            first_rank: self.first_rank,
            ranks: self.keys,
            slope: 0.0,
            offset: 0,
        };
        let line = line.through(x, y, slope);
        let reach = Reach::new(line.error(&self.numbers, &self.ranks), self.longest_run);
        self.clear();
        Some(Segment { line, reach })
    }
}

impl<K: LineKind> IndexBuilder for LineBuilder<K> {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        if let Some(run) = self.runs.push(key, number)? {
            self.row.settle(&mut self.runs, run);
        }
        Ok(())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        let ended = self.runs.push_numbers(numbers)?;
        if let Some(run) = ended.run {
            self.row.settle(&mut self.runs, run);
        }
        let Ended {
            plain, first_rank, ..
        } = ended;
        self.row.settle_all(&mut self.runs, plain, first_rank);
        Ok(())
    }

    fn trust_order(&mut self) {
        self.runs.trust_order();
    }

    fn take_closed(&mut self, closed: &mut Vec<ClosedSegment>) {
        let closed_here = &self.row.closed;
        let new = closed_here.get(self.taken..).unwrap_or_default();
        closed.extend(new.iter().map(|segment| ClosedSegment {
            first_rank: segment.line.first_rank,
            ranks: segment.line.ranks,
        }));
        self.taken = closed_here.len();
    }

    fn predict_closed(&self, numbers: &[u64], predicted: &mut Vec<u64>) {
        let open = self.row.open.numbers.first().copied();
        let end = match open.or(self.runs.pending_number()) {
            Some(first) => numbers.partition_point(|number| *number < first),
            // Numbers above the last one may still join a segment.
            None => (self.runs.last_number())
                .map_or(0, |last| numbers.partition_point(|number| *number <= last)),
        };
        let closed = &self.row.closed;
        let numbers = numbers.get(..end).unwrap_or_default();
        let number_of = |segment: &Segment| segment.line.first_number;
        in_turn(closed, number_of, numbers, |at, own| {
            let line = closed.get(at).map(|segment| &segment.line);
            predicted.extend(own.iter().filter_map(|n| Some(line?.predict(*n))));
        });
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        self.close_segment();
        let (boundary, closed) = (self.runs.boundary(), self.row.closed);
        let keys = self.runs.finish(K::kind().name)?;
        let mut out = K::kind().header().to_vec();
        encode_lines(&closed, keys, boundary, &mut out);
        K::Route::encode(&self.settings, &closed, &mut out);
        Ok(out)
    }

    fn close_segment(&mut self) {
        if self.runs.is_unfit() {
            return;
        }
        if let Some(run) = self.runs.end() {
            self.row.settle(&mut self.runs, run);
        }
        self.row.close(&mut self.runs);
    }

    fn is_unfit(&self) -> bool {
        self.runs.is_unfit()
    }
}

/// Cuts ascending distinct numbers into segments for windows of at most `boundary`.
pub(crate) fn cut_numbers<F: Fit>(numbers: &[u64], boundary: u64) -> Vec<Segment> {
    let (mut runs, mut row) = (Runs::new(boundary), Row::<F>::default());
    row.settle_all(&mut runs, numbers, 0);
    row.close(&mut runs);
    row.closed
}

/// Appends the byte form of the lines: a header, the numbers, the records, the runs if needed.
pub(crate) fn encode_lines(segments: &[Segment], keys: u64, boundary: u64, out: &mut Vec<u8>) {
    let runs = segments.iter().any(|segment| segment.reach.run != 1);
    out.extend((segments.len() as u32).to_le_bytes());
    out.extend(keys.to_le_bytes());
    out.extend((boundary as u16).to_le_bytes());
    out.extend((u16::from(runs) * RUNS).to_le_bytes());
    out.extend([0; 4]);
    let lines = || segments.iter().map(|segment| segment.line);
    out.extend(lines().flat_map(|line| line.first_number.to_le_bytes()));
    for segment in segments {
        let line = segment.line;
        out.extend((line.first_rank as u32).to_le_bytes());
        out.extend(line.slope.to_le_bytes());
        out.extend(line.offset.to_le_bytes());
        out.extend(segment.reach.error.to_le_bytes());
    }
    out.extend((keys as u32).to_le_bytes());
    out.extend([0; RECORD - 4]);
    if runs {
        out.extend(segments.iter().flat_map(|s| s.reach.run.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use crate::registry;

    #[test]
    fn no_number_of_the_open_segment_is_predicted() {
        let mut builder = registry::builder(&"plr".parse().unwrap()).unwrap();
        let numbers: Vec<u64> = (0..1_000).map(|i| i * i * i).collect();
        let mut closed = Vec::new();
        for number in &numbers {
            builder.push(&number.to_be_bytes(), *number).unwrap();
            builder.take_closed(&mut closed);
            let Some(last) = closed.last() else { continue };
            let open = (last.first_rank + last.ranks) as usize;
            let mut predicted = Vec::new();
            builder.predict_closed(&numbers[..=open], &mut predicted);
            assert_eq!(predicted.len(), open);
        }
        assert!(closed.len() > 5, "{}", closed.len());
    }
}
