//! Ascending numbers compressed in blocks of 1,000: a line, and how far each number is from it in as few bits as the
//! farthest needs. Liu, Zeng and Zhang, "LeCo: Lightweight Compression via Learning Serial Correlations" (SIGMOD 2024),
//! section 3, with linear models and blocks of a fixed size.

/// Numbers in a block, as published for bounds of pages.
const BLOCK: usize = 1_000;

/// Compressed ascending numbers.
#[derive(Debug, Default)]
pub struct Compressed {
    blocks: Vec<Block>,
    len: usize,
}

/// At most [`BLOCK`] numbers.
#[derive(Debug)]
struct Block {
    first: u64,
    /// The line goes from the first number up by this at each step.
    slope: f64,
    /// The least distance of a number from the line. Distances are stored less this.
    least: i128,
    /// Bits of a distance.
    width: usize,
    distances: Box<[u64]>,
}

impl Compressed {
    /// Compresses ascending numbers, which may repeat.
    pub fn new(numbers: &[u64]) -> Compressed {
        Compressed {
            blocks: numbers.chunks(BLOCK).map(Block::new).collect(),
            len: numbers.len(),
        }
    }

    /// How many of the first numbers are so; if a number is, all before it are.
    pub fn partition_point(&self, is_so: impl Fn(u64) -> bool) -> usize {
        let blocks = self.blocks.partition_point(|block| is_so(block.first));
        let Some(last) = blocks.checked_sub(1) else {
            return 0;
        };
        let start = last * BLOCK;
        let (mut low, mut high) = (0, BLOCK.min(self.len - start));
        while low < high {
            let middle = low.midpoint(high);
            match is_so(self.blocks[last].get(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        start + low
    }

    /// Bytes of memory.
    pub fn size_in_bytes(&self) -> usize {
        let distances = self.blocks.iter().map(|block| 8 * block.distances.len());
        size_of::<Self>() + self.blocks.len() * size_of::<Block>() + distances.sum::<usize>()
    }
}

impl Block {
    /// Compresses at least one number.
    fn new(numbers: &[u64]) -> Block {
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        let slope = (last - first) as f64 / (numbers.len() - 1).max(1) as f64;
        // A line of rounded numbers may be too far from numbers as far apart as 2^64; the first alone never is.
        Block::around(numbers, slope)
            .or_else(|| Block::around(numbers, 0.0))
            .unwrap_or(Block {
                first,
                slope: 0.0,
                least: 0,
                width: 0,
                distances: Box::default(),
            })
    }

    /// Compresses with a line; nothing if a distance does not fit into 64 bits.
    fn around(numbers: &[u64], slope: f64) -> Option<Block> {
        let first = numbers[0];
        let far = |(at, number): (usize, &u64)| i128::from(*number) - line(first, slope, at);
        let distances = || numbers.iter().enumerate().map(far);
        let (least, most) = (distances().min()?, distances().max()?);
        let width = 128 - (most - least).leading_zeros() as usize;
        if width > 64 {
            return None;
        }
        let mut packed = vec![0; (numbers.len() * width).div_ceil(64)];
        for (at, distance) in distances().enumerate().filter(|_| width > 0) {
            let (bit, distance) = (at * width, (distance - least) as u128);
            let shifted = distance << (bit % 64);
            packed[bit / 64] |= shifted as u64;
            if let Some(next) = packed.get_mut(bit / 64 + 1) {
                *next |= (shifted >> 64) as u64;
            }
        }
        Some(Block {
            first,
            slope,
            least,
            width,
            distances: packed.into(),
        })
    }

    /// A number, by its place in the block.
    fn get(&self, at: usize) -> u64 {
        let bit = at * self.width;
        let word = |at: usize| u128::from(self.distances.get(at).copied().unwrap_or_default());
        let both = word(bit / 64) | word(bit / 64 + 1) << 64;
        let distance = (both >> (bit % 64)) & ((1 << self.width) - 1);
        (line(self.first, self.slope, at) + self.least + distance as i128) as u64
    }
}

fn line(first: u64, slope: f64, at: usize) -> i128 {
    i128::from(first) + (slope * at as f64) as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Random;

    fn check(numbers: &[u64], about: &str) -> usize {
        let compressed = Compressed::new(numbers);
        for (at, number) in numbers.iter().enumerate() {
            let found = compressed.blocks[at / BLOCK].get(at % BLOCK);
            assert_eq!(found, *number, "{about}: number {at}");
        }
        let probes = numbers
            .iter()
            .flat_map(|n| [n.wrapping_sub(1), *n, n.wrapping_add(1)]);
        for probe in probes.chain([0, u64::MAX]) {
            let found = compressed.partition_point(|number| number < probe);
            let expected = numbers.partition_point(|number| *number < probe);
            assert_eq!(found, expected, "{about}: those below {probe}");
        }
        compressed.size_in_bytes()
    }

    #[test]
    fn numbers_come_back_and_are_found() {
        let mut random = Random::new(5, 0x1ec0);
        check(&[], "none");
        check(&[7], "one");
        check(&[0, u64::MAX], "the least and the greatest");
        check(&[3; 2_500], "equal ones");
        let mut steps = vec![0; 999];
        steps.extend([u64::MAX; 1_001]);
        check(&steps, "a step");
        steps.insert(0, 0);
        steps.insert(500, 1);
        steps.sort_unstable();
        check(&steps, "a step within a block");
        for count in [2, 999, 1_000, 1_001, 3_333] {
            check(&random.distinct(count), &format!("{count} uniform"));
        }
    }

    #[test]
    fn even_steps_take_no_bits() {
        let numbers: Vec<u64> = (0..10_000).map(|n| 1_000 * n).collect();
        let bytes = check(&numbers, "even steps");
        assert!(bytes < 2_000, "{bytes}");
    }
}
