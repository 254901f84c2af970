//! The form of a learned tier.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{check_range, parse_size};
use crate::error::Error;

/// Where the values of a learned tier lie that are [apart](crate::TableSpec::separate_values) from their keys above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TierForm {
    /// In value files: conversions write keys and pointers, and move only values in files that are emptied. A read of
    /// the tier needs one read of the device beside the keys.
    #[default]
    Keys,
    /// Beside their keys, in blocks that the index predicts: conversions write them there where there is room for them.
    /// A read of the tier needs one read of the device in all, and nearly no memory for the tier; where updates hit all
    /// keys alike, more is written than with `Keys`.
    Inline,
    /// As published: the store is one range, whose values are all written anew in the order of their keys when garbage takes as
    /// much room as it may, and when a user asks for it. That needs as much room again, so this form is for comparisons. Keys and
    /// pointers are in blocks of 512 entries under the index `greedy-plr-plus`.
    Published,
}

/// How a learned tier is divided and when it is converted: `form=keys,range=256MiB,runs=8,filter=10,concurrent=false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierSpec {
    /// Where values lie.
    pub form: TierForm,
    /// About how many bytes of keys and values a range holds, those counted that lie in value files. A conversion
    /// takes a range, and as much room on the disk until it ends. At least 1; the text form takes at least 1 KiB. Not
    /// used by the published form.
    pub range_bytes: u64,
    /// How many runs may stand above a range before they are merged: with the range, if they have at least a
    /// [part](crate::Levels::size_ratio) of its bytes, or else with each other. At least 1.
    pub runs: u32,
    /// The bits a key of a filter, in memory, over all keys that stand above the tier: for a key that it does not have, the
    /// tier is asked at once. 0 for no filter, or 6 to 64.
    pub filter_bits_per_key: u32,
    /// Whether a get asks the device for the block of the tier that may hold its key before it searches what stands above the
    /// tier, if the block is not in memory. That hides one of two waits where the key is in the tier, and costs a read in vain
    /// where it is not: with a filter above the tier, the latter is by far the more frequent. Past the page cache
    /// ([`Access::Direct`](crate::fs::Access::Direct)) four threads of the process, which stay, make these reads. Only blocks that a
    /// model predicts alone are asked for, and not by `multi_get` and conditional writes. Default: `false`.
    pub concurrent_probes: bool,
}

const FORM_EXPECTED: &str = "form=keys, form=inline or form=published";
const RANGE_EXPECTED: &str = "range=256MiB, at least 1KiB";
const FILTER_EXPECTED: &str = "filter=10, 6 to 64, or filter=0 for none";
/// With fewer bits too many of its answers would be wrong from the beginning, and it would be renewed without end.
const FILTER_BITS: RangeInclusive<u64> = 6..=64;
const CONCURRENT_EXPECTED: &str = "concurrent=true or concurrent=false";
const RUNS_EXPECTED: &str = "runs=8, at least 1";

impl Default for TierSpec {
    fn default() -> Self {
        TierSpec {
            form: TierForm::default(),
            range_bytes: 256 << 20,
            runs: 8,
            filter_bits_per_key: 10,
            concurrent_probes: false,
        }
    }
}

impl TierSpec {
    /// Whether conversions write values beside their keys.
    pub(crate) fn is_inline(self) -> bool {
        self.form == TierForm::Inline
    }

    /// Whether the store is one range, as published.
    pub(crate) fn is_whole(self) -> bool {
        self.form == TierForm::Published
    }

    /// Whether conversions that make room, or that a user asks for, move all values that lie apart. What newer entries hide is
    /// then freed by them, rather than found by others before.
    pub(crate) fn frees_hidden(self) -> bool {
        self.is_inline() || self.is_whole()
    }

    /// About how many bytes of keys and values a table of the tier holds at most.
    pub(crate) fn most_range_bytes(self) -> u64 {
        match self.is_whole() {
            true => u64::MAX,
            false => self.range_bytes,
        }
    }

    /// An error, in the words of the code, if a value is out of its range.
    pub(super) fn check(&self) -> Result<(), Error> {
        check_range("TierSpec::range_bytes", self.range_bytes, 1..=u64::MAX)?;
        check_range("TierSpec::runs", self.runs, 1..=u64::MAX)?;
        match self.filter_bits_per_key {
            0 => Ok(()),
            bits => check_range("TierSpec::filter_bits_per_key", bits, FILTER_BITS),
        }
    }
}

impl fmt::Display for TierSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            TierForm::Keys => "keys",
            TierForm::Inline => "inline",
            TierForm::Published => "published",
        };
        write!(
            f,
            "form={form},range={},runs={},filter={},concurrent={}",
            self.range_bytes, self.runs, self.filter_bits_per_key, self.concurrent_probes
        )
    }
}

impl FromStr for TierSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut tier = TierSpec::default();
        for setting in text.split(',').filter(|s| !s.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            match name {
                "form" => {
                    tier.form = match value {
                        "keys" => TierForm::Keys,
                        "inline" => TierForm::Inline,
                        "published" => TierForm::Published,
                        _ => return Err(bad(setting, FORM_EXPECTED)),
                    };
                }
                "range" => {
                    let bytes = parse_size(value).filter(|n| *n >= 1 << 10);
                    tier.range_bytes = bytes.ok_or_else(|| bad(setting, RANGE_EXPECTED))?;
                }
                "runs" => {
                    let runs = value.parse().ok().filter(|n| *n >= 1);
                    tier.runs = runs.ok_or_else(|| bad(setting, RUNS_EXPECTED))?;
                }
                "filter" => {
                    let bits = value.parse().ok();
                    let bits = bits.filter(|n| *n == 0 || FILTER_BITS.contains(&u64::from(*n)));
                    tier.filter_bits_per_key = bits.ok_or_else(|| bad(setting, FILTER_EXPECTED))?;
                }
                "concurrent" => {
                    let is_on = value.parse().ok();
                    tier.concurrent_probes =
                        is_on.ok_or_else(|| bad(setting, CONCURRENT_EXPECTED))?;
                }
                _ => return Err(bad(setting, "form=, range=, runs=, filter= or concurrent=")),
            }
        }
        Ok(tier)
    }
}

fn bad(found: &str, expected: &str) -> Error {
    Error::InvalidArgument(format!(
        "tier setting {found:?} cannot be used: write {expected}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_tier_settings_say_what_is_right() {
        for text in [
            "range=1",
            "range=many",
            "runs=0",
            "runs=few",
            "filter=65",
            "filter=5",
            "filter=few",
            "concurrent=perhaps",
            "form=b",
            "size",
        ] {
            let error = text.parse::<TierSpec>().unwrap_err().to_string();
            assert!(error.contains("write "), "{error}");
        }
    }
}
