//! Stores that lie in memory or on a slow disk.

use std::path::Path;

use super::phases;
use crate::error::{Error, Result};
use crate::experiment::study::Study;
use crate::experiment::{Medium, Phase};
use crate::measure::{ControlGroup, DeviceGroup, DeviceLimits, Disk};
use crate::results::{Measured, Permitted};
use crate::scratch::Scratch;
use crate::store::{Settings, System};

/// Runs phases on a store that lies on a medium, or says why this machine does not permit it.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn measure(study: &Study<'_>, medium: Medium, phases: &[Phase]) -> Result<Permitted> {
    match medium {
        Medium::Memory => in_memory(study, phases),
        Medium::SlowDisk => {
            let disk = (DeviceLimits::HARD_DISK, Disk::HARD);
            on_disk(study, phases, disk, with_little_memory)
        }
        Medium::SataSsd => {
            let disk = (DeviceLimits::SATA_SSD, Disk::SATA_SSD);
            on_disk(study, phases, disk, |study, phases| {
                let measured = phases::measure(study, phases)?;
                Ok(Ok(told(measured, false)))
            })
        }
    }
}

/// Where Linux has a file system in memory.
const MEMORY: &str = "/dev/shm";

/// Room for a store, as a multiple of its records: two logs while one is collected, and what tables take.
const ROOM: u64 = 4;

fn in_memory(study: &Study<'_>, phases: &[Phase]) -> Result<Permitted> {
    let memory = Path::new(MEMORY);
    if let Err(why) = has_room(memory, ROOM * study.records.input.user_bytes()) {
        return Ok(Err(why));
    }
    let scratch = Scratch::new(memory)?;
    let directory = scratch.path().join("store");
    std::fs::create_dir(&directory).map_err(Error::io("create", &directory))?;
    phases::measure(&study.at(directory), phases).map(Ok)
}

/// Whether a directory is on a file system in memory that has some bytes left, or why not.
fn has_room(directory: &Path, bytes: u64) -> std::result::Result<(), String> {
    const TMPFS: u64 = 0x0102_1994;
    let name = directory.display();
    let about = rustix::fs::statfs(directory);
    let about = about.map_err(|why| format!("cannot look at {name}: {why}"))?;
    if about.f_type as u64 != TMPFS {
        return Err(format!("{name} is not in memory"));
    }
    let free = about.f_bavail as u64 * about.f_bsize as u64;
    match free >= bytes {
        true => Ok(()),
        false => Err(format!(
            "{name} has {free} bytes left, and {bytes} are needed"
        )),
    }
}

/// The page cache of a store on a slow disk as a share of its records, as published.
const PAGE_CACHE_SHARE: f64 = 0.3;

/// The least page cache: the memory that the store itself takes is part of it.
const LEAST_PAGE_CACHE: u64 = 24 << 20;

/// Measures while the device has limits, or on a file system that imitates a disk.
fn on_disk(
    study: &Study<'_>,
    phases: &[Phase],
    (limits, disk): (DeviceLimits, Disk),
    measure: impl FnOnce(&Study<'_>, &[Phase]) -> Result<Permitted>,
) -> Result<Permitted> {
    let group = match DeviceGroup::enter(&study.directory, limits)? {
        Ok(group) => group,
        Err(why) => return on_imitated_disk(study, phases, disk, why),
    };
    let measured = measure(study, phases);
    group.leave()?;
    measured
}

fn with_little_memory(study: &Study<'_>, phases: &[Phase]) -> Result<Permitted> {
    let group = match ControlGroup::enter()? {
        Ok(group) => group,
        Err(why) => return Ok(Err(why)),
    };
    let share = PAGE_CACHE_SHARE * study.records.input.user_bytes() as f64;
    let limit = (share as u64).max(LEAST_PAGE_CACHE);
    let measured = group.limit_page_cache(limit);
    let measured = measured.and_then(|()| phases::measure(study, phases));
    group.leave()?;
    measured.map(|measured| Ok(told(measured, false)))
}

/// Only our own store can be slowed down by its file system; for others it is said why the operating system does
/// not do it.
fn on_imitated_disk(
    study: &Study<'_>,
    phases: &[Phase],
    disk: Disk,
    why: String,
) -> Result<Permitted> {
    let System::Rhumb(settings) = &study.build.system else {
        return Ok(Err(why));
    };
    let mut slow = study.at(study.directory.clone());
    slow.build.system = System::Rhumb(Settings {
        slow: Some(disk),
        direct: true,
        ..settings.clone()
    });
    let measured = phases::measure(&slow, phases)?;
    Ok(Ok(told(measured, true)))
}

/// Adds whether the disk was imitated by our file system.
fn told(mut measured: Measured, is_imitated: bool) -> Measured {
    let value = f64::from(u8::from(is_imitated));
    measured.put("imitated_disk", value, "");
    measured
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::study::{Records, Setting};
    use crate::experiment::{Build, Count, Data, Fill, Scale};
    use crate::progress::Progress;

    const PHASES: &[Phase] = &[
        Phase::whole("p0", "insert=100", Count::OfRecords(1.0)),
        Phase::whole("p1", "rw=50:50", Count::OfRecords(0.5)),
    ];

    /// Calls `with` with a store of few records that is not opened yet.
    fn with_study(system: &str, with: impl FnOnce(&Study<'_>)) {
        let amounts = Scale::Quick.amounts();
        let directory = tempfile::tempdir().unwrap();
        let progress = Progress::new();
        let setting = Setting {
            amounts: &amounts,
            seed: 7,
            directory: directory.path().to_path_buf(),
            progress: &progress,
        };
        let records = Records::of(&Data::new("uniform", 40), 7).unwrap();
        let build = Build {
            system: amounts.system(system).unwrap(),
            fill: Fill::Nothing,
        };
        with(&Study::load(&setting, &records, &build).unwrap());
    }

    /// The disk is slow for our own store alone: each write that is durable waits for it.
    #[test]
    fn a_disk_is_imitated_for_our_own_store() {
        with_study("rhumb sync=true", |study| {
            let measured =
                on_imitated_disk(study, PHASES, Disk::HARD, "no group".to_string()).unwrap();
            let measured = measured.unwrap();
            let value = |metric: &str| measured.figure(metric).unwrap().values[0];
            assert_eq!(value("imitated_disk"), 1.0);
            assert!(value("p0_insert_mean") > 0.0 && value("p1_rate") > 0.0);
        });
        with_study("rhumb+ gc=whole", |study| {
            let refused =
                on_imitated_disk(study, PHASES, Disk::HARD, "no group".to_string()).unwrap();
            assert_eq!(refused.err().as_deref(), Some("no group"));
        });
    }

    #[test]
    fn a_store_in_memory_leaves_nothing_on_the_disk() {
        with_study("rhumb", |study| {
            if let Ok(measured) = in_memory(study, PHASES).unwrap() {
                assert!(measured.figure("p1_rate").is_some());
            }
            let here = std::fs::read_dir(&study.directory).unwrap();
            assert_eq!(here.count(), 0, "the store lies elsewhere");
        });
        let why = has_room(Path::new("/proc"), 1).unwrap_err();
        assert_eq!(why, "/proc is not in memory");
    }
}
