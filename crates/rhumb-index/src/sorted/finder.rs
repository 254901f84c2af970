//! The index of a set, and the key map that numbers its keys.

use super::column::Column;
use crate::registry::Answers;
use crate::{
    Index, IndexBuilder, IndexError, IndexSpec, KeyMap, KeyMapBuilder, Position, Probe, Window,
    registry,
};

/// Keys in a block of an index that answers with blocks: a few cache lines of numbers.
pub(super) const BLOCK: u32 = 16;

/// How many numbers are pushed to a builder at once.
const AT_ONCE: usize = 4096;

/// Finds the window of a key among the distinct keys.
#[derive(Debug)]
pub(super) struct Finder<'a> {
    index: Box<dyn Index + 'a>,
    map: Option<KeyMap>,
    /// Whether the index uses numbers, and whether it answers from a number alone, with a window.
    needs_number: bool,
    by_number: bool,
    block: u64,
    keys: u64,
}

impl<'a> Finder<'a> {
    /// Uses an index over `keys` keys.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if the index does not have this many keys, or its map is missing.
    pub(super) fn new<C: Column>(
        index: Box<dyn Index + 'a>,
        map: Option<KeyMap>,
        keys: usize,
        block: u32,
    ) -> Result<Self, IndexError> {
        let damaged = |expected: String, found: String| IndexError::Damaged {
            what: super::form::NAME,
            offset: 0,
            expected,
            found,
        };
        let blocks = (keys as u64).div_ceil(block.into()).max(1);
        let probe = Probe {
            key: &[],
            number: 0,
        };
        let position = index.locate(probe);
        let extent = match position {
            Position::Block(_) | Position::Slot { .. } => blocks,
            Position::Window(_) => keys as u64,
        };
        if index.extent() != extent {
            let expected = format!("an index of {extent} keys or blocks");
            let found = format!("{} of {}", index.kind(), index.extent());
            return Err(damaged(expected, found));
        }
        let needs_number = index.needs_number();
        let by_number = needs_number && matches!(position, Position::Window(_));
        if needs_number && !C::NUMBERS && map.is_none() {
            let expected = format!("a key map, which {} needs", index.kind());
            return Err(damaged(expected, "none".into()));
        }
        Ok(Finder {
            index,
            map,
            needs_number,
            by_number,
            block: block.into(),
            keys: keys as u64,
        })
    }

    /// The window of an item: a present key is in it; for an absent key the lower bound is in it or
    /// just after it.
    #[inline(always)]
    pub(super) fn window<C: Column>(&self, item: C::Item<'_>) -> Window {
        if self.by_number {
            return self.index.window(C::number(self.map.as_ref(), item));
        }
        let number = match self.needs_number {
            true => C::number(self.map.as_ref(), item),
            false => 0,
        };
        match C::with_bytes(item, |key| self.index.locate(Probe { key, number })) {
            Position::Window(window) => window,
            Position::Block(block) | Position::Slot { block, .. } => {
                let lo = block.saturating_mul(self.block).min(self.keys);
                let hi = lo.saturating_add(self.block).min(self.keys);
                Window { lo, hi }
            }
        }
    }

    pub(super) fn index(&self) -> &(dyn Index + 'a) {
        &*self.index
    }

    pub(super) fn map(&self) -> Option<&KeyMap> {
        self.map.as_ref()
    }
}

/// The byte form of an index over a column, and the key map that it needs.
///
/// # Errors
/// The error of the builder; [`IndexError::Unfit`] if the kind cannot serve these keys.
pub(super) fn build<C: Column>(
    spec: &IndexSpec,
    form: &[u8],
    keys: &C,
    count: usize,
) -> Result<(Vec<u8>, Option<KeyMap>), IndexError> {
    let map = (spec.kind().needs_number && !C::NUMBERS).then(|| map_of(form, keys, count));
    let mut builder = registry::builder(spec)?;
    if C::NUMBERS && spec.answers() != Answers::Slots {
        push_numbers(&mut *builder, form, keys, count)?;
    } else {
        push_keys(&mut *builder, form, keys, count, map.as_ref())?;
    }
    Ok((builder.finish()?, map))
}

fn map_of<C: Column>(form: &[u8], keys: &C, count: usize) -> KeyMap {
    let mut builder = KeyMapBuilder::new();
    for item in (0..count).filter_map(|at| keys.get(form, at)) {
        C::with_bytes(item, |key| builder.push(key));
    }
    builder.build()
}

/// Pushes every key, with a cut where each block starts.
fn push_keys<C: Column>(
    builder: &mut dyn IndexBuilder,
    form: &[u8],
    keys: &C,
    count: usize,
    map: Option<&KeyMap>,
) -> Result<(), IndexError> {
    for at in 0..count {
        let Some(item) = keys.get(form, at) else {
            break;
        };
        cut(builder, form, keys, at);
        C::with_bytes(item, |key| builder.push(key, C::number(map, item)))?;
    }
    Ok(())
}

/// As [`push_keys`] for keys that are numbers.
fn push_numbers<C: Column>(
    builder: &mut dyn IndexBuilder,
    form: &[u8],
    keys: &C,
    count: usize,
) -> Result<(), IndexError> {
    let mut numbers = Vec::with_capacity(AT_ONCE.min(count));
    let number = |at: usize| keys.get(form, at).map(|item| C::number(None, item));
    for start in (0..count).step_by(AT_ONCE) {
        numbers.clear();
        numbers.extend((start..(start + AT_ONCE).min(count)).filter_map(number));
        builder.push_numbers(&numbers)?;
    }
    (0..count).for_each(|at| cut(builder, form, keys, at));
    Ok(())
}

/// Calls [`IndexBuilder::cut`] if a block starts with the key at an index.
fn cut<C: Column>(builder: &mut dyn IndexBuilder, form: &[u8], keys: &C, at: usize) {
    if at == 0 || !at.is_multiple_of(BLOCK as usize) {
        return;
    }
    if let (Some(last), Some(first)) = (keys.get(form, at - 1), keys.get(form, at)) {
        C::with_bytes(last, |last| {
            C::with_bytes(first, |first| builder.cut(last, first))
        });
    }
}
