//! Statistics of the blocks of a table, for display.

use std::fmt;

/// The distribution of some numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spread {
    min: u64,
    mean: f64,
    p50: u64,
    p99: u64,
    max: u64,
}

impl Spread {
    /// The distribution of `numbers`; zeros if there are none.
    pub fn of(mut numbers: Vec<u64>) -> Spread {
        numbers.sort_unstable();
        let sum: u64 = numbers.iter().sum();
        let last = numbers.len().saturating_sub(1);
        let at = |percent: usize| numbers.get(last * percent / 100).copied().unwrap_or(0);
        Spread {
            min: at(0),
            mean: sum as f64 / numbers.len().max(1) as f64,
            p50: at(50),
            p99: at(99),
            max: at(100),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread {
            min,
            mean,
            p50,
            p99,
            max,
        } = self;
        write!(
            f,
            "min {min}, mean {mean:.1}, p50 {p50}, p99 {p99}, max {max}"
        )
    }
}

/// Statistics of the blocks of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockSummary {
    /// Whether the model gives the block of a key.
    pub placed: bool,
    /// Whether every entry takes the same number of bytes.
    pub strided: bool,
    /// The number of units at the start, and of entries in a full one, if the table begins with units.
    pub units: Option<(u64, u32)>,
    /// The number of neighbouring predictions that share a cell; 0 without cells.
    pub entries_per_cell: u32,
    /// The number of blocks that continue a cell.
    pub extra: u64,
    /// The number of blocks without entries.
    pub empty: u64,
    /// Entries a block, over the readable blocks.
    pub entries: Spread,
    /// Stored bytes a block.
    pub bytes: Spread,
    /// The bytes of blocks before compression, as a share of those that they may have; `None` if they are not cut by bytes.
    pub fill: Option<f64>,
}

impl fmt::Display for BlockSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, extra, empty) = (self.entries_per_cell, self.extra, self.empty);
        match (self.placed, self.strided) {
            (false, _) => write!(f, "blocks: not placed by a model")?,
            (true, false) => write!(f, "blocks: placed by the model")?,
            (true, true) => write!(f, "blocks: placed by the model, equal entries")?,
        }
        if let Some((units, entries)) = self.units {
            write!(
                f,
                ", the first {units} are units of {entries} entries of one size"
            )?;
        }
        if n > 0 {
            write!(
                f,
                ", {n} predicted ranks a cell, {extra} extra blocks, {empty} empty cells"
            )?;
        }
        writeln!(f)?;
        writeln!(f, "  entries a block: {}", self.entries)?;
        writeln!(f, "  bytes a block: {}", self.bytes)?;
        match self.fill {
            Some(fill) => writeln!(
                f,
                "  fill: {:.1} % of the bytes that blocks may have",
                100.0 * fill
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_sorted_out() {
        let spread = Spread::of((1..=200).rev().collect());
        let text = "min 1, mean 100.5, p50 100, p99 198, max 200";
        assert_eq!(spread.to_string(), text);
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }
}
