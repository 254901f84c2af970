//! The one table of index kinds.
//!
//! Adding a kind is one new file in `kinds` and one line in the table here.
//!
//! Every byte form starts with the same four bytes, which say how to read the rest:
//!
//! ```text
//! offset  size  field
//!      0     1  kind id, never used for another kind
//!      1     1  version of this kind's form
//!      2     2  reserved, zero
//! ```

use crate::bytes::Reader;
use crate::kinds;
use crate::kinds::shared::retained;
use crate::spec::Knob;
use crate::updatable::{Key, Updatable};
use crate::{ByteForm, Index, IndexBuilder, IndexError, IndexSpec};

/// Every kind, in the order in which they are listed to users.
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
];

/// How many bytes the common header takes.
pub(crate) const HEADER: usize = 4;

/// Opens a byte form whose common header has been checked.
type Opener = for<'a> fn(ByteForm<'a>) -> Result<Box<dyn Index + 'a>, IndexError>;

/// Makes an empty index that changes in place.
type Maker<K> = fn(&IndexSpec) -> Box<dyn Updatable<K>>;

/// For kinds that only have byte forms.
pub(crate) const FORM_ONLY: (Option<Maker<u64>>, Option<Maker<[u8]>>) = (None, None);

/// What the indexes of a kind answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// [`crate::Position::Block`]: fence pointers.
    Blocks,
    /// Windows in which a key is somewhere.
    Windows,
    /// Windows of the keys that are looked up and no others, whatever the knobs say.
    Exact,
}

/// What the registry knows of an index kind.
#[derive(Debug)]
pub struct Kind {
    /// Its name in specifications.
    pub name: &'static str,
    /// Its number in byte forms.
    pub id: u8,
    /// One line for people, with the paper it comes from.
    pub about: &'static str,
    /// What can be set, each with its default and range.
    pub knobs: &'static [Knob],
    /// Whether [`crate::Probe::number`] and the numbers given to the builder matter.
    pub needs_number: bool,
    /// What it answers with.
    pub answers: Answers,
    /// The newest version of the byte form.
    pub(crate) version: u8,
    pub(crate) builder: fn(&IndexSpec) -> Box<dyn IndexBuilder>,
    pub(crate) open: Opener,
    /// Makes one that changes in place, for integers and for strings; `None` where the kind cannot.
    pub(crate) in_memory: (Option<Maker<u64>>, Option<Maker<[u8]>>),
}

impl Kind {
    /// Whether [`in_memory`] and [`in_memory_texts`] make it: over integers, over strings of bytes. Such
    /// kinds know the place of every key, in tables too.
    pub fn is_updatable(&self) -> [bool; 2] {
        [self.in_memory.0.is_some(), self.in_memory.1.is_some()]
    }

    /// The common header of this kind.
    pub(crate) fn header(&self) -> [u8; HEADER] {
        [self.id, self.version, 0, 0]
    }
}

/// All registered kinds.
pub fn kinds() -> &'static [Kind] {
    KINDS
}

/// A builder of the specified index.
///
/// # Errors
/// None today: a specification that exists can be built. Kinds that need more than a
/// specification will say so here.
pub fn builder(spec: &IndexSpec) -> Result<Box<dyn IndexBuilder>, IndexError> {
    Ok(retained::wrap(spec, (spec.kind().builder)(spec)))
}

/// An empty index over integers that stands alone in memory and changes in place.
///
/// # Errors
/// [`IndexError::Spec`] if the kind cannot; the message names those that can.
pub fn in_memory(spec: &IndexSpec) -> Result<Box<dyn Updatable<u64>>, IndexError> {
    made(spec, |kind| kind.in_memory.0)
}

/// The same over strings of bytes.
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
            "{} does not change in place with such keys: use one of {}",
            spec.kind().name,
            able.join(", ")
        )));
    };
    Ok(make(spec))
}

/// Every id that byte forms start with, and what it stands for.
fn names_of_ids() -> impl Iterator<Item = (u8, &'static str)> {
    let kinds = KINDS.iter().map(|kind| (kind.id, kind.name));
    kinds.chain([(retained::ID, retained::NAME)])
}

/// Opens the byte form of any registered kind and uses it in place.
///
/// # Errors
/// [`IndexError::Damaged`], [`IndexError::Version`] or [`IndexError::Kind`] if the bytes are no
/// index that this build reads. Damage that goes unnoticed here can make answers wrong (so callers checksum), but never
/// leads to a panic or to a position beyond [`Index::extent`].
pub fn open<'a>(bytes: impl Into<ByteForm<'a>>) -> Result<Box<dyn Index + 'a>, IndexError> {
    let bytes = bytes.into();
    let mut reader = Reader::new("index", &bytes);
    let id = reader.u8()?;
    if id == retained::ID {
        return retained::open(bytes);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_ids_are_distinct() {
        let (ids, names): (BTreeSet<_>, BTreeSet<_>) = names_of_ids().unzip();
        let all = kinds().len() + 1;
        assert_eq!((ids.len(), names.len()), (all, all));
    }

    #[test]
    fn a_kind_that_nobody_knows_is_named_in_the_error() {
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
}
