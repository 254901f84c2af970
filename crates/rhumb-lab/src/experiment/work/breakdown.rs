//! The parts of the time of a get.

use std::time::Duration;

use rhumb::internals::GetTimes;

use crate::data::Random;
use crate::error::{Error, Result};
use crate::experiment::Reading;
use crate::experiment::study::Study;
use crate::results::Measured;

/// A part of a get with its name.
type Part = (&'static str, fn(&GetTimes) -> Duration);

/// Finding the table of each level and testing its filter count as one part.
const PARTS: [Part; 4] = [
    ("part_filter", |times| {
        times.write_buffers + times.tables + times.filters
    }),
    ("part_predict", |times| times.key_map + times.index),
    ("part_read", |times| times.reads),
    ("part_search", |times| times.search),
];

fn untimed(store: &str) -> Error {
    Error::Usage(format!(
        "{store} does not time the parts of a get: leave it out of this experiment"
    ))
}

/// Times the parts of gets of random present keys, from the page cache, and their sum, `part_all`.
///
/// # Errors
/// Failures of the store; a key that is not found; a store that does not time the parts.
pub fn measure(study: &Study<'_>) -> Result<Measured> {
    let amounts = study.setting.amounts;
    let store = study.open(Reading::Cached)?;
    let keys = &study.records.input.keys;
    let mut random = Random::new(study.setting.seed, 0xb4ea);
    let mut gets = |count: usize| -> Result<[Duration; PARTS.len()]> {
        let mut sums = [Duration::ZERO; PARTS.len()];
        for _ in 0..count {
            let key = keys.get(random.below(keys.len() as u64) as usize);
            let times = store.get_timed(key)?.ok_or_else(|| untimed(&study.name))?;
            if !times.found {
                return Err(Error::WrongAnswer {
                    store: study.name.clone(),
                    operation: "get",
                    key: key.escape_ascii().to_string(),
                    expected: "a value".to_string(),
                    found: "none".to_string(),
                });
            }
            let parts = sums.iter_mut().zip(PARTS);
            parts.for_each(|(sum, (_, part))| *sum += part(&times));
        }
        study.setting.progress.advance(0)?;
        Ok(sums)
    };
    gets(amounts.gets / 4)?;
    let mut measured = Measured::default();
    let sums = gets(amounts.gets)?;
    let each = |sum: Duration| sum.as_nanos() as f64 / amounts.gets as f64;
    for ((name, _), sum) in PARTS.iter().zip(sums) {
        measured.put(name, each(sum), "ns");
    }
    measured.put("part_all", each(sums.iter().sum()), "ns");
    store.close()?;
    Ok(measured)
}
