//! The steps of one get as text.

use std::fmt;

use super::lookup::Lookup;
use super::view::View;
use crate::entry::{Content, EntryKind, Sequence};
use crate::error::Result;
use crate::memtable::Memtable;
use crate::sync::Arc;
use crate::table::BlockSource;
use crate::version::{InRun, LEVELS};

/// The steps and the result of one get.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The steps, one line each.
    pub steps: Vec<String>,
    /// The value of the key, if there is one.
    pub value: Option<Vec<u8>>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        match &self.value {
            Some(value) => write!(f, "found a value of {} bytes", value.len()),
            None => write!(f, "no value"),
        }
    }
}

/// Asks the memtables and tables in the same order as [`Lookup::run`] does where no filter sends it to the learned tier at
/// once, and describes each step.
pub(in crate::db) fn explain(
    view: &View,
    keyspace: u32,
    key: &[u8],
    visible: Sequence,
) -> Result<Explanation> {
    let mut steps = Vec::new();
    let mut lookup = Lookup::new(key, visible);
    ask_all(view, &mut lookup, visible, &mut steps)?;
    let answer = lookup.take_answer();
    let value = lookup.resolve(view, keyspace, answer)?;
    Ok(Explanation {
        steps,
        value: value.map(|value| value.to_vec()),
    })
}

fn ask_all(
    view: &View,
    lookup: &mut Lookup<'_>,
    visible: Sequence,
    steps: &mut Vec<String>,
) -> Result<()> {
    let key = lookup.key();
    steps.push(format!(
        "look up {} bytes as of sequence {visible}",
        key.len()
    ));
    for (n, memtable) in view.memtables().enumerate() {
        lookup.ask_memtable(memtable);
        let is_held = |held: &Arc<Memtable>| Arc::ptr_eq(held, memtable);
        let name = match n {
            0 => "active write buffer",
            _ if view.held.as_ref().is_some_and(is_held) => "kept back by flushes",
            _ => "waiting write buffer",
        };
        steps.push(format!(
            "{name} ({} entries): {}",
            memtable.entries(),
            verdict(lookup)
        ));
        if lookup.decided() {
            return Ok(());
        }
    }
    for level in 0..LEVELS {
        let runs = view.levels.runs(level);
        if runs.is_empty() {
            continue;
        }
        let asked: Vec<_> = runs.iter().filter_map(|run| run.table_for(key)).collect();
        steps.push(format!(
            "level {level}: {} of its {} tables may hold the key (number of runs: {})",
            asked.len(),
            view.levels.level(level).count(),
            runs.len()
        ));
        for table in asked {
            steps.push(ask(table, lookup)?);
            if level > 0 && lookup.decided() {
                break;
            }
        }
        if lookup.decided() {
            break;
        }
    }
    Ok(())
}

/// Looks the key up in one table and describes what its filter, index and blocks did.
fn ask(table: InRun<'_>, lookup: &mut Lookup<'_>) -> Result<String> {
    let mut source = BlockSource::new(true);
    lookup.ask_table(table, &mut source, false)?;
    let trace = &source.trace;
    let meta = &table.meta;
    let mut line = format!(
        "  table {} ({}, {} entries): ",
        meta.number, meta.index_kind, meta.entries
    );
    if trace.filter_negative > 0 {
        line += "the filter excludes the key";
        return Ok(line);
    }
    if trace.filter_positive > 0 {
        line += "the filter admits the key, ";
    }
    let ranks = trace.window_ranks;
    if ranks > 0 {
        line += &format!("window of {ranks} ranks, ");
    }
    line += &format!(
        "blocks: {} read, {} in memory; {}",
        trace.blocks_read,
        trace.blocks_cached,
        verdict(lookup)
    );
    Ok(line)
}

fn verdict(lookup: &Lookup<'_>) -> String {
    match lookup.state() {
        (Some(version), covered) if version.sequence >= covered => {
            let sequence = version.sequence;
            match &version.content {
                Content::Apart(pointer) => format!("value of sequence {sequence}: {pointer}"),
                _ if version.kind == EntryKind::Delete => format!("deleted by sequence {sequence}"),
                _ => format!("value of sequence {sequence}"),
            }
        }
        (_, covered) if covered > 0 => format!("in a range deleted by sequence {covered}"),
        _ => "nothing".to_string(),
    }
}
