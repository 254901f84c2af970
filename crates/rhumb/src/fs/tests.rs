//! All file systems behave alike, and the one in memory loses what was not synced.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::loss::Random;
use super::*;
use crate::error::Error;

const DATA: [DataLoss; 6] = [
    DataLoss::Lost,
    DataLoss::Kept,
    DataLoss::Torn { page: 512 },
    DataLoss::Torn { page: 4096 },
    DataLoss::Scattered {
        page: 512,
        kept_percent: 50,
    },
    DataLoss::Scattered {
        page: 4096,
        kept_percent: 50,
    },
];

const DIRECTORY: [DirectoryLoss; 4] = [
    DirectoryLoss::Lost,
    DirectoryLoss::Kept,
    DirectoryLoss::Prefix,
    DirectoryLoss::Scattered,
];

pub(super) const LOST: Loss = Loss {
    data: DataLoss::Lost,
    directory: DirectoryLoss::Lost,
};
const KEPT: Loss = Loss {
    data: DataLoss::Kept,
    directory: DirectoryLoss::Kept,
};

pub(super) fn memory() -> MemoryFileSystem {
    let fs = MemoryFileSystem::new();
    fs.create_dir(Path::new("/db")).unwrap();
    fs
}

pub(super) fn at(name: &str) -> std::path::PathBuf {
    Path::new("/db").join(name)
}

pub(super) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    // No zeros, so that lost bytes, which read as zeros, differ from written ones.
    (0..length).map(|_| random.below(255) as u8 + 1).collect()
}

fn put(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) {
    let file = ops::create(fs, path).unwrap();
    ops::write_all(&*file, path, bytes).unwrap();
    ops::sync(&*file, path).unwrap();
}

/// Checks what every file system must do.
fn behaves(fs: &dyn FileSystem, root: &Path) {
    let kind = |e: io::Error| e.kind();
    let (directory, a, b) = (root.join("x/y"), root.join("x/y/a"), root.join("x/y/b"));
    assert_eq!(
        fs.list(&directory).map_err(kind),
        Err(io::ErrorKind::NotFound)
    );
    assert!(fs.create(&a).is_err());
    fs.create_dir(&directory).unwrap();
    fs.create_dir(&directory).unwrap();
    assert!(
        ops::if_found(ops::open(fs, &a, Access::Buffered))
            .unwrap()
            .is_none()
    );
    assert!(ops::if_found(ops::remove(fs, &a)).unwrap().is_none());

    put(fs, &a, b"first");
    let taken = fs.create(&a).map(|_| ()).map_err(kind);
    assert_eq!(taken, Err(io::ErrorKind::AlreadyExists));
    put(fs, &b, b"second");
    let open = fs.open(&b, Access::Buffered).unwrap();
    fs.rename(&a, &b).unwrap();
    fs.sync_dir(&directory).unwrap();
    fs.sync_file(&b).unwrap();
    assert_eq!(fs.list(&directory).unwrap(), ["b"]);
    assert_eq!(ops::read_all(fs, &b).unwrap(), b"first");
    // A file that was replaced or removed stays readable while it is open.
    let mut bytes = [0; 6];
    ops::read_exact_at(&*open, &b, &mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"second");
    assert_eq!(open.read_at(&mut bytes, 6).unwrap(), 0);
    assert_eq!(open.read_at(&mut bytes, 1 << 40).unwrap(), 0);
    let beyond = ops::read_exact_at(&*open, &b, &mut bytes, 4);
    assert!(
        matches!(beyond, Err(Error::Corruption { offset: 6, .. })),
        "{beyond:?}"
    );
    fs.remove(&b).unwrap();

    let growing = fs.create(&b).unwrap();
    for part in [&b"taken, "[..], b"written"] {
        assert_eq!(growing.write(part).unwrap(), part.len());
        growing.begin_sync().unwrap();
    }
    growing.sync().unwrap();
    assert_eq!(ops::read_all(fs, &b).unwrap(), b"taken, written");
    fs.remove(&b).unwrap();
    assert!(fs.list(&directory).unwrap().is_empty());
    assert!(fs.list(&root.join("x")).unwrap().is_empty());

    let lock = directory.join(names::LOCK);
    let take = |mode| fs.lock(&lock, mode).unwrap();
    let alone = take(LockMode::Exclusive).unwrap();
    assert!(take(LockMode::Exclusive).is_none() && take(LockMode::Shared).is_none());
    drop(alone);
    let (one, two) = (
        take(LockMode::Shared).unwrap(),
        take(LockMode::Shared).unwrap(),
    );
    assert!(take(LockMode::Exclusive).is_none());
    drop(one);
    assert!(take(LockMode::Exclusive).is_none());
    drop(two);
    assert!(take(LockMode::Exclusive).is_some());
    assert_eq!(fs.list(&directory).unwrap(), [names::LOCK]);
}

#[test]
fn all_file_systems_behave_alike() {
    behaves(&MemoryFileSystem::new(), Path::new("/"));
    let temporary = tempfile::tempdir().unwrap();
    behaves(&OsFileSystem::new(), temporary.path());
    let faulty = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
    behaves(&faulty, Path::new("/"));
}

#[test]
fn direct_reads_give_what_buffered_ones_give() {
    // Also beside the test binary, since the temporary directory may be a tmpfs, which refuses
    // direct reads.
    let here = std::env::current_exe().unwrap();
    let here = tempfile::tempdir_in(here.parent().unwrap()).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    for directory in [here.path(), temporary.path()] {
        let (fs, path) = (OsFileSystem::new(), directory.join("000001.table"));
        let bytes = noise(3 * 1024 * 1024 + 777, 1);
        put(&fs, &path, &bytes);
        let direct = ops::open(&fs, &path, Access::Direct).unwrap();
        let buffered = ops::open(&fs, &path, Access::Buffered).unwrap();
        // Appends by the default of the trait.
        let faulty = FaultyFileSystem::new(Arc::new(fs), Plan::default());
        let plain = ops::open(&faulty, &path, Access::Buffered).unwrap();
        assert_eq!(ops::len(&*direct, &path).unwrap(), bytes.len() as u64);
        let mut memory = vec![0; bytes.len() + 8192];
        let start = memory.as_ptr().align_offset(4096);
        let aligned = &mut memory[start..];
        let mut random = Random(2);
        for round in 0..3000 {
            let edge = |random: &mut Random| match random.below(5) {
                4 => random.below(bytes.len() as u64 / 512) as usize * 512,
                0 => random.below(bytes.len() as u64 / 4096) as usize * 4096,
                1 => bytes.len(),
                _ => random.below(bytes.len() as u64 + 1) as usize,
            };
            let (x, y) = (edge(&mut random), edge(&mut random));
            let (from, to) = (x.min(y), x.max(y));
            // Most ranges are short; a few exceed the size of one direct read.
            let to = if round % 50 == 0 {
                to
            } else {
                to.min(from + 20_000)
            };
            let range = from..to;
            let shift = if round % 2 == 0 {
                0
            } else {
                random.below(4096) as usize
            };
            let into = &mut aligned[shift..shift + range.len()];
            ops::read_exact_at(&*direct, &path, into, range.start as u64).unwrap();
            assert!(
                *into == bytes[range.clone()],
                "round {round}: {range:?}, shift {shift}"
            );
            for file in [&direct, &buffered, &plain] {
                let new = ops::read_range(&**file, &path, range.start as u64, range.len() as u64);
                assert!(new.unwrap() == bytes[range.clone()], "{file:?}: {range:?}");
            }
        }
        let end = ops::read_range(&*buffered, &path, bytes.len() as u64 - 9, 10);
        assert!(matches!(end, Err(Error::Corruption { .. })), "{end:?}");
        // What is there stays, and there is nothing behind the end.
        let mut two = vec![7, 7];
        assert_eq!(
            buffered.append_at(&mut two, 9, bytes.len() as u64).unwrap(),
            0
        );
        assert_eq!(two, [7, 7]);
        two.reserve(4096);
        assert_eq!(buffered.append_at(&mut two, 3, 100).unwrap(), 3);
        assert_eq!(two, [&[7, 7], &bytes[100..103]].concat());
        let mut one = [0];
        assert_eq!(direct.read_at(&mut one, bytes.len() as u64).unwrap(), 0);
        assert_eq!(
            direct.read_at(&mut one, bytes.len() as u64 + 5000).unwrap(),
            0
        );
    }
}

#[test]
fn a_thread_that_ends_reads_to_its_end() {
    struct AtEnd(Option<std::path::PathBuf>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let Some(path) = &self.0 else { return };
            let file = ops::open(&OsFileSystem::new(), path, Access::Direct).unwrap();
            let mut into = [0; 100];
            ops::read_exact_at(&*file, path, &mut into, 50).unwrap();
            assert_eq!(into[..], noise(20_000, 7)[50..150]);
        }
    }
    thread_local!(static AT_END: std::cell::RefCell<AtEnd> = const { std::cell::RefCell::new(AtEnd(None)) });
    // Beside the test binary, since the temporary directory may be a tmpfs, which refuses direct
    // reads.
    let here = std::env::current_exe().unwrap();
    let here = tempfile::tempdir_in(here.parent().unwrap()).unwrap();
    let path = here.path().join("000001.table");
    std::fs::write(&path, noise(20_000, 7)).unwrap();
    // Thread-local values are dropped in the order of their creation: this one is created before
    // the bounce buffer.
    let thread = std::thread::spawn(|| {
        AT_END.with_borrow_mut(|at_end| at_end.0 = Some(path.clone()));
        drop(AtEnd(Some(path)));
    });
    thread.join().unwrap();
}

#[test]
fn synced_data_under_a_synced_name_survive_every_loss() {
    for (seed, (data, directory)) in DATA
        .into_iter()
        .flat_map(|d| DIRECTORY.map(|e| (d, e)))
        .enumerate()
    {
        let fs = memory();
        let (bytes, more) = (noise(5000, 1), noise(20_000, 2));
        let file = fs.create(&at("a")).unwrap();
        file.write(&bytes).unwrap();
        file.sync().unwrap();
        fs.sync_dir(Path::new("/db")).unwrap();
        file.write(&more).unwrap();
        let found = fs
            .crash(Loss { data, directory }, seed as u64)
            .bytes(&at("a"))
            .unwrap();
        assert_eq!(found[..5000], bytes, "{data:?}");
        assert!(found.len() <= 25_000);
        for (i, byte) in found[5000..].iter().enumerate() {
            assert!(*byte == more[i] || *byte == 0, "{data:?}: byte {i}");
        }
        // The crash leaves the first file system unchanged.
        assert_eq!(fs.bytes(&at("a")).unwrap().len(), 25_000);
    }
}

#[test]
fn a_cut_file_goes_on_at_its_new_end() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk: (Box<dyn FileSystem>, _) = (Box::new(OsFileSystem::new()), directory.path());
    let in_memory: (Box<dyn FileSystem>, _) = (Box::new(memory()), Path::new("/db"));
    for (fs, directory) in [on_disk, in_memory] {
        let path = directory.join("a");
        let file = fs.create(&path).unwrap();
        file.write(b"long and cut").unwrap();
        file.sync().unwrap();
        file.truncate(4).unwrap();
        file.write(b"er").unwrap();
        assert_eq!(ops::read_all(&*fs, &path).unwrap(), b"longer");
    }
}

#[test]
fn a_cut_is_durable_with_the_next_sync() {
    let fs = memory();
    let file = fs.create(&at("a")).unwrap();
    fs.sync_dir(Path::new("/db")).unwrap();
    file.write(b"long and cut").unwrap();
    file.sync().unwrap();
    file.truncate(6).unwrap();
    file.truncate(4).unwrap();
    file.write(b"er").unwrap();
    let found = |data| {
        let directory = DirectoryLoss::Kept;
        fs.crash(Loss { data, directory }, 1)
            .bytes(&at("a"))
            .unwrap()
    };
    assert_eq!(found(DataLoss::Lost), b"long and cut");
    assert_eq!(found(DataLoss::Kept), b"longer");
    file.sync().unwrap();
    assert_eq!(found(DataLoss::Lost), b"longer");
}

/// Whether each page after the first, half-synced page is found, and the file's length.
fn pages_found(data: DataLoss, seed: u64) -> (Vec<bool>, usize) {
    let fs = memory();
    let bytes = noise(512 * 12 + 100, 3);
    let file = fs.create(&at("a")).unwrap();
    file.write(&bytes[..256]).unwrap();
    file.sync().unwrap();
    file.write(&bytes[256..]).unwrap();
    let loss = Loss {
        data,
        directory: DirectoryLoss::Kept,
    };
    let found = fs.crash(loss, seed).bytes(&at("a")).unwrap();
    let pages = bytes[256..].chunks(256).collect::<Vec<_>>();
    let pages = std::iter::once(&pages[..1]).chain(pages[1..].chunks(2));
    let mut start = 256;
    let pages = pages.map(|page| {
        let page = page.concat();
        let there = found.get(start..start + page.len()) == Some(&page);
        let zeros = found
            .iter()
            .skip(start)
            .take(page.len())
            .all(|byte| *byte == 0);
        assert!(there || zeros, "seed {seed}: a page is found in part");
        start += page.len();
        there
    });
    (pages.collect(), found.len())
}

#[test]
fn torn_writes_end_at_every_page_and_scattered_ones_leave_holes() {
    let (mut cuts, mut lengths, mut holes) = (BTreeSet::new(), BTreeSet::new(), 0);
    for seed in 0..400 {
        let (kept, length) = pages_found(DataLoss::Torn { page: 512 }, seed);
        assert_eq!(kept.len(), 13);
        cuts.insert(kept.iter().take_while(|kept| **kept).count());
        lengths.insert(length);
        assert!(kept.is_sorted_by(|a, b| a >= b), "seed {seed}: {kept:?}");
        let scattered = DataLoss::Scattered {
            page: 512,
            kept_percent: 50,
        };
        let (kept, _) = pages_found(scattered, seed);
        holes += usize::from(!kept.is_sorted_by(|a, b| a >= b));
    }
    assert_eq!(cuts.len(), 14, "{cuts:?}");
    assert_eq!(lengths.len(), 14, "{lengths:?}");
    assert!(holes > 300, "{holes}");
    for (kept_percent, all) in [(0, false), (100, true)] {
        let scattered = DataLoss::Scattered {
            page: 512,
            kept_percent,
        };
        assert!((0..20).all(|seed| pages_found(scattered, seed).0.iter().all(|k| *k == all)));
    }
}

#[test]
fn a_name_that_was_not_synced_can_vanish_with_synced_data() {
    let fs = memory();
    put(&fs, &at("a"), b"synced");
    let kept = Loss {
        directory: DirectoryLoss::Kept,
        ..LOST
    };
    assert_eq!(fs.crash(kept, 0).bytes(&at("a")).unwrap(), b"synced");
    let lost = Loss {
        directory: DirectoryLoss::Lost,
        ..KEPT
    };
    assert!(fs.crash(lost, 0).bytes(&at("a")).is_err());
    fs.sync_dir(Path::new("/db")).unwrap();
    assert_eq!(fs.crash(lost, 0).bytes(&at("a")).unwrap(), b"synced");
    // And a removal can be undone.
    fs.remove(&at("a")).unwrap();
    assert!(fs.bytes(&at("a")).is_err());
    assert_eq!(fs.crash(lost, 0).bytes(&at("a")).unwrap(), b"synced");
    fs.sync_dir(Path::new("/db")).unwrap();
    assert!(fs.crash(lost, 0).bytes(&at("a")).is_err());
}

#[test]
fn a_rename_that_was_not_synced_can_be_undone() {
    let fs = memory();
    put(&fs, &at("old"), b"old");
    put(&fs, &at("new"), b"new");
    fs.sync_dir(Path::new("/db")).unwrap();
    fs.rename(&at("new"), &at("old")).unwrap();
    let found = fs.crash(LOST, 0);
    assert_eq!(found.bytes(&at("old")).unwrap(), b"old");
    assert_eq!(found.bytes(&at("new")).unwrap(), b"new");
    let found = fs.crash(KEPT, 0);
    assert_eq!(found.list(Path::new("/db")).unwrap(), ["old"]);
    assert_eq!(found.bytes(&at("old")).unwrap(), b"new");
    fs.sync_dir(Path::new("/db")).unwrap();
    assert_eq!(fs.crash(LOST, 0).bytes(&at("old")).unwrap(), b"new");
}

#[test]
fn a_rename_takes_the_file_that_had_the_name_then_or_none() {
    let fs = memory();
    put(&fs, &at("made"), b"before");
    fs.sync_dir(Path::new("/db")).unwrap();
    fs.remove(&at("made")).unwrap();
    put(&fs, &at("made"), b"after");
    fs.rename(&at("made"), &at("used")).unwrap();
    let loss = Loss {
        directory: DirectoryLoss::Scattered,
        ..KEPT
    };
    for seed in 0..300 {
        let found = fs.crash(loss, seed);
        if let Ok(bytes) = found.bytes(&at("used")) {
            assert_eq!(bytes, b"after", "seed {seed}");
        }
    }
}

#[test]
fn directory_operations_are_kept_as_a_prefix_or_one_by_one() {
    let fs = memory();
    for name in ["0", "1", "2", "3"] {
        put(&fs, &at(name), name.as_bytes());
    }
    let found = |directory| {
        let names = |seed| {
            fs.crash(Loss { directory, ..KEPT }, seed)
                .list(Path::new("/db"))
        };
        (0..300)
            .map(|seed| names(seed).unwrap().concat())
            .collect::<BTreeSet<_>>()
    };
    let prefixes = ["", "0", "01", "012", "0123"].map(str::to_owned);
    assert_eq!(found(DirectoryLoss::Prefix), prefixes.into());
    assert_eq!(found(DirectoryLoss::Scattered).len(), 16);
}

#[test]
fn damage_reaches_open_files_and_forks_are_apart() {
    let fs = memory();
    put(&fs, &at("a"), b"sound");
    fs.sync_dir(Path::new("/db")).unwrap();
    let open = fs.open(&at("a"), Access::Direct).unwrap();
    let lock = fs.lock(&at("LOCK"), LockMode::Exclusive).unwrap();
    let fork = fs.fork();
    fs.set_bytes(&at("a"), b"dam".to_vec()).unwrap();
    assert_eq!(open.len().unwrap(), 3);
    assert_eq!(fs.crash(LOST, 0).bytes(&at("a")).unwrap(), b"dam");
    assert_eq!(fork.bytes(&at("a")).unwrap(), b"sound");
    fork.set_bytes(&at("new"), b"n".to_vec()).unwrap();
    assert_eq!(fork.crash(LOST, 0).bytes(&at("new")).unwrap(), b"n");
    assert!(fs.bytes(&at("new")).is_err());
    // No lock is held after a crash or in a copy.
    assert!(lock.is_some());
    assert!(
        fork.lock(&at("LOCK"), LockMode::Exclusive)
            .unwrap()
            .is_some()
    );
    assert!(
        fs.crash(KEPT, 0)
            .lock(&at("LOCK"), LockMode::Exclusive)
            .unwrap()
            .is_some()
    );
    assert!(fs.lock(&at("LOCK"), LockMode::Shared).unwrap().is_none());
}
