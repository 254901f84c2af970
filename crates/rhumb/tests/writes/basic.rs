//! The basic operations: write, read, delete, scan and reopen.

use crate::kit::small;
use rhumb::{Db, Durability, WriteBatch};

#[test]
fn what_was_written_is_read_before_and_after_reopening() {
    let options = small();
    let db = Db::open("db", options.clone()).unwrap();
    for i in 0..20_000u32 {
        let mut batch = WriteBatch::new();
        batch
            .put(&db, i.to_be_bytes(), format!("value {i}"))
            .unwrap();
        db.write_with(batch, Durability::Buffered).unwrap();
    }
    for i in (0..20_000u32).step_by(3) {
        db.delete(i.to_be_bytes()).unwrap();
    }
    let check = |db: &Db| {
        for i in 0..20_000u32 {
            let value = db.get(i.to_be_bytes()).unwrap();
            if i % 3 == 0 {
                assert!(value.is_none(), "{i}");
            } else {
                assert_eq!(
                    value.as_deref(),
                    Some(format!("value {i}").as_bytes()),
                    "{i}"
                );
            }
        }
        assert_eq!(db.iter().unwrap().count(), 13_333);
        assert_eq!(db.iter().unwrap().rev().count(), 13_333);
    };
    check(&db);
    db.close().unwrap();
    let db = Db::open("db", options.clone()).unwrap();
    check(&db);
    db.compact_range(None, None).unwrap();
    check(&db);
    let stats = db.stats().unwrap();
    println!("{stats:#?}");
    drop(db);
    let db = Db::open_read_only("db", options).unwrap();
    check(&db);
    assert!(db.put("a", "b").is_err());
}
