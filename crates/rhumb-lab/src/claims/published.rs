//! Numbers of *Evaluating Learned Indexes in LSM-tree Systems* (EDBT) as data, for comparison with
//! ours.

use crate::report::model::Mark;

/// A row of Table 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Set {
    /// Its name in the paper.
    pub name: &'static str,
    /// Our set that represents it.
    pub ours: &'static str,
    /// Bytes of keys and values, as printed.
    pub size: &'static str,
    /// Entries.
    pub entries: u64,
    /// Bytes of a key.
    pub key_bytes: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
}

const fn set(
    name: &'static str,
    ours: &'static str,
    size: &'static str,
    entries: u64,
    [key_bytes, value_bytes]: [u32; 2],
) -> Set {
    Set {
        name,
        ours,
        size,
        entries,
        key_bytes,
        value_bytes,
    }
}

/// Entries of each YCSB set.
pub const LONG_ENTRIES: u64 = 104_857_600;

const LONG: [u32; 2] = [24, 1000];
const SHORT: [u32; 2] = [8, 8];

/// Table 1: the data sets.
pub const TABLE_1: [Set; 6] = [
    set("Uniform", "ycsb-uniform", "100GiB", LONG_ENTRIES, LONG),
    set(
        "Zipfian (0.9)",
        "ycsb-zipf0.9",
        "100GiB",
        LONG_ENTRIES,
        LONG,
    ),
    set(
        "Zipfian (0.99)",
        "ycsb-zipf0.99",
        "100GiB",
        LONG_ENTRIES,
        LONG,
    ),
    set("Facebook ID", "fb", "2.98GiB", 200_000_000, SHORT),
    set("OSM Cell ID", "osm", "11.9GiB", 800_000_000, SHORT),
    set("Wikipedia Timestamp", "wiki", "2.98GiB", 200_000_000, SHORT),
];

/// A cell of the table in Figure 8: a kind on a set of real keys, at boundary 16.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealKeys {
    /// Latency of a look-up, in microseconds.
    pub latency: f64,
    /// Bytes of the index; MB and GB are read as powers of ten.
    pub bytes: f64,
}

/// A column of the table in Figure 8.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// The kind, by our name.
    pub kind: &'static str,
    /// On Facebook, OSM and Wikipedia keys, as in [`REAL_SETS`]; none if the kind failed on them.
    pub on: [Option<RealKeys>; 3],
}

/// The sets of Figure 8, by the names of our sets that represent them.
pub const REAL_SETS: [&str; 3] = ["fb", "osm", "wiki"];

const fn at(latency: f64, megabytes: f64) -> Option<RealKeys> {
    Some(RealKeys {
        latency,
        bytes: megabytes * 1e6,
    })
}

const fn kind(kind: &'static str, on: [Option<RealKeys>; 3]) -> Kind {
    Kind { kind, on }
}

/// The table in Figure 8: microseconds and megabytes.
pub const FIGURE_8: [Kind; 11] = [
    kind(
        "fp-raw",
        [at(2.13, 372.0), at(1.4, 1_500.0), at(2.0, 372.0)],
    ),
    kind("plr", [at(2.0, 1_600.0), at(2.1, 1_900.0), at(2.12, 330.0)]),
    kind(
        "fiting-tree",
        [at(2.12, 750.0), at(2.0, 2_500.0), at(2.13, 184.0)],
    ),
    kind("pgm", [at(2.5, 66.0), at(2.02, 204.0), at(2.13, 10.9)]),
    kind("rmi", [at(2.0, 17.7), at(8.33, 70.2), at(2.13, 1.7)]),
    kind(
        "radix-spline",
        [at(2.6, 127.0), at(2.0, 449.0), at(2.12, 32.0)],
    ),
    kind("plex", [at(2.8, 201.0), at(1.18, 770.0), at(2.12, 54.5)]),
    kind(
        "alex",
        [at(1.01, 3_200.0), at(1.41, 12_000.0), at(1.0, 3_200.0)],
    ),
    kind("dili", [at(1.04, 3_600.0), None, at(1.12, 1_700.0)]),
    kind("lipp", [at(1.03, 23_000.0), None, at(1.92, 4_300.0)]),
    kind(
        "lits",
        [at(1.03, 8_100.0), at(1.3, 32_000.0), at(1.38, 2_900.0)],
    ),
];

/// The numbers of Figure 8 for a kind on a set of real keys, by our names.
pub fn real_keys(of: &str, set: &str) -> Option<RealKeys> {
    let column = FIGURE_8.iter().find(|column| column.kind == of)?;
    let place = REAL_SETS.iter().position(|name| *name == set)?;
    column.on.get(place).copied().flatten()
}

/// Bytes of the index for each key, from Figure 8, for a kind on a set of real keys.
pub fn bytes_a_key(of: &str, set: &str) -> Option<f64> {
    let row = TABLE_1.iter().find(|row| row.ours == set)?;
    Some(real_keys(of, set)?.bytes / row.entries as f64)
}

/// The columns of Table 2.
pub const ASPECTS: [&str; 4] = ["memory", "key look-up", "rebuilding", "seeking"];

/// A row of Table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suited {
    /// The kind, by our name.
    pub kind: &'static str,
    /// Whether it is a data-clustered kind.
    pub clustered: bool,
    /// A mark for each of [`ASPECTS`].
    pub marks: [Mark; 4],
}

const fn suited(kind: &'static str, clustered: bool, marks: [Mark; 4]) -> Suited {
    Suited {
        kind,
        clustered,
        marks,
    }
}

/// Table 2: the suitability of kinds.
pub const TABLE_2: [Suited; 10] = {
    use Mark::{Bad, Caution, Good};
    [
        suited("plr", true, [Caution, Good, Good, Good]),
        suited("fiting-tree", true, [Caution, Good, Good, Good]),
        suited("pgm", true, [Good, Good, Caution, Good]),
        suited("radix-spline", true, [Good, Good, Caution, Good]),
        suited("plex", true, [Good, Good, Caution, Good]),
        suited("rmi", true, [Good, Good, Caution, Good]),
        suited("alex", false, [Bad, Good, Bad, Good]),
        suited("dili", false, [Bad, Good, Bad, Caution]),
        suited("lipp", false, [Bad, Good, Caution, Caution]),
        suited("lits", false, [Bad, Good, Bad, Caution]),
    ]
};

/// The data-clustered kinds of the study.
pub fn clustered() -> impl Iterator<Item = &'static str> {
    let rows = TABLE_2.iter().filter(|row| row.clustered);
    rows.map(|row| row.kind)
}

/// The data-unclustered kinds of the study.
pub fn unclustered() -> impl Iterator<Item = &'static str> {
    let rows = TABLE_2.iter().filter(|row| !row.clustered);
    rows.map(|row| row.kind)
}

/// The memory of fence pointers by the formula of the study's program, which does not count it:
/// (table / block + 1) x 1.5 x key size x tables, with as many entries in a block as the boundary.
pub fn fence_formula(entries: f64, boundary: f64, key_bytes: f64, tables: f64) -> f64 {
    (entries / tables / boundary + 1.0) * 1.5 * key_bytes * tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_agree_with_each_other() {
        for set in TABLE_1 {
            let bytes = set.entries * u64::from(set.key_bytes + set.value_bytes);
            let printed: f64 = set.size.trim_end_matches("GiB").parse().unwrap();
            let share = bytes as f64 / (1u64 << 30) as f64 / printed;
            assert!((0.99..1.01).contains(&share), "{}: {share}", set.name);
        }
        for row in TABLE_2 {
            assert!(
                FIGURE_8.iter().any(|column| column.kind == row.kind),
                "{}",
                row.kind
            );
        }
        assert_eq!((clustered().count(), unclustered().count()), (6, 4));
        let pgm = bytes_a_key("pgm", "fb").unwrap();
        assert!((0.32..0.34).contains(&pgm), "{pgm}");
        assert_eq!(bytes_a_key("dili", "osm"), None);
    }

    #[test]
    fn fences_of_figure_8_are_the_formula_for_20_byte_keys() {
        for set in REAL_SETS {
            let row = TABLE_1.iter().find(|row| row.ours == set).unwrap();
            let printed = real_keys("fp-raw", set).unwrap().bytes;
            let formula = |key_bytes| fence_formula(row.entries as f64, 16.0, key_bytes, 1.0);
            assert!((formula(20.0) / printed - 1.0).abs() < 0.02, "{set}");
            assert!(formula(8.0) / printed < 0.41, "{set}");
        }
    }
}
