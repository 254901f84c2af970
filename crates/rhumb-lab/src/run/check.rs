//! `check`: compares the answers of every index kind with the correct ones, over every distribution
//! of keys in the index library.

use rhumb_index::check::{Case, CheckError, Counts, SplitMix64, check, distributions};
use rhumb_index::{IndexError, IndexSpec, registry};

use super::{Arguments, Bench, indexes};
use crate::error::{Error, Result};
use crate::results::Subject;
use crate::table;

const NAME: &str = "check";
const KEYS: usize = 20_000;
/// Keys in a block of fence pointers.
const BLOCK: usize = 32;

/// The results of one index over all distributions.
#[derive(Debug, Default)]
struct Checked {
    served: u64,
    lookups: u64,
    widest: u64,
    index_bytes: u64,
    keys: u64,
    /// Distributions on which it fell back to fence pointers.
    fallbacks: Vec<&'static str>,
}

/// Checks, and returns the table.
///
/// # Errors
/// [`Error::Broken`] for the first wrong answer or window that is too wide.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let all = registry::kinds().iter().map(|kind| kind.name);
    let specs = indexes(arguments, all)?;
    let steps = specs.len() * distributions::all().count();
    let mut lines = table::new(
        &[
            "index",
            "sets",
            "look-ups",
            "widest",
            "promised",
            "B/key",
            "fell back on",
        ]
        .map(str::to_string),
        1,
    );
    bench.progress.stage("check".to_string(), steps);
    for spec in &specs {
        let checked = over_all(spec, arguments, bench)?;
        let subject = Subject {
            experiment: NAME,
            input: "distributions".to_string(),
            index: spec.to_string(),
        };
        let bytes = checked.index_bytes as f64 / checked.keys.max(1) as f64;
        bench
            .report
            .put(&subject, "lookups", checked.lookups as f64, "look-ups");
        bench
            .report
            .put(&subject, "widest", checked.widest as f64, "keys");
        bench.report.put(&subject, "bytes_a_key", bytes, "B/key");
        let promised = spec.promised_window();
        lines.add_row([
            spec.to_string(),
            checked.served.to_string(),
            table::number(Some(checked.lookups as f64), 0),
            checked.widest.to_string(),
            promised.map_or("-".to_string(), |window| window.to_string()),
            table::number(Some(bytes), 3),
            checked.fallbacks.join(" "),
        ]);
    }
    Ok(format!(
        "{lines}\n\nEvery window contained its key and was at most as wide as promised, for present keys, their \
         neighbours, random absent keys and both ends. fell back on: sets in which too many keys share a \
         number, or which the kind cannot serve within its boundary. B/key without key maps."
    ))
}

fn over_all(spec: &IndexSpec, arguments: &Arguments, bench: &Bench) -> Result<Checked> {
    let mut checked = Checked::default();
    for distribution in distributions::all() {
        let mut random = SplitMix64::new(arguments.seed);
        let keys = distribution.keys(&mut random, arguments.keys.unwrap_or(KEYS));
        let case = Case {
            random: keys.len(),
            ..Case::new(&keys, spec, BLOCK)
        };
        match check(&case, random.next_u64()) {
            Ok(counts) => checked.add(&counts, keys.len()),
            Err(CheckError::Index(IndexError::Unfit { .. })) => {
                checked.fallbacks.push(distribution.name);
            }
            Err(error) => return Err(Error::Broken(format!("{}: {error}", distribution.name))),
        }
        bench.progress.advance(1)?;
    }
    Ok(checked)
}

impl Checked {
    fn add(&mut self, counts: &Counts, keys: usize) {
        self.served += 1;
        self.lookups += counts.lookups;
        self.widest = self.widest.max(counts.widest);
        self.index_bytes += counts.index_bytes as u64;
        self.keys += keys as u64;
    }
}
