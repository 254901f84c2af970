//! Keyspaces are listed, created, dropped, and kept apart.

use crate::common::Shell;

#[test]
fn keyspaces_are_kept_apart() {
    let shell = Shell::new();
    shell.ok(&["keyspace", "create", "--db", "db", "users"]);
    shell.ok(&["put", "--db", "db", "--keyspace", "users", "k", "1"]);
    shell.ok(&["put", "--db", "db", "k", "2"]);
    shell.file("x.tsv", "k\t3\n");
    shell.ok(&["load", "--db", "db", "--keyspace", "new", "x.tsv"]);
    assert_eq!(
        shell.ok_text(&["keyspace", "list", "--db", "db"]),
        "default\nnew\nusers\n"
    );
    assert_eq!(shell.ok_text(&["get", "--db", "db", "k"]), "2\n");
    assert_eq!(
        shell.ok_text(&["get", "--db", "db", "--keyspace", "users", "k"]),
        "1\n"
    );
    assert_eq!(
        shell.ok_text(&["scan", "--db", "db", "--keyspace", "new"]),
        "k\t3\n"
    );
    shell.ok(&["keyspace", "drop", "--db", "db", "users"]);
    assert_eq!(
        shell.ok_text(&["keyspace", "list", "--db", "db"]),
        "default\nnew\n"
    );
    let error = shell.fails(1, &["get", "--db", "db", "--keyspace", "users", "k"]);
    assert!(error.contains("no keyspace named \"users\""), "{error}");
    let error = shell.fails(1, &["keyspace", "create", "--db", "db", "new"]);
    assert!(error.contains("exists already"), "{error}");
    shell.fails(1, &["keyspace", "drop", "--db", "db", "users"]);
    shell.fails(1, &["put", "--db", "db", "--keyspace", "users", "k", "1"]);
}

#[test]
fn keyspaces_have_options_of_their_own() {
    let shell = Shell::new();
    let options = || {
        let stats: serde_json::Value =
            serde_json::from_str(&shell.ok_text(&["stats", "--db", "db", "--json"])).unwrap();
        stats["keyspaces"][1]["options"].clone()
    };
    let create = [
        "keyspace",
        "create",
        "--db",
        "db",
        "users",
        "--index",
        "pgm:boundary=8",
    ];
    shell.ok(&create);
    assert_eq!(
        options(),
        serde_json::json!({"index": "pgm:boundary=8", "table": null})
    );
    shell.file("x.tsv", "k\t3\nl\t4\n");
    shell.ok(&["load", "--db", "db", "--keyspace", "users", "x.tsv"]);
    shell.ok(&[
        "keyspace",
        "set",
        "--db",
        "db",
        "users",
        "--table",
        "size=1MiB,filter=3",
    ]);
    let table = "partition=predicted,filter=3,compression=none,size=1048576";
    assert_eq!(
        options(),
        serde_json::json!({"index": null, "table": table})
    );
    let error = shell.fails(2, &["keyspace", "set", "--db", "db", "users"]);
    assert!(error.contains("--index, --table or both"), "{error}");
    assert_eq!(
        options(),
        serde_json::json!({"index": null, "table": table})
    );
    let set = |text: &str, index: &str, table: &str| {
        let mut arguments = vec!["keyspace", "set", "--db", "db", "users"];
        arguments.extend(text.split(' '));
        shell.ok(&arguments);
        let table = format!("partition={table},compression=none,size=67108864");
        assert_eq!(
            options(),
            serde_json::json!({"index": index, "table": table})
        );
    };
    set("--preset doblix", "pla:error=128", "dual(4096),filter=10");
    // What is said beside a preset counts.
    set(
        "--table filter=3 --index rss:over=keys --preset doblix",
        "rss:over=keys",
        "dual(4096),filter=3",
    );
    set(
        "--preset tridentkv --table partition=predicted(32)",
        "rmi:leaves=1000",
        "predicted(32),filter=10",
    );
    shell.ok(&["keyspace", "set", "--db", "db", "users", "--clear"]);
    assert_eq!(options(), serde_json::json!({"index": null, "table": null}));
    let error = shell.fails(1, &["keyspace", "set", "--db", "db", "nobody", "--clear"]);
    assert!(error.contains("no keyspace named \"nobody\""), "{error}");
    shell.fails(
        2,
        &["keyspace", "set", "--db", "db", "users", "--index", "foo"],
    );
    let error = shell.fails(2, &["load", "--db", "db", "--preset", "leveldb", "x.tsv"]);
    assert!(
        error.contains("doblix, bourbon, tridentkv, rocksdb-like"),
        "{error}"
    );
}

#[test]
fn names_cannot_forge_lines_of_the_statistics() {
    let shell = Shell::new();
    shell.ok(&["keyspace", "create", "--db", "db", "a\nkeyspace \u{1b}[1mb"]);
    let text = shell.ok_text(&["stats", "--db", "db"]);
    let names: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("keyspace "))
        .collect();
    assert_eq!(
        names,
        ["keyspace a\\nkeyspace \\u{1b}[1mb", "keyspace default"]
    );
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
}
