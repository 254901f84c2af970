//! Strings in one piece of memory.

/// Strings, concatenated.
#[derive(Debug, Default)]
pub(in crate::kinds) struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// Adds a string.
    pub(in crate::kinds) fn push(&mut self, string: &[u8]) {
        self.push_by(|bytes| bytes.extend_from_slice(string));
    }

    /// Adds a string, which `append` writes.
    #[inline]
    pub(in crate::kinds) fn push_by(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    pub(in crate::kinds) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(in crate::kinds) fn len(&self) -> usize {
        self.ends.len()
    }

    /// String `i`; empty past the end.
    #[inline]
    pub(in crate::kinds) fn get(&self, i: usize) -> &[u8] {
        let before = i.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(0, |end| *end);
        let end = self.ends.get(i).map_or(start, |end| *end);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// String `i` without its first `at` bytes.
    #[inline]
    pub(in crate::kinds) fn rest(&self, i: usize, at: usize) -> &[u8] {
        self.get(i).get(at..).unwrap_or_default()
    }

    /// All strings, concatenated.
    pub(in crate::kinds) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where each string ends.
    pub(in crate::kinds) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Bytes on the heap.
    pub(in crate::kinds) fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}
