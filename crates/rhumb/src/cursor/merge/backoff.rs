//! When to try again what has failed.

/// Says when to try something that fails in streaks: after a failure a number of turns are left out, after each further one twice
/// as many.
pub(super) struct Backoff {
    least: u32,
    most: u32,
    pause: u32,
    left: u32,
}

impl Backoff {
    /// Leaves out so many turns at least and at most.
    pub const fn new(least: u32, most: u32) -> Self {
        Backoff {
            least,
            most,
            pause: 0,
            left: 0,
        }
    }

    /// Whether to try in this turn.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        let is_due = self.left == 0;
        self.left = self.left.saturating_sub(1);
        is_due
    }

    /// Notes a failure.
    pub fn fail(&mut self) {
        self.pause = (2 * self.pause).clamp(self.least, self.most);
        self.left = self.pause;
    }

    /// Notes a success, or forgets failures.
    #[inline]
    pub fn succeed(&mut self) {
        (self.pause, self.left) = (0, 0);
    }
}
