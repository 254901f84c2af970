//! A control group of the operating system that limits this process's memory, page cache included.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A control group that contains only this process, until it leaves.
#[derive(Debug)]
#[must_use = "the process stays limited until it leaves"]
pub struct ControlGroup {
    directory: PathBuf,
    parent: PathBuf,
}

impl ControlGroup {
    /// Moves the process into a new group with limited memory; memory that it already holds does
    /// not count. None if the operating system does not permit it.
    ///
    /// # Errors
    /// If a group was made and cannot be removed.
    pub fn enter(bytes: u64) -> Result<Option<ControlGroup>> {
        let Some((parent, limit)) = memory_group() else {
            return Ok(None);
        };
        let directory = beside(&parent, limit).join(format!("rhumb-lab-{}", std::process::id()));
        // A process with the same number may have left a group behind; it is empty.
        let _ = fs::remove_dir(&directory);
        if fs::create_dir(&directory).is_err() {
            return Ok(None);
        }
        let group = ControlGroup { directory, parent };
        let entered = fs::write(group.directory.join(limit), bytes.to_string())
            .and_then(|()| join(&group.directory));
        match entered {
            Ok(()) => Ok(Some(group)),
            Err(_) => {
                group.leave()?;
                Ok(None)
            }
        }
    }

    /// Moves the process back to its former group, and removes the group.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn leave(self) -> Result<()> {
        let (directory, parent) = (&self.directory, &self.parent);
        join(parent).map_err(Error::io("return to control group", parent))?;
        fs::remove_dir(directory).map_err(Error::io("remove control group", directory))
    }
}

/// The parent of the new group: the group of the process in version 1; the group above it in
/// version 2, where a group with processes cannot have limited groups below it.
fn beside<'g>(own: &'g Path, limit: &str) -> &'g Path {
    match (limit, own.parent()) {
        (SECOND, Some(above)) if above.starts_with("/sys/fs/cgroup") => above,
        _ => own,
    }
}

/// The file of the limit in version 2 of control groups.
const SECOND: &str = "memory.max";

fn join(group: &Path) -> std::io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// The group that counts this process's memory, and the name of its limit file, in version 1 or 2
/// of control groups.
fn memory_group() -> Option<(PathBuf, &'static str)> {
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
        return Some((root.join(path), "memory.limit_in_bytes"));
    }
    let path = of(str::is_empty)?;
    Some((Path::new("/sys/fs/cgroup").join(path), SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single test, since a process can be in only one group.
    #[test]
    fn a_process_enters_and_leaves_where_it_may() {
        let Some((parent, limit)) = memory_group() else {
            return;
        };
        let processes = || fs::read_to_string(parent.join("cgroup.procs")).unwrap_or_default();
        let me = std::process::id().to_string();
        let before = processes();
        let Some(group) = ControlGroup::enter(4 << 30).unwrap() else {
            assert_eq!(processes(), before);
            return;
        };
        let text = fs::read_to_string(group.directory.join(limit)).unwrap();
        assert_eq!(text.trim(), (4u64 << 30).to_string());
        assert!(!processes().lines().any(|line| line == me));
        let directory = group.directory.clone();
        group.leave().unwrap();
        assert!(processes().lines().any(|line| line == me));
        assert!(!directory.exists());
    }
}
