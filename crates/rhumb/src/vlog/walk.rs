//! Reading all records of a value file, one after the other.

use std::path::Path;

use super::reader::{HEADER_BYTES, check_header};
use super::record::Wanted;
use crate::entry::Pointer;
use crate::entry::operations::{Op, OperationIter};
use crate::error::{Error, Result};

/// A record of a value file, whose checksum matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub keyspace: u32,
    pub key: &'a [u8],
    pub value: &'a [u8],
    /// Where it lies.
    pub pointer: Pointer,
}

/// Goes over the records of a value file; ends after the first error.
#[derive(Debug)]
pub(crate) struct RecordWalk<'a> {
    path: &'a Path,
    number: u64,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> RecordWalk<'a> {
    /// The records in `bytes`, the whole value file `number`.
    ///
    /// # Errors
    /// If the header is not that of the file.
    pub fn new(path: &'a Path, number: u64, bytes: &'a [u8]) -> Result<Self> {
        check_header(bytes.get(..HEADER_BYTES).unwrap_or(bytes), path, number)?;
        Ok(RecordWalk {
            path,
            number,
            bytes,
            at: HEADER_BYTES,
        })
    }

    fn step(&mut self, rest: &'a [u8]) -> Result<Record<'a>> {
        let offset = self.at as u64;
        let corruption = |expected: String, found: String| {
            Err(Error::corruption(self.path, offset, expected, found))
        };
        let put = OperationIter::new(rest).next().transpose();
        let Ok(Some(operation)) = put else {
            return corruption("a record".into(), "other bytes, or its beginning".into());
        };
        let Op::Put { key, value } = operation.op else {
            return corruption("a put".into(), format!("{operation:?}"));
        };
        let Some(pointer) = Pointer::new(self.number, offset, value.len()) else {
            return corruption("a pointer to a record".into(), "one out of range".into());
        };
        let keyspace = operation.keyspace;
        let wanted = Wanted {
            keyspace,
            key,
            pointer,
        };
        let len = usize::try_from(wanted.record_bytes()).unwrap_or(usize::MAX);
        let record = rest.get(..len).unwrap_or(rest);
        if let Err(mismatch) = wanted.value_in(record) {
            return corruption(mismatch.expected, mismatch.found);
        }
        self.at += len;
        Ok(Record {
            keyspace,
            key,
            value,
            pointer,
        })
    }
}

impl<'a> Iterator for RecordWalk<'a> {
    type Item = Result<Record<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let step = self.step(rest);
        if step.is_err() {
            self.at = self.bytes.len();
        }
        Some(step)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fs::{Access, FileSystem, MemoryFileSystem, ops};
    use crate::vlog::{KeptValues, ValueReader, ValueWriter};

    const ENTRIES: [(&[u8], &[u8]); 4] = [
        (b"a", b""),
        (b"", b"of the empty key"),
        (b"b", &[7; 700_000]),
        (b"a", b"again"),
    ];

    /// A file with these entries, its bytes, and where the values lie.
    fn file(fs: &Arc<dyn FileSystem>) -> (Vec<u8>, Vec<Pointer>) {
        let dir = Path::new("");
        let mut writer = ValueWriter::create(fs, dir, 9, 300, 1).unwrap();
        let append = |(key, value): (&[u8], &[u8])| writer.append(key, value).unwrap().unwrap();
        let pointers = ENTRIES.map(append).to_vec();
        writer.finish().unwrap();
        let bytes = ops::read_all(&**fs, path()).unwrap();
        assert_eq!(bytes.len() as u64, writer.bytes());
        (bytes, pointers)
    }

    fn path() -> &'static Path {
        Path::new("000009.values")
    }

    fn open(fs: &Arc<dyn FileSystem>, number: u64, end: u64) -> Result<ValueReader> {
        let kept = KeptValues::none()?;
        ValueReader::open(&**fs, path(), (number, end), Access::Buffered, &kept)
    }

    #[test]
    fn values_come_back_by_their_places_and_in_order() {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let (bytes, pointers) = file(&fs);
        let reader = open(&fs, 9, bytes.len() as u64).unwrap();
        for ((key, value), pointer) in ENTRIES.iter().zip(&pointers) {
            assert_eq!(&*reader.read(300, key, *pointer, true).unwrap(), *value);
            assert!(reader.read(301, key, *pointer, true).is_err());
            assert!(reader.read(300, b"other", *pointer, true).is_err());
        }
        let walk = RecordWalk::new(path(), 9, &bytes).unwrap();
        let found: Vec<_> = walk
            .map(|r| r.map(|r| (r.key, r.value, r.pointer)).unwrap())
            .collect();
        let expected = ENTRIES
            .iter()
            .zip(&pointers)
            .map(|((k, v), p)| (*k, *v, *p));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn pointers_beyond_the_file_take_no_memory() {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let (bytes, pointers) = file(&fs);
        let reader = open(&fs, 9, bytes.len() as u64).unwrap();
        for pointer in [
            Pointer {
                len: u32::MAX,
                ..pointers[0]
            },
            Pointer {
                offset: 0,
                ..pointers[0]
            },
            Pointer {
                offset: Pointer::LIMIT - 1,
                ..pointers[0]
            },
            Pointer {
                offset: pointers[0].offset + 1,
                ..pointers[0]
            },
        ] {
            let read = reader.read(300, b"a", pointer, true);
            let error = read.unwrap_err().to_string();
            assert!(error.contains("000009.values"), "{error}");
            assert!(
                error.contains(&format!("offset {}", pointer.offset)),
                "{error}"
            );
        }
    }

    #[test]
    fn cut_files_and_other_files_are_refused() {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let (bytes, _) = file(&fs);
        assert!(open(&fs, 9, bytes.len() as u64).is_ok());
        assert!(open(&fs, 9, bytes.len() as u64 + 1).is_err());
        assert!(open(&fs, 8, bytes.len() as u64).is_err());
        for cut in (0..60).chain([bytes.len() - 1]) {
            let records = RecordWalk::new(path(), 9, &bytes[..cut]).map(|walk| walk.last());
            let ends_well = matches!(records, Ok(None | Some(Ok(_))));
            let ends: Vec<_> = RecordWalk::new(path(), 9, &bytes)
                .unwrap()
                .map(|r| r.unwrap().pointer.offset)
                .collect();
            assert_eq!(ends_well, ends.contains(&(cut as u64)), "cut at {cut}");
        }
        let mut later = header_of_version(2);
        later.extend_from_slice(&bytes[HEADER_BYTES..]);
        let error = RecordWalk::new(path(), 9, &later).unwrap_err().to_string();
        assert!(error.contains("version 2"), "{error}");
    }

    fn header_of_version(version: u32) -> Vec<u8> {
        let mut header = [
            &b"rhumbVAL"[..],
            &version.to_le_bytes(),
            &9u64.to_le_bytes(),
        ]
        .concat();
        let sum = crate::entry::checksum::crc(&header);
        header.extend_from_slice(&sum.to_le_bytes());
        header
    }
}
