//! Reading many values at once, in the order of their places.

use std::thread;

use super::reader::ValueReader;
use super::record::Wanted;
use crate::entry::Pointer;
use crate::error::Result;
use crate::fs::Access;
use crate::memory::Pinned;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// A record that lies at most so many bytes behind another is read with it.
const NEAR: u64 = 4 << 10;
/// Longer ones are read alone.
const LARGE: u64 = 64 << 10;
/// At most so many are read together.
const MOST_TOGETHER: usize = 64;
/// So many reads are under way at a time, where each waits for the device.
const AT_ONCE: usize = 16;

/// A value that is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The reader of the file that the pointer leads into.
    pub reader: &'a ValueReader,
    pub keyspace: u32,
    pub key: &'a [u8],
    pub pointer: Pointer,
}

/// Requests with their places among all, for records near to each other.
type Span<'a, 'r> = &'a [(usize, &'r Request<'r>)];

/// The values, in the order of the requests: those in memory, then one read for those near to each other, and several
/// at a time where the system keeps nothing of the files in memory. Each may fail alone, as [`ValueReader::read`].
pub(crate) fn read_all(
    requests: &[Request<'_>],
    access: Access,
    keep: bool,
) -> Vec<Result<Pinned>> {
    let (mut values, mut sorted) = (Vec::with_capacity(requests.len()), Vec::new());
    for (place, request) in requests.iter().enumerate() {
        match request.kept() {
            Some(value) => values.push((place, Ok(value))),
            None => sorted.push((place, request)),
        }
    }
    sorted.sort_by_key(|(_, request)| (request.pointer.file, request.pointer.offset));
    let parts = sorted.chunks(MOST_TOGETHER);
    let spans = parts.flat_map(|part| part.chunk_by(|(_, a), (_, b)| a.is_near(b)));
    let spans: Vec<Span<'_, '_>> = spans.collect();
    match access {
        Access::Direct => values.extend(read_at_once(&spans, keep)),
        Access::Buffered => values.extend(spans.iter().flat_map(|span| read_span(span, keep))),
    }
    values.sort_by_key(|(place, _)| *place);
    values.into_iter().map(|(_, value)| value).collect()
}

fn read_at_once(spans: &[Span<'_, '_>], keep: bool) -> Vec<(usize, Result<Pinned>)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut values = Vec::new();
        while let Some(span) = spans.get(next.fetch_add(1, Ordering::Relaxed)) {
            values.extend(read_span(span, keep));
        }
        values
    };
    thread::scope(|scope| {
        let helpers = 1..AT_ONCE.min(spans.len());
        // Without some of the threads, the others read more.
        let helpers = helpers.map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
        let helpers: Vec<_> = helpers.collect();
        let mut values = work();
        for helper in helpers {
            let joined = helper.join();
            values.extend(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        values
    })
}

/// The values of a span, read together. If that fails, each is read alone: only some may be out of reach.
fn read_span(span: Span<'_, '_>, keep: bool) -> Vec<(usize, Result<Pinned>)> {
    let alone = |(place, request): &(usize, &Request<'_>)| (*place, request.read(keep));
    match read_together(span, keep) {
        Some(values) => values,
        None => span.iter().map(alone).collect(),
    }
}

fn read_together(span: Span<'_, '_>, keep: bool) -> Option<Vec<(usize, Result<Pinned>)>> {
    let [(_, first), _, ..] = span else {
        return None;
    };
    let start = first.pointer.offset;
    let end = span.iter().map(|(_, request)| request.end()).max()?;
    let bytes = first.reader.read_bytes(start, end).ok()?;
    let value = |(place, request): &(usize, &Request<'_>)| {
        let from = usize::try_from(request.pointer.offset - start).ok()?;
        let to = usize::try_from(request.end() - start).ok()?;
        let record = bytes.get(from..to)?;
        let value = request.reader.copy(request.wanted(), record, keep);
        Some((*place, value))
    };
    span.iter().map(value).collect()
}

impl Request<'_> {
    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            keyspace: self.keyspace,
            key: self.key,
            pointer: self.pointer,
        }
    }

    fn kept(&self) -> Option<Pinned> {
        self.reader.kept(self.keyspace, self.key, self.pointer)
    }

    fn read(&self, keep: bool) -> Result<Pinned> {
        self.reader
            .read(self.keyspace, self.key, self.pointer, keep)
    }

    /// The end of the record.
    fn end(&self) -> u64 {
        self.pointer
            .offset
            .saturating_add(self.wanted().record_bytes())
    }

    /// Whether another, which does not lie before, is read with this one.
    fn is_near(&self, next: &Request<'_>) -> bool {
        let same = self.pointer.file == next.pointer.file;
        let small = self
            .wanted()
            .record_bytes()
            .max(next.wanted().record_bytes())
            <= LARGE;
        same && small && next.pointer.offset <= self.end().saturating_add(NEAR)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::fs::{FileSystem, MemoryFileSystem};
    use crate::memory::BlockCache;
    use crate::vlog::{KeptValues, ValueWriter};

    fn key(n: usize) -> Vec<u8> {
        format!("key{n}").into_bytes()
    }

    fn value(n: usize) -> Vec<u8> {
        // Some are large, so that they are read alone.
        vec![n as u8; if n % 50 == 7 { 100_000 } else { 10 * n }]
    }

    /// Requests for single values, several of the same, and neighbours, far from each other or near, in any order;
    /// one of them leads to another key, one beyond the end.
    #[test]
    fn each_request_gets_its_own_answer() {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let mut writer = ValueWriter::create(&fs, Path::new(""), 3, 9, 1).unwrap();
        let mut append = |n| writer.append(&key(n), &value(n)).unwrap().unwrap();
        let pointers: Vec<Pointer> = (0..300).map(&mut append).collect();
        writer.finish().unwrap();
        let (path, whole) = (Path::new("000003.values"), (3, writer.bytes()));
        let kept = Arc::new(KeptValues::new(&Arc::new(
            BlockCache::new(256 << 10).unwrap(),
        )));
        let reader = ValueReader::open(&*fs, path, whole, Access::Buffered, &kept).unwrap();
        let wanted = (0..300).map(|n| (n * 7) % 300).chain([5, 5, 6, 299, 0]);
        let keys: Vec<(usize, Vec<u8>)> = wanted.map(|n| (n, key(n))).collect();
        let mut requests: Vec<Request<'_>> = keys
            .iter()
            .map(|(n, key)| Request {
                reader: &reader,
                keyspace: 9,
                key,
                pointer: pointers[*n],
            })
            .collect();
        requests[20].key = b"other";
        requests[30].pointer.len += 1 << 30;
        // Key 299, beside its neighbour, and a byte beyond the end.
        requests[303].pointer.len += 1;
        for (access, keep) in [
            (Access::Buffered, false),
            (Access::Direct, false),
            (Access::Direct, true),
            (Access::Buffered, true),
        ] {
            let values = read_all(&requests, access, keep);
            assert_eq!(values.len(), requests.len());
            for (i, ((n, _), found)) in keys.iter().zip(&values).enumerate() {
                match i {
                    20 | 30 | 303 => assert!(found.is_err()),
                    _ => assert_eq!(**found.as_ref().unwrap(), value(*n)),
                }
            }
            assert!(read_all(&[], access, keep).is_empty());
        }
    }
}
