//! Where values lie in a log.

use crate::entry::Sequence;

/// Where the values of one keyspace lie in a log: of the first keyspace that has values to be kept apart from their
/// keys in it. Those of other keyspaces are not noted, so that a log belongs to one keyspace only, as a value file does.
#[derive(Debug, Default)]
pub(crate) struct LoggedValues {
    keyspace: Option<u32>,
    /// The sequence of the first put.
    first: Sequence,
    /// For each put, how far its sequence is from the first one, and where it begins in the log; ascending.
    places: Vec<(u32, u32)>,
    /// The bytes of these puts, with their checksums.
    bytes: u64,
}

impl LoggedValues {
    /// Notes a put of so many bytes, which is newer than those before. One that lies too far behind the first is not
    /// noted.
    pub(crate) fn add(&mut self, keyspace: u32, sequence: Sequence, (offset, bytes): (u64, u64)) {
        if self.places.is_empty() {
            (self.keyspace, self.first) = (Some(keyspace), sequence);
        }
        let since = sequence.checked_sub(self.first).map(u32::try_from);
        if let (Some(Ok(since)), Ok(offset)) = (since, u32::try_from(offset))
            && self.keyspace == Some(keyspace)
        {
            self.places.push((since, offset));
            self.bytes += bytes;
        }
    }

    /// The keyspace that the values belong to; `None` if there are none.
    pub(crate) fn keyspace(&self) -> Option<u32> {
        self.keyspace
    }

    /// The bytes of the values, with their keys and checksums.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the put with a sequence begins in the log; `None` if it was not noted. Takes a time that is logarithmic in
    /// their number.
    pub(crate) fn offset_of(&self, sequence: Sequence) -> Option<u64> {
        let since = u32::try_from(sequence.checked_sub(self.first)?).ok()?;
        let at = self
            .places
            .binary_search_by_key(&since, |(since, _)| *since);
        let (_, offset) = self.places.get(at.ok()?)?;
        Some(u64::from(*offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_are_found_by_their_sequences() {
        let mut values = LoggedValues::default();
        assert_eq!((values.keyspace(), values.offset_of(0)), (None, None));
        let first = 1 << 40;
        for (sequence, offset) in [(first, 48), (first + 3, 1_000), (first + 4, 2_000)] {
            values.add(7, sequence, (offset, 10));
            values.add(8, sequence, (offset + 100, 10));
        }
        values.add(7, first + (1 << 32), (3_000, 10));
        values.add(7, first + 9, (1 << 32, 10));
        assert_eq!((values.keyspace(), values.bytes()), (Some(7), 30));
        let found = [0, 1, 3, 4, 5, 9, 1 << 32].map(|more| values.offset_of(first + more));
        let expected = [Some(48), None, Some(1_000), Some(2_000), None, None, None];
        assert_eq!(found, expected);
        assert_eq!(values.offset_of(first - 1), None);
    }
}
