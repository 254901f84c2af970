//! Runs a test of the same binary in a separate process.

use std::process::{Child, Command, Stdio};

/// The environment variable that tells a child its task.
const TASK: &str = "RHUMB_TEST_CHILD";

/// The task of this process, if it is a child started for the test `name`.
pub fn task(name: &str) -> Option<String> {
    let task = std::env::var(TASK).ok()?;
    task.strip_prefix(name)?
        .strip_prefix(' ')
        .map(str::to_string)
}

/// Starts the test `name` in a separate process, with pipes as its input and output.
pub fn start(name: &str, task: &str) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(TASK, format!("{name} {task}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}
