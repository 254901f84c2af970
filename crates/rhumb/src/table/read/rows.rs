//! Entries in a row, whose keys are copied and whose values are ranges of one piece of memory.

use crate::entry::append;

/// The keys of some entries, and where their values lie.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    keys: Vec<u8>,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// Keys, and values, of one length, at equal distances.
    Even(Even),
    /// Any others.
    Each(Vec<Row>),
}

impl Default for Form {
    fn default() -> Self {
        Form::Each(Vec::new())
    }
}

/// Entries at equal distances.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct Even {
    pub count: usize,
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
            form: Form::Each(Vec::new()),
        }
    }

    /// Forgets all entries, and keeps the memory of keys for others.
    pub fn clear(&mut self) {
        self.keys.clear();
        match &mut self.form {
            Form::Each(rows) => rows.clear(),
            Form::Even(even) => even.count = 0,
        }
    }

    /// Adds an entry, whose value has this start and length, behind others that were added so.
    #[inline]
    pub fn push(&mut self, key: &[u8], (value, value_len): (usize, usize)) {
        append(&mut self.keys, key);
        let row = Row {
            key_end: self.keys.len(),
            value,
            value_len,
        };
        match &mut self.form {
            Form::Each(rows) => rows.push(row),
            form @ Form::Even(_) => *form = Form::Each(vec![row]),
        }
    }

    /// Takes entries at equal distances in place of all others. Their keys are to be written into what is returned.
    pub(in crate::table) fn set_even(&mut self, even: Even) -> &mut [u8] {
        self.form = Form::Even(even);
        self.keys.clear();
        self.keys.resize(even.count * even.key, 0);
        &mut self.keys
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Even(even) => even.count,
            Form::Each(rows) => rows.len(),
        }
    }

    /// The key and the value of entry `at`; `values` is what the values are ranges of.
    #[inline]
    pub fn get<'r>(&'r self, at: usize, values: &'r [u8]) -> Option<(&'r [u8], &'r [u8])> {
        let (key, value) = match &self.form {
            Form::Even(even) if at < even.count => {
                let (key, value) = (at * even.key, even.values + at * even.value);
                (key..key + even.key, value..value + even.value)
            }
            Form::Even(_) => return None,
            Form::Each(rows) => {
                let row = rows.get(at)?;
                let before = at.checked_sub(1).and_then(|before| rows.get(before));
                let start = before.map_or(0, |row| row.key_end);
                (start..row.key_end, row.value..row.value + row.value_len)
            }
        };
        Some((self.keys.get(key)?, values.get(value)?))
    }
}
