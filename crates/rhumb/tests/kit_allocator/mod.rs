//! The allocator of a test: the system's, counted.
#![allow(dead_code, reason = "each test uses its part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

static ALLOCATED: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: all work is passed to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        FREED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes are counted for the whole process, so that one test of it runs at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// The bytes that all threads have allocated so far.
pub fn allocated() -> u64 {
    ALLOCATED.load(Ordering::Relaxed)
}

/// The bytes that are allocated and not freed, by all threads.
pub fn held_bytes() -> i64 {
    allocated() as i64 - FREED.load(Ordering::Relaxed) as i64
}

/// How often this thread has allocated memory.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}
