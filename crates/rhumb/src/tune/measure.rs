//! Measures forms of tables: a sample of a table is written in each of them, read, and deleted.
//!
//! The forms take turns, one operation each. So whatever else the machine does slows down all of them alike, and each finds
//! its lines evicted by the others from the caches of the processor, as in a store that is larger than these: one after
//! another, forms of twenty times the memory would look equally fast.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::cost::{Costs, Known, SCAN_ENTRIES};
use super::layout::Layout;
use crate::entry::{Cursor, EntryKind, MAX_SEQUENCE, RangeDeletes};
use crate::error::{Error, Result};
use crate::fs::{names, ops};
use crate::memory::BlockCache;
use crate::sync::Arc;
use crate::table::{
    Asked, BlockSource, LARGE_ENTRY_BYTES, NumberCache, OpenAs, TableReader, TableSettings,
    TableWriter, hash_key,
};
use crate::version::Files;

/// The bytes of keys and values of a sample, about.
const SAMPLE_BYTES: usize = 4 << 20;
/// Tables of fewer entries are not sampled, and a sample of fewer says little of the forms.
pub(super) const LEAST_ENTRIES: u64 = 1_000;
const FEWEST: usize = 256;
/// The keys that are looked up, and those from which scans begin.
const GETS: usize = 4_096;
const SCANS: usize = 256;
/// A round ends after this time, on a slow device; and it is asked after so many keys whether to go on.
const LONGEST: Duration = Duration::from_millis(500);
const ASK_AFTER: usize = 16;
/// One operation in so many is left out, the slowest ones: what else runs interrupted them.
const LEFT_OUT: usize = 10;
/// The room for a sample in the cache, as a multiple of its bytes.
const CACHED_TIMES: u64 = 4;

/// No more entries of a table are gone over for a sample.
const MOST_PASSED: usize = 200_000;

/// A key and its value.
type Entry = (Box<[u8]>, Box<[u8]>);

/// Entries of a table, of distinct keys.
pub(super) struct Sample {
    entries: Vec<Entry>,
    bytes: usize,
}

impl Sample {
    /// The first entries of a table: of each key one, with its value, or the pointer to it. Large ones, which have a block of
    /// their own in all forms, are left out.
    ///
    /// # Errors
    /// If the table cannot be read or is damaged, or what is left of it are too few entries; what `go_on` returns.
    pub fn of(reader: &Arc<TableReader>, go_on: &dyn Fn() -> Result<()>) -> Result<Sample> {
        let mut sample = Sample {
            entries: Vec::new(),
            bytes: 0,
        };
        let mut cursor = reader.cursor(false);
        cursor.seek_first()?;
        let mut passed = 0;
        while cursor.valid() && sample.bytes < SAMPLE_BYTES && passed < MOST_PASSED {
            if passed % ASK_AFTER == 0 {
                go_on()?;
            }
            passed += 1;
            let (key, value) = (cursor.key(), cursor.value_bytes());
            let (last, bytes) = (sample.entries.last(), key.len() + value.len());
            let is_new = last.is_none_or(|(last, _)| **last != *key);
            if is_new && bytes <= LARGE_ENTRY_BYTES {
                sample.bytes += bytes;
                sample.entries.push((key.into(), value.into()));
            }
            cursor.next()?;
        }
        match sample.entries.len() < FEWEST {
            true => Err(Error::InvalidArgument(format!(
                "a sample of {} entries is too small: entries are too large for forms to differ",
                sample.entries.len()
            ))),
            false => Ok(sample),
        }
    }

    /// The mean bytes of a key and its value.
    pub fn entry_bytes(&self) -> f64 {
        self.bytes as f64 / self.entries.len().max(1) as f64
    }

    /// So many of its keys, spread over all of it in an order that jumps about.
    fn keys(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        let len = self.entries.len();
        // A step near the golden ratio of the length visits far places one after another, and all of them if it has no
        // divisor in common with the length.
        let golden = (len as f64 * 0.618) as usize + 1;
        let step = (golden..).find(|step| gcd(*step, len) <= 1).unwrap_or(1);
        let places = (0..count.min(len)).map(move |nth| (nth * step) % len);
        places.filter_map(|place| self.entries.get(place).map(|(key, _)| &**key))
    }
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What forms are measured for: tables of merges.
pub(crate) struct Bench<'a> {
    pub files: &'a Files,
    /// The settings of the tables that it writes, with what is set.
    pub settings: &'a TableSettings,
    /// Called with the bytes that are written next; waits as long as it has to.
    pub pace: &'a dyn Fn(u64),
    /// Asked from time to time; an error ends the work.
    pub go_on: &'a dyn Fn() -> Result<()>,
}

/// What is measured.
pub(super) struct Trial<'a> {
    pub bench: &'a Bench<'a>,
    pub sample: &'a Sample,
}

/// A sample in one form.
struct Subject {
    layout: Layout,
    /// Without a cache,
    uncached: Arc<TableReader>,
    /// and with one that holds all of it.
    cached: Arc<TableReader>,
}

impl Trial<'_> {
    /// What forms cost. Those behind the first are missing that the sample cannot take, since it takes another one of them; of the
    /// first, which is what is set, it is what it takes.
    ///
    /// # Errors
    /// If the sample cannot be written or read; what [`Bench::go_on`] returns.
    pub fn measure(&self, layouts: Vec<Layout>) -> Result<Vec<Known>> {
        let files = self.bench.files;
        let numbers: Vec<u64> = layouts.iter().map(|_| files.new_number()).collect();
        let subjects = layouts.into_iter().zip(&numbers);
        let subjects = subjects.map(|(layout, number)| self.write(*number, layout));
        let subjects: Result<Vec<Subject>> = subjects.collect();
        let known = subjects.and_then(|subjects| {
            let of_its_own =
                |(place, subject): &(usize, Subject)| *place == 0 || !subject.cached.fell_back();
            let subjects = subjects.into_iter().enumerate().filter(of_its_own);
            self.compare(subjects.map(|(_, subject)| subject).collect())
        });
        for number in numbers {
            // The next opening deletes what remains.
            let _ = ops::remove(&*files.fs, &self.path(number));
        }
        known
    }

    /// Writes the sample in one form.
    fn write(&self, number: u64, layout: Layout) -> Result<Subject> {
        let (
            Bench {
                files, settings, ..
            },
            bytes,
        ) = (self.bench, self.sample.bytes as u64);
        (self.bench.go_on)()?;
        (self.bench.pace)(bytes);
        let mut settings = (*settings).clone();
        settings.index = layout.index.clone();
        settings.spec.partition = layout.partition;
        let mut writer = TableWriter::create_at(&files.fs, self.path(number), number, &settings)?;
        for (key, value) in &self.sample.entries {
            writer.add(key, 0, EntryKind::Put, value)?;
        }
        writer.finish(&RangeDeletes::default())?;
        Ok(Subject {
            layout,
            uncached: self.open(number, 0)?,
            cached: self.open(number, bytes * CACHED_TIMES)?,
        })
    }

    fn open(&self, number: u64, cache_bytes: u64) -> Result<Arc<TableReader>> {
        let (files, cache) = (self.bench.files, Arc::new(BlockCache::new(cache_bytes)?));
        let path = self.path(number);
        let open_as = OpenAs {
            access: files.access,
            ..OpenAs::buffered(cache)
        };
        TableReader::open_any(&*files.fs, &path, number, open_as).map(Arc::new)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.bench.files.dir.join(names::sample_name(number))
    }

    fn compare(&self, subjects: Vec<Subject>) -> Result<Vec<Known>> {
        let uncached: Vec<_> = subjects.iter().map(|s| &s.uncached).collect();
        let cached: Vec<_> = subjects.iter().map(|s| &s.cached).collect();
        // The first rounds fill the cache.
        self.times(&cached, GETS, get)?;
        self.times(&cached, SCANS, scan)?;
        let cached_gets = self.times(&cached, GETS, get)?;
        let cached_scans = self.times(&cached, SCANS, scan)?;
        let uncached_gets = self.times(&uncached, GETS, get)?;
        let uncached_scans = self.times(&uncached, SCANS, scan)?;
        let times = cached_gets.into_iter().zip(cached_scans);
        let times = times.zip(uncached_gets.into_iter().zip(uncached_scans));
        let known = subjects.iter().zip(times);
        let known = known.map(|(subject, ((cached_get, cached_scan), uncached))| {
            let (reader, memory) = (&subject.cached, subject.cached.memory());
            let costs = Costs {
                cached_get,
                cached_scan,
                uncached_get: uncached.0,
                uncached_scan: uncached.1,
                memory: (memory.index + memory.directory) as f64 / reader.entries().max(1) as f64,
            };
            Known::new(subject.layout.clone(), costs)
        });
        Ok(known.collect())
    }

    /// The mean nanoseconds that `work` takes with each reader, over some keys.
    fn times(
        &self,
        readers: &[&Arc<TableReader>],
        keys: usize,
        work: impl Fn(&Arc<TableReader>, &[u8]) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let mut subjects: Vec<_> = readers
            .iter()
            .map(|r| (*r, Vec::with_capacity(keys)))
            .collect();
        let (count, began) = (subjects.len().max(1), Instant::now());
        for (nth, key) in self.sample.keys(keys).enumerate() {
            if nth % ASK_AFTER == 0 {
                (self.bench.go_on)()?;
                if began.elapsed() > LONGEST {
                    break;
                }
            }
            // The key is loaded before the first one needs it, and another one is first each time.
            black_box(hash_key(key));
            let (rest, first) = subjects.split_at_mut(nth % count);
            for (reader, taken) in first.iter_mut().chain(rest) {
                let started = Instant::now();
                work(reader, key)?;
                taken.push(started.elapsed().as_nanos() as f64);
            }
        }
        let taken = subjects.into_iter().map(|(_, taken)| taken);
        Ok(taken.map(usual_mean).collect())
    }
}

/// The mean without the slowest ones.
fn usual_mean(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.truncate(times.len() - times.len() / LEFT_OUT);
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

fn get(reader: &Arc<TableReader>, key: &[u8]) -> Result<()> {
    let (asked, mut source) = (Asked::alone(key, MAX_SEQUENCE), BlockSource::new(true));
    let mut numbers = NumberCache::default();
    match reader.get(&asked, &mut numbers, &mut source)? {
        Some(found) => drop(black_box(found)),
        None => {
            let expected = format!("key {key:02x?}, which was written to it");
            return Err(Error::corruption(reader.path(), 0, expected, "no such key"));
        }
    }
    Ok(())
}

fn scan(reader: &Arc<TableReader>, key: &[u8]) -> Result<()> {
    let mut cursor = reader.cursor(true);
    cursor.seek(key, MAX_SEQUENCE)?;
    for _ in 0..SCAN_ENTRIES {
        if !cursor.valid() {
            break;
        }
        black_box((cursor.key(), cursor.value_bytes()));
        cursor.next()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruptions_are_left_out() {
        let mut times = vec![100.0; 90];
        times.extend([1e9; 10]);
        assert_eq!(usual_mean(times), 100.0);
        assert_eq!(usual_mean(vec![7.0]), 7.0);
        assert_eq!(usual_mean(Vec::new()), 0.0);
    }

    #[test]
    fn keys_are_spread_over_all_of_a_sample() {
        let entry = |n: u32| (n.to_be_bytes().into(), Box::default());
        let mut sample = Sample {
            entries: (0..10_000).map(entry).collect(),
            bytes: 40_000,
        };
        let mut parts = [0; 10];
        for key in sample.keys(100) {
            parts[u32::from_be_bytes(key.try_into().unwrap()) as usize / 1_000] += 1;
        }
        assert!(
            parts.iter().all(|count| (5..=15).contains(count)),
            "{parts:?}"
        );
        assert_eq!(sample.entry_bytes(), 4.0);
        // No two are the same, whatever the length.
        for len in [1, 2, 3, 97, 1_045, 4_096] {
            sample.entries = (0..len as u32).map(entry).collect();
            let mut keys: Vec<&[u8]> = sample.keys(len).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), len);
        }
        sample.entries.clear();
        assert_eq!(sample.keys(100).count(), 0);
    }
}
