//! What a cursor has lent goes on in the next block, or is given back at the end of this one.

use std::cmp::Reverse;

use rand::SeedableRng;

use super::*;
use crate::entry::{Cursor, Direction, MAX_SEQUENCE};
use crate::error::Error;
use crate::table::{Limits, PlainEntries, Reach, TableCursor};

/// An entry of a model: its key and sequence, its kind and value.
type ModelEntry<'m> = (&'m (Vec<u8>, Reverse<Sequence>), &'m (EntryKind, Vec<u8>));

/// The entries of a model in order, and what a walk over them may not come to.
struct Walk<'m> {
    entries: Vec<ModelEntry<'m>>,
    limit: Option<Vec<u8>>,
    visible: Sequence,
    /// The entry where it stands.
    at: usize,
    /// How often it went into a next block.
    gone_on: usize,
}

impl<'m> Walk<'m> {
    fn limits(&self) -> Limits<'_> {
        [None, self.limit.as_deref(), None]
    }

    /// Whether an entry, which is not the first one, is the newest and a visible version of its key, a put, and below the limit.
    fn is_plain(&self, at: usize) -> bool {
        let ((key, sequence), (kind, _)) = self.entries[at];
        *kind == EntryKind::Put
            && sequence.0 <= self.visible
            && self.entries[at - 1].0.0 != *key
            && self.limit.as_ref().is_none_or(|limit| key < limit)
    }

    /// Steps on to the next entry, which was shown as a plain one.
    fn pass(&mut self, plain: &PlainEntries, key: &[u8]) {
        self.at += 1;
        let ((expected, sequence), (_, value)) = self.entries[self.at];
        assert_eq!((key, plain.value_bytes()), (&expected[..], &value[..]));
        assert_eq!(plain.sequence(), sequence.0);
        assert!(self.is_plain(self.at));
    }

    /// Goes over all that is lent behind the entry where the cursor stands.
    fn go_over_lent(&mut self, cursor: &mut TableCursor) {
        let mut lent = None;
        let reach = Reach {
            direction: Direction::Forward,
            limits: self.limits(),
            visible: self.visible,
            with_values: true,
        };
        cursor.lend(reach, &mut lent);
        let Some(mut plain) = lent else { return };
        let mut key = self.entries[self.at].0.0.clone();
        loop {
            while plain.next(&mut key) {
                self.pass(&plain, &key);
            }
            if plain.extend(self.limits()) {
                continue;
            }
            if !cursor
                .lend_next(&mut plain, self.limits(), &mut key)
                .unwrap()
            {
                break;
            }
            self.gone_on += 1;
            self.pass(&plain, &key);
        }
        cursor.take_back(plain, &key);
    }
}

/// A walk over a whole table, each of whose blocks is taken once. Returns how often what was lent went into the next block, and how
/// often a step did although the entry there is plain.
fn walk(
    table: &Arc<TableReader>,
    model: &Model,
    limit: Option<Vec<u8>>,
    visible: Sequence,
) -> (usize, usize) {
    let mut walk = Walk {
        entries: model.iter().collect(),
        limit,
        visible,
        at: 0,
        gone_on: 0,
    };
    let (mut given_back, mut block) = (0, 0);
    let mut cursor = table.cursor(true);
    cursor.seek_first().unwrap();
    while let Some(here) = cursor.here() {
        let (expected, sequence) = walk.entries[walk.at].0;
        assert_eq!((here.key, here.sequence), (&expected[..], sequence.0));
        let (kind, now) = (here.kind, cursor.block().unwrap());
        if now == block + 1 && walk.at > 0 && walk.is_plain(walk.at) {
            given_back += 1;
        }
        if kind == EntryKind::Put {
            walk.go_over_lent(&mut cursor);
        }
        block = cursor.block().unwrap();
        walk.at += 1;
        cursor.next().unwrap();
    }
    assert_eq!(walk.at, walk.entries.len());
    let trace = cursor.trace();
    let taken = u64::from(trace.blocks_cached + trace.blocks_read);
    assert_eq!(
        taken,
        table.blocks(),
        "a block that was refused is not taken twice"
    );
    (walk.gone_on, given_back)
}

#[test]
fn they_go_on_over_plain_entries_alone() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut gone_on = 0;
    for _ in 0..300 {
        let model = random_model(&mut rng);
        let table = TestTable::new(
            &random_settings(&mut rng, &model),
            &model,
            &RangeDeletes::default(),
        );
        let table = table.open([0, 1 << 20][rng.random_range(0..2)]).unwrap();
        let keys: Vec<&Vec<u8>> = model.keys().map(|(key, _)| key).collect();
        let limit = keys[rng.random_range(0..keys.len())].clone();
        for (limit, visible) in [
            (None, MAX_SEQUENCE),
            (None, rng.random_range(0..100_000)),
            (Some(limit), MAX_SEQUENCE),
        ] {
            gone_on += walk(&table, &model, limit, visible).0;
        }
    }
    assert!(gone_on > 1_000, "{gone_on}");
}

/// Puts of one size, in blocks of 512 bytes.
fn puts() -> (TestTable, Model) {
    let entry = |n: u64| {
        let place = (n.to_be_bytes().to_vec(), Reverse(9));
        (place, (EntryKind::Put, vec![n as u8; 40]))
    };
    let model = (0..500).map(entry).collect();
    let settings = settings("plr", "partition=bytes(512)", &model);
    (
        TestTable::new(&settings, &model, &RangeDeletes::default()),
        model,
    )
}

#[test]
fn one_walk_goes_over_a_whole_table() {
    let (table, model) = puts();
    let table = table.open(1 << 20).unwrap();
    let (gone_on, given_back) = walk(&table, &model, None, MAX_SEQUENCE);
    assert_eq!((gone_on as u64, given_back), (table.blocks() - 1, 0));
}

#[test]
fn they_stay_where_they_are_if_the_next_block_is_damaged() {
    let (test, model) = puts();
    let (start, _) = test.open(0).unwrap().directory.extent(1).unwrap();
    let mut bytes = test.bytes();
    bytes[start as usize + 70] ^= 4;
    test.set_bytes(&bytes);
    let table = test.open(0).unwrap();
    let mut cursor = table.cursor(true);
    cursor.seek_first().unwrap();
    let reach = Reach {
        direction: Direction::Forward,
        limits: [None; 3],
        visible: MAX_SEQUENCE,
        with_values: true,
    };
    let mut lent = None;
    cursor.lend(reach, &mut lent);
    let (mut plain, mut key) = (lent.unwrap(), 0u64.to_be_bytes().to_vec());
    let last = (0..).take_while(|_| plain.next(&mut key)).count();
    let value = model.values().nth(last).unwrap().1.clone();
    for _ in 0..2 {
        let error = cursor.lend_next(&mut plain, [None; 3], &mut key);
        assert!(matches!(error, Err(Error::Corruption { .. })));
        assert_eq!(key, (last as u64).to_be_bytes());
        assert_eq!(plain.value_bytes(), value);
    }
    cursor.take_back(plain, &key);
    assert_eq!(cursor.key(), key);
    assert!(cursor.next().is_err());
}
