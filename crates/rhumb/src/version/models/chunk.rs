//! Neighbouring tables whose models are made at a time.

use std::convert::Infallible;

use super::{file, join};
use crate::options::Granularity;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, OnceLock, Opened};
use crate::table::{Model, Slice};
use crate::version::Table;

/// For each table its slice of a model; `None` if it is found by its own index. Empty if there is no model at all.
pub(super) type Slices = Box<[Option<Slice>]>;

#[derive(Debug)]
pub(super) struct Chunk {
    tables: Box<[Arc<Table>]>,
    granularity: Granularity,
    slices: Opened<Slices>,
    /// A trained model in place of one that was lost.
    renewed: OnceLock<Slices>,
    /// Whether it was tried to renew it.
    is_tried: AtomicBool,
}

impl Chunk {
    pub fn new(tables: &[Arc<Table>], granularity: Granularity) -> Self {
        Chunk {
            tables: tables.into(),
            granularity,
            slices: Opened::default(),
            renewed: OnceLock::new(),
            is_tried: AtomicBool::new(false),
        }
    }

    /// Whether it is of exactly these tables.
    pub fn is_of(&self, tables: &[Arc<Table>]) -> bool {
        let mut pairs = self.tables.iter().zip(tables);
        self.tables.len() == tables.len() && pairs.all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// A slice for each table. The first caller makes the models.
    #[inline]
    pub fn slices(&self) -> &[Option<Slice>] {
        let slices = (self.slices).get_or_open(|| Ok::<_, Infallible>(self.make()));
        match slices {
            Ok(slices) if slices.is_empty() => self.renewed.get().map_or(&[], |slices| slices),
            Ok(slices) => slices,
            Err(never) => match never {},
        }
    }

    /// Makes the models. What cannot be read makes none: who then asks the table's own index gets the error.
    #[cold]
    fn make(&self) -> Slices {
        match self.granularity {
            Granularity::Joined { boundary } => join::slices(&self.tables, boundary),
            _ => file::load(&self.tables).unwrap_or_default(),
        }
    }

    pub fn is_made(&self) -> bool {
        self.slices.get().is_some()
    }

    /// Whether there is no model, and nobody has tried to renew it.
    pub fn is_lost(&self) -> bool {
        self.slices().is_empty() && !self.is_tried.load(Ordering::Relaxed)
    }

    /// Uses a model that was written since.
    pub fn renew(&self) {
        if self.is_lost() {
            self.is_tried.store(true, Ordering::Relaxed);
            if let Some(slices) = file::load(&self.tables) {
                self.renewed.get_or_init(|| slices);
            }
        }
    }

    /// Its models, each of which is behind neighbouring slices.
    pub fn models(&self) -> impl Iterator<Item = &Arc<Model>> {
        let mut before = None;
        let models = self.slices().iter().flatten().map(|slice| &slice.model);
        models.filter(move |model| before.replace(Arc::as_ptr(model)) != Some(Arc::as_ptr(model)))
    }
}
