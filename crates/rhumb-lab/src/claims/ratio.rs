//! Rules as data: the ratio of one cell's figure to another's must be in a band.

use super::compare::{Told, short};
use super::evidence::Missing;
use super::part::Why;
use super::{Evidence, Part};
use crate::contest::Rounds;

/// Values of axes that select one cell.
pub type Only = &'static [(&'static str, &'static str)];

/// A part of a claim: how much more one cell of an experiment takes than another.
pub struct Ratio {
    /// The statement, in a few words.
    pub what: &'static str,
    /// The experiment.
    pub experiment: &'static str,
    /// The cell above the line of the fraction.
    pub of: Only,
    /// The cell below it.
    pub over: Only,
    /// The figure of both.
    pub metric: &'static str,
    /// The published ratio.
    pub published: f64,
    /// The least and the greatest ratio by which the part holds. The whole interval over the rounds
    /// must be inside.
    pub band: (f64, f64),
    /// Why ours differs, in case that it does not hold; none if the reason is not known.
    pub why: Option<Why>,
}

impl Ratio {
    /// The part, judged by pairs of figures of the same round.
    pub fn part(&self, evidence: &Evidence<'_>) -> Part {
        Part::judged(self.what, self.judge(evidence)).because(self.why)
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
        let ratio = self
            .rounds(evidence, self.of)?
            .over(&self.rounds(evidence, self.over)?);
        if ratio.count() == 0 {
            let ours = "no run measured both, and figures of different runs are no pair";
            return Ok((Told::Unclear, ours.to_string()));
        }
        let ratio = ratio.ratio();
        let (least, greatest) = self.band;
        let told = Told::between(ratio, least, greatest);
        let [middle, low, high] = [ratio.middle, ratio.least, ratio.greatest].map(short);
        let published = short(self.published);
        let (least, greatest) = (short(least), short(greatest));
        let ours = format!(
            "{middle} times, by the rounds {low} to {high}; published {published}, allowed {least} to {greatest}"
        );
        Ok((told, ours))
    }

    fn rounds(&self, evidence: &Evidence<'_>, only: Only) -> Result<Rounds, Missing> {
        let mut cells = evidence.cells(self.experiment);
        for (axis, value) in only {
            cells = cells.only(axis, value);
        }
        cells.whole()?.rounds(self.metric)
    }
}
