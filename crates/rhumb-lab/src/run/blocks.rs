//! `blocks`: how many blocks a get reads, and how full they are, under each way of cutting tables.

use rhumb::TableSpec;

use super::columns::{MIB, Row};
use super::peers::table;
use super::reads::Reads;
use super::{Arguments, Bench, spec};
use crate::data::sets::SetSpec;
use crate::data::{Input, Sizes, Strings, texts};
use crate::error::Result;
use crate::measure::clock_cost;
use crate::store::{Settings, System};

const NAME: &str = "blocks";
const KEYS: usize = 1_000_000;
const HELD_OUT: usize = 100_000;
const CACHE_BYTES: u64 = 1 << 30;

/// DobLIX's sets of integers with the published values of 64 bytes, and its sets of strings with their own.
const SETS: [(&str, Option<Sizes>); 10] = [
    ("uni", INTEGERS),
    ("lognormal", INTEGERS),
    ("books-like", INTEGERS),
    ("fb-like", INTEGERS),
    ("osm-like", INTEGERS),
    ("wiki-like", INTEGERS),
    ("udb", None),
    ("zippydb", None),
    ("up2x", None),
    ("paths", None),
];
const TEXT_VALUES: Sizes = Sizes::Fixed(16);
const INTEGERS: Option<Sizes> = Some(Sizes::Fixed(64));

/// Indexes and how their tables are cut; of each index once.
const CUTS: [(&str, &str); 6] = [
    ("fp", "bytes(4096)"),
    ("pla", "dual(4096)"),
    ("pra", "dual(4096)"),
    ("rss", "dual(4096)"),
    ("rss:over=keys", "dual(4096)"),
    ("plr", "predicted"),
];

const ROWS: &[Row] = &[
    ("get_blocks_a_probe", "blocks a get", 1.0, 4),
    ("absent_blocks_a_probe", "blocks a false positive", 1.0, 3),
    ("get_mean", "get, mean ns", 1.0, 0),
    ("get_p50", "get, median ns", 1.0, 0),
    ("scan10_mean", "scan 10, mean ns", 1.0, 0),
    ("scan100_mean", "scan 100, mean ns", 1.0, 0),
    ("blocks", "blocks", 1.0, 0),
    ("block_bytes_mean", "bytes a block, mean", 1.0, 0),
    ("block_bytes_max", "bytes a block, most", 1.0, 0),
    ("disk_bytes", "disk MiB", MIB, 2),
    ("index_bytes", "index KiB", 1024.0, 1),
    ("directory_bytes", "directory KiB", 1024.0, 1),
    ("fallback_share", "share that fell back", 1.0, 2),
];

/// Measures, and returns one table for each set.
///
/// # Errors
/// See [`Reads::measure`]; sets that cannot be read, such as words where there is no list.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let reads = Reads {
        experiment: NAME,
        gets: KEYS,
        two_thread_gets: 0,
        scans_of_10: 50_000,
        scans_of_100: 20_000,
        cold_gets: 0,
    };
    let systems = systems(arguments)?;
    let mut text = String::new();
    for input in inputs(arguments) {
        let input = input?;
        reads
            .for_input(&input, arguments)
            .measure(&systems, &input, arguments, bench)?;
        text += &table(&bench.report, NAME, &input, ROWS);
        text += "\n";
    }
    text += &format!(
        "A false positive is a get of an absent key that the filter lets pass. Reading the clock takes {} ns of every latency.\n",
        clock_cost()
    );
    Ok(text)
}

/// The sets, each made when it is its turn: those above, UUIDs, and the words of this system, if it has a list.
fn inputs(arguments: &Arguments) -> impl Iterator<Item = Result<Input>> {
    let (keys, seed) = (arguments.keys.unwrap_or(KEYS), arguments.seed);
    let held_out = HELD_OUT.min(keys / 20);
    let named = SETS.into_iter().map(move |(set, values)| {
        let set: SetSpec = set.parse()?;
        set.input(keys, values, held_out, seed)
    });
    let text = move |name, texts: &Strings| {
        let held_out = HELD_OUT.min(texts.len() / 20);
        Input::with_random_values(name, texts, TEXT_VALUES, held_out, seed)
    };
    let uuids = std::iter::once_with(move || Ok(text("uuids", &texts::uuids(keys, seed))));
    let words = texts::dictionary().map(|(words, _)| Ok(text("words", &words)));
    named.chain(uuids).chain(words)
}

fn systems(arguments: &Arguments) -> Result<Vec<System>> {
    let settings = |index: &str, cut: &str| -> Result<Settings> {
        let table: TableSpec = format!("partition={cut},filter=10").parse()?;
        Ok(Settings {
            index: spec(index)?,
            table,
            cache_bytes: arguments.cache_bytes.unwrap_or(CACHE_BYTES),
            ..Settings::default()
        })
    };
    let mut systems = Vec::new();
    for peer in &arguments.peers {
        systems.push(System::Peer(*peer, settings("fp", "bytes(4096)")?));
    }
    for (index, cut) in CUTS {
        systems.push(System::Rhumb(settings(index, cut)?));
    }
    Ok(systems)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{arguments, run};

    #[test]
    fn a_get_reads_one_block_however_tables_are_cut() {
        let (report, text) = run("blocks", &arguments(2_000));
        let subjects = report.subjects();
        assert!(subjects.len() >= 11 * 6, "eleven sets and perhaps words");
        for subject in subjects {
            let get = |metric: &str| report.get(subject, metric).expect(metric);
            assert_eq!(get("get_blocks_a_probe"), 1.0, "{subject:?}");
            // Of the raw bytes that were asked for, and their header.
            assert!(subject.index == "plr" || get("block_bytes_max") <= 4_096.0 + 16.0);
        }
        for named in ["rss:over=keys", "zippydb", "blocks a false positive"] {
            assert!(text.contains(named), "{named}");
        }
    }
}
