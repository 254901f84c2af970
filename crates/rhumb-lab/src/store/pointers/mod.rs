//! Indexes of pointers in pages of 4 KiB: the baselines that *LearnedKV* (experiment 7) compares on-storage indexes
//! by. The lab's value log stands over them (`btree-disk+`), or they hold small values themselves.
//!
//! They are written for measurements. They keep no log: what was not closed, because the process or the machine died,
//! is refused at the next opening. Pages have no checksums. Nodes that
//! deletes empty stay where they are.
//!
//! | name | what it is |
//! |---|---|
//! | `btree-disk` | a B+-tree whose leaves and two lowest inner levels are read from the disk at each operation |
//! | `hybrid-pgm` | a B+-tree in memory that takes each put, over a sorted run on disk, in which a PGM-index finds two pages at most; a put that finds the memory full writes the run anew (Hybrid_PGM_Disk) |
//! | `hybrid-leco` | the same, with the bounds of pages compressed as by LeCo (Hybrid_LeCo_Disk) |
//!
//! The hybrids are those of Zhang, Su and Zhang, "Making In-Memory Learned Indexes Efficient on Disk" (SIGMOD 2024).

mod both;
mod btree;
mod cells;
mod grow;
mod hybrid;
mod leco;
mod merge;
mod node;
mod nodes;
mod page_index;
mod paged;
mod run;
mod run_file;
mod run_walk;
mod run_writer;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

use std::path::Path;

pub use self::hybrid::LEAST_MEMORY;
use self::page_index::Form;
use super::{Settings, Store, Temperature};
use crate::error::{Error, Result};

/// The memory of a hybrid index by default: that of the published ones.
pub const MEMORY_BYTES: u64 = 10 << 20;

/// Opens or creates a `btree-disk` in a directory that exists.
///
/// # Errors
/// If it was not closed, its file cannot be read, or writes are to be durable.
pub fn open_btree(
    directory: &Path,
    settings: &Settings,
    temperature: Temperature,
) -> Result<Box<dyn Store>> {
    refuse_sync(settings)?;
    let access = settings.access(temperature);
    Ok(Box::new(btree::BTreeDisk::open(directory, access)?))
}

/// Opens or creates a `hybrid-pgm` in a directory that exists.
///
/// # Errors
/// As [`open_btree`].
pub fn open_pgm(
    directory: &Path,
    settings: &Settings,
    temperature: Temperature,
) -> Result<Box<dyn Store>> {
    open_hybrid(Form::Pgm, directory, settings, temperature)
}

/// Opens or creates a `hybrid-leco` in a directory that exists.
///
/// # Errors
/// As [`open_btree`].
pub fn open_leco(
    directory: &Path,
    settings: &Settings,
    temperature: Temperature,
) -> Result<Box<dyn Store>> {
    open_hybrid(Form::Leco, directory, settings, temperature)
}

fn open_hybrid(
    form: Form,
    directory: &Path,
    settings: &Settings,
    temperature: Temperature,
) -> Result<Box<dyn Store>> {
    refuse_sync(settings)?;
    let (memory, access) = (settings.memory_bytes, settings.access(temperature));
    Ok(Box::new(hybrid::Hybrid::open(
        directory, form, memory, access,
    )?))
}

fn refuse_sync(settings: &Settings) -> Result<()> {
    match settings.sync {
        true => Err(Error::Usage(
            "btree-disk, hybrid-pgm and hybrid-leco keep no log, so their writes cannot be durable: leave out \
             sync=true"
                .to_string(),
        )),
        false => Ok(()),
    }
}
