//! `--json` prints JSON.

use crate::common::Shell;
use serde_json::{Value, json};

/// The output of a command as JSON; null, which no command prints, if it is not JSON.
fn parse(shell: &Shell, arguments: &[&str]) -> Value {
    serde_json::from_slice(&shell.ok(arguments)).unwrap_or(Value::Null)
}

#[test]
fn json_output_parses() {
    let shell = Shell::new();
    shell.file("x.tsv", "a\\xff\t1\\t2\nb\t\\\"\n".replace("\\\"", "\""));
    let loaded = parse(&shell, &["load", "--db", "db", "--json", "x.tsv"]);
    assert_eq!(loaded["entries"], 2);
    assert_eq!(
        parse(&shell, &["get", "--db", "db", "--json", "a\\xff"]),
        json!({"key": "a\\xff", "value": "1\\t2"})
    );
    let scan = shell.ok_text(&["scan", "--db", "db", "--json"]);
    let lines: Vec<Value> = scan
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines[0], json!({"key": "a\\xff", "value": "1\\t2"}));
    assert_eq!(lines[1], json!({"key": "b", "value": "\""}));
    let stats = parse(&shell, &["stats", "--db", "db", "--json"]);
    assert_eq!(stats["keyspaces"][0]["name"], "default");
    let report = parse(&shell, &["verify", "--db", "db", "--json"]);
    assert_eq!(report["sound"], true);
    let explained = parse(&shell, &["explain-get", "--db", "db", "--json", "b"]);
    assert_eq!(explained["value"], "\"");
    assert!(explained["steps"].is_array());
    let absent = parse(&shell, &["explain-get", "--db", "db", "--json", "c"]);
    assert!(absent["steps"].is_array());
    assert_eq!(absent["value"], Value::Null);
    assert_eq!(
        parse(&shell, &["keyspace", "list", "--db", "db", "--json"]),
        json!(["default"])
    );
}

#[test]
fn text_output_is_not_empty() {
    let shell = Shell::new();
    shell.ok(&["put", "--db", "db", "k", "v"]);
    assert!(
        shell
            .ok_text(&["stats", "--db", "db"])
            .contains("keyspace default")
    );
    assert!(shell.ok_text(&["verify", "--db", "db"]).contains("checked"));
    assert!(
        !shell
            .ok_text(&["explain-get", "--db", "db", "k"])
            .is_empty()
    );
    shell.ok(&["compact", "--db", "db"]);
    assert_eq!(shell.ok_text(&["get", "--db", "db", "k"]), "v\n");
}
