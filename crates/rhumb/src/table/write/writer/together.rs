//! Puts of different keys that are added to a table together.

use std::cmp::Ordering;

use super::{Counts, TableWriter};
use crate::entry::{MAX_SEQUENCE, Sequence, compare, set_key};
use crate::error::Result;
use crate::table::block::Puts;
use crate::table::write::cutter::{Cutter, cut_all_by_bytes};
use crate::table::write::placing::Placing;

impl TableWriter {
    /// Adds puts, whose keys are larger than the last one, as [`TableWriter::add`] does each of them.
    ///
    /// # Errors
    /// As [`TableWriter::add`]; and if all keys together, or all values, are larger than one may be.
    pub fn add_puts(&mut self, puts: &Puts<'_>) -> Result<()> {
        let (keys, values) = puts.columns();
        let Some(last) = puts.len().checked_sub(1) else {
            return Ok(());
        };
        let order = match self.counts.entries {
            0 => Ordering::Greater,
            _ => compare(puts.key(0), &self.last_key),
        };
        // None may be an older version of the last key. Where all together are not too long, no single one is.
        self.check(keys, MAX_SEQUENCE, values, order)?;
        if let Some(at) = puts.first_out_of_order() {
            return Err(self.out_of_order(at as u64));
        }
        if self.counts.entries == 0 {
            self.first_key = puts.key(0).to_vec();
        }
        let sizes = (keys.len(), values.len());
        if let (Some(range), Some(sequence)) = (puts.sequence_range(), puts.last_sequence()) {
            self.count_puts(puts.len(), sizes, range, (puts.key(last), sequence));
        }
        let mut placed = 0;
        if let Cutter::Model(placer) = &mut self.cutter {
            let placing;
            (placed, placing) = placer.add_puts(puts, &mut self.blocks)?;
            if placing == Placing::Ended {
                self.leave_model()?;
            }
        }
        let rest = puts.part(placed..puts.len());
        match self.cutter {
            Cutter::Bytes(bytes) => cut_all_by_bytes(&mut self.blocks, &rest, bytes),
            _ => rest.entries().try_for_each(|entry| self.cut(&entry)),
        }
    }

    /// Counts puts of different keys: how many, the bytes of their keys and of their values, their smallest and largest
    /// sequence, and the last one's.
    fn count_puts(
        &mut self,
        count: usize,
        (keys, values): (usize, usize),
        sequences: (Sequence, Sequence),
        (last_key, last): (&[u8], Sequence),
    ) {
        self.counts.add(&Counts {
            entries: count as u64,
            deletes: 0,
            key_bytes: keys as u64,
            value_bytes: values as u64,
            sequences,
        });
        self.last_sequence = last;
        set_key(&mut self.last_key, last_key);
    }
}
