//! A control group of the operating system that limits this process's memory, page cache included.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// A control group that contains only this process, until it leaves.
#[derive(Debug)]
#[must_use = "the process stays in the group until it leaves"]
pub struct ControlGroup {
    directory: PathBuf,
    parent: PathBuf,
    form: &'static Form,
    _alone: MutexGuard<'static, ()>,
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
        let directory = beside(&parent, form).join(format!("rhumb-lab-{}", std::process::id()));
        // A process with the same number may have left a group behind; it is empty.
        let _ = fs::remove_dir(&directory);
        if let Err(why) = fs::create_dir(&directory) {
            return Ok(Err(format!("cannot create {}: {why}", directory.display())));
        }
        let group = ControlGroup {
            directory,
            parent,
            form,
            _alone: alone,
        };
        let limit = group.directory.join(form.limit);
        let why = match fs::OpenOptions::new().write(true).open(&limit) {
            Err(why) => format!("cannot open {}: {why}", limit.display()),
            Ok(_) => match join(&group.directory) {
                Ok(()) => return Ok(Ok(group)),
                Err(why) => format!("cannot enter {}: {why}", group.directory.display()),
            },
        };
        group.leave()?;
        Ok(Err(why))
    }

    /// Limits the page cache to some bytes: the memory of the group to these and what the process
    /// itself has taken until now. What it takes later is taken from the page cache.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn limit_page_cache(&self, bytes: u64) -> Result<()> {
        let (usage, cache) = (self.number(self.form.usage)?, self.page_cache()?);
        let limit = usage.saturating_sub(cache) + bytes;
        let path = self.directory.join(self.form.limit);
        fs::write(&path, limit.to_string()).map_err(Error::io("limit memory by", &path))
    }

    /// The bytes of page cache that the group holds.
    ///
    /// # Errors
    /// If the operating system does not tell.
    pub fn page_cache(&self) -> Result<u64> {
        let path = self.directory.join("memory.stat");
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(name, _)| *name == self.form.cache);
        Ok(found.and_then(|(_, bytes)| bytes.parse().ok()).unwrap_or(0))
    }

    fn number(&self, file: &str) -> Result<u64> {
        let path = self.directory.join(file);
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        Ok(text.trim().parse().unwrap_or(0))
    }

    /// Moves the process back to its former group, and removes the group.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn leave(self) -> Result<()> {
        self.return_and_remove()
    }

    fn return_and_remove(&self) -> Result<()> {
        let (directory, parent) = (&self.directory, &self.parent);
        join(parent).map_err(Error::io("return to control group", parent))?;
        fs::remove_dir(directory).map_err(Error::io("remove control group", directory))
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

/// The group that counts this process's memory, in version 1 or 2 of control groups.
fn memory_group() -> Option<(PathBuf, &'static Form)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let of = |wanted: fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            wanted(controllers).then(|| path.trim_start_matches('/').to_string())
        })
    };
    if let Some(path) = of(|names| names.split(',').any(|name| name == "memory")) {
        let root = Path::new("/sys/fs/cgroup/memory");
        return Some((root.join(path), &FIRST));
    }
    let path = of(str::is_empty)?;
    Some((Path::new("/sys/fs/cgroup").join(path), &SECOND))
}

#[cfg(test)]
mod tests {
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
        let directory = group.directory.clone();
        group.return_and_remove().unwrap();
        assert!(processes().lines().any(|line| line == me));
        assert!(!directory.exists());
    }
}
