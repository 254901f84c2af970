//! `kinds`: compares fence pointers with every kind of model, on generated and on real keys.

use rhumb::IndexSpec;
use rhumb_index::registry::{self, Answers};

use super::reads::Reads;
use super::{Arguments, Bench, file_name, indexes};
use crate::data::{Input, Sizes, decimal, paths, runs, sosd};
use crate::error::Result;
use crate::measure::clock_cost;
use crate::results::Report;
use crate::store::{Settings, System};
use crate::table;

const NAME: &str = "kinds";
const KEYS: usize = 500_000;
const VALUE_BYTES: Sizes = Sizes::Fixed(100);
const HELD_OUT: usize = 10_000;

/// Small tables, so that there are several even for the smaller input.
const TABLE: &str = "size=4MiB";
const WRITE_BUFFER_BYTES: u64 = 16 << 20;
const CACHE_BYTES: u64 = 512 << 20;

/// Measures, and returns the table.
///
/// # Errors
/// See [`Reads::measure`]; inputs that cannot be read.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let reads = Reads {
        experiment: NAME,
        gets: 200_000,
        two_thread_gets: 0,
        scans_of_10: 50_000,
        scans_of_100: 20_000,
        cold_gets: 0,
    };
    let table = match &arguments.table {
        Some(table) => table.clone(),
        None => TABLE.parse()?,
    };
    let models = registry::kinds().iter();
    let models = models.filter(|kind| kind.answers != Answers::Blocks);
    let models = models.map(|kind| kind.name);
    let indexes = indexes(arguments, ["fp"].into_iter().chain(models))?;
    let candidate = |index: &IndexSpec| {
        System::Rhumb(Settings {
            index: index.clone(),
            table: table.clone(),
            cache_bytes: arguments.cache_bytes.unwrap_or(CACHE_BYTES),
            write_buffer_bytes: WRITE_BUFFER_BYTES,
            ..Settings::default()
        })
    };
    let systems: Vec<System> = indexes.iter().map(candidate).collect();
    for input in inputs(arguments)? {
        reads
            .for_input(&input, arguments)
            .measure(&systems, &input, arguments, bench)?;
    }
    Ok(print(&bench.report))
}

fn inputs(arguments: &Arguments) -> Result<Vec<Input>> {
    let (seed, keys) = (arguments.seed, arguments.keys.unwrap_or(KEYS));
    let held_out = HELD_OUT.min(keys / 20);
    let generated = decimal::keys(keys + held_out, seed);
    let generated = Input::with_random_values("decimal", &generated, VALUE_BYTES, held_out, seed);
    let mut inputs = vec![generated];
    let mut real = match &arguments.paths {
        Some(path) => paths::file(path)?,
        None => paths::slice()?,
    };
    if let Some(keys) = arguments.keys {
        real = real.pick(&runs(real.len(), keys));
    }
    inputs.push(Input::with_own_values("paths", &real, HELD_OUT, seed));
    for path in &arguments.sosd {
        let all = sosd::file(path)?;
        let some = all.pick(&runs(all.len(), keys));
        let name = file_name(path);
        inputs.push(Input::with_random_values(
            &name,
            &some,
            VALUE_BYTES,
            HELD_OUT,
            seed,
        ));
    }
    Ok(inputs)
}

fn print(report: &Report) -> String {
    let headings = [
        "input",
        "index",
        "get",
        "absent",
        "scan 10",
        "scan 100",
        "index B/key",
        "filter B/key",
        "blocks/get",
        "ranks/get",
        "fallback",
        "load s",
        "disk MiB",
    ];
    let mut table = table::new(&headings.map(str::to_string), 2);
    for subject in report
        .subjects()
        .into_iter()
        .filter(|s| s.experiment == NAME)
    {
        let get = |metric: &str| report.get(subject, metric);
        let latency = |operation: &str| {
            let quantile = |q| table::number(get(&format!("{operation}_{q}")), 0);
            format!("{} / {}", quantile("p50"), quantile("p99"))
        };
        let sum = |a, b| Some(get(a)? + get(b)?);
        table.add_row([
            subject.input.clone(),
            subject.index.clone(),
            latency("get"),
            latency("absent"),
            latency("scan10"),
            latency("scan100"),
            table::number(sum("index_bytes_a_key", "directory_bytes_a_key"), 3),
            table::number(get("filter_bytes_a_key"), 2),
            table::number(get("get_blocks"), 2),
            table::number(get("get_window_ranks"), 1),
            table::number(get("fallback_share").map(|share| share * 100.0), 0) + " %",
            table::number(get("compacted_wall"), 1),
            table::number(get("disk_bytes").map(|bytes| bytes / 1_048_576.0), 1),
        ]);
    }
    format!(
        "{table}\n\nLatencies: median / p99 in ns, one thread, warm; reading the clock is included and takes \
         {} ns.\nindex B/key is index and directory; load s includes compaction.",
        clock_cost()
    )
}
