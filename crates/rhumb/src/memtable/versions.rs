//! The versions of a key.
//!
//! A version takes the place of the one before it in the leaf, and its record names that one, and so on. So searches and walks meet
//! a key that was written often once, and a version is added by one store. Where a leaf was split before a key, or its versions
//! did not come in order, it has further entries.
//!
//! A version also names one further back, so that among n versions the one that a snapshot sees is found in about log n steps
//! (Myers, "An applicative random-access stack", 1983). A version of *rank* r names the one 2^r - 1 versions back: where the
//! next older one and the one that this names have one rank, what the latter names is next, and the rank is one higher;
//! elsewhere that is the next older one, and the rank is 1. The oldest version has the rank 0.

use super::record::{Link, Record};
use super::tree::{Spot, Tree};
use crate::entry::Sequence;
#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::memory::Address;

impl Tree {
    /// The version that is next older than one, of those that its entry has.
    #[inline]
    fn older(&self, version: Address) -> Option<Address> {
        Some(self.link(version)?.older)
    }

    /// A version and those that its entry has behind it.
    pub fn versions(&self, newest: Address) -> impl Iterator<Item = Address> {
        std::iter::successors(Some(newest), |version| self.older(*version))
    }

    /// The newest version that its entry has behind one with a sequence not above `visible`. Prefetches those that this names.
    pub fn version_behind(&self, spot: Spot, visible: Sequence) -> Option<Spot> {
        #[cfg(test)]
        count_visit();
        let record = self.version_at(self.older(spot.record)?, visible)?;
        if let Some(next) = self.link(record) {
            self.fetch(next.older);
            self.fetch(next.jump);
        }
        Some(Spot { record, ..spot })
    }

    #[inline]
    fn link(&self, version: Address) -> Option<Link> {
        self.record(version).link(&self.arena)
    }

    /// What a version names that is to become the newest of an entry.
    pub fn link_behind(&self, newest: Address) -> Link {
        let further = self.link(newest).and_then(|link| {
            let jump = self.record(link.jump);
            let jump = (jump.rank == link.rank).then(|| jump.link(&self.arena))??;
            Some((jump.jump, link.rank + 1))
        });
        let (jump, rank) = further.unwrap_or((newest, 1));
        Link {
            older: newest,
            jump,
            rank,
        }
    }

    /// The last version from one on of which something is true. It is true of that one and those up to the last, and false of
    /// those behind.
    fn last_where(&self, newest: Address, is_true: impl Fn(&Record<'_>) -> bool) -> Address {
        let mut last = newest;
        while let Some(link) = self.link(last) {
            let mut next = [link.jump, link.older].into_iter();
            match next.find(|version| is_true(&self.record(*version))) {
                Some(next) => last = next,
                None => break,
            }
        }
        last
    }

    /// Of a version and those behind it the newest with a sequence not above `visible`.
    #[inline]
    pub fn version_at(&self, newest: Address, visible: Sequence) -> Option<Address> {
        match self.record(newest).sequence <= visible {
            true => Some(newest),
            false => self.older(self.last_where(newest, |record| record.sequence > visible)),
        }
    }

    /// The oldest version of an entry.
    pub fn oldest(&self, entry: Spot) -> Spot {
        let record = self.last_where(entry.record, |_| true);
        Spot { record, ..entry }
    }

    /// The oldest version of an entry with a sequence above one; its newest has such a one.
    pub fn last_newer(&self, entry: Spot, sequence: Sequence) -> Spot {
        let record = self.last_where(entry.record, |record| record.sequence > sequence);
        Spot { record, ..entry }
    }
}
