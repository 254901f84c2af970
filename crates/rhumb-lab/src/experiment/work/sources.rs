//! Which part of a store answers reads, and how long these take.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::measure::Latencies;
use crate::results::Measured;
use crate::store::{Answer, Part, Store};
use crate::workload::drive::OnRead;

/// Reads by the part of the store that answered them. After each read the store is asked again, untimed, which part
/// that was. What a flush or a conversion moved between both is counted where it is then.
pub struct Sources<'a> {
    store: &'a dyn Store,
    counts: Mutex<Counts>,
}

/// The parts with their names in results.
const PARTS: [(Part, &str); 3] = [
    (Part::Buffers, "buffers"),
    (Part::Lsm, "lsm"),
    (Part::Tier, "tier"),
];

struct Counts {
    reads: u64,
    /// The latencies of the reads that each of [`PARTS`] answered.
    latencies: Vec<Latencies>,
    /// Reads that searched a table above the tier, and a table of the tier.
    asked: [u64; 2],
    /// Tables searched above the tier and in it.
    tables: [u64; 2],
    apart: u64,
}

impl Counts {
    fn add(&mut self, answer: Answer, took: Duration) {
        self.reads += 1;
        for ((part, _), latencies) in PARTS.iter().zip(&mut self.latencies) {
            if answer.by == Some(*part) {
                latencies.record(took);
            }
        }
        let tables = [answer.lsm_tables, answer.tier_tables];
        for (place, tables) in tables.into_iter().enumerate() {
            self.asked[place] += u64::from(tables > 0);
            self.tables[place] += tables;
        }
        self.apart += u64::from(answer.is_apart);
    }
}

impl<'a> Sources<'a> {
    /// Reads of a store that can tell.
    ///
    /// # Errors
    /// None with the bounds of [`Latencies`].
    pub fn new(store: &'a dyn Store) -> Result<Sources<'a>> {
        let latencies = PARTS.iter().map(|_| Latencies::new());
        Ok(Sources {
            store,
            counts: Mutex::new(Counts {
                reads: 0,
                latencies: latencies.collect::<Result<_>>()?,
                asked: [0; 2],
                tables: [0; 2],
                apart: 0,
            }),
        })
    }

    /// Adds the shares of reads by the part that answered, with their latencies; the shares that searched tables above
    /// the tier and in it; and the share of values that needed a read of their own. Nothing for a store that cannot tell.
    pub fn put(self, phase: &str, into: &mut Measured) {
        let counts = self.counts.into_inner();
        let counts = counts.unwrap_or_else(PoisonError::into_inner);
        if counts.reads == 0 {
            return;
        }
        let reads = counts.reads as f64;
        for ((_, name), latencies) in PARTS.iter().zip(&counts.latencies) {
            let share = latencies.count() as f64 / reads;
            into.put(&format!("{phase}_from_{name}"), 100.0 * share, "%");
            if latencies.count() > 0 {
                into.put_latencies(&format!("{phase}_from_{name}"), latencies);
            }
        }
        put_above_the_tier(phase, &counts.latencies, into);
        for (place, name) in ["lsm", "tier"].iter().enumerate() {
            let share = 100.0 * counts.asked[place] as f64 / reads;
            into.put(&format!("{phase}_probed_{name}"), share, "%");
            let tables = counts.tables[place] as f64 / reads;
            into.put(&format!("{phase}_{name}_tables"), tables, "tables/read");
        }
        let apart = 100.0 * counts.apart as f64 / reads;
        into.put(&format!("{phase}_value_reads"), apart, "%");
    }
}

/// Adds the mean latency of the reads that buffers or tables above the tier answered, which are one LSM-tree.
fn put_above_the_tier(phase: &str, latencies: &[Latencies], into: &mut Measured) {
    let above = latencies.iter().take(PARTS.len() - 1);
    let count: u64 = above.clone().map(Latencies::count).sum();
    let sum: f64 = above.map(|part| part.mean() * part.count() as f64).sum();
    if count > 0 {
        into.put(
            &format!("{phase}_above_tier_mean"),
            sum / count as f64,
            "ns",
        );
    }
}

impl OnRead for Sources<'_> {
    fn on_read(&self, key: &[u8], took: Duration) -> Result<()> {
        if let Some(answer) = self.store.answer(key)? {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.add(answer, took);
        }
        Ok(())
    }
}
