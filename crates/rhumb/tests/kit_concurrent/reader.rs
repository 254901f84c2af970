//! A thread that reads everything, in every way, while others write.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use rhumb::{DEFAULT_KEYSPACE, Iter, Keyspace, Snapshot};

use super::KEYSPACES;
use super::history::{Clock, KEEPER, WRITERS, within};
use super::load::{Replay, marked, marker_key};
use super::run::{Halt, Run};
use crate::kit::Random;
use crate::kit::oracle::{Content, difference};

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// The most snapshots that a reader keeps.
const MOST_HELD: usize = 3;

impl Run<'_> {
    /// Reads while others write.
    pub fn read(&self, reader: u64) -> Result<(), Halt> {
        let mut random = Random(self.load.seed ^ reader.wrapping_mul(0x7265_6164_6572));
        let mut replay = Replay::new(self.load);
        let mut held: Vec<(Snapshot, Content)> = Vec::new();
        while self.writing() {
            let acknowledged = self.history.acknowledged();
            let snapshot = self.db.snapshot();
            let content = self.attempt(|_| self.content(&snapshot, &mut random.clone()))?;
            random.next();
            self.compare(&mut replay, acknowledged, &content)?;
            held.push((snapshot, content));
            if held.len() > MOST_HELD {
                held.swap_remove(random.below(held.len() as u64) as usize);
            }
            let (snapshot, before) = &held[random.below(held.len() as u64) as usize];
            let again = self.attempt(|_| self.content(snapshot, &mut random.clone()))?;
            if again != *before {
                let difference = difference(before, &again);
                return Err(format!("a snapshot changed\n  {difference}").into());
            }
            self.get_several(&mut replay, &mut random)?;
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks that this is what the writers left after some of their operations.
    fn compare(
        &self,
        replay: &mut Replay,
        acknowledged: Clock,
        content: &Content,
    ) -> Result<(), Halt> {
        let keys = &content[DEFAULT_KEYSPACE];
        let marker = |writer| marked(keys.get(&marker_key(writer)).map(Vec::as_slice));
        self.show(replay, acknowledged, marker)?;
        let expected = replay.content();
        let empty = Entries::new();
        for name in KEYSPACES {
            let (expected, found) = (expected.get(name).unwrap_or(&empty), &content[name]);
            if expected != found {
                let of = |entries: &Entries| Content::from([(name.to_string(), entries.clone())]);
                let difference = difference(&of(expected), &of(found));
                return Err(format!("a snapshot shows what never was\n  {difference}").into());
            }
        }
        Ok(())
    }

    /// Brings `replay` to the operations that markers show, if a moment can show them.
    fn show(
        &self,
        replay: &mut Replay,
        acknowledged: Clock,
        marker: impl Fn(usize) -> usize,
    ) -> Result<(), Halt> {
        let begun = self.history.begun();
        let mut shown: Clock = std::array::from_fn(|actor| match actor {
            KEEPER => acknowledged[KEEPER],
            writer => marker(writer),
        });
        if !within(acknowledged, shown) || !within(shown, begun) {
            let wrong = format!("{acknowledged:?} acknowledged, {shown:?} shown, {begun:?} begun");
            return Err(wrong.into());
        }
        replay.advance(shown)?;
        // Keyspaces are not read here.
        shown[KEEPER] = usize::MAX;
        Ok(self.history.check_writers(shown)?)
    }

    /// Several keys at one moment: as many as the markers among them say.
    fn get_several(&self, replay: &mut Replay, random: &mut Random) -> Result<(), Halt> {
        let acknowledged = self.history.acknowledged();
        let mut keys: Vec<Vec<u8>> = (0..WRITERS).map(marker_key).collect();
        keys.extend((0..20).map(|_| self.load.any_key(random)));
        let values: Vec<Option<Vec<u8>>> = self.attempt(|_| {
            let values = self.db.multi_get(&keys)?;
            Ok(values.into_iter().map(|v| v.map(|v| v.to_vec())).collect())
        })?;
        self.show(replay, acknowledged, |writer| {
            marked(values[writer].as_deref())
        })?;
        for (key, value) in keys.iter().zip(&values) {
            if replay.get(DEFAULT_KEYSPACE, key) != value.as_ref() {
                let key = key.escape_ascii();
                return Err(format!("several keys at once: {key} has another value").into());
            }
        }
        Ok(())
    }

    /// The contents of both keyspaces in a snapshot.
    fn content(&self, snapshot: &Snapshot, random: &mut Random) -> rhumb::Result<Content> {
        let mut content = Content::new();
        for name in KEYSPACES {
            let keyspace = self.db.keyspace(name)?;
            let entries = match random.below(4) {
                0 => self.in_pieces(snapshot, &keyspace, random)?,
                way => collect(snapshot.iter(&keyspace)?, way, random)?,
            };
            content.insert(name.to_string(), entries);
        }
        Ok(content)
    }

    /// Reads a range up to a key, the key, and the range behind it.
    fn in_pieces(
        &self,
        snapshot: &Snapshot,
        keyspace: &Keyspace,
        random: &mut Random,
    ) -> rhumb::Result<Entries> {
        use std::ops::Bound::{Excluded, Unbounded};
        let key = self.load.any_key(random);
        let before = snapshot.range(keyspace, ..key.clone())?;
        let mut all = collect(before, random.below(4), random)?;
        if let Some(value) = snapshot.get(keyspace, &key)? {
            all.insert(key.clone(), value.to_vec());
        }
        let behind = snapshot.range::<Vec<u8>>(keyspace, (Excluded(key), Unbounded))?;
        all.extend(collect(behind, random.below(4), random)?);
        Ok(all)
    }
}

/// Reads forwards, backwards, or from both ends at random.
fn collect(mut iter: Iter<'_>, way: u64, random: &mut Random) -> rhumb::Result<Entries> {
    let (mut front, mut back) = (Vec::new(), Vec::new());
    loop {
        let forwards = match way {
            0 | 1 => true,
            2 => false,
            _ => random.percent(50),
        };
        let entry = match forwards {
            true => iter.next(),
            false => iter.next_back(),
        };
        let Some(entry) = entry.transpose()? else {
            break;
        };
        let entry = (entry.0.to_vec(), entry.1.to_vec());
        if forwards { &mut front } else { &mut back }.push(entry);
    }
    front.extend(back.into_iter().rev());
    let sorted = front.windows(2).all(|pair| pair[0].0 < pair[1].0);
    assert!(sorted, "a scan is not sorted");
    Ok(front.into_iter().collect())
}
