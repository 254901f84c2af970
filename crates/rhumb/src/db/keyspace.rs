//! A keyspace: a separate ordered map within a store.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::db::bounds::{behind_prefix, owned};
use crate::db::handle::Handle;
use crate::db::read::explain::{Explanation, explain};
use crate::db::read::lookup::Lookup;
use crate::db::read::multi_get::look_up_all;
use crate::db::store::{OpenKeyspace, Store};
use crate::db::write::batch::WriteBatch;
use crate::db::write::swap::{CompareAndSwapError, Condition};
use crate::db::{Iter, Key, Value};
use crate::entry::{Content, Sequence};
use crate::error::{Error, Result};
use crate::options::{Durability, KeyspaceOptions};
use crate::table::BlockSource;

/// A handle to one keyspace. Cloning it is cheap; the store stays open as long as a handle lives. After
/// [`Db::close`](crate::Db::close) it can be read from, and keeps the directory locked.
///
/// Keys are byte strings of up to 65,536 bytes in the order of their bytes; values hold up to 4
/// GiB.
#[derive(Debug, Clone)]
pub struct Keyspace {
    handle: Arc<Handle>,
    state: Arc<OpenKeyspace>,
    /// The durability of writes through this handle.
    durability: Durability,
}

impl Keyspace {
    pub(super) fn new(handle: Arc<Handle>, state: Arc<OpenKeyspace>) -> Self {
        let durability = handle.store.options.durability;
        Keyspace {
            handle,
            state,
            durability,
        }
    }

    pub(super) fn state(&self) -> &Arc<OpenKeyspace> {
        &self.state
    }

    pub(super) fn store(&self) -> &Store {
        &self.handle.store
    }

    /// The name of the keyspace.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// A handle to the same keyspace whose own writes have this durability: put, delete, delete of a range or
    /// prefix, clear, compare-and-swap. It costs no more than a clone, and can be kept. A batch has the
    /// durability that [`Db::write_with`](crate::Db::write_with) is given, whichever handles filled it.
    ///
    /// ```
    /// use rhumb::Durability;
    ///
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// db.with_durability(Durability::Buffered).put("visits", "7")?; // not synced
    /// db.put("order", "paid")?;                                     // synced, and so is what came before
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_durability(&self, durability: Durability) -> Keyspace {
        Keyspace {
            durability,
            ..self.clone()
        }
    }

    /// What is set for this keyspace alone, not the [`Options`](crate::Options) of the store; on a
    /// [`Db`](crate::Db), for the default keyspace. Waits for a change of the manifest that is under way.
    ///
    /// # Errors
    /// If the keyspace was dropped.
    pub fn options(&self) -> Result<KeyspaceOptions> {
        self.handle.store.keyspace_options(&self.state)
    }

    /// Sets all options of this keyspace, durably and at once; what was written before is durable then
    /// too. Does nothing where they are set so already. They hold for the tables that later flushes and
    /// merges write: tables that are there stay as they are until they are merged. Those that lie at the
    /// bottom already, with nothing above them, are not rewritten by [`Keyspace::compact_range`] either.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for options that a store cannot be opened with; if the keyspace was
    /// dropped, or the store takes no writes. After an I/O error it is open whether the options are set
    /// until the store is opened again.
    pub fn set_options(&self, options: KeyspaceOptions) -> Result<()> {
        let store = &self.handle.store;
        store.set_keyspace_options(&self.state, options)
    }

    /// Fails if the keyspace was dropped.
    pub(super) fn check(&self) -> Result<()> {
        if self.state.is_dropped() {
            return Err(Error::NoSuchKeyspace(self.state.name.clone()));
        }
        Ok(())
    }

    /// The value of `key`, pinned in memory without copying.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged, or the keyspace was dropped.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value<'_>>> {
        self.look_up(key.as_ref(), None)
    }

    pub(super) fn get_at(&self, key: &[u8], visible: Sequence) -> Result<Option<Value<'_>>> {
        self.look_up(key, Some(visible))
    }

    fn look_up(&self, key: &[u8], visible: Option<Sequence>) -> Result<Option<Value<'_>>> {
        self.find(key, visible, true)
    }

    /// Whether a key has a value, which is not read.
    pub(super) fn contains_at(&self, key: &[u8], visible: Option<Sequence>) -> Result<bool> {
        Ok(self.find(key, visible, false)?.is_some())
    }

    /// The value of a key; if it is not to be resolved, the pointer to it may stand for it.
    #[inline(always)]
    fn find(
        &self,
        key: &[u8],
        visible: Option<Sequence>,
        resolved: bool,
    ) -> Result<Option<Value<'_>>> {
        let store = &self.handle.store;
        // The view is loaded before the sequence is read, so every write up to that sequence is in
        // the view. A drop sets its mark before it empties the view.
        let view = self.state.view.load();
        self.check()?;
        let mut lookup = Lookup::new(key, visible.unwrap_or_else(|| store.visible()));
        lookup.probe_as(store.options.levels.compaction.tier());
        let tuned = self.state.tuned();
        let sampled = tuned.filter(|_| store.reads.samples_next());
        lookup.time_for(sampled);
        let mut source = BlockSource::new(true);
        lookup.run(&view, &mut source)?;
        store.reads.count(lookup.sources, &source.trace);
        if let Some(tuned) = sampled {
            tuned.note_get(&source.trace);
        }
        let found = lookup.take_answer();
        let value = match resolved {
            true => lookup.resolve(&view, self.state.id, found)?,
            false => found.map(Content::into_value),
        };
        Ok(value.map(Value::new))
    }

    /// The values of several keys at one moment, in the order of `keys`, which may be sorted or not. This is cheaper than
    /// single gets: the keys wait for memory together, in groups of 64, and for the device too, which is asked for up to 64
    /// blocks at a time, 16 MiB together at most. A block that holds several of the keys is read once, but for windows that overlap.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value<'_>>>> {
        self.multi_get_at(keys, None)
    }

    pub(super) fn multi_get_at<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        visible: Option<Sequence>,
    ) -> Result<Vec<Option<Value<'_>>>> {
        let store = &self.handle.store;
        let view = self.state.view.load_full();
        self.check()?;
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let visible = visible.unwrap_or_else(|| store.visible());
        let counters = (&store.reads, self.state.tuner());
        let values = look_up_all(&view, self.state.id, &keys, visible, counters)?;
        Ok(values.into_iter().map(|v| v.map(Value::new)).collect())
    }

    /// Whether `key` has a value, which is not read if it lies in a value file.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.contains_at(key.as_ref(), None)
    }

    /// Sets the value of `key`, as durably as [`Options::durability`](crate::Options::durability) or
    /// [`Keyspace::with_durability`] says.
    ///
    /// # Errors
    /// If the key or value is too long, or the store takes no writes (read-only, disk full).
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.put(self, key, value)?;
        self.handle.write_with(batch.into(), self.durability)
    }

    /// Removes `key`. It is no error if the key does not exist.
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete(self, key)?;
        self.handle.write_with(batch.into(), self.durability)
    }

    /// Sets the value of `key` to `new` if it is `expected` now, as one step that no other write comes
    /// between; `None` stands for no value. With it counters, locks and the like are built:
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// let mut current: Option<Vec<u8>> = None;
    /// loop {
    ///     let count = current.as_deref().map_or(0, |bytes| bytes[0]);
    ///     match db.compare_and_swap("visits", current.as_deref(), Some(&[count + 1]))? {
    ///         Ok(()) => break,
    ///         Err(other) => current = other.current,
    ///     }
    /// }
    /// # assert_eq!(db.get("visits")?.as_deref(), Some(&[1][..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Costs a get and a write. Other writers wait for a second look at the value, which is in memory
    /// mostly, because the get brought its block there. It is as durable as a put; the value that it is
    /// compared with may be a [`Durability::Buffered`] one, as that of a get.
    ///
    /// # Errors
    /// As [`Keyspace::get`] and [`Keyspace::put`]. The inner error: the key has another value, which is
    /// handed out, and nothing was written.
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Result<(), CompareAndSwapError>> {
        let key = key.as_ref();
        let mut batch = WriteBatch::new();
        match new {
            Some(value) => batch.put(self, key, value)?,
            None => batch.delete(self, key)?,
        }
        self.handle.store.check_writable()?;
        let condition = Condition {
            keyspace: self.state.clone(),
            key: key.to_vec(),
            expected: expected.map(<[u8]>::to_vec),
        };
        // Those who are too late need not queue up, and others need not wait for the disk.
        if let Err(other) = condition.compare(self.get(key)?.as_deref()) {
            return Ok(Err(other));
        }
        self.handle.write_if(condition, batch, self.durability)
    }

    /// Removes all keys of a range, at the cost of one write. It does nothing if the range is empty. A range
    /// without an end takes 128 KiB in the log; others take about what their keys take.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// for day in ["2024-12-30", "2024-12-31", "2025-01-01", "2025-01-02"] {
    ///     db.put(day, "sunny")?;
    /// }
    /// db.delete_range(.."2024-12-31")?;
    /// db.delete_range("2025-01-01"..="2025-01-01")?;
    /// let left: Vec<_> = db.iter()?.map(|entry| Ok(entry?.0)).collect::<rhumb::Result<_>>()?;
    /// assert_eq!(left, ["2024-12-31", "2025-01-02"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For all keys there is [`Keyspace::clear`].
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn delete_range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete_range(self, range)?;
        self.handle.write_with(batch.into(), self.durability)
    }

    /// Removes all keys that start with `prefix`, at the cost of one write. An empty prefix, or one of
    /// bytes 0xFF only, takes 128 KiB in the log; others take what [`Keyspace::delete_range`] takes.
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete_prefix(self, prefix)?;
        self.handle.write_with(batch.into(), self.durability)
    }

    /// Removes all keys of this keyspace; on a [`Db`](crate::Db), those of the default keyspace alone. This
    /// costs one write (128 KiB in the log). Snapshots and iterators still see
    /// them. Space on disk is given back by merges: by [`Keyspace::compact_range`] over everything at once.
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn clear(&self) -> Result<()> {
        self.delete_prefix([])
    }

    /// The first key with its value; `None` if there is none. Costs a seek, and a step for each key that
    /// was deleted before it and that merges have not dropped yet.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// db.put("apple", "1")?;
    /// db.put("pear", "2")?;
    /// let (key, value) = db.first()?.expect("a key is there");
    /// assert_eq!((&*key, &*value), (&b"apple"[..], &b"1"[..]));
    /// assert_eq!(db.last()?.expect("a key is there").0, "pear");
    /// db.clear()?;
    /// assert!(db.is_empty()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn first(&self) -> Result<Option<(Key, Value<'_>)>> {
        self.iter()?.next().transpose()
    }

    /// The last key with its value; as [`Keyspace::first`].
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn last(&self) -> Result<Option<(Key, Value<'_>)>> {
        self.iter()?.next_back().transpose()
    }

    /// Whether there is no key. Costs as much as [`Keyspace::first`].
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(!self.iter()?.keys().advance()?)
    }

    /// About how many keys there are, and never less than there are, from what is known of each table and
    /// write buffer: nothing is read. `iter` and `count` give the exact number.
    ///
    /// It counts the values in tables, and the entries of write buffers. So it is too large by the older
    /// values of keys, by keys that were deleted since their values were written, and by deletes in write
    /// buffers, all of which merges drop where no snapshot needs them. After an opening that replayed logs it may
    /// count entries twice that are in tables too. Where each key was written once and none deleted, it is exact
    /// until then, and after [`Keyspace::compact_range`] over everything.
    ///
    /// # Errors
    /// If the keyspace was dropped.
    pub fn approximate_len(&self) -> Result<u64> {
        let view = self.state.view.load_full();
        self.check()?;
        let buffered = view.memtables().map(|memtable| memtable.entries());
        let tables = view.levels.tables().map(|(_, table)| &table.meta);
        let stored = tables.map(|t| t.entries.saturating_sub(t.deletes));
        Ok(total(buffered.chain(stored)))
    }

    /// Bytes of its tables and value files on disk (on a [`Db`](crate::Db), those of the default keyspace); the log
    /// is shared by all keyspaces and not counted. Nothing is read.
    ///
    /// # Errors
    /// If the keyspace was dropped.
    pub fn disk_space(&self) -> Result<u64> {
        let view = self.state.view.load_full();
        self.check()?;
        let tables = view.levels.tables().map(|(_, t)| t.meta.file_bytes);
        let values = view
            .levels
            .value_files()
            .iter()
            .map(|(_, used)| used.file.meta.bytes);
        Ok(total(tables.chain(values)))
    }

    /// All keys with their values, in order, from either end.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged, or the keyspace was dropped; later errors come as
    /// items.
    pub fn iter(&self) -> Result<Iter<'_>> {
        self.range::<&[u8]>(..)
    }

    /// The keys of a range with their values, in order, from either end.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// db.put("apple", "1")?;
    /// db.put("pear", "2")?;
    /// let keys = db.range("a".."b")?.map(|entry| Ok(entry?.0));
    /// let keys: Vec<rhumb::Key> = keys.collect::<rhumb::Result<_>>()?;
    /// assert_eq!(keys, [b"apple"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Keyspace::iter`].
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<Iter<'_>> {
        self.iterate(owned(range.start_bound()), owned(range.end_bound()), None)
    }

    pub(super) fn range_at<K: AsRef<[u8]>>(
        &self,
        range: impl RangeBounds<K>,
        visible: Sequence,
    ) -> Result<Iter<'_>> {
        self.iterate(
            owned(range.start_bound()),
            owned(range.end_bound()),
            Some(visible),
        )
    }

    /// The keys that start with `prefix`, in order, from either end.
    ///
    /// # Errors
    /// As [`Keyspace::iter`].
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Iter<'_>> {
        let prefix = prefix.as_ref();
        self.iterate(
            Bound::Included(prefix.to_vec()),
            behind_prefix(prefix),
            None,
        )
    }

    pub(super) fn prefix_at(&self, prefix: &[u8], visible: Sequence) -> Result<Iter<'_>> {
        self.iterate(
            Bound::Included(prefix.to_vec()),
            behind_prefix(prefix),
            Some(visible),
        )
    }

    fn iterate(
        &self,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
        visible: Option<Sequence>,
    ) -> Result<Iter<'_>> {
        let view = self.state.view.load_full();
        self.check()?;
        let visible = visible.unwrap_or_else(|| self.handle.store.visible());
        let counters = (&self.handle.store.reads, self.state.tuner());
        let at = (self.state.id, visible);
        Ok(Iter::new(view, at, from, to, counters))
    }

    /// Writes everything that was written to this keyspace so far to tables, and waits for it. On a
    /// [`Db`](crate::Db) this is the default keyspace alone. Durable writes do not need it; nor do
    /// others, for which [`Db::sync`](crate::Db::sync) is enough.
    ///
    /// # Errors
    /// If the tables cannot be written.
    pub fn flush(&self) -> Result<()> {
        self.check()?;
        self.handle.store.flush_keyspace(&self.state)
    }

    /// Flushes, then merges all tables of this keyspace that may hold keys at or after `from` and below `to`
    /// (`None`: unbounded) down to the last level with tables, and waits for it. If that level is larger than
    /// it should be then, tables of it are moved to the next one in the background. On a [`Db`](crate::Db)
    /// this is the default keyspace alone. It takes as long as rewriting these tables, at the rate of
    /// [`Options::compaction_bytes_per_second`](crate::Options::compaction_bytes_per_second), and needs room on the
    /// disk for as much as it merges at a time: all that overlaps in level 0, with the levels below that are no larger.
    /// Merges in the background that this one would do again are given up.
    ///
    /// # Errors
    /// If tables cannot be read or written.
    pub fn compact_range(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<()> {
        self.check()?;
        self.handle.store.compact_range(&self.state, from, to)
    }

    /// Looks `key` up and describes each step.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn explain_get(&self, key: impl AsRef<[u8]>) -> Result<Explanation> {
        let view = self.state.view.load_full();
        self.check()?;
        let visible = self.handle.store.visible();
        explain(&view, self.state.id, key.as_ref(), visible)
    }
}

/// The sum, or the largest number if it is above: tables state their own counts.
fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
