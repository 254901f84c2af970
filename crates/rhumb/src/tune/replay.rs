//! What DobLIX's agent would cost over forms that were measured, without the tables that it would write: with many seeds, since
//! one run of it says little.

use super::agent::{Agent, Episode};
use super::learner::{SPREAD, curve};
use super::stats::FormStats;
use crate::options::Tuner;

/// The episodes at the end that are judged.
const JUDGED: usize = 50;

/// How much longer gets that read their blocks take under [`Tuner::QLearning`] than in the best of its forms: the mean of the last
/// 50 of some episodes, and of seeds from 0 on. What gets take in each form is that of `forms`, in episodes and in the training
/// before them, if it is trained, off by up to 3 % each time. `None` if it is another tuner, if not all forms are known with times above
/// 0, or without seeds.
pub fn replayed_regret(
    tuner: Tuner,
    forms: &[FormStats],
    (episodes, is_trained): (usize, bool),
    seeds: u64,
) -> Option<f64> {
    let Tuner::QLearning {
        nu, alpha, gamma, ..
    } = tuner
    else {
        return None;
    };
    let (costs, reads) = curve(|layout| {
        let name = layout.to_string();
        let form = forms.iter().find(|form| form.form == name)?;
        let cost = Episode {
            latency: form.uncached_get,
            memory: form.memory,
        };
        Some((cost, form.uncached_get))
    })?;
    let of_seed = |seed| {
        let mut agent = Agent::new(nu, seed).with_rates(alpha, gamma);
        match is_trained {
            true => agent.pre_train(&costs, &reads, SPREAD),
            false => agent.calibrate(&costs, &reads),
        }
        regret(agent, &costs, episodes)
    };
    let longer: f64 = (0..seeds).map(of_seed).sum::<Option<f64>>()?;
    (seeds > 0).then(|| longer / seeds as f64)
}

/// The same of one agent, as it is. `None` unless all times are above 0.
pub(super) fn regret(mut agent: Agent, costs: &[Episode], episodes: usize) -> Option<f64> {
    if costs.is_empty() || !costs.iter().all(|cost| cost.latency > 0.0) {
        return None;
    }
    let latencies = costs.iter().map(|cost| cost.latency);
    let best = latencies.fold(f64::INFINITY, f64::min);
    let mut longer = Vec::new();
    for _ in 0..episodes {
        let cost = costs.get(agent.state()).copied().unwrap_or_default();
        longer.push(cost.latency / best - 1.0);
        let noise = agent.noise(SPREAD);
        agent.step(Episode {
            latency: cost.latency * noise,
            ..cost
        });
    }
    let judged = longer
        .get(longer.len().saturating_sub(JUDGED)..)
        .unwrap_or_default();
    Some(judged.iter().sum::<f64>() / judged.len().max(1) as f64)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::tune::agent::STATES;

    fn forms() -> Vec<FormStats> {
        let states = (0..STATES).filter_map(Agent::layout).zip(1_u32..);
        let forms = states.map(|(layout, place)| FormStats {
            form: layout.to_string(),
            uncached_get: 2_000.0 + 100.0 * f64::from(place),
            memory: 0.1,
            ..FormStats::default()
        });
        forms.collect()
    }

    fn agent(alpha: f64) -> Tuner {
        Tuner::QLearning {
            nu: 1.0,
            seed: 0,
            alpha,
            gamma: 0.8,
        }
    }

    #[test]
    fn rates_decide_what_is_learned() {
        let forms = forms();
        let of = |alpha, is_trained| {
            replayed_regret(agent(alpha), &forms, (50, is_trained), 20).unwrap()
        };
        // The first state is the best one, but without learning nothing leads to it.
        let (never, usual, trained) = (of(0.0, false), of(0.2, false), of(0.2, true));
        assert!(trained < usual, "{trained} {usual}");
        assert!(trained < never / 2.0, "{trained} {never}");
        assert_eq!(of(0.2, true), trained, "the same seeds");
    }

    #[test]
    fn other_tuners_and_missing_forms_have_no_replay() {
        let cost = Tuner::Cost { nu: 1.0 };
        assert_eq!(replayed_regret(cost, &forms(), (50, false), 1), None);
        let few = &forms()[1..];
        assert_eq!(replayed_regret(agent(0.2), few, (50, false), 1), None);
    }

    #[test]
    fn nothing_is_told_without_seeds_or_times() {
        assert_eq!(replayed_regret(agent(0.2), &forms(), (50, false), 0), None);
        let mut unmeasured = forms();
        unmeasured[3].uncached_get = 0.0;
        assert_eq!(
            replayed_regret(agent(0.2), &unmeasured, (50, false), 1),
            None
        );
    }
}
