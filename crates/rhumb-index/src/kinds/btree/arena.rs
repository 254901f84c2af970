//! The memory of nodes: chunks, in which nodes have numbers.

/// The most bytes of a chunk: large enough that the list of chunks stays in the first caches.
const CHUNK_BYTES: usize = 1 << 20;

/// Nodes and how many entries each has.
#[derive(Debug)]
pub(super) struct Arena<T> {
    /// All chunks but the last are full. Only the first one ever moves.
    chunks: Vec<Vec<T>>,
    /// The number of entries of each node; kept apart so that nodes fill whole cache lines.
    lens: Vec<u8>,
    /// Unused nodes.
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena {
            chunks: Vec::new(),
            lens: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Default> Arena<T> {
    /// Nodes of a chunk, a power of two.
    const CHUNK: usize = 1 << (CHUNK_BYTES / size_of::<T>()).ilog2();

    /// A node without entries.
    ///
    /// Numbers do not run out: 2^32 nodes are a terabyte.
    pub(super) fn add(&mut self) -> u32 {
        if let Some(id) = self.free.pop() {
            return id;
        }
        let id = self.lens.len();
        if id.is_multiple_of(Self::CHUNK) {
            let at_once = if id == 0 { 1 } else { Self::CHUNK };
            self.chunks.push(Vec::with_capacity(at_once));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(T::default());
        }
        self.lens.push(0);
        id as u32
    }

    /// Frees a node.
    pub(super) fn free(&mut self, id: u32) {
        *self.node_mut(id) = T::default();
        self.set_len(id, 0);
        self.free.push(id);
    }

    #[inline(always)]
    pub(super) fn node(&self, id: u32) -> &T {
        &self.chunks[id as usize / Self::CHUNK][id as usize % Self::CHUNK]
    }

    #[inline(always)]
    pub(super) fn node_mut(&mut self, id: u32) -> &mut T {
        &mut self.chunks[id as usize / Self::CHUNK][id as usize % Self::CHUNK]
    }

    /// Two different nodes.
    pub(super) fn two_mut(&mut self, a: u32, b: u32) -> Option<[&mut T; 2]> {
        let (chunk_a, at_a) = (a as usize / Self::CHUNK, a as usize % Self::CHUNK);
        let (chunk_b, at_b) = (b as usize / Self::CHUNK, b as usize % Self::CHUNK);
        if chunk_a == chunk_b {
            return self.chunks[chunk_a].get_disjoint_mut([at_a, at_b]).ok();
        }
        let [chunk_a, chunk_b] = self.chunks.get_disjoint_mut([chunk_a, chunk_b]).ok()?;
        Some([&mut chunk_a[at_a], &mut chunk_b[at_b]])
    }

    /// How many entries a node has.
    #[inline(always)]
    pub(super) fn len(&self, id: u32) -> usize {
        self.lens[id as usize].into()
    }

    /// Notes how many entries a node has, at most 255.
    pub(super) fn set_len(&mut self, id: u32, len: usize) {
        self.lens[id as usize] = len as u8;
    }

    /// How many nodes there are, unused ones included.
    pub(super) fn count(&self) -> usize {
        self.lens.len()
    }

    /// All nodes, unused ones included, which are as new.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// Bytes of the arena, without the memory that nodes own elsewhere.
    pub(super) fn size_in_bytes(&self) -> usize {
        let nodes: usize = self.chunks.iter().map(Vec::capacity).sum();
        nodes * size_of::<T>()
            + self.chunks.capacity() * size_of::<Vec<T>>()
            + self.lens.capacity()
            + self.free.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = Arena::<u64>::CHUNK;

    #[test]
    fn nodes_stay_apart_and_are_used_again() {
        let mut arena = Arena::<u64>::default();
        let ids: Vec<u32> = (0..3 * CHUNK as u64 + 5)
            .map(|value| {
                let id = arena.add();
                *arena.node_mut(id) = value;
                id
            })
            .collect();
        assert!(ids.iter().all(|&id| *arena.node(id) == u64::from(id)));
        for [a, b] in [[0, 1], [7, CHUNK as u32 + 7], [CHUNK as u32, 3]] {
            assert_eq!(arena.two_mut(a, b), Some([&mut a.into(), &mut b.into()]));
        }
        assert_eq!(arena.two_mut(4, 4), None);
        let size = arena.size_in_bytes();
        arena.set_len(9, 3);
        arena.free(9);
        assert_eq!((*arena.node(9), arena.len(9), arena.add()), (0, 0, 9));
        assert!(arena.size_in_bytes() < size + 100);
    }
}
