//! Shows the progress of a run, and ends the run on Ctrl-C.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use crate::error::{Error, Result};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Installs a handler: Ctrl-C ends the run at its next step, so that temporary files are removed.
///
/// # Errors
/// If the signal cannot be caught.
pub fn catch_interrupts() -> Result<()> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))
        .map_err(|e| Error::Usage(format!("cannot catch Ctrl-C: {e}")))
}

/// One line on standard error, which is drawn again and again if it is a terminal; else a new line
/// every [`INTERVAL`]. It is written by the measuring thread, since a thread of its own would
/// disturb the measurements.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    whole: Mutex<Option<Whole>>,
    /// When the last line was written; none on a terminal.
    lines: Option<Mutex<Instant>>,
}

/// The least time between two lines where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// The progress of a run of many cells.
#[derive(Debug, Clone, Copy)]
struct Whole {
    started: Instant,
    done: usize,
    all: usize,
}

impl Whole {
    /// The number of cells, and the time left if each of the others takes as long as the finished
    /// ones.
    fn text(self) -> String {
        let Whole { started, done, all } = self;
        let left = started.elapsed().as_secs_f64() * (all - done) as f64 / done.max(1) as f64;
        let left = match done {
            0 => "time left unknown".to_string(),
            _ => format!("{} left", HumanDuration(Duration::from_secs_f64(left))),
        };
        format!("cell {} of {all}, {left}: ", (done + 1).min(all))
    }
}

impl Progress {
    /// A line that shows nothing yet.
    pub fn new() -> Progress {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{wide_msg} {percent:>3} % {elapsed}") {
            bar.set_style(style);
        }
        Progress {
            bar,
            whole: Mutex::new(None),
            lines: (!io::stderr().is_terminal()).then(|| Mutex::new(Instant::now())),
        }
    }

    /// Begins a run of `all` cells.
    pub fn begin(&self, all: usize) {
        *self.whole() = Some(Whole {
            started: Instant::now(),
            done: 0,
            all,
        });
    }

    /// Ends a cell of the run.
    pub fn finished(&self) {
        if let Some(whole) = &mut *self.whole() {
            whole.done = (whole.done + 1).min(whole.all);
        }
    }

    fn whole(&self) -> MutexGuard<'_, Option<Whole>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a stage of `steps` steps.
    pub fn stage(&self, name: String, steps: usize) {
        let whole = self.whole().map_or(String::new(), Whole::text);
        self.bar.reset();
        let text = whole + &name;
        if self.is_time_for_a_line() {
            eprintln!("{text}");
        }
        self.bar.set_message(text);
        self.bar.set_length(steps as u64);
        self.bar.tick();
    }

    /// Whether a line is to be written, where there is no terminal.
    fn is_time_for_a_line(&self) -> bool {
        let Some(last) = &self.lines else {
            return false;
        };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = last.elapsed() >= INTERVAL;
        if is_time {
            *last = Instant::now();
        }
        is_time
    }

    /// Ends some steps.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after Ctrl-C.
    pub fn advance(&self, steps: usize) -> Result<()> {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        self.bar.inc(steps as u64);
        Ok(())
    }

    /// Removes the line, so that something else can be printed.
    pub fn clear(&self) {
        *self.whole() = None;
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_at_intervals_where_there_is_no_terminal() {
        let mut progress = Progress::new();
        progress.lines = None;
        assert!(!progress.is_time_for_a_line());
        let now = Instant::now();
        let before = now.checked_sub(INTERVAL).unwrap_or(now);
        progress.lines = Some(Mutex::new(before));
        assert_eq!(progress.is_time_for_a_line(), before < now);
        assert!(!progress.is_time_for_a_line(), "not twice at once");
    }

    #[test]
    fn the_time_left_follows_from_the_cells_that_are_done() {
        let now = Instant::now();
        let started = now.checked_sub(Duration::from_secs(120)).unwrap_or(now);
        let (done, all) = (2, 5);
        let text = Whole { started, done, all }.text();
        assert!(text.starts_with("cell 3 of 5, 3 minutes left"), "{text}");
        let done = 0;
        assert!(Whole { started, done, all }.text().contains("unknown"));
        let done = 5;
        assert!(
            Whole { started, done, all }
                .text()
                .starts_with("cell 5 of 5")
        );
    }
}
