//! The forms that a table can take.

use std::fmt;

use rhumb_index::IndexSpec;

use crate::options::{Partition, TableSpec};
use crate::table::layout_tag;

/// The index of a table and how it is cut.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub index: IndexSpec,
    pub partition: Partition,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.index, self.partition)
    }
}

impl Layout {
    /// What is set for tables.
    pub fn of(index: &IndexSpec, table: &TableSpec) -> Layout {
        Layout {
            index: index.clone(),
            partition: table.partition,
        }
    }

    /// The form of a text in two words; `None` if they are none.
    pub(super) fn parse(index: &str, partition: &str) -> Option<Layout> {
        Some(Layout {
            index: index.parse().ok()?,
            partition: partition.parse().ok()?,
        })
    }

    /// What tells tables of this form from others.
    pub fn tag(&self) -> u64 {
        layout_tag(&self.to_string())
    }
}

/// The bytes of blocks that a model places, beside those of the usual form.
const PLACED_BYTES: [u32; 4] = [1 << 10, 2 << 10, 8 << 10, 32 << 10];
/// Other forms.
const CUT: [(&str, Partition); 9] = [
    ("fp", Partition::Bytes(1 << 10)),
    ("fp", Partition::Bytes(4 << 10)),
    ("fp", Partition::Bytes(16 << 10)),
    ("rss", Partition::Bytes(1 << 10)),
    ("rss", Partition::Bytes(4 << 10)),
    ("rss", Partition::Bytes(16 << 10)),
    ("pla:error=128", Partition::Dual(1 << 10)),
    ("pla:error=128", Partition::Dual(4 << 10)),
    ("pla:error=128", Partition::Dual(16 << 10)),
];

/// The forms to choose from: first what is set, `base`, then others, for entries of so many bytes on average.
pub(super) fn candidates(base: &Layout, entry_bytes: f64) -> Vec<Layout> {
    let mut layouts = vec![base.clone()];
    let mut add = |index: IndexSpec, partition| {
        let layout = Layout { index, partition };
        if !layouts.contains(&layout) {
            layouts.push(layout);
        }
    };
    let placed = IndexSpec::default();
    add(placed.clone(), Partition::Predicted(0));
    for bytes in PLACED_BYTES {
        let entries = (f64::from(bytes) / entry_bytes.max(1.0)) as u32;
        if entries > 0 {
            add(placed.clone(), Partition::Predicted(entries));
        }
    }
    for (text, partition) in CUT {
        if let Ok(index) = text.parse() {
            add(index, partition);
        }
    }
    layouts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_comes_first_and_no_form_twice() {
        for base in [
            "plr predicted",
            "fp bytes(4096)",
            "pgm:boundary=16 bytes(512)",
        ] {
            let (index, partition) = base.split_once(' ').unwrap();
            let base = Layout::parse(index, partition).unwrap();
            let all = candidates(&base, 72.0);
            assert_eq!(all[0], base);
            assert!(all.len() >= 14, "{}", all.len());
            let mut tags: Vec<u64> = all.iter().map(Layout::tag).collect();
            tags.sort_unstable();
            tags.dedup();
            assert_eq!(tags.len(), all.len());
        }
        // Blocks with less than one entry are no choice.
        let usual = Layout::parse("plr", "predicted").unwrap();
        assert_eq!(candidates(&usual, 1e6).len(), 1 + 9);
    }
}
