//! The machine, and the protocol at the present scale.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rhumb::fs::{Access, FileSystem, OsFileSystem};

use crate::data::Random;
use crate::error::{Error, Result};
use crate::experiment::doblix::protocol as without_cache;
use crate::experiment::learnedkv::protocol;
use crate::experiment::study::Setting;
use crate::measure::{ControlGroup, DeviceGroup, DeviceLimits, Disk, Latencies, ThrottledFs};
use crate::results::Measured;
use crate::store::Pages;

const FILE_BYTES: usize = 64 << 20;
const PAGE: usize = 4096;
const READS: usize = 400;

/// Times reads of a page, from the page cache and from the device, and records the amounts of the
/// scale.
///
/// # Errors
/// Failures of the machine's files.
pub fn measure(setting: &Setting<'_>) -> Result<Measured> {
    let mut measured = Measured::default();
    let written = put_pages(setting, &mut measured)?;
    put_protocol(setting, &mut measured);
    measured.put("device_write", written, "B/s");
    let permitted = match ControlGroup::enter()? {
        Ok(group) => group.leave().map(|()| true)?,
        Err(_) => false,
    };
    measured.put("control_groups", f64::from(u8::from(permitted)), "");
    Ok(measured)
}

/// The same reads, and the amounts of the experiments without a cache.
///
/// # Errors
/// Failures of the machine's files.
pub fn uncached(setting: &Setting<'_>) -> Result<Measured> {
    let mut measured = Measured::default();
    let written = put_pages(setting, &mut measured)?;
    measured.put("device_write", written, "B/s");
    for (name, value, unit) in without_cache(setting.amounts) {
        measured.put(name, value as f64, unit);
    }
    Ok(measured)
}

/// Adds the times to read a page, and returns the bytes that were written in a second.
fn put_pages(setting: &Setting<'_>, measured: &mut Measured) -> Result<f64> {
    let path = setting.directory.join("pages");
    let mut file = File::create(&path).map_err(Error::io("create", &path))?;
    let mut random = Random::new(setting.seed, 0xe4f);
    let mut bytes = Vec::new();
    random.fill(&mut bytes, FILE_BYTES);
    let start = Instant::now();
    file.write_all(&bytes)
        .and_then(|()| file.sync_all())
        .map_err(Error::io("write", &path))?;
    let written = FILE_BYTES as f64 / start.elapsed().as_secs_f64();

    let system = OsFileSystem::new();
    for (name, access) in [("cached", Access::Buffered), ("device", Access::Direct)] {
        if access == Access::Direct {
            Pages::of(&setting.directory)?.leave()?;
        }
        let file = system
            .open(&path, access)
            .map_err(Error::io("open", &path))?;
        let mut times = Latencies::new()?;
        let mut page = vec![0; PAGE];
        for _ in 0..READS {
            let at = random.below((FILE_BYTES / PAGE) as u64) as usize * PAGE;
            let start = Instant::now();
            file.read_at(&mut page, at as u64)
                .map_err(Error::io("read", &path))?;
            times.record(start.elapsed());
        }
        measured.put_latencies(&format!("page_{name}"), &times);
    }
    std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    Ok(written)
}

fn put_protocol(setting: &Setting<'_>, measured: &mut Measured) {
    let amounts = setting.amounts;
    let mut put = |metric, value: u64, unit| measured.put(metric, value as f64, unit);
    put("long_records", amounts.long as u64, "records");
    put("short_records", amounts.short as u64, "records");
    put("cache_bytes", amounts.cache_bytes, "B");
    put("buffer_bytes", amounts.buffer_bytes, "B");
    put("base_bytes", amounts.base_bytes, "B");
    put("table_bytes", amounts.table_bytes, "B");
    put("gets", amounts.gets as u64, "gets");
    put("rounds", amounts.rounds.into(), "rounds");
}

/// The amounts of the experiments on value logs at this scale, and how slow this machine's device can be made: by a
/// control group for every store, and by a file system of ours for rhumb alone.
///
/// # Errors
/// Failures of the machine's files.
pub fn value_logs(setting: &Setting<'_>) -> Result<Measured> {
    let mut measured = Measured::default();
    for (name, value, unit) in protocol(setting.amounts) {
        measured.put(name, value as f64, unit);
    }
    let path = setting.directory.join("slow");
    let pages = vec![0; 2 * SLOW_READS * PAGE];
    std::fs::write(&path, pages).map_err(Error::io("write", &path))?;
    Pages::of(&setting.directory)?.leave()?;
    let group = DeviceGroup::enter(&setting.directory, DeviceLimits::HARD_DISK)?;
    measured.put("device_limits", f64::from(u8::from(group.is_ok())), "");
    if let Ok(group) = group {
        let reads = reads_a_second(&OsFileSystem::new(), &path);
        group.leave()?;
        measured.put("limited_device_reads", reads?, "reads/s");
    }
    let slow = ThrottledFs::new(Arc::new(OsFileSystem::new()), Disk::HARD);
    measured.put("throttled_reads", reads_a_second(&slow, &path)?, "reads/s");
    std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    Ok(measured)
}

/// Pages that are read from a slow device.
const SLOW_READS: usize = 30;

/// Direct reads a second of pages from the last to the first, every second one.
fn reads_a_second(system: &dyn FileSystem, path: &Path) -> Result<f64> {
    let file = system.open(path, Access::Direct);
    let file = file.map_err(Error::io("open", path))?;
    let (mut page, began) = (vec![0; PAGE], Instant::now());
    for at in (0..SLOW_READS).rev() {
        file.read_at(&mut page, (2 * at * PAGE) as u64)
            .map_err(Error::io("read", path))?;
    }
    Ok(SLOW_READS as f64 / began.elapsed().as_secs_f64())
}
