//! How many times as good one system is as others, as rules.

use super::compare::{Told, range, short};
use super::evidence::{Evidence, Missing, Selection};
use super::part::{Part, Why};
use super::ratio::Only;
use crate::contest::Rounds;

/// What decides where there are several points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Each point has the gain that was published for it.
    Each,
    /// The best point has it: "up to".
    Best,
    /// The geometric mean over all points has it: "on average".
    Mean,
}

/// A published statement on how many times as good one system is as another.
pub struct Gain {
    /// The arm of our experiments that stands for the better one.
    pub ours: &'static str,
    /// In a few words; the other system follows.
    pub what: &'static str,
    pub experiment: &'static str,
    /// What else selects its cells.
    pub only: Only,
    /// The figure of ours, and that of the other system.
    pub metrics: [&'static str; 2],
    /// Whether the figures are times or sizes, of which less is better.
    pub is_cost: bool,
    pub rule: Rule,
    /// The axis besides the system; empty if there is none.
    pub axis: &'static str,
    /// Its values with the published gains.
    pub points: Vec<(String, f64)>,
    /// Why ours may differ from what was published over a system.
    pub why: fn(&str) -> Why,
}

impl Gain {
    /// Of a throughput, in a cell without another axis.
    pub fn new(
        (ours, why): (&'static str, fn(&str) -> Why),
        what: &'static str,
        experiment: &'static str,
        metric: &'static str,
        published: f64,
    ) -> Gain {
        Gain {
            ours,
            why,
            what,
            experiment,
            only: &[],
            metrics: [metric; 2],
            is_cost: false,
            rule: Rule::Each,
            axis: "",
            points: vec![(String::new(), published)],
        }
    }

    /// Of a time or a size.
    pub fn of_cost(self, metrics: [&'static str; 2]) -> Gain {
        Gain {
            metrics,
            is_cost: true,
            ..self
        }
    }

    /// At points of an axis.
    pub fn at(self, axis: &'static str, points: Vec<(String, f64)>) -> Gain {
        Gain {
            axis,
            points,
            ..self
        }
    }

    /// In cells that have more axes.
    pub fn only(self, only: Only) -> Gain {
        Gain { only, ..self }
    }

    /// At the best of the points, each of which may have the gain.
    pub fn best_of(self, axis: &'static str, values: &[&str]) -> Gain {
        self.by(Rule::Best, axis, values)
    }

    /// On average over the points.
    pub fn mean_of(self, axis: &'static str, values: &[&str]) -> Gain {
        self.by(Rule::Mean, axis, values)
    }

    fn by(self, rule: Rule, axis: &'static str, values: &[&str]) -> Gain {
        let published = self.points.first().map_or(1.0, |(_, gain)| *gain);
        let points = values.iter().map(|value| (value.to_string(), published));
        Gain {
            rule,
            ..self.at(axis, points.collect())
        }
    }

    /// The statement over each of some systems.
    pub fn over(&self, evidence: &Evidence<'_>, others: &[&'static str]) -> Vec<Part> {
        let parts = others.iter().map(|other| self.part(evidence, other));
        parts.collect()
    }

    fn part(&self, evidence: &Evidence<'_>, other: &'static str) -> Part {
        let what = format!("{} over {other}", self.what);
        let mut cells = evidence.cells(self.experiment);
        if !cells.only("system", other).is_declared() {
            return match other.starts_with("rdb+") || other.starts_with("rocksdb") {
                true => {
                    Part::undecided(what, "RocksDB is not built in: build with --features peers")
                }
                false => Part::not_measured(what, format!("needs {other}, which is not built yet")),
            };
        }
        for (axis, value) in self.only {
            cells = cells.only(axis, value);
        }
        Part::judged(what, self.judge(&cells, other)).because((self.why)(other))
    }

    fn judge(&self, cells: &Selection<'_>, other: &str) -> Result<(Told, String), Missing> {
        let (mut told, mut gains) = (Vec::new(), Vec::new());
        let there = |(at, _): &&(String, f64)| {
            self.axis.is_empty() || cells.only(self.axis, at).is_declared()
        };
        for (at, published) in self.points.iter().filter(there) {
            let cells = match self.axis {
                "" => cells.clone(),
                axis => cells.only(axis, at),
            };
            let gain = self.gain(&cells, other)?;
            told.push(Told::at_least(gain.ratio(), least(*published)));
            gains.push(gain);
        }
        if told.is_empty() {
            // None is declared at this scale, which the selection says.
            let (at, _) = self.points.first().cloned().unwrap_or_default();
            cells.only(self.axis, at).whole()?;
        }
        let published: Vec<f64> = self.points.iter().map(|(_, gain)| *gain).collect();
        let needed: Vec<f64> = published.iter().map(|gain| least(*gain)).collect();
        let medians: Vec<f64> = gains.iter().map(Rounds::median).collect();
        let texts = [&medians, &published, &needed].map(|numbers| range(numbers));
        let [mut ours, published, all_needed] = texts;
        let told = match self.rule {
            Rule::Mean => {
                let mean = Rounds::of_all(&gains, geometric_mean).ratio();
                ours = format!("{} (at single points {ours})", short(mean.middle));
                Told::at_least(mean, needed.first().copied().unwrap_or(1.0))
            }
            Rule::Each | Rule::Best => self.decide(&told),
        };
        let ours = format!("{ours} times as good; published {published}, needed {all_needed}");
        Ok((told, ours))
    }

    /// How many times as good ours is, round by round.
    fn gain(&self, cells: &Selection<'_>, other: &str) -> Result<Rounds, Missing> {
        let [ours, theirs] = self.metrics;
        let ours = rounds(&cells.only("system", self.ours), ours)?;
        let theirs = rounds(&cells.only("system", other), theirs)?;
        let gain = match self.is_cost {
            true => theirs.over(&ours),
            false => ours.over(&theirs),
        };
        match gain.count() {
            0 => {
                Err(cells
                    .undecided("no run measured both, and figures of different runs are no pair"))
            }
            _ => Ok(gain),
        }
    }

    fn decide(&self, told: &[Told]) -> Told {
        let is = |of| told.contains(&of);
        match self.rule {
            Rule::Each if is(Told::No) => Told::No,
            Rule::Best if is(Told::Yes) => Told::Yes,
            _ if is(Told::Unclear) => Told::Unclear,
            Rule::Best => Told::No,
            Rule::Each | Rule::Mean => Told::Yes,
        }
    }
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (logs / ratios.len() as f64).exp()
}

/// A figure of one cell, which the machine may have refused to measure.
pub fn rounds(cell: &Selection<'_>, metric: &'static str) -> Result<Rounds, Missing> {
    if let Some(why) = cell.refusal() {
        return Err(cell.undecided(format!("not permitted on this machine: {why}")));
    }
    cell.clone().whole()?.rounds(metric)
}

/// The gain by which a statement holds: at least half of what ours was published to be better, or at most one and a half
/// times what it was published to be worse.
fn least(published: f64) -> f64 {
    let part = if published < 1.0 { 1.5 } else { 0.5 };
    1.0 + (published - 1.0) * part
}

/// A cost of a record as text, for parts that compare it with a limit.
pub fn at_most(told: Told, ours: f64, limit: f64, unit: &str, published: &str) -> (Told, String) {
    let (ours, limit) = (short(ours), short(limit));
    (
        told,
        format!("{ours} {unit}; published {published}, allowed {limit}"),
    )
}
