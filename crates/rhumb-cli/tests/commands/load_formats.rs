//! Each format is read as documented, and guessed from the name or the first line.

use std::io::Write;

use crate::common::Shell;

/// Loads a file into a new store and returns the scan and the message about the format.
fn load(name: &str, bytes: impl AsRef<[u8]>, extra: &[&str]) -> (String, String) {
    let shell = Shell::new();
    shell.file(name, bytes);
    let output = shell.run(&[&["load", "--db", "db"], extra, &[name]].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    (shell.ok_text(&["scan", "--db", "db"]), error)
}

#[test]
fn lines_are_keys() {
    let (scan, said) = load("words.txt", "b\na c\n\\x\nlast", &[]);
    assert_eq!(scan, "\\\\x\t\na c\t\nb\t\nlast\t\n");
    assert!(said.contains("as lines"), "{said}");
}

#[test]
fn tsv_splits_at_the_first_tab() {
    let (scan, said) = load("table.tsv", "b\t1\t2\na\\x00\t\\\\\n\t9\n", &[]);
    assert_eq!(scan, "\t9\na\\x00\t\\\\\nb\t1\\t2\n");
    assert!(said.contains("as tsv"), "{said}");
}

#[test]
fn contents_files_split_at_the_last_blank() {
    let (scan, said) = load(
        "Contents-amd64",
        "usr/share/a b/c   \t admin/x,y\nbin/ls utils/coreutils\n",
        &[],
    );
    assert_eq!(
        scan,
        "bin/ls\tutils/coreutils\nusr/share/a b/c\tadmin/x,y\n"
    );
    assert!(said.contains("as last-blank"), "{said}");
}

#[test]
fn json_strings_are_plain() {
    let text =
        "{\"key\": \"a\\t\\\\x41\", \"value\": \"\u{e9}\"}\n{\"value\":\"\",\"key\":\"b\"}\n";
    let (scan, said) = load("x.jsonl", text, &[]);
    assert_eq!(scan, "a\\t\\\\x41\t\u{e9}\nb\t\n");
    assert!(said.contains("as jsonl"), "{said}");
}

#[test]
fn sosd_keys_sort_as_numbers() {
    let mut bytes = 3u64.to_le_bytes().to_vec();
    for key in [256u64, 1, u64::MAX] {
        bytes.extend(key.to_le_bytes());
    }
    let (scan, said) = load("fb_3_uint64", bytes, &[]);
    let low = "\\x00".repeat(7);
    let expected = format!(
        "{low}\\x01\t\n{}\\x01\\x00\t\n{}\t\n",
        "\\x00".repeat(6),
        "\\xff".repeat(8)
    );
    assert_eq!(scan, expected);
    assert!(said.contains("as sosd"), "{said}");
}

#[test]
fn the_first_line_decides_where_the_name_implies_nothing() {
    assert_eq!(load("data", "a\tb\n", &[]).0, "a\tb\n");
    assert_eq!(load("data", "a b\nc\td\n", &[]).0, "a b\t\nc\\td\t\n");
    assert_eq!(load("data", "", &[]).0, "");
}

#[test]
fn a_given_format_wins() {
    let (scan, said) = load("data.tsv", "a\tb\n", &["--format", "lines"]);
    assert_eq!(scan, "a\\tb\t\n");
    assert_eq!(said, "");
}

fn gz(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text)?;
    gz.finish()
}

#[test]
fn gz_is_decompressed() {
    // Files may consist of several gzip members.
    let bytes = [gz(b"a 1\n").unwrap(), gz(b"b 2\n").unwrap()].concat();
    assert_eq!(load("Contents-all.gz", bytes, &[]).0, "a\t1\nb\t2\n");
}
