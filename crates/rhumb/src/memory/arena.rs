//! The bytes of one memtable: appended, never moved, and freed with the memtable, except for the chunks in
//! which bytes are pinned.

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
// The standard atomics, not those of `crate::sync`: the loom models check only the blocks, whose
// ordering must not depend on the arena's.
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Pinned;
use crate::sync::{Mutex, MutexGuard, OwnLines, lock};

/// The size of the first chunk; each following chunk is twice as large, up to [`CHUNK_BYTES`]. The
/// first is small because a store may have thousands of nearly empty keyspaces.
const FIRST_CHUNK_BYTES: usize = 4 << 10;
const CHUNK_BYTES: usize = 256 << 10;

/// Longer records get a chunk of their own, so that starting a new chunk wastes at most this many
/// bytes of the last one.
const LARGE_RECORD_BYTES: usize = CHUNK_BYTES / 4;

/// Records start at multiples of this.
const UNIT_BYTES: usize = 8;

/// The low bits of an address: the offset in the chunk, in units. The others are the chunk's
/// number.
const OFFSET_BITS: u32 = (CHUNK_BYTES / UNIT_BYTES).trailing_zeros();
const MOST_CHUNKS: u32 = 1 << (u32::BITS - OFFSET_BITS);

/// The low bits of a position: the offset in the chunk, in bytes. The others are the chunk's
/// number.
const POSITION_OFFSET_BITS: u32 = 40;

/// Chunks are listed in buckets; bucket `b` has `FIRST_BUCKET << b` of them.
const FIRST_BUCKET: u32 = 8;
const BUCKETS: usize = (MOST_CHUNKS / FIRST_BUCKET).ilog2() as usize + 1;

/// Where a record starts: the chunk's number and the offset in the chunk, in units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Address(pub u32);

impl Address {
    fn chunk(self) -> u32 {
        self.0 >> OFFSET_BITS
    }

    fn offset(self) -> usize {
        (self.0 & ((1 << OFFSET_BITS) - 1)) as usize * UNIT_BYTES
    }

    /// The position, for [`Arena::bytes`], of the byte that lies `skip` bytes into the record.
    pub fn position(self, skip: usize) -> u64 {
        (u64::from(self.chunk()) << POSITION_OFFSET_BITS) + (self.offset() + skip) as u64
    }
}

/// An append-only store of byte records. Appending takes a lock; reading takes none.
///
/// It holds up to 131,072 chunks: 32 GiB of records up to 64 KiB, or as many longer records, each
/// in a chunk of its own.
pub(crate) struct Arena {
    buckets: [OnceLock<Box<[Slot]>>; BUCKETS],
    tail: OwnLines<Mutex<Tail>>,
    bytes: AtomicUsize,
}

/// Where the next record will be appended.
struct Tail {
    chunks: u32,
    current: Option<u32>,
    next_chunk_bytes: usize,
}

impl Arena {
    /// An empty arena; allocates nothing yet.
    pub fn new() -> Self {
        Arena {
            buckets: [const { OnceLock::new() }; BUCKETS],
            tail: OwnLines(Mutex::new(Tail {
                chunks: 0,
                current: None,
                next_chunk_bytes: FIRST_CHUNK_BYTES,
            })),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Bytes allocated for records.
    pub fn bytes_allocated(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Waits until no other thread appends, and keeps them from appending as long as it lives.
    pub fn appender(&self) -> Appender<'_> {
        let tail = lock(&self.tail);
        let current = tail.current.and_then(|number| self.chunk(number));
        Appender {
            arena: self,
            current,
            tail,
        }
    }

    /// Appends one record, as [`Appender::append`].
    #[cfg(all(test, not(loom)))]
    pub fn append<const N: usize>(&self, parts: [&[u8]; N]) -> Option<Address> {
        self.appender().append(parts)
    }

    /// Everything appended to a chunk from `address` on, beginning with the record at `address`;
    /// empty if nothing was appended there.
    pub fn record_onwards(&self, address: Address) -> &[u8] {
        self.chunk(address.chunk())
            .and_then(|chunk| chunk.filled().get(address.offset()..))
            .unwrap_or_default()
    }

    /// The `len` bytes at `start`, a position from [`Address::position`]; empty if they do not lie
    /// in the filled part of one chunk. They do not move while the arena lives.
    #[inline]
    pub fn bytes(&self, start: u64, len: usize) -> &[u8] {
        self.find(start, len).map_or(&[], |(_, bytes)| bytes)
    }

    /// The same bytes, pinned: they outlive the arena, and keep one chunk of it in memory.
    #[inline]
    pub fn pin(&self, start: u64, len: usize) -> Pinned {
        let Some((chunk, bytes)) = self.find(start, len) else {
            return Pinned::empty();
        };
        // SAFETY: bytes that a chunk gives out do not change any more, and lie in its memory.
        unsafe { Pinned::in_chunk(Arc::clone(&chunk.owner), bytes) }
    }

    #[inline]
    fn find(&self, start: u64, len: usize) -> Option<(&Chunk, &[u8])> {
        let offset = (start & ((1 << POSITION_OFFSET_BITS) - 1)) as usize;
        let number = u32::try_from(start >> POSITION_OFFSET_BITS).ok();
        let chunk = self.chunk(number.filter(|&number| number < MOST_CHUNKS)?)?;
        let bytes = chunk.filled().get(offset..offset.checked_add(len)?)?;
        Some((chunk, bytes))
    }

    fn add_chunk(&self, tail: &mut Tail, bytes: usize) -> Option<u32> {
        let number = tail.chunks;
        if number >= MOST_CHUNKS {
            return None;
        }
        let (bucket, at, len) = place(number);
        let bucket = self.buckets.get(bucket)?;
        let bucket = bucket.get_or_init(|| (0..len).map(|_| Slot::default()).collect());
        bucket.get(at)?.0.get_or_init(|| Chunk::new(bytes));
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        tail.chunks += 1;
        Some(number)
    }

    fn chunk(&self, number: u32) -> Option<&Chunk> {
        let (bucket, at, _) = place(number);
        self.buckets.get(bucket)?.get()?.get(at)?.0.get()
    }
}

/// The right to append to an arena.
pub(crate) struct Appender<'a> {
    arena: &'a Arena,
    tail: MutexGuard<'a, Tail>,
    /// The chunk that `tail` names.
    current: Option<&'a Chunk>,
}

impl Appender<'_> {
    /// Appends one record, the concatenation of `parts`; `None` if the arena has no chunk left.
    #[inline]
    pub fn append<const N: usize>(&mut self, parts: [&[u8]; N]) -> Option<Address> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let len = len.next_multiple_of(UNIT_BYTES);
        if let (Some(number), Some(chunk)) = (self.tail.current, self.current)
            && let Some(offset) = chunk.append(&parts, len)
        {
            return Some(address(number, offset));
        }
        self.append_to_new_chunk(&parts, len)
    }

    #[inline(never)]
    fn append_to_new_chunk(&mut self, parts: &[&[u8]], len: usize) -> Option<Address> {
        let tail = &mut *self.tail;
        let is_large = len > LARGE_RECORD_BYTES;
        let bytes = match is_large {
            true => len,
            false => tail.next_chunk_bytes.max(len.next_power_of_two()),
        };
        let number = self.arena.add_chunk(tail, bytes)?;
        let chunk = self.arena.chunk(number)?;
        if !is_large {
            tail.next_chunk_bytes = (2 * bytes).min(CHUNK_BYTES);
            tail.current = Some(number);
            self.current = Some(chunk);
        }
        Some(address(number, chunk.append(parts, len)?))
    }
}

fn address(chunk: u32, offset: usize) -> Address {
    Address(chunk << OFFSET_BITS | (offset / UNIT_BYTES) as u32)
}

/// The bucket of a chunk, its index in the bucket, and the bucket's length.
fn place(number: u32) -> (usize, usize, usize) {
    let shifted = number + FIRST_BUCKET;
    let bits = shifted.ilog2();
    let bucket = (bits - FIRST_BUCKET.ilog2()) as usize;
    (bucket, (shifted - (1 << bits)) as usize, 1 << bits)
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes_allocated();
        f.debug_struct("Arena").field("bytes", &bytes).finish()
    }
}

/// A place for a chunk. All that a reader needs of a chunk lies in one cache line, and what is appended to one does not take
/// the others from the caches of readers.
#[derive(Default)]
#[repr(align(64))]
struct Slot(OnceLock<Chunk>);

const _: () = assert!(size_of::<Slot>() == 64, "a chunk has one cache line");

/// Memory that is filled from the front. The first `filled` bytes never change and any thread may
/// read them; only the thread that appends uses the others.
struct Chunk {
    /// The memory of `owner`, kept here too so that reads need not follow the pointer to it.
    memory: NonNull<[u8]>,
    filled: AtomicUsize,
    owner: Arc<ChunkMemory>,
}

/// The memory of a chunk, shared by the arena and the pins of bytes in it.
pub(super) struct ChunkMemory(NonNull<[u8]>);

// SAFETY: it owns its memory, as a `Box<[u8]>` does, and can be sent to any thread with it.
unsafe impl Send for ChunkMemory {}
// SAFETY: by itself it gives no access to the memory.
unsafe impl Sync for ChunkMemory {}

impl Drop for ChunkMemory {
    fn drop(&mut self) {
        // SAFETY: the memory was leaked from a box by `Chunk::new`, and nothing borrows it now: chunks
        // and pins, which borrow it, hold this.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

// SAFETY: a chunk shares the ownership of its memory, which can be sent to any thread.
unsafe impl Send for Chunk {}
// SAFETY: a shared chunk gives access only to its `filled` bytes, which are written before `filled`
// grows over them (release, acquire) and never after. Only one thread appends at a time: `append`
// is private to this module, and its only caller, the `Appender`, holds the lock of `Arena::tail`.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn new(bytes: usize) -> Self {
        let memory = NonNull::from(Box::leak(vec![0; bytes].into_boxed_slice()));
        Chunk {
            memory,
            filled: AtomicUsize::new(0),
            owner: Arc::new(ChunkMemory(memory)),
        }
    }

    fn filled(&self) -> &[u8] {
        let len = self.filled.load(Ordering::Acquire);
        // SAFETY: the first `len` bytes lie in the memory that this chunk owns, were initialised
        // when it was allocated, and are not written any more.
        unsafe { std::slice::from_raw_parts(self.memory.cast::<u8>().as_ptr(), len) }
    }

    /// Appends `parts`, which take `len` bytes with their padding, and returns their offset; `None`
    /// if there is no room. The caller must ensure that no other thread appends at the same time.
    fn append(&self, parts: &[&[u8]], len: usize) -> Option<usize> {
        let start = self.filled.load(Ordering::Relaxed);
        if len > self.memory.len() - start {
            return None;
        }
        // SAFETY: `start + len` is inside the memory. No thread reads at or above `start` before
        // the store below, and no other thread writes there: only one appends at a time.
        let mut room = unsafe {
            std::slice::from_raw_parts_mut(self.memory.cast::<u8>().as_ptr().add(start), len)
        };
        for part in parts {
            let (into, rest) = room.split_at_mut_checked(part.len())?;
            into.copy_from_slice(part);
            room = rest;
        }
        self.filled.store(start + len, Ordering::Release);
        Some(start)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    /// A record whose bytes are all derived from its number.
    fn record(i: usize) -> Vec<u8> {
        let len = match i % 50 {
            0 => 70_000 + i,
            1 => 0,
            n => n * 37,
        };
        (0..len).map(|b| (b * 31 + i * 7) as u8).collect()
    }

    #[test]
    fn records_of_every_size_stay_where_they_are() {
        let arena = Arena::new();
        let mut addresses = Vec::new();
        let mut total = 0;
        for i in 0..2000 {
            let bytes = record(i);
            let (head, tail) = bytes.split_at(bytes.len() / 3);
            addresses.push(arena.append([head, tail]).unwrap());
            total += bytes.len();
        }
        for (i, address) in addresses.into_iter().enumerate() {
            let expected = record(i);
            assert_eq!(arena.record_onwards(address)[..expected.len()], expected);
            let skip = expected.len() / 2;
            let pinned = arena.pin(address.position(skip), expected.len() - skip);
            assert_eq!(*pinned, expected[skip..]);
        }
        assert!((total..total * 5 / 4).contains(&arena.bytes_allocated()));
    }

    #[test]
    fn an_empty_or_small_arena_takes_little() {
        let arena = Arena::new();
        assert_eq!(arena.bytes_allocated(), 0);
        arena.append([b"rhumb"]).unwrap();
        assert_eq!(arena.bytes_allocated(), FIRST_CHUNK_BYTES);
    }

    #[test]
    fn positions_that_were_never_given_out_are_empty() {
        let arena = Arena::new();
        let address = arena.append([b"rhumb"]).unwrap();
        assert_eq!(arena.bytes(address.position(0), 5), b"rhumb");
        assert_eq!(arena.bytes(address.position(0), 9), b"");
        assert_eq!(arena.bytes(address.position(9), 0), b"");
        assert_eq!(arena.bytes(address.position(5), usize::MAX), b"");
        assert_eq!(arena.bytes(u64::MAX, 1), b"");
        assert_eq!(&*arena.pin(address.position(0), 5), b"rhumb");
        assert_eq!(&*arena.pin(address.position(0), 9), b"");
        assert_eq!(&*arena.pin(u64::MAX, 1), b"");
        for address in [1, 1 << OFFSET_BITS, u32::MAX] {
            assert_eq!(arena.record_onwards(Address(address)), b"");
        }
    }

    #[test]
    fn pinned_bytes_outlive_the_arena() {
        let arena = Arena::new();
        let address = arena.append([b"rhumb", b" line"]).unwrap();
        let pinned = arena.pin(address.position(0), 10);
        let again = pinned.clone();
        drop((arena, pinned));
        assert_eq!(&*again, b"rhumb line");
    }

    #[test]
    fn places_follow_each_other() {
        let mut expected = (0, 0);
        for number in 0..MOST_CHUNKS {
            let (bucket, at, len) = place(number);
            assert_eq!((bucket, at), expected);
            assert!(bucket < BUCKETS);
            expected = if at + 1 == len {
                (bucket + 1, 0)
            } else {
                (bucket, at + 1)
            };
        }
    }

    #[test]
    fn readers_see_whole_records_while_others_are_appended() {
        let arena = Arena::new();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..20_000 {
                    sender
                        .send((i, arena.append([&record(i)]).unwrap()))
                        .unwrap();
                }
                drop(sender);
            });
            let mut seen = 0;
            for (i, address) in receiver {
                let expected = record(i);
                assert_eq!(arena.record_onwards(address)[..expected.len()], expected);
                seen += 1;
            }
            assert_eq!(seen, 20_000);
        });
    }
}
