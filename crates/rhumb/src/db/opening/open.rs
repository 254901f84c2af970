//! Opening a store: read the manifest, replay the logs, begin a new manifest.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::task::Waker;

use arc_swap::ArcSwap;

use super::leftovers::{refuse_headless, refuse_lost_edits, remove_leftovers};
use super::replay::{Replayed, replay};
use crate::db::DEFAULT_KEYSPACE;
use crate::db::handle::Handle;
use crate::db::stats::counters::{ReadCounters, WriteCounters};
use crate::db::store::{Catalog, Failure, OpenKeyspace, Published, Store};
use crate::db::upkeep::background;
use crate::db::upkeep::scheduler::Scheduler;
use crate::db::write::commit_queue::CommitQueue;
use crate::db::write::logs::{Logs, WriteState};
use crate::error::{Error, Result};
use crate::fs::names::{self, FileKind};
use crate::fs::{FileLock, LockMode, ops};
use crate::memory::BlockCache;
use crate::options::Options;
use crate::sync::atomic::{AtomicBool, AtomicU64};
use crate::sync::{HazardSlots, OwnLines, Rank, Ranked};
use crate::version::{Change, Edit, Files, Manifest, State, publish, read_current};
use crate::wal::{LogWriter, sync_log};

/// The number of stores that this process has opened. It gives each store a number of its own, so
/// that batches and snapshots are used only with their own store.
static OPENED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Opens a store for reading and writing.
pub(in crate::db) fn open(dir: &Path, options: Options) -> Result<Handle> {
    let store = open_without_threads(dir, options)?;
    let threads = background::start(&store)?;
    store.update_pressure();
    Ok(Handle::new(store, threads))
}

/// Opens a store for reading and writing, without background work.
pub(in crate::db) fn open_without_threads(dir: &Path, options: Options) -> Result<Arc<Store>> {
    options.check()?;
    let fs = &*options.file_system;
    if options.create_if_missing {
        ops::create_dir(fs, dir)?;
    }
    let lock = take_lock(dir, &options, LockMode::Exclusive)?;
    let scheduler = Scheduler::new(&options);
    let files = files_of(dir, &options, &scheduler)?;
    let state = match read_state(&files)? {
        Some(state) => state,
        None if options.create_if_missing => {
            refuse_headless(dir, &options)?;
            new_state(&files)?
        }
        None => {
            refuse_headless(dir, &options)?;
            return Err(Error::NotFound {
                path: dir.to_path_buf(),
            });
        }
    };
    for id in state.logs.keys() {
        // The log is synced before it is read, so everything that is replayed is durable.
        ops::if_found(sync_log(fs, dir, *id))?;
    }
    let store = Arc::new(assemble(files, scheduler, options, lock, state)?);
    begin(&store)?;
    remove_leftovers(&store)?;
    store.flush_many_logs()?;
    Ok(store)
}

/// Opens a store without changing anything.
pub(in crate::db) fn open_read_only(dir: &Path, options: Options) -> Result<Handle> {
    options.check()?;
    // A lock file made in a directory without a store would change it.
    if read_current(&options.file_system, dir)?.is_none() {
        if ops::if_found(ops::list(&*options.file_system, dir))?.is_some() {
            refuse_headless(dir, &options)?;
        }
        return Err(Error::NotFound {
            path: dir.to_path_buf(),
        });
    }
    let lock = take_lock(dir, &options, LockMode::Shared)?;
    let scheduler = Scheduler::new(&options);
    let files = files_of(dir, &options, &scheduler)?;
    let Some(state) = read_state(&files)? else {
        return Err(Error::NotFound {
            path: dir.to_path_buf(),
        });
    };
    let store = assemble(files, scheduler, options, lock, state)?;
    let reason = "it was opened for reading only; open it for writing instead".to_string();
    store.failure.set(Error::ReadOnly { reason })?;
    Ok(Handle::new(Arc::new(store), Vec::new()))
}

fn take_lock(dir: &Path, options: &Options, mode: LockMode) -> Result<Box<dyn FileLock>> {
    let taken = ops::lock(&*options.file_system, &dir.join(names::LOCK), mode);
    match taken {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(Error::Locked {
            path: dir.to_path_buf(),
        }),
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::NotFound {
                path: dir.to_path_buf(),
            })
        }
        Err(e) => Err(e),
    }
}

/// Where the tables of a store are. Those that can be deleted wake the scheduler's threads.
fn files_of(dir: &Path, options: &Options, scheduler: &Scheduler) -> Result<Arc<Files>> {
    let (fs, cache) = (&options.file_system, BlockCache::new(options.cache_bytes)?);
    let (fs, dir, cache) = (Arc::clone(fs), dir.to_path_buf(), Arc::new(cache));
    let files = Files::new(fs, dir, options.access, cache);
    let waker = Waker::from(scheduler.signals.clone());
    let files = files.waking(waker).covering(options.levels.granularity);
    Ok(Arc::new(files))
}

/// The state according to the manifest; `None` if there is no store.
fn read_state(files: &Arc<Files>) -> Result<Option<State>> {
    let Some(number) = read_current(&files.fs, &files.dir)? else {
        return Ok(None);
    };
    let (state, _) = State::read(files, number, |_| {})?;
    refuse_lost_edits(&files.dir, &*files.fs, &state)?;
    Ok(Some(state))
}

/// The state of a new store.
fn new_state(files: &Arc<Files>) -> Result<State> {
    let mut state = State::new(files);
    let changes = vec![
        Change::NextFile(1),
        Change::CreateKeyspace {
            id: 0,
            name: DEFAULT_KEYSPACE.to_string(),
        },
    ];
    state
        .apply(&Edit { changes })
        .map_err(Error::InvalidArgument)?;
    Ok(state)
}

/// Puts the store together in memory, with the writes of its logs in memtables. The files do not
/// change.
fn assemble(
    files: Arc<Files>,
    scheduler: Scheduler,
    options: Options,
    lock: Box<dyn FileLock>,
    state: State,
) -> Result<Store> {
    files.start_at(state.next_file);
    let number = OPENED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let hazard_slots = Arc::new(HazardSlots::default());
    let mut keyspaces = BTreeMap::new();
    for (id, keyspace) in &state.keyspaces {
        let open = OpenKeyspace::new(number, *id, keyspace, (&options, &hazard_slots));
        if let Some(tuner) = open.tuner() {
            tuner.recall(&files, *id);
        }
        keyspaces.insert(*id, Arc::new(open));
    }
    let Replayed {
        sealed,
        last_sequence,
        recovery,
    } = replay(&files.dir, &options, &state, &keyspaces)?;
    let write = WriteState {
        log: None,
        last_sequence,
    };
    Ok(Store {
        number,
        options,
        keyspaces: ArcSwap::from_pointee(keyspaces),
        published: OwnLines(Published {
            sequence: AtomicU64::new(last_sequence),
            ..Published::default()
        }),
        queue: CommitQueue::new(),
        scheduler,
        write: OwnLines(Ranked::new(Rank::Write, write)),
        catalog: Ranked::new(
            Rank::Catalog,
            Catalog {
                state,
                manifest: None,
            },
        ),
        snapshots: Ranked::new(Rank::Snapshots, BTreeMap::new()),
        logs: Ranked::new(Rank::Logs, Logs::new(sealed)),
        failure: Failure::new(),
        files,
        hazard_slots,
        dropped: Ranked::new(Rank::Dropped, Vec::new()),
        may_hold_back: AtomicBool::new(true),
        cancelled: AtomicBool::new(false),
        reads: ReadCounters::default(),
        writes: WriteCounters::default(),
        recovery,
        _lock: lock,
    })
}

/// Begins a new manifest with the whole state, including the valid ends of the replayed logs, so
/// that nothing behind these ends can ever be replayed. It names two new logs, so that the first writes
/// need not wait for one; these take writes only after this.
fn begin(store: &Store) -> Result<()> {
    let files = &store.files;
    for name in ops::list(&*files.fs, &files.dir)? {
        if let Some((_, number)) = names::parse(&name) {
            files.start_at(number.saturating_add(1));
        }
    }
    let mut write = crate::sync::lock(&store.write);
    let mut catalog = crate::sync::lock(&store.catalog);
    let mut logs = crate::sync::lock(&store.logs);
    let number = files.new_number();
    let mut changes = vec![Change::NextFile(number + 1)];
    for log in store.take_unneeded_logs(&mut logs) {
        changes.push(Change::RemoveLog(log.id));
    }
    for log in &logs.sealed {
        changes.push(Change::Log {
            id: log.id,
            valid_end: log.bytes,
        });
    }
    let log = || LogWriter::create(&*files.fs, &files.dir, files.new_number());
    let (active, next) = (log()?, log()?);
    let ids = [&active, &next].map(|log| log.file().log_id());
    changes.extend([Change::BeginLog(ids[0]), Change::BeginLogAhead(ids[1])]);
    catalog
        .state
        .apply(&Edit { changes })
        .map_err(Error::InvalidArgument)?;
    let first = catalog.state.snapshot_edit();
    // This makes the names of the new logs durable too.
    let manifest = Manifest::create(files, number, &first, &Edit::default());
    let manifest = manifest.inspect_err(|_| {
        let delete = |id| files.delete(FileKind::Log, id);
        ids.into_iter().for_each(delete);
    })?;
    publish(files, number)?;
    catalog.manifest = Some(manifest);
    logs.begin(&active, next);
    write.log = Some(active);
    Ok(())
}
