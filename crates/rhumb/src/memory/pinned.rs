//! Bytes handed out where they lie, without a copy.

use std::fmt;
use std::mem;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use super::arena::ChunkMemory;
use super::frames::{Bypass, FramePin, PinStock};

/// A part of bytes outside of the cache keeps all of them in memory if they are at most so many times
/// as many; else the part is copied before it is handed out.
const MOST_KEPT: usize = 2;

/// A range of bytes that keeps the memory it lies in as it is: the frame of a block, or a chunk of
/// a memtable's arena. Cloning it copies no bytes, unless there are half a billion clones already.
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
    /// A chunk of an arena, which keeps what was appended where it is.
    Chunk(Arc<ChunkMemory>),
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

    /// Bytes of an arena's chunk.
    ///
    /// # Safety
    /// They do not change, and are there, as long as `memory` is held.
    #[inline]
    pub(super) unsafe fn in_chunk(memory: Arc<ChunkMemory>, bytes: &[u8]) -> Self {
        Pinned {
            start: bytes.as_ptr(),
            len: bytes.len(),
            memory: Memory::Chunk(memory),
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
            return Pinned {
                start: bytes.as_ptr(),
                len,
                ..self.clone()
            };
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

    /// The `len` bytes at `start` of these, with the pin, as they are handed out; none, pinning nothing, if these are not
    /// inside.
    #[inline]
    pub(crate) fn into_part(mut self, start: usize, len: usize) -> Self {
        let bytes = part(&self, start, len);
        if bytes.is_empty() {
            return Pinned::empty();
        }
        (self.start, self.len) = (bytes.as_ptr(), len);
        self.handed_out()
    }

    /// The same bytes for one who may hold them for long, as a user may: a copy, if they are a small part of what they
    /// lie in, and this is not in the cache.
    #[inline]
    pub(crate) fn handed_out(self) -> Self {
        let Pinned { start, len, memory } = self;
        match memory {
            Memory::Owned(owned) if owned.keeps_too_much(len) => {
                let place = start.addr().wrapping_sub(owned.bytes.as_ptr().addr());
                OwnedBytes::part_alone(owned, place..place.saturating_add(len))
            }
            memory => Pinned { start, len, memory },
        }
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
            Memory::Chunk(chunk) => Memory::Chunk(Arc::clone(chunk)),
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
    /// Where they are counted until they are dropped, if they are.
    counted: OnceLock<Arc<Bypass>>,
}

impl OwnedBytes {
    /// Bytes that are not counted.
    pub fn new(bytes: Vec<u8>) -> Self {
        let counted = OnceLock::new();
        OwnedBytes { bytes, counted }
    }

    /// Counts them in `bypass` from now on, once.
    pub(super) fn count_in(&self, bypass: &Arc<Bypass>) {
        self.counted.get_or_init(|| {
            bypass.take(self.bytes.len());
            Arc::clone(bypass)
        });
    }

    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether they are more than [`MOST_KEPT`] times as many as a part of them. Many such parts that are held, each of other
    /// bytes, would keep all of these.
    fn keeps_too_much(&self, part: usize) -> bool {
        part.saturating_mul(MOST_KEPT) < self.bytes.len()
    }

    /// A copy of a part of these bytes. If nobody else holds these, it takes their place: that spares the counts and the memory of
    /// another owner.
    fn part_alone(mut this: Arc<Self>, place: Range<usize>) -> Pinned {
        let part = this.bytes.get(place).unwrap_or_default().to_vec();
        let len = part.len();
        if let Some(own) = Arc::get_mut(&mut this) {
            let all = mem::replace(&mut own.bytes, part).len();
            if let Some(bypass) = own.counted.get() {
                bypass.release(all - len);
            }
            return Pinned::owned(this, 0, len);
        }
        let mut copy = OwnedBytes::new(part);
        if let Some(bypass) = this.counted.get() {
            bypass.take(len);
            copy.counted = OnceLock::from(Arc::clone(bypass));
        }
        Pinned::owned(Arc::new(copy), 0, len)
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
        if let Some(bypass) = self.counted.get() {
            bypass.release(self.bytes.len());
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::memory::{BlockCache, FrameSlots};

    #[test]
    fn small_parts_of_a_block_without_a_frame_are_handed_out_as_copies() {
        let cache = Arc::new(BlockCache::new(0).unwrap());
        let table = FrameSlots::new(Arc::clone(&cache), 1);
        let bytes: Vec<u8> = (0..1_000).map(|i| i as u8).collect();
        let held = || cache.state().bypassed_bytes;
        let outside = || {
            let bytes = Arc::new(OwnedBytes::new(bytes.clone()));
            table.note_bypass(&bytes);
            Pinned::owned(bytes, 0, 1_000)
        };
        let parts = [
            (0, 0, 0),
            (0, 1, 1),
            (250, 1, 1),
            (501, 499, 499),
            (1, 499, 499),
            (3, 500, 1_000),
            (0, 1_000, 1_000),
        ];
        for (start, len, kept) in parts {
            let whole = outside();
            let own = &bytes[start..start + len];
            let part = whole.part(start, len, &mut Pins::default());
            // Another one still holds the block.
            let other = part.clone().handed_out();
            let pinned = if len == 0 { 0 } else { 1_000 };
            assert_eq!((&*other, held()), (own, 1_000 + kept % 1_000));
            drop((whole, other));
            assert_eq!((&*part, held()), (own, pinned));
            let part = part.handed_out();
            assert_eq!((&*part, held()), (own, kept));
            let again = part.clone();
            drop(part);
            assert_eq!((&*again, held()), (own, kept));
            drop(again);
            assert_eq!(held(), 0);
            let part = outside().into_part(start, len);
            assert_eq!((&*part, held()), (own, kept));
        }
        assert_eq!(
            cache.state().bypassed,
            2 * parts.len() as u64,
            "copies are not blocks"
        );
    }

    #[test]
    fn parts_are_not_copied_before_they_are_handed_out() {
        let whole = Pinned::from(vec![7; 1_000]);
        let part = whole.part(10, 1, &mut Pins::default());
        assert_eq!(part.as_ptr(), whole[10..].as_ptr());
        assert_ne!(part.handed_out().as_ptr(), whole[10..].as_ptr());
    }
}
