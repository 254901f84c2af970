//! Entries in a row, whose keys are copied and whose values are ranges of one piece of memory.

use crate::entry::append;

/// The keys of some entries, and where their values lie.
#[derive(Debug)]
pub(crate) struct Rows {
    keys: Vec<u8>,
    /// The entries, if they lie at equal distances;
    even: Option<Even>,
    /// else each of them.
    rows: Vec<Row>,
}

/// Entries whose keys and values are at equal distances.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct Even {
    pub count: usize,
    /// The length of each key.
    pub key: usize,
    /// Where the first value starts, and the length of each.
    pub values: usize,
    pub value: usize,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    key_end: usize,
    value: usize,
    value_len: usize,
}

impl Rows {
    /// No entries.
    pub const fn new() -> Self {
        Rows {
            keys: Vec::new(),
            even: None,
            rows: Vec::new(),
        }
    }

    /// Forgets all entries, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.even = None;
        self.rows.clear();
    }

    /// Adds an entry, whose value has this start and length, behind others that were added so.
    #[inline]
    pub fn push(&mut self, key: &[u8], (value, value_len): (usize, usize)) {
        append(&mut self.keys, key);
        self.rows.push(Row {
            key_end: self.keys.len(),
            value,
            value_len,
        });
    }

    /// Takes entries at equal distances in place of all others. Their keys are to be written into what is returned.
    pub(in crate::table) fn set_even(&mut self, even: Even) -> &mut [u8] {
        self.clear();
        self.even = Some(even);
        self.keys.resize(even.count * even.key, 0);
        &mut self.keys
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.even.map_or(self.rows.len(), |even| even.count)
    }

    /// The key and the value of entry `at`; `values` is what the values are ranges of.
    #[inline]
    pub fn get<'r>(&'r self, at: usize, values: &'r [u8]) -> Option<(&'r [u8], &'r [u8])> {
        let (key, value) = match self.even {
            Some(even) if at < even.count => {
                let (key, value) = (at * even.key, even.values + at * even.value);
                (key..key + even.key, value..value + even.value)
            }
            Some(_) => return None,
            None => {
                let row = self.rows.get(at)?;
                let before = at.checked_sub(1).and_then(|before| self.rows.get(before));
                let start = before.map_or(0, |row| row.key_end);
                (start..row.key_end, row.value..row.value + row.value_len)
            }
        };
        Some((self.keys.get(key)?, values.get(value)?))
    }
}
