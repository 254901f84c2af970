//! Progress on the standard error, where that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rhumb::inspect::VerifyProgress;

/// Counts entries, with their rate; `noun` says what is counted.
pub fn counter(noun: &str) -> ProgressBar {
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new_spinner(),
        false => return ProgressBar::hidden(),
    };
    style(
        &bar,
        &format!("{{spinner}} {{human_pos}} {noun}, {{per_sec}}, {{elapsed}}"),
    );
    bar
}

/// Fills up to a number of bytes, with a message.
pub fn bytes() -> ProgressBar {
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(0),
        false => return ProgressBar::hidden(),
    };
    style(
        &bar,
        "{bar:24} {bytes} of {total_bytes}, {bytes_per_sec}, {wide_msg}",
    );
    bar
}

fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
}

/// Shows how far a check of a store is.
pub fn show(bar: &ProgressBar, at: &VerifyProgress<'_>) {
    bar.set_length(at.bytes);
    bar.set_position(at.bytes_done);
    bar.set_message(at.file.display().to_string());
}
