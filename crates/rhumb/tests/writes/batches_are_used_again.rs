//! A batch that is written by reference keeps its operations until it is cleared, and writes the same again.

use rhumb::{Db, Error, Options, WriteBatch};

fn open() -> Db {
    Db::open("store", Options::in_memory()).unwrap()
}

#[test]
fn a_cleared_batch_is_as_good_as_new() {
    let (used, fresh) = (open(), open());
    let mut again = WriteBatch::new();
    for round in 0..50u64 {
        again.clear();
        assert!(again.is_empty());
        assert_eq!((again.len(), again.bytes()), (0, 0));
        let mut new = WriteBatch::new();
        for (db, batch) in [(&used, &mut again), (&fresh, &mut new)] {
            for n in 0..round % 7 {
                let key = (round * n % 31).to_be_bytes();
                batch.put(db, key, round.to_be_bytes()).unwrap();
            }
            batch.delete(db, (round % 5).to_be_bytes()).unwrap();
        }
        assert_eq!((again.len(), again.bytes()), (new.len(), new.bytes()));
        used.write(&again).unwrap();
        fresh.write(new).unwrap();
    }
    let entries = |db: &Db| {
        let pairs = db.iter().unwrap().map(|entry| entry.unwrap());
        let pairs = pairs.map(|(key, value)| (key.to_vec(), value.to_vec()));
        pairs.collect::<Vec<_>>()
    };
    assert!(!entries(&used).is_empty());
    assert_eq!(entries(&used), entries(&fresh));
    let bytes = |db: &Db| db.stats().unwrap().writes.user_bytes;
    assert_eq!(bytes(&used), bytes(&fresh));
}

#[test]
fn a_batch_that_is_not_cleared_writes_the_same_again() {
    let db = open();
    let mut batch = WriteBatch::new();
    batch.put(&db, "a", "1").unwrap();
    batch.delete(&db, "b").unwrap();
    db.write(&batch).unwrap();
    assert_eq!(batch.len(), 2);
    db.put("a", "2").unwrap();
    db.put("b", "2").unwrap();
    batch.put(&db, "c", "1").unwrap();
    db.write(&batch).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), "1");
    assert!(!db.contains_key("b").unwrap());
    assert!(db.contains_key("c").unwrap());
}

/// What was refused is there to be written once that is possible, and a cleared batch belongs to no store.
#[test]
fn a_refused_batch_is_kept() {
    let (db, other) = (open(), open());
    let mut batch = WriteBatch::new();
    batch.put(&db, "a", "1").unwrap();
    let refused = other.write(&batch).unwrap_err();
    assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
    db.write(&batch).unwrap();
    assert!(db.contains_key("a").unwrap());
    batch.clear();
    batch.put(&other, "a", "2").unwrap();
    other.write(&batch).unwrap();
    assert_eq!(other.get("a").unwrap().unwrap(), "2");
}
