//! An index without the keys or blocks it needs gives a window of all ranks or an error, never a
//! wrong answer.

use rhumb_index::registry::Answers;
use rhumb_index::{IndexError, registry};

#[test]
fn indexes_that_need_keys_answer_numbers_with_all_ranks() {
    let mut asked = 0;
    for kind in registry::kinds().iter().filter(|kind| !kind.needs_number) {
        let mut builder = registry::builder(&kind.name.parse().unwrap()).unwrap();
        for number in 0..500u64 {
            builder.push(&number.to_be_bytes(), 0).unwrap();
        }
        let index = registry::open(builder.finish().unwrap()).unwrap();
        let window = index.window(77);
        assert!(
            window.lo == 0 && window.hi >= 500,
            "{}: {window:?}",
            kind.name
        );
        asked += 1;
    }
    assert_eq!(asked, 4);
}

#[test]
fn fence_pointers_without_cuts_are_refused_with_the_remedy() {
    let numbers: Vec<u64> = (0..5000).collect();
    for kind in registry::kinds()
        .iter()
        .filter(|kind| kind.answers == Answers::Blocks)
    {
        let builder = || registry::builder(&kind.name.parse().unwrap()).unwrap();
        let mut uncut = builder();
        uncut.push_numbers(&numbers).unwrap();
        let error = uncut.finish().unwrap_err();
        assert!(matches!(error, IndexError::Unfit { .. }));
        let text = error.to_string();
        assert!(
            text.contains("5000 keys") && text.contains("`cut`"),
            "{text}"
        );
        let mut cut = builder();
        cut.push_numbers(&numbers).unwrap();
        cut.cut(&2499u64.to_be_bytes(), &2500u64.to_be_bytes());
        assert!(cut.finish().is_ok());
    }
}

#[test]
fn equal_numbers_are_refused_with_the_remedy() {
    for kind in registry::kinds() {
        let mut builder = registry::builder(&kind.name.parse().unwrap()).unwrap();
        let error = builder.push_numbers(&[1, 2, 2, 3]).unwrap_err();
        assert!(
            matches!(error, IndexError::Unsorted { rank: 2 }),
            "{}: {error}",
            kind.name
        );
        assert!(error.to_string().contains("SortedSet"), "{error}");
    }
}
