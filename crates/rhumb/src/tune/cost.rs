//! What forms of tables cost, and which one costs least.

use super::layout::Layout;
use super::workload::Workload;

/// The entries of the scans that are measured.
pub(super) const SCAN_ENTRIES: usize = 100;

/// What was measured of a form in a sample: the times of one operation, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Costs {
    /// A get whose block is in the cache,
    pub cached_get: f64,
    /// and one that reads it.
    pub uncached_get: f64,
    /// A scan of [`SCAN_ENTRIES`] entries, from its seek on, in the cache,
    pub cached_scan: f64,
    /// and one that reads.
    pub uncached_scan: f64,
    /// The bytes of index and directory an entry.
    pub memory: f64,
}

/// A form with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    pub layout: Layout,
    pub costs: Costs,
    /// How many times as long gets took in its tables as in the sample, once there were enough.
    pub ratio: Option<f64>,
    /// Tables that were begun in this form.
    pub tables: u64,
}

/// A form has to cost so much less than the present one to be chosen: less is noise.
const LEAST_GAIN: f64 = 0.03;

/// A ratio beyond these says that something else was measured.
const RATIOS: (f64, f64) = (0.25, 4.0);

impl Costs {
    /// All figures, in the order of their declaration.
    pub(super) fn figures(&self) -> [f64; 5] {
        [
            self.cached_get,
            self.uncached_get,
            self.cached_scan,
            self.uncached_scan,
            self.memory,
        ]
    }

    /// The costs with these figures.
    pub(super) fn of(figures: [f64; 5]) -> Costs {
        let [cached_get, uncached_get, cached_scan, uncached_scan, memory] = figures;
        Costs {
            cached_get,
            uncached_get,
            cached_scan,
            uncached_scan,
            memory,
        }
    }

    /// The time of a get of which a share of `missed` reads.
    pub(super) fn get(&self, missed: f64) -> f64 {
        self.cached_get + missed * (self.uncached_get - self.cached_get)
    }

    /// The time of a scan of so many entries of which a share of `missed` reads.
    fn scan(&self, entries: f64, missed: f64) -> f64 {
        let whole = self.cached_scan + missed * (self.uncached_scan - self.cached_scan);
        let seek = self.get(missed);
        seek + (whole - seek).max(0.0) * entries / SCAN_ENTRIES as f64
    }

    /// The mean time of an operation of a workload.
    pub(super) fn time(&self, workload: &Workload) -> f64 {
        let gets = workload.gets * self.get(workload.missed());
        let scans = workload.scans * self.scan(workload.scanned(), workload.scans_missed());
        (gets + scans) / (workload.gets + workload.scans).max(1.0)
    }
}

impl Known {
    /// A form as it was measured.
    pub fn new(layout: Layout, costs: Costs) -> Known {
        Known {
            layout,
            costs,
            ratio: None,
            tables: 0,
        }
    }

    /// Takes over what `count` gets took in its tables on average, a share of `missed` of which read.
    pub fn learn(&mut self, mean: f64, missed: f64) {
        let expected = self.costs.get(missed);
        if expected > 0.0 {
            let seen = (mean / expected).clamp(RATIOS.0, RATIOS.1);
            self.ratio = Some(self.ratio.map_or(seen, |ratio| (ratio + seen) / 2.0));
        }
    }
}

/// The place of the form that costs least for a workload: `nu` times its time plus `1 - nu` times its memory, each as a
/// multiple of that of the first form. The `present` one stays if none is surely better.
pub(super) fn cheapest(known: &[Known], workload: &Workload, nu: f64, present: usize) -> usize {
    // Of forms without tables it is not known how much slower they are there, so it is taken to be as in others.
    let seen: Vec<f64> = known.iter().filter_map(|k| k.ratio).map(f64::ln).collect();
    let usual = match seen.len() {
        0 => 1.0,
        n => (seen.iter().sum::<f64>() / n as f64).exp(),
    };
    let time = |k: &Known| k.costs.time(workload) * k.ratio.unwrap_or(usual);
    let Some(first) = known.first() else {
        return present;
    };
    let (unit_time, unit_memory) = (time(first), first.costs.memory);
    let cost = |k: &Known| {
        nu * time(k) / unit_time.max(1.0) + (1.0 - nu) * k.costs.memory / unit_memory.max(1e-6)
    };
    let now = known.get(present).map_or(f64::INFINITY, cost);
    let all = known.iter().map(cost).enumerate();
    let best = all.min_by(|a, b| a.1.total_cmp(&b.1));
    match best {
        Some((place, least)) if least < now * (1.0 - LEAST_GAIN) => place,
        _ => present,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Partition;

    fn known(bytes: u32, costs: Costs) -> Known {
        let layout = Layout {
            index: "fp".parse().unwrap(),
            partition: Partition::Bytes(bytes),
        };
        Known::new(layout, costs)
    }

    /// Small blocks: less to read, more to find. Large blocks: the other way round, and quicker scans.
    fn forms() -> Vec<Known> {
        let costs = |cached_get, uncached_get, cached_scan, uncached_scan, memory| Costs {
            cached_get,
            uncached_get,
            cached_scan,
            uncached_scan,
            memory,
        };
        vec![
            known(4096, costs(400.0, 2_000.0, 5_000.0, 9_000.0, 0.05)),
            known(1024, costs(450.0, 1_500.0, 8_000.0, 12_000.0, 0.20)),
            known(16_384, costs(500.0, 4_000.0, 4_000.0, 7_000.0, 0.0125)),
        ]
    }

    fn gets(missed: f64) -> Workload {
        Workload {
            gets: 1e4,
            blocks: 1e4,
            read: 1e4 * missed,
            ..Workload::default()
        }
    }

    fn scans() -> Workload {
        Workload {
            scans: 1e3,
            steps: 1e6,
            ..Workload::default()
        }
    }

    #[test]
    fn gets_scans_and_memory_choose_differently() {
        let forms = forms();
        assert_eq!(cheapest(&forms, &gets(0.0), 1.0, 0), 0);
        assert_eq!(cheapest(&forms, &gets(1.0), 1.0, 0), 1);
        assert_eq!(cheapest(&forms, &scans(), 1.0, 0), 2);
        for workload in [gets(0.0), gets(1.0), scans()] {
            assert_eq!(cheapest(&forms, &workload, 0.0, 0), 2);
        }
    }

    #[test]
    fn a_small_gain_changes_nothing() {
        let mut forms = forms();
        forms[1].costs.cached_get = 390.0;
        forms[1].costs.memory = forms[0].costs.memory;
        assert_eq!(cheapest(&forms, &gets(0.0), 1.0, 0), 0);
        forms[1].costs.cached_get = 380.0;
        assert_eq!(cheapest(&forms, &gets(0.0), 1.0, 0), 1);
        // Nor back again.
        forms[1].costs.cached_get = 405.0;
        assert_eq!(cheapest(&forms, &gets(0.0), 1.0, 1), 1);
    }

    #[test]
    fn what_gets_took_in_tables_counts_for_their_form() {
        let mut forms = forms();
        // All are slower there than in the sample: nothing follows from one alone.
        forms[0].learn(4_000.0, 1.0);
        assert_eq!(forms[0].ratio, Some(2.0));
        assert_eq!(cheapest(&forms, &gets(1.0), 1.0, 0), 1);
        // But small blocks more so than others.
        forms[1].learn(4_500.0, 1.0);
        assert_eq!(cheapest(&forms, &gets(1.0), 1.0, 1), 0);
        // What was seen last counts for half.
        forms[1].learn(3_000.0, 1.0);
        assert_eq!(forms[1].ratio, Some(2.5));
        forms[1].learn(1e9, 1.0);
        assert_eq!(forms[1].ratio, Some((2.5 + RATIOS.1) / 2.0));
    }

    #[test]
    fn without_forms_or_figures_the_present_one_stays() {
        assert_eq!(cheapest(&[], &gets(1.0), 1.0, 3), 3);
        let zeros = vec![known(1, Costs::default()), known(2, Costs::default())];
        assert_eq!(cheapest(&zeros, &gets(1.0), 0.5, 1), 1);
    }
}
