//! Ends the process where a call never returns. Nothing else is decided by time.
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Far more than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// While it lives, whoever works reports from time to time, or the process ends.
pub struct Watchdog(Sender<String>);

impl Watchdog {
    /// Watches `work` from now on.
    pub fn new(work: impl Into<String>) -> Self {
        let (sender, receiver) = channel::<String>();
        let mut work = work.into();
        std::thread::spawn(move || {
            loop {
                match receiver.recv_timeout(PATIENCE) {
                    Ok(next) => work = next,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        eprintln!("no end after {PATIENCE:?}: {work}");
                        std::process::exit(101);
                    }
                }
            }
        });
        Watchdog(sender)
    }

    /// Says what is done now, and that all before it ended.
    pub fn now(&self, work: impl Into<String>) {
        // The other end is there as long as this one.
        let _ = self.0.send(work.into());
    }
}
