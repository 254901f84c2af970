//! The published agent with other rates.

use super::arms::is_brief;
use super::forms::agent;
use super::tuning::POINTS;
use super::{Amounts, Experiment, Only, Planned, Result, View, column};
use crate::experiment::figures::Across;

pub const RATES: Experiment = Experiment {
    id: "D-ABL",
    paper: "DobLIX, section III-F",
    title: "The learning rate and the discount of the agent",
    shows: "Throughput of a store whose tables the agent tunes, over its learning rate (alpha) and its discount (gamma). The paper uses 0.2 and 0.8.",
    method: "The agent with all weight on time (nu = 1) as in D-F15 under points, without a cache, with 0.2, 0.5 and 0.8 for each rate. The store trains \
             its agent over measured samples of all 20 forms before the first episode, and one run shows few episodes. Therefore agents with \
             100 seeds are replayed beside it over what the samples of the same store took: how much longer gets take in the last 50 \
             of 50 or 400 episodes than in the best form, without training or with it. Figures are off by up to 3 % in each \
             episode of a replay. At `quick` 0.2 and 0.8 alone.",
    cells: over_rates,
    views: &[
        View::Ratios {
            title: "Throughput of the last quarter",
            only: &[],
            columns: Across::Axis("gamma", "gamma", "last_rate"),
            rows: ALPHA,
            over: PUBLISHED,
            label: "throughput over that with the published rates",
        },
        replayed("Replayed: 50 episodes, not trained", "replay_50"),
        replayed("Replayed: 400 episodes, not trained", "replay_400"),
        replayed("Replayed: 50 episodes, trained", "replay_trained_50"),
        View::Table {
            title: "All figures",
            only: &[],
            axes: &[ALPHA, ("gamma", "gamma")],
            columns: &[
                column("first_rate", "first tenth, 1000/s", 1e3, 1),
                column("all_rate", "all, 1000/s", 1e3, 1),
                column("slowest_rate", "slowest, 1000/s", 1e3, 1),
                column("last_rate", "last quarter, 1000/s", 1e3, 1),
                column("replay_50", "50 episodes, % longer", 1.0, 1),
                column("replay_400", "400 episodes, % longer", 1.0, 1),
                column(
                    "replay_trained_50",
                    "trained, 50 episodes, % longer",
                    1.0,
                    2,
                ),
            ],
            published: &[],
        },
    ],
};

const ALPHA: (&str, &str) = ("alpha", "alpha");
const PUBLISHED: Only = &[("alpha", "0.2"), ("gamma", "0.8")];

/// What the agent loses to the best form over what it loses with the published rates.
const fn replayed(title: &'static str, metric: &'static str) -> View {
    View::Ratios {
        title,
        only: &[],
        columns: Across::Axis("gamma", "gamma", metric),
        rows: ALPHA,
        over: PUBLISHED,
        label: "what is lost to the best form, over that with the published rates",
    }
}

fn over_rates(amounts: &Amounts) -> Result<Vec<Planned>> {
    let rates: &[&str] = match is_brief(amounts) {
        true => &["0.2", "0.8"],
        false => &["0.2", "0.5", "0.8"],
    };
    let mut cells = Vec::new();
    for alpha in rates {
        for gamma in rates {
            let planned = agent(alpha, gamma).planned(amounts, ("points", [POINTS; 2]), false)?;
            cells.push(Planned {
                axes: vec![("alpha", alpha.to_string()), ("gamma", gamma.to_string())],
                ..planned
            });
        }
    }
    Ok(cells)
}
