//! Chooses the index of new tables and how they are cut, by what reads cost ([`Tuner`](crate::Tuner)).
//!
//! The forms to choose from are measured on a sample of a table of the keyspace (`measure.rs`). What readers do is counted
//! (`workload.rs`), and one get in 64 is timed in each table that it asks, so that forms whose tables are slower than their
//! samples are known. For each table that begins, the form is chosen that costs least (`cost.rs`).
//!
//! DobLIX (section III-F) tunes error bound and block size by Q-learning over tables that are written; a form that was
//! measured need not be tried on the user's reads.

mod agent;
mod cost;
mod file;
mod layout;
mod learner;
mod measure;
mod memo;
mod workload;

use std::array;

use self::agent::{Agent, Rates};
use self::cost::{Costs, Known, cheapest};
pub(crate) use self::layout::Layout;
use self::layout::candidates;
use self::learner::Learner;
use self::measure::{Bench, LEAST_ENTRIES, Sample};
use self::memo::Memo;
use self::workload::{Counts, SAMPLED, Workload};
use crate::error::Result;
use crate::options::Tuner;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::{Arc, Mutex, lock};
use crate::table::{GetTrace, TableReader, TableSettings};
use crate::version::Files;

/// The most forms of which gets are timed.
const MOST_FORMS: usize = 24;

/// Where the mean entry differs by more than this factor from those of the sample, a new one is measured.
const OTHER_BYTES: f64 = 1.5;

/// The tuner of a keyspace.
#[derive(Debug)]
pub(crate) struct Chooser {
    counts: Counts,
    /// What gets took in the tables of each form.
    timed: [Timed; MOST_FORMS],
    state: Mutex<State>,
}

/// Timed gets in tables of one form.
#[derive(Debug, Default)]
struct Timed {
    /// The tag of the form, 0 for none.
    tag: AtomicU64,
    gets: AtomicU64,
    nanos: AtomicU64,
    /// Those that read.
    read: AtomicU64,
}

/// Fewer timed gets than these say nothing.
const LEAST_TIMED: u64 = 64;

/// Who chooses.
#[derive(Debug)]
enum Policy {
    /// The least cost, with this weight of time against memory.
    Cost { nu: f64 },
    /// DobLIX's agent.
    Agent(Box<Learner>),
}

#[derive(Debug)]
struct State {
    policy: Policy,
    /// The forms that differ; the first one is what is set. Empty until they are measured.
    known: Vec<Known>,
    /// The place of the present one.
    present: usize,
    workload: Workload,
    /// What they were measured for, the last time: what was set, and the mean bytes of an entry.
    asked: Option<(Layout, f64)>,
    /// How often forms were measured, and why that failed the last time.
    measured: u64,
    failure: Option<String>,
    /// Whether something is known that is not remembered yet.
    is_new: bool,
}

/// What a tuner knows and does.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TunerStats {
    /// Whether the store has one now. If not, this is what one knew when it was open the last time.
    pub is_on: bool,
    /// The forms that it chooses from, index and cut; first what is set. Empty until the first merge.
    pub forms: Vec<FormStats>,
    /// The place of the form that new tables take.
    pub present: usize,
    /// How often forms were measured.
    pub measured: u64,
    /// The episodes of [`Tuner::QLearning`].
    pub episodes: u64,
    /// Why that failed the last time, or what was remembered cannot be read or written. If forms are not known, new tables stay
    /// as they are.
    pub failure: Option<String>,
}

/// What a tuner knows of one form of tables. Times are nanoseconds, in a sample of a table.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FormStats {
    /// Index and cut, such as `plr predicted(14)`.
    pub form: String,
    /// A get whose block is in the cache.
    pub cached_get: f64,
    /// A get that reads its block.
    pub uncached_get: f64,
    /// A scan of 100 entries in the cache.
    pub cached_scan: f64,
    /// A scan of 100 entries that reads.
    pub uncached_scan: f64,
    /// The bytes of index and directory an entry.
    pub memory: f64,
    /// How many times as long gets took in its tables, if enough were timed.
    pub ratio: Option<f64>,
    /// The tables that were begun in this form since it was measured.
    pub tables: u64,
    /// What the agent of [`Tuner::QLearning`] learned of this form: the largest value of an action in its state.
    pub value: Option<f64>,
}

impl Chooser {
    /// A tuner as it is set; `None` if none is.
    pub fn of(tuner: Tuner) -> Option<Chooser> {
        let policy = match tuner {
            Tuner::Off => return None,
            Tuner::Cost { nu } => Policy::Cost { nu },
            Tuner::QLearning { nu, seed } => Policy::agent(nu, seed),
        };
        Some(Chooser {
            counts: Counts::default(),
            timed: array::from_fn(|_| Timed::default()),
            state: Mutex::new(State::new(policy)),
        })
    }

    /// Takes over what the tuner of a keyspace remembers. What cannot be read is measured again.
    pub fn recall(&self, files: &Files, keyspace: u32) {
        let mut state = lock(&self.state);
        match file::load(files, keyspace) {
            Ok(Some(memo)) => state.recall(memo),
            Ok(None) => {}
            Err(failure) => state.failure = Some(failure),
        }
        self.watch(&state);
    }

    /// Remembers what is known, if there is something new.
    pub fn remember(&self, files: &Files, keyspace: u32) {
        let mut state = lock(&self.state);
        if state.is_new {
            state.is_new = false;
            // Forms are then measured again in the next opening.
            if let Err(error) = file::save(files, keyspace, &state.memo()) {
                state.failure = Some(format!("cannot remember: {error}"));
            }
        }
    }

    /// Times gets in tables of the forms that are known from now on.
    fn watch(&self, state: &State) {
        for (timed, known) in self.timed.iter().zip(&state.known) {
            timed.tag.store(known.layout.tag(), Relaxed);
            timed.take();
        }
    }

    /// Counts one of [`SAMPLED`] gets.
    pub fn note_get(&self, trace: &GetTrace) {
        self.counts.note_get(trace);
    }

    /// Counts an iterator: how often it was positioned, and the entries that it showed.
    pub fn note_scan(&self, seeks: u32, steps: u64, trace: &GetTrace) {
        self.counts.note_scan(seeks, steps, trace);
    }

    /// Notes what a get took in a table of the form with a tag, behind its filter.
    pub fn note_time(&self, tag: u64, nanos: u64, has_read: bool) {
        if tag == 0 {
            return;
        }
        let mut timed = self.timed.iter();
        if let Some(timed) = timed.find(|timed| timed.tag.load(Relaxed) == tag) {
            timed.gets.fetch_add(1, Relaxed);
            timed.nanos.fetch_add(nanos, Relaxed);
            timed.read.fetch_add(has_read.into(), Relaxed);
        }
    }

    /// Whether forms are to be measured before tables of entries like those of `reader` are written, for which `base` is set.
    pub fn is_due(&self, base: &Layout, reader: &TableReader) -> bool {
        let (state, bytes) = (lock(&self.state), entry_bytes(reader));
        let is_alike = |(asked, before): &(Layout, f64)| {
            let times = bytes.max(*before) / bytes.min(*before);
            asked == base && times <= OTHER_BYTES
        };
        reader.entries() >= LEAST_ENTRIES && !state.asked.as_ref().is_some_and(is_alike)
    }

    /// Measures all forms on a sample of a table. `settings` are those of the next tables, with what is set. Failures are kept
    /// for [`Chooser::stats`]: tables are written as before then.
    ///
    /// # Errors
    /// What `go_on` returns, which is asked from time to time.
    pub fn measure(
        &self,
        files: &Files,
        (reader, settings): (&Arc<TableReader>, &TableSettings),
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let base = Layout::of(&settings.index, &settings.spec);
        let is_agent = matches!(lock(&self.state).policy, Policy::Agent(_));
        let measured = Sample::of(reader).and_then(|sample| {
            let bench = Bench {
                files,
                settings,
                sample: &sample,
                go_on,
            };
            bench.measure(match is_agent {
                true => learner::candidates(&base),
                false => candidates(&base, sample.entry_bytes()),
            })
        });
        go_on()?;
        let mut state = lock(&self.state);
        state.asked = Some((base, entry_bytes(reader)));
        state.measured += 1;
        let failure = measured.as_ref().err();
        state.failure = failure.map(|error| format!("could not be measured: {error}"));
        state.start(measured.unwrap_or_default());
        self.watch(&state);
        Ok(())
    }

    /// The form of a table that begins, for which `base` is set; none if no forms are known for this.
    pub fn choose(&self, base: &Layout) -> Option<Layout> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        if state.base() != Some(base) {
            return None;
        }
        self.counts.take_into(&mut state.workload);
        match &mut state.policy {
            Policy::Cost { nu } => {
                for (timed, known) in self.timed.iter().zip(&mut state.known) {
                    if let Some((mean, missed)) = timed.take_enough() {
                        known.learn(mean, missed);
                    }
                }
                if state.workload.is_known() {
                    state.present = cheapest(&state.known, &state.workload, *nu, state.present);
                }
            }
            Policy::Agent(learner) if state.workload.is_known() => {
                let timed = self.timed.get(state.present)?;
                let form = state.known.get(state.present)?;
                let next = learner.table(&state.known, &state.workload, timed.seen(&form.costs));
                if let Some(next) = next {
                    state.present = next;
                    // The next episode begins with none.
                    for timed in &self.timed {
                        timed.take();
                    }
                }
            }
            Policy::Agent(_) => {}
        }
        state.is_new = true;
        let chosen = state.known.get_mut(state.present)?;
        chosen.tables += 1;
        Some(chosen.layout.clone())
    }

    /// What it knows.
    pub fn stats(&self) -> TunerStats {
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
        true => Policy::agent(0.0, 0),
        false => Policy::Cost { nu: 0.0 },
    });
    state.recall(memo);
    Some(TunerStats {
        is_on: false,
        ..state.stats()
    })
}

impl Policy {
    fn agent(nu: f64, seed: u64) -> Policy {
        let agent = Agent::new(Rates::default(), nu, seed);
        Policy::Agent(Box::new(Learner::new(agent)))
    }
}

impl State {
    fn new(policy: Policy) -> State {
        State {
            policy,
            known: Vec::new(),
            present: 0,
            workload: Workload::default(),
            asked: None,
            measured: 0,
            failure: None,
            is_new: false,
        }
    }

    /// What is kept of it.
    fn memo(&self) -> Memo {
        Memo {
            is_agent: matches!(self.policy, Policy::Agent(_)),
            entry_bytes: self.asked.as_ref().map_or(0.0, |(_, bytes)| *bytes),
            known: self.known.clone(),
            present: self.present,
            workload: self.workload,
            measured: self.measured,
            agent: match &self.policy {
                Policy::Agent(learner) => learner.remember(),
                Policy::Cost { .. } => None,
            },
        }
    }

    /// Goes on where a tuner of the same kind was.
    fn recall(&mut self, memo: Memo) {
        if memo.is_agent != matches!(self.policy, Policy::Agent(_)) || memo.known.len() > MOST_FORMS
        {
            return;
        }
        let base = memo.known.first().map(|known| known.layout.clone());
        self.asked = base.map(|base| (base, memo.entry_bytes));
        (self.known, self.present) = (memo.known, memo.present);
        (self.workload, self.measured) = (memo.workload, memo.measured);
        if let (Policy::Agent(learner), Some(agent)) = (&mut self.policy, memo.agent) {
            learner.recall(agent, &self.known, &self.workload);
        }
    }

    fn stats(&self) -> TunerStats {
        let forms = self.known.iter().map(|known| FormStats {
            form: known.layout.to_string(),
            cached_get: known.costs.cached_get,
            uncached_get: known.costs.uncached_get,
            cached_scan: known.costs.cached_scan,
            uncached_scan: known.costs.uncached_scan,
            memory: known.costs.memory,
            ratio: known.ratio,
            tables: known.tables,
            value: match &self.policy {
                Policy::Cost { .. } => None,
                Policy::Agent(learner) => learner.value(&known.layout),
            },
        });
        TunerStats {
            is_on: true,
            forms: forms.collect(),
            present: self.present,
            measured: self.measured,
            episodes: match &self.policy {
                Policy::Cost { .. } => 0,
                Policy::Agent(learner) => learner.episodes(),
            },
            failure: self.failure.clone(),
        }
    }

    /// What was set when the forms were measured.
    fn base(&self) -> Option<&Layout> {
        self.known.first().map(|known| &known.layout)
    }

    /// Begins with other figures. The form that was chosen stays until another one is surely better.
    fn start(&mut self, known: Vec<Known>) {
        let before = self.known.get(self.present).map(|k| k.layout.clone());
        let again = known
            .iter()
            .position(|k| Some(&k.layout) == before.as_ref());
        self.present = again.unwrap_or(0);
        self.is_new = true;
        self.known = known;
        self.known.truncate(MOST_FORMS);
        if let Policy::Agent(learner) = &mut self.policy {
            learner.forget();
        }
    }
}

impl Timed {
    /// How many gets were timed, and how many times as long they took as in the sample; 1 if there were none.
    fn seen(&self, costs: &Costs) -> (u64, f64) {
        let of = |count: &AtomicU64| count.load(Relaxed);
        let gets = of(&self.gets);
        let each = |count: &AtomicU64| of(count) as f64 / gets.max(1) as f64;
        let expected = costs.get(each(&self.read));
        match gets > 0 && expected > 0.0 {
            true => (gets, each(&self.nanos) / expected),
            false => (0, 1.0),
        }
    }

    /// Takes the counts, and returns the mean nanoseconds of a get, and the share that read, if these were enough.
    fn take_enough(&self) -> Option<(f64, f64)> {
        (self.gets.load(Relaxed) >= LEAST_TIMED).then(|| {
            let (gets, nanos, read) = self.take();
            let gets = gets.max(1) as f64;
            (nanos as f64 / gets, read as f64 / gets)
        })
    }

    fn take(&self) -> (u64, u64, u64) {
        let take = |count: &AtomicU64| count.swap(0, Relaxed);
        (take(&self.gets), take(&self.nanos), take(&self.read))
    }
}

/// Whether the next get of a thread that made so many is one of those that are looked at.
#[inline]
pub(crate) fn is_sampled(gets: u64) -> bool {
    gets.is_multiple_of(SAMPLED)
}

/// The mean bytes of a table's entries in its blocks.
fn entry_bytes(reader: &TableReader) -> f64 {
    let properties = reader.properties();
    let of = |name| properties.number(name).unwrap_or(0) as f64;
    (of("key.bytes") + of("value.bytes")) / reader.entries().max(1) as f64
}
