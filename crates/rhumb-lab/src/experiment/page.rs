//! The report's figures, from the cells of experiments.

use std::collections::{BTreeMap, HashMap};

use super::{Experiment, Planned, Scale, edbt};
use crate::report::model::{Figure, Paper};
use crate::results::{Axes, Cell};

/// Every paper with all of its figures at a scale; a figure that was not measured is empty.
pub fn papers(cells: &[Cell], scale: Scale) -> Vec<Paper> {
    let figures = edbt::ALL
        .iter()
        .map(|experiment| figure(experiment, cells, scale));
    vec![Paper {
        title: edbt::TITLE.to_string(),
        figures: figures.collect(),
    }]
}

/// The given scale, or else the largest scale with measured cells, and its cells: those with the
/// seed of the latest run. If a cell was measured with several amounts, the latest one is taken.
pub fn chosen(named: Option<Scale>, cells: Vec<Cell>) -> (Scale, Vec<Cell>) {
    let scales = [Scale::Paper, Scale::Small];
    let measured = |scale: &Scale| cells.iter().any(|cell| cell.scale == scale.name());
    let largest = || scales.into_iter().find(measured);
    let scale = named.or_else(largest).unwrap_or(Scale::Quick);
    let mut of_scale: Vec<Cell> = cells
        .into_iter()
        .filter(|cell| cell.scale == scale.name())
        .collect();
    let latest = of_scale
        .iter()
        .max_by_key(|cell| cell.run)
        .map(|cell| cell.seed);
    of_scale.retain(|cell| Some(cell.seed) == latest);
    let mut last: HashMap<(String, BTreeMap<String, String>), Cell> = HashMap::new();
    for cell in of_scale {
        let key = (cell.experiment.clone(), cell.axes.clone());
        if last.get(&key).is_none_or(|known| known.run <= cell.run) {
            last.insert(key, cell);
        }
    }
    (scale, last.into_values().collect())
}

fn figure(experiment: &Experiment, cells: &[Cell], scale: Scale) -> Figure {
    // In the order of their declaration, which may differ from the order of measuring.
    let declared = (experiment.cells)(&scale.amounts()).unwrap_or_default();
    let same = |cell: &Cell, axes: &Axes| {
        let is = |(name, value): &(&str, String)| cell.axes.get(*name) == Some(value);
        cell.experiment == experiment.id && cell.axes.len() == axes.len() && axes.iter().all(is)
    };
    let find = |planned: &Planned| cells.iter().find(|cell| same(cell, &planned.axes));
    let mine: Vec<&Cell> = declared.iter().filter_map(find).collect();
    Figure {
        id: experiment.id.to_string(),
        title: experiment.title.to_string(),
        paper: experiment.paper.to_string(),
        shows: experiment.shows.to_string(),
        method: experiment.method.to_string(),
        note: progress(mine.len(), declared.len()),
        panels: experiment
            .views
            .iter()
            .filter_map(|view| view.draw(&mine))
            .collect(),
    }
}

/// A note if some cells are missing, else an empty text.
fn progress(measured: usize, all: usize) -> String {
    match measured {
        0 => String::new(),
        some if some < all => format!("{some} of {all} cells are measured so far."),
        _ => String::new(),
    }
}
