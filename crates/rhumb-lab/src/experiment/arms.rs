//! The ways in which the entries of a window can be laid out and read, and the index kinds.

use rhumb::{IndexSpec, TableSpec};

use crate::error::{Error, Result};

/// Fence pointers as published, and as rhumb keeps them.
pub const FENCES: [&str; 2] = ["fp-raw", "fp"];

/// The data-clustered learned kinds of the study.
pub const MODELS: [&str; 6] = ["plr", "fiting-tree", "pgm", "rmi", "radix-spline", "plex"];

/// The data-unclustered kinds, which know the place of each key: those of the study; NFL, which it
/// reviews and does not measure; and the B+-tree, which does without a model.
pub const UNCLUSTERED: [&str; 6] = ["alex", "lipp", "dili", "lits", "nfl", "btree"];

/// The kinds with a position boundary: fence pointers and the data-clustered ones.
pub fn bounded() -> impl Iterator<Item = &'static str> {
    FENCES.into_iter().chain(MODELS)
}

/// All kinds, fence pointers first.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    bounded().chain(UNCLUSTERED)
}

/// The position boundary of what has none, as in results.
pub const ANY: &str = "any";

/// What a block of one entry takes beside it.
const SINGLE_BYTES: u64 = 37;

/// Keys of a leaf of `rmi` for each entry of the boundary: 256 at boundary 16, about as many as the
/// published sizes of RMI at that boundary come to on the Facebook set.
const KEYS_A_LEAF: u32 = 16;

/// How entries lie in blocks, and so what a get reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// As published: a get reads the entries of the window and no others. A model's entries lie in
    /// a block each; fence pointers point to blocks of as many entries as the boundary says.
    Window,
    /// As published: mapped keys stay in memory beside the model of a clustered kind, and one entry
    /// is read.
    Retained,
    /// As published for unclustered kinds, which have the mapped keys in their nodes: one entry is
    /// read. They have no position boundary.
    Exact,
    /// Blocks of 4 KiB, whole: what most stores read.
    Blocks,
    /// Blocks cut by the model's own prediction, rhumb's default: one of about 4 KiB is read.
    Placed,
}

impl Arm {
    /// How a kind is compared with the others: by the entries of its windows and no others.
    pub fn of(kind: &str) -> Arm {
        match UNCLUSTERED.contains(&kind) {
            true => Arm::Exact,
            false => Arm::Window,
        }
    }

    /// The position boundary of cells, as in results.
    pub fn boundary(self, boundary: impl ToString) -> String {
        match self {
            Arm::Exact => ANY.to_string(),
            _ => boundary.to_string(),
        }
    }

    /// As in results.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Window => "window",
            Arm::Retained => "retained",
            Arm::Exact => "exact",
            Arm::Blocks => "blocks",
            Arm::Placed => "placed",
        }
    }

    /// The index and the layout of tables of a kind, for entries of about so many bytes, a key and
    /// its value. [`Arm::Exact`] takes no boundary into account.
    ///
    /// # Errors
    /// If there is no such kind.
    pub fn specs(
        self,
        kind: &str,
        boundary: u32,
        entry_bytes: u64,
        table_bytes: u64,
    ) -> Result<(IndexSpec, TableSpec)> {
        let fence = FENCES.contains(&kind);
        let partition = match self {
            Arm::Window if fence => format!("entries({boundary})"),
            Arm::Window | Arm::Retained | Arm::Exact => "entries(1)".to_string(),
            Arm::Blocks => "bytes(4096)".to_string(),
            Arm::Placed => "predicted".to_string(),
        };
        let index = match kind {
            _ if fence || self == Arm::Exact => kind.to_string(),
            "rmi" => {
                // As published: the second layer is as large as it takes, its error is what comes
                // of it.
                let entries = table_bytes / (entry_bytes + SINGLE_BYTES);
                let leaves = entries / u64::from(KEYS_A_LEAF * boundary);
                format!("rmi:leaves={}", leaves.max(1))
            }
            // The published setting: the best trade-off there.
            "radix-spline" => format!("{kind}:boundary={boundary},radix_bits=1"),
            _ => format!("{kind}:boundary={boundary}"),
        };
        let index = match self {
            Arm::Retained if !fence => index + ",retained=1",
            _ => index,
        };
        specs(&index, &format!("partition={partition},size={table_bytes}"))
    }
}

/// An index and a layout from their texts.
///
/// # Errors
/// If one of them is no specification.
pub fn specs(index: &str, table: &str) -> Result<(IndexSpec, TableSpec)> {
    let spec = index.parse().map_err(|error| Error::index(&index, error))?;
    Ok((spec, table.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_every_arm() {
        for arm in [Arm::Window, Arm::Retained, Arm::Blocks, Arm::Placed] {
            for kind in bounded() {
                let (index, table) = arm.specs(kind, 16, 16, 1 << 20).unwrap();
                let text = format!("{index} {table}");
                assert!(text.starts_with(kind) && text.contains("1048576"), "{text}");
            }
        }
        for kind in UNCLUSTERED {
            let (index, table) = Arm::of(kind).specs(kind, 8, 16, 1 << 20).unwrap();
            assert_eq!(index.to_string(), kind);
            assert!(index.is_exact() && table.to_string().contains("entries(1)"));
        }
        assert!(bounded().all(|kind| Arm::of(kind) == Arm::Window));
        let (index, table) = Arm::Retained.specs("radix-spline", 8, 16, 1 << 20).unwrap();
        let expected = "radix-spline:boundary=8,radix_bits=1,retained=1"
            .parse()
            .unwrap();
        assert_eq!(index, expected);
        assert!(table.to_string().contains("entries(1)"));
        let (index, _) = Arm::Window.specs("rmi", 16, 16, 53 << 20).unwrap();
        assert_eq!(index, "rmi:leaves=4096".parse().unwrap());
        let (_, table) = Arm::Window.specs("fp-raw", 32, 16, 1 << 20).unwrap();
        assert!(table.to_string().contains("entries(32)"));
    }
}
