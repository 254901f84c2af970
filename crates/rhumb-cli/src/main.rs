//! The `rhumb` command: load, read, check and repair a rhumb store from a shell.

mod arguments;
mod command;
mod escape;
mod failure;
mod format;
mod input;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::failure::Failure;

/// Load, read, check and repair a rhumb store.
///
/// Keys and values on the command line and in `tsv` files are written with backslash escapes:
/// \t, \n, \r, \\ and \xHH for any byte.
/// The exit code is 0 for success, 1 if something was not found or failed, 2 for wrong usage.
#[derive(Debug, Parser)]
#[command(name = "rhumb", version, verbatim_doc_comment)]
struct Rhumb {
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    let outcome = match Rhumb::try_parse() {
        Ok(rhumb) => rhumb.command.run(),
        Err(error) => usage(&error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints help if it was requested; condenses a usage error to one sentence.
fn usage(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(error.print()?),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(Failure::Usage(
            "a command is missing: run `rhumb --help` for the list".to_string(),
        )),
        _ => {
            let rendered = error.render().to_string();
            let sentence: Vec<&str> = rendered
                .lines()
                .map(str::trim)
                .take_while(|line| !line.is_empty())
                .collect();
            let sentence = sentence.join(" ");
            let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
            Err(Failure::Usage(format!(
                "{sentence} (add `--help` to the command for its arguments)"
            )))
        }
    }
}
