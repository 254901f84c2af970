//! Measures the contests of an order. Finished rounds of cells are not measured again; each is saved
//! as soon as it is finished.

use std::path::Path;

use super::Fill;
use super::plan::{Contest, Group, Order};
use super::study::{Records, Setting, Study};
use super::work;
use crate::error::Result;
use crate::progress::Progress;
use crate::results::{COMMIT, Circumstances, Key, Permitted, ResultsFile};

/// The outcome of an order, counted in rounds of cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Measured now.
    pub measured: usize,
    /// Finished before.
    pub finished: usize,
    /// Those finished before by another build of the program.
    pub older: usize,
    /// Left to other machines.
    pub elsewhere: usize,
    /// Not permitted by this machine.
    pub refused: usize,
    /// Why the last of these is not permitted.
    pub refusal: String,
}

/// Measures all rounds of an order that are not finished, and saves each in the file as part of a
/// run.
///
/// # Errors
/// The first failure of a store or of the file, a wrong answer, or an interruption; finished rounds
/// were saved.
pub fn run(
    order: &Order,
    directory: &Path,
    progress: &Progress,
    file: &mut ResultsFile,
    run: i64,
) -> Result<Summary> {
    let mut summary = Summary::default();
    let contests = unfinished(order, Some(file), &mut summary)?;
    let stores = contests.iter().flat_map(|contest| &contest.stores);
    progress.begin(stores.map(|group| group.cells.len()).sum());
    for contest in &contests {
        let setting = Setting {
            amounts: &order.amounts,
            seed: contest.seed,
            directory: directory.to_path_buf(),
            progress,
        };
        let (set, round) = (&contest.data.set, contest.round);
        progress.stage(format!("{set}: keys of round {round}"), 1);
        let records = Records::of(&contest.data, contest.seed)?;
        let mut keep = |key: &Key, taken: &Circumstances, measured: Permitted| {
            match measured {
                Ok(measured) => {
                    file.add(run, key, taken, &measured)?;
                    summary.measured += 1;
                }
                Err(why) => {
                    file.refuse(run, key, taken, &why)?;
                    summary.refused += 1;
                    summary.refusal = why;
                }
            }
            progress.finished();
            Ok(())
        };
        let mut shared = None;
        for group in &contest.stores {
            group.measure(contest, &setting, &records, &mut shared, &mut keep)?;
        }
        remove(shared)?;
    }
    progress.clear();
    Ok(summary)
}

/// The contests of this machine, with the cells whose round is not finished in the file. Counts the
/// others.
///
/// # Errors
/// If an experiment cannot declare its cells, or the file cannot be read.
pub fn unfinished(
    order: &Order,
    file: Option<&ResultsFile>,
    summary: &mut Summary,
) -> Result<Vec<Contest>> {
    let mut mine = Vec::new();
    for mut contest in order.contests()? {
        if contest.elsewhere {
            let cells = contest.stores.iter().map(|group| group.cells.len());
            summary.elsewhere += cells.sum::<usize>();
            continue;
        }
        for group in &mut contest.stores {
            let mut todo = Vec::new();
            for cell in std::mem::take(&mut group.cells) {
                let rounds = match file {
                    Some(file) => file.finished(&cell.0)?,
                    None => Vec::new(),
                };
                let by = rounds.iter().find(|(number, _)| *number == contest.round);
                match by.filter(|_| !order.again) {
                    Some((_, by)) => {
                        summary.finished += 1;
                        summary.older += usize::from(by != COMMIT);
                    }
                    None => todo.push(cell),
                }
            }
            group.cells = todo;
        }
        contest.stores.retain(|group| !group.cells.is_empty());
        if !contest.stores.is_empty() {
            mine.push(contest);
        }
    }
    Ok(mine)
}

/// Saves a round of a cell, or why it is not permitted here.
type Keep<'k> = dyn FnMut(&Key, &Circumstances, Permitted) -> Result<()> + 'k;

/// A loaded store that several builds are copied from.
type Shared<'a> = Option<Study<'a>>;

fn remove(shared: Shared<'_>) -> Result<()> {
    shared.map_or(Ok(()), Study::remove)
}

impl Group {
    fn measure<'a>(
        &self,
        contest: &Contest,
        setting: &'a Setting<'a>,
        records: &'a Records,
        shared: &mut Shared<'a>,
        keep: &mut Keep<'_>,
    ) -> Result<()> {
        let began = |caches| Circumstances::now(contest.round, contest.seed, caches);
        let Some(build) = &self.build else {
            for (key, planned) in &self.cells {
                let taken = began(planned.work.caches());
                let measured = work::keys_or_machine(planned.work, setting, records)?;
                keep(key, &taken, Ok(measured))?;
            }
            return Ok(());
        };
        let loading = began("");
        let study = match self.shared() {
            Some(base) => {
                let loaded = match shared.take() {
                    Some(study) if study.build == base => study,
                    other => {
                        remove(other)?;
                        Study::to_share(setting, records, &base)?
                    }
                };
                shared.insert(loaded).rebuilt(build)?
            }
            None => {
                remove(shared.take())?;
                Study::load(setting, records, build)?
            }
        };
        self.work(contest, &study, &loading, keep)?;
        study.remove()
    }

    /// Measures the cells over a store; `loading` has the circumstances in which it was made.
    fn work(
        &self,
        contest: &Contest,
        study: &Study<'_>,
        loading: &Circumstances,
        keep: &mut Keep<'_>,
    ) -> Result<()> {
        for (at, (key, planned)) in self.cells.iter().enumerate() {
            if at > 0 && study.build.fill == Fill::Nothing {
                study.empty()?;
            }
            let taken = match planned.work {
                super::Work::Loading => *loading,
                work => Circumstances::now(contest.round, contest.seed, work.caches()),
            };
            let study = study.read_as(planned.build.as_ref());
            let measured = match planned.work.changes_store() && study.build.fill != Fill::Nothing {
                true => {
                    // The next cell begins with the store as it was loaded.
                    let copy = study.copy()?;
                    let measured = work::over_store(planned.work, &copy)?;
                    copy.remove()?;
                    measured
                }
                false => work::over_store(planned.work, &study)?,
            };
            keep(key, &taken, measured)?;
        }
        Ok(())
    }
}
