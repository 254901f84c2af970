//! Keeps the mapped keys in memory beside a model, so that it answers with exact ranks: the mode in
//! which "Evaluating Learned Indexes in LSM-tree Systems" (section 4, Figure 7) lets clustered
//! kinds read one entry, as unclustered kinds do.
//!
//! Any kind with the knob `retained` can be built this way. A look-up searches the model's window
//! in the numbers of all keys, 8 bytes each. The result is the run of keys with the number looked
//! up, one key unless numbers are shared, or the empty window at the place where it would be.
//!
//! Byte form, version 1, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  N, number of keys
//!      8    8N  their numbers, ascending; equal ones are next to each other
//!               the model's own byte form, to the end
//! ```

use crate::bytes::Reader;
use crate::kind::{HEADER, Opener};
use crate::knob::{Knob, Settings};
use crate::search::lower_bound_in_column;
use crate::{ByteForm, ClosedSegment, Index, IndexBuilder, IndexError, Position, Probe, Window};

/// Kind id and name of this form; [`Index::kind`] gives the model's name.
pub(crate) const ID: u8 = 9;
const VERSION: u8 = 1;
pub(crate) const NAME: &str = "mapped keys";
const NUMBERS_AT: usize = HEADER + 4;

/// The knob of the kinds that can retain their keys.
pub(crate) const RETAINED: Knob = Knob {
    name: "retained",
    about: "1 to keep the mapped keys in memory and answer with exact ranks",
    default: 0,
    min: 0,
    max: 1,
    choices: &[],
};

/// Wraps a model's builder into one that keeps the numbers if the knob is 1.
pub(crate) fn wrap(settings: &Settings, model: Box<dyn IndexBuilder>) -> Box<dyn IndexBuilder> {
    match settings.get(RETAINED.name) {
        Some(1) => Box::new(RetainedBuilder {
            model,
            numbers: Vec::new(),
        }),
        _ => model,
    }
}

#[derive(Debug)]
struct RetainedBuilder {
    model: Box<dyn IndexBuilder>,
    numbers: Vec<u64>,
}

impl IndexBuilder for RetainedBuilder {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        self.model.push(key, number)?;
        self.numbers.push(number);
        Ok(())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        self.model.push_numbers(numbers)?;
        self.numbers.extend_from_slice(numbers);
        Ok(())
    }

    fn trust_order(&mut self) {
        self.model.trust_order();
    }

    fn cut(&mut self, last_key: &[u8], first_key: &[u8]) {
        self.model.cut(last_key, first_key);
    }

    fn closes_once(&self) -> bool {
        self.model.closes_once()
    }

    fn take_closed(&mut self, closed: &mut Vec<ClosedSegment>) {
        self.model.take_closed(closed);
    }

    fn predict_closed(&self, numbers: &[u64], predicted: &mut Vec<u64>) {
        self.model.predict_closed(numbers, predicted);
    }

    fn close_segment(&mut self) {
        self.model.close_segment();
    }

    fn is_unfit(&self) -> bool {
        self.model.is_unfit()
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        let model = self.model.finish()?;
        let mut out = vec![ID, VERSION, 0, 0];
        // Model builders refuse 2^32 keys and more.
        out.extend((self.numbers.len() as u32).to_le_bytes());
        out.extend(self.numbers.iter().flat_map(|number| number.to_le_bytes()));
        out.extend(model);
        Ok(out)
    }
}

/// A model and the numbers of all keys.
#[derive(Debug)]
struct Retained<'a> {
    model: Box<dyn Index + 'a>,
    /// Header and numbers in their byte form.
    bytes: ByteForm<'a>,
    longest_run: u64,
}

/// Opens the byte form; `open_model` opens the model in it and checks the model's header.
///
/// # Errors
/// As [`crate::registry::open`].
pub(crate) fn open(
    bytes: ByteForm<'_>,
    open_model: Opener,
) -> Result<Box<dyn Index + '_>, IndexError> {
    let mut reader = Reader::new(NAME, &bytes);
    reader.header(VERSION)?;
    let keys = reader.length()?;
    let numbers = reader.take(keys.saturating_mul(8))?.as_chunks::<8>().0;
    let numbers = || numbers.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let mut pairs = numbers().zip(numbers().skip(1)).enumerate();
    if let Some((i, (before, number))) = pairs.find(|(_, (before, number))| number < before) {
        let offset = NUMBERS_AT + (i + 1) * 8;
        let expected = format!("ascending numbers, {before} or more");
        return Err(reader.damaged_at(offset, expected, number));
    }
    let longest_run = longest_run(numbers());
    let model_at = reader.at();
    if bytes.get(model_at) == Some(&ID) {
        return Err(reader.damaged("a model", NAME));
    }
    let part = |range| bytes.part(range).unwrap_or_default();
    let model = open_model(part(model_at..bytes.len()))?;
    if model.extent() != keys as u64 || !model.needs_number() {
        return Err(IndexError::Damaged {
            what: NAME,
            offset: model_at,
            expected: format!("a model of {keys} keys"),
            found: format!("{} of {}", model.kind(), model.extent()),
        });
    }
    Ok(Box::new(Retained {
        model,
        bytes: part(0..model_at),
        longest_run,
    }))
}

/// How often the most frequent number occurs in a sorted sequence.
fn longest_run(numbers: impl Iterator<Item = u64>) -> u64 {
    let (mut longest, mut run, mut last) = (0, 0, None);
    for number in numbers {
        run = if last == Some(number) { run + 1 } else { 1 };
        (longest, last) = (longest.max(run), Some(number));
    }
    longest
}

impl Index for Retained<'_> {
    fn kind(&self) -> &'static str {
        self.model.kind()
    }

    fn needs_number(&self) -> bool {
        true
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        let Position::Window(window) = self.model.locate(probe) else {
            return Position::Window(Window { lo: 0, hi: 0 });
        };
        let numbers = self.bytes.get(NUMBERS_AT..).unwrap_or_default();
        let numbers = numbers.as_chunks::<8>().0;
        let first = lower_bound_in_column(numbers, window, probe.number);
        let inside = numbers.get(first..window.hi as usize).unwrap_or_default();
        let run = inside.iter();
        let run = run.take_while(|n| u64::from_le_bytes(**n) == probe.number);
        let lo = first as u64;
        Position::Window(Window {
            lo,
            hi: lo + run.count() as u64,
        })
    }

    fn predict(&self, number: u64) -> Option<u64> {
        self.model.predict(number)
    }

    fn extent(&self) -> u64 {
        self.model.extent()
    }

    fn widest_window(&self) -> u64 {
        self.longest_run
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len() + self.model.size_in_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Case, SplitMix64, build, distributions, map_of};
    use crate::{IndexSpec, registry};

    #[test]
    fn windows_are_the_runs_themselves() {
        let kinds = registry::kinds().iter();
        let kinds = kinds.filter(|kind| kind.knobs.iter().any(|knob| knob.name == RETAINED.name));
        let mut served = 0;
        for kind in kinds {
            let spec: IndexSpec = format!("{}:retained=1", kind.name).parse().unwrap();
            for distribution in distributions::all() {
                let keys = distribution.keys(&mut SplitMix64::new(3), 1_500);
                let map = map_of(&keys);
                let case = Case::new(&keys, &spec, 16);
                let Ok(bytes) = build(&case, &map) else {
                    continue;
                };
                served += 1;
                let index = registry::open(bytes).unwrap();
                assert_eq!(index.kind(), kind.name);
                let numbers: Vec<u64> = keys.iter().map(|key| map.number(key)).collect();
                for &number in &numbers {
                    let Position::Window(window) = index.locate(Probe { key: &[], number }) else {
                        panic!("a block");
                    };
                    let lo = numbers.partition_point(|&n| n < number) as u64;
                    let hi = numbers.partition_point(|&n| n <= number) as u64;
                    assert_eq!(
                        window,
                        Window { lo, hi },
                        "{} {}",
                        kind.name,
                        distribution.name
                    );
                }
            }
        }
        assert!(served > 100);
    }
}
