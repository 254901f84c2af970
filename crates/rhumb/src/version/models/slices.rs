//! The slices that the tables of a chunk have of its models: 8 bytes a table.

use super::ModelMemory;
use crate::sync::Arc;
use crate::table::{Model, SliceRef};

/// What a model has of a table: its distinct keys and its blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub ranks: u64,
    pub blocks: u64,
}

/// The models over neighbouring tables.
#[derive(Debug, Default)]
pub(super) struct Slices {
    /// The models, each with the place of its first table.
    models: Vec<(u32, Arc<Model>)>,
    /// The ranks and blocks of its model before each table.
    bases: Vec<(u32, u32)>,
}

/// In place of ranks and blocks, for a table without a slice. No model has so many keys.
const NONE: (u32, u32) = (u32::MAX, u32::MAX);

impl Slices {
    /// Adds neighbouring tables that share a model, if there is one; those of which it has nothing have no slice.
    pub fn push(&mut self, model: Option<Model>, tables: &[Extent]) {
        let Some(model) = model else {
            self.bases.resize(self.bases.len() + tables.len(), NONE);
            return;
        };
        let place = self.bases.len() as u32;
        self.models.push((place, Arc::new(model)));
        let (mut rank, mut block) = (0, 0);
        self.bases.extend(tables.iter().map(|extent| {
            let base = match (u32::try_from(rank), u32::try_from(block)) {
                (Ok(rank), Ok(block)) if *extent != Extent::default() => (rank, block),
                _ => NONE,
            };
            rank += extent.ranks;
            block += extent.blocks;
            base
        }));
    }

    /// Leaves no memory unused.
    pub fn finish(mut self) -> Self {
        self.models.shrink_to_fit();
        self.bases.shrink_to_fit();
        self
    }

    /// The slice of the table at a place of the chunk.
    #[inline]
    pub fn get(&self, at: usize) -> Option<SliceRef<'_>> {
        let base = *self.bases.get(at).filter(|base| **base != NONE)?;
        let before = self
            .models
            .partition_point(|(first, _)| *first as usize <= at);
        let (_, model) = self.models.get(before.checked_sub(1)?)?;
        Some(SliceRef {
            model,
            first_rank: base.0.into(),
            first_block: base.1.into(),
        })
    }

    /// The number of tables that have one.
    pub fn count(&self) -> u64 {
        self.bases.iter().filter(|base| **base != NONE).count() as u64
    }

    /// Adds the memory that they take.
    pub fn add_memory(&self, memory: &mut ModelMemory) {
        memory.tables += self.count();
        memory.index += size_of_val(&*self.bases) + size_of_val(&*self.models);
        for (_, model) in &self.models {
            memory.index += size_of::<Model>() + model.index.size_in_bytes();
            memory.key_map += model.map_bytes();
        }
    }
}
