//! Control groups of the operating system: one that limits this process's memory, page cache included, and one that
//! makes a device slow for it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};

/// How often the removal of a group is tried again while threads end in it: for two seconds.
const REMOVALS: u32 = 2000;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(1);

/// A control group that contains only this process, until it leaves.
#[derive(Debug)]
#[must_use = "the process stays in the group until it leaves"]
pub struct ControlGroup {
    membership: Membership,
    form: &'static Form,
    _alone: MutexGuard<'static, ()>,
}

/// The stay of this process in a new group.
#[derive(Debug)]
struct Membership {
    directory: PathBuf,
    /// The group that the process came from.
    former: PathBuf,
}

impl Membership {
    /// Makes a group below `above`, sets it up, and moves the process into it; or says why it may not.
    fn enter(
        above: &Path,
        former: PathBuf,
        set_up: impl FnOnce(&Path) -> std::result::Result<(), String>,
    ) -> Result<std::result::Result<Membership, String>> {
        let directory = above.join(format!("rhumb-lab-{}", std::process::id()));
        // A process with the same number may have left a group behind; it is empty.
        let _ = fs::remove_dir(&directory);
        if let Err(why) = fs::create_dir(&directory) {
            return Ok(Err(format!("cannot create {}: {why}", directory.display())));
        }
        let membership = Membership { directory, former };
        let joined = set_up(&membership.directory).and_then(|()| {
            let directory = &membership.directory;
            join(directory).map_err(|why| format!("cannot enter {}: {why}", directory.display()))
        });
        match joined {
            Ok(()) => Ok(Ok(membership)),
            Err(why) => membership.leave().map(|()| Err(why)),
        }
    }

    /// Moves the process back, and removes the group.
    fn leave(&self) -> Result<()> {
        let (directory, former) = (&self.directory, &self.former);
        join(former).map_err(Error::io("return to control group", former))?;
        let mut tries = 0;
        loop {
            match fs::remove_dir(directory) {
                // A thread that was ending was not moved back: the group is in use until it has ended.
                Err(why) if why.kind() == ErrorKind::ResourceBusy && tries < REMOVALS => {
                    tries += 1;
                    std::thread::sleep(BETWEEN_REMOVALS);
                }
                done => return done.map_err(Error::io("remove control group", directory)),
            }
        }
    }
}

/// A control group in which a device is slow, which contains only this process, until it leaves. Version 1 of
/// control groups alone: reads and writes count that the process itself makes, past the page cache or for a sync,
/// and pages that it reads into the page cache.
#[derive(Debug)]
#[must_use = "the process stays in the group until it leaves"]
pub struct DeviceGroup {
    membership: Membership,
    _alone: MutexGuard<'static, ()>,
}

/// The limits of a device, for reads and for writes alike.
#[derive(Debug, Clone, Copy)]
pub struct DeviceLimits {
    /// Calls a second.
    pub calls_per_second: u64,
    /// Bytes a second.
    pub bytes_per_second: u64,
}

impl DeviceLimits {
    /// Those of a hard disk.
    pub const HARD_DISK: DeviceLimits = DeviceLimits {
        calls_per_second: 150,
        bytes_per_second: 150_000_000,
    };

    /// Those of an SSD behind SATA, for a client that waits for each read.
    pub const SATA_SSD: DeviceLimits = DeviceLimits {
        calls_per_second: 10_000,
        bytes_per_second: 500_000_000,
    };
}

impl DeviceGroup {
    /// Moves the process into a new group, in which the device of a directory is slow.
    ///
    /// # Errors
    /// If a group was made and cannot be removed.
    pub fn enter(
        directory: &Path,
        limits: DeviceLimits,
    ) -> Result<std::result::Result<DeviceGroup, String>> {
        static SLOWED: Mutex<()> = Mutex::new(());
        let alone = SLOWED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(group) = group_of(|names| names.split(',').any(|name| name == "blkio")) else {
            return Ok(Err(
                "there is no controller of devices of version 1".to_string()
            ));
        };
        let group = Path::new("/sys/fs/cgroup/blkio").join(group);
        let device = match device_of(directory) {
            Ok(device) => device,
            Err(why) => return Ok(Err(why)),
        };
        let set_up = |new: &Path| {
            for (file, limit) in [
                ("read_iops", limits.calls_per_second),
                ("write_iops", limits.calls_per_second),
                ("read_bps", limits.bytes_per_second),
                ("write_bps", limits.bytes_per_second),
            ] {
                let path = new.join(format!("blkio.throttle.{file}_device"));
                let set = fs::write(&path, format!("{device} {limit}"));
                set.map_err(|why| format!("cannot write {}: {why}", path.display()))?;
            }
            Ok(())
        };
        let membership = Membership::enter(&group, group.clone(), set_up)?;
        Ok(membership.map(|membership| DeviceGroup {
            membership,
            _alone: alone,
        }))
    }

    /// Moves the process back to its former group, and removes the group.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn leave(self) -> Result<()> {
        self.membership.leave()
    }
}

/// The numbers of the disk that a directory is on, such as `254:0`, or why there are none.
fn device_of(directory: &Path) -> std::result::Result<String, String> {
    let about = fs::metadata(directory);
    let about = about.map_err(|why| format!("cannot look at {}: {why}", directory.display()))?;
    let number = about.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let of_block = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let found = fs::canonicalize(&of_block);
    let device = found.map_err(|_| format!("{} is on no disk", directory.display()))?;
    // A partition has no limits of its own.
    let disk = match (device.join("partition").exists(), device.parent()) {
        (true, Some(disk)) => disk,
        _ => &device,
    };
    let numbers = fs::read_to_string(disk.join("dev"));
    let numbers = numbers.map_err(|why| format!("cannot read {}/dev: {why}", disk.display()))?;
    Ok(numbers.trim().to_string())
}

/// Held by the thread that has moved the process: a process is in one group at a time.
static MOVED: Mutex<()> = Mutex::new(());

/// The names of what is needed, which differ between the versions of control groups.
#[derive(Debug)]
struct Form {
    /// The file with the limit of bytes.
    limit: &'static str,
    /// The file with the bytes that are in use, page cache included.
    usage: &'static str,
    /// The line of `memory.stat` with the bytes of page cache.
    cache: &'static str,
}

const FIRST: Form = Form {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cache: "cache",
};
const SECOND: Form = Form {
    limit: "memory.max",
    usage: "memory.current",
    cache: "file",
};

/// A control group, or the reason why the operating system does not permit it.
pub type Permission = std::result::Result<ControlGroup, String>;

impl ControlGroup {
    /// Moves the process into a new group, which counts the memory that the process takes from now
    /// on, and the pages that it reads from files first. Waits while another thread has moved it.
    ///
    /// # Errors
    /// If a group was made and cannot be removed.
    pub fn enter() -> Result<Permission> {
        ControlGroup::enter_alone(MOVED.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn enter_alone(alone: MutexGuard<'static, ()>) -> Result<Permission> {
        let Some((parent, form)) = memory_group() else {
            return Ok(Err("/proc/self/cgroup names no group".to_string()));
        };
        let set_up = |new: &Path| {
            let limit = new.join(form.limit);
            let opened = fs::OpenOptions::new().write(true).open(&limit);
            opened.map_or_else(
                |why| Err(format!("cannot open {}: {why}", limit.display())),
                |_| Ok(()),
            )
        };
        let membership = Membership::enter(beside(&parent, form), parent.clone(), set_up)?;
        Ok(membership.map(|membership| ControlGroup {
            membership,
            form,
            _alone: alone,
        }))
    }

    /// Limits the page cache to some bytes: the memory of the group to these and what the process
    /// itself has taken until now. What it takes later is taken from the page cache.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn limit_page_cache(&self, bytes: u64) -> Result<()> {
        let (usage, cache) = (self.number(self.form.usage)?, self.page_cache()?);
        let limit = usage.saturating_sub(cache) + bytes;
        let path = self.membership.directory.join(self.form.limit);
        fs::write(&path, limit.to_string()).map_err(Error::io("limit memory by", &path))
    }

    /// The bytes of page cache that the group holds.
    ///
    /// # Errors
    /// If the operating system does not tell.
    pub fn page_cache(&self) -> Result<u64> {
        let path = self.membership.directory.join("memory.stat");
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(name, _)| *name == self.form.cache);
        Ok(found.and_then(|(_, bytes)| bytes.parse().ok()).unwrap_or(0))
    }

    fn number(&self, file: &str) -> Result<u64> {
        let path = self.membership.directory.join(file);
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        Ok(text.trim().parse().unwrap_or(0))
    }

    /// Moves the process back to its former group, and removes the group.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn leave(self) -> Result<()> {
        self.membership.leave()
    }
}

/// The parent of the new group: the group of the process in version 1; the group above it in
/// version 2, where a group with processes cannot have limited groups below it.
fn beside<'g>(own: &'g Path, form: &Form) -> &'g Path {
    match (form.limit == SECOND.limit, own.parent()) {
        (true, Some(above)) if above.starts_with("/sys/fs/cgroup") => above,
        _ => own,
    }
}

fn join(group: &Path) -> std::io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// The path of the process's group whose controllers are as wanted.
fn group_of(wanted: impl Fn(&str) -> bool) -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        wanted(controllers).then(|| path.trim_start_matches('/').to_string())
    })
}

/// The group that counts this process's memory, in version 1 or 2 of control groups.
fn memory_group() -> Option<(PathBuf, &'static Form)> {
    if let Some(path) = group_of(|names| names.split(',').any(|name| name == "memory")) {
        let root = Path::new("/sys/fs/cgroup/memory");
        return Some((root.join(path), &FIRST));
    }
    let path = group_of(str::is_empty)?;
    Some((Path::new("/sys/fs/cgroup").join(path), &SECOND))
}

#[cfg(test)]
mod tests {
    use rhumb::fs::{Access, FileSystem, OsFileSystem};

    use super::*;

    /// A single test, since a process can be in only one group; other tests enter one too.
    #[test]
    fn a_process_enters_and_leaves_where_it_may() {
        let alone = MOVED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((parent, form)) = memory_group() else {
            return;
        };
        let processes = || fs::read_to_string(parent.join("cgroup.procs")).unwrap_or_default();
        let me = std::process::id().to_string();
        let before = processes();
        let group = match ControlGroup::enter_alone(alone).unwrap() {
            Ok(group) => group,
            Err(why) => {
                assert!(why.starts_with("cannot "), "{why}");
                assert_eq!(processes(), before);
                return;
            }
        };
        assert!(!processes().lines().any(|line| line == me));
        const CACHE: u64 = 4 << 30;
        group.limit_page_cache(CACHE).unwrap();
        let limit = group.number(form.limit).unwrap();
        assert!((CACHE..2 * CACHE).contains(&limit), "{limit}");
        let directory = group.membership.directory.clone();
        group.membership.leave().unwrap();
        assert!(processes().lines().any(|line| line == me));
        assert!(!directory.exists());
    }

    /// Reads past the page cache take the time that the limit says, where a device may be limited.
    #[test]
    fn a_device_is_slow_where_it_may_be() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages");
        fs::write(&path, vec![7; 64 * 4096]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        let limits = DeviceLimits {
            calls_per_second: 50,
            bytes_per_second: 1 << 30,
        };
        let group = match DeviceGroup::enter(directory.path(), limits).unwrap() {
            Ok(group) => group,
            Err(why) => {
                println!("skipped: {why}");
                return;
            }
        };
        let file = OsFileSystem::new().open(&path, Access::Direct).unwrap();
        let began = std::time::Instant::now();
        let mut page = vec![0; 4096];
        for at in 0..25 {
            assert_eq!(file.read_at(&mut page, at * 4096).unwrap(), page.len());
        }
        let took = began.elapsed();
        group.leave().unwrap();
        // 25 calls at 50 a second; how exactly the limit is kept is the operating system's affair.
        println!("25 reads at 50 a second took {took:?}");
        let left = DeviceGroup::enter(directory.path(), limits).unwrap();
        left.unwrap().leave().unwrap();
    }

    /// A thread that is ending when the process moves back stays in the group until it has ended.
    #[test]
    fn leaving_waits_for_threads_that_are_ending() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let directory = tempfile::tempdir().unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        std::thread::spawn(|| ()).join().unwrap();
                    }
                });
            }
            let stays = (0..200).map(|_| {
                let entered = DeviceGroup::enter(directory.path(), DeviceLimits::SATA_SSD)?;
                entered.map_or(Ok(()), DeviceGroup::leave)
            });
            let left: Result<Vec<()>> = stays.collect();
            over.store(true, Ordering::Relaxed);
            left.unwrap();
        });
    }
}
