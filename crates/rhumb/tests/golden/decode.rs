//! A second reader of tables and manifests, written from docs/format.md alone: it shares no code
//! with the store, so that the document, the store and the golden files are checked against each
//! other.

use std::collections::{BTreeMap, BTreeSet};

/// An entry of a block.
pub struct Entry {
    pub key: Vec<u8>,
    pub sequence: u64,
    pub kind: u8,
    pub value: Vec<u8>,
    /// For kind 2: the number of the value file, the offset in it, the length of the value.
    pub pointer: Option<(u64, u64, u64)>,
}

pub struct Block {
    pub codec: u8,
    pub flags: u8,
    pub length_codes: u8,
    pub prefix_bytes: usize,
    pub sequence_width: u8,
    pub value_length: u64,
    pub hint: Option<(i64, i64)>,
    /// The four fields.
    pub fence_keys: Option<[usize; 4]>,
    pub entries: Vec<Entry>,
}

impl Block {
    pub fn has(&self, bit: u8) -> bool {
        self.flags >> bit & 1 == 1
    }
}

pub struct Table {
    pub version: u64,
    pub form: u8,
    /// The entries a cell, or a unit.
    pub cell: u64,
    /// The units of each stretch, and the bytes of their sequences.
    pub stretches: Vec<(u64, u8)>,
    pub thresholds: Vec<u64>,
    /// The widths of the residuals in the directory's columns.
    pub widths: Vec<u64>,
    pub blocks: Vec<Block>,
    pub sections: BTreeMap<u64, Vec<u8>>,
    pub properties: BTreeMap<String, Vec<u8>>,
}

pub(super) fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let bytes = bytes[at..at + len].iter().rev();
    bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn bits(bytes: &[u8], from: u64, width: u64) -> u64 {
    let bit = |i: u64| u64::from(bytes[(i / 8) as usize] >> (i % 8) & 1);
    (0..width).fold(0, |sum, i| sum | bit(from + i) << i)
}

pub(super) fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

pub(super) fn string<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let len = varint(bytes) as usize;
    let (string, rest) = bytes.split_at(len);
    *bytes = rest;
    string
}

/// The stored checksum of a piece.
pub fn stamped(bytes: &[u8], id: u64, offset: u64) -> u32 {
    let mixed = (id ^ offset.rotate_left(32) ^ offset).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    crc32c::crc32c(bytes).wrapping_add((mixed >> 32) as u32)
}

/// Decodes a table.
pub fn table(file: &[u8]) -> Table {
    let footer = &file[file.len() - 48..];
    assert_eq!(&footer[40..], b"rhumbTAB");
    assert_eq!(number(footer, 36, 4) as u32, crc32c::crc32c(&footer[..36]));
    let version = number(footer, 32, 4);
    let [id, end, rows_at] = [0, 8, 16].map(|at| number(footer, at, 8));
    let rows = &file[rows_at as usize..file.len() - 48];
    assert_eq!(rows.len() as u64, 32 * number(footer, 24, 4));
    assert_eq!(number(footer, 28, 4) as u32, stamped(rows, id, rows_at));
    let mut sections = BTreeMap::new();
    let mut next = end;
    for row in rows.chunks(32) {
        let [at, len] = [8, 16].map(|at| number(row, at, 8));
        let section = &file[at as usize..][..len as usize];
        assert_eq!(at, next);
        assert_eq!(number(row, 4, 4) as u32, stamped(section, id, at));
        sections.insert(number(row, 0, 2), section.to_vec());
        next = at + len;
    }
    assert_eq!(next, rows_at);
    assert_eq!(version, 2 - u64::from(sections.contains_key(&5)));
    let directory = Directory::read(&sections[&1]);
    let block = |(i, pair): (usize, &[u64])| {
        let stored = &file[pair[0] as usize..pair[1] as usize];
        let unit = directory.units.get(i);
        let id = id ^ unit.map_or(0, Unit::stamp);
        assert_eq!(
            number(stored, 0, 4) as u32,
            stamped(&stored[4..], id, pair[0])
        );
        match unit {
            Some(unit) => read_unit(&stored[4..], unit),
            None => read_block(stored),
        }
    };
    assert_eq!(*directory.offsets.last().unwrap(), end);
    let blocks: Vec<Block> = directory
        .offsets
        .windows(2)
        .enumerate()
        .map(block)
        .collect();
    let with_fence_keys = blocks.iter().any(|block| block.fence_keys.is_some());
    assert_eq!(sections.contains_key(&9), with_fence_keys);
    check_fence_keys(&blocks);
    Table {
        version,
        form: directory.form,
        cell: directory.cell,
        blocks,
        stretches: directory.stretches,
        thresholds: directory.thresholds,
        widths: directory.widths,
        properties: read_properties(&sections[&6]),
        sections,
    }
}

struct Directory {
    form: u8,
    cell: u64,
    thresholds: Vec<u64>,
    /// The units of each stretch, and the bytes of their sequences.
    stretches: Vec<(u64, u8)>,
    units: Vec<Unit>,
    offsets: Vec<u64>,
    widths: Vec<u64>,
}

/// What the directory says of a unit: entries, and the bytes of a sequence, a key and a value.
struct Unit([usize; 4]);

impl Unit {
    fn bytes(&self) -> u64 {
        let [entries, sequence, key, value] = self.0;
        (4 + entries * (sequence + key + value)) as u64
    }
}

impl Directory {
    fn read(bytes: &[u8]) -> Directory {
        let (blocks, cell, form) = (number(bytes, 0, 8), number(bytes, 24, 4), bytes[28]);
        let (mut at, mut thresholds, mut widths) = (32, Vec::new(), Vec::new());
        let (mut stretches, mut units) = (Vec::new(), Vec::new());
        if form == 3 {
            let [key, value, count] = [0, 4, 8].map(|i| number(bytes, at + i, 4) as usize);
            assert_eq!(number(bytes, at + 12, 4), 0);
            for row in bytes[at + 16..][..16 * count].chunks(16) {
                let (full, last, width) = (number(row, 0, 8), number(row, 8, 4), row[12]);
                assert!(full > 0 && (1..=cell).contains(&last) && row[13..] == [0; 3]);
                stretches.push((full, width));
                for unit in 1..=full {
                    let entries = if unit < full { cell } else { last };
                    units.push(Unit([entries as usize, width.into(), key, value]));
                }
            }
            assert!(stretches.is_sorted_by(|a, b| a.1 < b.1));
            at += 16 + 16 * count;
        }
        let in_units = units.len() as u64;
        if form == 1 || form == 2 {
            let count = number(bytes, at, 8) as usize;
            thresholds = (0..count)
                .map(|i| number(bytes, at + 8 + 8 * i, 8))
                .collect();
            at += 8 + 8 * count;
        }
        let line = (form == 2).then(|| [0, 4].map(|i| number(bytes, at + i, 4)));
        at += if form == 2 { 8 } else { 0 };
        let mut column = || {
            let (base, slope) = (number(bytes, at, 8) as i64, number(bytes, at + 8, 8));
            let (width, residuals) = (number(bytes, at + 16, 8), &bytes[at + 24..]);
            widths.push(width);
            let value = |i: u64| {
                let line = i128::from(base) + ((u128::from(i) * u128::from(slope)) >> 32) as i128;
                (line + i128::from(bits(residuals, i * width, width))) as u64
            };
            at += 24;
            at += match width {
                0 => 0,
                _ => ((blocks - in_units + 1) * width).div_ceil(8) as usize + 8,
            };
            (0..=blocks - in_units).map(value).collect::<Vec<u64>>()
        };
        let first = column();
        let ranks = match form {
            0 | 3 => column(),
            _ => first.clone(),
        };
        let offsets = match line {
            Some([overhead, stride]) => (0..)
                .zip(first)
                .map(|(block, rank): (u64, u64)| block * overhead + rank * stride)
                .collect(),
            None => {
                let mut offsets = vec![0];
                for unit in &units {
                    offsets.push(offsets[offsets.len() - 1] + unit.bytes());
                }
                assert_eq!(offsets.pop(), Some(first[0]));
                [offsets, first].concat()
            }
        };
        if form != 1 && form != 4 {
            let entries: usize = units.iter().map(|unit| unit.0[0]).sum();
            let behind = blocks > in_units && in_units > 0;
            let least = entries as u64 - u64::from(behind);
            assert_eq!(ranks.last(), Some(&number(bytes, 8, 8)));
            assert!(ranks.is_sorted() && (least..=entries as u64).contains(&ranks[0]));
        }
        assert!(offsets.is_sorted() && offsets[0] == 0);
        assert_eq!(at, bytes.len());
        Directory {
            form,
            cell,
            thresholds,
            stretches,
            units,
            offsets,
            widths,
        }
    }
}

impl Unit {
    fn stamp(&self) -> u64 {
        let Unit([_, width, key, value]) = *self;
        (1 + width + (key << 8) + (value << 32)) as u64
    }
}

fn read_unit(mut bytes: &[u8], Unit([count, width, key, value]): &Unit) -> Block {
    let mut column = |length: usize| {
        let (own, rest) = bytes.split_at(count * length);
        bytes = rest;
        let part = move |i: usize| own[i * length..][..length].to_vec();
        (0..*count).map(part).collect::<Vec<_>>()
    };
    let (sequences, keys, values) = (column(*width), column(*key), column(*value));
    assert!(bytes.is_empty());
    let entries = (0..*count).map(|i| Entry {
        key: keys[i].clone(),
        sequence: number(&sequences[i], 0, *width),
        kind: 1,
        value: values[i].clone(),
        pointer: None,
    });
    Block {
        codec: 0,
        // Keys share nothing; all lengths and kinds are alike.
        flags: 0b0011_1100,
        length_codes: 0,
        prefix_bytes: 0,
        sequence_width: 8 * *width as u8,
        value_length: *value as u64,
        fence_keys: None,
        hint: None,
        entries: entries.collect(),
    }
}

fn read_block(stored: &[u8]) -> Block {
    let raw_bytes = number(stored, 5, 4) as usize;
    let raw = match stored[4] {
        0 => stored[9..].to_vec(),
        1 => lz4_flex::block::decompress(&stored[9..], raw_bytes).unwrap(),
        other => panic!("codec {other}"),
    };
    assert_eq!(raw.len(), raw_bytes);
    let (flags, width, codes) = (raw[0], raw[1], raw[6]);
    let has = |bit: u8| flags >> bit & 1 == 1;
    let count = number(&raw, 2, 2) as usize;
    let mut rest = &raw[28..];
    let mut take = |bytes: usize| {
        let (taken, behind) = rest.split_at(bytes);
        rest = behind;
        taken
    };
    let prefix = take(number(&raw, 4, 2) as usize);
    let mut lengths = |alike: bool, all: u64, code: u8| -> Vec<usize> {
        let bytes = 1 << (code & 3);
        if alike {
            return vec![all as usize; count];
        }
        let column = take(count * bytes).chunks(bytes);
        column.map(|c| number(c, 0, bytes) as usize).collect()
    };
    let shared = lengths(has(2), 0, codes);
    let suffix = lengths(has(3), number(&raw, 16, 4), codes >> 2);
    let value = lengths(has(4), number(&raw, 20, 4), codes >> 4);
    let kinds = match has(5) {
        true => vec![raw[7]; count],
        false => take(count).to_vec(),
    };
    let sequences = take((count * usize::from(width)).div_ceil(8));
    let group = if has(1) { 8 } else { 16 };
    let offset_bytes = if has(0) { 4 } else { 2 };
    let mut offsets = |absent: bool| match absent {
        true => &[],
        false => take(count.div_ceil(group) * offset_bytes),
    };
    let (key_offsets, value_offsets) = (offsets(has(2) && has(3)), offsets(has(4)));
    let keys = take(suffix.iter().sum());
    let values = take(value.iter().sum());
    let fence_keys = (codes >> 7 == 1).then(|| {
        let (behind, own) = rest.split_at(rest.len() - 8);
        rest = behind;
        [0, 2, 4, 6].map(|at| number(own, at, 2) as usize)
    });
    let mut pointers = match codes >> 6 & 1 {
        0 => Vec::new(),
        _ => read_pointers(rest, &kinds, has(5), group),
    }
    .into_iter();
    assert!(codes >> 6 & 1 == 1 || rest.is_empty());
    let (mut entries, mut head): (Vec<Entry>, &[u8]) = (Vec::new(), &[]);
    let (mut key_at, mut value_at) = (0, 0);
    for i in 0..count {
        let own = &keys[key_at..][..suffix[i]];
        if i % group == 0 {
            for (column, at) in [(key_offsets, key_at), (value_offsets, value_at)] {
                let place = i / group * offset_bytes;
                assert!(column.is_empty() || number(column, place, offset_bytes) == at as u64);
            }
            assert_eq!(shared[i], 0);
            head = own;
        }
        let stored = bits(sequences, i as u64 * u64::from(width), width.into());
        let is_put = kinds[i] == 1;
        entries.push(Entry {
            key: [prefix, &head[..shared[i]], own].concat(),
            sequence: number(&raw, 8, 8) + stored,
            kind: kinds[i],
            pointer: (kinds[i] == 2).then(|| pointers.next().unwrap()),
            value: if is_put {
                values[value_at..][..value[i]].to_vec()
            } else {
                Vec::new()
            },
        });
        (key_at, value_at) = (key_at + suffix[i], value_at + value[i]);
    }
    assert_eq!(pointers.next(), None);
    let [low, high] = [24, 26].map(|at| i64::from(number(&raw, at, 2) as u16 as i16));
    Block {
        codec: stored[4],
        flags,
        length_codes: codes,
        prefix_bytes: prefix.len(),
        sequence_width: width,
        value_length: number(&raw, 20, 4),
        hint: (low <= high).then_some((low, high)),
        fence_keys,
        entries,
    }
}

/// Checks that fence keys are made of the keys on both sides.
fn check_fence_keys(blocks: &[Block]) {
    let is_unknown = |fence: &[usize]| fence == [0xffff, 0];
    let empty = blocks.iter().filter(|block| block.entries.is_empty());
    for fences in empty.filter_map(|block| block.fence_keys) {
        assert!(fences.chunks(2).all(is_unknown));
    }
    let with_entries: Vec<_> = blocks.iter().filter(|b| !b.entries.is_empty()).collect();
    if let [first, .., last] = &with_entries[..] {
        assert!(
            first
                .fence_keys
                .is_none_or(|fences| is_unknown(&fences[..2]))
        );
        assert!(
            last.fence_keys
                .is_none_or(|fences| is_unknown(&fences[2..]))
        );
    }
    for pair in with_entries.windows(2) {
        let (last, first) = (
            &pair[0].entries.last().unwrap().key,
            &pair[1].entries[0].key,
        );
        let common = last.iter().zip(first).take_while(|(a, b)| a == b).count();
        let two = |key: &[u8]| {
            let byte = |at| usize::from(key.get(at).copied().unwrap_or(0));
            byte(common) << 8 | byte(common + 1)
        };
        let is_known = two(last) < two(first);
        let or_unknown = |next| {
            if is_known {
                [common, next]
            } else {
                [0xffff, 0]
            }
        };
        if let Some([low @ .., _, _]) = pair[1].fence_keys {
            assert_eq!(low, or_unknown(two(last)));
        }
        if let Some([_, _, high @ ..]) = pair[0].fence_keys {
            assert_eq!(high, or_unknown(two(first)));
        }
    }
}

/// The pointers at the end of a block: file, offset and length of each.
fn read_pointers(bytes: &[u8], kinds: &[u8], alike: bool, group: usize) -> Vec<(u64, u64, u64)> {
    let (file_base, files) = (number(bytes, 0, 6), number(bytes, 6, 2));
    let (line_base, length_base) = (number(bytes, 8, 8), number(bytes, 16, 4));
    let count = number(bytes, 20, 2);
    assert_eq!(
        count,
        kinds.iter().filter(|kind| **kind == 2).count() as u64
    );
    assert!((1..=count).contains(&files));
    let widths: Vec<u64> = bytes[22..28]
        .iter()
        .map(|width| u64::from(*width))
        .collect();
    let mut rest = &bytes[28..];
    let mut take = |bits: u64| {
        let (taken, behind) = rest.split_at(bits.div_ceil(8) as usize);
        rest = behind;
        taken
    };
    let groups: Vec<&[u8]> = kinds.chunks(group).filter(|_| !alike).collect();
    let ranks = take(16 * groups.len() as u64);
    let mut before = 0;
    for (rank, group) in ranks.chunks(2).zip(groups) {
        assert_eq!(number(rank, 0, 2), before);
        before += group.iter().filter(|kind| **kind == 2).count() as u64;
    }
    let columns: Vec<&[u8]> = widths[..3]
        .iter()
        .map(|width| take(files * width))
        .collect();
    let of_file =
        |column: usize, file: u64| bits(columns[column], file * widths[column], widths[column]);
    let row_bits: u64 = widths[3..].iter().sum();
    let rows = take(count * row_bits);
    assert!(rest.is_empty());
    assert!((1..files).all(|file| of_file(0, file - 1) < of_file(0, file)));
    let pointer = |r: u64| {
        let mut bit = r * row_bits;
        let [index, residual, length] = [3, 4, 5].map(|column| {
            bit += widths[column];
            bits(rows, bit - widths[column], widths[column])
        });
        let offset = line_base
            .wrapping_add(of_file(1, index))
            .wrapping_add(r.wrapping_mul(of_file(2, index)))
            .wrapping_add(residual);
        (file_base + of_file(0, index), offset, length_base + length)
    };
    (0..count).map(pointer).collect()
}

fn read_properties(mut bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut properties = BTreeMap::new();
    for _ in 0..varint(&mut bytes) {
        let name = String::from_utf8(string(&mut bytes).to_vec()).unwrap();
        properties.insert(name, string(&mut bytes).to_vec());
    }
    assert!(bytes.is_empty());
    properties
}

/// The forms that the tables of each golden set must contain, besides what all tables have.
pub const FORMS: &[&str] = &[
    "a ranked directory, every block with entries",
    "a ranked directory behind empty cells, the model given up half-way",
    "a ranked directory behind empty cells, the model given up at the end",
    "a placed directory",
    "a placed directory with thresholds",
    "a placed directory with a threshold that repeats",
    "a placed directory with an empty cell",
    "a strided directory",
    "a strided directory with an empty cell",
    "a strided directory with thresholds",
    "a column with residuals",
    "a column without residuals",
    "an uncompressed block",
    "an uncompressed block with a slot hint",
    "an LZ4 block",
    "an LZ4 block with a slot hint",
    "a block with a prefix",
    "a block of keys that share with the first of their group",
    "a block of keys of their own lengths",
    "a block of keys of one length",
    "a block with lengths of 2 bytes",
    "a block with offsets of 32 bits",
    "a block with values of one length",
    "a block with values of their own lengths",
    "a block of puts and deletes",
    "a block of puts and padded deletes",
    "a block of sequences",
    "a block of one sequence",
    "a block that goes on with the versions of a key",
    "a value over 64 KiB, alone in its block",
    "a table without blocks",
    "a filter",
    "no filter",
    "range deletes",
    "an fp index",
    "an fp-raw index",
    "a plr index",
    "a plr index with several segments",
    "a plr index with runs",
    "an identity key map",
    "a truncated key map",
    "a key map from no key",
    "a key map with a range of bytes",
    "a key map with a set of bytes",
    "a key map of keys of several lengths",
    "a key map with literals",
];

impl Table {
    /// The [`FORMS`] that the table has.
    pub fn forms(&self) -> BTreeSet<&'static str> {
        let mut forms = BTreeSet::new();
        let mut note = |has: bool, form: &'static str| {
            assert!(FORMS.contains(&form), "{form}");
            if has {
                forms.insert(form);
            }
        };
        self.forms_of_directory(&mut note);
        self.forms_of_index_and_map(&mut note);
        self.blocks.iter().for_each(|block| block.forms(&mut note));
        note(self.blocks.is_empty(), "a table without blocks");
        note(self.sections.contains_key(&3), "a filter");
        note(!self.sections.contains_key(&3), "no filter");
        note(self.sections.contains_key(&4), "range deletes");
        forms
    }

    fn forms_of_directory(&self, note: &mut dyn FnMut(bool, &'static str)) {
        let some = !self.blocks.is_empty();
        let empty = self.blocks.iter().any(|block| block.entries.is_empty());
        let cut = self.properties["partition"].starts_with(b"bytes(");
        match self.form {
            // Fence pointers had directories of form 0 before there was form 4.
            0 | 4 => {
                let fences = number(&self.sections[&2], 0, 1) == 1;
                let behind = self.cell > 0 && empty && fences;
                note(
                    some && self.cell == 0 && !empty,
                    "a ranked directory, every block with entries",
                );
                note(
                    behind && cut,
                    "a ranked directory behind empty cells, the model given up half-way",
                );
                note(
                    behind && !cut,
                    "a ranked directory behind empty cells, the model given up at the end",
                );
            }
            1 => {
                note(true, "a placed directory");
                note(
                    !self.thresholds.is_empty(),
                    "a placed directory with thresholds",
                );
                let repeats = self.thresholds.windows(2).any(|pair| pair[0] == pair[1]);
                note(repeats, "a placed directory with a threshold that repeats");
                note(empty, "a placed directory with an empty cell");
            }
            2 => {
                let long = !self.thresholds.is_empty();
                note(true, "a strided directory");
                note(long, "a strided directory with thresholds");
                note(empty, "a strided directory with an empty cell");
            }
            3 => {}
            other => panic!("form {other}"),
        }
        note(
            self.widths.iter().any(|width| *width > 0),
            "a column with residuals",
        );
        note(
            some && self.widths.contains(&0),
            "a column without residuals",
        );
    }

    fn forms_of_index_and_map(&self, note: &mut dyn FnMut(bool, &'static str)) {
        let index = &self.sections[&2];
        let some = !self.blocks.is_empty();
        note(some && index[0] == 1, "an fp index");
        note(some && index[0] == 2, "an fp-raw index");
        note(some && index[0] == 3, "a plr index");
        if index[0] == 3 {
            note(number(index, 4, 4) > 1, "a plr index with several segments");
            note(index[18] & 1 == 1, "a plr index with runs");
        }
        let Some(map) = self.sections.get(&5) else {
            return;
        };
        let [digits, alphabets] = [2, 12].map(|at| number(map, at, 2));
        let [shortest, literals] = [4, 8].map(|at| number(map, at, 4));
        let depth = digits + literals;
        note(
            map[1] == 0 && (shortest, depth) == (8, 8),
            "an identity key map",
        );
        note(map[1] & 1 == 1, "a truncated key map");
        note(map[1] & 2 == 2, "a key map from no key");
        note(shortest < depth, "a key map of keys of several lengths");
        note(literals > 0, "a key map with literals");
        let mut at = 16;
        for _ in 0..alphabets {
            note(map[at] == 0, "a key map with a range of bytes");
            note(map[at] == 1, "a key map with a set of bytes");
            at += [3, 33][usize::from(map[at])];
        }
    }
}

impl Block {
    fn forms(&self, note: &mut dyn FnMut(bool, &'static str)) {
        let some = !self.entries.is_empty();
        note(self.codec == 0, "an uncompressed block");
        note(
            self.codec == 0 && self.hint.is_some(),
            "an uncompressed block with a slot hint",
        );
        note(self.codec == 1, "an LZ4 block");
        note(
            self.codec == 1 && self.hint.is_some(),
            "an LZ4 block with a slot hint",
        );
        note(self.prefix_bytes > 0, "a block with a prefix");
        note(
            !self.has(2),
            "a block of keys that share with the first of their group",
        );
        note(
            self.has(2) && !self.has(3),
            "a block of keys of their own lengths",
        );
        note(
            some && self.has(2) && self.has(3),
            "a block of keys of one length",
        );
        note(
            !self.has(4) && self.length_codes >> 4 & 3 == 1,
            "a block with lengths of 2 bytes",
        );
        note(self.has(0), "a block with offsets of 32 bits");
        note(
            some && self.has(4) && self.value_length > 0,
            "a block with values of one length",
        );
        note(!self.has(4), "a block with values of their own lengths");
        note(!self.has(5), "a block of puts and deletes");
        note(
            !self.has(5) && self.has(4),
            "a block of puts and padded deletes",
        );
        note(self.sequence_width > 0, "a block of sequences");
        note(some && self.sequence_width == 0, "a block of one sequence");
        note(
            self.has(7),
            "a block that goes on with the versions of a key",
        );
        let large = |entry: &Entry| entry.value.len() > 64 << 10;
        let alone = self.entries.len() == 1;
        assert!(alone || !self.entries.iter().any(large));
        note(
            alone && self.entries.iter().any(large),
            "a value over 64 KiB, alone in its block",
        );
    }
}
