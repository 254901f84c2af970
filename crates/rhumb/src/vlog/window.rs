//! The part of a value file that was read last, by one who reads it in order.

/// What follows the last read at most so many bytes behind it is near: a device reads it nearly as fast as it
/// skips it.
const NEAR: u64 = 16 << 10;
/// How many bytes are read at once where values lie near each other: first, and at most.
const LEAST_AHEAD: u64 = 8 << 10;
const MOST_AHEAD: u64 = 64 << 10;

/// Bytes that were read from one file.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Where they begin in the file.
    start: u64,
    bytes: Vec<u8>,
    /// How many bytes were read at once last; 0 if the values lay apart.
    ahead: u64,
}

impl Window {
    /// What lies at these bytes of the file; `None` if not all of it was read.
    pub(super) fn get(&self, offset: u64, bytes: u64) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let to = from.checked_add(usize::try_from(bytes).ok()?)?;
        self.bytes.get(from..to)
    }

    /// How much to read at `offset` for a record of so many bytes: more of what follows the longer each record
    /// was near the one before.
    pub(super) fn length_for(&mut self, offset: u64, bytes: u64) -> u64 {
        let end = self.start + self.bytes.len() as u64;
        let is_near = offset >= self.start && offset <= end + NEAR && end > 0;
        self.ahead = match is_near {
            true => (2 * self.ahead).clamp(LEAST_AHEAD, MOST_AHEAD),
            false => 0,
        };
        bytes.max(self.ahead)
    }

    /// Gives the memory of long records back; what was read last is near to what follows as before.
    pub(crate) fn forget_long(&mut self) {
        let bytes = self.bytes.len() as u64;
        if bytes > MOST_AHEAD {
            (self.start, self.bytes) = (self.start + bytes, Vec::new());
        }
    }

    /// Replaces what was read.
    pub(super) fn fill(&mut self, start: u64, bytes: Vec<u8>) {
        (self.start, self.bytes) = (start, bytes);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    /// Reads records of 100 bytes at these places, and returns the lengths of the reads.
    fn reads(places: impl Iterator<Item = u64>) -> Vec<u64> {
        let (mut window, mut reads) = (Window::default(), Vec::new());
        for offset in places {
            if window.get(offset, 100).is_none() {
                let length = window.length_for(offset, 100);
                window.fill(offset, vec![0; length as usize]);
                reads.push(length);
            }
            assert_eq!(window.get(offset, 100).unwrap().len(), 100);
        }
        reads
    }

    #[test]
    fn near_records_are_read_together_and_others_alone() {
        let near = reads((0..3_000).map(|n| 24 + 100 * n));
        assert_eq!(near[..5], [100, 8 << 10, 16 << 10, 32 << 10, 64 << 10]);
        assert!(near[5..].iter().all(|length| *length == 64 << 10));
        let apart = reads((0..100).map(|n| n << 20));
        assert_eq!(apart, [100; 100]);
        // One that lies apart begins anew, and so does one that lies before.
        let mixed = reads([24, 200, 1 << 20, (1 << 20) + 300, 50].into_iter());
        assert_eq!(mixed, [100, 8 << 10, 100, 8 << 10, 100]);
    }
    #[test]
    fn long_records_are_forgotten_and_what_follows_is_near() {
        let mut window = Window::default();
        window.fill(24, vec![0; 10 << 20]);
        window.forget_long();
        assert_eq!(window.bytes.capacity(), 0);
        let behind = 24 + (10 << 20);
        assert_eq!(window.length_for(behind, 100), LEAST_AHEAD);
    }
}
