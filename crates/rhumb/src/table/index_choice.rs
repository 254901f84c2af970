//! Builds the wanted index and, beside it, fence pointers to fall back on.

use std::time::{Duration, Instant};

use rhumb_index::{IndexBuilder, IndexError, IndexSpec, KeyMap, registry};

/// What fence pointers are called in the registry.
const FENCE_POINTERS: &str = "fp";

/// The indexes of a table in the making.
#[derive(Debug)]
pub(super) struct IndexChoice {
    wanted_kind: &'static str,
    needs_number: bool,
    /// `None` after it failed.
    wanted: Option<Box<dyn IndexBuilder>>,
    /// `None` if the wanted kind is one of fence pointers.
    fences: Option<Box<dyn IndexBuilder>>,
    fallback: String,
    training: Duration,
}

/// The index that was built.
#[derive(Debug)]
pub(super) struct BuiltIndex {
    pub bytes: Vec<u8>,
    pub kind: String,
    /// Why the wanted kind was not built; empty if it was.
    pub fallback: String,
    /// What training took, of the wanted kind and of the fence pointers together.
    pub training: Duration,
}

impl IndexChoice {
    /// Begins an index as specified.
    ///
    /// # Errors
    /// If the registry cannot build it.
    pub fn new(spec: &IndexSpec) -> Result<IndexChoice, IndexError> {
        let kind = spec.kind();
        let fences = match kind.needs_number {
            true => Some(registry::builder(&FENCE_POINTERS.parse()?)?),
            false => None,
        };
        Ok(IndexChoice {
            wanted_kind: kind.name,
            needs_number: kind.needs_number,
            wanted: Some(registry::builder(spec)?),
            fences,
            fallback: String::new(),
            training: Duration::ZERO,
        })
    }

    /// Adds a block: how the one before ended and how it starts, unless it is the first, and the
    /// distinct user keys that it starts.
    ///
    /// # Errors
    /// If the keys do not ascend.
    pub fn block<'k>(
        &mut self,
        cut: Option<(&[u8], &[u8])>,
        keys: impl Iterator<Item = &'k [u8]>,
        map: &KeyMap,
    ) -> Result<(), IndexError> {
        let started = Instant::now();
        if let Some((last, first)) = cut {
            for builder in self.wanted.iter_mut().chain(&mut self.fences) {
                builder.cut(last, first);
            }
        }
        for key in keys {
            let number = if self.needs_number {
                map.number(key)
            } else {
                0
            };
            if let Some(fences) = &mut self.fences {
                fences.push(key, number)?;
            }
            match self.wanted.as_mut().map(|wanted| wanted.push(key, number)) {
                Some(Err(error)) if self.fences.is_some() => self.fall_back(error),
                Some(Err(error)) => return Err(error),
                _ => {}
            }
        }
        self.training += started.elapsed();
        Ok(())
    }

    fn fall_back(&mut self, why: impl ToString) {
        self.wanted = None;
        self.fallback = why.to_string();
    }

    /// Ends the table, whose blocks take `block_bytes` and whose entries `entry_bytes` on average.
    ///
    /// Fence pointers are taken if the wanted kind cannot keep its promise for these keys, or if it
    /// is larger than they are and its windows span more than a block: then they are better in
    /// memory and in reads.
    ///
    /// # Errors
    /// If not even fence pointers can be built.
    pub fn finish(&mut self, block_bytes: u64, entry_bytes: u64) -> Result<BuiltIndex, IndexError> {
        let started = Instant::now();
        let fences = self.fences.take().map(|f| f.finish()).transpose()?;
        let wanted = self.wanted.take().map(|w| w.finish()).transpose();
        let wanted = match (wanted, &fences) {
            (Err(error), Some(_)) => {
                self.fall_back(error);
                None
            }
            (wanted, _) => wanted?,
        };
        let wanted = match (wanted, &fences) {
            (Some(wanted), Some(fences)) => {
                self.keep_if_it_pays(wanted, fences, block_bytes, entry_bytes)?
            }
            (wanted, _) => wanted,
        };
        let kind = if wanted.is_some() {
            self.wanted_kind
        } else {
            FENCE_POINTERS
        };
        Ok(BuiltIndex {
            bytes: wanted.or(fences).unwrap_or_default(),
            kind: kind.to_string(),
            fallback: std::mem::take(&mut self.fallback),
            training: self.training + started.elapsed(),
        })
    }

    fn keep_if_it_pays(
        &mut self,
        wanted: Vec<u8>,
        fences: &[u8],
        block_bytes: u64,
        entry_bytes: u64,
    ) -> Result<Option<Vec<u8>>, IndexError> {
        let (bytes, fence_bytes) = (wanted.len(), fences.len());
        if bytes <= fence_bytes {
            return Ok(Some(wanted));
        }
        let window = registry::open(wanted.clone())?.widest_window();
        if window.saturating_mul(entry_bytes) <= block_bytes {
            return Ok(Some(wanted));
        }
        let kind = self.wanted_kind;
        self.fall_back(format!(
            "{kind} takes {bytes} bytes, fence pointers {fence_bytes}, and its windows of {window} \
             keys span more than a block"
        ));
        Ok(None)
    }
}
