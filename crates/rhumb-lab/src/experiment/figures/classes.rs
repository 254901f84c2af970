//! The classes of index kinds, each of which has a chart of its own where all in one would hide some.

use crate::results::Cell;

/// The classes with their kinds. Kinds of no class come last.
const CLASSES: [(&str, &[&str]); 5] = [
    ("fence pointers", &["fp-raw", "fp"]),
    (
        "linear segments",
        &["plr", "fiting-tree", "pgm", "greedy-plr-plus"],
    ),
    ("RMI and splines", &["rmi", "radix-spline", "plex"]),
    (
        "unclustered kinds",
        &["alex", "lipp", "dili", "lits", "nfl", "btree"],
    ),
    ("other kinds", &[]),
];

/// The cells of each class that has some, with its name.
pub fn divided<'c>(cells: &[&'c Cell]) -> Vec<(String, Vec<&'c Cell>)> {
    let class = |cell: &Cell| {
        let of = |(_, kinds): &(&str, &[&str])| kinds.contains(&cell.axis("kind"));
        CLASSES.iter().position(of).unwrap_or(CLASSES.len() - 1)
    };
    let classes = CLASSES.iter().enumerate().map(|(at, (name, _))| {
        let cells = cells.iter().copied().filter(|cell| class(cell) == at);
        (name.to_string(), cells.collect::<Vec<_>>())
    });
    classes.filter(|(_, cells)| !cells.is_empty()).collect()
}
