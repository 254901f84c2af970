//! Collects numbers and ranks for a layout.

use std::marker::PhantomData;

use super::Layout;
use super::ties;
use crate::kinds::shared::knobs::BOUNDARY;
use crate::kinds::shared::runs::{Run, Runs};
use crate::knob::Settings;
use crate::{IndexBuilder, IndexError};

/// Builds a kind whose byte form is a layout.
#[derive(Debug)]
pub(crate) struct ExactBuilder<L> {
    settings: Settings,
    runs: Runs,
    /// Distinct numbers with the ranks of their first keys.
    entries: Vec<(u64, u64)>,
    longest_run: u64,
    layout: PhantomData<L>,
}

impl<L: Layout> ExactBuilder<L> {
    /// A builder without keys.
    pub(crate) fn new(settings: &Settings) -> Self {
        ExactBuilder {
            settings: settings.clone(),
            runs: Runs::new(BOUNDARY.of(settings)),
            entries: Vec::new(),
            longest_run: 0,
            layout: PhantomData,
        }
    }

    fn add(&mut self, run: Option<Run>) {
        if let Some(run) = run {
            self.longest_run = self.longest_run.max(run.keys);
            self.entries.push((run.number, run.first_rank));
        }
    }
}

impl<L: Layout> IndexBuilder for ExactBuilder<L> {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        let run = self.runs.push(key, number)?;
        self.add(run);
        Ok(())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        let ended = self.runs.push_numbers(numbers)?;
        self.add(ended.run);
        if !ended.plain.is_empty() {
            self.longest_run = self.longest_run.max(1);
        }
        let entries = ended.plain.iter().copied().zip(ended.first_rank..);
        self.entries.extend(entries);
        Ok(())
    }

    fn trust_order(&mut self) {
        self.runs.trust_order();
    }

    fn close_segment(&mut self) {
        let run = self.runs.end();
        self.add(run);
    }

    fn is_unfit(&self) -> bool {
        self.runs.is_unfit()
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        self.close_segment();
        let kind = L::kind();
        let boundary = self.runs.boundary();
        let keys = self.runs.finish(kind.name)?;
        let mut out = kind.header().to_vec();
        out.extend((keys as u32).to_le_bytes());
        out.extend((self.entries.len() as u32).to_le_bytes());
        out.extend((boundary as u16).to_le_bytes());
        out.extend((self.longest_run as u16).to_le_bytes());
        if (self.entries.len() as u64) < keys {
            ties::put(keys, &self.entries, &mut out);
        }
        if !self.entries.is_empty() {
            L::lay(&self.settings, &self.entries, &mut out)?;
        }
        Ok(out)
    }
}
