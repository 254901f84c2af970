//! The arms, which are ways to lay out and read the entries of a window, and the index kinds.

use rhumb::{IndexSpec, TableSpec};

use crate::error::{Error, Result};

/// Fence pointers as published, and in rhumb's own form.
pub const FENCES: [&str; 2] = ["fp-raw", "fp"];

/// The data-clustered learned kinds of the study.
pub const MODELS: [&str; 6] = ["plr", "fiting-tree", "pgm", "rmi", "radix-spline", "plex"];

/// The data-unclustered kinds, which know the exact rank of each key: the kinds of the study; NFL,
/// which the study reviews but does not measure; and the B+-tree, which has no model.
pub const UNCLUSTERED: [&str; 6] = ["alex", "lipp", "dili", "lits", "nfl", "btree"];

/// The kinds with a position boundary: fence pointers and the data-clustered kinds.
pub fn bounded() -> impl Iterator<Item = &'static str> {
    FENCES.into_iter().chain(MODELS)
}

/// All kinds, fence pointers first.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    bounded().chain(UNCLUSTERED)
}

/// The position boundary, in results, of kinds that have none.
pub const ANY: &str = "any";

/// The layout of entries in blocks, which determines what a get reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// As published: a get reads exactly the entries of the window. All kinds have the same layout,
    /// in which each entry is a unit of its own; a window of fence pointers has as many entries as
    /// the boundary.
    Window,
    /// [`Arm::Window`] by the other reading of the paper: the boundary is the bound of the error,
    /// and the window twice as large, with both of its ends.
    ErrorBound,
    /// As published: the mapped keys are kept in memory in addition to the model of a clustered
    /// kind, and a get reads one entry.
    Retained,
    /// As published for unclustered kinds, which have the mapped keys in their nodes: a get reads
    /// one entry. They have no position boundary.
    Exact,
    /// Whole blocks of 4 KiB, as in most stores.
    Blocks,
    /// Blocks cut by the model's prediction, rhumb's default: a get reads one block of about 4 KiB.
    Placed,
}

impl Arm {
    /// The arm in which a kind is compared with the others: exact windows.
    pub fn of(kind: &str) -> Arm {
        match UNCLUSTERED.contains(&kind) {
            true => Arm::Exact,
            false => Arm::Window,
        }
    }

    /// The position boundary of cells in results.
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
            Arm::ErrorBound => "error bound",
            Arm::Retained => "retained",
            Arm::Exact => "exact",
            Arm::Blocks => "blocks",
            Arm::Placed => "placed",
        }
    }

    /// The index and the table layout of a kind. [`Arm::Exact`] ignores the boundary.
    ///
    /// # Errors
    /// If the kind does not exist.
    pub fn specs(
        self,
        kind: &str,
        boundary: u32,
        table_bytes: u64,
    ) -> Result<(IndexSpec, TableSpec)> {
        let fence = FENCES.contains(&kind);
        let boundary = match self {
            Arm::ErrorBound => 2 * boundary + 2,
            _ => boundary,
        };
        let partition = match self {
            Arm::Window | Arm::ErrorBound | Arm::Retained | Arm::Exact => "entries(1)",
            Arm::Blocks => "bytes(4096)",
            Arm::Placed => "predicted",
        };
        let index = match kind {
            _ if self == Arm::Exact => kind.to_string(),
            // A fence pointer for each block, whose size is the boundary.
            _ if fence && partition != "entries(1)" => kind.to_string(),
            // The published setting, which was the best trade-off in the paper.
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
/// If one of them is not a valid specification.
pub fn specs(index: &str, table: &str) -> Result<(IndexSpec, TableSpec)> {
    let spec = index.parse().map_err(|error| Error::index(&index, error))?;
    Ok((spec, table.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_every_arm() {
        for arm in [
            Arm::Window,
            Arm::ErrorBound,
            Arm::Retained,
            Arm::Blocks,
            Arm::Placed,
        ] {
            for kind in bounded() {
                let (index, table) = arm.specs(kind, 16, 1 << 20).unwrap();
                let text = format!("{index} {table}");
                assert!(text.starts_with(kind) && text.contains("1048576"), "{text}");
            }
        }
        for kind in UNCLUSTERED {
            let (index, table) = Arm::of(kind).specs(kind, 8, 1 << 20).unwrap();
            assert_eq!(index.to_string(), kind);
            assert!(index.is_exact() && table.to_string().contains("entries(1)"));
        }
        assert!(bounded().all(|kind| Arm::of(kind) == Arm::Window));
        let (index, _) = Arm::ErrorBound.specs("pgm", 8, 1 << 20).unwrap();
        assert_eq!(index, "pgm:boundary=18".parse().unwrap());
        let (index, table) = Arm::Retained.specs("radix-spline", 8, 1 << 20).unwrap();
        let expected = "radix-spline:boundary=8,radix_bits=1,retained=1"
            .parse()
            .unwrap();
        assert_eq!(index, expected);
        assert!(table.to_string().contains("entries(1)"));
        let (index, _) = Arm::Window.specs("rmi", 16, 1 << 20).unwrap();
        assert_eq!(index, "rmi:boundary=16".parse().unwrap());
        for kind in bounded() {
            let (index, table) = Arm::Window.specs(kind, 32, 1 << 20).unwrap();
            assert_eq!(index.named("boundary"), Some(32), "{kind}");
            assert!(table.to_string().contains("entries(1)"), "{kind}");
            let (index, _) = Arm::Blocks.specs(kind, 32, 1 << 20).unwrap();
            let boundary = (!FENCES.contains(&kind)).then_some(32);
            assert_eq!(index.named("boundary"), boundary, "{kind}");
        }
    }
}
