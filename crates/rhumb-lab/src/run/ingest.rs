//! `ingest`: keys arrive in orders of any sortedness in stores and in indexes alone (BLISS).

use super::columns::{self, MIB, Row};
use super::{Arguments, Bench};
use crate::contest::rounds;
use crate::data::Disorder;
use crate::error::Result;
use crate::experiment::{Data, Records, Setting, ingest};
use crate::results::{Measured, Report, Subject};
use crate::store::{Settings, System};

const NAME: &str = "ingest";
/// The arrivals, if the user gives no number.
const KEYS: usize = 1_000_000;
/// The systems, if the user names none.
const SYSTEMS: [&str; 4] = ["rhumb", "index btree", "index alex", "index lipp"];
/// The set of integers, if the user names none.
const SET: &str = "counting";

/// A system with its text, which names it.
struct Named {
    text: String,
    system: System,
}

/// Measures, and returns a table for each order of arrival.
///
/// # Errors
/// Systems that cannot be parsed; sets that are no integers; failures and wrong answers of systems.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let systems = systems(arguments)?;
    let set = arguments.arriving.as_deref().unwrap_or(SET);
    let mut text = String::new();
    for order in orders(arguments, set) {
        let data = Data {
            order,
            ..Data::new(set, arguments.keys.unwrap_or(KEYS))
        };
        let name = match order {
            Some(order) => format!("{set} {order}"),
            None => set.to_string(),
        };
        measure(&systems, &data, &name, arguments, bench)?;
        text += &print(&systems, &name, &bench.report);
    }
    Ok(text)
}

fn systems(arguments: &Arguments) -> Result<Vec<Named>> {
    let texts: Vec<String> = match arguments.systems.as_slice() {
        [] => SYSTEMS.map(str::to_string).to_vec(),
        named => named.to_vec(),
    };
    let named = texts.into_iter().map(|text| {
        let system = System::parse(&text, &Settings::default())?;
        Ok(Named { text, system })
    });
    named.collect()
}

/// The user's orders. Without them, keys that are read from a file arrive in the order of the file,
/// and others sorted, nearly sorted and scrambled.
fn orders(arguments: &Arguments, set: &str) -> Vec<Option<Disorder>> {
    match (arguments.orders.as_slice(), set.contains(':')) {
        ([], true) => vec![None],
        ([], false) => {
            let shares = [(0.0, 0.0), (1.0, 1.0), (10.0, 10.0), (100.0, 100.0)];
            shares.map(|(k, l)| Some(Disorder::new(k, l))).to_vec()
        }
        (orders, _) => orders.iter().copied().map(Some).collect(),
    }
}

fn measure(
    systems: &[Named],
    data: &Data,
    name: &str,
    arguments: &Arguments,
    bench: &mut Bench,
) -> Result<()> {
    let mut all: Vec<Measured> = systems.iter().map(|_| Measured::default()).collect();
    let count = arguments.runs.unwrap_or(1) as u32;
    for round in rounds(systems.len(), count, arguments.seed) {
        let setting = Setting::alone(round.seed, &bench.directory, &bench.progress);
        let stage = format!("{name}: keys of round {}", round.number);
        bench.progress.stage(stage, 1);
        let records = Records::of(data, round.seed)?;
        for at in round.order {
            all[at].add_round(ingest(&setting, &records, &systems[at].system)?);
        }
    }
    for (named, measured) in systems.iter().zip(all) {
        bench.report.of(&subject(named, name)).add_round(measured);
    }
    Ok(())
}

fn subject(named: &Named, input: &str) -> Subject {
    Subject {
        experiment: NAME,
        input: input.to_string(),
        index: named.text.clone(),
    }
}

const ROWS: &[Row] = &[
    ("preload_time", "preload, ns/entry", 1.0, 0),
    ("write_time", "write, ns/entry", 1.0, 0),
    ("mixed_time", "writes and reads, ns/operation", 1.0, 0),
    ("read_time", "read, ns", 1.0, 0),
    ("ingest_time", "all writes, ns/entry", 1.0, 0),
    ("ingest_cpu", "all writes, CPU ns/entry", 1.0, 0),
    ("flushes", "flushes", 1.0, 0),
    ("merges", "merges", 1.0, 0),
    ("trivial_moves", "tables moved or placed", 1.0, 0),
    ("flushed_bytes", "flushed, MiB", MIB, 1),
    ("merged_bytes", "merged, MiB", MIB, 1),
    ("stalls", "stalls", 1.0, 0),
    ("disk_bytes", "files, MiB", MIB, 1),
    ("bytes_an_entry", "memory, B/entry", 1.0, 1),
    ("depth_max", "levels", 1.0, 0),
];

fn print(systems: &[Named], name: &str, report: &Report) -> String {
    let subjects: Vec<Subject> = systems.iter().map(|named| subject(named, name)).collect();
    let subjects: Vec<&Subject> = subjects.iter().collect();
    let first = systems.first().map_or("", |named| &named.text);
    let table = columns::table(report, name, &subjects, first, ROWS);
    format!(
        "{table}\n\nEntries of 8 + 8 bytes, one by one; indexes alone take 40 % by a bulk load first. In round brackets: ratio \
         to the first system. Then a quarter as many reads of random keys; each answer is checked. CPU time is that of \
         all threads until all merges are done.\n\n"
    )
}
