//! Progress on the standard error, if it is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rhumb::inspect::VerifyProgress;

/// A count of entries and their rate; `noun` names them.
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

/// A bar over a number of bytes, with a message.
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

/// Shows the progress of a check of a store.
pub fn show(bar: &ProgressBar, at: &VerifyProgress<'_>) {
    bar.set_length(at.bytes);
    bar.set_position(at.bytes_done);
    bar.set_message(at.file.display().to_string());
}
