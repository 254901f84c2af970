//! `load` reads the output of `scan`: arbitrary bytes come back unchanged.

use std::collections::BTreeMap;

use crate::common::{Random, Shell};

fn escape(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("\\x{b:02x}")).collect()
}

#[test]
fn scan_then_load_gives_an_equal_scan() {
    let seed = 11;
    println!("seed {seed}");
    let mut random = Random(seed);
    let mut input = String::new();
    let mut expected = BTreeMap::new();
    for _ in 0..3_000 {
        let mut bytes = |limit| -> Vec<u8> {
            let length = random.below(limit);
            (0..length).map(|_| random.next() as u8).collect()
        };
        let (key, value) = (bytes(12), bytes(40));
        input.push_str(&format!("{}\t{}\n", escape(&key), escape(&value)));
        expected.insert(key, value);
    }
    let shell = Shell::new();
    shell.pipe(
        &["load", "--db", "a", "--format", "tsv", "-"],
        input.as_bytes(),
    );
    let first = shell.ok(&["scan", "--db", "a"]);
    shell.pipe(&["load", "--db", "b", "--format", "tsv", "-"], &first);
    let second = shell.ok(&["scan", "--db", "b"]);
    assert!(first == second, "the scans differ");
    assert_eq!(
        first.iter().filter(|b| **b == b'\n').count(),
        expected.len()
    );
    for (key, value) in expected.iter().filter(|(key, _)| !key.is_empty()).take(20) {
        let mut found = shell.ok(&["get", "--db", "b", "--", &escape(key)]);
        assert_eq!(found.pop(), Some(b'\n'));
        assert_eq!(&found, value);
    }
}

#[test]
fn arguments_take_the_same_escapes() {
    let shell = Shell::new();
    shell.ok(&["put", "--db", "db", r"a\tb\\\xff", r"1\n2"]);
    assert_eq!(
        shell.ok_text(&["scan", "--db", "db"]),
        "a\\tb\\\\\\xff\t1\\n2\n"
    );
    assert_eq!(shell.ok(&["get", "--db", "db", r"a\x09b\\\xff"]), b"1\n2\n");
    shell.ok(&["del", "--db", "db", r"a\tb\\\xff"]);
    assert_eq!(shell.ok(&["scan", "--db", "db"]), b"");
    let error = shell.fails(2, &["get", "--db", "db", r"a\q"]);
    assert!(error.contains(r"`\q` is not an escape"), "{error}");
}

#[cfg(unix)]
#[test]
fn arguments_need_not_be_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let shell = Shell::new();
    let put = shell
        .command(&["put", "--db", "db"])
        .arg(std::ffi::OsStr::from_bytes(b"k\xfe"))
        .arg("v")
        .status()
        .unwrap();
    assert!(put.success());
    assert_eq!(shell.ok_text(&["scan", "--db", "db"]), "k\\xfe\tv\n");
}
