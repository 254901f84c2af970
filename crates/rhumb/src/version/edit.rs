//! One edit of the manifest: changes that are applied together or not at all (docs/format.md,
//! "Manifest").

use std::ops::Bound;

use crate::entry::Sequence;
use crate::entry::is_behind;
use crate::entry::varint::{Reader, encode, encode_bytes};
use crate::options::KeyspaceOptions;
pub(crate) use crate::table::TableMeta;
use crate::table::ValueUse;
use crate::version::Place;
use crate::version::option_list::{Refusal, decode_options, encode_options};

impl TableMeta {
    /// Whether every key of the table is below `key`.
    pub fn ends_before(&self, key: &[u8]) -> bool {
        is_behind(key, self.end())
    }

    /// Whether every key of the table is beyond the upper bound `to`.
    pub fn starts_behind(&self, to: Bound<&[u8]>) -> bool {
        is_behind(&self.smallest, to)
    }

    /// Whether every entry is older than the range delete of a sequence, in this table or another.
    pub fn is_older(&self, sequence: Sequence) -> bool {
        // No entry has the sequence of a range delete.
        self.largest_sequence <= sequence
    }

    /// The upper bound of the table's keys.
    pub fn end(&self) -> Bound<&[u8]> {
        match self.largest_excluded {
            true => Bound::Excluded(&self.largest),
            false => Bound::Included(&self.largest),
        }
    }

    /// Whether the table and `other` may hold the same user key.
    pub fn overlaps(&self, other: &TableMeta) -> bool {
        !self.ends_before(&other.smallest) && !other.ends_before(&self.smallest)
    }

    /// Whether the table may hold `key`, or delete it.
    pub fn may_hold(&self, key: &[u8]) -> bool {
        &*self.smallest <= key && !self.ends_before(key)
    }

    fn encode(&self, into: &mut Vec<u8>) {
        encode(self.number, into);
        encode(self.file_bytes, into);
        encode(self.sections_offset, into);
        into.extend_from_slice(&self.table_id.to_le_bytes());
        encode(self.entries, into);
        encode(self.deletes, into);
        encode(self.range_deletes, into);
        encode_bytes(&self.smallest, into);
        encode_bytes(&self.largest, into);
        into.push(u8::from(self.largest_excluded));
        encode(self.smallest_sequence, into);
        encode(self.largest_sequence, into);
        encode(self.map_number, into);
        encode_bytes(self.index_kind.as_bytes(), into);
    }

    fn take(from: &mut Reader<'_>) -> Result<TableMeta, String> {
        let meta = TableMeta {
            number: number(from, "file number")?,
            file_bytes: number(from, "file bytes")?,
            sections_offset: number(from, "offset of the sections")?,
            table_id: fixed(from, "table id").map(u64::from_le_bytes)?,
            entries: number(from, "entries")?,
            deletes: number(from, "deletes")?,
            range_deletes: number(from, "range deletes")?,
            smallest: bytes(from, "smallest key")?.into(),
            largest: bytes(from, "largest key")?.into(),
            largest_excluded: match fixed(from, "mark of the largest key")? {
                [0] => false,
                [1] => true,
                [other] => return Err(format!("mark {other} of the largest key, not 0 or 1")),
            },
            smallest_sequence: number(from, "smallest sequence")?,
            largest_sequence: number(from, "largest sequence")?,
            map_number: number(from, "map number")?,
            index_kind: text(from, "index kind")?,
            values: Vec::new(),
            hides: 0,
        };
        meta.check()?;
        Ok(meta)
    }

    /// Whether it says something that only stores with value files say.
    fn needs_values_form(&self) -> bool {
        !self.values.is_empty() || self.hides > 0
    }

    /// Refuses a description that no table can have.
    fn check(&self) -> Result<(), String> {
        let wrong = if self.ends_before(&self.smallest) {
            "ends before it starts"
        } else if self.smallest_sequence > self.largest_sequence {
            "has descending sequences"
        } else if self.sections_offset > self.file_bytes {
            "has sections after its end"
        } else if self.deletes > self.entries {
            "has more deletes than entries"
        } else {
            return Ok(());
        };
        Err(format!("table {}, which {wrong}", self.number))
    }
}

/// One change of the state. [`Change::tag`] gives its number in docs/format.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// File numbers from this one on are unused.
    NextFile(u64),
    /// Every sequence in tables is at most this one.
    LastSequence(Sequence),
    /// A new, empty keyspace.
    CreateKeyspace {
        /// Its id, never used before.
        id: u32,
        /// Its name.
        name: String,
    },
    /// Drops a keyspace and its tables.
    DropKeyspace(u32),
    /// Adds a table to a run of a level.
    AddTable {
        /// The keyspace.
        keyspace: u32,
        /// The level and run.
        place: Place,
        /// The table.
        table: TableMeta,
    },
    /// Removes a table from a level.
    RemoveTable {
        /// The keyspace.
        keyspace: u32,
        /// The level.
        level: u8,
        /// Its file number.
        number: u64,
    },
    /// Sets the sequence below which all operations of the keyspace in logs are in tables, or were
    /// dropped. The logs were durable before up to the sequence before the largest one that was ever set.
    LowestUnflushed {
        /// The keyspace.
        keyspace: u32,
        /// The smallest sequence that may have to be replayed.
        sequence: Sequence,
    },
    /// Fixes the end of a log: bytes after it never count.
    Log {
        /// Its id.
        id: u64,
        /// The end, in bytes.
        valid_end: u64,
    },
    /// Removes a log: none of its operations is needed any more.
    RemoveLog(u64),
    /// Adds a key map, which never changes.
    KeyMap {
        /// The keyspace.
        keyspace: u32,
        /// Its number within the keyspace.
        number: u64,
        /// Its byte form.
        map: Vec<u8>,
    },
    /// Keyspace ids from this one on are unused.
    NextKeyspaceId(u32),
    /// Adds a log, which must exist when the store is opened.
    BeginLog(u64),
    /// Adds a log that continues the one before it, which is not complete yet.
    BeginLogAhead(u64),
    /// The options of a keyspace, in place of those before.
    Options {
        /// Of which keyspace.
        keyspace: u32,
        /// All of them.
        options: KeyspaceOptions,
    },
}

impl Change {
    /// What a flush says of a keyspace: the logs were durable `through` a sequence before, and operations from
    /// `lowest` on may have to be replayed.
    pub fn flushed(
        keyspace: u32,
        through: Sequence,
        lowest: Sequence,
    ) -> impl Iterator<Item = Change> {
        // The last one counts. Where something is kept back, an earlier one says how far the logs reach.
        let reached = (through >= lowest.max(1)).then_some(through.saturating_add(1));
        let sequences = reached.into_iter().chain([lowest]);
        sequences.map(move |sequence| Change::LowestUnflushed { keyspace, sequence })
    }

    fn tag(&self) -> u8 {
        match self {
            Change::NextFile(_) => 1,
            Change::LastSequence(_) => 2,
            Change::CreateKeyspace { .. } => 3,
            Change::DropKeyspace(_) => 4,
            Change::AddTable { table, .. } if !table.needs_values_form() => 5,
            Change::AddTable { .. } => 15,
            Change::RemoveTable { .. } => 6,
            Change::LowestUnflushed { .. } => 7,
            Change::Log { .. } => 8,
            Change::RemoveLog(_) => 9,
            Change::KeyMap { .. } => 10,
            Change::NextKeyspaceId(_) => 11,
            Change::BeginLog(_) => 12,
            Change::Options { .. } => 13,
            Change::BeginLogAhead(_) => 14,
        }
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.push(self.tag());
        match self {
            Change::NextFile(n)
            | Change::LastSequence(n)
            | Change::RemoveLog(n)
            | Change::BeginLog(n)
            | Change::BeginLogAhead(n) => {
                encode(*n, into);
            }
            Change::DropKeyspace(id) | Change::NextKeyspaceId(id) => {
                encode(u64::from(*id), into);
            }
            Change::CreateKeyspace { id, name } => {
                encode(u64::from(*id), into);
                encode_bytes(name.as_bytes(), into);
            }
            Change::AddTable {
                keyspace,
                place,
                table,
            } => {
                encode(u64::from(*keyspace), into);
                encode(place.level as u64, into);
                encode(place.run, into);
                table.encode(into);
                if table.needs_values_form() {
                    ValueUse::encode_all(&table.values, into);
                    encode(table.hides, into);
                }
            }
            Change::RemoveTable {
                keyspace,
                level,
                number,
            } => {
                encode(u64::from(*keyspace), into);
                encode(u64::from(*level), into);
                encode(*number, into);
            }
            Change::LowestUnflushed { keyspace, sequence } => {
                encode(u64::from(*keyspace), into);
                encode(*sequence, into);
            }
            Change::Log { id, valid_end } => {
                encode(*id, into);
                encode(*valid_end, into);
            }
            Change::KeyMap {
                keyspace,
                number,
                map,
            } => {
                encode(u64::from(*keyspace), into);
                encode(*number, into);
                encode_bytes(map, into);
            }
            Change::Options { keyspace, options } => {
                encode(u64::from(*keyspace), into);
                encode_bytes(&encode_options(options), into);
            }
        }
    }

    fn take(from: &mut Reader<'_>, version: u32) -> Result<Change, Refusal> {
        let [tag] = fixed(from, "tag")?;
        Ok(match tag {
            1 => Change::NextFile(number(from, "next file number")?),
            2 => Change::LastSequence(number(from, "last sequence")?),
            3 => Change::CreateKeyspace {
                id: small(from, "keyspace id")?,
                name: text(from, "keyspace name")?,
            },
            4 => Change::DropKeyspace(small(from, "keyspace id")?),
            5 => add_table(from)?,
            6 => Change::RemoveTable {
                keyspace: small(from, "keyspace id")?,
                level: small(from, "level")?,
                number: number(from, "file number")?,
            },
            7 => Change::LowestUnflushed {
                keyspace: small(from, "keyspace id")?,
                sequence: number(from, "lowest unflushed sequence")?,
            },
            8 => Change::Log {
                id: number(from, "log id")?,
                valid_end: number(from, "valid end")?,
            },
            9 => Change::RemoveLog(number(from, "log id")?),
            10 => Change::KeyMap {
                keyspace: small(from, "keyspace id")?,
                number: number(from, "map number")?,
                map: bytes(from, "key map")?.to_vec(),
            },
            11 => Change::NextKeyspaceId(small(from, "next keyspace id")?),
            12 => Change::BeginLog(number(from, "log id")?),
            13 if version > 1 => Change::Options {
                keyspace: small(from, "keyspace id")?,
                options: decode_options(bytes(from, "options")?)?,
            },
            14 if version > 1 => Change::BeginLogAhead(number(from, "log id")?),
            15 if version > 2 => add_table_with_values(from)?,
            other => return Err(format!("unknown tag {other}").into()),
        })
    }
}

/// Changes that are applied together, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The changes. A table that replaces others comes after their removal.
    pub changes: Vec<Change>,
}

impl Edit {
    /// The bytes of the edit, as a record of the manifest holds them.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for change in &self.changes {
            change.encode(&mut bytes);
        }
        bytes
    }

    /// The least version of a manifest that can hold the edit.
    pub fn version(&self) -> u32 {
        let version = |change: &Change| match change {
            Change::Options { .. } | Change::BeginLogAhead(_) => 2,
            Change::AddTable { table, .. } if table.needs_values_form() => 3,
            _ => 1,
        };
        self.changes.iter().map(version).max().unwrap_or(1)
    }

    /// Reads what [`Edit::encode`] wrote, from all of `bytes`, in a manifest of a version.
    ///
    /// # Errors
    /// The position, in bytes from the start, and what was found there.
    pub fn decode(bytes: &[u8], version: u32) -> Result<Edit, (usize, Refusal)> {
        let mut reader = Reader::new(bytes);
        let mut changes = Vec::new();
        while !reader.is_empty() {
            let change =
                Change::take(&mut reader, version).map_err(|found| (reader.position(), found))?;
            changes.push(change);
        }
        Ok(Edit { changes })
    }
}

impl From<Vec<Change>> for Edit {
    fn from(changes: Vec<Change>) -> Self {
        Edit { changes }
    }
}

fn add_table(from: &mut Reader<'_>) -> Result<Change, String> {
    Ok(Change::AddTable {
        keyspace: small(from, "keyspace id")?,
        place: Place {
            level: small::<u8>(from, "level")?.into(),
            run: number(from, "run")?,
        },
        table: TableMeta::take(from)?,
    })
}

fn add_table_with_values(from: &mut Reader<'_>) -> Result<Change, String> {
    let mut change = add_table(from)?;
    if let Change::AddTable { table, .. } = &mut change {
        table.values = ValueUse::take_all(from)?;
        table.hides = number(from, "hidden entries")?;
        if !table.needs_values_form() {
            return Err(format!("table {} without value files", table.number));
        }
    }
    Ok(change)
}

fn number(from: &mut Reader<'_>, what: &str) -> Result<u64, String> {
    from.varint().ok_or_else(|| format!("no {what}"))
}

/// A number of a type smaller than 64 bits.
fn small<T: TryFrom<u64>>(from: &mut Reader<'_>, what: &str) -> Result<T, String> {
    let number = number(from, what)?;
    T::try_from(number).map_err(|_| format!("{what} {number}, which is too large"))
}

fn bytes<'a>(from: &mut Reader<'a>, what: &str) -> Result<&'a [u8], String> {
    from.bytes().ok_or_else(|| format!("no {what}"))
}

fn text(from: &mut Reader<'_>, what: &str) -> Result<String, String> {
    let bytes = bytes(from, what)?.to_vec();
    String::from_utf8(bytes).map_err(|_| format!("a {what} that is not UTF-8"))
}

fn fixed<const N: usize>(from: &mut Reader<'_>, what: &str) -> Result<[u8; N], String> {
    let bytes = from.take(N).and_then(|b| b.first_chunk().copied());
    bytes.ok_or_else(|| format!("no {what}"))
}
