//! A node of a B+-tree: one page with sorted cells.
//!
//! ```text
//! page    cells u16, where the lowest cell begins u16, bytes of cells that were removed u16, level u8, 0,
//!         link u32, 0 u32, the place of each cell u16 ... free ... cells        (little-endian)
//! cell    key length u16, value length u16, key, value
//! link    of a leaf (level 0) the next leaf, 0 for none; of an inner node the child below its first key
//! ```
//!
//! The value in an inner node is the number of the child that holds the keys from this key on, as u32. Functions
//! return nothing where bytes make no sense, which is an error for the caller that knows the file.

use super::paged::PAGE;

/// Bytes before the places of cells.
const HEADER: usize = 16;
/// Bytes of a cell before its key.
const LENGTHS: usize = 4;
/// Bytes of a place.
const SLOT: usize = 2;
/// Bytes of a child in an inner node.
pub const CHILD: usize = 4;

/// Bytes that a page has for cells and their places.
const ROOM: usize = PAGE - HEADER;

/// The most bytes of a key with its value. A third of the room, so that a split leaves two nodes that fit.
pub const LARGEST: usize = ROOM / 3 - LENGTHS - SLOT;

/// A node to read.
#[derive(Clone, Copy)]
pub struct Node<'a>(pub &'a [u8]);

fn u16_at(bytes: &[u8], at: usize) -> usize {
    let two = bytes.get(at..).and_then(<[u8]>::first_chunk);
    two.map_or(0, |two| u16::from_le_bytes(*two).into())
}

fn set_u16(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

impl<'a> Node<'a> {
    /// The number of its cells.
    pub fn count(self) -> usize {
        u16_at(self.0, 0)
    }

    /// Its level; 0 for leaves.
    pub fn level(self) -> u8 {
        self.0.get(6).copied().unwrap_or_default()
    }

    /// Its link.
    pub fn link(self) -> u32 {
        let four = self.0.get(8..).and_then(<[u8]>::first_chunk);
        four.map_or(0, |four| u32::from_le_bytes(*four))
    }

    /// A key and its value.
    pub fn cell(self, number: usize) -> Option<(&'a [u8], &'a [u8])> {
        if number >= self.count() {
            return None;
        }
        let start = u16_at(self.0, HEADER + SLOT * number);
        let cell = self.0.get(start..)?;
        let key_end = LENGTHS + u16_at(cell, 0);
        let key = cell.get(LENGTHS..key_end)?;
        let value = cell.get(key_end..key_end + u16_at(cell, 2))?;
        Some((key, value))
    }

    /// Where a key is, or else where it would be.
    pub fn find(self, key: &[u8]) -> Option<Result<usize, usize>> {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low.midpoint(high);
            match self.cell(middle)?.0.cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(Ok(middle)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Some(Err(low))
    }

    /// The child that holds a key.
    pub fn child(self, key: &[u8]) -> Option<u32> {
        let below = match self.find(key)? {
            Ok(at) => at + 1,
            Err(at) => at,
        };
        self.child_behind(below)
    }

    /// The last child.
    pub fn last_child(self) -> Option<u32> {
        self.child_behind(self.count())
    }

    /// The child behind a number of keys.
    fn child_behind(self, keys: usize) -> Option<u32> {
        let Some(at) = keys.checked_sub(1) else {
            return Some(self.link());
        };
        let (_, child) = self.cell(at)?;
        Some(u32::from_le_bytes(child.try_into().ok()?))
    }

    /// Bytes between the places and the cells.
    fn gap(self) -> usize {
        let slots = HEADER + SLOT * self.count();
        u16_at(self.0, 2).saturating_sub(slots)
    }

    /// Bytes that are free, those of removed cells included.
    fn free(self) -> usize {
        self.gap() + u16_at(self.0, 4)
    }

    /// Whether a key with a value fits in a node that is to be filled to a share.
    pub fn takes(self, key: &[u8], value: &[u8], fill: f64) -> bool {
        let used = ROOM - self.free().min(ROOM) + size(key, value);
        used as f64 <= fill * ROOM as f64
    }
}

/// Bytes that a cell takes with its place.
fn size(key: &[u8], value: &[u8]) -> usize {
    SLOT + LENGTHS + key.len() + value.len()
}

/// Makes a page a node without cells.
pub fn clear(page: &mut [u8], level: u8, link: u32) {
    page.fill(0);
    set_u16(page, 2, PAGE);
    page[6] = level;
    set_link(page, link);
}

/// Sets the link.
pub fn set_link(page: &mut [u8], link: u32) {
    page[8..12].copy_from_slice(&link.to_le_bytes());
}

/// Puts a key with its value, in place of the value it has. Returns false, and changes nothing, if there is no room.
pub fn put(page: &mut [u8], key: &[u8], value: &[u8]) -> Option<bool> {
    let node = Node(page);
    let at = match node.find(key)? {
        Err(at) => at,
        Ok(at) => {
            let (_, old) = node.cell(at)?;
            if old.len() == value.len() {
                let start = u16_at(page, HEADER + SLOT * at) + LENGTHS + key.len();
                page.get_mut(start..start + value.len())?
                    .copy_from_slice(value);
                return Some(true);
            }
            if node.free() + size(key, old) < size(key, value) {
                return Some(false);
            }
            take_out(page, at)?;
            at
        }
    };
    if Node(page).free() < size(key, value) {
        return Some(false);
    }
    if Node(page).gap() < size(key, value) {
        compact(page)?;
    }
    insert(page, at, key, value)?;
    Some(true)
}

/// Removes a key. Returns whether it was there.
pub fn remove(page: &mut [u8], key: &[u8]) -> Option<bool> {
    match Node(page).find(key)? {
        Ok(at) => take_out(page, at).map(|()| true),
        Err(_) => Some(false),
    }
}

/// Adds a key above all others, for which there must be room.
pub fn append(page: &mut [u8], key: &[u8], value: &[u8]) -> Option<()> {
    insert(page, Node(page).count(), key, value)
}

/// Writes a cell, for which there is room in the gap.
fn insert(page: &mut [u8], at: usize, key: &[u8], value: &[u8]) -> Option<()> {
    let count = Node(page).count();
    let length = LENGTHS + key.len() + value.len();
    let start = u16_at(page, 2).checked_sub(length)?;
    let cell = page.get_mut(start..start + length)?;
    set_u16(cell, 0, key.len());
    set_u16(cell, 2, value.len());
    cell[LENGTHS..LENGTHS + key.len()].copy_from_slice(key);
    cell[LENGTHS + key.len()..].copy_from_slice(value);
    let (slot, end) = (HEADER + SLOT * at, HEADER + SLOT * count);
    page.copy_within(slot..end, slot + SLOT);
    set_u16(page, slot, start);
    set_u16(page, 0, count + 1);
    set_u16(page, 2, start);
    Some(())
}

fn take_out(page: &mut [u8], at: usize) -> Option<()> {
    let (key, value) = Node(page).cell(at)?;
    let freed = u16_at(page, 4) + LENGTHS + key.len() + value.len();
    let count = Node(page).count();
    let slot = HEADER + SLOT * at;
    page.copy_within(slot + SLOT..HEADER + SLOT * count, slot);
    set_u16(page, 0, count - 1);
    set_u16(page, 4, freed);
    Some(())
}

/// Closes the holes that removed cells left.
fn compact(page: &mut [u8]) -> Option<()> {
    let old = page.to_vec();
    fill(page, Node(&old).level(), Node(&old).link(), &cells(&old)?)
}

type Cell<'a> = (&'a [u8], &'a [u8]);

fn cells(page: &[u8]) -> Option<Vec<Cell<'_>>> {
    let node = Node(page);
    (0..node.count()).map(|at| node.cell(at)).collect()
}

/// Makes a page a node with these cells, which fit.
fn fill(page: &mut [u8], level: u8, link: u32, cells: &[Cell<'_>]) -> Option<()> {
    clear(page, level, link);
    cells
        .iter()
        .try_for_each(|(key, value)| append(page, key, value))
}

/// Puts a key into a node without room for it, and moves the upper half of the node to `right`, a page whose number
/// is given. Returns the key that divides them.
pub fn split(
    left: &mut [u8],
    key: &[u8],
    value: &[u8],
    right: &mut [u8],
    right_number: u32,
) -> Option<Vec<u8>> {
    let old = left.to_vec();
    let (node, mut cells) = (Node(&old), cells(&old)?);
    match node.find(key)? {
        Ok(at) => *cells.get_mut(at)? = (key, value),
        Err(at) => cells.insert(at, (key, value)),
    }
    let cut = middle(&cells);
    let (level, link) = (node.level(), node.link());
    let (divider, child) = *cells.get(cut)?;
    if level == 0 {
        fill(right, 0, link, cells.get(cut..)?)?;
        fill(left, 0, right_number, cells.get(..cut)?)?;
    } else {
        // The key in the middle moves up, and its child is the first of the right node.
        let first = u32::from_le_bytes(child.try_into().ok()?);
        fill(right, level, first, cells.get(cut + 1..)?)?;
        fill(left, level, link, cells.get(..cut)?)?;
    }
    Some(divider.to_vec())
}

/// The number of cells that take the lower half of all bytes, and leave at least one.
fn middle(cells: &[Cell<'_>]) -> usize {
    let sizes = cells.iter().map(|(key, value)| size(key, value));
    let half = sizes.clone().sum::<usize>() / 2;
    let mut before = 0;
    let cut = sizes.take_while(|size| {
        let is_lower = before < half;
        before += size;
        is_lower
    });
    cut.count().clamp(1, cells.len().saturating_sub(1).max(1))
}
