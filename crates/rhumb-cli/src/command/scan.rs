//! `rhumb scan`

use std::io::Write;
use std::ops::Bound;

use clap::Args;
use rhumb::Value;
use serde_json::json;

use crate::arguments::{self, Bounds, Bytes, InKeyspace, Store};
use crate::failure::Failure;
use crate::{escape, output};

/// Print keys and values in key order, one entry on each line: key, tab, value.
///
/// Tabs, line ends, other control characters, backslashes and bytes that are not valid UTF-8 are
/// written as \t, \n, \r, \\ and \xHH; `rhumb load --format tsv` reads these lines.
#[derive(Debug, Args)]
pub struct Scan {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    keyspace: InKeyspace,
    #[command(flatten)]
    bounds: Bounds,
    /// Print only keys with this prefix.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["from", "to"],
          value_parser = arguments::bytes())]
    prefix: Option<Bytes>,
    /// Print from the last key to the first.
    #[arg(long)]
    reverse: bool,
    /// Print at most N entries.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Print {"key": ..., "value": ...} on each line; both strings with backslash escapes.
    #[arg(long)]
    json: bool,
}

impl Scan {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let db = self.store.read()?;
        let keyspace = self.keyspace.open(&db)?;
        let entries = match (self.prefix, self.bounds.from, self.bounds.to) {
            (Some(Bytes(prefix)), _, _) => keyspace.prefix(prefix)?,
            (None, from, to) => {
                let from = from.map_or(Bound::Unbounded, |k| Bound::Included(k.0));
                let to = to.map_or(Bound::Unbounded, |k| Bound::Excluded(k.0));
                keyspace.range::<Vec<u8>>((from, to))?
            }
        };
        let limit = self.limit.unwrap_or(u64::MAX);
        match self.reverse {
            true => print(entries.rev(), limit, self.json),
            false => print(entries, limit, self.json),
        }
    }
}

type Entry<'db> = rhumb::Result<(rhumb::Key, Value<'db>)>;

/// Prints up to `limit` entries; entries read before an error are printed too.
fn print<'db>(
    entries: impl Iterator<Item = Entry<'db>>,
    limit: u64,
    json: bool,
) -> Result<(), Failure> {
    let mut out = output::open();
    for entry in entries.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        let (key, value) = match entry {
            Ok(entry) => entry,
            Err(error) => {
                output::finish(out)?;
                return Err(error.into());
            }
        };
        if json {
            let (key, value) = (escape::encode(&key), escape::encode(&value));
            writeln!(out, "{}", json!({"key": key, "value": value}))?;
            continue;
        }
        escape::write(&mut out, &key)?;
        out.write_all(b"\t")?;
        escape::write(&mut out, &value)?;
        out.write_all(b"\n")?;
    }
    output::finish(out)
}
