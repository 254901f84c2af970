//! Clones of a `Db` are one store: it is closed by any of them, or when the last one is dropped.

use rhumb::{Db, Error, Options, WriteBatch};

#[test]
fn clones_see_what_each_other_writes() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    let threads: Vec<_> = (0..4u64)
        .map(|thread| {
            let db = db.clone();
            std::thread::spawn(move || {
                let own = db.get_or_create_keyspace("shared").unwrap();
                for n in 0..100u64 {
                    own.put((thread * 100 + n).to_be_bytes(), "1").unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(db.keyspaces(), ["default", "shared"]);
    let shared = db.keyspace("shared").unwrap();
    assert_eq!(shared.iter().unwrap().count(), 400);
    // A batch and a snapshot are of the store, not of the clone that they were made with.
    let other = db.clone();
    let mut batch = WriteBatch::new();
    batch.put(&db, "a", "1").unwrap();
    other.write(batch).unwrap();
    assert!(other.snapshot().contains_key(&db, "a").unwrap());
}

#[test]
fn any_clone_closes_the_store_for_all() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let (second, third) = (db.clone(), db.clone());
    db.put("a", "1").unwrap();
    second.close().unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), "1");
    assert!(matches!(db.put("a", "2"), Err(Error::Closed)));
    let refused = third.get_or_create_keyspace("new").map(|_| ());
    assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
    assert!(matches!(third.close(), Err(Error::Closed)));
    let again = Db::open("store", options.clone());
    assert!(matches!(again, Err(Error::Locked { .. })));
    drop(db);
    let db = Db::open("store", options).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), "1");
}

#[test]
fn the_last_clone_that_is_dropped_closes_the_store() {
    let options = Options::in_memory();
    let mut last = Db::open("store", options.clone()).unwrap();
    for n in 0..10u64 {
        let next = last.clone();
        drop(last);
        next.put(n.to_be_bytes(), "1").unwrap();
        last = next;
    }
    assert!(matches!(
        Db::open("store", options.clone()),
        Err(Error::Locked { .. })
    ));
    drop(last);
    let db = Db::open("store", options).unwrap();
    assert_eq!(db.iter().unwrap().count(), 10);
    assert_eq!(db.stats().unwrap().recovery.torn_bytes, 0);
}

#[test]
fn of_two_that_close_at_once_one_is_told_how_it_went() {
    for _ in 0..50 {
        let db = Db::open("store", Options::in_memory()).unwrap();
        db.put("a", "1").unwrap();
        let other = db.clone();
        let closing = std::thread::spawn(move || other.close());
        let ends = [db.close(), closing.join().unwrap()];
        assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1, "{ends:?}");
        let told = |end: &&Result<(), Error>| matches!(end, Err(Error::Closed));
        assert_eq!(ends.iter().filter(told).count(), 1, "{ends:?}");
    }
}

#[test]
fn a_keyspace_is_created_once_however_many_ask() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let created = db.create_keyspace("there").unwrap();
    created.put("a", "1").unwrap();
    let found = db.get_or_create_keyspace("there").unwrap();
    assert_eq!(found.get("a").unwrap().unwrap(), "1");
    for round in 0..20 {
        let name = format!("new {round}");
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let (db, name) = (&db, &name);
                scope.spawn(move || {
                    let own = db.get_or_create_keyspace(name).unwrap();
                    own.put([thread], "1").unwrap();
                });
            }
        });
        assert_eq!(db.keyspace(&name).unwrap().iter().unwrap().count(), 4);
    }
    let refused = db.get_or_create_keyspace("").unwrap_err();
    assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
    drop((created, found));
    db.close().unwrap();
    let reader = Db::open_read_only("store", options).unwrap();
    assert!(reader.get_or_create_keyspace("there").is_ok());
    assert!(reader.get_or_create_keyspace("nowhere").is_err());
}

/// Threads that create and drop one keyspace meanwhile do not make it fail.
#[test]
fn a_keyspace_that_is_dropped_meanwhile_is_created_again() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..200 {
                        db.get_or_create_keyspace("often").unwrap();
                    }
                })
            })
            .collect();
        while asking.iter().any(|thread| !thread.is_finished()) {
            match db.drop_keyspace("often") {
                Ok(()) | Err(Error::NoSuchKeyspace(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
    });
}
