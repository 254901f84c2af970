//! Checks of the answers of a store.

use super::population::{Population, mark};
use crate::data::Pairs;
use crate::error::{Error, Result};

/// Checks the answers to one thread.
#[derive(Debug)]
pub struct Checker<'a> {
    /// The store's name in error messages.
    pub name: &'a str,
    /// The records of the store.
    pub population: &'a Population<'a>,
    /// The ranks that a scan must find: those present before it, each with its floor at that time.
    due: Vec<(usize, u32)>,
    scratch: Vec<u8>,
}

/// The versions that a read of one record may find.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// The rank of its key.
    pub rank: usize,
    /// The record's floor before the read began.
    pub floor: u32,
    /// The version that this thread writes after the read; 0 for none.
    pub own: u32,
}

impl<'a> Checker<'a> {
    /// A checker for a store with the records of `population`.
    pub fn new(name: &'a str, population: &'a Population<'a>) -> Checker<'a> {
        Checker {
            name,
            population,
            due: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Checks the answer to a get of a record that was present before.
    pub fn get(&mut self, allowed: Allowed, found: Option<&[u8]>) -> Result<()> {
        match found {
            Some(value) => self.value("get", allowed, value),
            None => {
                let expected = self.versions(allowed);
                Err(self.wrong("get", allowed.rank, expected, "no value".to_string()))
            }
        }
    }

    /// Checks the answer to a get of an absent key.
    pub fn absent(&self, key: &[u8], found: Option<&[u8]>) -> Result<()> {
        match found {
            None => Ok(()),
            Some(value) => Err(Error::WrongAnswer {
                store: self.name.to_string(),
                operation: "get",
                key: key.escape_ascii().to_string(),
                expected: "no value".to_string(),
                found: bytes(value),
            }),
        }
    }

    /// Stores what a scan of `length` pairs from a rank on must find; called before the scan
    /// begins.
    pub fn before_scan(&mut self, rank: usize, length: usize) {
        let population = self.population;
        let ranks = rank..population.input.keys.len();
        let there = ranks.filter_map(|rank| {
            let (_, record) = population.of_rank(rank);
            record.is_present().then(|| (rank, record.floor()))
        });
        self.due.clear();
        self.due.extend(there.take(length));
    }

    /// Checks the pairs that the scan found, which may include records inserted during the scan.
    pub fn scan(&mut self, start: usize, length: usize, found: &Pairs) -> Result<()> {
        let keys = &self.population.input.keys;
        if found.len() > length {
            let (most, found) = (format!("at most {length} pairs"), found.len());
            return Err(self.wrong("scan", start, most, format!("{found} pairs")));
        }
        let (mut rank, mut met) = (start, 0);
        for (place, (key, value)) in found.iter().enumerate() {
            while rank < keys.len() && keys.get(rank) < key {
                rank += 1;
            }
            let due = self.due.get(met).copied();
            let (begun, known) = (
                self.population.begun(),
                rank < keys.len() && keys.get(rank) == key,
            );
            let passed = due.is_some_and(|(due, _)| due < rank);
            if passed || !known || self.population.of_rank(rank).0 >= begun {
                let expected = match due {
                    Some((due, _)) => format!("key {}", keys.get(due).escape_ascii()),
                    None => "no further key".to_string(),
                };
                let found = format!("key {} at place {place}", key.escape_ascii());
                return Err(self.wrong("scan", start, expected, found));
            }
            let floor = due.filter(|(due, _)| *due == rank).map(|(_, floor)| floor);
            met += usize::from(floor.is_some());
            let allowed = Allowed {
                rank,
                floor: floor.unwrap_or(0),
                own: 0,
            };
            self.value("scan", allowed, value)?;
            rank += 1;
        }
        match self.due.get(met) {
            Some((due, _)) if found.len() < length => {
                let expected = format!("key {}", keys.get(*due).escape_ascii());
                let found = format!("an end after {} pairs", found.len());
                Err(self.wrong("scan", start, expected, found))
            }
            _ => Ok(()),
        }
    }

    fn value(&mut self, operation: &'static str, allowed: Allowed, found: &[u8]) -> Result<()> {
        let Allowed { rank, floor, own } = allowed;
        let newest = self.population.of_rank(rank).1.newest();
        let version = self.population.version_of(rank, found, &mut self.scratch);
        let fits =
            |version: u32| (floor..=newest).contains(&version) && (own == 0 || version != own);
        if version.is_some_and(fits) {
            return Ok(());
        }
        let expected = self.versions(allowed);
        let found = match (version, mark(found)) {
            (Some(version), _) => format!("version {version}"),
            (None, Some((rank, version))) if (rank as usize) < self.population.input.keys.len() => {
                let bytes = bytes(found);
                format!("{bytes}, marked as version {version} of rank {rank}")
            }
            (None, _) => bytes(found),
        };
        Err(self.wrong(operation, rank, expected, found))
    }

    /// The versions that a read may find, for an error message.
    fn versions(&self, allowed: Allowed) -> String {
        let Allowed { rank, floor, own } = allowed;
        let newest = self.population.of_rank(rank).1.newest();
        match own {
            0 => format!("version {floor} to {newest} of rank {rank}"),
            _ => format!(
                "version {floor} to {newest} of rank {rank}, not {own}, which was written later"
            ),
        }
    }

    fn wrong(
        &self,
        operation: &'static str,
        rank: usize,
        expected: String,
        found: String,
    ) -> Error {
        Error::WrongAnswer {
            store: self.name.to_string(),
            operation,
            key: self
                .population
                .input
                .keys
                .get(rank)
                .escape_ascii()
                .to_string(),
            expected,
            found,
        }
    }
}

fn bytes(value: &[u8]) -> String {
    format!("{} bytes \"{}\"", value.len(), value.escape_ascii())
}
