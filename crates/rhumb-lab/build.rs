//! Compiles the commit into the program, so that every result can name it.

use std::process::Command;

fn main() {
    // Every commit and checkout adds a line to this log, in worktrees too.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed=src");
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12"]);
    let commit = commit.unwrap_or_else(|| "unknown".to_string());
    println!("cargo::rustc-env=RHUMB_LAB_COMMIT={commit}");
}

/// What git prints, or `None` outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}
