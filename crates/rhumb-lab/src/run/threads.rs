//! `threads`: the scaling of gets from one thread to two, compared with that of plain memory reads.
//!
//! Two threads that only read memory are not twice as fast as one either: they share caches, memory
//! channels and perhaps a core. Therefore a control is measured too: as many reads of single cache
//! lines as gets need, each dependent on the one before, over as much memory as the data takes.

use std::hint::black_box;
use std::time::Instant;

use rhumb::{Db, internals};

use super::at_once::at_once;
use super::ours::Ours;
use super::{Arguments, Bench};
use crate::data::{Input, Random, Strings};
use crate::error::{Error, Result};
use crate::results::Subject;
use crate::table;

const NAME: &str = "threads";
const RUNS: usize = 7;
const GETS: usize = 1_000_000;
/// Cache lines that a get fetches from memory: filter, model, block, key, value.
const LINES_A_GET: usize = 5;
const LINE_WORDS: usize = 8;

/// The work of one thread.
enum Work<'a> {
    /// Gets from the store.
    Store { db: &'a Db, keys: &'a Strings },
    /// Reads of plain memory, as many lines as a get of `keys` needs.
    Memory { lines: &'a [u64], gets: usize },
}

impl Work<'_> {
    fn gets(&self) -> usize {
        match self {
            Work::Store { keys, .. } => keys.len(),
            Work::Memory { gets, .. } => *gets,
        }
    }

    fn run(&self, seed: u64) -> Result<()> {
        match self {
            Work::Store { db, keys } => {
                for key in keys.iter() {
                    let value = db.get(key)?;
                    black_box(value.as_ref().and_then(|value| value.last()));
                }
            }
            Work::Memory { lines, gets } => {
                let mut random = Random::new(seed, 0x11e5);
                let count = (lines.len() / LINE_WORDS) as u64;
                let mut line = 0;
                for _ in 0..*gets {
                    // Depends on the last line too. Otherwise the processor would begin the next
                    // five reads early, as it cannot with a get, which has too many instructions.
                    line = (line + random.below(count)) % count;
                    for _ in 0..LINES_A_GET {
                        line = lines[line as usize * LINE_WORDS];
                    }
                }
                black_box(line);
            }
        }
        Ok(())
    }
}

/// What to read, from the store and from plain memory.
struct Place {
    name: &'static str,
    /// Keys for each thread.
    keys: [Strings; 2],
    /// Lines whose first word is the number of another line.
    lines: Vec<u64>,
}

/// Measures, and returns one table for each set.
///
/// # Errors
/// Failures of the store.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let ours = Ours::load(NAME, &input, cache_bytes, arguments, bench)?;
        let places = [
            apart(&input, arguments),
            together(&ours.db, &input, arguments)?,
        ];
        let runs = arguments.runs.unwrap_or(RUNS);
        bench
            .progress
            .stage(format!("{}: threads", input.name), runs * places.len());
        let mut rows = Vec::new();
        for place in &places {
            let figures = measure(&ours.db, place, runs, arguments.seed, bench)?;
            rows.push((place.name, figures));
        }
        text += &print(&ours.subject, &rows, bench);
        ours.end()?;
    }
    Ok(text)
}

/// Each thread reads another half of the keys.
fn apart(input: &Input, arguments: &Arguments) -> Place {
    let half = input.keys.len() / 2;
    let keys = [0, 1].map(|thread| {
        let mut random = Random::new(arguments.seed, 0x7e4d + thread as u64);
        let mut keys = Strings::default();
        for _ in 0..arguments.gets.unwrap_or(GETS) {
            let rank = thread * half + random.below(half as u64) as usize;
            keys.push(input.keys.get(rank));
        }
        keys
    });
    let lines = lines(input.user_bytes() as usize / 64, arguments.seed);
    Place {
        name: "distinct blocks",
        keys,
        lines,
    }
}

/// Both threads read the keys of one block.
fn together(db: &Db, input: &Input, arguments: &Arguments) -> Result<Place> {
    let middle = input.keys.get(input.keys.len() / 2);
    let mut in_block = Vec::new();
    for table in internals::tables(db)? {
        if let Some((_, block)) = table.hold_block(middle)? {
            let keys: Vec<Vec<u8>> = (0..block.entries()).map(|slot| block.key(slot)).collect();
            if keys.iter().any(|key| key == middle) {
                in_block = keys;
            }
        }
    }
    if in_block.is_empty() {
        return Err(Error::Usage("no block has the middle key".to_string()));
    }
    let keys = [0, 1].map(|thread| {
        let mut random = Random::new(arguments.seed, 0x0b10 + thread);
        let mut keys = Strings::default();
        for _ in 0..arguments.gets.unwrap_or(GETS) {
            keys.push(&in_block[random.below(in_block.len() as u64) as usize]);
        }
        keys
    });
    Ok(Place {
        name: "one block",
        keys,
        lines: lines(64, arguments.seed),
    })
}

/// One cycle through all `count` lines in random order (Sattolo's algorithm).
fn lines(count: usize, seed: u64) -> Vec<u64> {
    let count = count.max(2);
    let mut random = Random::new(seed, 0x5a77);
    let mut next: Vec<u32> = (0..count as u32).collect();
    for last in (1..count).rev() {
        next.swap(last, random.below(last as u64) as usize);
    }
    let mut lines = vec![0; count * LINE_WORDS];
    for (line, next) in lines.chunks_exact_mut(LINE_WORDS).zip(next) {
        line[0] = u64::from(next);
    }
    lines
}

/// Nanoseconds a get of all threads together, one figure for each run.
#[derive(Debug, Default)]
struct Figures {
    store: [Vec<f64>; 2],
    memory: [Vec<f64>; 2],
}

fn measure(db: &Db, place: &Place, runs: usize, seed: u64, bench: &Bench) -> Result<Figures> {
    let lines = &place.lines[..];
    let store = [0, 1].map(|thread| Work::Store {
        db,
        keys: &place.keys[thread],
    });
    let memory = [0, 1].map(|thread| Work::Memory {
        lines,
        gets: place.keys[thread].len(),
    });
    let mut figures = Figures::default();
    time(&store, seed)?;
    time(&memory, seed)?;
    for _ in 0..runs {
        for threads in [1, 2] {
            let took = time(&store[..threads], seed)?;
            figures.store[threads - 1].push(took);
            let took = time(&memory[..threads], seed)?;
            figures.memory[threads - 1].push(took);
        }
        bench.progress.advance(1)?;
    }
    Ok(figures)
}

/// Runs each piece of work in a thread of its own. Returns the nanoseconds a get, from the start of
/// the first thread to the end of the last.
fn time(works: &[Work<'_>], seed: u64) -> Result<f64> {
    // Each thread reads the clock itself, since a thread that waits for them might wake up late.
    let timed = works.iter().enumerate().map(|(number, work)| {
        move || {
            let start = Instant::now();
            work.run(seed.wrapping_add(number as u64))?;
            Ok((start, Instant::now()))
        }
    });
    let times: Vec<(Instant, Instant)> = at_once(timed.collect())?;
    let first = times.iter().map(|(start, _)| *start).min();
    let last = times.iter().map(|(_, end)| *end).max();
    let took = last
        .zip(first)
        .map_or(0, |(last, first)| last.duration_since(first).as_nanos());
    let gets: usize = works.iter().map(Work::gets).sum();
    Ok(took as f64 / gets.max(1) as f64)
}

fn print(subject: &Subject, rows: &[(&'static str, Figures)], bench: &mut Bench) -> String {
    let headings = [
        "gets from",
        "store, 1 thread ns",
        "2 threads ns",
        "scaling",
        "memory, 1 thread ns",
        "2 threads ns",
        "scaling",
        "store / memory",
    ];
    let mut table = table::new(&headings.map(str::to_string), 1);
    for (name, figures) in rows {
        let mut row = vec![(*name).to_string()];
        let mut scalings = Vec::new();
        for (what, [one, two]) in [("store", &figures.store), ("memory", &figures.memory)] {
            let pairs = one.iter().zip(two);
            let scaling: Vec<f64> = pairs.map(|(one, two)| one / two).collect();
            for (metric, values, unit, digits) in [
                ("1 thread", one, "ns", 1),
                ("2 threads", two, "ns", 1),
                ("scaling", &scaling, "x", 2),
            ] {
                let metric = format!("{name}, {what}, {metric}");
                let spread = bench.report.put_repeated(subject, &metric, values, unit);
                row.push(table::with_spread(spread, digits));
                if unit == "x" {
                    scalings.push(spread.median);
                }
            }
        }
        let ratio = scalings[0] / scalings[1];
        bench
            .report
            .put(subject, &format!("{name}, scaling ratio"), ratio, "x/x");
        row.push(table::number(Some(ratio), 2));
        table.add_row(row);
    }
    format!(
        "{table}\n\n{}, {}: ns a get of all threads together, median [minimum to maximum] of {} runs. \
         Scaling: throughput of two threads over that of one, for each run. Memory: {LINES_A_GET} lines of 64 B \
         a get, each dependent on the one before, over as many bytes as the data (one block: 4 KiB).\n\n",
        subject.input,
        subject.index,
        rows.first()
            .map_or(0, |(_, figures)| figures.store[0].len()),
    )
}
