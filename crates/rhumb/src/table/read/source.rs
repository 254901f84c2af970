//! Where one get or cursor takes its blocks from: what it has at hand, and how it reads on.

use std::sync::Arc;

use super::ahead::Ahead;
use super::loaded::LoadedBlock;
use super::trace::GetTrace;
use crate::memory::{OwnedBytes, Room};

/// A scan forwards that has read so many blocks evicts few others for what follows, and needs no frames for it: copying
/// a block into one takes about as long as reading it from the page cache.
const MANY_BLOCKS: u64 = 8;

/// Copying shorter values costs more than it saves to leave out the frames: measured, 27 of 124 ns with 100 bytes, and
/// none of 330 ns with 1,000.
const SMALL_VALUE_BYTES: usize = 512;

/// Neighbouring blocks read from the file in one call. Each is verified when it is used, so unused
/// blocks cost only their bytes.
#[derive(Debug, Clone)]
pub(super) struct Fetched {
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
    /// The offset of the first one in the file.
    pub start: u64,
    pub bytes: Arc<OwnedBytes>,
    /// Where they are kept in the cache when they are used; `None`: nowhere.
    pub room: Option<Room>,
}

impl Fetched {
    /// The bytes of the blocks `first..=last` from `start` on.
    pub fn new(
        (first, last): (u64, u64),
        start: u64,
        bytes: Vec<u8>,
        room: Option<Room>,
    ) -> Fetched {
        let bytes = Arc::new(OwnedBytes::new(bytes));
        Fetched {
            first,
            last,
            start,
            bytes,
            room,
        }
    }
}

/// The blocks that a source has, or will have.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The blocks of the last read call.
    pub fetched: Option<Fetched>,
    /// A block, of whatever table, that a thread reads.
    pub ahead: Option<Box<Ahead>>,
    /// A block that may be needed again: the one that answered the last of several gets, or the
    /// first one of a search.
    pub recent: Option<LoadedBlock>,
}

/// Where one get or cursor takes its blocks from.
#[derive(Debug)]
pub(crate) struct BlockSource {
    /// Whether blocks that are read may be kept in the cache.
    pub fill_cache: bool,
    /// Whether read calls are timed, as for passes over whole tables, which make few calls.
    pub(in crate::table) timed: bool,
    /// The table that was entered last; 0 for none.
    table: u64,
    /// The blocks that it has; `None` for most gets, which find theirs in memory, and have nothing to drop then.
    held: Option<Held>,
    keep_recent: bool,
    /// How often a forward scan has reached a block that was not in memory.
    misses_forward: u32,
    /// How many blocks it has read since it began.
    pub(super) read_forward: u64,
    /// Whether small values are pinned: in frames this costs little, elsewhere each is copied.
    pins_small: bool,
    /// Counts of the work done.
    pub trace: GetTrace,
}

impl BlockSource {
    pub fn new(fill_cache: bool) -> BlockSource {
        BlockSource {
            fill_cache,
            timed: !fill_cache,
            table: 0,
            held: None,
            keep_recent: false,
            misses_forward: 0,
            read_forward: 0,
            pins_small: false,
            trace: GetTrace::default(),
        }
    }

    /// A source for several gets of ascending keys from one table.
    pub fn shared() -> BlockSource {
        BlockSource {
            keep_recent: true,
            ..BlockSource::new(true)
        }
    }

    /// Forgets the blocks of the last table: block numbers are relative to a table.
    // Inlined by force: a call would be longer than what it does, once a get.
    #[inline(always)]
    pub(in crate::table) fn leave_table(&mut self) {
        self.table = 0;
        if let Some(held) = &mut self.held {
            (held.fetched, held.recent) = (None, None);
        }
    }

    /// The blocks that it has, to change them.
    pub(super) fn held_mut(&mut self) -> &mut Held {
        self.held.get_or_insert_default()
    }

    /// The block that may be needed again, if that is this one.
    #[inline]
    pub(super) fn recent(&self, number: u64) -> Option<&LoadedBlock> {
        let recent = self.held.as_ref()?.recent.as_ref();
        recent.filter(|recent| recent.number == number)
    }

    /// Leaves the last table, if that is another one than the one with this number. Every get does so before it reads.
    #[inline]
    pub(super) fn enter_table(&mut self, number: u64) {
        if self.table != number {
            self.leave_table();
            self.table = number;
        }
    }

    /// Whether it has a block of a table, which was [entered](BlockSource::enter_table).
    pub(super) fn has(&self, table: u64, block: u64) -> bool {
        self.table == table && (self.has_recent(block) || self.has_fetched(block))
    }

    /// Drops the first block of a search, unless more gets follow.
    #[inline]
    pub(in crate::table) fn forget_unless_shared(&mut self) {
        if let Some(held) = &mut self.held
            && !self.keep_recent
        {
            held.recent = None;
        }
    }

    /// Whether the block that answers the next get may be needed again; if not, it need not be pinned once more.
    #[inline]
    pub fn keep_recent(&mut self, keep: bool) {
        self.keep_recent = keep;
    }

    /// Keeps the block that answered a get, if more gets follow.
    #[inline]
    pub(in crate::table) fn keep(&mut self, block: &LoadedBlock) {
        if self.keep_recent && !self.has_recent(block.number) {
            self.held_mut().recent = Some(block.clone());
        }
    }

    /// Whether a block is at hand from the last get, or may be needed by the next one.
    #[inline]
    pub(super) fn shares(&self, number: u64) -> bool {
        self.keep_recent || self.has_recent(number)
    }

    /// Takes over blocks of a table that were read for the next get.
    pub(super) fn take_over(&mut self, table: u64, fetched: Fetched) {
        self.enter_table(table);
        self.held_mut().fetched = Some(fetched);
    }

    /// Whether the block of the last get is this one.
    pub(super) fn has_recent(&self, number: u64) -> bool {
        self.recent(number).is_some()
    }

    /// Where blocks are kept that are read for themselves.
    pub(super) fn room(&self) -> Option<Room> {
        self.fill_cache.then_some(Room::Any)
    }

    /// Whether few blocks are evicted for what is read next.
    pub(super) fn spares_others(&self) -> bool {
        self.fill_cache && self.read_forward >= MANY_BLOCKS && !self.pins_small
    }

    pub(super) fn has_fetched(&self, number: u64) -> bool {
        let fetched = self.held.as_ref().and_then(|held| held.fetched.as_ref());
        fetched.is_some_and(|f| (f.first..=f.last).contains(&number))
    }

    /// Notes that a value of so many bytes is pinned.
    #[inline]
    pub(in crate::table) fn note_pinned(&mut self, bytes: usize) {
        self.pins_small |= bytes < SMALL_VALUE_BYTES;
    }

    /// Notes that a scan moves elsewhere, so that it is unknown what it will read next.
    pub fn stop_forward(&mut self) {
        self.misses_forward = 0;
        self.read_forward = 0;
    }

    /// How many blocks a forward scan should read at once when one is missing: 1, 1, 2, 4, ..., so
    /// that a short scan reads little in vain. A pass over the whole table reads as many as fit in
    /// one call.
    pub(super) fn blocks_forward(&mut self) -> u64 {
        let doublings = self.misses_forward.saturating_sub(1);
        self.misses_forward = self.misses_forward.saturating_add(1);
        match self.fill_cache {
            true => 1u64.checked_shl(doublings).unwrap_or(u64::MAX),
            false => u64::MAX,
        }
    }
}
