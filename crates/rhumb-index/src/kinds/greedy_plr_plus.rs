//! Greedy-PLR+ of LearnedKV (section 4.3): greedy piecewise linear regression over the pages of a list of keys. Its target
//! and its error count pages, as a device reads them, and not keys.
//!
//! The model is [`super::plr`] over the first key of each page of 512 keys. The lower bound of a key among these is its own
//! page or the one behind, so the pages of its window are those of the model's window and the one before. Building takes
//! constant time a key, and a look-up as much as one of `plr`.
//!
//! Byte form, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  N, number of keys
//!      8     4  keys of a page: 512
//!     12        the byte form of plr over the first keys of pages, to the end
//! ```

use super::plr;
use super::shared::knobs::BOUNDARY;
use super::shared::runs::Runs;
use crate::bytes::Reader;
use crate::kind::{Answers, FORM_ONLY, HEADER, Kind};
use crate::knob::{Knob, Settings};
use crate::{ByteForm, Index, IndexBuilder, IndexError, Position, Probe, Window};

/// A page of 4 KiB holds so many keys of 8 bytes, which is about the 1,000 entries of two pages, the published error.
const PAGE_KEYS: u32 = 512;

const MODEL_AT: usize = HEADER + 8;

/// The error bound.
const PAGES: Knob = Knob {
    name: "pages",
    about: "error bound: the most pages of 512 keys between a key's page and the predicted one",
    default: 2,
    min: 1,
    max: 128,
    choices: &[],
};

pub(crate) const KIND: Kind = Kind {
    name: "greedy-plr-plus",
    id: 16,
    about: "Greedy-PLR+ of LearnedKV: greedy piecewise linear regression over pages of 512 keys",
    knobs: &[PAGES],
    needs_number: true,
    answers: Answers::Windows,
    version: 1,
    in_memory: FORM_ONLY,
    builder: |settings| Box::new(Builder::new(PAGES.of(settings))),
    open: |bytes| Ok(Box::new(GreedyPlrPlus::open(bytes)?)),
};

#[derive(Debug)]
struct Builder {
    /// Counts all keys and checks their order.
    runs: Runs,
    model: Box<dyn IndexBuilder>,
}

impl Builder {
    fn new(pages: u64) -> Self {
        let mut settings = Settings::new(plr::KIND.knobs);
        if let Some((_, boundary)) = settings.slot(BOUNDARY.name) {
            // One rank at either end is for absent keys.
            *boundary = Some(2 * pages + 2);
        }
        Builder {
            runs: Runs::new(u64::MAX),
            model: (plr::KIND.builder)(&settings),
        }
    }

    /// How many keys from the next one on belong to a page that has begun.
    fn left_of_page(&self) -> usize {
        let page = u64::from(PAGE_KEYS);
        ((page - self.runs.keys() % page) % page) as usize
    }
}

impl IndexBuilder for Builder {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        let begins = self.left_of_page() == 0;
        self.runs.push(key, number)?;
        match begins {
            true => self.model.push(key, number),
            false => Ok(()),
        }
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        let firsts = numbers.iter().skip(self.left_of_page());
        let firsts: Vec<u64> = firsts.step_by(PAGE_KEYS as usize).copied().collect();
        self.runs.push_numbers(numbers)?;
        self.model.push_numbers(&firsts)
    }

    fn trust_order(&mut self) {
        self.runs.trust_order();
        self.model.trust_order();
    }

    fn is_unfit(&self) -> bool {
        self.runs.is_unfit() || self.model.is_unfit()
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        let keys = self.runs.finish(KIND.name)?;
        let model = self.model.finish().map_err(|error| match error {
            IndexError::Unfit { why, .. } => IndexError::Unfit {
                kind: KIND.name,
                why,
            },
            error => error,
        })?;
        let mut out = vec![KIND.id, KIND.version, 0, 0];
        // More keys are unfit.
        out.extend((keys as u32).to_le_bytes());
        out.extend(PAGE_KEYS.to_le_bytes());
        out.extend(model);
        Ok(out)
    }
}

/// The model over pages, read from the byte form.
#[derive(Debug)]
struct GreedyPlrPlus<'a> {
    keys: u64,
    model: Box<dyn Index + 'a>,
}

impl<'a> GreedyPlrPlus<'a> {
    fn open(bytes: ByteForm<'a>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(HEADER)?;
        let keys = u64::from(reader.u32()?);
        let page = reader.u32()?;
        if page != PAGE_KEYS {
            let expected = format!("pages of {PAGE_KEYS} keys");
            return Err(reader.damaged_at(HEADER + 4, expected, page));
        }
        let kind = reader.u8()?;
        if kind != plr::KIND.id {
            let expected = format!("{} ({})", plr::KIND.id, plr::KIND.name);
            return Err(reader.damaged_at(MODEL_AT, expected, kind));
        }
        let model = bytes.part(MODEL_AT..bytes.len()).unwrap_or_default();
        Reader::new(plr::KIND.name, &model).header(plr::KIND.version)?;
        let model = (plr::KIND.open)(model)?;
        let pages = keys.div_ceil(page.into());
        if model.extent() != pages {
            let expected = format!("a model of {pages} pages");
            return Err(reader.damaged_at(MODEL_AT, expected, model.extent()));
        }
        Ok(GreedyPlrPlus { keys, model })
    }

    /// The rank of the first key of a page, or the number of keys behind the last one.
    fn rank(&self, page: u64) -> u64 {
        page.saturating_mul(PAGE_KEYS.into()).min(self.keys)
    }
}

impl Index for GreedyPlrPlus<'_> {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn needs_number(&self) -> bool {
        KIND.needs_number
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        Position::Window(self.window(probe.number))
    }

    fn window(&self, number: u64) -> Window {
        let pages = self.model.window(number);
        Window {
            lo: self.rank(pages.lo.saturating_sub(1)),
            hi: self.rank(pages.hi),
        }
    }

    fn predict(&self, number: u64) -> Option<u64> {
        let page = self.model.predict(number)?;
        Some(self.rank(page).min(self.keys.saturating_sub(1)))
    }

    fn extent(&self) -> u64 {
        self.keys
    }

    fn widest_window(&self) -> u64 {
        match self.model.widest_window() {
            0 => 0,
            pages => self.rank(pages + 1),
        }
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + MODEL_AT + self.model.size_in_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn built(spec: &str, numbers: &[u64]) -> Vec<u8> {
        let mut builder = (KIND.builder)(&registry::settings(spec));
        builder.push_numbers(numbers).unwrap();
        builder.finish().unwrap()
    }

    /// As published, the error is that of the page, and whole pages are read.
    #[test]
    fn windows_are_whole_pages_and_a_wider_error_needs_fewer_lines() {
        let numbers: Vec<u64> = (0..100_000u64).map(|i| i * i).collect();
        let mut sizes = Vec::new();
        for pages in [1, 2, 8, 128] {
            let form = built(&format!("greedy-plr-plus:pages={pages}"), &numbers);
            sizes.push(form.len());
            let index = GreedyPlrPlus::open(form.into()).unwrap();
            assert!(index.widest_window() <= (2 * pages + 3) * 512);
            for (rank, number) in (0..).zip(&numbers) {
                let window = index.window(*number);
                assert!(window.lo <= rank && rank < window.hi, "{rank}: {window:?}");
                assert_eq!(window.lo % 512, 0);
                assert!(window.hi % 512 == 0 || window.hi == 100_000);
            }
        }
        assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
    }

    #[test]
    fn forms_whose_model_has_other_pages_are_damage() {
        let numbers: Vec<u64> = (0..2_000).collect();
        let form = built("greedy-plr-plus", &numbers);
        for (at, byte) in [(5, 0xff), (8, 1), (9, 0), (12, 4), (13, 9)] {
            let mut form = form.clone();
            form[at] = byte;
            assert!(GreedyPlrPlus::open(form.into()).is_err(), "{at}");
        }
    }
}
