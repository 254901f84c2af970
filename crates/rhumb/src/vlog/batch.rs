//! Reading many values at once, in the order of their places.

use super::reader::ValueReader;
use super::record::Wanted;
use crate::entry::Pointer;
use crate::error::{Error, Result};
use crate::fs::Access;
use crate::fs::ring::{self, MOST_BYTES, Part};
use crate::fs::threads;
use crate::memory::Pinned;

/// A record that lies at most so many bytes behind another is read with it.
const NEAR: u64 = 4 << 10;
/// Longer ones are read alone.
const LARGE: u64 = 64 << 10;
/// At most so many are read together.
const MOST_TOGETHER: usize = 64;

/// A value that is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// Where its answer goes.
    pub place: usize,
    /// The reader of the file that the pointer leads into.
    pub reader: &'a ValueReader,
    pub keyspace: u32,
    pub key: &'a [u8],
    pub pointer: Pointer,
}

/// Requests for records near to each other, in the order in which these lie.
type Span<'a, 'r> = &'a [&'r Request<'r>];

/// Values, or why they cannot be read, with the places of their requests.
type Placed = Vec<(usize, Result<Pinned>)>;

/// Puts the values that are wanted at their places: those in memory, then one read for those near to each other, and many
/// reads at a time where the system can, or keeps nothing of the files in memory. Each may fail alone, as
/// [`ValueReader::read`].
pub(crate) fn read_all(
    requests: &[Request<'_>],
    access: Access,
    keep: bool,
    values: &mut [Result<Pinned>],
) {
    let mut sorted = Vec::with_capacity(requests.len());
    for request in requests {
        match request.kept() {
            Some(value) => put(values, request.place, Ok(value)),
            None => sorted.push(request),
        }
    }
    sorted.sort_unstable_by_key(|request| (request.pointer.file, request.pointer.offset));
    let parts = sorted.chunks(MOST_TOGETHER);
    let spans = parts.flat_map(|part| part.chunk_by(|a, b| a.is_near(b)));
    let mut spans: Vec<Span<'_, '_>> = spans.collect();
    if spans.len() > 1 {
        read_by_ring(&mut spans, keep, values);
    }
    let placed: Vec<Placed> = match access {
        Access::Direct => threads::each(&spans, |span| read_span(span, keep)),
        Access::Buffered => spans.iter().map(|span| read_span(span, keep)).collect(),
    };
    for (place, value) in placed.into_iter().flatten() {
        put(values, place, value);
    }
}

/// Where answers go to: an error each, until they come.
pub(crate) fn unread(answers: usize) -> Vec<Result<Pinned>> {
    let unread = Error::InvalidArgument("a value was asked for and not read".into());
    vec![Err(unread); answers]
}

/// Puts an answer at its place.
pub(crate) fn put(values: &mut [Result<Pinned>], place: usize, value: Result<Pinned>) {
    if let Some(into) = values.get_mut(place) {
        *into = value;
    }
}

/// Reads spans together, as many as the system brings so, and leaves the others.
fn read_by_ring(spans: &mut Vec<Span<'_, '_>>, keep: bool, values: &mut [Result<Pinned>]) {
    let parts = spans.iter().enumerate();
    let parts = parts.filter_map(|(place, span)| Some((place, part_of(span)?)));
    let (places, parts): (Vec<usize>, Vec<Part<'_>>) = parts.unzip();
    let mut arrived = vec![false; spans.len()];
    ring::read_all(&parts, |part, bytes| {
        let place = places.get(part).copied().unwrap_or(usize::MAX);
        let (Some(span), Some(arrived)) = (spans.get(place), arrived.get_mut(place)) else {
            return;
        };
        // If one fails, all are read again, alone: then the value is there, or the error.
        *arrived = values_in(span, bytes, keep).all(|read| match read {
            Some((place, Ok(value))) => {
                put(values, place, Ok(value));
                true
            }
            _ => false,
        });
    });
    let mut arrived = arrived.into_iter();
    spans.retain(|_| arrived.next() != Some(true));
}

/// The part of its file that a span takes; `None` if it is long, or cannot be read with others.
fn part_of<'r>(span: Span<'_, 'r>) -> Option<Part<'r>> {
    let (first, (from, to)) = (span.first()?, ends(span)?);
    let is_short = to.checked_sub(from)? <= MOST_BYTES;
    let part = is_short.then(|| first.reader.part(from, to));
    part.flatten()
}

/// The values of a span, read together. If that fails, each is read alone: only some may be out of reach.
fn read_span(span: Span<'_, '_>, keep: bool) -> Placed {
    let alone = |request: &&Request<'_>| (request.place, request.read(keep));
    match read_together(span, keep) {
        Some(values) => values,
        None => span.iter().map(alone).collect(),
    }
}

fn read_together(span: Span<'_, '_>, keep: bool) -> Option<Placed> {
    let [first, _, ..] = span else {
        return None;
    };
    let (from, to) = ends(span)?;
    let bytes = first.reader.read_bytes(from, to).ok()?;
    values_in(span, &bytes, keep).collect()
}

/// Where the records of a span begin and end in their file.
fn ends(span: Span<'_, '_>) -> Option<(u64, u64)> {
    let first = span.first()?;
    let end = span.iter().map(|request| request.end()).max()?;
    Some((first.pointer.offset, end))
}

/// The values of a span in its bytes, with the places of their requests.
fn values_in<'a>(
    span: Span<'a, 'a>,
    bytes: &'a [u8],
    keep: bool,
) -> impl Iterator<Item = Option<(usize, Result<Pinned>)>> {
    let start = span.first().map_or(0, |first| first.pointer.offset);
    span.iter().map(move |request| {
        let from = usize::try_from(request.pointer.offset - start).ok()?;
        let to = usize::try_from(request.end() - start).ok()?;
        let record = bytes.get(from..to)?;
        let value = request.reader.copy(request.wanted(), record, keep);
        Some((request.place, value))
    })
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
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::fs::{FileSystem, MemoryFileSystem, OsFileSystem, ReadFile};
    use crate::memory::BlockCache;
    use crate::vlog::{KeptValues, ValueWriter, header, record};

    fn key(n: usize) -> Vec<u8> {
        format!("key{n}").into_bytes()
    }

    fn value(n: usize) -> Vec<u8> {
        // Some are large, so that they are read alone.
        vec![n as u8; if n % 50 == 7 { 100_000 } else { 10 * n }]
    }

    /// Writes the records, and returns the reader of their file and where they lie.
    fn written(
        fs: Arc<dyn FileSystem>,
        directory: &Path,
        access: Access,
    ) -> (ValueReader, Vec<Pointer>) {
        let mut writer = ValueWriter::create(&fs, directory, 3, 9, 1).unwrap();
        let mut append = |n| writer.append(&key(n), &value(n)).unwrap().unwrap();
        let pointers = (0..300).map(&mut append).collect();
        writer.finish().unwrap();
        let (path, whole) = (directory.join("000003.values"), (3, writer.bytes()));
        let cache = Arc::new(BlockCache::new(256 << 10).unwrap());
        let kept = Arc::new(KeptValues::new(&cache));
        let reader = ValueReader::open(&*fs, &path, whole, access, &kept).unwrap();
        (reader, pointers)
    }

    fn answers(requests: &[Request<'_>], access: Access, keep: bool) -> Vec<Result<Pinned>> {
        let mut values = unread(requests.len());
        read_all(requests, access, keep, &mut values);
        values
    }

    /// Requests for single values, several of the same, and neighbours, far from each other or near, in any order;
    /// one of them leads to another key, one beyond the end.
    fn check_answers(reader: &ValueReader, pointers: &[Pointer], access: Access) {
        let wanted = (0..300).map(|n| (n * 7) % 300).chain([5, 5, 6, 299, 0]);
        let keys: Vec<(usize, Vec<u8>)> = wanted.map(|n| (n, key(n))).collect();
        let mut requests: Vec<Request<'_>> = keys
            .iter()
            .enumerate()
            .map(|(place, (n, key))| Request {
                place,
                reader,
                keyspace: 9,
                key,
                pointer: pointers[*n],
            })
            .collect();
        requests[20].key = b"other";
        requests[30].pointer.len += 1 << 30;
        // Key 299, beside its neighbour, and a byte beyond the end.
        requests[303].pointer.len += 1;
        for keep in [false, true, true] {
            let values = answers(&requests, access, keep);
            for (i, ((n, _), found)) in keys.iter().zip(&values).enumerate() {
                match i {
                    20 | 30 | 303 => assert!(found.is_err()),
                    _ => assert_eq!(**found.as_ref().unwrap(), value(*n)),
                }
            }
        }
    }

    #[test]
    fn each_request_gets_its_own_answer() {
        for access in [Access::Buffered, Access::Direct] {
            let memory = Arc::new(MemoryFileSystem::new());
            let (reader, pointers) = written(memory, Path::new(""), access);
            check_answers(&reader, &pointers, access);
            let directory = tempfile::tempdir().unwrap();
            let files = Arc::new(OsFileSystem::new());
            let (reader, pointers) = written(files, directory.path(), access);
            check_answers(&reader, &pointers, access);
        }
    }

    /// Bytes of which none can be read from an offset on.
    #[derive(Debug)]
    struct BadBehind(Vec<u8>, u64);

    impl ReadFile for BadBehind {
        fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
            match offset + into.len() as u64 <= self.1 {
                true => io::Read::read(&mut &self.0[offset as usize..], into),
                false => Err(io::Error::other("a bad sector")),
            }
        }

        fn len(&self) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    /// Where what is read together cannot be read, each value still is.
    #[test]
    fn one_bad_record_does_not_hide_its_neighbours() {
        let mut bytes = header(3).to_vec();
        let mut pointers = Vec::new();
        for _ in 0..100 {
            let offset = bytes.len() as u64;
            pointers.push(Pointer::new(3, offset, 100).unwrap());
            record::encode((9, b"key", &[7; 100]), (3, offset), &mut bytes);
        }
        let end = bytes.len() as u64;
        let file = Arc::new(BadBehind(bytes, pointers[50].offset));
        let reader = ValueReader::for_tests(file, end);
        let requests = pointers.iter().enumerate().map(|(place, pointer)| Request {
            place,
            reader: &reader,
            keyspace: 9,
            key: b"key",
            pointer: *pointer,
        });
        let values = answers(&requests.collect::<Vec<_>>(), Access::Buffered, false);
        let readable: Vec<bool> = values.iter().map(Result::is_ok).collect();
        assert_eq!(readable, [[true; 50], [false; 50]].concat());
    }
}
