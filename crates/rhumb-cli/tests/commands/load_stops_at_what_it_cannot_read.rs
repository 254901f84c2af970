//! A malformed line is one error that names the line; entries before it are kept, entries after it
//! are not loaded.

use crate::common::Shell;

/// Loads a file whose third entry cannot be read.
fn third_is_bad(name: &str, bytes: impl AsRef<[u8]>, place: &str) {
    let shell = Shell::new();
    shell.file(name, bytes);
    let format = match name {
        "a.tsv" => "tsv",
        "a.jsonl" => "jsonl",
        "a_uint64" => "sosd",
        "a.txt" => "lines",
        _ => "last-blank",
    };
    let error = shell.fails(1, &["load", "--db", "db", "--format", format, name]);
    assert!(error.contains(place), "{error}");
    assert!(error.contains("2 entries before it"), "{error}");
    assert_eq!(shell.ok_text(&["scan", "--db", "db"]).lines().count(), 2);
}

#[test]
fn malformed_lines_are_named() {
    third_is_bad(
        "a.tsv",
        "a\t1\nb\t2\nno tab\nc\t3\n",
        "line 3 of a.tsv has no tab",
    );
    third_is_bad(
        "a.tsv",
        "a\t1\nb\t2\nc\t\\y\nd\t3\n",
        "line 3 of a.tsv is malformed",
    );
    third_is_bad(
        "Contents-x",
        "a 1\nb 2\nnone\nc 3\n",
        "line 3 of Contents-x",
    );
    let good = "{\"key\":\"a\",\"value\":\"\"}\n{\"key\":\"b\",\"value\":\"\"}\n";
    for bad in [
        "{",
        "[]",
        "{\"key\":\"c\"}",
        "{\"key\":1,\"value\":\"\"}",
        "",
    ] {
        third_is_bad(
            "a.jsonl",
            format!("{good}{bad}\n{good}"),
            "line 3 of a.jsonl",
        );
    }
}

#[test]
fn a_key_that_is_too_long_is_named() {
    let long = "k".repeat(70_000);
    third_is_bad("a.txt", format!("a\nb\n{long}\nc\n"), "line 3 of a.txt");
}

#[test]
fn a_cut_or_overlong_sosd_file_is_named() {
    let mut bytes = 3u64.to_le_bytes().to_vec();
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(2u64.to_le_bytes());
    bytes.extend([0; 5]);
    third_is_bad("a_uint64", &bytes, "key 3 of 3 of a_uint64 is missing");
    bytes[0] = 2;
    third_is_bad(
        "a_uint64",
        &bytes,
        "key 2 of a_uint64 is the last according to the count",
    );
}

#[test]
fn a_damaged_gz_is_named() {
    let shell = Shell::new();
    shell.file("a.txt.gz", b"not compressed");
    let error = shell.fails(1, &["load", "--db", "db", "--format", "lines", "a.txt.gz"]);
    assert!(error.contains("a.txt.gz cannot be read"), "{error}");
}
