//! Chooses the columns of the pointers of a block, and writes them.

use super::{POINTER_HEADER_BYTES, RANK_BYTES};
use crate::entry::Pointer;
use crate::table::form::bits::{pack, pack_each, packed_bytes, width_of};

/// The most bits of a row (an index, an offset and a length), and of the number of a file that no other pointer has.
const MOST_POINTER_BITS: u64 = 16 + 48 + 32 + 48;
/// The most bits of a slope.
const SLOPE_BITS: u32 = 32;

/// What bounds the size of the columns, known after each pointer.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::table::block) struct PointerShape {
    /// The number of pointers.
    pub count: usize,
    /// The number of their files.
    files: usize,
    /// The smallest and the largest of each.
    file: (u64, u64),
    offset: (u64, u64),
    len: (u32, u32),
    last: u64,
    /// How far each record is behind the one before; `None` if this differs.
    step: Option<u64>,
}

impl PointerShape {
    /// Counts a pointer; `new_file` states that it is the first one into its file.
    pub fn add(&mut self, pointer: Pointer, new_file: bool) {
        let Pointer { file, offset, len } = pointer;
        if self.count == 0 {
            (self.file, self.offset, self.len) = ((file, file), (offset, offset), (len, len));
        }
        self.count += 1;
        self.files += usize::from(new_file);
        self.file = (self.file.0.min(file), self.file.1.max(file));
        self.offset = (self.offset.0.min(offset), self.offset.1.max(offset));
        self.len = (self.len.0.min(len), self.len.1.max(len));
        let step = offset
            .checked_sub(self.last)
            .filter(|step| *step >> SLOPE_BITS == 0);
        self.step = match self.count {
            1 => None,
            2 => step,
            _ => self.step.filter(|before| Some(*before) == step),
        };
        self.last = offset;
    }

    /// A bound on the bytes of the columns that is known at once: as if there were no lines, but for the one through
    /// records of one file that are equally far from each other.
    pub fn most_bytes(&self, groups: Option<usize>) -> usize {
        if self.count == 0 {
            return 0;
        }
        let index = width_of(self.files as u64 - 1);
        let lines = match self.step.filter(|_| self.files == 1) {
            Some(step) => (width_of(step), 0),
            None => (0, width_of(self.offset.1 - self.offset.0)),
        };
        bytes(
            (self.count, self.files, groups),
            [
                width_of(self.file.1 - self.file.0),
                0,
                lines.0,
                index,
                lines.1,
                width_of(u64::from(self.len.1 - self.len.0)),
            ],
        )
    }

    /// A bound on this that holds with one more pointer too, among so many entries.
    pub fn most_bytes_with_one(&self, entries: usize) -> usize {
        let bits = (self.count as u64 + 1) * MOST_POINTER_BITS;
        POINTER_HEADER_BYTES + RANK_BYTES * (entries + 1) + bits.div_ceil(8) as usize
    }
}

/// The bytes of the columns with such widths of `count` pointers into `files`, among so many groups of entries if
/// others are among them.
fn bytes((count, files, groups): (usize, usize, Option<usize>), widths: [u32; 6]) -> usize {
    let [file, start, slope, index, residual, length] = widths;
    let column = |count: usize, width| packed_bytes(count as u64, width).unwrap_or(0);
    let columns = column(files, file) + column(files, start) + column(files, slope);
    let rows = column(count, index + residual + length);
    POINTER_HEADER_BYTES + RANK_BYTES * groups.unwrap_or(0) + columns + rows
}

/// The line of a file: where it starts, and how far records are from each other.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: i64,
    slope: i64,
}

impl Line {
    fn at(self, number: usize) -> i64 {
        self.start + self.slope * number as i64
    }
}

/// The pointers of one file: the first and the last, each with its number.
#[derive(Debug, Clone, Copy)]
struct Ends {
    first: (usize, u64),
    last: (usize, u64),
}

impl Ends {
    /// The slope of the line through both, if it rises and can be stored.
    fn slope(&self) -> Option<i64> {
        let rise = self.last.1.checked_sub(self.first.1)?;
        let slope = rise.checked_div((self.last.0 - self.first.0) as u64)?;
        (slope >> SLOPE_BITS == 0).then_some(slope as i64)
    }
}

/// The columns of the pointers of a block.
#[derive(Debug)]
pub(in crate::table::block) struct PointerColumns<'a> {
    pointers: &'a [Pointer],
    /// The places of their files among all.
    places: Vec<usize>,
    /// The numbers of the files, ascending, each with its line.
    files: Vec<u64>,
    lines: Vec<Line>,
    length_base: u32,
    widths: [u32; 6],
}

impl<'a> PointerColumns<'a> {
    /// The shortest columns of pointers, of which there are some, into `files`, in ascending order.
    pub fn new(pointers: &'a [Pointer], files: &[u64]) -> Self {
        let lens = pointers.iter().map(|pointer| pointer.len);
        let length_base = lens.clone().min().unwrap_or(0);
        let lengths = u64::from(lens.max().unwrap_or(0) - length_base);
        let file_width = match (files.first(), files.last()) {
            (Some(first), Some(last)) => width_of(last - first),
            _ => 0,
        };
        let place = |pointer: &Pointer| files.binary_search(&pointer.file).unwrap_or(0);
        let mut columns = PointerColumns {
            pointers,
            places: pointers.iter().map(place).collect(),
            files: files.to_vec(),
            lines: Vec::new(),
            length_base,
            widths: [file_width, 0, 0, 0, 0, width_of(lengths)],
        };
        let index = width_of((files.len() as u64).saturating_sub(1));
        let flat = columns.flat_lines();
        let rising = columns.rising_lines(&flat);
        let least = pointers.iter().map(|pointer| pointer.offset).min();
        let common = Line {
            start: least.unwrap_or(0) as i64,
            slope: 0,
        };
        let ways = [vec![common; files.len()], flat, rising].map(|lines| {
            let [start, slope, residual] = columns.widths_of(&lines);
            let widths = [file_width, start, slope, index, residual, width_of(lengths)];
            (lines, widths)
        });
        let size = |widths| bytes((pointers.len(), files.len(), None), widths);
        if let Some((lines, widths)) = ways.into_iter().min_by_key(|(_, widths)| size(*widths)) {
            (columns.lines, columns.widths) = (lines, widths);
        }
        columns
    }

    /// Pointers with their numbers, each with the place of its file.
    fn rows(&self) -> impl Iterator<Item = (usize, usize, &Pointer)> {
        let rows = self.pointers.iter().zip(&self.places).enumerate();
        rows.map(|(number, (pointer, place))| (number, *place, pointer))
    }

    /// For each file a line that starts at its first record, without a slope.
    fn flat_lines(&self) -> Vec<Line> {
        self.lines_with(vec![0; self.files.len()])
    }

    /// For each file the line with a slope that starts as high as it can below all its records.
    fn lines_with(&self, slopes: Vec<i64>) -> Vec<Line> {
        let line = |slope| Line {
            start: i64::MAX,
            slope,
        };
        let mut lines: Vec<Line> = slopes.into_iter().map(line).collect();
        for (number, index, pointer) in self.rows() {
            if let Some(line) = lines.get_mut(index) {
                let start = pointer.offset as i64 - line.slope * number as i64;
                line.start = line.start.min(start);
            }
        }
        lines
    }

    /// For each file the line through its first and last record, if it is nearer to the others than the flat one.
    fn rising_lines(&self, flat: &[Line]) -> Vec<Line> {
        let mut ends: Vec<Option<Ends>> = vec![None; self.files.len()];
        for (number, index, pointer) in self.rows() {
            if let Some(ends) = ends.get_mut(index) {
                let here = (number, pointer.offset);
                let first = ends.map_or(here, |ends: Ends| ends.first);
                *ends = Some(Ends { first, last: here });
            }
        }
        let slopes = ends.iter().map(|ends| ends.and_then(|ends| ends.slope()));
        let mut rising = self.lines_with(slopes.map(|slope| slope.unwrap_or(0)).collect());
        let (above_flat, above_rising) = (self.largest_above(flat), self.largest_above(&rising));
        let above = above_flat.iter().zip(above_rising);
        for ((rising, flat), (above_flat, above_rising)) in rising.iter_mut().zip(flat).zip(above) {
            if *above_flat <= above_rising {
                *rising = *flat;
            }
        }
        rising
    }

    /// For each file the largest distance of a record from its line.
    fn largest_above(&self, lines: &[Line]) -> Vec<u64> {
        let mut largest = vec![0; lines.len()];
        for (number, index, pointer) in self.rows() {
            if let (Some(line), Some(largest)) = (lines.get(index), largest.get_mut(index)) {
                *largest = above(*line, number, pointer).max(*largest);
            }
        }
        largest
    }

    /// The widths of starts, slopes and residuals.
    fn widths_of(&self, lines: &[Line]) -> [u32; 3] {
        let starts = lines.iter().map(|line| line.start);
        let spread = starts.clone().max().unwrap_or(0) - starts.min().unwrap_or(0);
        let slope = lines.iter().map(|line| line.slope).max().unwrap_or(0);
        let above = self.largest_above(lines).into_iter().max().unwrap_or(0);
        [spread as u64, slope as u64, above].map(width_of)
    }

    /// The bytes of the columns.
    pub fn bytes(&self, groups: Option<usize>) -> usize {
        bytes((self.pointers.len(), self.files.len(), groups), self.widths)
    }

    /// Appends the columns; `ranks` are the numbers of pointers before the groups of entries, if they are stored.
    pub fn encode(&self, ranks: impl Iterator<Item = usize>, into: &mut Vec<u8>) {
        let file_base = self.files.first().copied().unwrap_or(0);
        let line_base = self.lines.iter().map(|line| line.start).min().unwrap_or(0);
        into.extend(file_base.to_le_bytes().into_iter().take(6));
        into.extend_from_slice(&(self.files.len() as u16).to_le_bytes());
        into.extend_from_slice(&line_base.to_le_bytes());
        into.extend_from_slice(&self.length_base.to_le_bytes());
        into.extend_from_slice(&(self.pointers.len() as u16).to_le_bytes());
        into.extend(self.widths.map(|width| width as u8));
        for rank in ranks {
            into.extend_from_slice(&(rank as u16).to_le_bytes());
        }
        let [file, start, slope, index, residual, length] = self.widths;
        pack(self.files.iter().map(|file| file - file_base), file, into);
        let starts = self
            .lines
            .iter()
            .map(|line| (line.start - line_base) as u64);
        pack(starts, start, into);
        pack(self.lines.iter().map(|line| line.slope as u64), slope, into);
        let rows = self.rows().flat_map(|(number, place, pointer)| {
            let line = self.lines.get(place).copied();
            let above = line.map_or(0, |line| above(line, number, pointer));
            let more = u64::from(pointer.len - self.length_base);
            [(place as u64, index), (above, residual), (more, length)]
        });
        pack_each(rows, into);
    }
}

/// How far a record is above its line.
fn above(line: Line, number: usize, pointer: &Pointer) -> u64 {
    (pointer.offset as i64 - line.at(number)) as u64
}
