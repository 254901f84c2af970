//! A sorted map in a mapped file opens without its keys being read.
//!
//! The kernel counts, for each mapping, the pages that were touched. `RHUMB_DEEP=50` makes it a
//! hundred million keys.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs::{self, File};
use std::io::Write;

use common::from_env;
use rhumb_index::check::SplitMix64;
use rhumb_index::{ByteForm, SortedMap};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapped file, read only.
struct Mapped {
    start: usize,
    len: usize,
}

impl Mapped {
    fn new(file: &File) -> Mapped {
        let len = file.metadata().unwrap().len() as usize;
        // SAFETY: this is a new mapping that nothing else refers to, and only this test uses the
        // file.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ,
                MapFlags::PRIVATE,
                file,
                0,
            )
            .unwrap()
        };
        Mapped {
            start: start.expose_provenance(),
            len,
        }
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        let start = std::ptr::with_exposed_provenance(self.start);
        // SAFETY: mapped until this is dropped, and never written to.
        unsafe { std::slice::from_raw_parts(start, self.len) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: nothing borrows the mapping any more.
        unsafe { munmap(std::ptr::with_exposed_provenance_mut(self.start), self.len).unwrap() }
    }
}

/// The bytes in touched pages of the mapping at an address, with pages that the kernel mapped
/// beside them.
fn touched(start: usize) -> usize {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let at = maps.find(&format!("{start:x}-")).unwrap();
    let line = maps[at..]
        .lines()
        .find(|line| line.starts_with("Rss:"))
        .unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

#[test]
fn opening_touches_header_and_index_only() {
    let keys = 2_000_000 * from_env("RHUMB_DEEP", 1);
    let mut random = SplitMix64::new(9);
    let mut last = 0;
    let entries = (0..keys).map(|i| {
        last += 1 + random.below(1 << 20);
        (last, i as u32)
    });
    let built = SortedMap::<u64, u32>::from_sorted(entries).unwrap();
    let probes: Vec<(usize, u64)> = (0..100)
        .map(|i| (keys as usize / 100) * i)
        .map(|rank| (rank, built.keys().key(rank).unwrap()))
        .collect();
    let path = std::env::temp_dir().join(format!("rhumb-mapped-{}", std::process::id()));
    let mut file = File::create_new(&path).unwrap();
    file.write_all(built.as_bytes()).unwrap();
    drop((built, file));

    let file = File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let mapped = Mapped::new(&file);
    let (start, len) = (mapped.start, mapped.len);
    assert_eq!(touched(start), 0);
    let map = SortedMap::<u64, u32>::open(ByteForm::from_owner(mapped)).unwrap();
    let index = map.keys().index_bytes();
    let opened = touched(start);
    println!("{keys} keys, {len} bytes: index {index}, touched at opening {opened}");
    // The header and the index are read, at both ends of the file. The kernel may map a huge page
    // of 2 MiB around each page that is touched.
    assert!(opened <= 2 * index + (5 << 20), "{opened} of {len}");
    for (rank, key) in probes {
        assert_eq!(map.get(&key), Some(rank as u32));
    }
    println!("after 100 look-ups: {}", touched(start));
    map.verify().unwrap();
    assert!(touched(start) > len - (5 << 20));
}
