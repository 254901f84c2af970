//! A flow for look-ups: a table of its images at cells that get wider with the distance from the
//! first number, with linear interpolation between.
//!
//! ```text
//! d = min(x - base + 2^bits, 2^64 - 1), where x - base is 0 if x is below base
//! o = position of d's highest bit, less `bits`; f = the lowest o bits of d
//! c = o * 2^bits + (d >> o) - 2^bits
//! slot = (cell[c] + floor(f * (cell[c + 1] - cell[c]) / 2^o)) >> shift
//! ```
//!
//! The first 2 * 2^bits numbers have a cell each; after that each octave has 2^bits cells. Numbers
//! past the last cell belong to the last slot. All arithmetic is on integers, and images inside a
//! cell are between those of its ends, so slots are weakly monotone if the table is. This takes
//! about 20 instructions, a fifth of what the network takes.

use super::flow::Flow;
use super::model::Model;
use crate::bytes::Reader;

/// Tables of at least this many numbers have 2^[`FINE`] cells an octave, smaller ones 2^[`COARSE`].
const MANY: usize = 1 << 16;
const FINE: u8 = 5;
const COARSE: u8 = 3;

/// A tabulated flow whose image is divided into slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Warped {
    /// Numbers up to this one belong to the first slot.
    base: u64,
    /// Bits of a distance that select a cell within its octave.
    bits: u8,
    /// Fractional bits of the images in `cells`.
    shift: u8,
    /// How many slots there are, at least 1.
    pub(super) lines: u32,
    /// The images of the cells' first numbers, in slots, ascending weakly; one more than there are
    /// cells.
    cells: Vec<u32>,
}

/// The cell of a distance, and the position inside it as a fraction of 2^64.
#[inline(always)]
fn cell(distance: u64, bits: u8) -> (usize, u64) {
    let d = distance.saturating_add(1 << bits);
    let octave = 63 - u64::from(bits) - u64::from(d.leading_zeros());
    let top = d << d.leading_zeros();
    let inside = (top >> (63 - bits)) - (1 << bits);
    (((octave << bits) + inside) as usize, top << (bits + 1))
}

/// The first distance in a cell, at most 2^64 - 1.
fn start_of(cell: u64, bits: u8) -> u64 {
    let (octave, inside) = (cell >> bits, cell & ((1 << bits) - 1));
    let d = u128::from((1 << bits) + inside) << octave;
    u64::try_from(d - (1 << bits)).unwrap_or(u64::MAX)
}

impl Warped {
    /// Divides the image of the numbers from `first` to `last`, for a table of `numbers` numbers.
    pub(super) fn over(
        flow: &Flow,
        (first, last): (u64, u64),
        numbers: usize,
        lines: usize,
    ) -> Self {
        let bits = if numbers >= MANY { FINE } else { COARSE };
        let lines = lines.clamp(1, 1 << 31) as u32;
        let shift = lines.leading_zeros() as u8 - 1;
        let (start, end) = (flow.image(first), flow.image(last));
        let most = f64::from(lines << shift);
        // If all images are equal, all numbers are in one slot, and lines divide them further.
        let scale = Some(most / (end - start)).filter(|scale| scale.is_finite());
        let scale = scale.unwrap_or(0.0);
        let (last_cell, _) = cell(last - first, bits);
        let image = |cell: u64| {
            let number = first.saturating_add(start_of(cell, bits)).min(last);
            ((flow.image(number) - start) * scale).min(most) as u32
        };
        Warped {
            base: first,
            bits,
            shift,
            lines,
            cells: (0..=last_cell as u64 + 1).map(image).collect(),
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<u32>()
    }

    /// Appends the byte form without the number of slots.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.base.to_le_bytes());
        out.extend((self.cells.len() as u32).to_le_bytes());
        out.extend([self.bits, self.shift, 0, 0]);
        let cells = self.cells.iter();
        cells.for_each(|cell| out.extend(cell.to_le_bytes()));
    }

    /// Reads the byte form.
    ///
    /// # Errors
    /// [`crate::IndexError::Damaged`] if it is invalid.
    pub(super) fn read(reader: &mut Reader<'_>, lines: u32) -> Result<Self, crate::IndexError> {
        let base = reader.u64()?;
        let count = reader.length()?;
        let offset = reader.at();
        let (bits, shift) = (reader.u8()?, reader.u8()?);
        if !(1..=16).contains(&bits) || shift > 31 {
            let expected = "1 to 16 bits for the cells of an octave, and 0 to 31 fractional bits";
            return Err(reader.damaged_at(offset, expected, format!("{bits}, {shift}")));
        }
        reader.reserved(2)?;
        let offset = reader.at();
        let cells = reader.take(count.saturating_mul(4))?.as_chunks::<4>().0;
        let cells: Vec<_> = cells.iter().map(|cell| u32::from_le_bytes(*cell)).collect();
        if !cells.is_sorted() {
            return Err(reader.damaged_at(
                offset,
                "images in ascending order",
                "descending images",
            ));
        }
        Ok(Warped {
            base,
            bits,
            shift,
            lines,
            cells,
        })
    }
}

impl Model for Warped {
    fn slots(&self) -> usize {
        self.lines as usize
    }

    #[inline(always)]
    fn slot(&self, number: u64) -> usize {
        let last = self.lines.saturating_sub(1) as usize;
        let (cell, inside) = cell(number.saturating_sub(self.base), self.bits);
        let Some([start, end]) = self.cells.get(cell..).and_then(|cells| cells.first_chunk())
        else {
            return last;
        };
        let width = u128::from(end.saturating_sub(*start));
        let image = u64::from(*start) + ((width * u128::from(inside)) >> 64) as u64;
        ((image >> self.shift) as usize).min(last)
    }
}

#[cfg(test)]
mod tests {
    use super::super::flow::tests::random_flow;
    use super::*;
    use crate::check::SplitMix64;

    #[test]
    fn cells_are_contiguous() {
        for bits in [1, COARSE, FINE, 16] {
            let last = cell(u64::MAX, bits).0 as u64;
            assert!(last < (65 - u64::from(bits)) << bits);
            let step = (last / 5000).max(1) as usize;
            for at in (0..last).step_by(step) {
                let start = start_of(at, bits);
                assert_eq!(cell(start, bits), (at as usize, 0), "{at} {bits}");
                let next = start_of(at + 1, bits);
                assert_eq!(cell(next - 1, bits).0 as u64, at, "{at} {bits}");
            }
        }
    }

    #[test]
    fn slots_never_fall_and_follow_the_flow() {
        let mut random = SplitMix64::new(0x7761_7270);
        for _ in 0..1_000 {
            let flow = random_flow(&mut random);
            let first = flow.features.base;
            let last = first.saturating_add(1 + (random.next_u64() >> random.below(63)));
            let lines = 1 + (random.next_u64() >> (40 + random.below(24))) as usize;
            let model = Warped::over(&flow, (first, last), MANY, lines);
            assert_eq!(model.slot(first), 0);
            let mut probes = vec![0, first, last, u64::MAX];
            for _ in 0..100 {
                let near = first.wrapping_add(random.next_u64() >> random.below(64));
                let corner = start_of(random.below(60 << FINE), FINE).wrapping_add(first);
                for at in [near, corner] {
                    probes.extend((0..3).map(|i| at.wrapping_add(i).wrapping_sub(1)));
                }
            }
            probes.sort_unstable();
            let slots = probes.iter().map(|probe| model.slot(*probe));
            assert!(slots.clone().all(|slot| slot < lines));
            assert!(slots.is_sorted(), "{model:?}");
            // At the start of a cell, the table equals the flow.
            let (start, end) = (flow.image(first), flow.image(last));
            for probe in probes.iter().filter(|x| (first..=last).contains(*x)) {
                let (_, inside) = cell(probe - first, FINE);
                let exact = (flow.image(*probe) - start) / (end - start) * lines as f64;
                if inside == 0 && end > start {
                    let off = (model.slot(*probe) as f64 - exact).abs();
                    assert!(off <= 1.01, "{off}");
                }
            }
        }
    }

    #[test]
    fn a_table_is_read_as_written() {
        let flow = random_flow(&mut SplitMix64::new(5));
        let range = (flow.features.base, u64::MAX);
        for numbers in [10, MANY] {
            let model = Warped::over(&flow, range, numbers, 1000);
            let mut bytes = Vec::new();
            model.put(&mut bytes);
            let read = |bytes: &[u8]| Warped::read(&mut Reader::new("test", bytes), 1000);
            assert_eq!(read(&bytes), Ok(model));
            assert!(read(&bytes[..bytes.len() - 1]).is_err());
            bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
            assert!(read(&bytes).is_err());
        }
    }
}
