//! A file system that fails on purpose: cuts the power, fails a call, or runs full.
//!
//! A call is known by the place in the store's source that made it (see `ops`), so that a test can
//! fail each place once and show that it left none out.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::{Access, FileLock, FileSystem, LockMode, ReadFile, WriteFile, ops};
use crate::sync::{Mutex, lock};

/// The kinds of calls to a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the method of that name")]
pub enum FileCall {
    Create,
    Open,
    Read,
    Write,
    Truncate,
    Len,
    BeginSync,
    Sync,
    SyncFile,
    SyncDir,
    Rename,
    Link,
    Remove,
    CreateDir,
    List,
    Lock,
}

impl FileCall {
    /// Whether the call changes what is on the disk.
    pub fn is_mutating(self) -> bool {
        use FileCall::{Create, CreateDir, Link, Remove, Rename, Truncate, Write};
        matches!(
            self,
            Create | Write | Truncate | Rename | Link | Remove | CreateDir
        ) || self.is_sync()
    }

    /// Whether the call makes something durable.
    pub fn is_sync(self) -> bool {
        matches!(
            self,
            FileCall::Sync | FileCall::SyncFile | FileCall::SyncDir
        )
    }
}

/// A place in the source that calls the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The source file; empty for a call that did not go through `ops`.
    pub file: &'static str,
    /// The line in it, from 1.
    pub line: u32,
    /// The column in it, from 1.
    pub column: u32,
    /// The kind of call.
    pub call: FileCall,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} at {}:{}:{}",
            self.call, self.file, self.line, self.column
        )
    }
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with `EIO` and does nothing.
    InputOutput,
    /// The call fails with `ENOSPC` and does nothing.
    NoSpace,
    /// The call fails with `EINTR` and does nothing.
    Interrupted,
    /// A read returns half of the bytes asked for, at least one.
    ShortRead,
    /// A write takes half of the bytes given, at least one.
    ShortWrite,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 5] = [
        Fault::InputOutput,
        Fault::NoSpace,
        Fault::Interrupted,
        Fault::ShortRead,
        Fault::ShortWrite,
    ];

    /// Whether a call of this kind can fail in this way.
    pub fn applies_to(self, call: FileCall) -> bool {
        match self {
            Fault::ShortRead => call == FileCall::Read,
            Fault::ShortWrite => call == FileCall::Write,
            Fault::InputOutput | Fault::NoSpace | Fault::Interrupted => true,
        }
    }
}

/// Which call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAt {
    /// The call with this number among all calls, from 1.
    Call(u64),
    /// The next call from this site to which the fault applies.
    Site(Site),
}

/// Which faults to inject. Calls are numbered from the creation of the file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// The power is cut during the mutating call with this number, from 1: a write is half done,
    /// any other call does nothing, and all later calls fail.
    pub cut_at: Option<u64>,
    /// One call that fails, once.
    pub fault: Option<(FaultAt, Fault)>,
    /// How many more bytes can be written before the disk is full.
    pub budget: Option<u64>,
    /// Syncs at this site do nothing and report success, which shows that a crash test would notice
    /// a missing sync.
    pub ignored_sync: Option<Site>,
}

/// A file system that passes calls on to another one, counts them, and fails as planned. Clones
/// share their plan and their counts.
///
/// The cut does not stop calls of other threads that have already started. A test with several
/// threads joins them before it looks at what the disk kept.
#[derive(Debug, Clone)]
pub struct FaultyFileSystem {
    inner: Arc<dyn FileSystem>,
    control: Control,
}

type Control = Arc<Mutex<FaultState>>;

#[derive(Debug, Default)]
struct FaultState {
    plan: Plan,
    calls: u64,
    mutating_calls: u64,
    power_is_cut: bool,
    faults: u64,
    sites: BTreeMap<Site, u64>,
}

/// How to make a call.
enum Verdict {
    /// Unchanged.
    Whole,
    /// With only this many bytes.
    Short(usize),
    /// With only this many bytes, after which the power is cut.
    Cut(usize),
    /// Not at all, while reporting success.
    Pretend,
}

impl FaultyFileSystem {
    /// A file system that fails calls to `inner` as planned.
    pub fn new(inner: Arc<dyn FileSystem>, plan: Plan) -> Self {
        let control = Arc::new(Mutex::new(FaultState {
            plan,
            ..FaultState::default()
        }));
        FaultyFileSystem { inner, control }
    }

    /// Replaces the plan. The counts go on, and a power cut stays in force.
    pub fn set_plan(&self, plan: Plan) {
        lock(&self.control).plan = plan;
    }

    /// Sets how many more bytes can be written; `None` for no limit.
    pub fn set_budget(&self, bytes: Option<u64>) {
        lock(&self.control).plan.budget = bytes;
    }

    /// The number of calls so far.
    pub fn calls(&self) -> u64 {
        lock(&self.control).calls
    }

    /// The number of calls so far that change what is on the disk.
    pub fn mutating_calls(&self) -> u64 {
        lock(&self.control).mutating_calls
    }

    /// The number of faults injected: calls that failed as planned, syncs that were ignored, and
    /// writes cut short by the budget. Calls that fail because of a power cut are not counted.
    pub fn faults(&self) -> u64 {
        lock(&self.control).faults
    }

    /// Whether the power was cut.
    pub fn power_is_cut(&self) -> bool {
        lock(&self.control).power_is_cut
    }

    /// Every site that made a call, with its number of calls.
    pub fn sites(&self) -> BTreeMap<Site, u64> {
        lock(&self.control).sites.clone()
    }

    /// How many calls of a kind were made, at all sites.
    pub fn calls_of(&self, call: FileCall) -> u64 {
        let control = lock(&self.control);
        let sites = control.sites.iter();
        let calls = sites.filter(|(site, _)| site.call == call);
        calls.map(|(_, calls)| calls).sum()
    }

    fn call<T>(&self, call: FileCall, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match begin(&self.control, call, 0)? {
            Verdict::Cut(_) => Err(power_cut()),
            Verdict::Whole | Verdict::Short(_) | Verdict::Pretend => make(),
        }
    }

    fn sync(&self, call: FileCall, make: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        make_sync(&self.control, call, make)
    }
}

fn power_cut() -> io::Error {
    io::Error::other("power cut")
}

fn make_sync(
    control: &Control,
    call: FileCall,
    make: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    match begin(control, call, 0)? {
        Verdict::Cut(_) => Err(power_cut()),
        Verdict::Pretend => Ok(()),
        Verdict::Whole | Verdict::Short(_) => make(),
    }
}

/// Counts a call of `length` bytes and decides how to make it.
fn begin(control: &Control, call: FileCall, length: usize) -> io::Result<Verdict> {
    let place = ops::current_site();
    let site = Site {
        file: place.map_or("", |place| place.file()),
        line: place.map_or(0, |place| place.line()),
        column: place.map_or(0, |place| place.column()),
        call,
    };
    lock(control).begin(site, length)
}

impl FaultState {
    fn begin(&mut self, site: Site, length: usize) -> io::Result<Verdict> {
        if self.power_is_cut {
            return Err(power_cut());
        }
        self.calls += 1;
        *self.sites.entry(site).or_default() += 1;
        if site.call.is_mutating() {
            self.mutating_calls += 1;
            if self.plan.cut_at == Some(self.mutating_calls) {
                self.power_is_cut = true;
                return Ok(Verdict::Cut(length / 2));
            }
        }
        if let Some(fault) = self.fault_of(site) {
            return match fault {
                Fault::InputOutput => Err(Errno::IO.into()),
                Fault::NoSpace => Err(Errno::NOSPC.into()),
                Fault::Interrupted => Err(Errno::INTR.into()),
                Fault::ShortRead | Fault::ShortWrite => Ok(Verdict::Short(length.div_ceil(2))),
            };
        }
        if site.call.is_sync() && self.plan.ignored_sync == Some(site) {
            self.faults += 1;
            return Ok(Verdict::Pretend);
        }
        if site.call == FileCall::Write {
            return self.spend(length);
        }
        Ok(Verdict::Whole)
    }

    fn fault_of(&mut self, site: Site) -> Option<Fault> {
        let (at, fault) = self.plan.fault?;
        let here = match at {
            FaultAt::Call(number) => number == self.calls,
            FaultAt::Site(wanted) => wanted == site,
        };
        if !here || !fault.applies_to(site.call) {
            return None;
        }
        self.plan.fault = None;
        self.faults += 1;
        Some(fault)
    }

    /// Takes as many bytes from the budget as are left, as a full disk does.
    fn spend(&mut self, length: usize) -> io::Result<Verdict> {
        let Some(budget) = self.plan.budget else {
            return Ok(Verdict::Whole);
        };
        let room = usize::try_from(budget).unwrap_or(usize::MAX).min(length);
        if room < length {
            self.faults += 1;
        }
        if room == 0 && length > 0 {
            return Err(Errno::NOSPC.into());
        }
        self.plan.budget = Some(budget - room as u64);
        Ok(Verdict::Short(room))
    }
}

impl FileSystem for FaultyFileSystem {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let inner = self.call(FileCall::Create, || self.inner.create(path))?;
        let control = self.control.clone();
        Ok(Box::new(FaultyWriteFile { inner, control }))
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn ReadFile>> {
        let inner = self.call(FileCall::Open, || self.inner.open(path, access))?;
        let control = self.control.clone();
        Ok(Arc::new(FaultyReadFile { inner, control }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(FileCall::Rename, || self.inner.rename(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(FileCall::Link, || self.inner.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call(FileCall::Remove, || self.inner.remove(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.call(FileCall::CreateDir, || self.inner.create_dir(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.call(FileCall::List, || self.inner.list(path))
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.sync(FileCall::SyncFile, || self.inner.sync_file(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.sync(FileCall::SyncDir, || self.inner.sync_dir(path))
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn FileLock>>> {
        self.call(FileCall::Lock, || self.inner.lock(path, mode))
    }
}

#[derive(Debug)]
struct FaultyWriteFile {
    inner: Box<dyn WriteFile>,
    control: Control,
}

impl WriteFile for FaultyWriteFile {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match begin(&self.control, FileCall::Write, bytes.len())? {
            Verdict::Whole | Verdict::Pretend => self.inner.write(bytes),
            Verdict::Short(n) => self.inner.write(bytes.get(..n).unwrap_or(bytes)),
            Verdict::Cut(n) => {
                self.inner.write(bytes.get(..n).unwrap_or(bytes))?;
                Err(power_cut())
            }
        }
    }

    fn preallocate(&self, offset: u64, bytes: u64) -> bool {
        // It changes nothing that could be lost, and may be refused without harm.
        self.inner.preallocate(offset, bytes)
    }

    fn begin_sync(&self) -> io::Result<()> {
        // It changes nothing, so the power is never cut in it.
        begin(&self.control, FileCall::BeginSync, 0)?;
        self.inner.begin_sync()
    }

    fn sync(&self) -> io::Result<()> {
        make_sync(&self.control, FileCall::Sync, || self.inner.sync())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        match begin(&self.control, FileCall::Truncate, 0)? {
            Verdict::Cut(_) => Err(power_cut()),
            Verdict::Whole | Verdict::Short(_) | Verdict::Pretend => self.inner.truncate(length),
        }
    }
}

#[derive(Debug)]
struct FaultyReadFile {
    inner: Arc<dyn ReadFile>,
    control: Control,
}

impl ReadFile for FaultyReadFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        match begin(&self.control, FileCall::Read, into.len())? {
            Verdict::Short(n) => self
                .inner
                .read_at(into.get_mut(..n).unwrap_or_default(), offset),
            Verdict::Whole | Verdict::Pretend | Verdict::Cut(_) => self.inner.read_at(into, offset),
        }
    }

    fn len(&self) -> io::Result<u64> {
        begin(&self.control, FileCall::Len, 0)?;
        self.inner.len()
    }

    fn longest_hole(&self, enough: u64) -> io::Result<u64> {
        begin(&self.control, FileCall::Len, 0)?;
        self.inner.longest_hole(enough)
    }
}
