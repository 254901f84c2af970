//! The properties of a table, by name (docs/format.md, Properties).

use std::collections::BTreeMap;

use super::damage::Damage;
use super::filter::hash_key;
use crate::entry::varint::{Reader, encode, encode_bytes};
use crate::options::Partition;

/// The name of the form that was asked for, where a tuner is on.
pub(crate) const CHOSEN: &str = "chosen";

/// What tells tables of a form from others, where a tuner is on; 0 elsewhere.
pub(crate) fn layout_tag(chosen: &str) -> u64 {
    if chosen.is_empty() {
        0
    } else {
        hash_key(chosen.as_bytes()).max(1)
    }
}

/// Named values. Numbers are decimal text, keys are raw bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Properties {
    rows: BTreeMap<String, Vec<u8>>,
}

impl Properties {
    /// Sets a property to a text.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.set_bytes(name, value.to_string().as_bytes());
    }

    /// Sets a property.
    pub fn set_bytes(&mut self, name: &str, value: &[u8]) {
        self.rows.insert(name.to_string(), value.to_vec());
    }

    /// The value of a property; `None` if the table does not have it.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.rows.get(name).map(Vec::as_slice)
    }

    /// The value of a property, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.bytes(name)?).ok()
    }

    /// The value of a property, if it is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// How the table, or the last part of it, was cut into blocks.
    pub fn partition(&self) -> Option<Partition> {
        self.text("partition")?.parse().ok()
    }

    /// All properties, in ascending order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.rows
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The byte form.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(self.rows.len() as u64, &mut bytes);
        for (name, value) in self.iter() {
            encode_bytes(name.as_bytes(), &mut bytes);
            encode_bytes(value, &mut bytes);
        }
        bytes
    }

    /// Decodes properties.
    ///
    /// # Errors
    /// If the bytes cannot be such properties.
    pub fn decode(bytes: &[u8]) -> Result<Properties, Damage> {
        let mut reader = Reader::new(bytes);
        let cut_short = |at: usize| Damage::new(at, "a property", "an incomplete one");
        let count = reader.varint().ok_or_else(|| cut_short(0))?;
        let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for _ in 0..count {
            let at = reader.position();
            let row = reader.bytes().zip(reader.bytes());
            let (name, value) = row.ok_or_else(|| cut_short(at))?;
            let Ok(name) = std::str::from_utf8(name) else {
                return Err(Damage::new(at, "a name in UTF-8", format!("{name:02x?}")));
            };
            if rows
                .last_key_value()
                .is_some_and(|(last, _)| last.as_str() >= name)
            {
                return Err(Damage::new(at, "names that ascend", name));
            }
            rows.insert(name.to_string(), value.to_vec());
        }
        if !reader.is_empty() {
            return Err(Damage::new(
                reader.position(),
                "the end of the properties",
                "more bytes",
            ));
        }
        Ok(Properties { rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_come_back_and_cuts_are_refused() {
        let mut properties = Properties::default();
        properties.set("entries", 12);
        properties.set("codec", "lz4");
        properties.set_bytes("key.largest", &[0xff, 0, 0xff]);
        let bytes = properties.encode();
        let back = Properties::decode(&bytes).unwrap();
        assert_eq!(back, properties);
        assert_eq!(back.number("entries"), Some(12));
        assert_eq!(back.number("codec"), None);
        assert_eq!(back.text("key.largest"), None);
        assert_eq!(back.bytes("nothing"), None);
        for len in 0..bytes.len() {
            assert!(Properties::decode(&bytes[..len]).is_err());
        }
        assert!(Properties::decode(&[&bytes[..], &[0]].concat()).is_err());
        assert!(Properties::decode(&[2, 1, b'b', 0, 1, b'a', 0]).is_err());
        assert!(Properties::decode(&[0xff; 10]).is_err());
    }
}
