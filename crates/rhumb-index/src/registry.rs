//! The table of all index kinds, and operations by the name of a kind: reading a specification,
//! building, opening.
//!
//! Adding a kind takes one new file in `kinds` and one line in this table; CONTRIBUTING.md has an
//! example.

use std::str::FromStr;

use crate::bytes::Reader;
use crate::kinds;
use crate::kinds::shared::retained;
use crate::updatable::{Key, Updatable};
use crate::{ByteForm, Index, IndexBuilder, IndexError, IndexSpec};

use crate::kind::Maker;
pub use crate::kind::{Answers, Kind};

/// Every kind, in the order of listings for users.
static KINDS: &[Kind] = &[
    kinds::fp::KIND,
    kinds::fp_raw::KIND,
    kinds::plr::KIND,
    kinds::fiting_tree::KIND,
    kinds::pgm::KIND,
    kinds::rmi::KIND,
    kinds::radix_spline::KIND,
    kinds::plex::KIND,
    kinds::alex::KIND,
    kinds::lipp::KIND,
    kinds::dili::KIND,
    kinds::lits::KIND,
    kinds::nfl::KIND,
    kinds::btree::KIND,
    kinds::greedy_plr_plus::KIND,
    kinds::pla::KIND,
    kinds::pra::KIND,
    kinds::rss::KIND,
    #[cfg(test)]
    kinds::straight::KIND,
];

impl FromStr for IndexSpec {
    type Err = IndexError;

    fn from_str(text: &str) -> Result<Self, IndexError> {
        IndexSpec::read(text, KINDS)
    }
}

impl Default for IndexSpec {
    /// `plr` with its default knobs.
    fn default() -> Self {
        IndexSpec::of(&kinds::plr::KIND)
    }
}

/// All registered kinds.
pub fn kinds() -> &'static [Kind] {
    KINDS
}

/// A builder of the specified index.
///
/// # Errors
/// None today: every specification can be built. Kinds that need more than a specification will
/// return errors here.
pub fn builder(spec: &IndexSpec) -> Result<Box<dyn IndexBuilder>, IndexError> {
    let settings = spec.settings();
    Ok(retained::wrap(settings, (spec.kind().builder)(settings)))
}

/// An empty index over integers, in memory, that can be changed.
///
/// # Errors
/// [`IndexError::Spec`] if the kind cannot be changed; the message names the kinds that can.
pub fn in_memory(spec: &IndexSpec) -> Result<Box<dyn Updatable<u64>>, IndexError> {
    made(spec, |kind| kind.in_memory.0)
}

/// As [`in_memory`] over byte strings.
///
/// # Errors
/// As [`in_memory`].
pub fn in_memory_texts(spec: &IndexSpec) -> Result<Box<dyn Updatable<[u8]>>, IndexError> {
    made(spec, |kind| kind.in_memory.1)
}

fn made<K: Key + ?Sized>(
    spec: &IndexSpec,
    maker: fn(&Kind) -> Option<Maker<K>>,
) -> Result<Box<dyn Updatable<K>>, IndexError> {
    let Some(make) = maker(spec.kind()) else {
        let able = KINDS.iter().filter(|kind| maker(kind).is_some());
        let able: Vec<_> = able.map(|kind| kind.name).collect();
        return Err(IndexError::Spec(format!(
            "{} cannot be changed in memory with keys of this type: use one of {}",
            spec.kind().name,
            able.join(", ")
        )));
    };
    Ok(make(spec.settings()))
}

/// Every id with which byte forms start, with its name.
fn names_of_ids() -> impl Iterator<Item = (u8, &'static str)> {
    let kinds = KINDS.iter().map(|kind| (kind.id, kind.name));
    kinds.chain([(retained::ID, retained::NAME)])
}

/// Opens the byte form of any registered kind and uses it in place.
///
/// # Errors
/// [`IndexError::Damaged`], [`IndexError::Version`] or [`IndexError::Kind`] if the bytes are not an
/// index that this build reads. Undetected damage can make answers wrong (so callers should use
/// checksums), but never causes a panic or a position beyond [`Index::extent`].
pub fn open<'a>(bytes: impl Into<ByteForm<'a>>) -> Result<Box<dyn Index + 'a>, IndexError> {
    let bytes = bytes.into();
    if bytes.first() == Some(&retained::ID) {
        return retained::open(bytes, open_model);
    }
    open_model(bytes)
}

/// Opens the byte form of a kind, without mapped keys around it.
fn open_model(bytes: ByteForm<'_>) -> Result<Box<dyn Index + '_>, IndexError> {
    let id = Reader::new("index", &bytes).u8()?;
    let Some(kind) = KINDS.iter().find(|kind| kind.id == id) else {
        let known: Vec<_> = names_of_ids()
            .map(|(id, name)| format!("{id} ({name})"))
            .collect();
        return Err(IndexError::Kind {
            found: id,
            known: known.join(", "),
        });
    };
    Reader::new(kind.name, &bytes).header(kind.version)?;
    (kind.open)(bytes)
}

/// The settings of a specification, for tests of single kinds.
#[cfg(test)]
pub(crate) fn settings(text: &str) -> crate::knob::Settings {
    let spec: IndexSpec = text.parse().unwrap();
    spec.settings().clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Case, CheckError, SplitMix64, check, distributions};
    use std::collections::BTreeSet;

    #[test]
    fn names_and_ids_are_distinct() {
        let (ids, names): (BTreeSet<_>, BTreeSet<_>) = names_of_ids().unzip();
        let all = kinds().len() + 1;
        assert_eq!((ids.len(), names.len()), (all, all));
    }

    #[test]
    fn an_unknown_kind_is_named_in_the_error() {
        let error = open(vec![200, 1, 0, 0]).unwrap_err().to_string();
        assert!(error.contains("200") && error.contains("plr"), "{error}");
        assert!(error.contains("9 (mapped keys)"), "{error}");
        assert!(matches!(
            open(vec![3, 9, 0, 0]),
            Err(IndexError::Version { found: 9, .. })
        ));
        for kind in [3, retained::ID] {
            assert!(matches!(
                open(vec![kind, 0, 0, 0]),
                Err(IndexError::Damaged { offset: 1, .. })
            ));
        }
        assert!(open(Vec::new()).is_err());
    }

    #[test]
    fn the_example_of_contributing_passes_the_checker() {
        let contributing = include_str!("../../../CONTRIBUTING.md");
        let example = include_str!("kinds/straight.rs");
        assert!(
            contributing.contains(&format!("\n```rust\n{example}```\n")),
            "CONTRIBUTING.md and kinds/straight.rs differ"
        );
        let mut checked = 0;
        for text in ["straight", "straight:boundary=64", "straight:retained=1"] {
            let spec: IndexSpec = text.parse().unwrap();
            for distribution in distributions::all() {
                let keys = distribution.keys(&mut SplitMix64::new(5), 3_000);
                let case = Case {
                    random: 300,
                    ..Case::new(&keys, &spec, 16)
                };
                match check(&case, 1) {
                    Ok(_) => checked += 1,
                    Err(CheckError::Index(IndexError::Unfit { .. })) => {}
                    Err(error) => panic!("{}: {error}", distribution.name),
                }
            }
        }
        let all = distributions::all().count();
        assert!(checked > all, "{checked} of {all}, three times");
    }
}
