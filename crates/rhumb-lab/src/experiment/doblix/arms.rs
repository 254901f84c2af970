//! The systems that are compared, by the published protocol.

use super::{Amounts, Build, Data, Fill, Planned, Result, Uncached, Work};
use crate::claims::doblix::published::KEY;
use crate::data::Sizes;
use crate::results::Axes;

/// A system by its name in results.
struct Arm {
    name: &'static str,
    /// Its text for keys that are integers.
    numbers: &'static str,
    /// Its text for longer keys; none if it has no form for them.
    texts: Option<&'static str>,
    /// Whether its blocks hold a number of entries, as many as take about 4 KiB.
    by_entries: bool,
}

const fn arm(name: &'static str, text: &'static str) -> Arm {
    Arm {
        name,
        numbers: text,
        texts: Some(text),
        by_entries: false,
    }
}

const ARMS: [Arm; 8] = [
    Arm {
        texts: Some("rhumb preset=doblix index=rss:over=keys"),
        ..arm("doblix", "rhumb preset=doblix")
    },
    arm("rhumb", "rhumb index=plr partition=predicted"),
    arm("rhumb-small", "rhumb index=plr partition=predicted(14)"),
    Arm {
        by_entries: true,
        ..arm("tridentkv", "rhumb preset=tridentkv")
    },
    // Models in the tables from the first on, not learned behind them. Keys are integers, as published.
    Arm {
        texts: None,
        ..arm(
            "bourbon",
            "rhumb index=plr:boundary=18 partition=bytes(4096)",
        )
    },
    // With all values apart from keys, as published.
    Arm {
        texts: None,
        ..arm(
            "bourbon-log",
            "rhumb index=plr:boundary=18 partition=bytes(4096) values=1",
        )
    },
    arm("rocksdb-like", "rhumb preset=rocksdb-like"),
    arm("rocksdb", "rocksdb"),
];

/// All systems.
pub const ALL: &[&str] = &[
    "doblix",
    "rhumb",
    "rhumb-small",
    "tridentkv",
    "bourbon",
    "rocksdb-like",
    "rocksdb",
];

/// Those that are compared with everything in the cache.
pub const IN_MEMORY: &[&str] = &["doblix", "rhumb", "rhumb-small", "rocksdb-like", "rocksdb"];

/// Fewer, where there are many data sets.
pub const FEW: &[&str] = &[
    "doblix",
    "rhumb",
    "tridentkv",
    "bourbon",
    "rocksdb-like",
    "rocksdb",
];

/// Those over sizes of values.
pub const OVER_VALUES: &[&str] = &[
    "doblix",
    "rhumb",
    "tridentkv",
    "bourbon",
    "bourbon-log",
    "rocksdb-like",
    "rocksdb",
];

impl Arm {
    /// Its text for some data; none if it has no form for them.
    fn text(&self, data: &Data, are_texts: bool) -> Option<String> {
        let text = match are_texts {
            true => self.texts?,
            false => self.numbers,
        };
        match self.by_entries {
            // What a block holds is one number for all entries, so that all have to be of one size.
            true => {
                let entries = (BLOCK / entry_bytes(data)?).max(1);
                Some(format!("{text} partition=predicted({entries})"))
            }
            false => Some(text.to_string()),
        }
    }
}

/// Bytes of a published block.
const BLOCK: usize = 4_096;

/// The bytes of a key, which is an integer behind a prefix or without one, and of a value; none if they differ.
fn entry_bytes(data: &Data) -> Option<usize> {
    let prefix = data.prefixes.map_or(0, |prefixes| prefixes.bytes);
    match data.values? {
        Sizes::Fixed(value) => Some(prefix + KEY + value),
        _ => None,
    }
}

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
        rounds,
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
        ("rounds", rounds.into(), "rounds"),
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
            let Some(text) = arm.text(&self.data, self.are_texts) else {
                continue;
            };
            let uncached = &amounts.uncached;
            let of_protocol = settings(&text, uncached.table_bytes, uncached.base_bytes);
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
    use crate::data::Prefixes;
    use crate::experiment::Scale;

    #[test]
    fn systems_have_the_settings_of_the_protocol() {
        let amounts = Scale::Small.amounts();
        let cells = |are_texts| Cells {
            systems: ALL,
            data: Data::new("uni", 100).with_values(64),
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
    fn blocks_of_entries_hold_about_4_kib_of_any_size() {
        let trident = ARMS.iter().find(|arm| arm.name == "tridentkv").unwrap();
        let of_entries = |prefix: Option<usize>, value: usize| {
            let prefixes = prefix.map(|bytes| Prefixes { bytes, count: 1 });
            let data = Data::new("uni", 100).with_values(value);
            let data = Data { prefixes, ..data };
            let text = trident.text(&data, prefix.is_some()).unwrap();
            text.split_once("partition=").unwrap().1.to_string()
        };
        assert_eq!(of_entries(None, 64), "predicted(56)");
        assert_eq!(of_entries(Some(56), 64), "predicted(32)");
        assert_eq!(of_entries(None, 4_096), "predicted(1)");
        // Those of applications have many sizes.
        assert_eq!(trident.text(&Data::new("udb", 100), true), None);
    }

    #[test]
    fn groups_name_systems_that_exist() {
        for name in [ALL, IN_MEMORY, FEW, OVER_VALUES].concat() {
            assert!(ARMS.iter().any(|arm| arm.name == name), "{name}");
        }
    }
}
