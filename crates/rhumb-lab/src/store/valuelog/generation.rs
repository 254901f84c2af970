//! An index with the files that it points into.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::rhumb::fs::Access;

use super::segment::{Pointer, Segment};
use super::{Cursor, MakeIndex, Store};
use crate::error::{Error, Result};

/// The file that names the generation in use.
const CURRENT: &str = "CURRENT";

/// An index and the files that it may point into.
pub struct Generation {
    /// Its number; a collection of the whole log makes the next.
    pub number: u64,
    /// Its directory.
    pub directory: PathBuf,
    index: Arc<Index>,
    /// Its files by number.
    pub segments: BTreeMap<u32, Arc<Segment>>,
    /// The number of the next file; none is used twice while the log is open.
    next: u32,
}

/// An index, which is closed when nobody uses it any more. Fields are dropped in order.
struct Index {
    store: Box<dyn Store>,
    directory: Directory,
}

/// The directory of a generation.
struct Directory {
    path: PathBuf,
    /// Whether it is removed with the last user.
    is_left: AtomicBool,
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.is_left.load(Ordering::Acquire) {
            // If this fails, the next opening removes it, since it is not the one in use.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

impl Generation {
    /// Opens the generation in use, or makes the first; removes others.
    ///
    /// # Errors
    /// Any error of the index, or of the operating system; `CURRENT` without a number.
    pub fn open_current(directory: &Path, make: &MakeIndex, access: Access) -> Result<Generation> {
        let path = directory.join(CURRENT);
        let number = match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().map_err(|_| Error::Input {
                path,
                expected: "the number of a generation",
                found: text,
            })?,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => 1,
            Err(why) => return Err(Error::io("read", &path)(why)),
        };
        for name in names(directory)? {
            if name.parse::<u64>().is_ok_and(|other| other != number) {
                let left = directory.join(name);
                fs::remove_dir_all(&left).map_err(Error::io("remove", &left))?;
            }
        }
        let mut generation = Generation::open(directory, number, make)?;
        for file in names(&generation.directory)? {
            if let Some(number) = Segment::number_of(&file) {
                let segment = Segment::open(&generation.directory, number, access)?;
                generation.next = generation.next.max(number.saturating_add(1));
                match segment.length() {
                    0 => segment.remove()?,
                    _ => drop(generation.segments.insert(number, Arc::new(segment))),
                }
            }
        }
        generation.publish(directory)?;
        Ok(generation)
    }

    /// Opens the index of a generation or makes it, without files.
    ///
    /// # Errors
    /// Any error of the index, or of the operating system.
    pub fn open(store: &Path, number: u64, make: &MakeIndex) -> Result<Generation> {
        let directory = store.join(number.to_string());
        let index = directory.join("index");
        fs::create_dir_all(&index).map_err(Error::io("create", &index))?;
        Ok(Generation {
            number,
            index: Arc::new(Index {
                store: make(&index)?,
                directory: Directory {
                    path: directory.clone(),
                    is_left: AtomicBool::new(false),
                },
            }),
            directory,
            segments: BTreeMap::new(),
            next: 1,
        })
    }

    /// Makes it the one in use.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn publish(&self, store: &Path) -> Result<()> {
        let (new, path) = (store.join("NEXT"), store.join(CURRENT));
        fs::write(&new, self.number.to_string()).map_err(Error::io("write", &new))?;
        fs::rename(&new, &path).map_err(Error::io("rename", &new))
    }

    /// Has it removed when its last reader has gone.
    pub fn leave(&self) {
        let is_left = &self.index.directory.is_left;
        is_left.store(true, Ordering::Release);
    }

    /// The index.
    pub fn index(&self) -> &dyn Store {
        &*self.index.store
    }

    /// Closes the index, if nobody else has it.
    ///
    /// # Errors
    /// Any error of the index.
    pub fn close(self) -> Result<()> {
        match Arc::into_inner(self.index) {
            Some(index) => index.store.close(),
            None => Ok(()),
        }
    }

    /// The same index and files, of which some may be added or removed.
    pub fn with_same_index(&self) -> Generation {
        Generation {
            number: self.number,
            directory: self.directory.clone(),
            index: Arc::clone(&self.index),
            segments: self.segments.clone(),
            next: self.next,
        }
    }

    /// Adds an empty file.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn begin_segment(&mut self, access: Access) -> Result<Arc<Segment>> {
        let number = self.next;
        self.next += 1;
        let segment = Arc::new(Segment::open(&self.directory, number, access)?);
        self.segments.insert(number, Arc::clone(&segment));
        Ok(segment)
    }

    /// The live bytes of each file, by reading the whole index. No file may come meanwhile.
    ///
    /// # Errors
    /// Any error of the index; a pointer that leads nowhere.
    pub fn live(&self) -> Result<BTreeMap<u32, u64>> {
        self.count(&mut |pointer| {
            let segment = self.segments.get(&pointer.file);
            segment.ok_or_else(|| self.no_file(pointer))?.check(pointer)
        })
    }

    /// The same while writers begin more files.
    ///
    /// # Errors
    /// Any error of the index.
    pub fn live_now(&self) -> Result<BTreeMap<u32, u64>> {
        self.count(&mut |_| Ok(()))
    }

    fn count(&self, check: &mut dyn FnMut(Pointer) -> Result<()>) -> Result<BTreeMap<u32, u64>> {
        let mut live: BTreeMap<u32, u64> = BTreeMap::new();
        self.index().with_cursor(&mut |cursor: &mut dyn Cursor| {
            let mut more = cursor.seek(b"")?;
            while more {
                let pointer = Pointer::of_bytes(cursor.pair().1, &self.directory)?;
                check(pointer)?;
                *live.entry(pointer.file).or_default() += u64::from(pointer.length);
                more = cursor.advance()?;
            }
            Ok(())
        })?;
        Ok(live)
    }

    /// The error that the file of a pointer is missing.
    pub fn no_file(&self, pointer: Pointer) -> Error {
        Error::Input {
            path: self.directory.clone(),
            expected: "a value log with all files that its index points into",
            found: format!("file {:06}.values is missing", pointer.file),
        }
    }
}

fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory).map_err(Error::io("list", directory))?;
    let names = entries.map(|entry| {
        let entry = entry.map_err(Error::io("list", directory))?;
        Ok(entry.file_name().to_string_lossy().into_owned())
    });
    names.collect()
}
