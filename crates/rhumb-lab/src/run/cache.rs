//! `cache`: gets over data larger than the cache. Measures the greatest number of bytes in memory
//! compared with the cache's size, and the hit rate compared with a simulated CLOCK over equally
//! many blocks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rhumb::Db;

use super::ours::Ours;
use super::{Arguments, Bench};
use crate::data::{Input, Random};
use crate::error::{Error, Result};
use crate::results::Subject;
use crate::store::block_sizes;
use crate::table;
use crate::workload::zipfian::{Zipfian, fnv1a};

const NAME: &str = "cache";
const GETS: usize = 2_000_000;
/// The interval at which the bytes in memory are read.
const POLL: Duration = Duration::from_millis(1);

/// Measures, and returns one table for each set.
///
/// # Errors
/// Failures of the store.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, _) = set.input(arguments)?;
        let tenth = input.user_bytes() / 10;
        let cache_bytes = arguments.cache_bytes.unwrap_or(tenth);
        let ours = Ours::load(NAME, &input, cache_bytes, arguments, bench)?;
        let blocks = Blocks::of(&ours.db, input.keys.len())?;
        let gets = arguments.gets.unwrap_or(GETS);
        let mut rows = Vec::new();
        let zipf = Zipfian::new(input.keys.len() as u64, 0.99);
        for (name, zipf) in [("uniform", None), ("zipf 0.99", Some(&zipf))] {
            let draws = Draws {
                keys: input.keys.len() as u64,
                zipf,
                gets,
                seed: arguments.seed,
            };
            bench
                .progress
                .stage(format!("{}: {name}", input.name), 2 * gets);
            let mut figures = measure(&ours.db, &input, &draws, bench)?;
            let capacity = (cache_bytes as f64 / blocks.mean_bytes) as usize;
            figures.clock = blocks.simulate(&draws, capacity);
            rows.push((name, figures));
        }
        text += &print(&ours.subject, cache_bytes, &blocks, &rows, bench);
        ours.end()?;
    }
    Ok(text)
}

/// The keys to get: the first half fills the cache, the second half is measured.
struct Draws<'a> {
    keys: u64,
    /// The distribution; uniform if `None`. Its ranks are hashed, so that the frequent keys are
    /// scattered.
    zipf: Option<&'a Zipfian>,
    gets: usize,
    seed: u64,
}

impl Draws<'_> {
    /// The ranks of the keys; those that fill the cache come first.
    fn ranks(&self) -> impl Iterator<Item = usize> {
        let mut random = Random::new(self.seed, 0xcac4e);
        (0..2 * self.gets).map(move |_| match self.zipf {
            Some(zipf) => (fnv1a(zipf.draw(&mut random)) % self.keys) as usize,
            None => random.below(self.keys) as usize,
        })
    }
}

/// The figures of one distribution.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    /// The greatest number of bytes in memory.
    peak: u64,
    /// The share of block look-ups that were hits.
    hits: f64,
    /// The share of hits in the simulation.
    clock: f64,
    /// Nanoseconds a get.
    get: f64,
    /// Block look-ups a get.
    look_ups: f64,
}

fn measure(db: &Db, input: &Input, draws: &Draws<'_>, bench: &Bench) -> Result<Figures> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(db, &done));
        let figures = get_all(db, input, draws, bench);
        done.store(true, Ordering::Release);
        let peak = match watcher.join() {
            Ok(peak) => peak?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok(Figures { peak, ..figures? })
    })
}

/// The greatest number of bytes of blocks in memory until `done`.
fn watch(db: &Db, done: &AtomicBool) -> Result<u64> {
    let mut peak = 0;
    loop {
        let last = done.load(Ordering::Acquire);
        peak = peak.max(db.stats()?.cache_bytes);
        if last {
            return Ok(peak);
        }
        std::thread::sleep(POLL);
    }
}

fn get_all(db: &Db, input: &Input, draws: &Draws<'_>, bench: &Bench) -> Result<Figures> {
    let mut before = db.stats()?.reads;
    let mut start = Instant::now();
    for (number, rank) in draws.ranks().enumerate() {
        if number == draws.gets {
            before = db.stats()?.reads;
            start = Instant::now();
        }
        let key = input.keys.get(rank);
        if db.get(key)?.is_none() {
            return Err(Error::WrongAnswer {
                store: "rhumb".to_string(),
                operation: "get",
                key: key.escape_ascii().to_string(),
                expected: "a value".to_string(),
                found: "no value".to_string(),
            });
        }
        if number % 1_000 == 999 {
            bench.progress.advance(1_000)?;
        }
    }
    let took = start.elapsed().as_nanos() as f64;
    let after = db.stats()?.reads;
    let read = (after.blocks_read - before.blocks_read) as f64;
    let cached = (after.blocks_cached - before.blocks_cached) as f64;
    let gets = draws.gets.max(1) as f64;
    Ok(Figures {
        hits: cached / (cached + read),
        get: took / gets,
        look_ups: (cached + read) / gets,
        ..Figures::default()
    })
}

/// The block of each key.
struct Blocks {
    /// The rank after the last key of each block, ascending.
    ends: Vec<u64>,
    /// The mean number of bytes of a block in memory.
    mean_bytes: f64,
}

impl Blocks {
    /// The blocks of a store that has each of `keys` keys once, in the order of its tables.
    fn of(db: &Db, keys: usize) -> Result<Blocks> {
        let sizes = block_sizes(db)?;
        let mut end = 0;
        let ends: Vec<u64> = sizes
            .iter()
            .map(|size| {
                end += size.entries;
                end
            })
            .collect();
        if end != keys as u64 {
            return Err(Error::Usage(format!(
                "{end} entries for {keys} keys: the store is not merged into one level"
            )));
        }
        let bytes: u64 = sizes.iter().map(|size| size.raw_bytes).sum();
        Ok(Blocks {
            mean_bytes: bytes as f64 / sizes.len().max(1) as f64,
            ends,
        })
    }

    /// The share of hits of CLOCK with `capacity` blocks.
    fn simulate(&self, draws: &Draws<'_>, capacity: usize) -> f64 {
        let mut clock = Clock::new(capacity, self.ends.len());
        let mut hits = 0;
        for (number, rank) in draws.ranks().enumerate() {
            let block = self.ends.partition_point(|end| *end <= rank as u64);
            hits += u64::from(clock.ask(block) && number >= draws.gets);
        }
        hits as f64 / draws.gets.max(1) as f64
    }
}

/// CLOCK as in textbooks: a hand goes round the frames. It removes the mark of frames that were
/// used since its last visit, and takes the first frame without a mark.
struct Clock {
    /// The block in each frame and its mark.
    frames: Vec<(usize, bool)>,
    capacity: usize,
    hand: usize,
    /// The frame of each block.
    places: Vec<Option<u32>>,
}

impl Clock {
    fn new(capacity: usize, blocks: usize) -> Clock {
        Clock {
            frames: Vec::new(),
            capacity: capacity.max(1),
            hand: 0,
            places: vec![None; blocks],
        }
    }

    /// Looks a block up and loads it if it is missing. Returns whether it was there.
    fn ask(&mut self, block: usize) -> bool {
        if let Some(frame) = self.places[block] {
            self.frames[frame as usize].1 = true;
            return true;
        }
        if self.frames.len() < self.capacity {
            self.places[block] = Some(self.frames.len() as u32);
            self.frames.push((block, true));
            return false;
        }
        while self.frames[self.hand].1 {
            self.frames[self.hand].1 = false;
            self.hand = (self.hand + 1) % self.capacity;
        }
        let (evicted, _) = self.frames[self.hand];
        self.places[evicted] = None;
        self.places[block] = Some(self.hand as u32);
        self.frames[self.hand] = (block, true);
        self.hand = (self.hand + 1) % self.capacity;
        false
    }
}

fn print(
    subject: &Subject,
    cache_bytes: u64,
    blocks: &Blocks,
    rows: &[(&'static str, Figures)],
    bench: &mut Bench,
) -> String {
    const MIB: f64 = 1_048_576.0;
    let headings = [
        "gets",
        "peak / cache",
        "hits %",
        "CLOCK hits %",
        "difference, points",
        "look-ups a get",
        "get ns",
    ];
    let mut table = table::new(&headings.map(str::to_string), 1);
    for (name, figures) in rows {
        let peak = figures.peak as f64 / cache_bytes as f64;
        let difference = 100.0 * (figures.hits - figures.clock);
        let cells = [
            ("peak / cache", peak, "B/B", 3),
            ("hits", 100.0 * figures.hits, "%", 2),
            ("CLOCK hits", 100.0 * figures.clock, "%", 2),
            ("difference", difference, "points", 2),
            ("look-ups", figures.look_ups, "blocks/get", 3),
            ("get", figures.get, "ns", 0),
        ];
        let mut row = vec![(*name).to_string()];
        for (metric, value, unit, digits) in cells {
            let metric = format!("{name}, {metric}");
            bench.report.put(subject, &metric, value, unit);
            row.push(table::number(Some(value), digits));
        }
        table.add_row(row);
    }
    format!(
        "{table}\n\n{}, {}: cache {} MiB, {} blocks of {} bytes on average. CLOCK is simulated over whole \
         blocks of average size, one look-up a get.\n\n",
        subject.input,
        subject.index,
        table::number(Some(cache_bytes as f64 / MIB), 1),
        table::number(Some(blocks.ends.len() as f64), 0),
        table::number(Some(blocks.mean_bytes), 0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_spares_blocks_that_were_used_again() {
        let mut clock = Clock::new(3, 10);
        for block in [0, 1, 2] {
            assert!(!clock.ask(block));
        }
        // The hand removes all marks, then takes the first frame.
        assert!(!clock.ask(3) && clock.places[0].is_none());
        assert!(clock.ask(1));
        // Block 1 has a mark and is spared; block 2 is replaced.
        assert!(!clock.ask(4) && clock.ask(1) && clock.places[2].is_none());
    }

    #[test]
    fn clock_keeps_everything_that_fits() {
        let mut clock = Clock::new(100, 100);
        let first = (0..100).filter(|block| clock.ask(*block)).count();
        let second = (0..100).filter(|block| clock.ask(*block)).count();
        assert_eq!((first, second), (0, 100));
    }
}
