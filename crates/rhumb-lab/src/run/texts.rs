//! `texts`: index kinds over strings. Updatable kinds in memory, which store the strings; and
//! indexes of tables, over a sorted array of strings.
//!
//! Inputs are file paths and words. One key in twenty is held out, to be looked up as an absent
//! key.

use rhumb_index::check::SplitMix64;
use rhumb_index::registry::Answers;
use rhumb_index::search::lower_bound_bytes;
use rhumb_index::{Index, IndexError, IndexSpec, KeyMap, Probe, registry};

use super::indexes::measure::window;
use super::updatable::measure::{self, Data, Times};
use super::{Arguments, Bench, spec};
use crate::data::{Strings, paths, runs, texts};
use crate::error::{Error, Result};
use crate::measure::{Spread, thread_cpu_time};
use crate::results::Subject;
use crate::table;

const NAME: &str = "texts";
const KEYS: usize = 1_000_000;
const RUNS: usize = 3;
const GETS: usize = 300_000;
/// One of this many keys is held out.
const HELD_OUT: usize = 20;
/// Keys in a block of fence pointers.
const BLOCK: usize = 16;
/// Indexes of tables, if the user gives none. All kinds that know the exact rank of every key are
/// added.
const MODELS: [&str; 4] = ["fp", "plr", "pgm", "radix-spline"];

/// Sorted strings, and some that are not among them.
struct Source {
    name: &'static str,
    about: String,
    keys: Strings,
    absent: Strings,
}

/// Measures, and returns two tables for each input.
///
/// # Errors
/// Inputs that cannot be read, wrong answers.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let mut text = String::new();
    for source in sources(arguments)? {
        let bytes = source.keys.bytes() as f64 / source.keys.len() as f64;
        text += &in_memory(&source, arguments, bench)?;
        text += &tables(&source, arguments, bench)?;
        text += &format!(
            "{}: {} keys of {bytes:.1} bytes on average, {}.\n\n",
            source.name,
            table::number(Some(source.keys.len() as f64), 0),
            source.about
        );
    }
    Ok(text
        + "Medians, thread CPU time in ns for a key (load, inserts, build), a look-up (random keys, independent of \
           each other) or a walk (a scan of 100 entries); /yard: share of a binary search over the sorted strings in \
           the same run. In memory, B a key includes the strings; random inserts: every other key is loaded, the \
           others are inserted in random order; sorted: the lower half is loaded, the upper half is inserted in \
           ascending order. In tables: B a key includes the key map if the index needs one, and look-ups include the \
           search in the window or block; fp (fallback): too many keys share a number, so fence pointers are used.")
}

fn sources(arguments: &Arguments) -> Result<Vec<Source>> {
    let (real, about) = match &arguments.paths {
        Some(path) => (paths::file(path)?.keys, path.display().to_string()),
        None => (paths::slice()?.keys, "the built-in slice".to_string()),
    };
    let (words, origin) = texts::words(&real);
    let of = |name, about: String, all: Strings| {
        let all = all.pick(&runs(all.len(), arguments.keys.unwrap_or(KEYS)));
        let (mut keys, mut absent) = (Strings::default(), Strings::default());
        for (rank, key) in all.iter().enumerate() {
            match rank % HELD_OUT {
                10 => absent.push(key),
                _ => keys.push(key),
            }
        }
        Source {
            name,
            about,
            keys,
            absent,
        }
    };
    Ok(vec![
        of("paths", about, real),
        of("words", origin.to_string(), words),
    ])
}

/// `gets` random held-out keys, each with the rank of the first key above it.
fn absent_probes(source: &Source, gets: usize, random: &mut SplitMix64) -> Vec<(Box<[u8]>, u64)> {
    let keys: Vec<&[u8]> = source.keys.iter().collect();
    let absent: Vec<&[u8]> = source.absent.iter().collect();
    let draws = (0..gets).filter_map(|_| random.choose(&absent));
    let probe = |key: &&[u8]| {
        let rank = keys.partition_point(|other| other < key);
        (Box::from(*key), rank as u64)
    };
    draws.map(probe).collect()
}

fn in_memory(source: &Source, arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let is_able = |spec: &IndexSpec| spec.kind().is_updatable()[1];
    let all = registry::kinds().iter().map(|kind| spec(kind.name));
    let all = match arguments.indexes.is_empty() {
        true => all.collect::<Result<Vec<_>>>()?,
        false => arguments.indexes.clone(),
    };
    let specs: Vec<IndexSpec> = all.into_iter().filter(is_able).collect();
    let mut random = SplitMix64::new(arguments.seed ^ 0x7e87);
    let gets = arguments.gets.unwrap_or(GETS);
    let absent = absent_probes(source, gets, &mut random);
    let keys: Vec<Box<[u8]>> = source.keys.iter().map(Box::from).collect();
    let data: Data<[u8]> = Data::new(keys, absent, &mut random);
    let sorted: Vec<&[u8]> = source.keys.iter().collect();
    let search = |key: &[u8]| sorted.partition_point(|other| *other < key);
    let headings = [
        "in memory",
        "B a key",
        "load",
        "look-up",
        "/yard",
        "absent",
        "/yard",
        "walk",
        "random ins.",
        "/yard",
        "B a key",
        "sorted ins.",
        "/yard",
        "B a key",
        "depth",
        "deepest",
    ];
    let mut table = table::new(&headings.map(str::to_string), 1);
    let runs = arguments.runs.unwrap_or(RUNS);
    let stage = format!(
        "{}: {} kinds in memory, {runs} runs",
        source.name,
        specs.len()
    );
    bench.progress.stage(stage, runs * specs.len());
    for spec in &specs {
        let name = spec.to_string();
        let (mut shape, mut times) = (measure::Shape::default(), Vec::new());
        for _ in 0..runs {
            let make = || registry::in_memory_texts(spec);
            let once = measure::once(&name, &make, &data, &search)?;
            shape = once.0;
            times.push(once.1);
            bench.progress.advance(1)?;
        }
        let figures = Figures::new(source, "in memory", spec);
        let mut row = vec![name];
        row.push(figures.a_key(bench, "bytes a key", shape.bytes));
        row.extend(figures.time(bench, "load", &times, |times| (times.load, None)));
        row.extend(figures.look_ups(bench, &times));
        row.extend(figures.time(bench, "walk", &times, |times| (times.walk, None)));
        for (at, order) in ["random", "sorted"].into_iter().enumerate() {
            let insert = |times: &Times| (times.insert[at], Some(times.yardstick[0]));
            row.extend(figures.time(bench, &format!("{order} inserts"), &times, insert));
            let metric = format!("bytes a key after {order} inserts");
            row.push(figures.a_key(bench, &metric, shape.after[at]));
        }
        row.push(table::number(Some(shape.depth.mean), 2));
        row.push(table::number(Some(shape.depth.max as f64), 0));
        table.add_row(row);
    }
    Ok(format!("{table}\n\n"))
}

/// Adds figures of one subject.
struct Figures {
    subject: Subject,
    keys: usize,
}

impl Figures {
    fn new(source: &Source, place: &str, spec: &IndexSpec) -> Figures {
        Figures {
            subject: Subject {
                experiment: NAME,
                input: format!("{} {place}", source.name),
                index: spec.to_string(),
            },
            keys: source.keys.len(),
        }
    }

    /// Adds bytes a key, and returns them as text.
    fn a_key(&self, bench: &mut Bench, metric: &str, bytes: usize) -> String {
        let each = bytes as f64 / self.keys as f64;
        bench.report.put(&self.subject, metric, each, "B");
        table::number(Some(each), 2)
    }

    /// Adds times, and returns as text their median and, if there is a yardstick, the median of
    /// their shares of it.
    fn time(
        &self,
        bench: &mut Bench,
        metric: &str,
        times: &[Times],
        of: impl Fn(&Times) -> (f64, Option<f64>),
    ) -> Vec<String> {
        let values: Vec<f64> = times.iter().map(|times| of(times).0).collect();
        let report = &mut bench.report;
        let spread = report.put_repeated(&self.subject, metric, &values, "ns");
        let mut cells = vec![table::number(Some(spread.median), 0)];
        let shares = times.iter().map(&of);
        let shares: Vec<f64> = shares
            .filter_map(|(took, yardstick)| yardstick.map(|yardstick| took / yardstick))
            .collect();
        if !shares.is_empty() {
            cells.push(table::number(Some(Spread::of(&shares).median), 2));
        }
        cells
    }

    /// The same for look-ups of present and of absent keys.
    fn look_ups(&self, bench: &mut Bench, times: &[Times]) -> Vec<String> {
        let present = |times: &Times| (times.look_up, Some(times.yardstick[0]));
        let absent = |times: &Times| (times.absent, Some(times.yardstick[1]));
        let mut cells = self.time(bench, "look-up", times, present);
        cells.extend(self.time(bench, "absent", times, absent));
        cells
    }
}

/// An index of a table, with the keys of the table.
struct Built<'a> {
    index: Box<dyn Index>,
    /// `None` if the index needs no numbers.
    map: Option<&'a KeyMap>,
    keys: &'a [&'a [u8]],
}

impl<'a> Built<'a> {
    fn new(
        spec: &IndexSpec,
        keys: &'a [&'a [u8]],
        map: &'a KeyMap,
    ) -> std::result::Result<Built<'a>, IndexError> {
        let map = spec.kind().needs_number.then_some(map);
        let mut builder = registry::builder(spec)?;
        let mut before: &[u8] = &[];
        for (rank, key) in keys.iter().enumerate() {
            if rank > 0 && rank % BLOCK == 0 {
                builder.cut(before, key);
            }
            builder.push(key, map.map_or(0, |map| map.number(key)))?;
            before = key;
        }
        Ok(Built {
            index: registry::open(builder.finish()?)?,
            map,
            keys,
        })
    }

    /// The rank of a key, or that of the first key above it.
    fn find(&self, key: &[u8]) -> u64 {
        let number = self.map.map_or(0, |map| map.number(key));
        let probe = Probe { key, number };
        let window = window(&*self.index, probe, self.keys.len(), BLOCK as u64);
        lower_bound_bytes(self.keys, window, key) as u64
    }
}

/// The user's indexes; or [`MODELS`] and every kind that knows the exact rank of every key.
fn table_specs(arguments: &Arguments) -> Result<Vec<IndexSpec>> {
    if !arguments.indexes.is_empty() {
        return Ok(arguments.indexes.clone());
    }
    let kinds = registry::kinds().iter();
    let exact = kinds.filter(|kind| kind.answers == Answers::Exact);
    let names = MODELS.into_iter().chain(exact.map(|kind| kind.name));
    names.map(spec).collect()
}

/// The keys of a table, and the present and absent keys to look up.
struct Table<'a> {
    keys: Vec<&'a [u8]>,
    map: KeyMap,
    probes: [Vec<(Box<[u8]>, u64)>; 2],
}

impl<'a> Table<'a> {
    fn new(source: &'a Source, arguments: &Arguments) -> Table<'a> {
        let mut random = SplitMix64::new(arguments.seed ^ 0x7e88);
        let gets = arguments.gets.unwrap_or(GETS);
        let keys: Vec<&[u8]> = source.keys.iter().collect();
        let absent = absent_probes(source, gets, &mut random);
        let ranks = (0..gets).map(|_| random.below(keys.len() as u64));
        let present = ranks.map(|rank| (Box::from(keys[rank as usize]), rank));
        Table {
            probes: [present.collect(), absent],
            map: source.keys.iter().collect(),
            keys,
        }
    }

    /// Bytes of an index, its key map included, and its times; `None` if it cannot serve the keys.
    fn once(&self, spec: &IndexSpec) -> Result<Option<(usize, Times)>> {
        let name = spec.to_string();
        let start = thread_cpu_time();
        let built = match Built::new(spec, &self.keys, &self.map) {
            Ok(built) => built,
            Err(IndexError::Unfit { .. }) => return Ok(None),
            Err(error) => return Err(Error::index(&name, error)),
        };
        let build = thread_cpu_time().saturating_sub(start);
        let search = |key: &[u8]| self.keys.partition_point(|other| *other < key) as u64;
        let find = |key: &[u8]| built.find(key);
        let mut took = [[0.0; 2]; 2];
        for (took, probes) in took.iter_mut().zip(&self.probes) {
            took[0] = measure::time("binary search", probes, |rank| rank, search)?;
            took[1] = measure::time(&name, probes, |rank| rank, find)?;
        }
        let [present, absent] = took;
        let times = Times {
            load: build.as_nanos() as f64 / self.keys.len() as f64,
            look_up: present[1],
            absent: absent[1],
            yardstick: [present[0], absent[0]],
            ..Times::default()
        };
        let map = built.map.map_or(0, KeyMap::size_in_bytes);
        Ok(Some((built.index.size_in_bytes() + map, times)))
    }
}

fn tables(source: &Source, arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let specs = table_specs(arguments)?;
    let keys = Table::new(source, arguments);
    let headings = [
        "in tables",
        "B a key",
        "build",
        "look-up",
        "/yard",
        "absent",
        "/yard",
    ];
    let mut table = table::new(&headings.map(str::to_string), 1);
    let runs = arguments.runs.unwrap_or(RUNS);
    let stage = format!(
        "{}: {} indexes of tables, {runs} runs",
        source.name,
        specs.len()
    );
    bench.progress.stage(stage, runs * specs.len());
    for spec in &specs {
        let (mut bytes, mut times) = (0, Vec::new());
        for _ in 0..runs {
            if let Some(once) = keys.once(spec)? {
                bytes = once.0;
                times.push(once.1);
            }
            bench.progress.advance(1)?;
        }
        let figures = Figures::new(source, "in tables", spec);
        let mut row = vec![spec.to_string()];
        if times.is_empty() {
            bench.report.put(&figures.subject, "fallback", 1.0, "");
            row.push("fp (fallback)".to_string());
        } else {
            row.push(figures.a_key(bench, "bytes a key", bytes));
            row.extend(figures.time(bench, "build", &times, |times| (times.load, None)));
            row.extend(figures.look_ups(bench, &times));
        }
        table.add_row(row);
    }
    Ok(format!("{table}\n\n"))
}
