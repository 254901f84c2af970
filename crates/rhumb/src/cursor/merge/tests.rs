//! The merge compared with one sorted list of all entries.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::entry::EntryKind;
use crate::entry::cursor_checks::{Key, Model, assert_at, pass, walk};
use crate::error::Error;
use crate::memory::Pinned;
use crate::test_seed::test_seed;

/// A cursor over a sorted list. It fails on the call with which `calls_left` reaches 0.
struct ListCursor {
    entries: Vec<(Key, Pinned)>,
    at: Option<usize>,
    calls_left: usize,
}

impl ListCursor {
    fn new(entries: Vec<(Key, Pinned)>) -> Self {
        ListCursor {
            entries,
            at: None,
            calls_left: usize::MAX,
        }
    }

    fn go(&mut self, at: Option<usize>) -> Result<()> {
        self.at = at.filter(|&at| at < self.entries.len());
        self.calls_left -= 1;
        if self.calls_left == 0 {
            return Err(Error::corruption(Path::new("child"), 0, "an entry", "none"));
        }
        Ok(())
    }

    fn entry(&self) -> Option<&(Key, Pinned)> {
        self.entries.get(self.at?)
    }
}

impl Cursor for ListCursor {
    fn here(&self) -> Option<Here<'_>> {
        self.entry().map(|((key, sequence), _)| Here {
            key,
            sequence: sequence.0,
            kind: EntryKind::Put,
        })
    }

    fn value(&mut self) -> Pinned {
        self.entry().map_or_else(Pinned::empty, |e| e.1.clone())
    }

    fn value_bytes(&self) -> &[u8] {
        self.entry().map_or(&[], |e| &e.1)
    }

    fn seek_first(&mut self) -> Result<()> {
        self.go(Some(0))
    }

    fn seek_last(&mut self) -> Result<()> {
        self.go(self.entries.len().checked_sub(1))
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let target = (key, Reverse(sequence));
        let before = |(k, _): &(Key, Pinned)| (&k.0[..], k.1) < target;
        self.go(Some(self.entries.partition_point(before)))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        let at = self.entries.partition_point(|e| &e.0.0[..] < key);
        self.go(at.checked_sub(1))
    }

    fn next(&mut self) -> Result<()> {
        self.go(self.at.map(|at| at + 1))
    }

    fn prev(&mut self) -> Result<()> {
        self.go(self.at.and_then(|at| at.checked_sub(1)))
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        while self.valid() && self.key() < to && self.sequence() < sequence {
            self.next()?;
        }
        Ok(())
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        while self.valid() && self.key() >= from && self.sequence() < sequence {
            self.prev()?;
        }
        Ok(())
    }
}

/// A value that names its child, to tell copies of an entry apart.
fn mark(child: usize) -> Pinned {
    Pinned::from(vec![child as u8])
}

fn random_key(rng: &mut StdRng) -> Vec<u8> {
    let len = rng.random_range(0..12);
    (0..len).map(|_| rng.random_range(0..2)).collect()
}

/// Children with up to `most` entries each, some of which are in several of them, and the model of
/// their merge.
fn children(rng: &mut StdRng, number: usize, most: usize) -> (Vec<ListCursor>, Model) {
    let mut lists = vec![BTreeMap::new(); number];
    let mut all = Model::new();
    for sequence in 0..(number * most) as u64 {
        let key = (random_key(rng), Reverse(sequence / 2));
        for _ in 0..rng.random_range(1..4) {
            let child = rng.random_range(0..number);
            lists[child].insert(key.clone(), mark(child));
            let (_, newest) = all
                .entry(key.clone())
                .or_insert((EntryKind::Put, vec![child as u8]));
            newest[0] = newest[0].min(child as u8);
        }
    }
    let cursor = |list: BTreeMap<_, _>| ListCursor::new(list.into_iter().collect());
    (lists.into_iter().map(cursor).collect(), all)
}

#[test]
fn the_merge_goes_where_one_sorted_list_does() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for case in 0..300 {
        let number = rng.random_range(1..12);
        let (lists, all) = children(&mut rng, number, [1, 5, 40][case % 3]);
        let mut cursor = MergeCursor::new(lists);
        assert_at(&mut cursor, None);
        for _ in 0..30 {
            let (key, sequence) = (random_key(&mut rng), rng.random_range(0..100));
            walk(&mut rng, &mut cursor, &all, key, sequence);
        }
    }
}

#[test]
fn whole_passes_give_each_entry_once() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let (lists, all) = children(&mut rng, 40, 100);
    let boxed = lists
        .into_iter()
        .map(|list| Box::new(list) as Box<dyn Cursor>);
    let mut cursor = MergeCursor::new(boxed.collect());
    pass(&mut cursor, &all);
}

#[test]
fn no_children_are_no_entries() {
    let mut cursor = MergeCursor::<ListCursor>::new(vec![]);
    cursor.seek_first().unwrap();
    cursor.next().unwrap();
    cursor.seek_before(b"a").unwrap();
    cursor.prev().unwrap();
    assert_at(&mut cursor, None);
}

/// Each call of a child fails once: the error is returned, and the cursor can be positioned anew.
#[test]
fn errors_of_children_come_out() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let (lists, all) = children(&mut rng, 3, 10);
    let mut cursor = MergeCursor::new(lists);
    for fail_at in 1.. {
        for child in &mut cursor.children {
            child.calls_left = usize::MAX;
        }
        cursor.children[1].calls_left = fail_at;
        let mut steps = vec![Direction::Forward; 5];
        steps.extend([Direction::Backward, Direction::Forward, Direction::Backward]);
        let mut result = cursor.seek_first();
        for step in steps {
            result = result.and_then(|()| cursor.step(step));
        }
        if result.is_ok() {
            assert!(fail_at > 4, "the steps call the child that fails");
            break;
        }
        assert!(!cursor.valid());
        cursor.children[1].calls_left = usize::MAX;
        cursor.seek_first().unwrap();
        assert_at(&mut cursor, all.first_key_value());
    }
}

/// A seek to a place further on ends where any other does, and only children that are before it are sought.
#[test]
fn a_seek_on_leaves_alone_what_is_there_already() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let (mut sought, mut left) = (0, 0);
    for _ in 0..300 {
        let number = rng.random_range(1..6);
        let (lists, all) = children(&mut rng, number, 20);
        let mut cursor = MergeCursor::new(lists);
        cursor.seek_first().unwrap();
        let steps = rng.random_range(0..10);
        (0..steps).for_each(|_| cursor.next().unwrap());
        let further = steps + rng.random_range(1..4);
        let Some(((key, sequence), _)) = all.iter().nth(further) else {
            continue;
        };
        let place = (key.clone(), sequence.0 + rng.random_range(0..2));
        let before = |c: &ListCursor| c.here().is_some_and(|here| is_before(here, &place));
        if cursor.here().is_none_or(|here| !is_before(here, &place)) {
            continue;
        }
        let behind: Vec<bool> = cursor.children().map(|c| !before(c)).collect();
        for child in &mut cursor.children {
            child.calls_left = 1_000;
        }
        cursor.seek_on(&place.0, place.1).unwrap();
        for (child, behind) in cursor.children.iter().zip(behind) {
            let calls = 1_000 - child.calls_left;
            assert_eq!(calls, usize::from(!behind));
            (sought, left) = (sought + calls, left + usize::from(behind));
        }
        let expected = all.range((place.0, Reverse(place.1))..).next();
        assert_at(&mut cursor, expected);
    }
    assert!(sought > 100 && left > 100, "{sought} sought, {left} left");
}

fn is_before(here: Here<'_>, place: &(Vec<u8>, Sequence)) -> bool {
    (here.key, Reverse(here.sequence)) < (&place.0, Reverse(place.1))
}
