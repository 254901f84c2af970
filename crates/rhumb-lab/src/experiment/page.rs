//! The report's figures, from the cells of experiments.

use std::collections::{BTreeMap, HashMap};

use super::{Experiment, PAPERS, Planned, Scale};
use crate::report::model::{self, Figure};
use crate::results::{Axes, Cell};

/// Every paper with all of its figures at a scale; a figure that was not measured is empty.
pub fn papers(cells: &[Cell], scale: Scale) -> Vec<model::Paper> {
    let papers = PAPERS.iter().map(|paper| {
        let figures = paper.experiments.iter();
        model::Paper {
            title: paper.title.to_string(),
            figures: figures
                .map(|experiment| figure(experiment, cells, scale))
                .collect(),
        }
    });
    papers.collect()
}

/// The cells of one scale and one seed, of a file that may have others too.
pub struct Chosen {
    /// Their scale.
    pub scale: Scale,
    /// Their seed.
    pub seed: u64,
    /// The cells. If a cell was measured with several amounts of records, the latest one.
    pub cells: Vec<Cell>,
    /// The number of cells of each other scale and seed.
    pub others: Vec<(Scale, u64, usize)>,
}

impl Chosen {
    /// The choice in words, and what else there is.
    pub fn text(&self) -> String {
        let mut text = format!("scale {}, seed {}", self.scale, self.seed);
        if !self.others.is_empty() {
            let others = self.others.iter();
            let others = others
                .map(|(scale, seed, cells)| format!("{cells} cells of scale {scale}, seed {seed}"));
            let others: Vec<String> = others.collect();
            text += &format!(
                " (the file also has {}: choose with --scale and --seed)",
                others.join(", ")
            );
        }
        text
    }
}

/// Chooses the cells of a scale and a seed. Where one is not given, those with the most cells are
/// taken; if there are no cells, `quick` and 42.
pub fn chosen(scale: Option<Scale>, seed: Option<u64>, cells: Vec<Cell>) -> Chosen {
    let mut counts: Vec<(Scale, u64, usize)> = Vec::new();
    for one in [Scale::Paper, Scale::Small, Scale::Quick] {
        for cell in cells.iter().filter(|cell| cell.scale == one.name()) {
            let seed = cell.seed as u64;
            match counts.iter_mut().find(|(s, n, _)| (*s, *n) == (one, seed)) {
                Some((_, _, count)) => *count += 1,
                None => counts.push((one, seed, 1)),
            }
        }
    }
    let fits = |(one, number, _): &&(Scale, u64, usize)| {
        scale.is_none_or(|scale| scale == *one) && seed.is_none_or(|seed| seed == *number)
    };
    // Of several with equally many cells the first, which has the largest scale.
    let most = counts.iter().filter(fits).rev();
    let most = most.max_by_key(|(_, _, count)| *count).copied();
    let (scale, seed) = match most {
        Some((scale, seed, _)) => (scale, seed),
        None => (scale.unwrap_or(Scale::Quick), seed.unwrap_or(42)),
    };
    counts.retain(|(one, number, _)| (*one, *number) != (scale, seed));
    let mut last: HashMap<(String, BTreeMap<String, String>), Cell> = HashMap::new();
    let of_both = |cell: &Cell| cell.scale == scale.name() && cell.seed as u64 == seed;
    for cell in cells.into_iter().filter(of_both) {
        let key = (cell.experiment.clone(), cell.axes.clone());
        if last.get(&key).is_none_or(|known| known.run() <= cell.run()) {
            last.insert(key, cell);
        }
    }
    Chosen {
        scale,
        seed,
        cells: last.into_values().collect(),
        others: counts,
    }
}

fn figure(experiment: &Experiment, cells: &[Cell], scale: Scale) -> Figure {
    // In the order of their declaration, which may differ from the order of measuring.
    let declared = (experiment.cells)(&scale.amounts()).unwrap_or_default();
    let same = |cell: &Cell, axes: &Axes| {
        let is = |(name, value): &(&str, String)| cell.axes.get(*name) == Some(value);
        cell.experiment == experiment.id && cell.axes.len() == axes.len() && axes.iter().all(is)
    };
    let find = |planned: &Planned| cells.iter().find(|cell| same(cell, &planned.axes));
    let (mine, refused): (Vec<&Cell>, Vec<&Cell>) = declared
        .iter()
        .filter_map(find)
        .partition(|cell| cell.refusal().is_none());
    Figure {
        id: experiment.id.to_string(),
        title: experiment.title.to_string(),
        paper: experiment.paper.to_string(),
        shows: experiment.shows.to_string(),
        method: experiment.method.to_string(),
        note: progress(mine.len(), &refused, declared.len()),
        panels: experiment
            .views
            .iter()
            .filter_map(|view| view.draw(&mine))
            .collect(),
    }
}

/// A note if some cells are missing, else an empty text.
fn progress(measured: usize, refused: &[&Cell], all: usize) -> String {
    let mut text = match measured {
        0 => String::new(),
        some if some + refused.len() < all => {
            format!("{some} of {all} cells are measured so far. ")
        }
        _ => String::new(),
    };
    if let Some(why) = refused.first().and_then(|cell| cell.refusal()) {
        let count = refused.len();
        text += &format!("{count} of {all} cells are not permitted on this machine: {why}.");
    }
    text.trim_end().to_string()
}
