//! Many byte strings in few allocations.

use std::ops::Range;

/// Byte strings stored one after the other and accessed by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// Numbers as 8 big-endian bytes each.
    pub fn of_numbers(numbers: impl IntoIterator<Item = u64>) -> Strings {
        let mut strings = Strings::default();
        for number in numbers {
            strings.push(&number.to_be_bytes());
        }
        strings
    }

    /// Adds a string at the end.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// The string with this number, from 0.
    pub fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The sum of the lengths of all strings.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// The strings of some ranges of numbers.
    pub fn pick(&self, ranges: &[Range<usize>]) -> Strings {
        let mut picked = Strings::default();
        for number in ranges.iter().cloned().flatten() {
            picked.push(self.get(number));
        }
        picked
    }

    /// Removes all strings and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Keys with their values: a batch to write, or the result of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    /// The keys.
    pub keys: Strings,
    /// The value of each key.
    pub values: Strings,
}

impl Pairs {
    /// Adds a pair at the end.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.keys.push(key);
        self.values.push(value);
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The pairs of some ranges of numbers.
    pub fn pick(&self, ranges: &[Range<usize>]) -> Pairs {
        Pairs {
            keys: self.keys.pick(ranges),
            values: self.values.pick(ranges),
        }
    }

    /// All pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.keys.iter().zip(self.values.iter())
    }

    /// Removes all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
    }
}
