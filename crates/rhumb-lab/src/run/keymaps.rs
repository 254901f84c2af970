//! `keymaps`: the benefit of key maps. Compares the sizes of models over numbers from a [`KeyMap`]
//! with the sizes over the first eight bytes of each key, and with fence pointers.
//!
//! If too many keys share a number, a model cannot serve them, and a table falls back to fence
//! pointers: then the size of the fence pointers is taken.

use rhumb::IndexSpec;
use rhumb_index::registry::{self, Answers};
use rhumb_index::{IndexError, KeyMap};

use super::{Arguments, Bench, spec};
use crate::data::{Strings, decimal, paths, runs, texts};
use crate::error::{Error, Result};
use crate::results::Subject;
use crate::table;

const NAME: &str = "keymaps";
const KEYS: usize = 1_000_000;
const BOUNDARY: u64 = 16;
const BLOCK_BYTES: usize = 4_096;
/// Bytes of each value.
const VALUE_BYTES: u64 = 8;
/// Measured bytes of an entry of paths and packages in a block, in which prefixes are shared.
const PATH_ENTRY_BYTES: usize = 43;

/// Keys to index.
struct Source {
    name: &'static str,
    about: String,
    keys: Strings,
    /// Keys in a block of fence pointers.
    block: usize,
    /// The integer of a key, if the keys are integers.
    integers: Option<fn(&[u8]) -> u64>,
}

/// Bytes of an index, or that it fell back to fence pointers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Size {
    Fits(usize),
    Unfit,
}

/// Measures, and returns one table.
///
/// # Errors
/// Inputs that cannot be read, indexes that cannot be built.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let specs = specs(arguments)?;
    let headings = [
        "keys",
        "index",
        "KeyMap",
        "8 bytes",
        "8 bytes/KeyMap",
        "fp",
        "fp/KeyMap",
        "integers",
        "KeyMap/integers",
    ];
    let mut table = table::new(&headings.map(str::to_string), 2);
    let mut notes = String::new();
    for source in sources(arguments)? {
        let stage = format!("{}: {} indexes", source.name, specs.len());
        bench.progress.stage(stage, specs.len());
        let map: KeyMap = source.keys.iter().collect();
        let fp = size(&source.keys, source.block, &spec("fp")?, |_| 0)?;
        for spec in &specs {
            let sizes = Sizes::of(&source, &map, spec, fp)?;
            sizes.keep(&source, spec, bench);
            table.add_row(sizes.cells(&source, spec));
            bench.progress.advance(1)?;
        }
        notes += &format!(
            "{}: {} keys, {}; fp: {} keys a block. ",
            source.name,
            table::number(Some(source.keys.len() as f64), 0),
            source.about,
            source.block
        );
    }
    Ok(format!(
        "{table}\n\nBytes a key; KeyMap includes the bytes of the map. 8 bytes: the number of a key is its first \
         eight bytes, big-endian. fp (fallback): too many keys share a number, so fence pointers are used. \
         integers: the same numbers as 64-bit integers.\nBlocks of fp are {BLOCK_BYTES} bytes of keys with \
         {VALUE_BYTES} bytes of value each; for paths, entries of {PATH_ENTRY_BYTES} bytes as measured in \
         stores. The directory of a table's blocks is not counted.\n{notes}"
    ))
}

/// The user's indexes, or every model with a knob `boundary`.
fn specs(arguments: &Arguments) -> Result<Vec<IndexSpec>> {
    let bounded = |kind: &&registry::Kind| {
        kind.answers == Answers::Windows && kind.knobs.iter().any(|knob| knob.name == "boundary")
    };
    if arguments.indexes.is_empty() {
        let kinds = registry::kinds().iter().filter(bounded);
        return kinds
            .map(|kind| spec(&format!("{}:boundary={BOUNDARY}", kind.name)))
            .collect();
    }
    match arguments
        .indexes
        .iter()
        .find(|spec| !spec.kind().needs_number)
    {
        Some(spec) => Err(Error::Usage(format!(
            "index {spec} needs no key map: choose another index for {NAME}"
        ))),
        None => Ok(arguments.indexes.clone()),
    }
}

fn sources(arguments: &Arguments) -> Result<Vec<Source>> {
    let count = arguments.keys.unwrap_or(KEYS);
    let mut real = match &arguments.paths {
        Some(path) => paths::file(path)?.keys,
        None => paths::slice()?.keys,
    };
    let (mut words, origin) = texts::words(&real);
    if let Some(keys) = arguments.keys {
        real = real.pick(&runs(real.len(), keys));
        words = words.pick(&runs(words.len(), keys));
    }
    let of = |name, about: &str, keys: Strings| {
        let entry = (keys.bytes() / keys.len().max(1) as u64 + VALUE_BYTES) as usize;
        Source {
            name,
            about: about.to_string(),
            keys,
            block: (BLOCK_BYTES / entry).max(1),
            integers: None,
        }
    };
    let seed = arguments.seed;
    let path_source = match &arguments.paths {
        Some(path) => path.display().to_string(),
        None => "the built-in slice".to_string(),
    };
    Ok(vec![
        Source {
            integers: Some(|key| {
                key.iter()
                    .fold(0, |n, digit| n * 10 + u64::from(digit - b'0'))
            }),
            ..of("decimal", "24 digits, uniform", decimal::keys(count, seed))
        },
        of("uuid", "random UUIDs as text", texts::uuids(count, seed)),
        of(
            "hash",
            "160 bits in hexadecimal",
            texts::hashes(count, seed),
        ),
        Source {
            block: BLOCK_BYTES / PATH_ENTRY_BYTES,
            ..of("paths", &path_source, real)
        },
        of("words", origin, words),
    ])
}

/// The size of an index over keys, with `block` keys in a block.
fn size(
    keys: &Strings,
    block: usize,
    spec: &IndexSpec,
    number: impl Fn(&[u8]) -> u64,
) -> Result<Size> {
    let build = || {
        let mut builder = registry::builder(spec)?;
        let mut before: &[u8] = &[];
        for (rank, key) in keys.iter().enumerate() {
            if rank > 0 && rank % block == 0 {
                builder.cut(before, key);
            }
            builder.push(key, number(key))?;
            before = key;
        }
        registry::open(builder.finish()?)
    };
    match build() {
        Ok(index) => Ok(Size::Fits(index.size_in_bytes())),
        Err(IndexError::Unfit { .. }) => Ok(Size::Unfit),
        Err(error) => Err(Error::index(spec, error)),
    }
}

/// Bytes of one index over one source, for each way to number the keys.
struct Sizes {
    map: Size,
    /// Bytes of the key map itself.
    map_bytes: usize,
    eight_bytes: Size,
    fp: Size,
    integers: Option<Size>,
}

impl Sizes {
    fn of(source: &Source, map: &KeyMap, spec: &IndexSpec, fp: Size) -> Result<Sizes> {
        let (keys, block) = (&source.keys, source.block);
        let plain = KeyMap::eight_bytes();
        let eight_bytes = |key: &[u8]| plain.number(key);
        let integers = source.integers.map(|number| {
            let mut integers = Strings::default();
            keys.iter()
                .for_each(|key| integers.push(&number(key).to_be_bytes()));
            size(&integers, block, spec, eight_bytes)
        });
        Ok(Sizes {
            map: size(keys, block, spec, |key| map.number(key))?,
            map_bytes: map.size_in_bytes(),
            eight_bytes: size(keys, block, spec, eight_bytes)?,
            fp,
            integers: integers.transpose()?,
        })
    }

    /// The bytes of a table: of the index and the map, or of fence pointers, which need no map.
    fn taken(&self, size: Size, map_bytes: usize) -> Option<usize> {
        match (size, self.fp) {
            (Size::Fits(bytes), _) => Some(bytes + map_bytes),
            (Size::Unfit, Size::Fits(bytes)) => Some(bytes),
            (Size::Unfit, Size::Unfit) => None,
        }
    }

    /// Bytes with the key map, with eight bytes, of fence pointers, and over integers.
    fn bytes(&self) -> [Option<usize>; 4] {
        [
            self.taken(self.map, self.map_bytes),
            self.taken(self.eight_bytes, 0),
            self.taken(self.fp, 0),
            self.integers.and_then(|size| self.taken(size, 0)),
        ]
    }

    fn keep(&self, source: &Source, spec: &IndexSpec, bench: &mut Bench) {
        let subject = Subject {
            experiment: NAME,
            input: source.name.to_string(),
            index: spec.to_string(),
        };
        let report = &mut bench.report;
        report.put(&subject, "keys", source.keys.len() as f64, "keys");
        report.put(&subject, "map_bytes", self.map_bytes as f64, "B");
        let names = ["key map", "eight bytes", "fp", "integers"];
        for (name, bytes) in names.into_iter().zip(self.bytes()) {
            if let Some(bytes) = bytes {
                let each = bytes as f64 / source.keys.len() as f64;
                report.put(&subject, &format!("{name}_a_key"), each, "B");
            }
        }
        for (name, size) in [("key map", self.map), ("eight bytes", self.eight_bytes)] {
            let unfit = f64::from(u8::from(size == Size::Unfit));
            report.put(&subject, &format!("{name}_fallback"), unfit, "");
        }
    }

    fn cells(&self, source: &Source, spec: &IndexSpec) -> Vec<String> {
        let each = |bytes: Option<usize>| {
            let each = bytes.map(|bytes| bytes as f64 / source.keys.len() as f64);
            table::number(each, 3)
        };
        let ratio = |a: Option<usize>, b: Option<usize>| {
            let ratio = a.zip(b).map(|(a, b)| a as f64 / b as f64);
            table::number(ratio, 2)
        };
        let mark = |size| {
            if size == Size::Unfit {
                " fp (fallback)"
            } else {
                ""
            }
        };
        let [map, eight, fp, integers] = self.bytes();
        vec![
            source.name.to_string(),
            spec.to_string(),
            each(map) + mark(self.map),
            each(eight) + mark(self.eight_bytes),
            ratio(eight, map),
            each(fp),
            ratio(fp, map),
            each(integers),
            ratio(map, integers),
        ]
    }
}
