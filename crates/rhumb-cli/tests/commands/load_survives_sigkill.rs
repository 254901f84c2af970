//! A load that was killed can be run again.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{Random, Shell};

#[test]
fn killed_in_the_middle_then_loaded_again_equals_the_sorted_input() {
    let seed = 7;
    println!("seed {seed}");
    let mut random = Random(seed);
    let words: Vec<String> = (0..60_000)
        .map(|_| format!("{:016x}", random.next()))
        .collect();
    let sorted: BTreeSet<&str> = words.iter().map(String::as_str).collect();
    let shell = Shell::new();
    let load = ["load", "--db", "db", "--format", "lines"];
    let mut child = shell
        .command(&[&load[..], &["-"]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The pipe stays open, so that the load cannot finish before it is killed.
    let mut stdin = child.stdin.take().unwrap();
    for word in &words[..words.len() / 2] {
        writeln!(stdin, "{word}").unwrap();
    }
    stdin.flush().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    child.kill().unwrap();
    child.wait().unwrap();

    let scan = || shell.ok_text(&["scan", "--db", "db"]);
    let kept = scan();
    let kept: BTreeSet<&str> = kept.lines().map(str::trim_end).collect();
    println!("{} entries kept", kept.len());
    assert!(
        !kept.is_empty(),
        "whole batches were written before the kill"
    );
    // Batches are written in order, so that the kept entries are a prefix of the input.
    let prefix: BTreeSet<&str> = words[..kept.len()].iter().map(String::as_str).collect();
    assert_eq!(kept, prefix);

    shell.file("words", words.join("\n"));
    shell.ok(&[&load[..], &["words"]].concat());
    let all = scan();
    assert!(all.lines().map(str::trim_end).eq(sorted.iter().copied()));
}

/// The bytes of the store's logs; 0 before it is made.
fn log_bytes(shell: &Shell) -> u64 {
    let files = std::fs::read_dir(shell.path("db")).into_iter().flatten();
    let logs = files.flatten().filter(|file| {
        let name = file.file_name();
        name.to_string_lossy().ends_with(".log")
    });
    logs.flat_map(|log| log.metadata()).map(|it| it.len()).sum()
}

#[test]
fn an_interrupted_load_says_what_it_kept() {
    let shell = Shell::new();
    let mut child = shell
        .command(&["load", "--db", "db", "--format", "lines", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines =
        |from: u32, to: u32| -> String { (from..to).map(|i| format!("{i:08}\n")).collect() };
    stdin.write_all(lines(0, 5_500).as_bytes()).unwrap();
    stdin.flush().unwrap();
    // The fifth of its batches of 1,000 keys of 8 bytes is in the log, or on its way there.
    shell.wait_until(|shell| log_bytes(shell) >= 5 * 8_000);
    std::thread::sleep(Duration::from_millis(200));
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap();
    assert!(killed.success());
    std::thread::sleep(Duration::from_millis(300));
    // These lines fill the batch, and the load checks for the signal when the batch is full. It may
    // end before it has read all of them.
    let _ = stdin.write_all(lines(5_500, 9_000).as_bytes());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("stopped after 6,000 entries"), "{error}");
    assert_eq!(
        shell.ok_text(&["scan", "--db", "db"]).lines().count(),
        6_000
    );
}
