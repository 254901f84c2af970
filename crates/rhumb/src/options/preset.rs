//! Published systems by their names.

use std::fmt;
use std::str::FromStr;

use rhumb_index::IndexSpec;

use super::{Options, Partition, Tuner};
use crate::error::Error;

/// A published system: the index of its tables, how they are cut into blocks, and who learns models beside them. As text `doblix`,
/// `bourbon`, `tridentkv` or `rocksdb-like`. It is a way to write [`Options::index`],
/// [`TableSpec::partition`](crate::TableSpec::partition) and [`Options::tuner`], and nothing of it is kept: what is set behind it
/// counts.
///
/// ```
/// use rhumb::{Options, Preset};
///
/// let options = Options::default().with_preset(Preset::Doblix);
/// assert_eq!(options.index.to_string(), "pla:error=128");
/// assert_eq!(options.table.partition.to_string(), "dual(4096)");
/// assert_eq!("doblix".parse::<Preset>()?, Preset::Doblix);
/// # Ok::<(), rhumb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// DobLIX (sections III-B and III-C): a block ends at 4 KiB, or before the key that its line would miss by more than 128
    /// entries. It is for keys of up to 8 bytes behind what they have in common. For others set the index `rss:over=keys` behind
    /// it, the paper's string tree (section III-D).
    Doblix,
    /// Bourbon (section 4): tables of fences and blocks of 4 KiB, and lines that are learned behind writes where they pay
    /// ([`Tuner::Bourbon`]). For tables that have such lines from the first on, set the index `plr:boundary=18` behind it.
    Bourbon,
    /// TridentKV (as DobLIX shows it in Figure 2c): a recursive model of two stages with 1,000 leaves for each
    /// table predicts the block of a key. A block is for 56 entries, which take 4 KiB if they have 8 + 64 bytes; for those of
    /// other sizes set `predicted(n)` behind it. The entries of a table wait in memory for its end.
    TridentKv,
    /// RocksDB's form (its page "BlockBasedTable Format"): a whole key for each block of 4 KiB.
    RocksdbLike,
}

impl Preset {
    /// All of them.
    pub const ALL: &'static [Preset] = &[
        Preset::Doblix,
        Preset::Bourbon,
        Preset::TridentKv,
        Preset::RocksdbLike,
    ];

    const fn name(self) -> &'static str {
        match self {
            Preset::Doblix => "doblix",
            Preset::Bourbon => "bourbon",
            Preset::TridentKv => "tridentkv",
            Preset::RocksdbLike => "rocksdb-like",
        }
    }

    /// The text of its index.
    const fn index_text(self) -> &'static str {
        match self {
            Preset::Doblix => "pla:error=128",
            Preset::Bourbon => "fp",
            Preset::TridentKv => "rmi:leaves=1000",
            Preset::RocksdbLike => "fp-raw",
        }
    }

    /// The index of its tables.
    pub fn index(self) -> IndexSpec {
        // These texts are of this file, and a test reads each of them.
        self.index_text().parse().unwrap_or_default()
    }

    /// How its tables are cut into blocks.
    pub fn partition(self) -> Partition {
        match self {
            Preset::Doblix => Partition::Dual(4 << 10),
            Preset::Bourbon | Preset::RocksdbLike => Partition::Bytes(4 << 10),
            Preset::TridentKv => Partition::Predicted(56),
        }
    }

    /// Who learns models beside its tables, if somebody does.
    pub fn tuner(self) -> Option<Tuner> {
        match self {
            Preset::Bourbon => Some(Tuner::bourbon()),
            _ => None,
        }
    }
}

impl Options {
    /// These options with the index and the cut of a published system, and its learner if it has one. All others stay.
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.index = preset.index();
        self.table.partition = preset.partition();
        self.tuner = preset.tuner().unwrap_or(self.tuner);
        self
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Preset::ALL.iter().find(|preset| preset.name() == text);
        known.copied().ok_or_else(|| {
            let names: Vec<&str> = Preset::ALL.iter().map(|preset| preset.name()).collect();
            let names = names.join(", ");
            Error::InvalidArgument(format!(
                "preset {text:?} is not known: write one of {names}"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_others_are_refused_with_the_choices() {
        for preset in Preset::ALL.iter().copied() {
            assert_eq!(preset.to_string().parse::<Preset>().unwrap(), preset);
            assert_eq!(preset.index().to_string(), preset.index_text());
        }
        for text in ["", "DobLIX", "leveldb"] {
            let error = text.parse::<Preset>().unwrap_err().to_string();
            let choices = "doblix, bourbon, tridentkv, rocksdb-like";
            assert!(error.contains(choices), "{error}");
        }
    }

    #[test]
    fn a_preset_sets_its_form_alone() {
        let mut options = Options::in_memory();
        options.table = "filter=3,size=1MiB".parse().unwrap();
        for preset in Preset::ALL.iter().copied() {
            let options = options.clone().with_preset(preset);
            options.check().unwrap();
            assert_eq!(options.index, preset.index());
            let table = format!("partition={},filter=3,size=1MiB", preset.partition());
            assert_eq!(options.table, table.parse().unwrap());
            let learns = matches!(options.tuner, Tuner::Bourbon { .. });
            assert_eq!(learns, preset == Preset::Bourbon);
        }
    }
}
