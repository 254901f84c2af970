//! The model: sorted maps, which are copied for each snapshot.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::generate::{KEYSPACES, SNAPSHOTS};
use super::operation::{Cover, Key, Op, Outcome, Scan, ValueSpec, Write, expected};
use super::settings::keyspace_options;
use rhumb::KeyspaceOptions;

type Map = BTreeMap<Vec<u8>, Arc<Vec<u8>>>;

/// One life of a keyspace: a name that is dropped and created again starts another life.
#[derive(Debug, Clone)]
struct Space {
    life: u64,
    map: Arc<Map>,
    options: KeyspaceOptions,
}

/// The model, whose answers a store must give.
#[derive(Debug)]
pub struct Model {
    spaces: [Option<Space>; KEYSPACES],
    snapshots: [Option<HashMap<u64, Arc<Map>>>; SNAPSHOTS],
    lives: u64,
    read_only: bool,
}

impl Model {
    pub fn new() -> Self {
        let mut model = Model {
            spaces: [const { None }; KEYSPACES],
            snapshots: [const { None }; SNAPSHOTS],
            lives: 0,
            read_only: false,
        };
        model.create(0, KeyspaceOptions::default());
        model
    }

    fn create(&mut self, n: usize, options: KeyspaceOptions) {
        self.lives += 1;
        let (life, map) = (self.lives, Arc::default());
        self.spaces[n] = Some(Space { life, map, options });
    }

    pub fn run(&mut self, op: &Op) -> Outcome {
        self.answer(op)
            .unwrap_or_else(|why| Outcome::Failed(why.to_string()))
    }

    fn space(&self, n: usize) -> Result<&Space, &'static str> {
        self.spaces[n].as_ref().ok_or("NoSuchKeyspace")
    }

    fn writable(&self) -> Result<(), &'static str> {
        if self.read_only {
            Err("ReadOnly")
        } else {
            Ok(())
        }
    }

    fn answer(&mut self, op: &Op) -> Result<Outcome, &'static str> {
        match op {
            Op::One(write) => self.write(std::slice::from_ref(write))?,
            Op::Batch(_, writes) => self.write(writes)?,
            Op::Ingest(n, _, entries) => {
                self.space(*n)?;
                let change = |(key, value): &(Key, Option<ValueSpec>)| match value {
                    Some(value) => Write::Put(*n, key.clone(), *value),
                    None => Write::Delete(*n, key.clone()),
                };
                let writes: Vec<Write> = entries.iter().map(change).collect();
                self.write(&writes)?;
            }
            Op::Get(n, snapshot, key) => {
                let map = self.seen(*n, *snapshot)?;
                return Ok(Outcome::Value(map.get(&key.0).map(|v| v.to_vec())));
            }
            Op::MultiGet(n, keys) => {
                let map = &self.space(*n)?.map;
                let value = |key: &super::operation::Key| map.get(&key.0).map(|v| v.to_vec());
                return Ok(Outcome::Values(keys.iter().map(value).collect()));
            }
            Op::Contains(n, key) => {
                return Ok(Outcome::Is(self.space(*n)?.map.contains_key(&key.0)));
            }
            Op::Scan(scan) => return self.scan(scan),
            Op::TakeSnapshot(slot) => {
                let spaces = self.spaces.iter().flatten();
                let maps = spaces.map(|s| (s.life, s.map.clone())).collect();
                self.snapshots[*slot] = Some(maps);
            }
            Op::DropSnapshot(slot) => self.snapshots[*slot] = None,
            Op::Flush(n) | Op::Compact(n, _, _) => {
                self.space(*n)?;
                self.writable()?;
            }
            Op::Sync => self.writable()?,
            Op::Create(n) => self.create_new(*n, KeyspaceOptions::default())?,
            Op::CreateWith(n, number) => self.create_new(*n, keyspace_options(*number))?,
            Op::SetOptions(n, number) => {
                self.space(*n)?;
                self.writable()?;
                let space = self.spaces[*n].as_mut().ok_or("NoSuchKeyspace")?;
                space.options = keyspace_options(*number);
            }
            Op::Ends(n, snapshot) => {
                let map = self.seen(*n, *snapshot)?;
                let ends = [map.first_key_value(), map.last_key_value()].into_iter();
                let ends = ends.flatten().map(|(k, v)| (k.clone(), v.to_vec()));
                return Ok(Outcome::Many(vec![
                    Outcome::Entries(ends.collect()),
                    Outcome::Is(map.is_empty()),
                    Outcome::Is(true),
                ]));
            }
            Op::Swap(n, key, right, new) => return self.swap(*n, key, *right, *new),
            Op::DeletePrefix(n, prefix) => self.delete_prefix(*n, &prefix.0)?,
            Op::Clear(n) => self.delete_prefix(*n, &[])?,
            Op::Options(n) => return Ok(Outcome::Set(self.space(*n)?.options.clone())),
            Op::Drop(n) => {
                self.writable()?;
                if *n == 0 {
                    return Err("InvalidArgument");
                }
                self.space(*n)?;
                self.spaces[*n] = None;
            }
            Op::Reopen(_) => self.snapshots = [const { None }; SNAPSHOTS],
            Op::ReadOnly(reads) => {
                self.snapshots = [const { None }; SNAPSHOTS];
                self.read_only = true;
                let outcomes = reads.iter().map(|op| self.run(op)).collect();
                self.read_only = false;
                return Ok(Outcome::Many(outcomes));
            }
        }
        Ok(Outcome::Done)
    }

    fn create_new(&mut self, n: usize, options: KeyspaceOptions) -> Result<(), &'static str> {
        self.writable()?;
        if self.spaces[n].is_some() {
            return Err("KeyspaceExists");
        }
        self.create(n, options);
        Ok(())
    }

    /// The map of a keyspace, now or in a snapshot. A keyspace created after the snapshot is empty
    /// in it. A snapshot that was not taken stands for the present.
    fn seen(&self, n: usize, snapshot: Option<usize>) -> Result<Arc<Map>, &'static str> {
        let space = self.space(n)?;
        Ok(match snapshot.and_then(|s| self.snapshots[s].as_ref()) {
            Some(lives) => lives.get(&space.life).cloned().unwrap_or_default(),
            None => space.map.clone(),
        })
    }

    fn write(&mut self, writes: &[Write]) -> Result<(), &'static str> {
        for write in writes {
            let (Write::Put(n, ..) | Write::Delete(n, _) | Write::DeleteRange(n, ..)) = write;
            self.space(*n)?;
        }
        self.writable()?;
        for write in writes {
            let (Write::Put(n, ..) | Write::Delete(n, _) | Write::DeleteRange(n, ..)) = write;
            let Some(space) = &mut self.spaces[*n] else {
                continue;
            };
            let map = Arc::make_mut(&mut space.map);
            match write {
                Write::Put(_, key, value) => {
                    map.insert(key.0.clone(), Arc::new(value.expand()));
                }
                Write::Delete(_, key) => {
                    map.remove(&key.0);
                }
                Write::DeleteRange(_, from, to) => {
                    map.retain(|key, _| *key < from.0 || *key >= to.0);
                }
            }
        }
        Ok(())
    }

    fn swap(
        &mut self,
        n: usize,
        key: &Key,
        right: bool,
        new: Option<ValueSpec>,
    ) -> Result<Outcome, &'static str> {
        let current = self.space(n)?.map.get(&key.0).map(|v| v.to_vec());
        self.writable()?;
        if expected(current.clone(), right) != current {
            return Ok(Outcome::Value(current));
        }
        let key = key.clone();
        self.write(&[match new {
            Some(value) => Write::Put(n, key, value),
            None => Write::Delete(n, key),
        }])?;
        Ok(Outcome::Done)
    }

    fn delete_prefix(&mut self, n: usize, prefix: &[u8]) -> Result<(), &'static str> {
        self.space(n)?;
        self.writable()?;
        let space = self.spaces[n].as_mut().ok_or("NoSuchKeyspace")?;
        Arc::make_mut(&mut space.map).retain(|key, _| !key.starts_with(prefix));
        Ok(())
    }

    fn scan(&mut self, scan: &Scan) -> Result<Outcome, &'static str> {
        let map = self.seen(scan.keyspace, scan.snapshot)?;
        let inside = |key: &[u8]| match &scan.cover {
            Cover::All => true,
            Cover::Prefix(prefix) => key.starts_with(&prefix.0),
            Cover::Range(from, to) => {
                (match from {
                    Bound::Included(from) => key >= from.0.as_slice(),
                    Bound::Excluded(from) => key > from.0.as_slice(),
                    Bound::Unbounded => true,
                }) && (match to {
                    Bound::Included(to) => key <= to.0.as_slice(),
                    Bound::Excluded(to) => key < to.0.as_slice(),
                    Bound::Unbounded => true,
                })
            }
        };
        let mut left: VecDeque<_> = map.iter().filter(|(key, _)| inside(key)).collect();
        let mut entries = Vec::new();
        let mut outcomes = Vec::new();
        let (after, between) = &scan.between;
        for (step, front) in scan.walk.steps().enumerate() {
            if step == *after {
                outcomes.extend(between.iter().map(|op| self.run(op)));
            }
            let entry = if front {
                left.pop_front()
            } else {
                left.pop_back()
            };
            match entry {
                Some((key, value)) => entries.push((key.clone(), value.to_vec())),
                None if step >= *after => break,
                None => {}
            }
        }
        outcomes.push(Outcome::Entries(entries));
        Ok(Outcome::Many(outcomes))
    }
}
