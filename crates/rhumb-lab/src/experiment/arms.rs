//! The ways in which the entries of a window can be laid out and read, and the index kinds.

use rhumb::{IndexSpec, TableSpec};

use crate::error::{Error, Result};

/// Fence pointers as published, and as rhumb keeps them.
pub const FENCES: [&str; 2] = ["fp-raw", "fp"];

/// The data-clustered learned kinds of the study.
pub const MODELS: [&str; 6] = ["plr", "fiting-tree", "pgm", "rmi", "radix-spline", "plex"];

/// All kinds, fence pointers first.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    FENCES.into_iter().chain(MODELS)
}

/// What a block of one entry takes beside it.
const SINGLE_BYTES: u64 = 37;

/// Keys of a leaf of `rmi` for each entry of the boundary: 256 at boundary 16, about as many as the
/// published sizes of RMI at that boundary come to on the Facebook set.
const KEYS_A_LEAF: u32 = 16;

/// How entries lie in blocks, and so what a get reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// As published: a get reads the entries of the window and no others. A model's entries lie in a
    /// block each; fence pointers point to blocks of as many entries as the boundary says.
    Window,
    /// As published for unclustered kinds and as a variant of the others: mapped keys stay in
    /// memory, and one entry is read.
    Retained,
    /// Blocks of 4 KiB, whole: what most stores read.
    Blocks,
    /// Blocks cut by the model's own prediction, rhumb's default: one of about 4 KiB is read.
    Placed,
}

impl Arm {
    /// As in results.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Window => "window",
            Arm::Retained => "retained",
            Arm::Blocks => "blocks",
            Arm::Placed => "placed",
        }
    }

    /// The index and the layout of tables of a kind, for entries of about so many bytes, a key and its
    /// value.
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
            Arm::Window | Arm::Retained => "entries(1)".to_string(),
            Arm::Blocks => "bytes(4096)".to_string(),
            Arm::Placed => "predicted".to_string(),
        };
        let mut index = kind.to_string();
        if kind == "rmi" {
            // As published: the second layer is as large as it takes, its error is what comes of it.
            let entries = table_bytes / (entry_bytes + SINGLE_BYTES);
            let leaves = entries / u64::from(KEYS_A_LEAF * boundary);
            index += &format!(":leaves={}", leaves.max(1));
        } else if !fence {
            index += &format!(":boundary={boundary}");
            if kind == "radix-spline" {
                // The published setting: the best trade-off there.
                index += ",radix_bits=1";
            }
        }
        if !fence && self == Arm::Retained {
            index += ",retained=1";
        }
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
            for kind in kinds() {
                let (index, table) = arm.specs(kind, 16, 16, 1 << 20).unwrap();
                let text = format!("{index} {table}");
                assert!(text.starts_with(kind) && text.contains("1048576"), "{text}");
            }
        }
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
