//! Shows how far a run is, on a terminal only, and ends it on Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

use crate::error::{Error, Result};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C ends the run at its next step, so that temporary files are removed.
///
/// # Errors
/// If the signal cannot be caught.
pub fn catch_interrupts() -> Result<()> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))
        .map_err(|e| Error::Usage(format!("cannot catch Ctrl-C: {e}")))
}

/// One line on standard error, drawn only where that is a terminal. Nothing is drawn from a thread
/// of its own: that would disturb what is measured.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A line that shows nothing yet.
    pub fn new() -> Progress {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{wide_msg} {percent:>3} % {elapsed}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// Starts a stage of `steps` steps.
    pub fn stage(&self, name: String, steps: usize) {
        self.0.reset();
        self.0.set_message(name);
        self.0.set_length(steps as u64);
        self.0.tick();
    }

    /// Ends some steps.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after Ctrl-C.
    pub fn advance(&self, steps: usize) -> Result<()> {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        self.0.inc(steps as u64);
        Ok(())
    }

    /// Removes the line, so that something else can be printed.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}
