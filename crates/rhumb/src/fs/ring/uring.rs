//! Many reads that one system call starts and waits for (io_uring): a device does them together, where threads would
//! sleep and wake for each.

use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use io_uring::{IoUring, Probe, opcode, types};
use rustix::io::Errno;

use super::Part;
use crate::fs::os::{ALIGNMENT, aligned_part};

/// So many reads are under way at a time.
const AT_ONCE: usize = 64;
/// Together they bring about so many bytes at most, or one of them brings more.
const BYTES_AT_ONCE: usize = 1 << 20;
/// So many rings wait for the next to read, at most; with their memory.
const MOST_KEPT: usize = 16;
const MOST_MEMORY: usize = 2 * BYTES_AT_ONCE;

static KEPT: Mutex<Vec<Ring>> = Mutex::new(Vec::new());
/// Whether the system has no rings, does not let this process have one, or failed at one.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Reads parts of files together, and passes each to `arrived` with its place among all. Those that cannot be read
/// like this, or at all, are left out: a read of its own tells why.
pub(crate) fn read_all(parts: &[Part<'_>], mut arrived: impl FnMut(usize, &[u8])) {
    let Some(mut ring) = Ring::take() else {
        return;
    };
    let mut done = 0;
    while let Some(rest) = parts.get(done..).filter(|rest| !rest.is_empty()) {
        let mut sum = 0;
        let together = rest.iter().take(AT_ONCE).take_while(|part| {
            let first = sum == 0;
            sum += part.bytes;
            first || sum <= BYTES_AT_ONCE
        });
        let together = together.count();
        let rest = rest.get(..together).unwrap_or_default();
        if let Err(e) = ring.read(rest, |place, bytes| arrived(done + place, bytes)) {
            note_refusal(&e);
            return;
        }
        done += together;
    }
    ring.keep();
}

/// A ring with memory to read into.
struct Ring {
    ring: IoUring,
    memory: Vec<u8>,
    /// The process that made it.
    process: u32,
}

/// Asks for no more rings, unless there may be memory again, or an open file less.
fn note_refusal(e: &io::Error) {
    let passes = [
        Errno::AGAIN,
        Errno::NOMEM,
        Errno::BUSY,
        Errno::NFILE,
        Errno::MFILE,
    ];
    let passes = passes.map(|errno| Some(errno.raw_os_error()));
    REFUSED.fetch_or(!passes.contains(&e.raw_os_error()), Ordering::Relaxed);
}

/// Where a part goes in memory.
#[derive(Clone, Copy)]
struct Slot {
    at: usize,
    /// The bytes before the part, from where the read begins.
    skip: usize,
    length: u32,
    /// What the read returned.
    read: i32,
}

impl Ring {
    fn take() -> Option<Ring> {
        if REFUSED.load(Ordering::Relaxed) {
            return None;
        }
        let mut kept = KEPT.lock().ok()?.pop();
        // A process that was forked from another shares the rings of that one.
        while let Some(other) = kept.take_if(|ring| ring.process != std::process::id()) {
            mem::forget(other);
            kept = KEPT.lock().ok()?.pop();
        }
        kept.or_else(|| Ring::new().inspect_err(note_refusal).ok())
    }

    fn new() -> io::Result<Ring> {
        let ring = IoUring::new(AT_ONCE as u32)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        match probe.is_supported(opcode::Read::CODE) {
            true => Ok(Ring {
                ring,
                memory: Vec::new(),
                process: std::process::id(),
            }),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn keep(mut self) {
        if self.memory.len() > MOST_MEMORY {
            self.memory = Vec::new();
        }
        if let Ok(mut kept) = KEPT.lock()
            && kept.len() < MOST_KEPT
        {
            kept.push(self);
        }
    }

    /// Reads at most [`AT_ONCE`] parts.
    ///
    /// # Errors
    /// If the system fails at the ring. It must not be used any more then.
    fn read(
        &mut self,
        parts: &[Part<'_>],
        mut arrived: impl FnMut(usize, &[u8]),
    ) -> io::Result<()> {
        let mut slots = slots(parts);
        let total = slots
            .last()
            .map_or(0, |last| last.at + last.length as usize);
        let memory = aligned_part(&mut self.memory, total).as_mut_ptr();
        let mut left = 0;
        for (place, (part, slot)) in parts.iter().zip(&slots).enumerate() {
            let into = memory.wrapping_add(slot.at);
            let file = types::Fd(part.file.as_raw_fd());
            let read = opcode::Read::new(file, into, slot.length);
            let read = read.offset(part.offset - slot.skip as u64).build();
            let read = read.user_data(place as u64);
            // SAFETY: the file is open until `parts` ends. The slot lies in `self.memory`, apart from the others, which
            // is not touched before all that was pushed has ended, or is leaked.
            if unsafe { self.ring.submission().push(&read) }.is_err() {
                break;
            }
            left += 1;
        }
        while left > 0 {
            let waited = self.ring.submit_and_wait(left);
            for ended in self.ring.completion() {
                left -= 1;
                if let Some(slot) = slots.get_mut(ended.user_data() as usize) {
                    slot.read = ended.result();
                }
            }
            match waited {
                Err(e) if left > 0 && e.kind() != io::ErrorKind::Interrupted => {
                    // Some reads may be under way, and nothing tells when they end.
                    if left > self.ring.submission().len() {
                        mem::forget(mem::take(&mut self.memory));
                    }
                    return Err(e);
                }
                _ => {}
            }
        }
        let memory = aligned_part(&mut self.memory, total);
        for (place, (part, slot)) in parts.iter().zip(&slots).enumerate() {
            let (from, to) = (slot.skip, slot.skip + part.bytes);
            let read = usize::try_from(slot.read).unwrap_or(0);
            let bytes = memory.get(slot.at + from..slot.at + to);
            if let Some(bytes) = bytes.filter(|_| read >= to) {
                arrived(place, bytes);
            }
        }
        Ok(())
    }
}

/// Where each part goes. One that no read can bring has a slot without bytes.
fn slots(parts: &[Part<'_>]) -> Vec<Slot> {
    let mut end = 0_usize;
    let slots = parts.iter().map(|part| {
        let skip = (part.offset % part.unit as u64) as usize;
        let length = skip.saturating_add(part.bytes);
        let length = length.checked_next_multiple_of(part.unit);
        let length = length.and_then(|length| u32::try_from(length).ok());
        let at = match part.unit {
            1 => end,
            _ => end.next_multiple_of(ALIGNMENT),
        };
        let length = length.unwrap_or(0);
        end = at + length as usize;
        let read = -1;
        Slot {
            at,
            skip,
            length,
            read,
        }
    });
    slots.collect()
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::fs;

    use super::*;
    use crate::fs::{Access, FileSystem, OsFileSystem};

    /// Parts of any length, at any place, of two files, read directly and through the page cache: each is passed on once
    /// with its own bytes, and those beyond the end are not. Several threads do the same.
    #[test]
    fn each_part_arrives_at_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let content = |file: usize| -> Vec<u8> {
            let byte = |n: usize| (n * (7 + file) + n / 251) as u8;
            (0..3_000_000 + file).map(byte).collect()
        };
        let files: Vec<_> = (0..4)
            .map(|file| {
                let path = directory.path().join(file.to_string());
                fs::write(&path, content(file)).unwrap();
                let access = [Access::Buffered, Access::Direct][file % 2];
                (
                    content(file),
                    OsFileSystem::new().open(&path, access).unwrap(),
                )
            })
            .collect();
        let read = |seed: usize| {
            let mut parts = Vec::new();
            for n in 0..500 {
                let (content, file) = &files[(n + seed) % 4];
                let (file, unit) = file.descriptor().unwrap();
                let mut bytes = [1, 100, 1_033, 4_096, 70_000][n % 5];
                if n == 100 {
                    bytes = 2_000_000;
                }
                let mut offset = (n * 1_234_567 + seed) % (content.len() - bytes);
                if n % 50 == 49 {
                    offset = content.len() - bytes + usize::from(n % 100 == 99);
                }
                let offset = offset as u64;
                parts.push(Part {
                    file,
                    unit,
                    offset,
                    bytes,
                });
            }
            let mut found = vec![false; parts.len()];
            read_all(&parts, |place, bytes| {
                let (part, (content, _)) = (parts[place], &files[(place + seed) % 4]);
                let offset = part.offset as usize;
                assert!(bytes == &content[offset..offset + part.bytes], "{part:?}");
                assert!(!std::mem::replace(&mut found[place], true));
            });
            // Where the system has no rings, this shows nothing.
            if !REFUSED.load(Ordering::Relaxed) {
                for (place, found) in found.iter().enumerate() {
                    assert_eq!(*found, place % 100 != 99, "part {place}");
                }
            }
        };
        std::thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || (0..5).for_each(|round| read(seed + 4 * round)));
            }
        });
        assert!(KEPT.lock().unwrap().len() <= MOST_KEPT);
        read_all(&[], |_, _| panic!("nothing is wanted"));
    }
}
