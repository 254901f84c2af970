//! Runs the built command in a directory of its own.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A temporary directory with a store named `db` in it.
pub struct Shell {
    dir: TempDir,
}

impl Shell {
    pub fn new() -> Self {
        Shell {
            dir: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Waits ten seconds at most for something.
    pub fn wait_until(&self, is_so: impl Fn(&Shell) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_so(self) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("write a file");
        path
    }

    /// `rhumb ARGUMENTS`, run in the directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rhumb"));
        command.args(arguments).current_dir(self.dir.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("run rhumb")
    }

    /// Runs the command, which must succeed, and returns its standard output.
    pub fn ok(&self, arguments: &[&str]) -> Vec<u8> {
        expect_success(arguments, self.run(arguments))
    }

    pub fn ok_text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.ok(arguments)).expect("the output is text")
    }

    /// Runs the command, which must succeed, with `input` as standard input.
    pub fn pipe(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run rhumb");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().expect("run rhumb");
        writer.join().expect("a writer").expect("write to rhumb");
        expect_success(arguments, output)
    }

    /// Runs the command, which must fail with `code` and one sentence on the standard error, and
    /// returns that sentence.
    pub fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert_eq!(
            error.trim_end().lines().count(),
            1,
            "{arguments:?}: {error}"
        );
        assert!(error.starts_with("rhumb: "), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{arguments:?}: {error}");
        error
    }
}

fn expect_success(arguments: &[&str], output: Output) -> Vec<u8> {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    output.stdout
}

/// A small random number generator; the same seed gives the same numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
