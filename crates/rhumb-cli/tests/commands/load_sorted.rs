//! `load --sorted` loads all entries of a sorted file, or none.

use crate::common::Shell;

fn lines(numbers: impl Iterator<Item = u32>) -> String {
    numbers
        .map(|n| format!("key {n:05}\tvalue {n}\n"))
        .collect()
}

#[test]
fn a_sorted_file_is_loaded_into_tables_at_once() {
    let shell = Shell::new();
    shell.file("a.tsv", lines(0..5000));
    let said = shell.ok_text(&["load", "--db", "db", "--sorted", "--format", "tsv", "a.tsv"]);
    assert!(said.contains("loaded 5,000 entries"), "{said}");
    let scanned = shell.ok_text(&["scan", "--db", "db"]);
    assert_eq!(scanned.lines().count(), 5000);
    // Over what is there, from the standard input, with numbers for programs.
    let newer = lines((1000..6000).step_by(2)).replace("value", "newer");
    let arguments = [
        "load", "--db", "db", "--sorted", "--json", "--format", "tsv", "-",
    ];
    let said = String::from_utf8(shell.pipe(&arguments, newer.as_bytes())).unwrap();
    assert!(
        said.contains("\"entries\": 2500") || said.contains("\"entries\":2500"),
        "{said}"
    );
    let scanned = shell.ok_text(&["scan", "--db", "db"]);
    assert_eq!(scanned.lines().count(), 5500);
    assert_eq!(
        scanned
            .lines()
            .filter(|line| line.contains("newer"))
            .count(),
        2500
    );
    let verified = shell.ok_text(&["verify", "--db", "db"]);
    assert!(!verified.is_empty());
}

#[test]
fn an_empty_file_is_sorted() {
    let shell = Shell::new();
    shell.file("a.tsv", "");
    let said = shell.ok_text(&["load", "--db", "db", "--sorted", "--format", "tsv", "a.tsv"]);
    assert!(said.contains("loaded 0 entries"), "{said}");
}

#[test]
fn nothing_is_loaded_of_a_file_that_is_not_sorted() {
    let shell = Shell::new();
    shell.ok(&["put", "--db", "db", "before", "1"]);
    let unsorted = [
        (
            "two",
            format!("{}key 00007\tagain\n", lines(0..3000)),
            "line 3001 of two.tsv",
            "sort",
        ),
        (
            "same",
            "a\t1\na\t2\n".to_string(),
            "line 2 of same.tsv",
            "each key once",
        ),
        (
            "bad",
            "a\t1\nb\t2\nno tab\n".to_string(),
            "line 3 of bad.tsv has no tab",
            "nothing was loaded",
        ),
    ];
    for (name, text, place, why) in unsorted {
        let file = format!("{name}.tsv");
        shell.file(&file, text);
        let error = shell.fails(
            1,
            &["load", "--db", "db", "--sorted", "--format", "tsv", &file],
        );
        assert!(error.contains(place) && error.contains(why), "{error}");
        assert!(error.contains("nothing was loaded"), "{error}");
        let scanned = shell.ok_text(&["scan", "--db", "db"]);
        assert_eq!(scanned.lines().count(), 1, "{scanned}");
    }
}

#[test]
fn durability_is_no_question_with_sorted() {
    let shell = Shell::new();
    shell.file("a.tsv", "a\t1\n");
    let arguments = [
        "load",
        "--db",
        "db",
        "--sorted",
        "--durability",
        "immediate",
        "a.tsv",
    ];
    let output = shell.run(&arguments);
    assert_eq!(output.status.code(), Some(2));
}
