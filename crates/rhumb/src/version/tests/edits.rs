use proptest::prelude::*;

use super::*;

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
        }
    }
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
    ]
}

fn any_edit() -> impl Strategy<Value = Edit> {
    prop::collection::vec(any_change(), 0..8).prop_map(Edit::from)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn edits_come_back(edit in any_edit()) {
        prop_assert_eq!(Edit::decode(&edit.encode()), Ok(edit));
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
        match Edit::decode(&bytes) {
            // A varint may be encoded in more bytes than needed, so the bytes need not come back.
            Ok(edit) => {
                prop_assert_eq!(Edit::decode(&edit.encode()), Ok(edit.clone()));
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
        assert!(Edit::decode(&Edit::from(vec![add(0, table)]).encode()).is_err());
    }
    assert!(Edit::decode(&Edit::from(vec![add(0, sound)]).encode()).is_ok());
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
