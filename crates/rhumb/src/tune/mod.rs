//! Chooses the index of new tables and how they are cut, by what reads cost ([`Tuner`](crate::Tuner)).
//!
//! The forms to choose from are measured on a sample of a table of the keyspace (`measure.rs`). What readers do is counted
//! (`workload.rs`), and one get in 64 is timed in each table that it asks, so that forms whose tables are slower than their
//! samples are known. For each table that begins, the form is chosen that costs least (`cost.rs`).
//!
//! DobLIX (section III-F) tunes error bound and block size by Q-learning over tables that are written; a form that was
//! measured need not be tried on the user's reads.
//!
//! Or all tables stay as they are set, and models are learned beside the indexes of some (`learning/`).

mod agent;
mod cost;
mod file;
mod layout;
mod learner;
mod learning;
mod measure;
mod memo;
#[cfg(any(test, feature = "internals"))]
mod replay;
mod state;
mod stats;
mod timed;
mod words;
mod workload;

use std::{array, mem};

use self::agent::Agent;
pub(crate) use self::layout::Layout;
use self::layout::candidates;
pub(crate) use self::learning::{Learned, Learner, Next, Task};
pub(crate) use self::measure::Bench;
use self::measure::{LEAST_ENTRIES, Sample, Trial};
#[cfg(feature = "internals")]
pub use self::replay::replayed_regret;
use self::state::{Policy, State};
pub use self::stats::{FormStats, ModelStats, TunerStats};
use self::timed::Timed;
use self::workload::{Counts, SAMPLED};
use crate::error::Result;
use crate::options::Tuner;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::{Arc, Mutex, lock};
use crate::table::{GetTrace, TableReader};
use crate::version::{Files, Levels, LookUp, Table};

/// The most forms of which gets are timed.
const MOST_FORMS: usize = 24;

/// What a store does of its own in a keyspace so that its tables are found faster.
#[derive(Debug)]
pub(crate) enum Tuned {
    /// It chooses the form of new tables,
    Forms(Chooser),
    /// or learns models of those that there are.
    Models(Learner),
}

impl Tuned {
    /// What is set; `None` if nothing is.
    pub fn of(tuner: Tuner) -> Option<Tuned> {
        let policy = match tuner {
            Tuner::Off => return None,
            Tuner::Cost { nu } => Policy::Cost { nu },
            Tuner::QLearning {
                nu,
                seed,
                alpha,
                gamma,
            } => Policy::of(Agent::new(nu, seed).with_rates(alpha, gamma)),
            Tuner::Bourbon { wait, covers } => {
                return Some(Tuned::Models(Learner::new(wait, covers)));
            }
        };
        Some(Tuned::Forms(Chooser::new(policy)))
    }

    /// Notes what one of the gets that are looked at did in a table: `nanos` if its filter let it be searched.
    pub fn note_table(&self, table: &Table, look_up: LookUp, nanos: Option<u64>) {
        match self {
            Tuned::Forms(chooser) => {
                if let (Some(nanos), Some(reader)) = (nanos, table.open_reader()) {
                    chooser.note_time(reader.layout_tag(), nanos, look_up.has_read);
                }
            }
            Tuned::Models(_) => {
                let Some(look_ups) = table.look_ups() else {
                    return;
                };
                match nanos {
                    Some(nanos) => look_ups.note(look_up, nanos),
                    None => look_ups.note_filtered(look_up.by_model),
                }
            }
        }
    }

    /// Notes what one of the gets that are looked at did in all.
    pub fn note_get(&self, trace: &GetTrace) {
        if let Tuned::Forms(chooser) = self {
            chooser.note_get(trace);
        }
    }

    /// What it knows, with `levels` as they are.
    pub fn stats(&self, levels: &Levels) -> TunerStats {
        match self {
            Tuned::Forms(chooser) => chooser.stats(),
            Tuned::Models(learner) => {
                let (models, failure) = learner.stats(levels);
                TunerStats {
                    is_on: true,
                    models: Some(models),
                    failure,
                    ..TunerStats::default()
                }
            }
        }
    }
}

/// The tuner of a keyspace.
#[derive(Debug)]
pub(crate) struct Chooser {
    counts: Counts,
    /// What gets took in the tables of each form.
    timed: [Timed; MOST_FORMS],
    state: Mutex<State>,
    /// Held while what is known is written.
    saving: Mutex<()>,
}

impl Chooser {
    fn new(policy: Policy) -> Chooser {
        Chooser {
            counts: Counts::default(),
            timed: array::from_fn(|_| Timed::default()),
            state: Mutex::new(State::new(policy)),
            saving: Mutex::new(()),
        }
    }

    /// Takes over what the tuner of a keyspace remembers. What cannot be read is measured again.
    pub fn recall(&self, files: &Files, keyspace: u32) {
        let mut state = lock(&self.state);
        match file::load(files, keyspace) {
            Ok(Some(memo)) => state.recall(memo),
            Ok(None) => {}
            Err(why) => state.forgotten = Some(why),
        }
        self.watch(&state);
    }

    /// Remembers what is known, if there is something new. Nobody who chooses waits for it.
    pub fn remember(&self, files: &Files, keyspace: u32) {
        let _one = lock(&self.saving);
        let mut state = lock(&self.state);
        if !mem::take(&mut state.is_new) {
            return;
        }
        let memo = state.memo();
        drop(state);
        let saved = file::save(files, keyspace, &memo);
        let why = saved.err().map(|error| format!("cannot remember: {error}"));
        lock(&self.state).forgotten = why;
    }

    /// Times gets in tables of the forms that are known from now on.
    fn watch(&self, state: &State) {
        for (timed, known) in self.timed.iter().zip(&state.known) {
            timed.tag.store(known.layout.tag(), Relaxed);
            timed.clear();
        }
    }

    /// Counts a get that is looked at, and stands for [`SAMPLED`].
    fn note_get(&self, trace: &GetTrace) {
        self.counts.note_get(trace, SAMPLED);
    }

    /// Counts gets that were made together.
    pub fn note_gets(&self, trace: &GetTrace) {
        self.counts.note_get(trace, 1);
    }

    /// Counts an iterator: how often it was positioned, and the entries that it showed.
    pub fn note_scan(&self, seeks: u32, steps: u64, trace: &GetTrace) {
        self.counts.note_scan(seeks, steps, trace);
    }

    /// Notes what a get took in a table of the form with a tag, behind its filter.
    fn note_time(&self, tag: u64, nanos: u64, has_read: bool) {
        let mut timed = self.timed.iter();
        if let Some(timed) = timed.find(|timed| tag != 0 && timed.tag.load(Relaxed) == tag) {
            timed.note(nanos, has_read);
        }
    }

    /// Whether forms are to be measured before tables of entries like those of `reader` are written, for which `base` is set.
    /// If so, [`Chooser::measure`] has to follow; nobody else is told so meanwhile.
    pub fn begins_to_measure(&self, base: &Layout, reader: &TableReader) -> bool {
        let mut state = lock(&self.state);
        let begins = reader.entries() >= LEAST_ENTRIES && state.is_due(base, entry_bytes(reader));
        state.is_measuring |= begins;
        begins
    }

    /// Measures all forms on a sample of a table. Failures are kept for [`Chooser::stats`], and what is known stays.
    ///
    /// # Errors
    /// What [`Bench::go_on`] returns.
    pub fn measure(&self, bench: &Bench<'_>, reader: &Arc<TableReader>) -> Result<()> {
        let base = Layout::of(&bench.settings.index, &bench.settings.spec);
        let is_agent = matches!(lock(&self.state).policy, Policy::Agent(_));
        let measured = Sample::of(reader, bench.go_on).and_then(|sample| {
            let sample = &sample;
            Trial { bench, sample }.measure(match is_agent {
                true => learner::candidates(&base),
                false => candidates(&base, sample.entry_bytes()),
            })
        });
        let goes_on = (bench.go_on)();
        let mut state = lock(&self.state);
        state.is_measuring = false;
        goes_on?;
        state.take((base, entry_bytes(reader)), measured);
        self.watch(&state);
        Ok(())
    }

    /// The form of a table that begins, for which `base` is set; none if no forms are known for this.
    pub fn choose(&self, base: &Layout) -> Option<Layout> {
        let mut state = lock(&self.state);
        state.begun += 1;
        if state.base() != Some(base) {
            return None;
        }
        state.is_new = true;
        let scans = self.counts.take_into(&mut state.workload);
        state.choose(&self.timed, scans)
    }

    /// What it knows.
    fn stats(&self) -> TunerStats {
        lock(&self.state).stats()
    }
}

/// What the tuner of a keyspace remembers, for a store that has none now.
pub(crate) fn remembered(files: &Files, keyspace: u32) -> Option<TunerStats> {
    let memo = match file::load(files, keyspace) {
        Ok(memo) => memo?,
        Err(failure) => {
            return Some(TunerStats {
                failure: Some(failure),
                ..TunerStats::default()
            });
        }
    };
    let mut state = State::new(match memo.is_agent {
        true => Policy::of(Agent::new(0.0, 0)),
        false => Policy::Cost { nu: 0.0 },
    });
    state.recall(memo);
    Some(TunerStats {
        is_on: false,
        ..state.stats()
    })
}

/// Whether the next get of a thread that made so many is one of those that are looked at: one in [`SAMPLED`], in an order
/// that no loop of a program keeps pace with.
#[inline]
pub(crate) fn is_sampled(gets: u64) -> bool {
    const LOW_BITS: u32 = SAMPLED.trailing_zeros();
    gets.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - LOW_BITS) == 0
}

/// The mean bytes of a table's entries in its blocks, at least 1.
fn entry_bytes(reader: &TableReader) -> f64 {
    let properties = reader.properties();
    let of = |name| properties.number(name).unwrap_or(0) as f64;
    ((of("key.bytes") + of("value.bytes")) / reader.entries().max(1) as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a program does again and again, each of its gets is looked at.
    #[test]
    fn one_get_in_64_is_sampled_whatever_the_period() {
        for period in [1, 2, 3, 4, 8, 64, 100] {
            let mut sampled = vec![0; period];
            for gets in 0..640_000_u64 {
                sampled[gets as usize % period] += usize::from(is_sampled(gets));
            }
            let expected = 640_000 / 64 / period;
            for count in sampled {
                let range = expected / 2..expected * 2;
                assert!(
                    range.contains(&count),
                    "{count} of {expected}, period {period}"
                );
            }
        }
    }
}
