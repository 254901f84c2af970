//! Neighbouring tables whose models are made at a time.

use std::convert::Infallible;

use super::slices::Slices;
use super::{file, join};
use crate::entry::hash_key;
use crate::options::Granularity;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, OnceLock, Opened};
use crate::version::Table;

/// Models over neighbouring tables. The callers of its methods have the tables.
#[derive(Debug)]
pub(super) struct Chunk {
    /// A hash of the tables' numbers and ids: two chunks of other tables with the same one would cost time.
    tables: u64,
    granularity: Granularity,
    /// `None` if there is no model.
    slices: Opened<Option<Slices>>,
    /// A trained model in place of one that was lost.
    renewed: OnceLock<Slices>,
    /// Whether somebody tries to renew it, or has tried.
    is_tried: AtomicBool,
}

impl Chunk {
    pub fn new(tables: &[Arc<Table>], granularity: Granularity) -> Self {
        let of_one = |table: &Arc<Table>| [table.meta.number, table.meta.table_id];
        let all = tables.iter().flat_map(of_one).flat_map(u64::to_le_bytes);
        Chunk {
            tables: hash_key(&all.collect::<Vec<u8>>()),
            granularity,
            slices: Opened::default(),
            renewed: OnceLock::new(),
            is_tried: AtomicBool::new(false),
        }
    }

    /// What tells it from chunks of other tables.
    pub fn tables(&self) -> u64 {
        self.tables
    }

    /// The slices of its tables, if there is a model. The first caller makes the models.
    #[inline]
    pub fn slices<'t>(&self, tables: impl FnOnce() -> &'t [Arc<Table>]) -> Option<&Slices> {
        let made = self
            .slices
            .get_or_open(|| Ok::<_, Infallible>(self.make(tables())));
        match made {
            Ok(Some(slices)) => Some(slices),
            Ok(None) => self.renewed.get(),
            Err(never) => match never {},
        }
    }

    /// Makes the models. What cannot be read makes none: who then asks the table's own index gets the error.
    #[cold]
    fn make(&self, tables: &[Arc<Table>]) -> Option<Slices> {
        match self.granularity {
            Granularity::Joined { boundary } => Some(join::slices(tables, boundary)),
            _ => file::load(tables),
        }
    }

    /// Whether somebody has asked for the models.
    pub fn is_made(&self) -> bool {
        self.slices.get().is_some()
    }

    /// The slices that are in memory.
    pub fn made(&self) -> Option<&Slices> {
        self.slices.get()?.as_ref().or(self.renewed.get())
    }

    /// Whether there is no model, and the caller is the one who shall try to renew it.
    pub fn claim(&self, tables: &[Arc<Table>]) -> bool {
        self.slices(|| tables).is_none() && !self.is_tried.swap(true, Ordering::Relaxed)
    }

    /// Lets somebody else try.
    pub fn unclaim(&self) {
        self.is_tried.store(false, Ordering::Relaxed);
    }

    /// Uses a model that was written since.
    pub fn renew(&self, tables: &[Arc<Table>]) {
        if let Some(slices) = file::load(tables) {
            self.renewed.get_or_init(|| slices);
        }
    }
}
