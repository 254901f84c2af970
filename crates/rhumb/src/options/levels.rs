//! How levels grow and are merged.

use std::fmt;
use std::str::FromStr;

use super::check_range;
use super::tier::TierSpec;
use crate::error::Error;

/// When and how levels are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compaction {
    /// Each level is one sorted run of limited bytes. From a level that is larger one table at a time
    /// is merged into the next level, the one that overlaps least there.
    #[default]
    Leveled,
    /// Each level is one sorted run of limited bytes. One that is larger is merged whole with all of
    /// the next (the classic merge of an LSM-tree).
    FullLevel,
    /// Each level holds some sorted runs, and when it is full they are merged into one run of the
    /// next: fewer bytes are written, and more tables asked by reads.
    Tiered,
    /// Nearly everything is in one sorted run at the bottom, the tier, and what was written since in a few runs
    /// above it. Each of the tier's tables is a range of keys, which is converted for itself: merged with all that is
    /// above it (LearnedKV, sections 4.1 and 4.3).
    LearnedTier(TierSpec),
}

const COMPACTION_EXPECTED: &str = "leveled, full-level, tiered, learned-tier or learned-tier:form=inline,range=256MiB,runs=8,filter=10,concurrent=false";

impl Compaction {
    /// The form of the learned tier, if there is one.
    pub(crate) fn tier(self) -> Option<TierSpec> {
        match self {
            Compaction::LearnedTier(tier) => Some(tier),
            _ => None,
        }
    }
}

impl fmt::Display for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compaction::Leveled => f.write_str("leveled"),
            Compaction::FullLevel => f.write_str("full-level"),
            Compaction::Tiered => f.write_str("tiered"),
            Compaction::LearnedTier(tier) => write!(f, "learned-tier:{tier}"),
        }
    }
}

impl FromStr for Compaction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        match (name, settings) {
            ("leveled", "") => Ok(Compaction::Leveled),
            ("full-level", "") => Ok(Compaction::FullLevel),
            ("tiered", "") => Ok(Compaction::Tiered),
            ("learned-tier", settings) => Ok(Compaction::LearnedTier(settings.parse()?)),
            _ => Err(Error::InvalidArgument(format!(
                "compaction {text:?} is not known: write {COMPACTION_EXPECTED}"
            ))),
        }
    }
}

/// What one index covers: the granularity of "Evaluating Learned Indexes in LSM-tree Systems", section 4.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Granularity {
    /// A table, whose index is in its file.
    #[default]
    Table,
    /// Neighbouring tables of a level, some 16 at a time: one model in memory is fitted to the pieces of those in their
    /// files, without reading a key, and a merge renews it where it replaced tables. This pays where `boundary` is
    /// several times that of the tables' index: a model of four times the boundary takes a tenth of the memory or less, and
    /// gets search wider windows. The index must be `plr`, `fiting-tree`, `pgm`, `radix-spline` or `plex` over
    /// blocks of bytes or of entries. Other tables, and those of which the neighbours number their keys in another way, are found
    /// by their own index.
    Joined {
        /// The most keys of a window, 4 to 1,024.
        boundary: u32,
    },
    /// A level: one model of the kind of [`Options::index`](crate::Options::index), or the keyspace's own, is trained on all its
    /// keys when a merge has written it whole, and kept in a file. For [`Compaction::FullLevel`], which always does. The index must
    /// answer with windows, or be fences, over blocks of bytes or of entries.
    Trained,
}

const GRANULARITY_EXPECTED: &str = "table, joined, joined:boundary=128 or trained";

/// Wide windows cost little where blocks hold dozens of entries.
const USUAL_BOUNDARY: u32 = 128;

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Granularity::Table => f.write_str("table"),
            Granularity::Joined { boundary } => write!(f, "joined:boundary={boundary}"),
            Granularity::Trained => f.write_str("trained"),
        }
    }
}

impl FromStr for Granularity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || {
            Error::InvalidArgument(format!(
                "granularity {text:?} is not known: write {GRANULARITY_EXPECTED}"
            ))
        };
        let joined = |boundary| Ok(Granularity::Joined { boundary });
        match text {
            "table" => Ok(Granularity::Table),
            "trained" => Ok(Granularity::Trained),
            "joined" => joined(USUAL_BOUNDARY),
            _ => {
                let boundary = text.strip_prefix("joined:boundary=");
                let boundary = boundary.and_then(|number| number.parse().ok());
                joined(boundary.ok_or_else(unknown)?)
            }
        }
    }
}

/// How the levels below the write buffer grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// When and how levels are merged. A store that was written under another setting is brought
    /// into the new shape step by step.
    pub compaction: Compaction,
    /// How many times larger each level is than the one above it; under tiered compaction, how many
    /// runs a level from 1 on holds; over a learned tier, how many times larger a range of keys is than what is above
    /// it. At least 2.
    pub size_ratio: u32,
    /// Size of level 1 in bytes, at least 1; without meaning under tiered compaction and over a learned tier.
    pub base_bytes: u64,
    /// What one index covers. A store may be opened with another setting than it was written with.
    pub granularity: Granularity,
    /// How many runs (flushed tables) level 0 holds before they are merged into level 1. At least 1. While
    /// level 1 is too large it takes up to six times as many. Three times as many slow writers down, nine times as
    /// many hold them up.
    pub level0_tables: u32,
}

impl Levels {
    /// An error, in the words of the code, if a value is out of its range.
    pub(super) fn check(&self) -> Result<(), Error> {
        if let Some(tier) = self.compaction.tier() {
            tier.check()?;
        }
        if let Granularity::Joined { boundary } = self.granularity {
            check_range("the boundary of Levels::granularity", boundary, 4..=1024)?;
        }
        check_range("Levels::size_ratio", self.size_ratio, 2..=u64::MAX)?;
        check_range("Levels::base_bytes", self.base_bytes, 1..=u64::MAX)?;
        check_range("Levels::level0_tables", self.level0_tables, 1..=u64::MAX)
    }
}

impl Default for Levels {
    fn default() -> Self {
        Levels {
            compaction: Compaction::default(),
            size_ratio: 10,
            base_bytes: 256 << 20,
            granularity: Granularity::default(),
            level0_tables: 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granularities_read_back_as_written() {
        for text in [
            "table",
            "joined:boundary=4",
            "joined:boundary=1024",
            "trained",
        ] {
            assert_eq!(text.parse::<Granularity>().unwrap().to_string(), text);
        }
        for text in [
            "level",
            "trained:",
            "joined:",
            "joined:boundary=x",
            "table:boundary=4",
        ] {
            let error = text.parse::<Granularity>().unwrap_err().to_string();
            assert!(error.contains(GRANULARITY_EXPECTED), "{error}");
        }
    }

    #[test]
    fn shapes_read_back_as_written() {
        for text in [
            "leveled",
            "full-level",
            "tiered",
            "learned-tier:form=keys,range=1024,runs=1,filter=0,concurrent=false",
            "learned-tier:form=published,range=1024,runs=1,filter=64,concurrent=true",
            "learned-tier:form=inline,range=1048576,runs=8,filter=10,concurrent=false",
        ] {
            assert_eq!(text.parse::<Compaction>().unwrap().to_string(), text);
        }
        let tier = "learned-tier".parse::<Compaction>().unwrap();
        assert_eq!(tier, Compaction::LearnedTier(TierSpec::default()));
        for text in ["universal", "tiered:runs=2"] {
            let error = text.parse::<Compaction>().unwrap_err().to_string();
            assert!(error.contains("learned-tier"), "{error}");
        }
    }
}
