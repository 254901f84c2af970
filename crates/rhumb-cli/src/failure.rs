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
    /// The reader of the output closed it (`rhumb scan | head`): the command ends without an error.
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

/// Prints one line to the standard error; failure to print it is ignored.
pub fn complain(sentence: &str) {
    use io::Write;
    let _ = writeln!(io::stderr(), "rhumb: {sentence}");
}

impl From<rhumb::Error> for Failure {
    fn from(error: rhumb::Error) -> Self {
        Failure::Failed(error.to_string())
    }
}

/// Only I/O errors of the standard output are converted by `?`.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::BrokenPipe;
        }
        Failure::Failed(format!("cannot write to the standard output: {error}"))
    }
}
