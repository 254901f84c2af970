//! Models over several neighbouring tables of a run, in place of each table's own index.
//!
//! The tables of a run are divided into *chunks*, each of which has its models as soon as somebody needs them.
//!
//! - *Joined* models are made in memory, from those of the tables ([`join`]). Where a chunk ends depends on its tables alone. So a
//!   merge that replaces some tables leaves most chunks as they were, and their models with them: an update costs what it
//!   changes.
//! - A *trained* model covers the whole run: one chunk. A merge reads all keys to train it ([`training`]) and writes it to a file
//!   ([`file`](self::file)).
//!
//! A model in memory is never stale: a slice of it belongs to one table, which never changes.

mod chunk;
mod file;
mod join;
mod training;

use crate::options::Granularity;
use crate::sync::Arc;
use crate::table::Slice;
use crate::version::Table;
use chunk::Chunk;

pub(crate) use training::train;

/// The models of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunModels {
    chunks: Vec<Arc<Chunk>>,
    /// For each table its chunk, and its place in it.
    places: Box<[(u32, u32)]>,
}

/// The memory that models over several tables take, in bytes, and the tables that have one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ModelMemory {
    pub index: usize,
    pub key_map: usize,
    pub tables: u64,
}

/// How many tables a chunk of joined models has on average.
const CHUNK_TABLES: u64 = 16;

/// Whether a table is the first one of such a chunk: one in 16, at random, but always the same ones.
fn begins_chunk(table: &Table) -> bool {
    let mixed = table.meta.table_id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32).is_multiple_of(CHUNK_TABLES)
}

impl RunModels {
    /// The models of a run's tables, if its store has such. `before` are those of the run before it changed.
    pub fn of(tables: &[Arc<Table>], before: Option<&RunModels>) -> Option<Self> {
        let granularity = tables.first()?.granularity();
        // A single table has its own.
        if granularity == Granularity::Table || tables.len() < 2 {
            return None;
        }
        let is_joined = matches!(granularity, Granularity::Joined { .. });
        let mut chunks = Vec::new();
        let mut places = Vec::with_capacity(tables.len());
        for own in tables.chunk_by(|_, next| !(is_joined && begins_chunk(next))) {
            let at = (0..).take(own.len());
            places.extend(at.map(|at| (chunks.len() as u32, at)));
            let same = before.and_then(|before| before.find(own));
            chunks.push(same.unwrap_or_else(|| Arc::new(Chunk::new(own, granularity))));
        }
        Some(RunModels {
            chunks,
            places: places.into(),
        })
    }

    /// The chunk of exactly these tables.
    fn find(&self, tables: &[Arc<Table>]) -> Option<Arc<Chunk>> {
        let mut chunks = self.chunks.iter();
        chunks.find(|chunk| chunk.is_of(tables)).cloned()
    }

    /// The slice that the table at a place has of a model, if there is one. The first caller of a chunk makes its models.
    #[inline]
    pub fn slice(&self, at: usize) -> Option<&Slice> {
        let (chunk, place) = *self.places.get(at)?;
        let slices = self.chunks.get(chunk as usize)?.slices();
        slices.get(place as usize)?.as_ref()
    }

    /// Makes all models that are not there yet, so that no reader has to wait for them. Returns of how many tables.
    pub fn make(&self) -> u64 {
        let missing = self.chunks.iter().filter(|chunk| !chunk.is_made());
        missing.map(|chunk| chunk.slices().len() as u64).sum()
    }

    /// Whether the file of a trained model was not there, or not sound, or of other tables, and nobody has tried to train it
    /// since.
    pub fn is_lost(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.is_lost())
    }

    /// Uses a trained model that was written since.
    pub fn renew(&self) {
        self.chunks.iter().for_each(|chunk| chunk.renew());
    }

    /// The memory that the models take.
    pub fn memory(&self) -> ModelMemory {
        let mut memory = ModelMemory {
            index: size_of_val(&*self.places),
            ..ModelMemory::default()
        };
        for chunk in &self.chunks {
            memory.tables += chunk.slices().iter().flatten().count() as u64;
            memory.index += size_of_val(chunk.slices());
            for model in chunk.models() {
                memory.index += model.index.size_in_bytes();
                memory.key_map += model.map_bytes();
            }
        }
        memory
    }
}
