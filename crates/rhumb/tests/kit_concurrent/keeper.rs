//! A thread that creates, fills and drops keyspaces, flushes, merges and syncs.

use rhumb::fs::FileSystem;
use rhumb::{Durability, Error, KeyspaceOptions};

use super::KEYSPACES;
use super::history::{ACTORS, Clock, KEEPER};
use super::load::{Load, key};
use super::run::{Halt, Run};
use crate::kit::Random;
use crate::kit::access::write;
use crate::kit::oracle::{Change, Content, Event, Oracle};
use crate::kit::script::value;

/// How the keyspaces that the keeper makes are called.
const PREFIX: &str = "brief";

/// The keyspaces that the keeper made.
pub fn kept(content: &Content) -> Content {
    let mut kept = content.clone();
    kept.retain(|name, _| name.starts_with(PREFIX));
    kept
}

impl Load {
    /// The keeper's operation with this number, if its keyspaces are these.
    pub fn keep(&self, number: usize, kept: &Content) -> (Event, Durability) {
        let mut random = self.random(KEEPER, number);
        let names: Vec<&String> = kept.keys().collect();
        let choice = random.below(100);
        if names.is_empty() || (choice < 20 && names.len() < 4) {
            let name = format!("{PREFIX}{number}");
            let event = Event::Create(name, KeyspaceOptions::default());
            return (event, Durability::Immediate);
        }
        let name = names[random.below(names.len() as u64) as usize].clone();
        if choice < 35 {
            return (Event::Drop(name), Durability::Immediate);
        }
        let length = 9 + random.below(self.value_bytes);
        let put = Change::Put(key(1, 0, random.below(20)), value(&mut random, length));
        let durability = match random.percent(self.buffered_percent) {
            true => Durability::Buffered,
            false => Durability::Immediate,
        };
        (Event::Write(vec![(name, put)]), durability)
    }

    /// Whether there is a number of operations after which the keeper's keyspaces are these, and which is
    /// legal beside `found`, which has the others.
    pub fn find_kept(
        &self,
        content: &Content,
        legal: std::ops::RangeInclusive<usize>,
        is_prefix: impl Fn(usize) -> Result<(), String>,
    ) -> Result<usize, String> {
        let (found, mut oracle) = (kept(content), Oracle::new());
        let mut why = format!("its keyspaces are not those after any of {legal:?} operations");
        for count in 0..=*legal.end() {
            if count > 0 {
                oracle.push(self.keep(count, &kept(&oracle.content)).0);
            }
            if legal.contains(&count) && kept(&oracle.content) == found {
                match is_prefix(count) {
                    Ok(()) => return Ok(count),
                    Err(e) => why = e,
                }
            }
        }
        Err(format!("keeper: {why}"))
    }
}

impl Run<'_> {
    /// Does all that while others write.
    pub fn keep(&self, file_system: &dyn FileSystem) -> Result<(), Halt> {
        let mut random = Random(self.load.seed ^ 0x6b65_6570);
        let mut oracle = Oracle::new();
        while self.writing() {
            let keyspace = KEYSPACES[random.below(2) as usize];
            let acknowledged = self.history.acknowledged();
            match random.below(20) {
                0..8 if oracle.len() < self.load.operations => self.keep_next(&mut oracle)?,
                8..11 => {
                    self.attempt(|_| self.db.keyspace(keyspace)?.flush())?;
                    self.flushed(keyspace, acknowledged);
                }
                11..13 => {
                    let bound =
                        |random: &mut Random| random.percent(50).then(|| self.load.any_key(random));
                    let (from, to) = (bound(&mut random), bound(&mut random));
                    self.attempt(|_| {
                        let keyspace = self.db.keyspace(keyspace)?;
                        keyspace.compact_range(from.as_deref(), to.as_deref())
                    })?;
                    self.flushed(keyspace, acknowledged);
                }
                13..15 => {
                    self.attempt(|_| self.db.sync())?;
                    self.history.make_durable(acknowledged);
                }
                15 => drop(self.attempt(|_| self.db.stats())?),
                16 => drop(file_system.list(crate::kit::dir())),
                _ => {
                    let micros = random.below(300);
                    std::thread::sleep(std::time::Duration::from_micros(micros));
                }
            }
        }
        Ok(())
    }

    /// Every writer sets its marker in the first keyspace with every operation, so that a flush of it makes
    /// all of them durable. The keeper does not.
    fn flushed(&self, keyspace: &str, mut acknowledged: Clock) {
        if keyspace == KEYSPACES[0] {
            acknowledged[KEEPER] = 0;
            self.history.make_durable(acknowledged);
        }
    }

    fn keep_next(&self, oracle: &mut Oracle) -> Result<(), Halt> {
        let refused = self.refused();
        let number = self.history.begin(KEEPER, [0; ACTORS]);
        let (event, durability) = self.load.keep(number, &kept(&oracle.content));
        self.attempt(|tried| match &event {
            Event::Create(name, options) => {
                match self.db.create_keyspace_with(name, options.clone()) {
                    Err(Error::KeyspaceExists(_)) if tried > 0 => Ok(()),
                    made => made.map(drop),
                }
            }
            Event::Drop(name) => match self.db.drop_keyspace(name) {
                Err(Error::NoSuchKeyspace(_)) if tried > 0 => Ok(()),
                done => done,
            },
            Event::Write(changes) => write(self.db, changes, durability),
            Event::Options(..) => Ok(()),
        })?;
        self.acknowledge(KEEPER, durability, refused)?;
        oracle.push(event);
        Ok(())
    }
}
