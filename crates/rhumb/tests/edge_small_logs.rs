//! Stores that are opened and closed often.

use rhumb::{Db, Options};

#[test]
fn logs_of_many_short_lives_do_not_pile_up() {
    let options = Options::in_memory();
    for life in 0..40u32 {
        let db = Db::open("db", options.clone()).unwrap();
        db.put(life.to_be_bytes(), "value").unwrap();
        db.close().unwrap();
    }
    let names = options.file_system.list("db".as_ref()).unwrap();
    let logs = names.iter().filter(|name| name.ends_with(".log")).count();
    assert!(logs <= 9, "{logs} logs");
    let db = Db::open("db", options).unwrap();
    assert_eq!(db.iter().unwrap().count(), 40);
}
