//! The bytes of an index.
#![allow(
    unsafe_code,
    reason = "owned and borrowed bytes are read in the same way, without a branch or a call in each \
              look-up, and one buffer serves several structures"
)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::slice;
use std::sync::Arc;

/// The bytes of a byte form, in place: owned, borrowed for `'a`, or shared with their owner, such
/// as a mapped file.
///
/// Dereferences to `[u8]`. Clones and parts share the bytes; nothing is copied.
///
/// ```
/// use rhumb_index::ByteForm;
///
/// let owned = ByteForm::from(vec![1, 2, 3]);
/// assert_eq!(*owned, [1, 2, 3]);
/// let array = [4, 5, 6];
/// let borrowed = ByteForm::from(&array[..]);
/// assert_eq!(borrowed[1], 5);
/// // A memory map is passed like this array: any type that owns and gives bytes.
/// let shared = ByteForm::from_owner([7, 8, 9]);
/// assert_eq!(shared.part(1..3).as_deref(), Some(&[8, 9][..]));
/// ```
#[derive(Clone)]
pub struct ByteForm<'a> {
    start: *const u8,
    len: usize,
    /// Keeps the bytes at `start` alive and unchanged; `None` if they are borrowed for `'a`.
    owner: Option<Arc<dyn Send + Sync>>,
    borrowed: PhantomData<&'a [u8]>,
}

// SAFETY: equivalent to a `&'a [u8]`, or to a slice of an owner that is `Send` and `Sync`.
unsafe impl Send for ByteForm<'_> {}
// SAFETY: as above; it only gives out shared references to the bytes.
unsafe impl Sync for ByteForm<'_> {}

impl<'a> ByteForm<'a> {
    /// Takes an owner of bytes, such as a memory map, and keeps it until the last clone or part is
    /// dropped.
    ///
    /// `AsRef::as_ref` is called once. The bytes must not change while the owner lives: for a
    /// mapped file, the `unsafe` constructors of memory maps require this of their callers.
    pub fn from_owner<T: AsRef<[u8]> + Send + Sync + 'static>(owner: T) -> ByteForm<'a> {
        let owner = Arc::new(owner);
        let bytes: &[u8] = (*owner).as_ref();
        ByteForm {
            start: bytes.as_ptr(),
            len: bytes.len(),
            owner: Some(owner),
            borrowed: PhantomData,
        }
    }

    /// The bytes of a range, sharing the owner; `None` if the range is out of bounds.
    pub fn part(&self, range: Range<usize>) -> Option<ByteForm<'a>> {
        let part = self.get(range)?;
        Some(ByteForm {
            start: part.as_ptr(),
            len: part.len(),
            owner: self.owner.clone(),
            borrowed: PhantomData,
        })
    }
}

impl Default for ByteForm<'_> {
    fn default() -> Self {
        (&[][..]).into()
    }
}

impl Deref for ByteForm<'_> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `len` come from a slice that lives as long as `'a`, or as the owner,
        // which is never given out nor dropped before `self`. Neither changes the bytes meanwhile,
        // since the slice was borrowed from it.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

impl<'a> From<&'a [u8]> for ByteForm<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        ByteForm {
            start: bytes.as_ptr(),
            len: bytes.len(),
            owner: None,
            borrowed: PhantomData,
        }
    }
}

impl<'a> From<&'a Vec<u8>> for ByteForm<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<Vec<u8>> for ByteForm<'_> {
    fn from(mut bytes: Vec<u8>) -> Self {
        bytes.shrink_to_fit();
        ByteForm::from_owner(bytes)
    }
}

impl fmt::Debug for ByteForm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = match self.owner {
            Some(_) => "shared",
            None => "borrowed",
        };
        write!(f, "{} {kept} bytes", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// An owner that counts how many owners were dropped.
    struct Counted(Box<[u8]>, Arc<AtomicUsize>);

    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fill(0xdd);
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn an_owner_lives_as_long_as_the_last_part() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let whole = ByteForm::from_owner(Counted(Box::new([1, 2, 3, 4]), dropped.clone()));
        let part = whole.part(1..3).unwrap();
        assert!(whole.part(3..5).is_none());
        drop(whole);
        let clone = part.clone();
        let moved = std::thread::spawn(move || {
            assert_eq!(*part, [2, 3]);
            drop(part);
        });
        moved.join().unwrap();
        assert_eq!((&*clone, dropped.load(Ordering::SeqCst)), (&[2, 3][..], 0));
        drop(clone);
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn owned_bytes_are_not_copied() {
        let bytes = vec![5; 100];
        let start = bytes.as_ptr();
        let form = ByteForm::from(bytes);
        assert_eq!(form.as_ptr(), start);
        assert_eq!(form.part(10..20).unwrap().as_ptr(), form[10..].as_ptr());
        assert_eq!(&*ByteForm::from(Vec::new()), b"");
    }
}
