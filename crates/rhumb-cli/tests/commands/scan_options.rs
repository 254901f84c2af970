//! Bounds, prefix, direction and limit of a scan.

use crate::common::Shell;

fn keys(shell: &Shell, options: &[&str]) -> String {
    let text = shell.ok_text(&[&["scan", "--db", "db"], options].concat());
    text.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn bounds_prefix_direction_and_limit_select_entries() {
    let shell = Shell::new();
    shell.file("words.txt", "a\nab\nabc\nb\nba\nc");
    shell.ok(&["load", "--db", "db", "words.txt"]);
    assert_eq!(keys(&shell, &[]), "a ab abc b ba c");
    assert_eq!(keys(&shell, &["--reverse"]), "c ba b abc ab a");
    assert_eq!(keys(&shell, &["--from", "ab", "--to", "ba"]), "ab abc b");
    assert_eq!(keys(&shell, &["--from", "b\\x00"]), "ba c");
    assert_eq!(keys(&shell, &["--to", "ab"]), "a");
    assert_eq!(keys(&shell, &["--prefix", "ab"]), "ab abc");
    assert_eq!(keys(&shell, &["--prefix", "ab", "--reverse"]), "abc ab");
    assert_eq!(keys(&shell, &["--limit", "2"]), "a ab");
    assert_eq!(
        keys(&shell, &["--limit", "2", "--reverse", "--to", "c"]),
        "ba b"
    );
    assert_eq!(keys(&shell, &["--limit", "0"]), "");
    assert_eq!(keys(&shell, &["--prefix", "x"]), "");
    shell.fails(2, &["scan", "--db", "db", "--prefix", "a", "--from", "a"]);
    shell.fails(2, &["scan", "--db", "db", "--limit", "-1"]);
}

#[test]
fn a_closed_pipe_ends_a_scan_quietly() {
    use std::io::Read;
    use std::process::Stdio;
    let shell = Shell::new();
    let words: String = (0..100_000).map(|i| format!("{i:032}\n")).collect();
    shell.file("words.txt", words);
    shell.ok(&["load", "--db", "db", "words.txt"]);
    let mut child = shell
        .command(&["scan", "--db", "db"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
