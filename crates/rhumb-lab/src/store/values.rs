//! The answers of a call that gets many keys.

/// Values of several keys, some of which may be absent.
#[derive(Debug, Default)]
pub struct Values {
    bytes: Vec<u8>,
    /// Where each begins and ends.
    parts: Vec<Option<(usize, usize)>>,
}

impl Values {
    /// Forgets all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
    }

    /// Copies the value of the next key.
    pub fn push<V: AsRef<[u8]> + ?Sized>(&mut self, value: Option<&V>) {
        let start = self.bytes.len();
        self.bytes
            .extend_from_slice(value.map_or(&[], AsRef::as_ref));
        let part = value.map(|_| (start, self.bytes.len()));
        self.parts.push(part);
    }

    /// The values in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        let value = |(start, end)| self.bytes.get(start..end);
        self.parts.iter().map(move |part| part.and_then(value))
    }
}
