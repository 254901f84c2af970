//! Keys to look up, and stores that hold them.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use rhumb::{Db, Durability, Options, WriteBatch};

/// The number of keys generated.
pub const COUNT: usize = 200_000;

/// Ascending, distinct keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Uniform integers as 8 big-endian bytes, with values of 64 bytes.
    Uniform,
    /// Uniform integers in 24 decimal digits, with values of 64 bytes.
    Decimal,
    /// Paths of 20 to 40 bytes with long common prefixes, with values of 0 to 99 bytes.
    Paths,
}

impl Shape {
    /// The keys, ascending; the same each time.
    pub fn keys(self) -> Vec<Vec<u8>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(42);
        let mut keys: Vec<Vec<u8>> = (0..COUNT).map(|_| self.key(random.next_u64())).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    fn key(self, number: u64) -> Vec<u8> {
        match self {
            Shape::Uniform => number.to_be_bytes().to_vec(),
            Shape::Decimal => format!("{number:024}").into_bytes(),
            Shape::Paths => {
                let (folder, file) = (number % 600, number >> 32);
                let name = &"libraries-and-manuals"[..(number >> 20) as usize % 20];
                format!("usr/share/{folder}/{name}/{file:x}").into_bytes()
            }
        }
    }

    fn value(self, key: &[u8]) -> Vec<u8> {
        match self {
            Shape::Uniform | Shape::Decimal => vec![7; 64],
            Shape::Paths => vec![7; usize::from(key[key.len() - 1] ^ key[key.len() - 3]) % 100],
        }
    }

    /// A store in memory with all keys, written in random order with `parts` flushes; if `parts` is
    /// 1, compacted as well.
    pub fn store(self, parts: usize) -> Db {
        let options = Options {
            durability: Durability::Buffered,
            ..Options::in_memory()
        };
        let db = Db::open("bench", options).unwrap();
        let keys = shuffled(&self.keys());
        for part in keys.chunks(keys.len().div_ceil(parts)) {
            for some in part.chunks(1_000) {
                let mut batch = WriteBatch::new();
                for key in some {
                    batch.put(&db, key, self.value(key)).unwrap();
                }
                db.write(batch).unwrap();
            }
            db.flush().unwrap();
        }
        if parts == 1 {
            db.compact_range(None, None).unwrap();
        }
        db
    }
}

/// The keys in random order, the same each time.
pub fn shuffled(keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut keys = keys.to_vec();
    for last in (1..keys.len()).rev() {
        keys.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    keys
}

/// Cycles through some things for ever.
pub struct Round<'a, T> {
    things: &'a [T],
    next: usize,
}

impl<'a, T> Round<'a, T> {
    pub fn new(things: &'a [T]) -> Self {
        Round { things, next: 0 }
    }

    #[inline]
    pub fn next(&mut self) -> &'a T {
        let thing = &self.things[self.next];
        self.next += 1;
        if self.next == self.things.len() {
            self.next = 0;
        }
        thing
    }
}
