//! Lays out collected entries as columns (docs/format.md, Block and Unit).

use std::ops::Range;

use super::{BlockBuilder, Row};
use crate::entry::{EntryKind, append_part, copy_words};
use crate::table::block::fence_keys::encode_fence_keys;
use crate::table::block::shape::{KeyForm, length_width};
use crate::table::block::{GROUP_ENTRIES, NO_HINT, WITH_FENCE_KEYS, WITH_POINTERS, flag};
use crate::table::form::bits::pack;

/// Appends the raw form of a block without entries that has a block prefix.
pub(in crate::table) fn encode_empty(prefix: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&[flag::ALL_ALIKE, 0, 0, 0]);
    into.extend_from_slice(&(prefix.len() as u16).to_le_bytes());
    into.extend_from_slice(&[WITH_FENCE_KEYS, EntryKind::Put as u8]);
    into.resize(into.len() + 16, 0);
    encode_hint(None, into);
    into.extend_from_slice(prefix);
    encode_fence_keys((&[], &[]), (None, None), into);
}

fn encode_hint(hint: Option<(i64, i64)>, into: &mut Vec<u8>) {
    let hint = hint.and_then(|(low, high)| Some((low.try_into().ok()?, high.try_into().ok()?)));
    let (low, high): (i16, i16) = hint.unwrap_or(NO_HINT);
    into.extend_from_slice(&low.to_le_bytes());
    into.extend_from_slice(&high.to_le_bytes());
}

/// Appends lengths of which the largest is given.
fn encode_column(largest: usize, lengths: impl Iterator<Item = usize>, into: &mut Vec<u8>) {
    match length_width(largest).0 {
        1 => into.extend(lengths.map(|length| length as u8)),
        2 => lengths.for_each(|length| into.extend_from_slice(&(length as u16).to_le_bytes())),
        _ => lengths.for_each(|length| into.extend_from_slice(&(length as u32).to_le_bytes())),
    }
}

impl BlockBuilder {
    /// Appends the raw form. `before` is the last key in front of the block, which it may go on with, `behind` the first key
    /// behind it, if they are there and known.
    pub fn encode(&mut self, before: Option<&[u8]>, behind: Option<&[u8]>, into: &mut Vec<u8>) {
        let (start, raw_bytes) = (into.len(), self.raw_bytes());
        into.reserve(raw_bytes);
        self.encode_header(before == Some(self.first_key()), into);
        into.extend_from_slice(self.key(0).get(..self.shape.prefix()).unwrap_or_default());
        self.encode_lengths(into);
        if !self.shape.kinds_alike {
            into.extend(self.rows.iter().map(|row| row.kind as u8));
        }
        let base = self.shape.sequence_min;
        let stored = self.rows.iter().map(|row| row.sequence - base);
        pack(stored, self.shape.sequence_width(), into);
        self.encode_offsets(into);
        self.encode_suffixes(into);
        self.encode_values(into);
        self.encode_pointers(into);
        encode_fence_keys((self.first_key(), self.last_key()), (before, behind), into);
        debug_assert_eq!(into.len() - start, raw_bytes);
    }

    /// Appends the entries as those of a unit with sequences of `width` bytes. They must be puts with
    /// keys of one length and values of one length.
    pub fn encode_unit(&self, width: u8, into: &mut Vec<u8>) {
        for row in &self.rows {
            let bytes = row.sequence.to_le_bytes();
            into.extend_from_slice(bytes.get(..width.into()).unwrap_or_default());
        }
        into.extend_from_slice(&self.keys);
        into.extend_from_slice(&self.values);
    }

    fn encode_header(&self, continues: bool, into: &mut Vec<u8>) {
        let shape = &self.shape;
        let (form, value) = (shape.key_form(), shape.value_form());
        let mut flags = 0;
        for (bit, set) in [
            (flag::WIDE_OFFSETS, shape.offset_width() == 4),
            (flag::NO_SHARING, form != KeyForm::Shared),
            (flag::SUFFIXES_ALIKE, matches!(form, KeyForm::Fixed(_))),
            (flag::VALUES_ALIKE, value.is_some()),
            (flag::KINDS_ALIKE, shape.kinds_alike),
            (flag::CONTINUES, continues),
        ] {
            flags |= if set { bit } else { 0 };
        }
        let kind = shape
            .kind
            .filter(|_| shape.kinds_alike)
            .map_or(0, |k| k as u8);
        let suffix = if let KeyForm::Fixed(len) = form {
            len
        } else {
            0
        };
        into.extend_from_slice(&[flags, shape.sequence_width() as u8]);
        into.extend_from_slice(&(shape.count as u16).to_le_bytes());
        into.extend_from_slice(&(shape.prefix() as u16).to_le_bytes());
        into.extend_from_slice(&[self.length_codes(), kind]);
        into.extend_from_slice(&shape.sequence_min.to_le_bytes());
        into.extend_from_slice(&(suffix as u32).to_le_bytes());
        into.extend_from_slice(&(value.unwrap_or(0) as u32).to_le_bytes());
        encode_hint(self.hint, into);
    }

    fn length_codes(&self) -> u8 {
        let shape = &self.shape;
        let shared = length_width(shape.shared_largest()).1;
        let form = shape.key_form();
        let suffix = length_width(shape.suffix_largest(form)).1;
        let value = length_width(shape.value_largest()).1;
        let lengths = match form {
            KeyForm::Fixed(_) => value << 4,
            KeyForm::Whole => suffix << 2 | value << 4,
            KeyForm::Shared => shared | suffix << 2 | value << 4,
        };
        match self.pointers.is_empty() {
            true => lengths | WITH_FENCE_KEYS,
            false => lengths | WITH_FENCE_KEYS | WITH_POINTERS,
        }
    }

    fn encode_suffixes(&self, into: &mut Vec<u8>) {
        let KeyForm::Fixed(len @ 1..) = self.shape.key_form() else {
            self.suffixes()
                .for_each(|suffix| append_part(into, &self.keys, suffix.start, suffix.len()));
            return;
        };
        if self.shape.prefix() == 0 {
            into.extend_from_slice(&self.keys);
            return;
        }
        let start = into.len();
        into.resize(start + len * self.count(), 0);
        let places = into
            .get_mut(start..)
            .unwrap_or_default()
            .chunks_exact_mut(len);
        for (to, suffix) in places.zip(self.suffixes()) {
            let suffix = self.keys.get(suffix).unwrap_or_default();
            if !copy_words(to, suffix) {
                to.copy_from_slice(suffix);
            }
        }
    }

    fn value_lengths(&self) -> impl Iterator<Item = usize> {
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let length = row.value_end - start;
            start = row.value_end;
            length
        })
    }

    /// Where in the keys lies what is stored of each.
    fn suffixes(&self) -> impl Iterator<Item = Range<usize>> {
        let prefix = self.shape.prefix();
        let shares = self.shape.key_form() == KeyForm::Shared;
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let shared = if shares { row.with_head } else { 0 };
            let suffix = start + prefix.max(shared)..row.key_end;
            start = row.key_end;
            suffix
        })
    }

    fn encode_lengths(&self, into: &mut Vec<u8>) {
        let shape = &self.shape;
        let form = shape.key_form();
        if form == KeyForm::Shared {
            let prefix = shape.prefix();
            let shared = |row: &Row| row.with_head.saturating_sub(prefix);
            encode_column(shape.shared_largest(), self.rows.iter().map(shared), into);
        }
        if !matches!(form, KeyForm::Fixed(_)) {
            let lengths = self.suffixes().map(|suffix| suffix.len());
            encode_column(shape.suffix_largest(form), lengths, into);
        }
        if shape.value_form().is_none() {
            encode_column(shape.value_largest(), self.value_lengths(), into);
        }
    }

    fn encode_offsets(&self, into: &mut Vec<u8>) {
        let width = self.shape.offset_width();
        let mut put = |at: usize| {
            let bytes = (at as u32).to_le_bytes();
            into.extend_from_slice(bytes.get(..width).unwrap_or_default());
        };
        if !matches!(self.shape.key_form(), KeyForm::Fixed(_)) {
            let mut at = 0;
            for (i, suffix) in self.suffixes().enumerate() {
                if i % GROUP_ENTRIES == 0 {
                    put(at);
                }
                at += suffix.len();
            }
        }
        if self.shape.value_form().is_none() {
            let firsts = (0..self.count()).step_by(GROUP_ENTRIES);
            firsts.for_each(|first| put(self.before(first).map_or(0, |row| row.value_end)));
        }
    }

    fn encode_values(&self, into: &mut Vec<u8>) {
        match self.shape.value_form() {
            Some(len) if len * self.count() != self.values.len() => {
                for i in 0..self.count() {
                    let value = self.value(i);
                    into.extend_from_slice(value);
                    into.resize(into.len() + len - value.len(), 0);
                }
            }
            _ => into.extend_from_slice(&self.values),
        }
    }

    fn encode_pointers(&self, into: &mut Vec<u8>) {
        let Some(columns) = self.pointer_columns() else {
            return;
        };
        let mut before = 0;
        let ranks = self.rows.chunks(GROUP_ENTRIES).map(|group| {
            let rank = before;
            before += group
                .iter()
                .filter(|row| row.kind == EntryKind::Pointer)
                .count();
            rank
        });
        let stored = self.shape.ranked_groups().unwrap_or(0);
        columns.encode(ranks.take(stored), into);
    }
}
