//! Ingestion in phases, after the benchmark BLISS: entries arrive in their order in a system that is
//! empty at first.

use std::time::{Duration, Instant};

use rhumb_index::registry;
use rhumb_index::updatable::{Key, Updatable};

use crate::data::{Pairs, Random};
use crate::error::{Error, Result};
use crate::experiment::study::Study;
use crate::experiment::{Ingest, Preload, Reading};
use crate::measure::{directory_bytes, process_cpu_time};
use crate::results::Measured;
use crate::store::{Store, System};

/// Steps that are prepared and then timed together.
const CHUNK: usize = 4_096;

/// A key with its value: to be written, or to be read and compared.
#[derive(Debug, Clone, Copy)]
struct Step {
    key: u64,
    value: u64,
    is_read: bool,
}

/// What entries arrive in.
trait Target {
    /// Turns ascending entries into what it can bulk load.
    fn prepare(&mut self, entries: &[(u64, u64)]);

    /// Takes the prepared entries as its content.
    fn bulk_load(&mut self) -> Result<()>;

    /// Does the steps. Returns the first one whose answer is wrong.
    fn work(&mut self, steps: &[Step]) -> Result<Option<Step>>;

    /// Waits until everything is at its place.
    fn settle(&mut self) -> Result<()>;

    /// Adds the figures of its state, and closes it.
    fn finish(self: Box<Self>, measured: &mut Measured) -> Result<()>;
}

/// Measures the phases: time and CPU time of an entry or a read in each, and of an entry in all phases
/// that write, with all merges.
///
/// # Errors
/// Failures of the system; wrong answers; a set whose keys are not integers.
pub fn measure(study: &Study<'_>, phases: Ingest) -> Result<Measured> {
    let mut run = Run {
        study,
        target: target(study)?,
        arrivals: arrivals(study)?,
        random: Random::new(study.setting.seed, 0xb155),
        measured: Measured::default(),
        ingest: Spent::default(),
    };
    let entries = run.arrivals.len();
    let share = |share: f64| (share * entries as f64).round() as usize;
    let preload = share(phases.preload);
    let write = preload + share(phases.write);
    run.preload(preload, phases.by)?;
    run.phase("write", write - preload, |run, at| run.write(preload + at))?;
    run.mixed(write)?;
    run.settle()?;
    run.phase("read", share(phases.read), |run, _| run.read(entries))?;
    let mut measured = run.measured;
    run.target.finish(&mut measured)?;
    Ok(measured)
}

/// The integers in the order of their first arrival.
fn arrivals(study: &Study<'_>) -> Result<Vec<u64>> {
    let keys = &study.records.input.keys;
    let mut came = vec![false; keys.len()];
    let is_first = |rank: &&u32| {
        let came = came.get_mut(**rank as usize);
        came.is_some_and(|came| !std::mem::replace(came, true))
    };
    let ranks = study.records.order.iter().filter(is_first);
    let keys = ranks.map(|rank| {
        let key = keys.get(*rank as usize).try_into();
        key.map(u64::from_be_bytes).map_err(|_| {
            let set = &study.records.input.name;
            Error::Usage(format!(
                "set {set} has no integers: ingestion needs a set of integers"
            ))
        })
    });
    keys.collect()
}

/// The value of a key.
fn value(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Time that was spent on steps.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    wall: Duration,
    cpu: Duration,
}

impl Spent {
    /// Adds the time of some work.
    fn on<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (cpu, start) = (process_cpu_time(), Instant::now());
        let done = work();
        self.wall += start.elapsed();
        self.cpu += process_cpu_time().saturating_sub(cpu);
        done
    }

    fn add(&mut self, other: Spent) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

struct Run<'s> {
    study: &'s Study<'s>,
    target: Box<dyn Target>,
    arrivals: Vec<u64>,
    random: Random,
    measured: Measured,
    /// The time of all phases that write.
    ingest: Spent,
}

impl Run<'_> {
    fn write(&mut self, at: usize) -> Step {
        let key = self.arrivals.get(at).copied().unwrap_or_default();
        Step {
            key,
            value: value(key),
            is_read: false,
        }
    }

    /// Reads one of the first `written` entries.
    fn read(&mut self, written: usize) -> Step {
        let at = self.random.below(written.max(1) as u64) as usize;
        Step {
            is_read: true,
            ..self.write(at)
        }
    }

    fn preload(&mut self, count: usize, by: Preload) -> Result<()> {
        if by == Preload::Inserts || count == 0 {
            return self.phase("preload", count, |run, at| run.write(at));
        }
        let prefix = self.arrivals.iter().take(count);
        let mut entries: Vec<(u64, u64)> = prefix.map(|key| (*key, value(*key))).collect();
        entries.sort_unstable();
        self.target.prepare(&entries);
        let mut spent = Spent::default();
        spent.on(|| self.target.bulk_load())?;
        self.ingest.add(spent);
        self.put("preload", spent, count);
        Ok(())
    }

    /// Writes the rest, each entry with probability one half before the next read of an entry that is
    /// already there.
    fn mixed(&mut self, mut written: usize) -> Result<()> {
        let reads = self.arrivals.len() - written;
        let mut left = [reads, reads];
        self.phase("mixed", 2 * reads, |run, _| {
            let writes_next = run.random.below((left[0] + left[1]).max(1) as u64) < left[0] as u64;
            if writes_next || written == 0 {
                left[0] = left[0].saturating_sub(1);
                written += 1;
                return run.write(written - 1);
            }
            left[1] = left[1].saturating_sub(1);
            run.read(written)
        })
    }

    fn phase(
        &mut self,
        name: &'static str,
        count: usize,
        mut step: impl FnMut(&mut Self, usize) -> Step,
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let progress = self.study.setting.progress;
        let (set, system) = (&self.study.records.input.name, &self.study.name);
        progress.stage(format!("{set}, {system}: {name}"), count);
        let (mut steps, mut spent) = (Vec::with_capacity(CHUNK), Spent::default());
        for first in (0..count).step_by(CHUNK) {
            steps.clear();
            for at in first..count.min(first + CHUNK) {
                steps.push(step(self, at));
            }
            if let Some(wrong) = spent.on(|| self.target.work(&steps))? {
                return Err(self.wrong(wrong));
            }
            progress.advance(steps.len())?;
        }
        if name != "read" {
            self.ingest.add(spent);
        }
        self.put(name, spent, count);
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        let mut spent = Spent::default();
        spent.on(|| self.target.settle())?;
        self.ingest.add(spent);
        self.measured
            .put("settle_time", spent.wall.as_secs_f64(), "s");
        self.put("ingest", self.ingest, self.arrivals.len());
        Ok(())
    }

    fn put(&mut self, name: &str, spent: Spent, count: usize) {
        let mut put = |what, time: Duration| {
            let each = time.as_nanos() as f64 / count.max(1) as f64;
            self.measured
                .put(&format!("{name}_{what}"), each, "ns/operation");
        };
        put("time", spent.wall);
        put("cpu", spent.cpu);
    }

    fn wrong(&self, step: Step) -> Error {
        Error::WrongAnswer {
            store: self.study.name.clone(),
            operation: if step.is_read { "get" } else { "insert" },
            key: step.key.to_string(),
            expected: format!("value {}", step.value),
            found: "another answer".to_string(),
        }
    }
}

fn target(study: &Study<'_>) -> Result<Box<dyn Target>> {
    let System::Index(settings) = &study.build.system else {
        return Ok(Box::new(Stored {
            store: study.open(Reading::Cached)?,
            directory: study.directory.clone(),
            batch: Pairs::default(),
            found: Vec::new(),
        }));
    };
    let spec = &settings.index;
    // Some kinds index strings alone.
    Ok(match registry::in_memory(spec) {
        Ok(index) => Alone::new(index),
        Err(_) => {
            let index = registry::in_memory_texts(spec);
            Alone::new(index.map_err(|error| Error::index(spec, error))?)
        }
    })
}

/// A type of keys that integers are turned into.
trait FromInteger: Key {
    /// The key of an integer, in the order of the integers.
    fn with<T>(integer: u64, with: impl FnOnce(&Self) -> T) -> T;
}

impl FromInteger for u64 {
    fn with<T>(integer: u64, with: impl FnOnce(&u64) -> T) -> T {
        with(&integer)
    }
}

impl FromInteger for [u8] {
    fn with<T>(integer: u64, with: impl FnOnce(&[u8]) -> T) -> T {
        with(&integer.to_be_bytes())
    }
}

/// An index alone, in memory.
struct Alone<K: Key + ?Sized> {
    index: Box<dyn Updatable<K>>,
    prepared: Vec<(K::Owned, u64)>,
}

impl<K: Key + ?Sized> Alone<K> {
    fn new(index: Box<dyn Updatable<K>>) -> Box<Alone<K>> {
        let prepared = Vec::new();
        Box::new(Alone { index, prepared })
    }
}

impl<K: FromInteger + ?Sized> Target for Alone<K> {
    fn prepare(&mut self, entries: &[(u64, u64)]) {
        let entry = |(key, value): &(u64, u64)| (K::with(*key, K::to_key), *value);
        self.prepared = entries.iter().map(entry).collect();
    }

    fn bulk_load(&mut self) -> Result<()> {
        let loaded = self.index.bulk_load(&self.prepared);
        loaded.map_err(|error| Error::index(&self.index.kind(), error))
    }

    fn work(&mut self, steps: &[Step]) -> Result<Option<Step>> {
        for step in steps {
            let is_right = K::with(step.key, |key| match step.is_read {
                true => self.index.get(key) == Some(step.value),
                false => self.index.insert(key, step.value),
            });
            if !is_right {
                return Ok(Some(*step));
            }
        }
        Ok(None)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>, measured: &mut Measured) -> Result<()> {
        let entries = self.index.len() as f64;
        measured.put("entries", entries, "entries");
        let bytes = self.index.size_in_bytes() as f64 / entries.max(1.0);
        measured.put("bytes_an_entry", bytes, "B/entry");
        let depth = self.index.depth();
        measured.put("depth_mean", depth.mean, "levels");
        measured.put("depth_max", depth.max as f64, "levels");
        Ok(())
    }
}

/// A store, which takes each entry by a write of its own.
struct Stored {
    store: Box<dyn Store>,
    directory: std::path::PathBuf,
    batch: Pairs,
    found: Vec<u8>,
}

impl Target for Stored {
    fn prepare(&mut self, entries: &[(u64, u64)]) {
        self.batch.clear();
        for (key, value) in entries {
            self.batch.push(&key.to_be_bytes(), &value.to_be_bytes());
        }
    }

    fn bulk_load(&mut self) -> Result<()> {
        self.store.write(&self.batch)
    }

    fn work(&mut self, steps: &[Step]) -> Result<Option<Step>> {
        for step in steps {
            let (key, value) = (step.key.to_be_bytes(), step.value.to_be_bytes());
            if step.is_read {
                if !self.store.get(&key, &mut self.found)? || self.found != value {
                    return Ok(Some(*step));
                }
                continue;
            }
            self.batch.clear();
            self.batch.push(&key, &value);
            self.store.write(&self.batch)?;
        }
        Ok(None)
    }

    fn settle(&mut self) -> Result<()> {
        self.store.flush()
    }

    fn finish(self: Box<Self>, measured: &mut Measured) -> Result<()> {
        for counter in self.store.counters()?.iter() {
            measured.put(counter.name, counter.value as f64, counter.unit);
        }
        let bytes = directory_bytes(&self.directory)? as f64;
        measured.put("disk_bytes", bytes, "B");
        self.store.close()
    }
}
