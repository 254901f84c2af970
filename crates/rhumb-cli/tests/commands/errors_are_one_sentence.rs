//! Every failure prints one sentence and gives exit code 1 or 2.

use crate::common::Shell;

#[test]
fn wrong_usage_ends_with_2() {
    let shell = Shell::new();
    shell.fails(2, &[]);
    shell.fails(2, &["fly"]);
    shell.fails(2, &["get"]);
    shell.fails(2, &["get", "--db"]);
    shell.fails(2, &["get", "--db", "db", "k", "extra"]);
    shell.fails(2, &["scan", "--db", "db", "--sideways"]);
    shell.fails(2, &["load", "--db", "db", "--format", "xml", "f"]);
    shell.fails(2, &["load", "--db", "db", "--durability", "never", "f"]);
    shell.fails(2, &["load", "--db", "db", "--index", "nonsense", "f"]);
    shell.fails(2, &["keyspace", "list"]);
}

#[test]
fn help_goes_to_the_standard_output() {
    let shell = Shell::new();
    assert!(shell.ok_text(&["--help"]).contains("explain-get"));
    assert!(shell.ok_text(&["load", "--help"]).contains("last-blank"));
    assert!(
        shell
            .ok_text(&["load", "--help"])
            .contains("malformed line")
    );
    assert!(shell.ok_text(&["verify", "--help"]).contains("exit code"));
    assert!(shell.ok_text(&["--version"]).starts_with("rhumb "));
}

#[test]
fn a_missing_store_is_not_created() {
    let shell = Shell::new();
    for command in [
        &["get", "--db", "db", "k"][..],
        &["scan", "--db", "db"],
        &["del", "--db", "db", "k"],
        &["stats", "--db", "db"],
        &["verify", "--db", "db"],
        &["repair", "--db", "db"],
        &["compact", "--db", "db"],
        &["explain-get", "--db", "db", "k"],
        &["keyspace", "list", "--db", "db"],
        &["keyspace", "drop", "--db", "db", "k"],
    ] {
        let error = shell.fails(1, command);
        assert!(
            error.contains("holds no rhumb store"),
            "{command:?}: {error}"
        );
        assert!(!shell.path("db").exists(), "{command:?} made a directory");
    }
}

#[test]
fn a_missing_input_creates_no_store() {
    let shell = Shell::new();
    let error = shell.fails(1, &["load", "--db", "db", "nowhere.txt"]);
    assert!(error.contains("nowhere.txt"), "{error}");
    let error = shell.fails(1, &["load", "--db", "db", "."]);
    assert!(error.contains("cannot open ."), "{error}");
    assert!(!shell.path("db").exists());
    shell.fails(1, &["dump", "nowhere.log"]);
}

#[test]
fn an_absent_key_ends_with_1() {
    let shell = Shell::new();
    shell.ok(&["put", "--db", "db", "k", "v"]);
    let error = shell.fails(1, &["get", "--db", "db", "a\\tb"]);
    assert_eq!(error, "rhumb: key a\\tb is not in keyspace default\n");
}

#[test]
fn commands_report_a_locked_store() {
    use std::process::Stdio;
    let shell = Shell::new();
    let mut load = shell
        .command(&["load", "--db", "db", "--format", "lines", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell.wait_until(|shell| shell.path("db/CURRENT").exists());
    for command in [
        &["get", "--db", "db", "k"][..],
        &["put", "--db", "db", "k", "v"],
        &["verify", "--db", "db"],
        &["repair", "--db", "db"],
    ] {
        let error = shell.fails(1, command);
        assert!(error.contains("is open already"), "{error}");
    }
    drop(load.stdin.take());
    assert!(load.wait().unwrap().success());
    shell.ok(&["scan", "--db", "db"]);
}

#[test]
fn errors_of_a_damaged_store_name_the_remedy() {
    let shell = Shell::new();
    shell.ok(&["put", "--db", "db", "k", "v"]);
    let current = shell.path("db/CURRENT");
    let mut bytes = std::fs::read(&current).unwrap();
    bytes[13] ^= 1;
    std::fs::write(&current, bytes).unwrap();
    for command in [
        &["get", "--db", "db", "k"][..],
        &["put", "--db", "db", "k", "v"],
        &["verify", "--db", "db"],
    ] {
        let error = shell.fails(1, command);
        assert!(
            error.contains("damaged") && error.contains("rhumb repair"),
            "{error}"
        );
    }
    shell.run(&["repair", "--db", "db"]);
    assert_eq!(shell.ok_text(&["get", "--db", "db", "k"]), "v\n");
}

#[test]
fn dump_refuses_files_that_are_not_of_a_store() {
    let shell = Shell::new();
    for (name, bytes) in [
        ("notes", &b"hello, this is no table"[..]),
        ("000001.table", b"short"),
        (
            "000002.log",
            b"neither is this one, though it is long enough to hold a frame header",
        ),
        ("000003.manifest", b""),
        ("empty", b""),
    ] {
        shell.file(name, bytes);
        shell.fails(1, &["dump", name]);
    }
    shell.fails(1, &["dump", "."]);
}
