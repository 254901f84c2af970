//! The systems that are compared, with their settings as text.

use std::path::Path;

use ::rhumb::fs::Access;
use ::rhumb::{Preset, TableSpec};

use super::pointers::LEAST_MEMORY;
use super::valuelog::{Collection, Plan, ValueLog};
use super::{Peer, Settings, Store, Temperature};
use crate::error::{Error, Result};

/// A store or an index to measure, with its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum System {
    /// Our own.
    Rhumb(Settings),
    /// Another store, with the settings of our own as far as it has them.
    Peer(Peer, Settings),
    /// A value log of the lab over an index, which is another store.
    ValueLog(Box<System>, Log),
    /// The index of these settings alone, in memory.
    Index(Settings),
}

/// The settings of a value log that its index does not have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Log {
    /// How garbage is collected.
    pub collection: Collection,
    /// The bytes of a file, if it is cut into files.
    pub segment_bytes: u64,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            collection: Collection::Whole,
            segment_bytes: 64 << 20,
        }
    }
}

/// The name of our own store in texts.
const RHUMB: &str = "rhumb";
/// The name of an index alone in texts.
const INDEX: &str = "index";

/// The settings that peers have too.
const SHARED: &[&str] = &[
    "cache",
    "write_buffer",
    "filter",
    "compression",
    "size",
    "sync",
];
/// The settings that peers with levels have too.
const OF_LEVELS: &[&str] = &["ratio", "base", "level0_tables", "direct"];
/// The settings that peers with value files have too.
const OF_VALUES: &[&str] = &["values", "over_provision"];
/// The settings of the lab's indexes of pointers.
const OF_POINTERS: &[&str] = &["direct"];
/// The setting of hybrid ones.
const MEMORY: &str = "memory";

impl System {
    /// The system that a text describes: `rhumb` or the name of a peer, and the settings that differ
    /// from `base`, such as `rhumb index=fp partition=bytes(4096) cache=8MiB`. The settings are
    /// `preset` (index and partition of a published form, where none follow), `index`, those of [`TableSpec`], `over_provision` (of
    /// value files, in percent), `cache` (0 for none), `write_buffer`, `compaction`, `granularity`, `ratio`, `base`, `level0_tables`, `threads`,
    /// `tuner`, `direct` and `sync`. The name of a store with a plus, such as `rocksdb+`, is a value log of the lab over it, with the
    /// settings `gc=whole` or `gc=files`, `segment` and `over_provision` besides those of the store. `btree-disk`, `hybrid-pgm` and
    /// `hybrid-leco`, indexes of the lab for such pointers, have the setting `direct`, and the hybrids `memory=10MiB`. Or `index` and
    /// its specification, such as `index alex`, for an index alone.
    ///
    /// # Errors
    /// If there is no such system or setting, or a value is invalid.
    pub fn parse(text: &str, base: &Settings) -> Result<System> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        if name == INDEX {
            let mut settings = base.clone();
            let spec: Vec<&str> = words.collect();
            set(&mut settings, INDEX, &spec.join(" "))?;
            return Ok(System::Index(settings));
        }
        if let Some(name) = name.strip_suffix('+') {
            return value_log(name, words, base);
        }
        let peer = match name {
            RHUMB => None,
            _ => Some(Peer::named(name).ok_or_else(|| no_system(name))?),
        };
        let mut settings = base.clone();
        for word in words {
            let (setting, value) = word.split_once('=').unwrap_or((word, ""));
            if let Some(peer) = peer {
                check_shared(peer, setting)?;
            }
            match setting == MEMORY && peer.is_some() {
                true => settings.memory_bytes = memory(value)?,
                false => set(&mut settings, setting, value)?,
            }
        }
        Ok(match peer {
            None => System::Rhumb(settings),
            Some(peer) => System::Peer(peer, settings),
        })
    }

    /// Its name in tables and results; for our own store, the specification of its index.
    pub fn label(&self) -> String {
        match self {
            System::Rhumb(settings) | System::Index(settings) => settings.index.to_string(),
            System::Peer(peer, _) => peer.to_string(),
            System::ValueLog(index, _) => index.label() + "+",
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        match self {
            System::Rhumb(settings) | System::Peer(_, settings) | System::Index(settings) => {
                settings
            }
            System::ValueLog(index, _) => index.settings(),
        }
    }

    /// Whether this build can open it.
    pub fn is_built_in(&self) -> bool {
        match self {
            System::Rhumb(_) | System::Index(_) => true,
            System::Peer(peer, _) => peer.is_built_in(),
            System::ValueLog(index, _) => index.is_built_in(),
        }
    }

    /// Opens or creates it in a directory that exists.
    ///
    /// # Errors
    /// Any error of the store.
    pub fn open(&self, directory: &Path, temperature: Temperature) -> Result<Box<dyn Store>> {
        match self {
            System::Rhumb(settings) => settings.open(directory, temperature),
            System::Peer(peer, settings) => peer.open(directory, settings, temperature),
            System::ValueLog(index, log) => {
                let settings = index.settings();
                let plan = Plan {
                    collection: log.collection,
                    over_provision_percent: settings.over_provision_percent,
                    segment_bytes: log.segment_bytes,
                    sync: settings.sync,
                    access: match temperature {
                        Temperature::Warm => Access::Buffered,
                        Temperature::Cold => Access::Direct,
                    },
                };
                let index = System::clone(index);
                let make = move |at: &Path| index.open(at, temperature);
                Ok(Box::new(ValueLog::open(directory, plan, Box::new(make))?))
            }
            System::Index(settings) => Err(Error::Usage(format!(
                "{} alone is no store: only ingestion can be measured with it",
                settings.index
            ))),
        }
    }
}

/// A value log over a store, with its settings.
fn value_log<'w>(
    name: &str,
    words: impl Iterator<Item = &'w str>,
    base: &Settings,
) -> Result<System> {
    let (mut log, mut base, mut index) = (Log::default(), base.clone(), name.to_string());
    base.table.separate_values = None;
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("gc", "whole") => log.collection = Collection::Whole,
            ("gc", "files") => log.collection = Collection::Files,
            ("gc", _) => {
                let message = format!("{word} is not known: write gc=whole or gc=files");
                return Err(Error::Usage(message));
            }
            ("segment", value) => log.segment_bytes = bytes(value)?,
            ("over_provision", value) => set(&mut base, "over_provision", value)?,
            ("values", _) => {
                let message = format!("{name}+ keeps all values in a log: leave out {word}");
                return Err(Error::Usage(message));
            }
            _ => index = index + " " + word,
        }
    }
    if name == INDEX || name.ends_with('+') {
        return Err(no_system(name));
    }
    let index = System::parse(&index, &base)?;
    Ok(System::ValueLog(Box::new(index), log))
}

/// Whether a peer has a setting of our own store.
fn check_shared(peer: Peer, setting: &str) -> Result<()> {
    let if_it = |has: bool, settings: &'static [&str]| if has { settings } else { &[] };
    let shared: Vec<&str> = match Peer::OF_POINTERS.contains(&peer) {
        true => [OF_POINTERS, if_it(peer.is_hybrid(), &[MEMORY])].concat(),
        false => {
            let levels = if_it(peer.has_levels(), OF_LEVELS);
            [SHARED, levels, if_it(peer.has_value_files(), OF_VALUES)].concat()
        }
    };
    if shared.contains(&setting) {
        return Ok(());
    }
    let shared = shared.join(", ");
    Err(Error::Usage(format!(
        "{peer} has no setting {setting:?}: write one of {shared}"
    )))
}

fn no_system(name: &str) -> Error {
    let of_pointers = Peer::OF_POINTERS.map(|peer| peer.to_string()).join(", ");
    Error::Usage(format!(
        "there is no system {name:?}: write {RHUMB} or the name of a peer, such as rocksdb, or of an index of pointers \
         of the lab ({of_pointers})"
    ))
}

fn set(settings: &mut Settings, setting: &str, value: &str) -> Result<()> {
    match setting {
        "preset" => {
            let preset: Preset = value.parse()?;
            settings.index = preset.index();
            settings.table.partition = preset.partition();
            settings.tuner = preset.tuner().unwrap_or(settings.tuner);
        }
        "index" => {
            settings.index = value.parse().map_err(|error| Error::index(&value, error))?;
        }
        "partition" | "filter" | "compression" | "size" | "values" | "groups" => {
            let present = settings.table.to_string();
            settings.table = format!("{present},{setting}={value}").parse()?;
        }
        "cache" => {
            // No cache, while a table has bytes.
            settings.cache_bytes = match value {
                "0" => 0,
                _ => bytes(value)?,
            };
            settings.cold_cache_bytes = settings.cache_bytes;
        }
        "write_buffer" => settings.write_buffer_bytes = bytes(value)?,
        "compaction" => settings.levels.compaction = value.parse()?,
        "granularity" => settings.levels.granularity = value.parse()?,
        "ratio" => settings.levels.size_ratio = number(setting, value)?,
        "base" => settings.levels.base_bytes = bytes(value)?,
        "level0_tables" => settings.levels.level0_tables = number(setting, value)?,
        "over_provision" => settings.over_provision_percent = number(setting, value)?,
        "threads" => settings.compaction_threads = number(setting, value)?,
        "tuner" => settings.tuner = value.parse()?,
        "direct" => settings.direct = truth(setting, value)?,
        "sync" => settings.sync = truth(setting, value)?,
        _ => {
            return Err(Error::Usage(format!(
                "{RHUMB} has no setting {setting:?}: write preset=, index=, partition=, filter=, compression=, size=, values=, \
                 over_provision=, cache=, write_buffer=, compaction=, granularity=, ratio=, base=, level0_tables=, threads=, tuner=, direct= or sync="
            )));
        }
    }
    Ok(())
}

fn truth(setting: &str, text: &str) -> Result<bool> {
    text.parse().map_err(|_| {
        Error::Usage(format!(
            "{setting}={text} is not known: write {setting}=true or {setting}=false"
        ))
    })
}

/// The memory of a hybrid index.
fn memory(text: &str) -> Result<u64> {
    let bytes = bytes(text)?;
    if bytes >= LEAST_MEMORY {
        return Ok(bytes);
    }
    Err(Error::Usage(format!(
        "{MEMORY}={text} is less than the tree of a hybrid index takes: write {MEMORY}={}KiB or more",
        LEAST_MEMORY >> 10
    )))
}

/// A number of bytes, written as the size of a table is.
fn bytes(text: &str) -> Result<u64> {
    let table: TableSpec = format!("size={text}").parse()?;
    Ok(table.table_bytes)
}

fn number<N: std::str::FromStr>(setting: &str, text: &str) -> Result<N> {
    text.parse().map_err(|_| {
        Error::Usage(format!(
            "{setting}={text} is not a number: write one such as {setting}=4"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<System> {
        let base = Settings {
            table: "size=2MiB,filter=7".parse().unwrap(),
            cache_bytes: 5 << 20,
            ..Settings::default()
        };
        System::parse(text, &base)
    }

    #[test]
    fn texts_change_what_they_name_only() {
        let text =
            "rhumb index=pgm:boundary=16 partition=entries(1) cache=8MiB ratio=4 compaction=tiered";
        let system = parsed(text).unwrap();
        let settings = system.settings();
        assert_eq!(system.label(), settings.index.to_string());
        assert_eq!(settings.index, "pgm:boundary=16".parse().unwrap());
        let table = "partition=entries(1),filter=7,size=2MiB".parse().unwrap();
        assert_eq!(settings.table, table);
        assert_eq!(
            (settings.cache_bytes, settings.levels.size_ratio),
            (8 << 20, 4)
        );
        assert_eq!(settings.levels.compaction.to_string(), "tiered");
        assert_eq!(settings.tuner, rhumb::Tuner::Off);
        let tuned = parsed("rhumb tuner=cost:nu=0.5").unwrap();
        assert_eq!(tuned.settings().tuner.to_string(), "cost:nu=0.5");
        let text = "rhumb index=fp preset=doblix filter=4 partition=dual(8192)";
        let settings = parsed(text).unwrap().settings().clone();
        assert_eq!(settings.index, Preset::Doblix.index());
        let table = "partition=dual(8192),filter=4,size=2MiB".parse().unwrap();
        assert_eq!(settings.table, table);
        let peer = parsed("rocksdb write_buffer=1MiB filter=0 ratio=4").unwrap();
        assert_eq!(peer.settings().levels.size_ratio, 4);
        assert_eq!(peer.label(), "rocksdb");
        let settings = peer.settings();
        assert_eq!(
            (settings.cache_bytes, settings.write_buffer_bytes),
            (5 << 20, 1 << 20)
        );
        assert_eq!(settings.table.filter_bits_per_key, 0);
        for store in ["rhumb", "rocksdb"] {
            let uncached = parsed(&format!("{store} cache=0")).unwrap();
            let settings = uncached.settings();
            assert_eq!((settings.cache_bytes, settings.cold_cache_bytes), (0, 0));
            let apart = parsed(&format!("{store} values=1KiB over_provision=50")).unwrap();
            let settings = apart.settings();
            assert_eq!(settings.table.separate_values, Some(1 << 10));
            assert_eq!(settings.over_provision_percent, 50);
        }
    }

    #[test]
    fn a_value_log_has_settings_of_its_own_and_those_of_its_index() {
        let text =
            "rocksdb+ gc=files segment=8MiB over_provision=50 write_buffer=64KiB direct=true";
        let system = parsed(text).unwrap();
        assert_eq!(system.label(), "rocksdb+");
        let settings = system.settings();
        assert_eq!(
            (settings.write_buffer_bytes, settings.over_provision_percent),
            (64 << 10, 50)
        );
        assert!(settings.direct && settings.table.separate_values.is_none());
        let System::ValueLog(_, log) = system else {
            panic!("{text} is no value log");
        };
        assert_eq!(log.collection, Collection::Files);
        assert_eq!(log.segment_bytes, 8 << 20);
    }

    #[test]
    fn indexes_of_pointers_have_few_settings() {
        for (text, label, memory) in [
            ("btree-disk+ gc=whole", "btree-disk+", 10 << 20),
            ("hybrid-pgm+ gc=whole memory=1MiB", "hybrid-pgm+", 1 << 20),
            ("hybrid-leco direct=true", "hybrid-leco", 10 << 20),
        ] {
            let system = parsed(text).unwrap();
            assert_eq!(system.label(), label);
            assert!(system.is_built_in(), "{text}");
            assert_eq!(system.settings().memory_bytes, memory, "{text}");
        }
        assert!(parsed("hybrid-leco direct=true").unwrap().settings().direct);
    }

    #[test]
    fn errors_name_what_can_be_written() {
        for (text, part) in [
            ("", "rhumb or the name of a peer"),
            ("leveldb", "\"leveldb\""),
            ("rhumb color=red", "write preset=, index="),
            (
                "rhumb preset=leveldb",
                "doblix, bourbon, tridentkv, rocksdb-like",
            ),
            ("rocksdb preset=doblix", "no setting \"preset\""),
            ("rhumb ratio=x", "ratio=4"),
            ("rhumb index=nothing", "nothing"),
            ("rhumb partition=rows", "partition"),
            ("rhumb cache=much", "64MiB"),
            ("lmdb index=fp", "no setting \"index\""),
            ("lmdb ratio=4", "no setting \"ratio\""),
            ("rocksdb threads=4", "level0_tables"),
            ("lmdb values=1KiB", "no setting \"values\""),
            ("rhumb over_provision=much", "over_provision=4"),
            ("rhumb+ gc=never", "gc=whole or gc=files"),
            ("rocksdb+ values=1KiB", "leave out values=1KiB"),
            ("rhumb direct=1", "direct=true"),
            ("rhumb tuner=on", "cost"),
            ("rocksdb tuner=cost", "no setting \"tuner\""),
            ("leveldb+", "\"leveldb\""),
            ("rhumb++", "\"rhumb+\""),
            ("index+", "\"index\""),
            ("leveldb", "btree-disk, hybrid-pgm, hybrid-leco"),
            ("btree-disk+ cache=8MiB", "write one of direct"),
            ("btree-disk memory=1MiB", "no setting \"memory\""),
            (
                "hybrid-pgm+ gc=whole sync=true",
                "write one of direct, memory",
            ),
            ("hybrid-leco memory=1KiB", "memory=64KiB or more"),
            ("hybrid-leco+ memory=much", "64MiB"),
            ("rhumb memory=1MiB", "no setting \"memory\""),
            ("rocksdb memory=1MiB", "no setting \"memory\""),
        ] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
