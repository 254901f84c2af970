//! `rhumb scan`

use std::io::{BufWriter, StdoutLock, Write};
use std::ops::Bound;

use clap::Args;
use rhumb::Iter;
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
        let mut printer = Printer {
            out: output::open(),
            left: self.limit.unwrap_or(u64::MAX),
            json: self.json,
        };
        // Entries read before an error are printed too.
        let read = match self.reverse {
            true => printer.print_backwards(entries),
            false => printer.print_forwards(entries),
        };
        output::finish(printer.out)?;
        read
    }
}

struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    /// How many more entries are printed.
    left: u64,
    json: bool,
}

impl Printer {
    fn print_forwards(&mut self, mut entries: Iter<'_>) -> Result<(), Failure> {
        while self.left > 0
            && let Some(block) = entries.next_block()?
        {
            for (key, value) in block.iter() {
                self.print(key, value)?;
            }
        }
        Ok(())
    }

    fn print_backwards(&mut self, entries: Iter<'_>) -> Result<(), Failure> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        for entry in entries.rev().take(left) {
            let (key, value) = entry?;
            self.print(&key, &value)?;
        }
        Ok(())
    }

    /// Prints an entry, unless enough were printed.
    fn print(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let out = &mut self.out;
        if self.json {
            let (key, value) = (escape::encode(key), escape::encode(value));
            writeln!(out, "{}", json!({"key": key, "value": value}))?;
            return Ok(());
        }
        escape::write(out, key)?;
        out.write_all(b"\t")?;
        escape::write(out, value)?;
        out.write_all(b"\n")?;
        Ok(())
    }
}
