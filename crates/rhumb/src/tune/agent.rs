//! DobLIX's tuning agent: Q-learning over the error bound and the size of blocks (section III-F, Algorithm 4).
//!
//! It is built as published, and for comparison: it needs hundreds of episodes of 20 tables where [`super::cost`] needs none.
//! What the paper leaves open is settled as follows: Q starts at 0; epsilon falls by a twentieth a step; a random action is one
//! that reaches a size of blocks which was not tried yet, while there is one; sizes end with the first whose read takes one and
//! a half times that of half of it; means and spreads for the sigmoids come from the pre-training.
//! Differences: the time of an episode is what the sample and the gets that were timed tell of a mean search, since scans cannot
//! be timed table by table; the memory is that of the sample; another workload is another share of gets among reads.

use std::str::SplitWhitespace;

use super::layout::Layout;
use super::words::{number, numbers};
use crate::options::{PUBLISHED_RATES, Partition};

/// Error bound of the models, or least squares: the first axis of states.
const MODELS: [&str; 5] = [
    "pla:error=32",
    "pla:error=64",
    "pla:error=128",
    "pla:error=256",
    "pra",
];
/// Bytes of blocks: the second axis.
const BLOCKS: [u32; 4] = [4 << 10, 8 << 10, 16 << 10, 32 << 10];
/// The number of sizes, and of states.
pub(super) const SIZES: usize = BLOCKS.len();
pub(super) const STATES: usize = MODELS.len() * SIZES;

/// The tables of an episode.
pub(super) const EPISODE_TABLES: u64 = 20;

/// Steps along the two axes.
const ACTIONS: [(isize, isize); 5] = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)];

/// Their names.
const ACTION_NAMES: [&str; ACTIONS.len()] = ["stay", "next", "previous", "larger", "smaller"];

/// The first and the least probability of a random action, and what a step leaves of it.
const EPSILON: (f64, f64) = (0.99, 0.02);
const EPSILON_DECAY: f64 = 0.95;

/// Steps of the pre-training.
const REPLAYED_STEPS: usize = 5_000;

/// A read that takes this many times that of half its bytes grows with them: larger blocks are no choice.
const GROWS: f64 = 1.5;

/// What an episode cost: nanoseconds of an operation, and bytes of index and directory an entry.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Episode {
    pub latency: f64,
    pub memory: f64,
}

/// A sigmoid about the mean of some figures, as wide as their spread.
#[derive(Debug, Clone, Copy, Default)]
struct Norm {
    mean: f64,
    spread: f64,
}

impl Norm {
    fn of(figures: impl Iterator<Item = f64> + Clone) -> Norm {
        let count = figures.clone().count().max(1) as f64;
        let mean = figures.clone().sum::<f64>() / count;
        let variance = figures.map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        // Equal figures would otherwise have no scale at all.
        let spread = variance
            .sqrt()
            .max(mean.abs() / 100.0)
            .max(f64::MIN_POSITIVE);
        Norm { mean, spread }
    }

    fn at(self, x: f64) -> f64 {
        1.0 / (1.0 + (-(x - self.mean) / self.spread).exp())
    }
}

/// The agent.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    nu: f64,
    /// The learning rate and the discount.
    alpha: f64,
    gamma: f64,
    learned: Learned,
    /// The last state and action, which led to this state.
    last: Option<(usize, usize)>,
    /// The sizes of blocks that were tried, and the largest one that is a choice.
    tried: [bool; SIZES],
    largest: usize,
    norms: (Norm, Norm),
}

/// What of an agent is kept from one opening of the store to the next. Its scale comes from the samples again.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Learned {
    random: u64,
    q: [[f64; ACTIONS.len()]; STATES],
    state: usize,
    epsilon: f64,
    episodes: u64,
}

impl Learned {
    /// As words.
    pub fn encode(&self) -> String {
        let values = self.q.iter().flatten().map(|value| format!("{value:?}"));
        let values: Vec<String> = values.collect();
        let Learned {
            state,
            episodes,
            random,
            epsilon,
            ..
        } = self;
        format!(
            "{state} {episodes} {random} {epsilon:?} {}",
            values.join(" ")
        )
    }

    /// Reads the words; `None` if they are no such state.
    pub fn decode(words: &mut SplitWhitespace<'_>) -> Option<Learned> {
        let state: usize = words.next()?.parse().ok()?;
        let episodes = words.next()?.parse().ok()?;
        let random: u64 = words.next()?.parse().ok()?;
        let epsilon = number(words)?;
        let mut q = [[0.0; ACTIONS.len()]; STATES];
        for values in &mut q {
            *values = numbers(words)?;
        }
        let is_one = state < STATES && random != 0 && words.next().is_none();
        is_one.then_some(Learned {
            random,
            q,
            state,
            epsilon,
            episodes,
        })
    }
}

impl Agent {
    /// What is kept of it.
    pub fn learned(&self) -> &Learned {
        &self.learned
    }

    /// Goes on where an agent was, with its own scale.
    pub fn recall(&mut self, learned: Learned) {
        (self.learned, self.last) = (learned, None);
    }

    /// The episodes so far.
    pub fn episodes(&self) -> u64 {
        self.learned.episodes
    }

    /// An agent that begins with error bound 32 and blocks of 4 KiB, with the published rates; `nu` is the weight of time against
    /// memory.
    pub fn new(nu: f64, seed: u64) -> Agent {
        let (alpha, gamma) = PUBLISHED_RATES;
        Agent {
            nu,
            alpha,
            gamma,
            learned: Learned {
                // A state of 0 would give zeros for ever.
                random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
                q: [[0.0; ACTIONS.len()]; STATES],
                state: 0,
                epsilon: EPSILON.0,
                episodes: 0,
            },
            last: None,
            tried: [false; SIZES],
            largest: SIZES - 1,
            norms: (Norm::default(), Norm::default()),
        }
    }

    /// The same with another learning rate and discount.
    pub fn with_rates(self, alpha: f64, gamma: f64) -> Agent {
        Agent {
            alpha,
            gamma,
            ..self
        }
    }

    /// The form of tables in a state.
    pub fn layout(state: usize) -> Option<Layout> {
        let model = MODELS.get(state / SIZES)?;
        let bytes = BLOCKS.get(state % SIZES)?;
        Some(Layout {
            index: model.parse().ok()?,
            partition: Partition::Dual(*bytes),
        })
    }

    /// The present state.
    pub fn state(&self) -> usize {
        self.learned.state
    }

    /// What is learned of a state: the largest value of its actions.
    pub fn value(&self, state: usize) -> f64 {
        let actions = self.learned.q.get(state).into_iter().flatten();
        actions.copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// What is learned of each action of a state, by its name: 0 before it was tried; none for one that leads beyond an edge or to
    /// blocks that are no choice.
    pub fn actions(&self, state: usize) -> Vec<(&'static str, Option<f64>)> {
        let q = self.learned.q.get(state).into_iter().flatten();
        let values = q.enumerate().map(|(action, value)| {
            let is_allowed = self.reached(state, action).is_some();
            is_allowed.then_some(*value)
        });
        ACTION_NAMES.into_iter().zip(values).collect()
    }

    /// Learns from what was measured of each state, in any order and with figures that are off by up to a share of `spread`;
    /// `reads` is the time of a read for each size of blocks. Afterwards random actions are rare.
    pub fn pre_train(&mut self, measured: &[Episode; STATES], reads: &[f64], spread: f64) {
        self.calibrate(measured, reads);
        self.learned.q = [[0.0; ACTIONS.len()]; STATES];
        (self.learned.epsilon, self.tried) = (EPSILON.0, [false; SIZES]);
        for _ in 0..REPLAYED_STEPS {
            let seen = measured
                .get(self.learned.state)
                .copied()
                .unwrap_or_default();
            let noise = self.noise(spread);
            self.step(Episode {
                latency: seen.latency * noise,
                ..seen
            });
        }
        self.learned.epsilon = EPSILON.1;
        self.last = None;
        self.learned.episodes = 0;
    }

    /// Takes the scale of figures, and the largest blocks that are a choice, from what was measured of each state.
    pub fn calibrate(&mut self, measured: &[Episode; STATES], reads: &[f64]) {
        let ratio = |(small, large): (&f64, &f64)| large / small.max(f64::MIN_POSITIVE);
        let grows = reads.iter().zip(reads.iter().skip(1)).map(ratio);
        let first = grows.enumerate().find(|(_, ratio)| *ratio >= GROWS);
        self.largest = first.map_or(SIZES - 1, |(at, _)| at + 1);
        self.renorm(measured);
    }

    /// Takes the scale of figures from these.
    pub fn renorm(&mut self, seen: &[Episode]) {
        let latencies = seen.iter().map(|episode| episode.latency);
        let memory = seen.iter().map(|episode| episode.memory);
        self.norms = (Norm::of(latencies), Norm::of(memory));
    }

    /// Begins to try again, since the workload changed; figures are judged by those of the last episodes.
    pub fn begin_again(&mut self, last: &[Episode]) {
        self.renorm(last);
        self.learned.epsilon = EPSILON.0;
        self.tried = [false; SIZES];
        self.last = None;
    }

    /// Learns from an episode in the present state, and goes to the next one.
    pub fn step(&mut self, seen: Episode) {
        let latency = self.norms.0.at(seen.latency);
        let memory = self.norms.1.at(seen.memory);
        let reward = -self.nu * latency - (1.0 - self.nu) * memory;
        let next = self
            .best(self.learned.state)
            .map_or(0.0, |(_, value)| value);
        if let Some((state, action)) = self.last
            && let Some(q) = self
                .learned
                .q
                .get_mut(state)
                .and_then(|q| q.get_mut(action))
        {
            *q += self.alpha * (reward + self.gamma * next - *q);
        }
        if let Some(tried) = self.tried.get_mut(self.learned.state % SIZES) {
            *tried = true;
        }
        let action = match self.next_random() < self.learned.epsilon {
            true => self.explore(),
            false => self
                .best(self.learned.state)
                .map_or(0, |(action, _)| action),
        };
        self.last = Some((self.learned.state, action));
        self.learned.state = self
            .reached(self.learned.state, action)
            .unwrap_or(self.learned.state);
        self.learned.epsilon = (self.learned.epsilon * EPSILON_DECAY).max(EPSILON.1);
        self.learned.episodes = self.learned.episodes.saturating_add(1);
    }

    /// The state that an action leads to; `None` if it leads beyond an edge.
    fn reached(&self, state: usize, action: usize) -> Option<usize> {
        let (model, block) = ACTIONS.get(action)?;
        let model = (state / SIZES).checked_add_signed(*model)?;
        let block = (state % SIZES).checked_add_signed(*block)?;
        // From larger ones, which were a choice before, there is a way back.
        let largest = self.largest.max(state % SIZES);
        (model < MODELS.len() && block <= largest).then_some(model * SIZES + block)
    }

    /// The action of a state with the largest value, and that value.
    fn best(&self, state: usize) -> Option<(usize, f64)> {
        let values = self.learned.q.get(state)?.iter().copied().enumerate();
        let allowed = values.filter(|(action, _)| self.reached(state, *action).is_some());
        // The first of equal ones.
        allowed.reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// A random action: one that leads to a size of blocks which was not tried, if there is one.
    fn explore(&mut self) -> usize {
        let is_new = |state: usize| self.tried.get(state % SIZES) == Some(&false);
        let all = 0..ACTIONS.len();
        let to = |action: &usize| self.reached(self.learned.state, *action);
        let mut choices: Vec<usize> = all.clone().filter(|a| to(a).is_some_and(is_new)).collect();
        if choices.is_empty() {
            choices = all.filter(|action| to(action).is_some()).collect();
        }
        let place = (self.next_random() * choices.len() as f64) as usize;
        choices.get(place).copied().unwrap_or(0)
    }

    /// What makes a figure off by up to a share of `spread`.
    pub fn noise(&mut self, spread: f64) -> f64 {
        1.0 + spread * (2.0 * self.next_random() - 1.0)
    }

    /// A number from 0 up to 1 (xorshift).
    fn next_random(&mut self) -> f64 {
        self.learned.random ^= self.learned.random << 13;
        self.learned.random ^= self.learned.random >> 7;
        self.learned.random ^= self.learned.random << 17;
        (self.learned.random >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads without a cache by the bytes of blocks: the curve of a page cache (designs: 1,850, 3,550 and 5,930 ns for 4, 16
    /// and 32 KiB), and a model that is off by 2 % at most.
    fn curve() -> [Episode; STATES] {
        std::array::from_fn(|state| {
            let read = [1_850.0, 2_400.0, 3_550.0, 5_930.0][state % 4];
            let model = [1.02, 1.01, 0.99, 1.0, 0.98][state / 4];
            Episode {
                latency: (read + 800.0) * model,
                memory: [0.26, 0.13, 0.07, 0.04][state % 4],
            }
        })
    }

    const READS: [f64; 4] = [1_850.0, 2_400.0, 3_550.0, 5_930.0];

    /// The mean of how much longer the last 50 of some episodes took than the best state, over 100 seeds.
    fn regret(episodes: usize, trained: bool) -> f64 {
        let curve = curve();
        let of_seed = |seed: u64| {
            let mut agent = Agent::new(1.0, seed);
            match trained {
                true => agent.pre_train(&curve, &READS, 0.03),
                false => agent.renorm(&curve),
            }
            crate::tune::replay::regret(agent, &curve, episodes).unwrap()
        };
        (0..100).map(of_seed).sum::<f64>() / 100.0
    }

    #[test]
    fn it_needs_hundreds_of_episodes_or_a_pre_training() {
        let mut told = Vec::new();
        for episodes in [50, 100, 400, 1_000, 3_000] {
            let untrained = regret(episodes, false);
            let trained = regret(episodes, true);
            println!("{episodes} episodes: {untrained:.3} untrained, {trained:.3} pre-trained");
            told.push((untrained, trained));
        }
        assert!(told[0].0 > 0.15, "50 episodes are too few: {told:?}");
        assert!(told[4].0 < told[0].0 / 2.0, "{told:?}");
        assert!(told.iter().all(|(_, trained)| *trained < 0.10), "{told:?}");
    }

    #[test]
    fn a_seed_gives_the_same_states_again() {
        let states = |seed| {
            let mut agent = Agent::new(1.0, seed);
            agent.renorm(&curve());
            let step = |_| {
                agent.step(curve()[agent.state()]);
                agent.state()
            };
            (0..200).map(step).collect::<Vec<_>>()
        };
        assert_eq!(states(7), states(7));
        assert_ne!(states(7), states(8));
    }

    #[test]
    fn no_action_leaves_the_states_or_the_largest_blocks() {
        let mut agent = Agent::new(0.5, 3);
        // A read of 8 KiB takes twice that of 4: larger ones are no choice.
        agent.pre_train(&curve(), &[1_000.0, 2_000.0, 4_000.0, 8_000.0], 0.03);
        for _ in 0..1_000 {
            assert!(agent.state() % 4 <= 1 && agent.state() < STATES);
            agent.step(curve()[agent.state()]);
        }
        let names = |state, is_allowed| -> Vec<&str> {
            let actions = agent.actions(state).into_iter();
            let fitting = actions.filter(|(_, value)| value.is_some() == is_allowed);
            fitting.map(|(name, _)| name).collect()
        };
        assert_eq!(names(0, false), ["previous", "smaller"]);
        assert_eq!(
            names(STATES - SIZES + 1, true),
            ["stay", "previous", "smaller"]
        );
        assert!(agent.actions(STATES).is_empty());
        for state in 0..STATES {
            assert!(Agent::layout(state).is_some());
        }
        assert!(Agent::layout(STATES).is_none());
    }

    /// A device on which larger blocks are no choice any more is met with large ones.
    #[test]
    fn there_is_a_way_back_from_blocks_that_are_too_large() {
        for seed in 0..50 {
            let mut agent = Agent::new(0.0, seed);
            agent.pre_train(&curve(), &[1_000.0; 4], 0.0);
            assert!(agent.state() % 4 > 1, "memory alone leads to large blocks");
            agent.calibrate(&curve(), &[1_000.0, 2_000.0, 4_000.0, 8_000.0]);
            agent.nu = 1.0;
            let mut least = SIZES;
            for _ in 0..500 {
                agent.step(curve()[agent.state()]);
                least = least.min(agent.state() % SIZES);
            }
            assert!(least <= 1, "stuck with seed {seed}");
        }
    }

    #[test]
    fn memory_alone_leads_to_large_blocks() {
        let mut agent = Agent::new(0.0, 11);
        agent.pre_train(&curve(), &READS, 0.0);
        let mut visits = [0; 4];
        for _ in 0..500 {
            agent.step(curve()[agent.state()]);
            visits[agent.state() % 4] += 1;
        }
        assert!(visits[3] > 400, "{visits:?}");
        assert!(agent.value(3).is_finite());
    }
}
