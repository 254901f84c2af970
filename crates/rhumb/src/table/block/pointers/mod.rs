//! The pointers of a block as columns (docs/format.md, Pointers), read in place.
//!
//! ```text
//! header | ranks | file numbers | starts | slopes | rows of (index, residual, length)
//! ```

#[cfg(test)]
mod tests;
mod write;

pub(super) use write::{PointerColumns, PointerShape};

use crate::entry::Pointer;
use crate::table::form::bits::{bits_at, packed_bytes, unpack, word};
use crate::table::form::damage::Damage;

/// Bytes of the header of the pointers.
const POINTER_HEADER_BYTES: usize = 28;
/// Bytes of a rank.
const RANK_BYTES: usize = 2;
/// The widths of the header, with the most bits that they may say.
const WIDTHS: [(&str, u8); 6] = [
    ("a file number", 48),
    ("a start", 57),
    ("a slope", 32),
    ("an index", 16),
    ("a residual", 57),
    ("a length", 32),
];

/// Where the columns lie, in bytes from the start of the pointers, and what they add to.
#[derive(Debug, Clone, Copy)]
pub(super) struct PointerView<'a> {
    bytes: &'a [u8],
    file_base: u64,
    files: usize,
    line_base: u64,
    length_base: u32,
    /// The number of pointers.
    pub count: usize,
    widths: [u8; WIDTHS.len()],
    numbers: usize,
    starts: usize,
    slopes: usize,
    rows: usize,
}

impl<'a> PointerView<'a> {
    /// The pointers that begin with `bytes`. With `groups` of entries that are no pointers all, there are ranks. For bytes
    /// that [`PointerView::parse`] has not accepted, arbitrary ones.
    #[inline]
    pub fn of_sound(bytes: &'a [u8], groups: Option<usize>) -> Self {
        let header = bytes.first_chunk::<POINTER_HEADER_BYTES>();
        let header = header.unwrap_or(&[0; POINTER_HEADER_BYTES]);
        let widths: [u8; WIDTHS.len()] = word(header, 22);
        let files = usize::from(u16::from_le_bytes(word(header, 6)));
        let [file, start, slope, ..] = widths;
        let column = |width: u8| packed_bytes(files as u64, width.into()).unwrap_or(0);
        let numbers = POINTER_HEADER_BYTES + groups.unwrap_or(0) * RANK_BYTES;
        let starts = numbers + column(file);
        let slopes = starts + column(start);
        PointerView {
            bytes,
            file_base: u64::from_le_bytes(word(header, 0)) & (Pointer::LIMIT - 1),
            files,
            line_base: u64::from_le_bytes(word(header, 8)),
            length_base: u32::from_le_bytes(word(header, 16)),
            count: u16::from_le_bytes(word(header, 20)).into(),
            widths,
            numbers,
            starts,
            slopes,
            rows: slopes + column(slope),
        }
    }

    /// The pointers that begin with `bytes`; as [`PointerView::of_sound`]. Takes time independent of their number.
    ///
    /// # Errors
    /// If the header is not one, or the columns are longer than `bytes`. What is in them is checked by
    /// [`PointerView::check`].
    pub fn parse(bytes: &'a [u8], groups: Option<usize>) -> Result<Self, Damage> {
        if bytes.len() < POINTER_HEADER_BYTES {
            let found = format!("{} bytes", bytes.len());
            return Err(Damage::new(0, "a header of pointers", found));
        }
        let view = PointerView::of_sound(bytes, groups);
        for (i, (width, (what, most))) in view.widths.iter().zip(WIDTHS).enumerate() {
            if *width > most {
                let expected = format!("{what} of at most {most} bits");
                return Err(Damage::new(22 + i, expected, width));
            }
        }
        if view.files == 0 || view.files > view.count {
            let expected = format!("1 to {} value files", view.count);
            return Err(Damage::new(6, expected, view.files));
        }
        if view.len() > bytes.len() {
            let expected = format!("pointers of {} bytes", view.len());
            let found = format!("{} bytes", bytes.len());
            return Err(Damage::new(0, expected, found));
        }
        Ok(view)
    }

    /// The bytes of all of this.
    pub fn len(&self) -> usize {
        self.rows + packed_bytes(self.count as u64, self.row_bits()).unwrap_or(0)
    }

    fn row_bits(&self) -> u32 {
        let [.., index, residual, length] = self.widths;
        u32::from(index) + u32::from(residual) + u32::from(length)
    }

    fn column(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// The number of pointers before a group of entries.
    #[inline]
    pub fn rank(&self, group: usize) -> usize {
        let at = POINTER_HEADER_BYTES + group * RANK_BYTES;
        u16::from_le_bytes(word(self.bytes, at)).into()
    }

    fn file(&self, index: u64) -> u64 {
        let [width, ..] = self.widths;
        let stored = unpack(self.column(self.numbers), index, width.into());
        self.file_base.wrapping_add(stored)
    }

    /// The first pointer to a file that is not among those of the block.
    fn first_without_file(&self) -> Option<usize> {
        let [.., index, _, _] = self.widths;
        let (rows, row_bits) = (self.column(self.rows), u64::from(self.row_bits()));
        let file = |number: usize| bits_at(rows, number as u64 * row_bits, index.into());
        (0..self.count).find(|number| file(*number) >= self.files as u64)
    }

    /// Whether the header alone shows that every pointer whose file is there is in range. So it is in nearly all blocks: not with
    /// a line that would begin before its file.
    fn lines_are_in_range(&self) -> bool {
        let [file, start, slope, _, residual, length] =
            self.widths.map(|width| (1u128 << width.min(64)) - 1);
        let last = self.count.saturating_sub(1) as u128;
        let offset = u128::from(self.line_base) + start + slope * last + residual;
        let limit = u128::from(Pointer::LIMIT);
        offset < limit
            && u128::from(self.file_base) + file < limit
            && u128::from(self.length_base) + length <= u128::from(u32::MAX)
    }

    /// The pointer with a number; `None` if a part of it is out of its range, or there is none.
    #[inline]
    pub fn get(&self, number: usize) -> Option<Pointer> {
        let [_, start, slope, index, residual, length] = self.widths.map(u32::from);
        let rows = self.column(self.rows);
        let bit = number as u64 * u64::from(self.row_bits());
        let file = bits_at(rows, bit, index);
        let bit = bit + u64::from(index);
        let behind = bits_at(rows, bit, residual);
        let more = bits_at(rows, bit + u64::from(residual), length);
        if number >= self.count || file >= self.files as u64 {
            return None;
        }
        let slope = unpack(self.column(self.slopes), file, slope);
        let offset = self
            .line_base
            .wrapping_add(unpack(self.column(self.starts), file, start))
            .wrapping_add(slope.wrapping_mul(number as u64))
            .wrapping_add(behind);
        let len = u64::from(self.length_base) + more;
        Pointer::new(self.file(file), offset, usize::try_from(len).ok()?)
    }

    /// Checks all pointers, and the ranks against `before`, the numbers of pointers before the groups of entries.
    ///
    /// # Errors
    /// The first of them that is wrong.
    pub fn check(&self, before: impl Iterator<Item = usize>) -> Result<(), Damage> {
        for (group, before) in before.enumerate() {
            if self.rank(group) != before {
                let at = POINTER_HEADER_BYTES + group * RANK_BYTES;
                let expected = format!("{before} pointers before group {group}");
                return Err(Damage::new(at, expected, self.rank(group)));
            }
        }
        for index in 1..self.files as u64 {
            let (before, here) = (self.file(index - 1), self.file(index));
            if here <= before {
                let expected = format!("a value file above {before}");
                return Err(Damage::new(POINTER_HEADER_BYTES, expected, here));
            }
        }
        let wrong = match self.lines_are_in_range() {
            true => self.first_without_file(),
            false => (0..self.count).find(|number| self.get(*number).is_none()),
        };
        match wrong {
            None => Ok(()),
            Some(number) => {
                let expected =
                    "a pointer with a file and an offset below 2^48 and a length below 2^32";
                let found = format!("another as number {number}");
                Err(Damage::new(self.rows, expected, found))
            }
        }
    }
}
