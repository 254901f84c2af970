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
mod slices;
mod training;

use std::collections::BTreeMap;

use crate::options::Granularity;
use crate::sync::Arc;
use crate::table::SliceRef;
use crate::version::Table;
use chunk::Chunk;
use slices::Slices;

pub(crate) use training::train;

/// The models of a run. Its methods take the tables of the run.
#[derive(Debug, Clone)]
pub(crate) struct RunModels {
    chunks: Vec<Arc<Chunk>>,
    /// The places of the first tables of chunks, and the number of tables.
    starts: Box<[u32]>,
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
        let known = before.iter().flat_map(|before| &before.chunks);
        let known: BTreeMap<_, _> = known.map(|chunk| (chunk.tables(), chunk)).collect();
        let (mut chunks, mut starts) = (Vec::new(), vec![0]);
        for own in tables.chunk_by(|_, next| !(is_joined && begins_chunk(next))) {
            let chunk = Chunk::new(own, granularity);
            let same = known.get(&chunk.tables()).map(|chunk| Arc::clone(chunk));
            chunks.push(same.unwrap_or_else(|| Arc::new(chunk)));
            let start = starts.last().copied().unwrap_or(0);
            starts.push(start + own.len() as u32);
        }
        Some(RunModels {
            chunks,
            starts: starts.into(),
        })
    }

    /// Each chunk with its tables.
    fn chunks<'a>(
        &'a self,
        tables: &'a [Arc<Table>],
    ) -> impl Iterator<Item = (&'a Chunk, &'a [Arc<Table>])> {
        let chunks = self.chunks.iter().enumerate();
        chunks.map(|(at, chunk)| (&**chunk, self.tables_of(at, tables)))
    }

    fn tables_of<'a>(&self, chunk: usize, tables: &'a [Arc<Table>]) -> &'a [Arc<Table>] {
        let start = |at: usize| self.starts.get(at).map_or(0, |start| *start as usize);
        tables
            .get(start(chunk)..start(chunk + 1))
            .unwrap_or_default()
    }

    /// The slice that the table at a place has of a model, if there is one. The first caller of a chunk makes its models.
    // A call, which gets in runs without models do not make.
    #[inline(never)]
    pub fn slice(&self, at: usize, tables: &[Arc<Table>]) -> Option<SliceRef<'_>> {
        let behind = self.starts.partition_point(|start| *start as usize <= at);
        let number = behind.checked_sub(1)?;
        let first = *self.starts.get(number)? as usize;
        let chunk = self.chunks.get(number)?;
        let slices = chunk.slices(|| self.tables_of(number, tables))?;
        slices.get(at - first)
    }

    /// Makes all models that are not there yet, so that no reader has to wait for them. Returns of how many tables.
    pub fn make(&self, tables: &[Arc<Table>]) -> u64 {
        let missing = self.chunks(tables).filter(|(chunk, _)| !chunk.is_made());
        let made = missing.filter_map(|(chunk, own)| chunk.slices(|| own));
        made.map(Slices::count).sum()
    }

    /// Whether the file of a trained model was not there, or not sound, or of other tables, and the caller is the one who shall train
    /// it again.
    pub fn claim(&self, tables: &[Arc<Table>]) -> bool {
        self.chunks(tables).any(|(chunk, own)| chunk.claim(own))
    }

    /// Lets somebody else train it.
    pub fn unclaim(&self) {
        self.chunks.iter().for_each(|chunk| chunk.unclaim());
    }

    /// Uses a trained model that was written since.
    pub fn renew(&self, tables: &[Arc<Table>]) {
        self.chunks(tables)
            .for_each(|(chunk, own)| chunk.renew(own));
    }

    /// The memory that the models take which are there.
    pub fn memory(&self) -> ModelMemory {
        let mut memory = ModelMemory {
            index: size_of_val(&*self.starts) + size_of_val(&*self.chunks),
            ..ModelMemory::default()
        };
        for chunk in &self.chunks {
            memory.index += size_of::<Chunk>();
            if let Some(slices) = chunk.made() {
                slices.add_memory(&mut memory);
            }
        }
        memory
    }
}
