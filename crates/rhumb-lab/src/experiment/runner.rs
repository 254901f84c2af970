//! Measures the cells of experiments. Finished cells are not measured again; each cell is saved as
//! soon as it is finished; cells over the same store are measured one after another.

use std::path::Path;

use super::study::{Records, Setting, Study};
use super::{Amounts, Build, Data, Experiment, Planned, Scale, work};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::results::{COMMIT, Key, Measured, ResultsFile};

/// The cells to measure.
pub struct Order {
    /// The experiments.
    pub experiments: Vec<&'static Experiment>,
    /// Their scale.
    pub scale: Scale,
    /// The amounts of that scale.
    pub amounts: Amounts,
    /// Seed of keys, values and every random choice.
    pub seed: u64,
    /// Whether finished cells are measured again.
    pub again: bool,
    /// The number of this machine, from 1, and the number of machines.
    pub shard: (usize, usize),
}

/// The outcome of an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Cells measured now.
    pub measured: usize,
    /// Cells that were finished before.
    pub finished: usize,
    /// Those finished cells that another build of the program measured.
    pub older: usize,
    /// Cells left to other machines.
    pub elsewhere: usize,
    /// Cells that this machine does not permit.
    pub refused: usize,
}

/// A cell with its key.
type Todo = (Key, Planned);

/// Measures all cells of an order that are not finished, and saves each in the file as part of a
/// run.
///
/// # Errors
/// The first failure of a store or of the file, a wrong answer, or an interruption; finished cells
/// were saved.
pub fn run(
    order: &Order,
    directory: &Path,
    progress: &Progress,
    file: &mut ResultsFile,
    run: i64,
) -> Result<Summary> {
    let mut summary = Summary::default();
    let groups = plan(order, file, &mut summary)?;
    let amounts = &order.amounts;
    let setting = Setting {
        amounts,
        seed: order.seed,
        directory: directory.to_path_buf(),
        progress,
    };
    progress.begin(groups.iter().map(|group| group.cells.len()).sum());
    let mut records: Option<(Data, Records)> = None;
    for group in groups {
        let data = &group.data;
        if records.as_ref().is_none_or(|(known, _)| known != data) {
            // The old records are dropped first, since two sets may not fit into memory.
            drop(records.take());
            progress.stage(format!("{}: keys", data.set), 1);
            records = Some((data.clone(), Records::of(data, order.seed)?));
        }
        let Some((_, records)) = &records else {
            continue;
        };
        let mut keep = |key: &Key, measured: Option<Measured>| -> Result<()> {
            match measured {
                Some(measured) => {
                    file.add(run, key, &measured)?;
                    summary.measured += 1;
                }
                None => summary.refused += 1,
            }
            progress.finished();
            Ok(())
        };
        group.measure(&setting, records, &mut keep)?;
    }
    progress.clear();
    Ok(summary)
}

/// Cells over one store, or over keys without a store.
struct Group {
    data: Data,
    build: Option<Build>,
    cells: Vec<Todo>,
}

/// The cells to measure, grouped by their keys, then by their store.
fn plan(order: &Order, file: &ResultsFile, summary: &mut Summary) -> Result<Vec<Group>> {
    let amounts = &order.amounts;
    let mut groups: Vec<Group> = Vec::new();
    for experiment in &order.experiments {
        for planned in (experiment.cells)(amounts)? {
            let key = Key {
                experiment: experiment.id,
                scale: order.scale.name(),
                seed: order.seed,
                records: planned.data.records,
                axes: planned.axes.clone(),
            };
            let (data, build) = (&planned.data, &planned.build);
            let same = |group: &&mut Group| group.data == *data && group.build == *build;
            match groups.iter_mut().find(same) {
                Some(group) => group.cells.push((key, planned)),
                None => groups.push(Group {
                    data: data.clone(),
                    build: build.clone(),
                    cells: vec![(key, planned)],
                }),
            }
        }
    }
    let (this, machines) = order.shard;
    // All kinds over one set of keys are measured on one machine, so that they can be compared.
    let mut sets: Vec<Data> = Vec::new();
    for group in &groups {
        if !sets.contains(&group.data) {
            sets.push(group.data.clone());
        }
    }
    let number = |data: &Data| sets.iter().position(|known| known == data).unwrap_or(0);
    let mut mine = Vec::new();
    for mut group in groups {
        if number(&group.data) % machines + 1 != this {
            summary.elsewhere += group.cells.len();
            continue;
        }
        let mut todo = Vec::new();
        for (key, planned) in std::mem::take(&mut group.cells) {
            match file.finished(&key)?.filter(|_| !order.again) {
                Some(by) => {
                    summary.finished += 1;
                    summary.older += usize::from(by != COMMIT);
                }
                None => todo.push((key, planned)),
            }
        }
        group.cells = todo;
        group.cells.sort_by_key(|(_, planned)| planned.work.place());
        if !group.cells.is_empty() {
            mine.push(group);
        }
    }
    // Each set of keys is made once.
    mine.sort_by_key(|group| number(&group.data));
    Ok(mine)
}

impl Group {
    fn measure(
        &self,
        setting: &Setting<'_>,
        records: &Records,
        keep: &mut dyn FnMut(&Key, Option<Measured>) -> Result<()>,
    ) -> Result<()> {
        let Some(build) = &self.build else {
            for (key, planned) in &self.cells {
                keep(
                    key,
                    Some(work::keys_or_machine(planned.work, setting, records)?),
                )?;
            }
            return Ok(());
        };
        let study = Study::load(setting, records, build)?;
        for (key, planned) in &self.cells {
            keep(key, work::over_store(planned.work, &study)?)?;
        }
        study.remove()
    }
}

/// Parses the part of an order for a machine, such as `2/3`.
///
/// # Errors
/// If the text is not of this form.
pub fn parse_shard(text: &str) -> Result<(usize, usize)> {
    let parts = text.split_once('/');
    let numbers = parts.and_then(|(this, all)| Some((this.parse().ok()?, all.parse().ok()?)));
    numbers
        .filter(|(this, all)| (1..=*all).contains(this))
        .ok_or_else(|| {
            Error::Usage(format!(
                "--shard {text}: write i/n, such as 2/3 for the second of three"
            ))
        })
}
