//! Layout of entries: models are chosen and lines filled from the root down.

use super::cache_line::{self, BYTES, CacheLine};
use super::model::{Linear, Model, by_slot};
use super::survey::{self, Cost};
use super::train;
use super::warped::Warped;

/// The loads that are tried: numbers for each slot, in percent of a full bucket.
const LOADS: [usize; 9] = [42, 50, 60, 75, 90, 150, 300, 1000, 5000];

/// The fewest slots of a node, so that a child covers at most a seventh of its numbers.
const LEAST_SLOTS: usize = 8;

/// From this level on, lines span all numbers of their node, which bounds depth: each level divides
/// the range of at most 2^64 numbers by at least seven.
const WHOLE_FROM: usize = 32;

/// When a flow is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Only if it saves time.
    Auto,
    Never,
    Always,
}

/// The root's model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Root {
    Linear(Linear),
    Warped(Warped),
}

/// The first number and the last.
fn ends(entries: &[(u64, u64)]) -> (u64, u64) {
    let number = |entry: Option<&(u64, u64)>| entry.map_or(0, |entry| entry.0);
    (number(entries.first()), number(entries.last()))
}

/// The range of the numbers without far outliers: it extends past the quartiles by three quarters
/// of the distance between them, which is more than enough for evenly spread numbers. On either
/// side at most a quarter of the entries are outside.
fn bulk(entries: &[(u64, u64)]) -> (u64, u64) {
    let (first, last) = ends(entries);
    let quarter = |i: usize| entries.get(entries.len() * i / 4).map_or(0, |e| e.0);
    let (low, high) = (quarter(1), quarter(3));
    let margin = ((u128::from(high - low) * 3) >> 2) as u64;
    (
        low.saturating_sub(margin).max(first),
        high.saturating_add(margin).min(last),
    )
}

/// The cheapest of the models that `make` returns for various numbers of slots.
fn cheapest<M: Model>(
    entries: &[(u64, u64)],
    table: usize,
    make: impl Fn(usize) -> M,
) -> (M, Cost) {
    let priced = |slots: usize| {
        let model = make(slots);
        let cost = survey::cost(entries, &model, table);
        (model, cost)
    };
    let capacity = cache_line::capacity(entries);
    let mut slots = LOADS
        .iter()
        .map(|load| entries.len() * 100 / (capacity * load));
    let first = priced(slots.next().unwrap_or(1).max(1));
    let others = slots.take_while(|slots| *slots >= LEAST_SLOTS).map(priced);
    others.fold(first, |best, other| {
        match other.1.total() < best.1.total() {
            true => other,
            false => best,
        }
    })
}

/// A line with its range and cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain {
    /// The range of numbers that it divides.
    range: (u64, u64),
    model: Linear,
    pub(super) cost: Cost,
}

/// The cheapest line.
pub(super) fn line_for(entries: &[(u64, u64)], table: usize, level: usize) -> Plain {
    let whole = ends(entries);
    let bulk = Some(bulk(entries)).filter(|bulk| *bulk != whole && level < WHOLE_FROM);
    let over = |range| {
        let (model, cost) = cheapest(entries, table, |slots| Linear::over(range, slots));
        Plain { range, model, cost }
    };
    let plain = over(whole);
    let bulk = bulk.map(over);
    bulk.filter(|bulk| bulk.cost.total() < plain.cost.total())
        .unwrap_or(plain)
}

/// The effect of a flow on conflicts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trial {
    pub(super) flow: Warped,
    pub(super) cost: Cost,
    /// The tail conflict degrees without and with the flow.
    pub(super) tails: [usize; 2],
}

impl Trial {
    /// Whether the flow lowers the tail of conflicts by a tenth and saves more than its evaluation
    /// costs.
    pub(super) fn pays(&self, plain: &Cost) -> bool {
        let [before, after] = self.tails;
        after * 10 <= before * 9
            && after < before
            && self.cost.total() + survey::FLOW < plain.total()
    }
}

/// Trains a flow and measures its effect.
pub(super) fn trial(entries: &[(u64, u64)], plain: &Plain) -> Option<Trial> {
    let ends = ends(entries);
    let flow = train::train(entries)?;
    let over = |slots| Warped::over(&flow, ends, entries.len(), slots);
    let (warped, cost) = cheapest(entries, entries.len(), over);
    let slots = survey::tail_slots(entries.len());
    let tails = [
        survey::tail_conflicts(entries, &Linear::over(plain.range, slots)),
        survey::tail_conflicts(entries, &over(slots)),
    ];
    Some(Trial {
        flow: warped,
        cost,
        tails,
    })
}

/// Chooses the root's model.
pub(super) fn root(entries: &[(u64, u64)], flow: Use) -> Root {
    let plain = line_for(entries, entries.len(), 0);
    // A look-up reads at least one line, so a flow can save at most the lines above one.
    let may_pay = plain.cost.lines > 1.0 + survey::FLOW && entries.len() >= train::LEAST;
    let trial = match flow {
        Use::Always if entries.len() > 1 => trial(entries, &plain),
        Use::Auto if may_pay => trial(entries, &plain).filter(|trial| trial.pays(&plain.cost)),
        _ => None,
    };
    trial.map_or(Root::Linear(plain.model), |trial| Root::Warped(trial.flow))
}

/// Lines while they are being laid out.
#[derive(Debug)]
pub(super) struct Laying<'a> {
    out: &'a mut Vec<u8>,
    /// The offset of the first line in `out`.
    start: usize,
    /// How many numbers the table has.
    table: usize,
}

impl<'a> Laying<'a> {
    /// Lines at the end of `out` for a table with `table` numbers.
    pub(super) fn new(out: &'a mut Vec<u8>, table: usize) -> Self {
        let start = out.len();
        Laying { out, start, table }
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        (self.out.len() - self.start) / BYTES
    }

    /// Adds this many lines; returns the first.
    fn reserve(&mut self, lines: usize) -> usize {
        let first = self.len();
        self.out.resize(self.out.len() + lines * BYTES, 0);
        first
    }

    fn set(&mut self, at: usize, line: &CacheLine) {
        let lines = self.out.get_mut(self.start..).unwrap_or_default();
        if let Some(place) = lines.as_chunks_mut::<BYTES>().0.get_mut(at) {
            *place = *line;
        }
    }

    /// Lays out a node: a line for each slot of its model, then the lines below. Returns the first
    /// line.
    pub(super) fn node(
        &mut self,
        entries: &[(u64, u64)],
        model: &impl Model,
        level: usize,
    ) -> usize {
        let first = self.reserve(model.slots());
        let mut next = 0;
        let are_near = cache_line::are_near(entries);
        for (slot, inside) in by_slot(entries, model) {
            let rank = inside.first().map_or(0, |entry| entry.1);
            for at in next..slot {
                self.set(first + at, &cache_line::empty(rank));
            }
            let line = self.slot(inside, are_near, level);
            self.set(first + slot, &line);
            next = slot + 1;
        }
        // Slots past the last entry point to the last entry, whose successor is the lower bound.
        let last = entries.last().map(std::slice::from_ref).unwrap_or_default();
        for at in next..model.slots() {
            self.set(first + at, &cache_line::bucket(last, false));
        }
        first
    }

    /// Makes the line of a slot and lays out the lines below it.
    fn slot(&mut self, entries: &[(u64, u64)], are_near: bool, level: usize) -> CacheLine {
        let buckets = cache_line::divided(entries);
        match buckets.as_deref() {
            Some([bucket]) => cache_line::bucket(bucket, are_near),
            Some(buckets) => {
                let first = self.reserve(buckets.len());
                for (at, bucket) in (first..).zip(buckets) {
                    self.set(at, &cache_line::bucket(bucket, are_near));
                }
                cache_line::dense(buckets, first)
            }
            None => {
                let Plain { model, .. } = line_for(entries, self.table, level + 1);
                cache_line::node(&model, self.node(entries, &model, level + 1))
            }
        }
    }
}
