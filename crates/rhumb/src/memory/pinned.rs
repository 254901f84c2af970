//! Bytes handed out where they lie, without a copy.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::Arena;
use super::frames::{Bypass, FramePin, PinStock};

/// A range of bytes that keeps the memory it lies in as it is: the frame of a block, or the arena of
/// a memtable. Cloning it copies no bytes, unless there are half a billion clones already.
pub struct Pinned {
    start: *const u8,
    len: usize,
    memory: Memory,
}

/// What the bytes lie in. None of these moves its bytes when it is moved itself.
enum Memory {
    /// Nothing: there are no bytes.
    None,
    /// A frame of the block cache.
    Frame(FramePin),
    /// An arena, which keeps what was appended where it is.
    Arena(Arc<Arena>),
    /// Memory of its own.
    Owned(Arc<OwnedBytes>),
}

// SAFETY: the bytes do not change while `memory` is held, and all that it may be (a pin, an `Arc`) may
// go to any thread and be used by many.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// No bytes, pinning nothing.
    pub(crate) fn empty() -> Self {
        Pinned {
            start: std::ptr::dangling(),
            len: 0,
            memory: Memory::None,
        }
    }

    /// Bytes of a frame.
    ///
    /// # Safety
    /// The `len` bytes at `start` may be read, and do not change, as long as the pin is held.
    #[inline]
    pub(super) unsafe fn in_frame(pin: FramePin, start: *const u8, len: usize) -> Self {
        Pinned {
            start,
            len,
            memory: Memory::Frame(pin),
        }
    }

    /// The `len` bytes at `position` of an arena; none where these are not inside.
    #[inline]
    pub(crate) fn in_arena(arena: Arc<Arena>, position: u64, len: usize) -> Self {
        let bytes = arena.bytes(position, len);
        Pinned {
            start: bytes.as_ptr(),
            len: bytes.len(),
            memory: Memory::Arena(arena),
        }
    }

    /// The `len` bytes at `start` of `memory`; none where these are not inside.
    pub(crate) fn owned(memory: Arc<OwnedBytes>, start: usize, len: usize) -> Self {
        let bytes = part(&memory.bytes, start, len);
        Pinned {
            start: bytes.as_ptr(),
            len: bytes.len(),
            memory: Memory::Owned(memory),
        }
    }

    /// The `len` bytes at `start` of these, with a pin of their own; none, pinning nothing, if these are
    /// not inside.
    #[inline]
    pub(crate) fn part(&self, start: usize, len: usize, pins: &mut Pins) -> Self {
        let bytes = part(self, start, len);
        if bytes.is_empty() {
            return Pinned::empty();
        }
        let Memory::Frame(pin) = &self.memory else {
            return self.clone().into_part(start, len);
        };
        match pin.again_from(&mut pins.0) {
            Some(pin) => Pinned {
                start: bytes.as_ptr(),
                len,
                memory: Memory::Frame(pin),
            },
            None => Pinned::from(bytes.to_vec()),
        }
    }

    /// The `len` bytes at `start` of these, with the pin; none, pinning nothing, if these are not
    /// inside.
    #[inline]
    pub(crate) fn into_part(mut self, start: usize, len: usize) -> Self {
        let bytes = part(&self, start, len);
        if bytes.is_empty() {
            return Pinned::empty();
        }
        (self.start, self.len) = (bytes.as_ptr(), len);
        self
    }
}

/// Pins in stock for many parts of one block, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Pins(PinStock);

impl Pins {
    /// Lets go of them: another block follows, or none.
    pub fn let_go(&mut self) {
        self.0.give_back();
    }
}

#[cfg(test)]
#[cfg(not(loom))]
impl Pinned {
    /// The pin of a frame, if it is one.
    pub(super) fn frame_pin(&self) -> Option<&FramePin> {
        match &self.memory {
            Memory::Frame(pin) => Some(pin),
            _ => None,
        }
    }
}

impl From<Vec<u8>> for Pinned {
    fn from(bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        Pinned::owned(Arc::new(OwnedBytes::new(bytes)), 0, len)
    }
}

#[inline]
fn part(bytes: &[u8], start: usize, len: usize) -> &[u8] {
    let end = start.saturating_add(len);
    bytes.get(start..end).unwrap_or_default()
}

impl Deref for Pinned {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are a part of `memory`, or none; they do not change, and are there, as
        // long as it is held, and it is held as long as the borrow.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Clone for Pinned {
    #[inline]
    fn clone(&self) -> Self {
        let memory = match &self.memory {
            Memory::None => Memory::None,
            Memory::Frame(pin) => match pin.again() {
                Some(pin) => Memory::Frame(pin),
                None => return Pinned::from(self.to_vec()),
            },
            Memory::Arena(arena) => Memory::Arena(Arc::clone(arena)),
            Memory::Owned(owned) => Memory::Owned(Arc::clone(owned)),
        };
        Pinned { memory, ..*self }
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("bytes", &self.len).finish()
    }
}

/// Bytes on the heap that may be pinned.
pub(crate) struct OwnedBytes {
    bytes: Vec<u8>,
    /// Where they are counted until they are dropped.
    counted: Option<Arc<Bypass>>,
}

impl OwnedBytes {
    /// Bytes that nobody counts.
    pub fn new(bytes: Vec<u8>) -> Self {
        let counted = None;
        OwnedBytes { bytes, counted }
    }

    /// Bytes that are counted in `bypass`.
    pub(super) fn counted(bytes: Vec<u8>, bypass: Arc<Bypass>) -> Self {
        let counted = Some(bypass);
        OwnedBytes { bytes, counted }
    }

    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for OwnedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedBytes")
            .field("len", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl Drop for OwnedBytes {
    fn drop(&mut self) {
        if let Some(bypass) = &self.counted {
            bypass.release(self.bytes.len());
        }
    }
}
