use std::num::NonZero;

use proptest::prelude::*;

use super::super::option_list::Refusal;
use super::*;
use crate::options::KeyspaceOptions;
use crate::table::ValueUse;
use crate::vlog::{ValueFileMeta, ValueGroup};

fn key() -> impl Strategy<Value = Box<[u8]>> {
    prop::collection::vec(any::<u8>(), 0..20).prop_map(Into::into)
}

prop_compose! {
    fn any_table()(
        numbers in prop::array::uniform9(any::<u64>()),
        mut keys in prop::array::uniform2(key()),
        excluded: bool,
        index_kind in "[a-z-]{0,12}",
    ) -> TableMeta {
        let [number, table_id, map_number, range_deletes, a, b, c, d, e] = numbers;
        keys.sort();
        let largest_excluded = excluded && keys[0] < keys[1];
        let [smallest, largest] = keys;
        TableMeta {
            number,
            file_bytes: a,
            sections_offset: a / 2,
            table_id,
            entries: b,
            deletes: b - b / 3,
            range_deletes,
            smallest,
            largest,
            largest_excluded,
            smallest_sequence: c.min(d),
            largest_sequence: c.max(d),
            map_number: map_number ^ e,
            index_kind,
            values: any_uses(number, b, e),
            hides: e % 3,
        }
    }
}

/// No, one or two uses of value files.
fn any_uses(number: u64, bytes: u64, count: u64) -> Vec<ValueUse> {
    let file = |i| ValueUse {
        file: (number >> 2) + i,
        meta: ValueFileMeta {
            bytes,
            group: NonZero::new(count as u16).and_then(|of| ValueGroup::new(bytes as u16, of)),
        },
        entries: 1 + i,
        bytes: bytes / 2,
    };
    (0..count % 3).map(file).collect()
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<u64>().prop_map(Change::NextFile),
        any::<u64>().prop_map(Change::LastSequence),
        (any::<u32>(), ".{0,10}").prop_map(|(id, name)| Change::CreateKeyspace { id, name }),
        any::<u32>().prop_map(Change::DropKeyspace),
        (any::<u32>(), any::<(u8, u64)>(), any_table()).prop_map(|(keyspace, place, table)| {
            let (level, run) = place;
            let place = Place {
                level: level.into(),
                run,
            };
            Change::AddTable {
                keyspace,
                place,
                table,
            }
        }),
        (any::<u32>(), any::<u8>(), any::<u64>()).prop_map(|(keyspace, level, number)| {
            Change::RemoveTable {
                keyspace,
                level,
                number,
            }
        }),
        (any::<u32>(), any::<u64>())
            .prop_map(|(keyspace, sequence)| Change::LowestUnflushed { keyspace, sequence }),
        any::<[u64; 2]>().prop_map(|[id, valid_end]| Change::Log { id, valid_end }),
        any::<u64>().prop_map(Change::RemoveLog),
        (
            any::<u32>(),
            any::<u64>(),
            prop::collection::vec(any::<u8>(), 0..40)
        )
            .prop_map(|(keyspace, number, map)| Change::KeyMap {
                keyspace,
                number,
                map
            }),
        any::<u32>().prop_map(Change::NextKeyspaceId),
        (any::<u32>(), any_options())
            .prop_map(|(keyspace, options)| Change::Options { keyspace, options }),
    ]
}

fn any_options() -> impl Strategy<Value = KeyspaceOptions> {
    const INDEXES: &[&str] = &["plr", "pgm:boundary=8,retained=1", "rmi:root=cubic", "lits"];
    const TABLES: &[&str] = &[
        "",
        "partition=entries(4),filter=0,size=1KiB",
        "compression=lz4",
    ];
    let index = prop::option::of(prop::sample::select(INDEXES));
    let table = prop::option::of(prop::sample::select(TABLES));
    (index, table).prop_map(|(index, table)| KeyspaceOptions {
        index: index.map(|text| text.parse().unwrap()),
        table: table.map(|text| text.parse().unwrap()),
    })
}

fn any_edit() -> impl Strategy<Value = Edit> {
    prop::collection::vec(any_change(), 0..8).prop_map(Edit::from)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn edits_come_back(edit in any_edit()) {
        prop_assert_eq!(Edit::decode(&edit.encode(), edit.version()), Ok(edit));
    }

    #[test]
    fn mutated_edits_are_refused_or_read_as_what_they_say(
        edit in any_edit(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = edit.encode();
        for (at, flip) in flips {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] ^= flip;
            }
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        match Edit::decode(&bytes, 3) {
            // A varint may be encoded in more bytes than needed, so the bytes need not come back.
            Ok(edit) => {
                prop_assert_eq!(Edit::decode(&edit.encode(), 3), Ok(edit.clone()));
                // The edit is applied or refused, but never panics.
                let _ = begun().apply(&edit);
            }
            Err((offset, _)) => prop_assert!(offset <= bytes.len()),
        }
    }
}

#[test]
fn tables_that_cannot_be_are_refused() {
    let wrong: [fn(&mut TableMeta); 5] = [
        |t| t.smallest = b"c"[..].into(),
        |t| (t.smallest, t.largest_excluded) = (t.largest.clone(), true),
        |t| t.smallest_sequence = t.largest_sequence + 1,
        |t| t.sections_offset = t.file_bytes + 1,
        |t| t.deletes = t.entries + 1,
    ];
    let sound = table(7, "a", "b");
    for damage in wrong {
        let mut table = sound.clone();
        damage(&mut table);
        assert!(Edit::decode(&Edit::from(vec![add(0, table)]).encode(), 1).is_err());
    }
    assert!(Edit::decode(&Edit::from(vec![add(0, sound)]).encode(), 1).is_ok());
}

#[test]
fn bytes_are_those_of_the_format() {
    let edit = Edit::from(vec![
        Change::NextFile(300),
        Change::CreateKeyspace {
            id: 2,
            name: "ab".to_string(),
        },
        Change::RemoveTable {
            keyspace: 2,
            level: 3,
            number: 4,
        },
    ]);
    assert_eq!(edit.encode(), [1, 0xAC, 2, 3, 2, 2, b'a', b'b', 6, 2, 3, 4]);
}

/// A change of the options of keyspace 2, with these bytes as its options.
fn options_change(options: &[u8]) -> Vec<u8> {
    let mut bytes = vec![13, 2];
    crate::entry::varint::encode_bytes(options, &mut bytes);
    bytes
}

#[test]
fn options_are_texts_by_number() {
    let table = "partition=entries(4),filter=0,compression=lz4,size=1024";
    let options = KeyspaceOptions {
        index: Some("plr:boundary=8".parse().unwrap()),
        table: Some(table.parse().unwrap()),
    };
    let mut list = b"\x01\x0eplr:boundary=8\x02".to_vec();
    list.push(table.len() as u8);
    list.extend(table.bytes());
    let keyspace = 2;
    let edit = Edit::from(vec![Change::Options { keyspace, options }]);
    assert_eq!(edit.version(), 2);
    assert_eq!(edit.encode(), options_change(&list));
    let options = KeyspaceOptions::default();
    let none = Edit::from(vec![Change::Options { keyspace, options }]);
    assert_eq!(none.encode(), [13, 2, 0]);
    // The first version had no such change.
    for edit in [edit, none] {
        let (_, refused) = Edit::decode(&edit.encode(), 1).unwrap_err();
        assert_eq!(refused, Refusal::Damaged("unknown tag 13".to_string()));
    }
}

#[test]
fn options_that_no_rhumb_writes_are_damage() {
    let too_long = [&[1, 0x81, 8][..], &[b'x'; 1025]].concat();
    let wrong: [(&[u8], &str); 8] = [
        (b"\x01\x00", "a text of 0 bytes"),
        (&too_long, "a text of 1025 bytes"),
        (b"\x01\x03plr\x01\x03plr", "option 1 behind option 1"),
        (b"\x02\x08filter=1\x01\x03plr", "option 1 behind option 2"),
        (b"\x01\x04plr", "no text of option 1"),
        (b"\x01", "no text of option 1"),
        (
            b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "no text of option 1",
        ),
        (b"\x01\x02\xff\xfe", "not UTF-8"),
    ];
    for (list, why) in wrong {
        let (_, refused) = Edit::decode(&options_change(list), 2).unwrap_err();
        assert!(matches!(refused, Refusal::Damaged(_)), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
    }
    // The list ends behind the edit.
    assert!(Edit::decode(&[13, 2, 200, 1], 2).is_err());
}

#[test]
fn options_of_later_builds_are_told_from_damage() {
    let later: [(&[u8], &str); 5] = [
        (b"\x01\x03foo", "no index kind \"foo\""),
        (b"\x01\x05plr:x", "knob=value"),
        (b"\x02\x06blob=9", "blob=9"),
        (b"\x02\x08filter=x", "filter"),
        (b"\x01\x03plr\x03\x0416Ki", "option 3, \"16Ki\""),
    ];
    for (list, why) in later {
        let (_, refused) = Edit::decode(&options_change(list), 2).unwrap_err();
        assert!(matches!(refused, Refusal::Later(_)), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
    }
}
