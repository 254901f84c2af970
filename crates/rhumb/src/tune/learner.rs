//! Lets DobLIX's agent choose the tables of a keyspace: tells it what an episode of tables cost, and when the workload changed.

use super::agent::{Agent, EPISODE_TABLES, Episode, Learned, SIZES, STATES};
use super::cost::Known;
use super::layout::Layout;
use super::timed::Seen;
use super::workload::Workload;

/// An episode lasts until so many gets were timed in its tables, or so many scans were made.
const LEAST_SEEN: u64 = 200;
/// The spread of what the pre-training replays: that of repeated measurements.
pub(super) const SPREAD: f64 = 0.03;
/// The share of gets among all reads may differ by this much; by more, twice running, it is another workload.
const OTHER_SHARE: f64 = 0.2;
/// The episodes that give the scale after such a change.
const KEPT: usize = 10;

/// The agent with what it needs to know of a keyspace.
#[derive(Debug)]
pub(super) struct Learner {
    agent: Agent,
    training: Training,
    /// The tables of this episode, and the scans beside them.
    tables: u64,
    scans: u64,
    /// The share of gets when the workload was taken to be another one the last time, and how many episodes differ from it.
    share: Option<f64>,
    differ: u32,
    last: Vec<Episode>,
}

/// Whether the agent was trained on the forms that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Training {
    Due,
    Done,
    /// The keys do not take all forms.
    Impossible,
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
            training: Training::Due,
            tables: 0,
            scans: 0,
            share: None,
            differ: 0,
            last: Vec::new(),
        }
    }

    /// The episodes so far.
    pub fn episodes(&self) -> u64 {
        self.agent.episodes()
    }

    /// What the agent learned of a form, if it is one of its own.
    pub fn value(&self, layout: &Layout) -> Option<f64> {
        Some(self.agent.value(state(layout)?))
    }

    /// What the agent learned of each action in a form of its own; nothing for others.
    pub fn actions(&self, layout: &Layout) -> Vec<(&'static str, Option<f64>)> {
        state(layout).map_or(Vec::new(), |state| self.agent.actions(state))
    }

    /// Counts a table that begins: trains the agent before the first one. `scans` were made since the last one. Returns the place
    /// of another form to take, if any; none if the keys do not take all forms.
    pub fn table(
        &mut self,
        known: &[Known],
        workload: &Workload,
        (seen, scans): (Seen, u64),
    ) -> Option<usize> {
        match self.training {
            Training::Due => self.pre_train(known, workload),
            Training::Done => self.begin_table(known, workload, (seen, scans)),
            Training::Impossible => None,
        }
    }

    /// Trains the agent again before the next table, since its forms were measured anew.
    pub fn forget(&mut self) {
        self.training = Training::Due;
    }

    /// What is kept of the agent, once it was trained.
    pub fn remember(&self) -> Option<Learned> {
        (self.training == Training::Done).then(|| self.agent.learned().clone())
    }

    /// Lets the agent go on where it was.
    pub fn recall(&mut self, kept: Learned, known: &[Known], workload: &Workload) {
        if let Some((measured, reads)) = figures(known, workload) {
            self.agent.calibrate(&measured, &reads);
            self.agent.recall(kept);
            self.training = Training::Done;
        }
    }

    /// Trains the agent on forms that were measured, for a workload. Returns the place of the form to begin with; `None` if the
    /// keys do not take all of its forms.
    fn pre_train(&mut self, known: &[Known], workload: &Workload) -> Option<usize> {
        self.training = Training::Impossible;
        let (measured, reads) = figures(known, workload)?;
        self.training = Training::Done;
        self.agent.pre_train(&measured, &reads, SPREAD);
        place(known, self.agent.state())
    }

    /// Counts a table that begins. Gets were `seen` in tables of the present form since the episode began. Returns the place of
    /// another form if it ended.
    fn begin_table(
        &mut self,
        known: &[Known],
        workload: &Workload,
        (seen, scans): (Seen, u64),
    ) -> Option<usize> {
        self.tables += 1;
        self.scans += scans;
        if self.tables < EPISODE_TABLES || seen.gets.max(self.scans) < LEAST_SEEN {
            return None;
        }
        (self.tables, self.scans) = (0, 0);
        let form = known.get(place(known, self.agent.state())?)?;
        let (ratio, device) = (seen.ratio.unwrap_or(1.0), seen.device.unwrap_or(0.0));
        let costs = form.costs.in_tables(ratio, device);
        let episode = Episode {
            latency: costs.time(workload),
            memory: costs.memory,
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
        let share = workload.blocks / (workload.blocks + workload.scans).max(1.0);
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

/// What each state costs, and the reads of each size of blocks.
type Curve = ([Episode; STATES], Vec<f64>);

/// What was measured of each state; `None` if the keys do not take all forms.
fn figures(known: &[Known], workload: &Workload) -> Option<Curve> {
    curve(|layout| {
        let form = known.iter().find(|form| form.layout == *layout)?;
        let cost = Episode {
            latency: form.costs.time(workload),
            memory: form.costs.memory,
        };
        Some((cost, form.costs.uncached_get))
    })
}

/// The curve from the costs and the read of the form of each state; `None` if one of them is not known.
pub(super) fn curve(of: impl Fn(&Layout) -> Option<(Episode, f64)>) -> Option<Curve> {
    let states = (0..STATES).map(|state| of(&Agent::layout(state)?));
    let states: Vec<(Episode, f64)> = states.collect::<Option<_>>()?;
    // The first states have one model and all sizes of blocks.
    let reads = states.iter().take(SIZES).map(|(_, read)| *read);
    let costs: Vec<Episode> = states.iter().map(|(cost, _)| *cost).collect();
    Some((costs.try_into().ok()?, reads.collect()))
}

/// The state of a form.
fn state(layout: &Layout) -> Option<usize> {
    (0..STATES).find(|state| Agent::layout(*state).as_ref() == Some(layout))
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
            blocks: 1e4,
            read: 1e4,
            ..Workload::default()
        }
    }

    #[test]
    fn an_episode_is_twenty_tables_with_enough_reads() {
        let known = known();
        assert_eq!(known.len(), 1 + STATES);
        let mut learner = Learner::new(Agent::new(1.0, 5));
        let first = learner.table(&known, &gets(), (seen(0), 0)).unwrap();
        assert!(matches!(
            known[first].layout.partition,
            Partition::Dual(4_096)
        ));
        for table in 1..60_u64 {
            learner.table(&known, &gets(), (seen(199), 3));
            assert_eq!(learner.episodes(), 0, "{table} tables with too few reads");
        }
        for _ in 0..21 {
            learner.table(&known, &gets(), (seen(200), 0));
        }
        assert_eq!(learner.episodes(), 2);
        // Scans end an episode too, those of this episode.
        for _ in 0..20 {
            learner.table(&known, &gets(), (seen(0), 10));
        }
        assert_eq!(learner.episodes(), 3);
        for _ in 0..60 {
            learner.table(&known, &gets(), (seen(0), 0));
        }
        assert_eq!(learner.episodes(), 3);
    }

    fn seen(gets: u64) -> Seen {
        Seen {
            gets,
            ..Seen::default()
        }
    }

    #[test]
    fn keys_that_take_fewer_forms_have_no_agent() {
        let mut known = known();
        known.remove(7);
        let mut learner = Learner::new(Agent::new(1.0, 5));
        for _ in 0..100 {
            assert_eq!(learner.table(&known, &gets(), (seen(1_000), 0)), None);
        }
        assert_eq!((learner.episodes(), learner.remember()), (0, None));
    }

    #[test]
    fn two_episodes_of_another_workload_are_a_change() {
        let mut learner = Learner::new(Agent::new(1.0, 5));
        let scans = Workload {
            scans: 1e4,
            ..Workload::default()
        };
        let seen =
            [gets(), gets(), scans, gets(), scans, scans, scans].map(|w| learner.has_changed(&w));
        assert_eq!(seen, [false, false, false, false, false, true, false]);
    }
}
