//! The faulty file system fails as planned and reports which line of the store made each call.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::tests::{LOST, at, memory, noise};
use super::*;
use crate::error::Error;

fn faulty(plan: Plan) -> (MemoryFileSystem, FaultyFileSystem) {
    let inner = memory();
    (inner.clone(), FaultyFileSystem::new(Arc::new(inner), plan))
}

#[test]
fn each_line_that_calls_is_a_site() {
    let (_, fs) = faulty(Plan::default());
    let path = at("a");
    let here = line!();
    let file = ops::create(&fs, &path).unwrap(); // here + 1
    for _ in 0..3 {
        ops::write_all(&*file, &path, b"bytes").unwrap(); // here + 3
    }
    ops::sync(&*file, &path).unwrap(); // here + 5
    ops::read_all(&fs, &path).unwrap(); // here + 6
    fs.sync_dir(Path::new("/db")).unwrap();
    let sites = fs.sites();
    let seen: Vec<_> = sites
        .iter()
        .map(|(s, n)| (s.line.max(here) - here, s.call, *n))
        .collect();
    let expected = [
        (0, FileCall::SyncDir, 1),
        (1, FileCall::Create, 1),
        (3, FileCall::Write, 3),
        (5, FileCall::Sync, 1),
        (6, FileCall::Open, 1),
        (6, FileCall::Read, 1),
        (6, FileCall::Len, 1),
    ];
    assert_eq!(seen, expected);
    for site in sites.keys() {
        // Only the last call bypasses `ops`, so its site has no file.
        let direct = site.call == FileCall::SyncDir;
        assert_eq!(site.file, if direct { "" } else { file!() }, "{site}");
    }
    assert_eq!((fs.calls(), fs.mutating_calls()), (9, 6));
}

/// Replaces a file through a protocol that makes every kind of call.
fn replace(fs: &dyn FileSystem, bytes: &[u8]) -> crate::Result<()> {
    ops::create_dir(fs, Path::new("/db/new"))?;
    let _lock = ops::lock(fs, &at("LOCK"), LockMode::Exclusive)?;
    let file = ops::create(fs, &at("tmp"))?;
    ops::write_all(&*file, &at("tmp"), bytes)?;
    ops::begin_sync(&*file, &at("tmp"))?;
    ops::sync(&*file, &at("tmp"))?;
    ops::sync_file(fs, &at("tmp"))?;
    ops::rename(fs, &at("tmp"), &at("a"))?;
    ops::sync_dir(fs, Path::new("/db"))?;
    assert_eq!(ops::read_all(fs, &at("a"))?, bytes);
    ops::list(fs, Path::new("/db"))?;
    ops::remove(fs, &at("a"))
}

#[test]
fn every_site_fails_once_and_only_hard_faults_show() {
    let bytes = noise(1000, 5);
    let (_, fs) = faulty(Plan::default());
    replace(&fs, &bytes).unwrap();
    let sites = fs.sites();
    let calls: BTreeSet<FileCall> = sites.keys().map(|site| site.call).collect();
    assert_eq!((sites.len(), calls.len()), (14, 14));
    for (i, site) in sites.into_keys().enumerate() {
        let faults = Fault::ALL.into_iter();
        for fault in faults.filter(|fault| fault.applies_to(site.call)) {
            let (_, fs) = faulty(Plan {
                fault: Some((FaultAt::Site(site), fault)),
                ..Plan::default()
            });
            let result = replace(&fs, &bytes);
            assert_eq!(fs.faults(), 1, "{i}: {fault:?}, {site}");
            match fault {
                Fault::InputOutput => assert!(matches!(result, Err(Error::Io { .. }))),
                Fault::NoSpace => assert!(matches!(result, Err(Error::DiskFull { .. }))),
                _ => result.unwrap(),
            }
        }
    }
    let (_, fs) = faulty(Plan {
        fault: Some((FaultAt::Call(3), Fault::InputOutput)),
        ..Plan::default()
    });
    assert!(
        replace(&fs, &bytes)
            .unwrap_err()
            .to_string()
            .starts_with("cannot create /db/tmp")
    );
}

#[test]
fn after_the_power_is_cut_every_call_fails() {
    let bytes = noise(1000, 6);
    let (_, whole) = faulty(Plan::default());
    replace(&whole, &bytes).unwrap();
    assert_eq!(whole.mutating_calls(), 8);
    for cut in 1..=8 {
        let (disk, fs) = faulty(Plan {
            cut_at: Some(cut),
            ..Plan::default()
        });
        let error = replace(&fs, &bytes).unwrap_err().to_string();
        assert!(error.contains("power cut"), "{error}");
        assert!(fs.power_is_cut());
        let later = [
            ops::list(&fs, Path::new("/db")).err(),
            ops::open(&fs, &at("a"), Access::Buffered).err(),
            ops::sync_dir(&fs, Path::new("/db")).err(),
        ];
        assert!(
            later
                .iter()
                .flatten()
                .all(|e| e.to_string().contains("power cut"))
        );
        assert_eq!(later.iter().flatten().count(), 3);
        assert_eq!(fs.mutating_calls(), cut);
        match cut {
            // A cut write leaves its first half.
            3 => assert_eq!(disk.bytes(&at("tmp")).unwrap(), bytes[..500]),
            7 => assert!(disk.crash(LOST, 0).bytes(&at("a")).is_err()),
            8 => assert_eq!(disk.crash(LOST, 0).bytes(&at("a")).unwrap(), bytes),
            _ => {}
        }
    }
}

#[test]
fn a_sync_that_is_ignored_loses_data() {
    let bytes = noise(1000, 7);
    let (_, fs) = faulty(Plan::default());
    replace(&fs, &bytes).unwrap();
    for site in fs.sites().into_keys().filter(|site| site.call.is_sync()) {
        let ignored_sync = Some(site);
        let (disk, fs) = faulty(Plan {
            cut_at: Some(8),
            ignored_sync,
            ..Plan::default()
        });
        assert!(replace(&fs, &bytes).is_err());
        let found = disk.crash(LOST, 0).bytes(&at("a")).ok();
        assert_eq!(fs.faults(), 1);
        // The file is synced twice, so one of its syncs may be ignored.
        let harmless = site.call != FileCall::SyncDir;
        assert_eq!(found == Some(bytes.clone()), harmless, "{site}");
    }
}

#[test]
fn a_full_disk_takes_what_fits_and_goes_on_when_there_is_room() {
    let (disk, fs) = faulty(Plan {
        budget: Some(700),
        ..Plan::default()
    });
    let bytes = noise(1000, 8);
    let file = ops::create(&fs, &at("a")).unwrap();
    let full = ops::write_all(&*file, &at("a"), &bytes);
    assert!(matches!(full, Err(Error::DiskFull { .. })));
    assert_eq!(disk.bytes(&at("a")).unwrap(), bytes[..700]);
    ops::sync(&*file, &at("a")).unwrap();
    fs.set_budget(Some(300));
    ops::write_all(&*file, &at("a"), &bytes[700..]).unwrap();
    assert_eq!(disk.bytes(&at("a")).unwrap(), bytes);
    assert!(ops::write_all(&*file, &at("a"), b"x").is_err());
    fs.set_budget(None);
    ops::write_all(&*file, &at("a"), &bytes).unwrap();
}
