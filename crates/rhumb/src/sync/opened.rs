//! What is opened when it is first used.

use super::{Mutex, OnceLock, lock};

/// A value that the first caller opens. Once it is there, callers take no lock.
#[derive(Debug)]
pub(crate) struct Opened<T> {
    value: OnceLock<T>,
    opening: Mutex<()>,
}

impl<T> Default for Opened<T> {
    fn default() -> Self {
        Opened {
            value: OnceLock::new(),
            opening: Mutex::new(()),
        }
    }
}

impl<T> Opened<T> {
    /// One that is open.
    pub fn of(value: T) -> Self {
        Opened {
            value: value.into(),
            opening: Mutex::new(()),
        }
    }

    /// The value, if it is open, to change it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// The value, if it was opened before.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, which the first caller opens while others wait.
    ///
    /// # Errors
    /// Those of `open`; a later call tries again.
    #[inline]
    pub fn get_or_open<E>(&self, open: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.value.get() {
            Some(value) => Ok(value),
            None => self.open(open),
        }
    }

    #[cold]
    fn open<E>(&self, open: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let _one_opener = lock(&self.opening);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = open()?;
        Ok(self.value.get_or_init(|| value))
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_failed_opening_is_tried_again_and_a_good_one_is_kept() {
        let opened = Opened::default();
        assert_eq!(opened.get_or_open(|| Err("missing")), Err("missing"));
        assert_eq!(opened.get(), None);
        assert_eq!(opened.get_or_open(|| Ok::<_, &str>(1)), Ok(&1));
        assert_eq!(opened.get_or_open(|| Err("too late")), Ok(&1));
    }

    #[test]
    fn it_is_opened_once() {
        let (opened, count) = (Opened::default(), std::sync::atomic::AtomicU32::new(0));
        let open = || Ok::<_, ()>(count.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(opened.get_or_open(open), Ok(&0)));
            }
        });
        assert_eq!(count.into_inner(), 1);
    }
}
