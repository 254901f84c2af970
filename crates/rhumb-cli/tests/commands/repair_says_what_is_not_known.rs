//! `rhumb repair` says what it saved, what is lost, and what it cannot know.

use crate::common::Shell;

/// What a repair of a store without this file prints, and its last line on the error output.
fn repair_without(file: impl Fn(&str) -> bool) -> (Shell, String, String) {
    let shell = Shell::new();
    shell.ok(&["put", "--db", "db", "k", "v"]);
    let files = std::fs::read_dir(shell.path("db")).unwrap();
    for path in files.map(|f| f.unwrap().path()) {
        if file(path.file_name().unwrap().to_str().unwrap()) {
            std::fs::remove_file(path).unwrap();
        }
    }
    let output = shell.run(&["repair", "--db", "db"]);
    assert_eq!(output.status.code(), Some(1));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (shell, text(output.stdout), text(output.stderr))
}

#[test]
fn a_lost_pointer_to_the_manifest_leaves_a_doubt() {
    let (shell, said, error) = repair_without(|name| name == "CURRENT");
    assert!(
        said.contains("not known: ") && !said.contains("lost: "),
        "{said}"
    );
    assert!(
        said.contains("may be missing: writes with sequences from 1 on"),
        "{said}"
    );
    assert!(said.contains("kept 1 operation in 1 log"), "{said}");
    assert!(
        error.contains("whether all was saved cannot be known"),
        "{error}"
    );
    assert_eq!(shell.ok_text(&["get", "--db", "db", "k"]), "v\n");
    let again = shell.ok_text(&["repair", "--db", "db"]);
    assert!(!again.contains("not known"), "{again}");
}

#[test]
fn a_lost_log_is_named_with_its_writes() {
    let (shell, said, error) = repair_without(|name| name.ends_with(".log"));
    assert!(said.contains("lost: ") && said.contains(".log"), "{said}");
    assert!(
        said.contains("may be missing: writes with sequences from 1 on"),
        "{said}"
    );
    assert!(error.contains("1 piece could not be saved"), "{error}");
    shell.fails(1, &["get", "--db", "db", "k"]);
}
