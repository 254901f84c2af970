//! The systems that are compared, by the published protocol.

use super::{Amounts, Build, Data, Fill, Planned, Result, Uncached, Work};
use crate::results::Axes;

/// A system by its name in results.
struct Arm {
    name: &'static str,
    /// Its text for keys that are integers.
    numbers: &'static str,
    /// Its text for longer keys; none if it has no form for them.
    texts: Option<&'static str>,
}

const fn arm(name: &'static str, text: &'static str) -> Arm {
    Arm {
        name,
        numbers: text,
        texts: Some(text),
    }
}

const ARMS: [Arm; 6] = [
    Arm {
        texts: Some("rhumb index=rss:over=keys partition=dual(4096)"),
        ..arm("doblix", "rhumb index=pla:error=128 partition=dual(4096)")
    },
    arm("rhumb", "rhumb index=plr partition=predicted"),
    arm("rhumb-small", "rhumb index=plr partition=predicted(14)"),
    // Models in the tables from the first on, not learned behind them. Keys are integers, as published.
    Arm {
        texts: None,
        ..arm(
            "bourbon",
            "rhumb index=plr:boundary=18 partition=bytes(4096)",
        )
    },
    arm("rocksdb-like", "rhumb index=fp-raw partition=bytes(4096)"),
    arm("rocksdb", "rocksdb"),
];

/// All systems.
pub const ALL: &[&str] = &[
    "doblix",
    "rhumb",
    "rhumb-small",
    "bourbon",
    "rocksdb-like",
    "rocksdb",
];

/// Those that tell the parts of a get: all of ours.
pub const TIMED: &[&str] = &["doblix", "rhumb", "rhumb-small", "bourbon", "rocksdb-like"];

/// Fewer, where there are many data sets.
pub const FEW: &[&str] = &["doblix", "rhumb", "bourbon", "rocksdb-like", "rocksdb"];

/// Background threads that merge.
const THREADS: usize = 4;

/// Bits of a filter for each key.
const FILTER_BITS: u32 = 10;

/// The amounts of the protocol: names, values and units.
pub fn protocol(amounts: &Amounts) -> Vec<(&'static str, u64, &'static str)> {
    let Uncached {
        records,
        operations,
        table_bytes,
        base_bytes,
    } = amounts.uncached;
    vec![
        ("records", records as u64, "records"),
        ("operations", operations, "operations"),
        ("device_operations", amounts.operations as u64, "operations"),
        ("gets_in_parts", amounts.gets as u64, "gets"),
        ("cache_bytes", 0, "B"),
        ("filter_bits", FILTER_BITS.into(), "bits/key"),
        ("buffer_bytes", table_bytes, "B"),
        ("table_bytes", table_bytes, "B"),
        ("base_bytes", base_bytes, "B"),
        ("compaction_threads", THREADS as u64, "threads"),
        ("rounds", amounts.rounds.into(), "rounds"),
    ]
}

/// Records from which on all points of all axes are measured.
const FEWEST: usize = 1_000_000;

/// Whether a scale is too small for all points of an axis.
pub fn is_brief(amounts: &Amounts) -> bool {
    amounts.uncached.records < FEWEST
}

/// Cells that have everything in common but their systems.
pub struct Cells<'a> {
    /// The systems.
    pub systems: &'a [&'a str],
    pub data: Data,
    /// Whether keys are longer than integers.
    pub are_texts: bool,
    pub fill: Fill,
    /// The other axes with their values.
    pub axes: Axes,
    /// More settings of the systems.
    pub settings: &'a str,
    pub work: Work,
}

impl Cells<'_> {
    /// A cell for each system of this build that has a form for the keys.
    ///
    /// # Errors
    /// If the settings of one are invalid.
    pub fn planned(&self, amounts: &Amounts) -> Result<Vec<Planned>> {
        let mut cells = Vec::new();
        for arm in ARMS.iter().filter(|arm| self.systems.contains(&arm.name)) {
            let text = match self.are_texts {
                true => arm.texts,
                false => Some(arm.numbers),
            };
            let Some(text) = text else {
                continue;
            };
            let uncached = &amounts.uncached;
            let of_protocol = settings(text, uncached.table_bytes, uncached.base_bytes);
            let text = format!("{text} {of_protocol} {}", self.settings);
            let system = amounts.system(&text)?;
            if !system.is_built_in() {
                continue;
            }
            let mut axes = vec![("system", arm.name.to_string())];
            axes.extend(self.axes.clone());
            cells.push(Planned {
                axes,
                data: self.data.clone(),
                build: Some(Build {
                    system,
                    fill: self.fill,
                }),
                work: self.work,
            });
        }
        Ok(cells)
    }
}

/// The settings of the protocol for the system of a text, with tables and a level 1 of so many bytes. The number of threads
/// can be set for ours alone.
pub fn settings(text: &str, table: u64, base: u64) -> String {
    let threads = match text.starts_with("rhumb") {
        true => format!("threads={THREADS}"),
        false => String::new(),
    };
    format!(
        "cache=0 filter={FILTER_BITS} compression=none write_buffer={table} size={table} base={base} {threads}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Scale;

    #[test]
    fn systems_have_the_settings_of_the_protocol() {
        let amounts = Scale::Small.amounts();
        let cells = |are_texts| Cells {
            systems: ALL,
            data: Data::new("uni", 100),
            are_texts,
            fill: Fill::All,
            axes: Vec::new(),
            settings: "",
            work: Work::Loading,
        };
        let names = |are_texts: bool| -> Vec<String> {
            let planned = cells(are_texts).planned(&amounts).unwrap();
            planned.iter().map(|cell| cell.axes[0].1.clone()).collect()
        };
        let count = match cfg!(feature = "peers") {
            true => ALL.len(),
            false => ALL.len() - 1,
        };
        assert_eq!(names(false), ALL[..count]);
        assert!(!names(true).contains(&"bourbon".to_string()));
        assert_eq!(names(true).len(), count - 1);
        for planned in cells(false).planned(&amounts).unwrap() {
            let system = planned.build.unwrap().system;
            let settings = system.settings();
            assert_eq!((settings.cache_bytes, settings.cold_cache_bytes), (0, 0));
            assert_eq!(settings.table.filter_bits_per_key, 10);
            assert_eq!(settings.table.table_bytes, 4 << 20);
            assert_eq!(settings.levels.base_bytes, 16 << 20);
            if planned.axes[0].1 != "rocksdb" {
                assert_eq!(settings.compaction_threads, 4);
            }
        }
        assert!(protocol(&amounts).contains(&("cache_bytes", 0, "B")));
    }

    #[test]
    fn groups_name_systems_that_exist() {
        for name in [ALL, TIMED, FEW].concat() {
            assert!(ARMS.iter().any(|arm| arm.name == name), "{name}");
        }
    }
}
