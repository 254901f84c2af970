//! What a hybrid index holds, and how it comes from memory to the disk: by merges, or at once while it is loaded.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ::rhumb::fs::Access;
use rhumb_index::{KeyMap, KeyMapBuilder};

use super::both;
use super::cells::Widths;
use super::page_index::Form;
use super::run::Run;
use super::run_writer::RunWriter;
use super::tree::Tree;
use crate::data::Pairs;
use crate::error::{Error, Result};

/// Where runs are, and how they are written and found.
pub struct Runs {
    /// Their directory.
    pub directory: PathBuf,
    /// How their pages are found.
    pub form: Form,
    /// How they are read and written.
    pub access: Access,
}

/// What an index holds.
pub struct State {
    /// What was put and deleted since the last merge. A merge leaves it to those who read it.
    pub tree: Arc<RwLock<Tree>>,
    /// The lengths of the pairs in the tree.
    widths: Widths,
    /// The run.
    pub run: Arc<Run>,
    loading: Loading,
    /// The number of the next run.
    next: u64,
}

/// A run that is written at once, of which nobody has read yet.
enum Loading {
    No,
    To(Box<RunWriter>),
    /// It could not be finished, so what was loaded is lost.
    Failed,
}

/// The tree, to read.
pub fn shared(tree: &RwLock<Tree>) -> RwLockReadGuard<'_, Tree> {
    tree.read().unwrap_or_else(PoisonError::into_inner)
}

/// The tree, to change.
pub fn exclusive(tree: &RwLock<Tree>) -> RwLockWriteGuard<'_, Tree> {
    tree.write().unwrap_or_else(PoisonError::into_inner)
}

fn empty_tree() -> Result<Arc<RwLock<Tree>>> {
    Ok(Arc::new(RwLock::new(Tree::in_memory()?)))
}

impl Runs {
    /// What is in the directory.
    ///
    /// # Errors
    /// If a run cannot be read, or there are several.
    pub fn open(&self) -> Result<State> {
        let (number, run) = match number_of_run(&self.directory)? {
            Some(number) => (
                number,
                Run::open(&self.path(number), self.form, self.access)?,
            ),
            None => {
                let writer = self.begin(1, Widths::default(), KeyMap::eight_bytes())?;
                (1, writer.finish()?)
            }
        };
        Ok(State {
            tree: empty_tree()?,
            widths: Widths::default(),
            run: Arc::new(run),
            loading: Loading::No,
            next: number + 1,
        })
    }

    fn path(&self, number: u64) -> PathBuf {
        self.directory.join(format!("run-{number}"))
    }

    fn begin(&self, number: u64, widths: Widths, map: KeyMap) -> Result<RunWriter> {
        RunWriter::create(&self.path(number), self.form, self.access, widths, map)
    }

    fn merged(&self, state: &State, number: u64) -> Result<Run> {
        let (tree, run) = (shared(&state.tree), &state.run);
        let mut widths = state.widths;
        widths.join(run.file().widths());
        let map = match widths.have_keys_of_eight() {
            true => KeyMap::eight_bytes(),
            false => {
                let mut builder = KeyMapBuilder::new();
                both::for_pairs(&tree, run, |key, _| {
                    builder.push(key);
                    Ok(())
                })?;
                builder.build()
            }
        };
        let mut writer = self.begin(number, widths, map)?;
        both::for_pairs(&tree, run, |key, value| writer.push(key, value))?;
        writer.finish()
    }
}

impl State {
    /// Whether a run is being loaded, or was lost. [`State::end_loading`] comes before all else then.
    pub fn is_loading(&self) -> bool {
        !matches!(self.loading, Loading::No)
    }

    /// Puts a key with the form of its value in memory.
    ///
    /// # Errors
    /// If they are too long.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        exclusive(&self.tree).put(key, value)?;
        if let Some(value) = both::decode(value) {
            self.widths.add(key, value);
        }
        Ok(())
    }

    /// Whether the memory, of which the static index takes a part, is full.
    pub fn is_full(&self, memory_bytes: u64, least: u64) -> bool {
        let room = memory_bytes.saturating_sub(self.run.index_bytes());
        shared(&self.tree).memory_bytes() >= room.max(least)
    }

    /// Writes the pairs of tree and run to a new run.
    ///
    /// # Errors
    /// If that cannot be written; then all is as it was.
    pub fn merge(&mut self, runs: &Runs) -> Result<()> {
        let number = self.next;
        self.next += 1;
        let run = runs.merged(self, number).inspect_err(|_| {
            let _ = std::fs::remove_file(runs.path(number));
        })?;
        self.replace(run)
    }

    /// Begins to write pairs to a run at once, if there is nothing yet, and they are those that a value log has: keys of
    /// 8 bytes, which need no map, and values of one length.
    fn begin_loading(&mut self, runs: &Runs, batch: &Pairs) -> Result<()> {
        let first = batch.iter().next();
        let is_empty = self.run.file().pairs() == 0 && shared(&self.tree).is_empty()?;
        if let Some((key, value)) = first.filter(|(key, _)| is_empty && key.len() == 8) {
            let mut widths = Widths::default();
            widths.add(key, value);
            let writer = runs.begin(self.next, widths, KeyMap::eight_bytes())?;
            self.next += 1;
            self.loading = Loading::To(Box::new(writer));
        }
        Ok(())
    }

    /// Writes pairs to the run that is being loaded, as far as they follow the last. Returns how many did.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn load(&mut self, runs: &Runs, batch: &Pairs) -> Result<usize> {
        if !self.is_loading() {
            self.begin_loading(runs, batch)?;
        }
        let Loading::To(writer) = &mut self.loading else {
            return Ok(0);
        };
        let mut loaded = 0;
        for (key, value) in batch.iter() {
            if !writer.takes(key, value) {
                break;
            }
            writer.push(key, value)?;
            loaded += 1;
        }
        Ok(loaded)
    }

    /// Puts the run that was loaded in its place.
    ///
    /// # Errors
    /// If it cannot be written, now or before.
    pub fn end_loading(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.loading, Loading::Failed) {
            Loading::No => {}
            Loading::To(writer) => self.replace(writer.finish()?)?,
            Loading::Failed => {
                let message = "a run that was loaded could not be written: load a new index";
                return Err(Error::Usage(message.to_string()));
            }
        }
        self.loading = Loading::No;
        Ok(())
    }

    /// Replaces tree and run by a run that holds the pairs of both.
    fn replace(&mut self, run: Run) -> Result<()> {
        let old = std::mem::replace(&mut self.run, Arc::new(run));
        self.tree = empty_tree()?;
        self.widths = Widths::default();
        old.file().remove()
    }
}

/// The number of the only run of a directory; none if it has no run.
fn number_of_run(directory: &Path) -> Result<Option<u64>> {
    let entries = std::fs::read_dir(directory).map_err(Error::io("list", directory))?;
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.map_err(Error::io("list", directory))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("run-"));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    match &numbers[..] {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => Err(Error::Input {
            path: directory.to_path_buf(),
            expected: "a directory with one run",
            found: format!("it has runs {numbers:?}"),
        }),
    }
}
