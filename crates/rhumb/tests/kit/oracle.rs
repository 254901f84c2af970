//! The legal contents of a store: the state after every prefix of the commit order.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rhumb::KeyspaceOptions;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The contents of a store, by keyspace and key.
pub type Content = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// One step of the commit order, which is present completely or not at all.
#[derive(Debug, Clone)]
pub enum Event {
    /// A batch: changes of keyspaces.
    Write(Vec<(String, Change)>),
    /// A keyspace is created, with options.
    Create(String, KeyspaceOptions),
    /// A keyspace is dropped.
    Drop(String),
    /// The options of a keyspace are set.
    Options(String, KeyspaceOptions),
}

/// Under this key the options of a keyspace stand in its content, as text, if any are set. No script
/// writes such keys.
pub const OPTIONS_KEY: &[u8] = b"~options";

/// The options of a keyspace as an entry of its content.
pub fn options_entry(options: &KeyspaceOptions) -> Change {
    match *options == KeyspaceOptions::default() {
        true => Change::Delete(OPTIONS_KEY.to_vec()),
        false => Change::Put(OPTIONS_KEY.to_vec(), options.to_string().into_bytes()),
    }
}

/// One change of a keyspace.
#[derive(Debug, Clone)]
pub enum Change {
    /// A key gets a value.
    Put(Vec<u8>, Vec<u8>),
    /// A key is removed.
    Delete(Vec<u8>),
    /// The keys from the first up to the second, which is excluded, are removed.
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// The commit order so far, and a fingerprint of the state after each of its prefixes.
#[derive(Debug, Clone)]
pub struct Oracle {
    pub events: Vec<Event>,
    /// The fingerprints; one more than there are events.
    pub prints: Vec<u64>,
    pub content: Content,
    print: u64,
}

impl Default for Oracle {
    fn default() -> Self {
        Oracle::new()
    }
}

impl Oracle {
    /// A new store, with an empty default keyspace.
    pub fn new() -> Self {
        let content = Content::from([(rhumb::DEFAULT_KEYSPACE.to_string(), BTreeMap::new())]);
        let print = fingerprint(&content);
        Oracle {
            events: Vec::new(),
            prints: vec![print],
            content,
            print,
        }
    }

    /// Adds an event to the commit order.
    pub fn push(&mut self, event: Event) {
        self.apply(&event);
        self.events.push(event);
        self.prints.push(self.print);
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Drops the events after the first `length`.
    pub fn truncate(&mut self, length: usize) {
        let mut shorter = Oracle::new();
        for event in self.events.drain(..).take(length) {
            shorter.push(event);
        }
        *self = shorter;
    }

    /// The state after the first `length` events.
    pub fn content_at(&self, length: usize) -> Content {
        let mut other = self.clone();
        other.truncate(length);
        other.content
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Create(name, options) => {
                self.print = self.print.wrapping_add(print_of(name, None));
                self.content.insert(name.clone(), BTreeMap::new());
                self.change(name, &options_entry(options));
            }
            Event::Drop(name) => {
                let gone = self.content.remove(name).unwrap_or_default();
                self.print = self.print.wrapping_sub(print_of(name, None));
                for (key, value) in &gone {
                    self.print = self.print.wrapping_sub(print_of(name, Some((key, value))));
                }
            }
            Event::Write(changes) => {
                for (name, change) in changes {
                    self.change(name, change);
                }
            }
            Event::Options(name, options) => self.change(name, &options_entry(options)),
        }
    }

    fn change(&mut self, name: &str, change: &Change) {
        let keys = self.content.entry(name.to_string()).or_default();
        let mut gone = Vec::new();
        match change {
            Change::Put(key, value) => {
                self.print = self.print.wrapping_add(print_of(name, Some((key, value))));
                gone.extend(
                    keys.insert(key.clone(), value.clone())
                        .map(|old| (key.clone(), old)),
                );
            }
            Change::Delete(key) => gone.extend(keys.remove_entry(key)),
            Change::DeleteRange(from, to) => {
                let range: Vec<Vec<u8>> = keys
                    .keys()
                    .filter(|k| (from..to).contains(k))
                    .cloned()
                    .collect();
                gone.extend(range.iter().filter_map(|key| keys.remove_entry(key)));
            }
        }
        for (key, value) in gone {
            self.print = self
                .print
                .wrapping_sub(print_of(name, Some((&key, &value))));
        }
    }
}

/// The longest of the legal prefixes whose state has this fingerprint.
pub fn position(prints: &[u64], legal: RangeInclusive<usize>, found: u64) -> Option<usize> {
    legal
        .rev()
        .find(|length| prints.get(*length) == Some(&found))
}

/// A fingerprint of a state: a sum over its keyspaces and entries, so that it can be updated.
pub fn fingerprint(content: &Content) -> u64 {
    let mut sum = 0u64;
    for (name, keys) in content {
        sum = sum.wrapping_add(print_of(name, None));
        for entry in keys {
            sum = sum.wrapping_add(print_of(name, Some(entry)));
        }
    }
    sum
}

fn print_of(name: &str, entry: Option<(&Vec<u8>, &Vec<u8>)>) -> u64 {
    let mut print = xxh3_64_with_seed(name.as_bytes(), u64::from(entry.is_some()));
    if let Some((key, value)) = entry {
        print = xxh3_64_with_seed(key, print);
        print = xxh3_64_with_seed(value, print);
    }
    print
}

/// The differences, in a few lines.
pub fn difference(expected: &Content, found: &Content) -> String {
    let mut lines = Vec::new();
    for name in expected.keys().chain(found.keys()) {
        match (expected.get(name), found.get(name)) {
            (Some(_), None) => lines.push(format!("keyspace {name} is missing")),
            (None, Some(_)) => lines.push(format!("keyspace {name} should not be there")),
            (Some(e), Some(f)) => {
                for key in e.keys().chain(f.keys()).filter(|k| e.get(*k) != f.get(*k)) {
                    let text = String::from_utf8_lossy(key).into_owned();
                    let (e, f) = (short(e.get(key)), short(f.get(key)));
                    lines.push(format!("{name}/{text}: expected {e}, found {f}"));
                }
            }
            (None, None) => {}
        }
    }
    lines.sort();
    lines.dedup();
    let more = lines.len().saturating_sub(12);
    lines.truncate(12);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n  ")
}

fn short(value: Option<&Vec<u8>>) -> String {
    match value {
        None => "nothing".to_string(),
        Some(value) => {
            let head: Vec<u8> = value.iter().copied().take(12).collect();
            format!("{} bytes {}", value.len(), String::from_utf8_lossy(&head))
        }
    }
}
