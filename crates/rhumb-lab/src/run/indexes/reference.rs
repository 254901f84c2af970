//! Figures of the published implementations, for comparison: 10,000,000 keys of each set, C++
//! compiled with `g++ -O3 -march=native`, on one machine with 2 cores (AMD EPYC, 32 MB of
//! third-level cache), thread CPU time. Absolute times vary by 20 to 30 %, so every time is
//! compared as its ratio to the yardstick of the same run, `std::lower_bound` over all keys. Build
//! times are in whole nanoseconds a key.

use super::candidate::Parameter::{self, Block, Eps, Leaves};
use crate::data::numbers::Numbers;

/// Keys in each set.
pub const KEYS: usize = 10_000_000;

/// The figures of one index on one set.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Size in KiB.
    pub kib: f64,
    /// Nanoseconds a key to build; 0 means less than half a nanosecond.
    pub build: f64,
    /// Nanoseconds to look up a present key: the minimum and the median of several runs.
    pub look_up: [f64; 2],
    /// Nanoseconds to look up an absent key.
    pub absent: f64,
    /// Wrong answers among 300,000 absent keys.
    pub wrong: u32,
}

const fn cell(kib: f64, build: f64, look_up: [f64; 2], absent: f64, wrong: u32) -> Cell {
    Cell {
        kib,
        build,
        look_up,
        absent,
        wrong,
    }
}

/// One implementation with one parameter.
#[derive(Debug)]
pub struct Row {
    /// The implementation.
    pub name: &'static str,
    /// Our kinds of the same index.
    kinds: &'static [&'static str],
    parameter: Parameter,
    /// One cell for each set, in the order of [`Numbers::ALL`].
    cells: [Cell; 6],
}

/// The implementation of a kind with this parameter, if it was measured.
pub fn row(kind: &str, parameter: Parameter) -> Option<&'static Row> {
    let same = |row: &&Row| row.kinds.contains(&kind) && row.parameter == parameter;
    ROWS.iter().find(same)
}

impl Row {
    /// Its figures on a set, and those of the yardstick in the same run.
    pub fn on(&self, set: Numbers) -> (Cell, Cell) {
        let place = Numbers::ALL.iter().position(|known| *known == set);
        let place = place.unwrap_or_default();
        (self.cells[place], YARDSTICK[place])
    }
}

/// `std::lower_bound` over the keys, one cell for each set.
const YARDSTICK: [Cell; 6] = [
    cell(0.0, 0.0, [362.0, 409.0], 401.0, 0),
    cell(0.0, 0.0, [357.0, 387.0], 389.0, 0),
    cell(0.0, 0.0, [371.0, 427.0], 462.0, 0),
    cell(0.0, 0.0, [354.0, 374.0], 382.0, 0),
    cell(0.0, 0.0, [405.0, 450.0], 427.0, 0),
    cell(0.0, 0.0, [329.0, 369.0], 371.0, 0),
];

const ROWS: &[Row] = &[
    Row {
        name: "fence pointers",
        kinds: &["fp", "fp-raw"],
        parameter: Block(16),
        cells: [
            cell(4_883.0, 1.0, [367.0, 599.0], 420.0, 0),
            cell(4_883.0, 1.0, [289.0, 386.0], 280.0, 0),
            cell(4_883.0, 1.0, [346.0, 410.0], 560.0, 0),
            cell(4_883.0, 1.0, [392.0, 488.0], 474.0, 0),
            cell(4_883.0, 1.0, [296.0, 418.0], 436.0, 0),
            cell(4_883.0, 1.0, [242.0, 350.0], 408.0, 0),
        ],
    },
    Row {
        name: "fence pointers",
        kinds: &["fp", "fp-raw"],
        parameter: Block(64),
        cells: [
            cell(1_221.0, 0.0, [370.0, 459.0], 384.0, 0),
            cell(1_221.0, 0.0, [269.0, 279.0], 282.0, 0),
            cell(1_221.0, 0.0, [278.0, 327.0], 296.0, 0),
            cell(1_221.0, 0.0, [279.0, 319.0], 304.0, 0),
            cell(1_221.0, 0.0, [301.0, 347.0], 333.0, 0),
            cell(1_221.0, 0.0, [251.0, 277.0], 266.0, 0),
        ],
    },
    Row {
        name: "PGM",
        kinds: &["pgm"],
        parameter: Eps(8),
        cells: [
            cell(590.0, 20.0, [174.0, 197.0], 191.0, 0),
            cell(588.0, 18.0, [164.0, 170.0], 171.0, 0),
            cell(2_906.0, 24.0, [201.0, 239.0], 246.0, 0),
            cell(130.0, 15.0, [136.0, 143.0], 141.0, 0),
            cell(589.0, 19.0, [173.0, 178.0], 198.0, 0),
            cell(621.0, 18.0, [165.0, 180.0], 169.0, 0),
        ],
    },
    Row {
        name: "PGM",
        kinds: &["pgm"],
        parameter: Eps(16),
        cells: [
            cell(160.0, 15.0, [162.0, 170.0], 161.0, 0),
            cell(160.0, 15.0, [169.0, 173.0], 171.0, 0),
            cell(1_977.0, 25.0, [310.0, 319.0], 316.0, 0),
            cell(34.0, 13.0, [159.0, 168.0], 163.0, 0),
            cell(161.0, 15.0, [182.0, 194.0], 188.0, 0),
            cell(201.0, 16.0, [185.0, 214.0], 206.0, 0),
        ],
    },
    Row {
        name: "PGM",
        kinds: &["pgm"],
        parameter: Eps(64),
        cells: [
            cell(11.0, 11.0, [207.0, 209.0], 204.0, 0),
            cell(11.0, 12.0, [210.0, 230.0], 206.0, 0),
            cell(568.0, 22.0, [252.0, 264.0], 336.0, 0),
            cell(2.3, 11.0, [159.0, 162.0], 164.0, 0),
            cell(12.0, 12.0, [229.0, 249.0], 242.0, 0),
            cell(65.0, 17.0, [260.0, 277.0], 264.0, 0),
        ],
    },
    Row {
        name: "PGM",
        kinds: &["pgm"],
        parameter: Eps(128),
        cells: [
            cell(2.8, 11.0, [183.0, 185.0], 186.0, 0),
            cell(3.0, 11.0, [241.0, 258.0], 241.0, 0),
            cell(221.0, 20.0, [362.0, 376.0], 277.0, 0),
            cell(0.6, 10.0, [186.0, 201.0], 241.0, 0),
            cell(4.7, 12.0, [243.0, 261.0], 285.0, 0),
            cell(53.0, 20.0, [272.0, 295.0], 280.0, 0),
        ],
    },
    Row {
        name: "FITing-Tree",
        kinds: &["fiting-tree"],
        parameter: Eps(8),
        cells: [
            cell(2_599.0, 3.0, [243.0, 256.0], 239.0, 0),
            cell(2_601.0, 3.0, [211.0, 247.0], 228.0, 0),
            cell(6_371.0, 3.0, [307.0, 414.0], 328.0, 0),
            cell(616.0, 3.0, [150.0, 165.0], 168.0, 0),
            cell(2_588.0, 3.0, [234.0, 343.0], 254.0, 0),
            cell(2_564.0, 3.0, [329.0, 374.0], 414.0, 0),
        ],
    },
    Row {
        name: "FITing-Tree",
        kinds: &["fiting-tree"],
        parameter: Eps(64),
        cells: [
            cell(52.0, 3.0, [281.0, 343.0], 362.0, 0),
            cell(51.0, 3.0, [270.0, 322.0], 268.0, 0),
            cell(1_812.0, 3.0, [456.0, 549.0], 521.0, 0),
            cell(10.0, 3.0, [349.0, 366.0], 367.0, 0),
            cell(51.0, 3.0, [295.0, 303.0], 305.0, 0),
            cell(125.0, 3.0, [301.0, 321.0], 320.0, 0),
        ],
    },
    Row {
        name: "RadixSpline r18",
        kinds: &["radix-spline"],
        parameter: Eps(8),
        cells: [
            cell(2_822.0, 13.0, [100.0, 124.0], 131.0, 0),
            cell(2_710.0, 13.0, [215.0, 220.0], 220.0, 0),
            cell(5_534.0, 13.0, [149.0, 201.0], 211.0, 0),
            cell(1_176.0, 12.0, [83.0, 88.0], 88.0, 0),
            cell(2_794.0, 13.0, [181.0, 191.0], 181.0, 0),
            cell(2_325.0, 13.0, [110.0, 119.0], 140.0, 0),
        ],
    },
    Row {
        name: "RadixSpline r18",
        kinds: &["radix-spline"],
        parameter: Eps(64),
        cells: [
            cell(1_058.0, 8.0, [183.0, 194.0], 195.0, 0),
            cell(948.0, 8.0, [234.0, 240.0], 235.0, 0),
            cell(2_339.0, 9.0, [146.0, 151.0], 154.0, 0),
            cell(770.0, 7.0, [135.0, 161.0], 157.0, 0),
            cell(1_040.0, 8.0, [190.0, 196.0], 196.0, 0),
            cell(638.0, 9.0, [161.0, 173.0], 171.0, 0),
        ],
    },
    Row {
        name: "PLEX",
        kinds: &["plex"],
        parameter: Eps(8),
        cells: [
            cell(2_822.0, 12.0, [105.0, 117.0], 144.0, 0),
            cell(2_436.0, 12.0, [105.0, 117.0], 107.0, 0),
            cell(8_606.0, 15.0, [121.0, 147.0], 122.0, 0),
            cell(604.0, 10.0, [85.0, 110.0], 109.0, 0),
            cell(3_014.0, 13.0, [132.0, 236.0], 230.0, 0),
            cell(2_879.0, 12.0, [112.0, 128.0], 120.0, 0),
        ],
    },
    Row {
        name: "PLEX",
        kinds: &["plex"],
        parameter: Eps(64),
        cells: [
            cell(51.0, 6.0, [141.0, 144.0], 141.0, 0),
            cell(48.0, 6.0, [167.0, 174.0], 173.0, 0),
            cell(2_339.0, 8.0, [155.0, 180.0], 168.0, 0),
            cell(10.0, 5.0, [142.0, 147.0], 151.0, 0),
            cell(62.0, 7.0, [220.0, 274.0], 249.0, 0),
            cell(153.0, 8.0, [166.0, 170.0], 170.0, 0),
        ],
    },
    Row {
        name: "RMI",
        kinds: &["rmi"],
        parameter: Leaves(8_192),
        cells: [
            cell(192.0, 8.0, [82.0, 84.0], 83.0, 2),
            cell(192.0, 7.0, [272.0, 280.0], 278.0, 0),
            cell(192.0, 8.0, [192.0, 194.0], 200.0, 25),
            cell(192.0, 8.0, [78.0, 83.0], 84.0, 0),
            cell(192.0, 7.0, [619.0, 650.0], 583.0, 4),
            cell(192.0, 8.0, [185.0, 188.0], 182.0, 6),
        ],
    },
    Row {
        name: "RMI",
        kinds: &["rmi"],
        parameter: Leaves(65_536),
        cells: [
            cell(1_536.0, 9.0, [68.0, 73.0], 81.0, 15),
            cell(1_536.0, 7.0, [271.0, 280.0], 285.0, 0),
            cell(1_536.0, 8.0, [159.0, 171.0], 180.0, 816),
            cell(1_536.0, 9.0, [71.0, 86.0], 75.0, 0),
            cell(1_536.0, 7.0, [367.0, 382.0], 374.0, 13),
            cell(1_536.0, 9.0, [97.0, 106.0], 101.0, 38),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_and_sane() {
        let pgm = row("pgm", Eps(64)).unwrap();
        let (cell, yardstick) = pgm.on(Numbers::Wiki);
        assert_eq!(
            (cell.kib, cell.look_up[1], yardstick.look_up[1]),
            (65.0, 277.0, 369.0)
        );
        assert_eq!(
            row("rmi", Leaves(65_536)).unwrap().on(Numbers::Osm).0.wrong,
            816
        );
        assert!(row("pgm", Eps(9)).is_none() && row("plr", Eps(8)).is_none());
        for cell in ROWS.iter().flat_map(|row| row.cells).chain(YARDSTICK) {
            assert!(cell.look_up[0] <= cell.look_up[1] && cell.look_up[0] > 50.0);
            assert!(cell.absent > 50.0 && cell.kib >= 0.0 && cell.build >= 0.0);
        }
    }
}
