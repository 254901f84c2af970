//! Lets DobLIX's agent choose the tables of a keyspace: tells it what an episode of tables cost, and when the workload changed.

use super::agent::{Agent, AgentState, EPISODE_TABLES, Episode, SIZES, STATES};
use super::cost::Known;
use super::layout::Layout;
use super::workload::Workload;

/// An episode lasts until so many gets were timed in its tables, or so many scans were made.
const LEAST_SEEN: u64 = 200;
/// The spread of what the pre-training replays: that of repeated measurements.
const SPREAD: f64 = 0.03;
/// The share of gets among all reads may differ by this much; by more, twice running, it is another workload.
const OTHER_SHARE: f64 = 0.2;
/// The episodes that give the scale after such a change.
const KEPT: usize = 10;

/// The agent with what it needs to know of a keyspace.
#[derive(Debug)]
pub(super) struct Learner {
    agent: Agent,
    /// Whether it was trained on the forms that are known.
    is_trained: bool,
    /// The tables of this episode.
    tables: u64,
    /// The share of gets when the workload was taken to be another one the last time, and how many episodes differ from it.
    share: Option<f64>,
    differ: u32,
    last: Vec<Episode>,
}

/// The forms that it chooses from, behind what is set.
pub(super) fn candidates(base: &Layout) -> Vec<Layout> {
    let states = (0..STATES).filter_map(Agent::layout);
    let mut layouts = vec![base.clone()];
    layouts.extend(states.filter(|layout| layout != base));
    layouts
}

impl Learner {
    pub fn new(agent: Agent) -> Learner {
        Learner {
            agent,
            is_trained: false,
            tables: 0,
            share: None,
            differ: 0,
            last: Vec::new(),
        }
    }

    /// The episodes so far.
    pub fn episodes(&self) -> u64 {
        self.agent.episodes
    }

    /// What the agent learned of a form, if it is one of its own.
    pub fn value(&self, layout: &Layout) -> Option<f64> {
        let state = (0..STATES).find(|state| Agent::layout(*state).as_ref() == Some(layout))?;
        Some(self.agent.value(state))
    }

    /// Counts a table that begins: trains the agent before the first one. Returns the place of another form to take, if any.
    pub fn table(
        &mut self,
        known: &[Known],
        workload: &Workload,
        seen: (u64, f64),
    ) -> Option<usize> {
        match self.is_trained {
            true => self.begin_table(known, workload, seen),
            false => {
                self.is_trained = true;
                self.pre_train(known, workload)
            }
        }
    }

    /// Trains the agent again before the next table, since its forms were measured anew.
    pub fn forget(&mut self) {
        self.is_trained = false;
    }

    /// What is kept of the agent, once it was trained.
    pub fn remember(&self) -> Option<AgentState> {
        self.is_trained.then(|| self.agent.remember())
    }

    /// Lets the agent go on where it was.
    pub fn recall(&mut self, kept: AgentState, known: &[Known], workload: &Workload) {
        if let Some((measured, reads)) = figures(known, workload) {
            self.agent.calibrate(&measured, &reads);
            self.agent.recall(kept);
            self.is_trained = true;
        }
    }

    /// Trains the agent on forms that were measured, for a workload. Returns the place of the form to begin with; `None` if the
    /// keys do not take all of its forms.
    fn pre_train(&mut self, known: &[Known], workload: &Workload) -> Option<usize> {
        let (measured, reads) = figures(known, workload)?;
        self.agent.pre_train(&measured, &reads, SPREAD);
        place(known, self.agent.state())
    }

    /// Counts a table that begins. `timed` are the gets that were timed in tables of the present form, and `ratio` how many
    /// times as long they took as in the sample. Returns the place of another form if an episode ended.
    fn begin_table(
        &mut self,
        known: &[Known],
        workload: &Workload,
        (timed, ratio): (u64, f64),
    ) -> Option<usize> {
        self.tables += 1;
        let seen = timed.max(workload.scans as u64);
        if self.tables < EPISODE_TABLES || seen < LEAST_SEEN {
            return None;
        }
        self.tables = 0;
        let form = known.get(place(known, self.agent.state())?)?;
        let episode = Episode {
            latency: form.costs.time(workload) * ratio,
            memory: form.costs.memory,
        };
        self.last.push(episode);
        let first = self.last.len().saturating_sub(KEPT);
        self.last.drain(..first);
        if self.has_changed(workload) {
            self.agent.begin_again(&self.last);
        }
        self.agent.step(episode);
        place(known, self.agent.state())
    }

    /// Whether the last two episodes had another workload.
    fn has_changed(&mut self, workload: &Workload) -> bool {
        let share = workload.gets / (workload.gets + workload.scans).max(1.0);
        let before = *self.share.get_or_insert(share);
        let differs = (share - before).abs() > OTHER_SHARE;
        self.differ = if differs { self.differ + 1 } else { 0 };
        let has_changed = self.differ >= 2;
        if has_changed {
            (self.share, self.differ) = (Some(share), 0);
        }
        has_changed
    }
}

/// What was measured of each state, and the reads of each size of blocks; `None` if the keys do not take all forms.
fn figures(known: &[Known], workload: &Workload) -> Option<([Episode; STATES], Vec<f64>)> {
    let forms: Option<Vec<&Known>> = (0..STATES)
        .map(|state| known.get(place(known, state)?))
        .collect();
    let forms = forms?;
    // The first states have one model and all sizes of blocks.
    let reads = forms.iter().take(SIZES).map(|form| form.costs.uncached_get);
    let episodes = forms.iter().map(|form| Episode {
        latency: form.costs.time(workload),
        memory: form.costs.memory,
    });
    let episodes: Vec<Episode> = episodes.collect();
    Some((episodes.try_into().ok()?, reads.collect()))
}

/// The place of the form of a state.
fn place(known: &[Known], state: usize) -> Option<usize> {
    let layout = Agent::layout(state)?;
    known.iter().position(|form| form.layout == layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Partition;
    use crate::tune::agent::Rates;
    use crate::tune::cost::Costs;

    fn known() -> Vec<Known> {
        let base = Layout {
            index: "plr".parse().unwrap(),
            partition: Partition::Predicted(0),
        };
        let forms = candidates(&base).into_iter().map(|layout| {
            let read = match layout.partition {
                Partition::Dual(bytes) => 1_000.0 + f64::from(bytes) / 4.0,
                _ => 1_500.0,
            };
            let costs = Costs {
                cached_get: 300.0,
                uncached_get: read,
                cached_scan: 3_000.0,
                uncached_scan: 5_000.0,
                memory: 400.0 / read,
            };
            Known::new(layout, costs)
        });
        forms.collect()
    }

    fn gets() -> Workload {
        Workload {
            gets: 1e4,
            blocks: 1e4,
            read: 1e4,
            ..Workload::default()
        }
    }

    #[test]
    fn an_episode_is_twenty_tables_with_enough_reads() {
        let known = known();
        assert_eq!(known.len(), 1 + STATES);
        let mut learner = Learner::new(Agent::new(Rates::default(), 1.0, 5));
        let first = learner.pre_train(&known, &gets()).unwrap();
        assert!(matches!(
            known[first].layout.partition,
            Partition::Dual(4_096)
        ));
        for table in 1..60 {
            learner.begin_table(&known, &gets(), (199, 1.0));
            assert_eq!(learner.episodes(), 0, "{table} tables with too few reads");
        }
        for _ in 0..21 {
            learner.begin_table(&known, &gets(), (200, 1.0));
        }
        assert_eq!(learner.episodes(), 2);
    }

    #[test]
    fn keys_that_take_fewer_forms_have_no_agent() {
        let mut known = known();
        known.remove(7);
        let mut learner = Learner::new(Agent::new(Rates::default(), 1.0, 5));
        assert_eq!(learner.pre_train(&known, &gets()), None);
        assert_eq!(learner.begin_table(&[], &gets(), (1_000, 1.0)), None);
    }

    #[test]
    fn two_episodes_of_another_workload_are_a_change() {
        let mut learner = Learner::new(Agent::new(Rates::default(), 1.0, 5));
        let scans = Workload {
            scans: 1e4,
            ..Workload::default()
        };
        let seen =
            [gets(), gets(), scans, gets(), scans, scans, scans].map(|w| learner.has_changed(&w));
        assert_eq!(seen, [false, false, false, false, false, true, false]);
    }
}
