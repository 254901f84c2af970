//! What a tuner knows, under its lock.

use super::MOST_FORMS;
use super::agent::Agent;
use super::cost::{Known, cheapest, learn};
use super::layout::Layout;
use super::learner::Learner;
use super::memo::Memo;
use super::stats::{FormStats, TunerStats};
use super::timed::Timed;
use super::workload::Workload;
use crate::error::Result;

/// Where the mean entry differs by more than this factor from those of the sample, a new one is measured.
const OTHER_BYTES: f64 = 1.5;

/// But not before so many tables were begun: where entries of two sizes stand in one keyspace, merges meet both in turns. A
/// failure is tried again after as many.
const REST_TABLES: u64 = 64;

/// Who chooses.
#[derive(Debug)]
pub(super) enum Policy {
    /// The least cost, with this weight of time against memory.
    Cost { nu: f64 },
    /// DobLIX's agent.
    Agent(Box<Learner>),
}

#[derive(Debug)]
pub(super) struct State {
    pub policy: Policy,
    /// The forms that differ; the first one is what is set. Empty until they are measured.
    pub known: Vec<Known>,
    /// The place of the present one.
    present: usize,
    pub workload: Workload,
    /// How much longer than in samples reads take in tables, in nanoseconds.
    device: Option<f64>,
    /// What forms were measured for, the last time: what was set, and the mean bytes of an entry.
    asked: Option<(Layout, f64)>,
    /// Tables that were begun since then.
    pub begun: u64,
    pub is_measuring: bool,
    measured: u64,
    failure: Option<String>,
    /// Why what was remembered cannot be read or written.
    pub forgotten: Option<String>,
    /// Whether something is known that is not remembered yet.
    pub is_new: bool,
}

impl Policy {
    pub fn of(agent: Agent) -> Policy {
        Policy::Agent(Box::new(Learner::new(agent)))
    }
}

impl State {
    pub fn new(policy: Policy) -> State {
        State {
            policy,
            known: Vec::new(),
            present: 0,
            workload: Workload::default(),
            device: None,
            asked: None,
            begun: 0,
            is_measuring: false,
            measured: 0,
            failure: None,
            forgotten: None,
            is_new: false,
        }
    }

    /// What was set when the forms were measured.
    pub fn base(&self) -> Option<&Layout> {
        self.known.first().map(|known| &known.layout)
    }

    /// Whether forms are to be measured for tables of entries of so many bytes, for which `base` is set.
    pub fn is_due(&self, base: &Layout, bytes: f64) -> bool {
        let Some((asked, before)) = &self.asked else {
            return !self.is_measuring;
        };
        let is_other = bytes.max(*before) / bytes.min(*before) > OTHER_BYTES;
        let has_rested = self.begun >= REST_TABLES;
        let is_worth = asked != base || has_rested && (is_other || self.failure.is_some());
        is_worth && !self.is_measuring
    }

    /// Takes over what was measured for what was `asked`. The form that was chosen stays until another one is surely better.
    pub fn take(&mut self, asked: (Layout, f64), measured: Result<Vec<Known>>) {
        self.asked = Some(asked);
        self.begun = 0;
        self.measured = self.measured.saturating_add(1);
        let mut known = match measured {
            Ok(known) => known,
            Err(error) => {
                self.failure = Some(format!("could not be measured: {error}"));
                return;
            }
        };
        known.truncate(MOST_FORMS);
        let before = self.known.get(self.present).map(|k| k.layout.clone());
        let again = known
            .iter()
            .position(|k| Some(&k.layout) == before.as_ref());
        self.present = again.unwrap_or(0);
        (self.known, self.failure, self.is_new) = (known, None, true);
        if let Policy::Agent(learner) = &mut self.policy {
            learner.forget();
        }
    }

    /// The form of a table that begins, by what gets took in tables, and beside how many scans.
    pub fn choose(&mut self, timed: &[Timed], scans: u64) -> Option<Layout> {
        let is_known = self.workload.is_known();
        match &mut self.policy {
            Policy::Cost { nu } => {
                let nu = *nu;
                self.learn(timed);
                if is_known {
                    let seen = (&self.workload, self.device.unwrap_or(0.0));
                    self.present = cheapest(&self.known, seen, nu, self.present);
                }
            }
            Policy::Agent(learner) if is_known => {
                let (now, form) = (timed.get(self.present)?, self.known.get(self.present)?);
                let seen = (now.seen(&form.costs), scans);
                if let Some(next) = learner.table(&self.known, &self.workload, seen) {
                    self.present = next;
                    // The next episode begins with none.
                    timed.iter().for_each(Timed::clear);
                }
            }
            Policy::Agent(_) => {}
        }
        let chosen = self.known.get_mut(self.present)?;
        chosen.tables = chosen.tables.saturating_add(1);
        Some(chosen.layout.clone())
    }

    /// Takes over what gets took in tables, where enough of them were timed.
    fn learn(&mut self, timed: &[Timed]) {
        for (timed, known) in timed.iter().zip(&mut self.known) {
            let seen = timed.seen(&known.costs);
            timed.clear_enough();
            learn(&mut known.ratio, seen.ratio);
            learn(&mut self.device, seen.device);
        }
    }

    /// What is kept of it.
    pub fn memo(&self) -> Memo {
        Memo {
            is_agent: matches!(self.policy, Policy::Agent(_)),
            entry_bytes: self.asked.as_ref().map_or(0.0, |(_, bytes)| *bytes),
            known: self.known.clone(),
            present: self.present,
            workload: self.workload,
            measured: self.measured,
            device: self.device,
            agent: match &self.policy {
                Policy::Agent(learner) => learner.remember(),
                Policy::Cost { .. } => None,
            },
        }
    }

    /// Goes on where a tuner of the same kind was.
    pub fn recall(&mut self, memo: Memo) {
        let is_agent = matches!(self.policy, Policy::Agent(_));
        if memo.is_agent != is_agent || memo.known.len() > MOST_FORMS || !memo.is_sensible() {
            return;
        }
        let base = memo.known.first().map(|known| known.layout.clone());
        self.asked = base.map(|base| (base, memo.entry_bytes.max(1.0)));
        (self.known, self.present) = (memo.known, memo.present);
        (self.workload, self.measured) = (memo.workload, memo.measured);
        self.device = memo.device;
        if let (Policy::Agent(learner), Some(agent)) = (&mut self.policy, memo.agent) {
            learner.recall(agent, &self.known, &self.workload);
        }
    }

    /// What it tells of itself.
    pub fn stats(&self) -> TunerStats {
        let learner = match &self.policy {
            Policy::Cost { .. } => None,
            Policy::Agent(learner) => Some(learner),
        };
        let forms = self.known.iter().map(|known| FormStats {
            form: known.layout.to_string(),
            cached_get: known.costs.cached_get,
            uncached_get: known.costs.uncached_get,
            cached_scan: known.costs.cached_scan,
            uncached_scan: known.costs.uncached_scan,
            memory: known.costs.memory,
            ratio: known.ratio,
            tables: known.tables,
            value: learner.and_then(|learner| learner.value(&known.layout)),
            actions: learner.map_or(Vec::new(), |learner| learner.actions(&known.layout)),
        });
        TunerStats {
            is_on: true,
            models: None,
            forms: forms.collect(),
            present: self.present,
            is_measuring: self.is_measuring,
            measured: self.measured,
            failure: self.failure.clone().or_else(|| self.forgotten.clone()),
            episodes: learner.map_or(0, |learner| learner.episodes()),
            device: self.device,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::tune::cost::Costs;

    fn layout(index: &str) -> Layout {
        Layout::parse(index, "bytes(4096)").unwrap()
    }

    fn known() -> Vec<Known> {
        vec![Known::new(layout("fp"), Costs::default())]
    }

    #[test]
    fn forms_are_measured_once_and_again_where_something_else_is_written() {
        let mut state = State::new(Policy::Cost { nu: 1.0 });
        assert!(state.is_due(&layout("fp"), 100.0));
        state.is_measuring = true;
        assert!(!state.is_due(&layout("fp"), 100.0), "somebody measures now");
        state.is_measuring = false;
        state.take((layout("fp"), 100.0), Ok(known()));
        assert!(!state.is_due(&layout("fp"), 140.0));
        assert!(state.is_due(&layout("plr"), 100.0), "something else is set");
        // Two sizes of entries in turns cost no measurement each.
        assert!(!state.is_due(&layout("fp"), 1.0));
        state.begun = REST_TABLES;
        assert!(state.is_due(&layout("fp"), 1.0) && !state.is_due(&layout("fp"), 100.0));
    }

    #[test]
    fn a_failure_changes_nothing_and_is_tried_again_later() {
        let mut state = State::new(Policy::Cost { nu: 1.0 });
        state.take((layout("fp"), 100.0), Ok(known()));
        state.take((layout("fp"), 200.0), Err(Error::Closed));
        assert!(state.failure.is_some() && state.base() == Some(&layout("fp")));
        assert!(!state.is_due(&layout("fp"), 200.0));
        state.begun = REST_TABLES;
        assert!(state.is_due(&layout("fp"), 200.0));
        state.take((layout("fp"), 200.0), Ok(known()));
        assert!(state.failure.is_none());
    }
}
