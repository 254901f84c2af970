//! Insertion into the skip list, by one thread at a time.
//!
//! The writer stays where it inserted last, so that a key near that one, as in sorted or nearly
//! sorted input, costs a few comparisons. It knows how many bytes the last key shares with its
//! neighbours on every level. A new key is compared with the last one; if they share `n` bytes, the
//! new key has passed a neighbour on its way that shares more than `n` with the last one, and has not
//! passed one that shares less. Only neighbours that share exactly `n` are compared with it.

use std::cmp::Ordering::{self as Order, Equal, Less};

use rhumb_index::search::common_prefix;

use super::head::{Around, Head, MOST_SKIPPED, Target, compare_from};
use super::list::{HEAD, MAX_HEIGHT, NONE, Node, SkipList};
use super::neighbours::{Neighbour, Shared, Side};
use super::record::Record;
use crate::entry::{EntryKind, Sequence};
use crate::memory::{Address, Appender};
use crate::sync::atomic::Ordering;
use crate::sync::{MutexGuard, lock};

/// An entry that is to be inserted; the value of a delete is empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEntry<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    pub kind: EntryKind,
    pub value: &'a [u8],
}

/// The result of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    New,
    /// An entry of this key and sequence exists already and was left unchanged.
    Duplicate,
    /// The arena or the links are full; nothing was inserted.
    Full,
}

/// The writer's position: just behind the last entry.
pub(super) struct Writer {
    /// The entry that was inserted last; `None` if nothing is known of the position.
    last: Option<Address>,
    /// On each level, the last node before the position and the first one after it.
    below: Side,
    above: Side,
    /// The height of the highest node.
    levels: usize,
    random: u32,
    /// Whether every entry came behind all others.
    ascending: bool,
}

/// What a search of the writer knows: the neighbours that it found so far.
struct Between<'a> {
    below: Neighbour,
    above: Neighbour,
    /// The node below.
    node: Node<'a>,
    /// What the target shares with the neighbours on the level above.
    above_level: Around,
}

impl Between<'_> {
    /// What the target shares with the neighbours.
    fn around(&self) -> Around {
        (self.below.shared.bytes(), self.above.shared.bytes())
    }
}

/// A target that is not between the writer's neighbours on one of this many levels, so some thousand entries
/// away, is searched for from the start of the list.
const CLIMBED: usize = 5;

/// At an open end of the list, a new node has one neighbour only, and keys to come will share a few
/// bytes less with it than the new one.
const FEWER_AT_ENDS: usize = 3;

/// Heads that would leave out this many bytes more than the prefix, or fewer, leave out the prefix:
/// comparisons are a little faster then, and six bytes are enough.
const SPARED: usize = 2;

impl Writer {
    pub fn new(seed: u32) -> Self {
        Writer {
            last: None,
            below: Side::ENDS,
            above: Side::ENDS,
            levels: 0,
            random: seed,
            ascending: true,
        }
    }

    /// Height h with probability 3/4 x 1/4^(h - 1).
    pub fn random_height(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        (1 + self.random.trailing_zeros() as usize / 2).min(MAX_HEIGHT)
    }
}

/// The number of bytes that the head leaves out of a key between two neighbours.
fn skip_between(target: &Target<'_>, below: &Neighbour, above: &Neighbour) -> Option<usize> {
    let prefix = target.prefix()?;
    let shared = match (below.node == HEAD, above.node == NONE) {
        (false, false) => below.shared.bytes().min(above.shared.bytes()),
        // An end shares nothing.
        _ => (below.shared.bytes().max(above.shared.bytes())).saturating_sub(FEWER_AT_ENDS),
    };
    match shared > prefix + SPARED {
        true => Some(shared),
        false => Some(prefix),
    }
}

/// The right to insert into a list.
pub(super) struct ListWriter<'a> {
    list: &'a SkipList,
    position: MutexGuard<'a, Writer>,
    arena: Appender<'a>,
}

impl ListWriter<'_> {
    /// Inserts an entry.
    pub fn insert(&mut self, entry: &NewEntry<'_>) -> Inserted {
        let (list, writer) = (self.list, &mut *self.position);
        let Some(target) = list.begin(entry) else {
            return Inserted::Full;
        };
        if list.go_to(writer, &target) {
            return Inserted::Duplicate;
        }
        let height = writer.random_height();
        list.add(&mut self.arena, writer, entry, &target, height)
    }
}

impl SkipList {
    /// Waits until no other thread inserts, and keeps them from inserting as long as the result lives.
    /// Readers do not wait.
    pub fn writer(&self) -> ListWriter<'_> {
        ListWriter {
            list: self,
            position: lock(&self.writer),
            arena: self.arena.appender(),
        }
    }

    /// Whether every entry was inserted behind all others.
    pub fn is_ascending(&self) -> bool {
        lock(&self.writer).ascending
    }

    /// The position of a new entry, which may be the list's first; `None` if the links are full.
    fn begin<'a>(&self, entry: &NewEntry<'a>) -> Option<Target<'a>> {
        let (key, sequence) = (entry.key, entry.sequence);
        if self.prefix.get().is_none() {
            let head = self.links.allocate(MAX_HEIGHT)?;
            debug_assert_eq!(head, HEAD, "the head is the first node");
            let alike = common_prefix(&self.likely_prefix, key).min(MOST_SKIPPED);
            let prefix = key.get(..alike).unwrap_or_default().into();
            return Some(Target::new(
                self.prefix.get_or_init(|| prefix),
                key,
                sequence,
            ));
        }
        self.target(key, sequence)
    }

    /// Moves the writer's position to the target: from the first level on which the target lies between its
    /// neighbours, or else from the top, down to the lowest. Returns whether there is an entry of the target's key and
    /// sequence, which is then the last one.
    fn go_to(&self, writer: &mut Writer, target: &Target<'_>) -> bool {
        let level = match writer.last {
            Some(last) => {
                let last = Record::read(&self.arena, last);
                let (order, shared) = compare_from(0, last.key, target.key);
                match order.then_with(|| target.sequence.cmp(&last.sequence)) {
                    Equal => return true,
                    order => self.climb(writer, target, order, shared),
                }
            }
            None => None,
        };
        self.descend(writer, target, level);
        let is_at = self.is_at(writer, target);
        if is_at {
            writer.last = Some(self.node(writer.above.get(0).node).record());
        }
        is_at
    }

    /// The first of the lowest levels on which the target lies between the writer's neighbours, which are
    /// brought up to date from there on; `None` if there is none. `order` is that of the last entry and the
    /// target, which share `shared` bytes.
    fn climb(
        &self,
        writer: &mut Writer,
        target: &Target<'_>,
        order: Order,
        shared: usize,
    ) -> Option<usize> {
        let (behind, ahead) = match order {
            Less => (&mut writer.below, &mut writer.above),
            _ => (&mut writer.above, &mut writer.below),
        };
        let (level, found) = (0..MAX_HEIGHT.min(CLIMBED)).find_map(|level| {
            let found = self.ahead(ahead.get(level), target, order, Shared::exactly(shared));
            found.map(|found| (level, found))
        })?;
        behind.leave(shared);
        ahead.approach(shared);
        // What lies on lower levels is searched for.
        ahead.set(level, found);
        Some(level)
    }

    /// The neighbour ahead, if the target lies between the last entry and it.
    fn ahead(
        &self,
        ahead: Neighbour,
        target: &Target<'_>,
        order: Order,
        shared: Shared,
    ) -> Option<Neighbour> {
        if ahead.node == NONE || ahead.shared.is_exact() && ahead.shared < shared {
            return Some(ahead);
        }
        if ahead.shared > shared {
            return None;
        }
        let head = self.node(ahead.node).head();
        let least = (ahead.shared.bytes(), ahead.shared.bytes());
        let (side, told) = self.compare(head, ahead.node, target, least);
        // The last entry and the neighbour are on different sides of the target, or the neighbour is
        // at the target.
        let between = side != order && (side != Equal || order == Less);
        between.then(|| Neighbour::new(ahead.node, told))
    }

    /// Goes down to the target, from a level or from the top.
    fn descend(&self, writer: &mut Writer, target: &Target<'_>, level: Option<usize>) {
        let (level, mut between) = match level {
            Some(0) => return,
            Some(level) => {
                let (below, above) = (writer.below.get(level), writer.above.get(level));
                (level, self.between(below, above))
            }
            None => (writer.levels, self.between(Neighbour::END, Neighbour::END)),
        };
        for level in (0..level).rev() {
            while self.closer(target, level, &mut between) {}
            writer.below.set(level, between.below);
            writer.above.set(level, between.above);
            between.above_level = between.around();
        }
    }

    /// The surroundings of a target between two neighbours on some level, seen from the level below.
    #[inline]
    fn between(&self, below: Neighbour, above: Neighbour) -> Between<'_> {
        let mut between = Between {
            below,
            above,
            node: self.node(below.node),
            above_level: (0, 0),
        };
        between.above_level = between.around();
        between
    }

    /// Moves one side on a level to the first node between them, if there is one. Returns whether there may
    /// be others, between it and the other side.
    #[inline(always)]
    fn closer<'a>(&'a self, target: &Target<'_>, level: usize, between: &mut Between<'a>) -> bool {
        let next = between.node.next(level);
        if next == between.above.node {
            return false;
        }
        // To the writer, hints are exact.
        let (node, head) = match level {
            0 => {
                let node = self.node(next);
                (Some(node), node.head())
            }
            level => (None, between.node.hint(level)),
        };
        let (order, told) = match target.compare(head, between.around()) {
            Some(told) => told,
            None => {
                self.improve(target, level, between, (next, head));
                self.compare_unknown(head, next, target, between.around())
            }
        };
        let neighbour = Neighbour::new(next, told);
        match order {
            Less => {
                between.below = neighbour;
                between.node = node.unwrap_or_else(|| self.node(next));
            }
            _ => between.above = neighbour,
        }
        order == Less
    }

    /// Replaces the head of the next node on its highest level, which did not tell its order, by one that
    /// leaves out what its neighbours on the level above share. When the node was inserted they may have been
    /// farther away, or there may have been one only.
    #[inline(never)]
    fn improve(
        &self,
        target: &Target<'_>,
        level: usize,
        between: &Between<'_>,
        (next, head): (u32, Head),
    ) {
        let around = target.shared(between.above_level);
        let is_better = around > head.skip() || head.skip() > target.shared(between.around());
        if head == Head::NONE || !is_better || target.prefix().is_none() {
            return;
        }
        let better = Head::new(self.record(next).key, around);
        self.node(next).set_head(0, better);
        if level > 0 {
            between.node.set_head(level, better);
        }
    }

    /// Whether the node above the position is the target's entry.
    fn is_at(&self, writer: &Writer, target: &Target<'_>) -> bool {
        let above = writer.above.get(0);
        above.node != NONE
            && above.shared == Shared::ALL
            && self.compare_keys(above.node, target, 0).0 == Equal
    }

    /// Adds an entry at the writer's position, which must be right on the levels up to `height`.
    fn add(
        &self,
        arena: &mut Appender<'_>,
        writer: &mut Writer,
        entry: &NewEntry<'_>,
        target: &Target<'_>,
        height: usize,
    ) -> Inserted {
        // Until the entry is inserted, the position is not behind an entry.
        writer.last = None;
        let Some(record) = Record::append(arena, entry) else {
            return Inserted::Full;
        };
        let Some(node) = self.links.allocate(height) else {
            return Inserted::Full;
        };
        writer.ascending &= writer.above.get(0).node == NONE;
        self.link(writer, target, (node, record), height);
        Inserted::New
    }

    /// Fills a new node and links it in at the writer's position, lowest level first.
    fn link(
        &self,
        writer: &mut Writer,
        target: &Target<'_>,
        (number, record): (u32, Address),
        height: usize,
    ) {
        let (below, above) = (writer.below.get(height), writer.above.get(height));
        let skip = skip_between(target, &below, &above);
        let head = skip.map_or(Head::NONE, |skip| Head::new(target.key, skip));
        let node = self.node(number);
        node.set_entry(head, record);
        let sides = writer.below.nodes.iter().zip(&writer.above.nodes);
        for (level, (below, above)) in sides.take(height).enumerate() {
            let hint = match level {
                0 => head,
                level => self.node(*below).hint(level),
            };
            node.set_next(level, *above, hint, Ordering::Relaxed);
        }
        self.mark(writer, &node, height);
        for level in 0..height.min(MAX_HEIGHT) {
            let below = writer.below.get(level).node;
            self.node(below)
                .set_next(level, number, head, Ordering::Release);
            writer.below.set(level, Neighbour::new(number, usize::MAX));
        }
        writer.last = Some(record);
        writer.levels = writer.levels.max(height);
    }

    /// Sets the marks of a new node of some height, which is not linked yet, and of the links that
    /// will pass over it.
    fn mark(&self, writer: &Writer, node: &Node<'_>, height: usize) {
        let mark = self.marks.now();
        if mark == 0 {
            return;
        }
        for (level, below) in writer.below.nodes.iter().enumerate().skip(1) {
            let below = self.node(*below);
            match level < height {
                // Which side of the new node the newest entry is on is not known.
                true => node.raise_mark(level, below.mark(level)),
                false => below.raise_mark(level, mark),
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
