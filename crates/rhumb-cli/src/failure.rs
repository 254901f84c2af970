//! How a command ends when it does not succeed.

use std::io;
use std::process::ExitCode;

/// What went wrong, as one sentence.
#[derive(Debug)]
pub enum Failure {
    /// Something was not found or failed: exit code 1.
    Failed(String),
    /// The command was called wrongly: exit code 2.
    Usage(String),
    /// Whoever read the output has seen enough (`rhumb scan | head`): a quiet end.
    BrokenPipe,
}

impl Failure {
    /// Prints the sentence to the standard error and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Failed(sentence) => {
                complain(&sentence);
                ExitCode::from(1)
            }
            Failure::Usage(sentence) => {
                complain(&sentence);
                ExitCode::from(2)
            }
            Failure::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

/// Prints one line to the standard error; a closed standard error is nobody's loss.
pub fn complain(sentence: &str) {
    use io::Write;
    let _ = writeln!(io::stderr(), "rhumb: {sentence}");
}

impl From<rhumb::Error> for Failure {
    fn from(error: rhumb::Error) -> Self {
        Failure::Failed(error.to_string())
    }
}

/// The only plain I/O errors that travel by `?` are those of the standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::BrokenPipe;
        }
        Failure::Failed(format!("cannot write to the standard output: {error}"))
    }
}
