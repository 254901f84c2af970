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
    /// How many times as long cached gets took in its tables as in the sample, once there were enough.
    pub ratio: Option<f64>,
    /// Tables that were begun in this form.
    pub tables: u64,
}

/// A form has to cost so much less than the present one to be chosen: less is noise.
const LEAST_GAIN: f64 = 0.03;

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

    /// The time of a scan of so many entries, in so many tables, of which a share of `missed` reads. It is positioned in each of
    /// the tables; from there on it goes over as many entries as if they were in one.
    fn scan(&self, (entries, tables): (f64, f64), missed: f64) -> f64 {
        let whole = self.cached_scan + missed * (self.uncached_scan - self.cached_scan);
        let seek = self.get(missed);
        seek * tables + (whole - seek).max(0.0) * entries / SCAN_ENTRIES as f64
    }

    /// The mean time of a search of a workload: of one table by a get, or of a scan.
    pub(super) fn time(&self, workload: &Workload) -> f64 {
        let gets = workload.blocks * self.get(workload.missed());
        let one = (workload.scanned(), workload.tables_of_scan());
        let scans = workload.scans * self.scan(one, workload.scans_missed());
        (gets + scans) / (workload.blocks + workload.scans).max(1.0)
    }

    /// The costs in tables, where all takes `ratio` times as long and the device `device` nanoseconds more.
    pub(super) fn in_tables(&self, ratio: f64, device: f64) -> Costs {
        let [cached_get, cached_scan] = [self.cached_get, self.cached_scan].map(|t| t * ratio);
        Costs {
            cached_get,
            uncached_get: cached_get + self.uncached_get - self.cached_get + device,
            cached_scan,
            uncached_scan: cached_scan + self.uncached_scan - self.cached_scan + device,
            memory: self.memory,
        }
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
}

/// Takes what was seen last for as much as all before.
pub(super) fn learn(known: &mut Option<f64>, seen: Option<f64>) {
    if let Some(seen) = seen {
        *known = Some(known.map_or(seen, |before| (before + seen) / 2.0));
    }
}

/// The place of the form that costs least for a workload, on a device that takes `device` nanoseconds more than the page cache
/// for a read. The `present` one stays if none is surely better.
///
/// What counts is `nu` times the logarithm of the time plus `1 - nu` times that of the memory: a tenth more time is then a
/// tenth more whichever form it is compared with, and whichever one is set.
pub(super) fn cheapest(
    known: &[Known],
    (workload, device): (&Workload, f64),
    nu: f64,
    present: usize,
) -> usize {
    // Of forms without tables it is not known how much slower they are there, so it is taken to be as in others.
    let seen: Vec<f64> = known.iter().filter_map(|k| k.ratio).collect();
    let usual = match seen.len() {
        0 => 1.0,
        n => (seen.iter().map(|ratio| ratio.ln()).sum::<f64>() / n as f64).exp(),
    };
    let cost = |k: &Known| {
        let costs = k.costs.in_tables(k.ratio.unwrap_or(usual), device);
        let (time, memory) = (costs.time(workload).max(1.0), costs.memory.max(1e-6));
        nu * time.ln() + (1.0 - nu) * memory.ln()
    };
    let costs: Vec<f64> = known.iter().map(cost).collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    if costs
        .get(present)
        .is_some_and(|now| *now <= least + LEAST_GAIN)
    {
        return present;
    }
    // Of those that are equally good, the smallest.
    let places = costs.iter().zip(known).enumerate();
    let good = places.filter(|(_, (cost, _))| **cost <= least + LEAST_GAIN);
    let memory = |(_, (_, k)): &(usize, (&f64, &Known))| k.costs.memory;
    let smallest = good.min_by(|a, b| memory(a).total_cmp(&memory(b)));
    smallest.map_or(present, |(place, _)| place)
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
        assert_eq!(cheapest(&forms, (&gets(0.0), 0.0), 1.0, 0), 0);
        assert_eq!(cheapest(&forms, (&gets(1.0), 0.0), 1.0, 0), 1);
        assert_eq!(cheapest(&forms, (&scans(), 0.0), 1.0, 0), 2);
        for workload in [gets(0.0), gets(1.0), scans()] {
            assert_eq!(cheapest(&forms, (&workload, 0.0), 0.0, 0), 2);
        }
    }

    /// A block that a scan reads for a few entries of one run among several should be small.
    #[test]
    fn scans_over_many_runs_choose_smaller_blocks() {
        let forms = forms();
        let over = |tables: f64| Workload {
            scan_tables: 1e3 * tables,
            steps: 1e5,
            scan_blocks: 1e4,
            scan_read: 1e4,
            ..scans()
        };
        for (tables, place) in [(1.0, 2), (4.0, 0), (10.0, 1)] {
            assert_eq!(
                cheapest(&forms, (&over(tables), 0.0), 1.0, 2),
                place,
                "{tables}"
            );
        }
    }

    #[test]
    fn a_small_gain_changes_nothing() {
        let mut forms = forms();
        forms[1].costs.cached_get = 390.0;
        forms[1].costs.memory = forms[0].costs.memory;
        assert_eq!(cheapest(&forms, (&gets(0.0), 0.0), 1.0, 0), 0);
        forms[1].costs.cached_get = 380.0;
        assert_eq!(cheapest(&forms, (&gets(0.0), 0.0), 1.0, 0), 1);
        // Nor back again.
        forms[1].costs.cached_get = 405.0;
        assert_eq!(cheapest(&forms, (&gets(0.0), 0.0), 1.0, 1), 1);
    }

    /// Differences that are noise would otherwise choose between 0.07 and 1 B an entry.
    #[test]
    fn of_equally_good_forms_the_smallest_is_chosen() {
        let mut forms = forms();
        forms.push(forms[1].clone());
        forms[3].costs.uncached_get *= 1.02;
        forms[3].costs.memory /= 4.0;
        assert_eq!(cheapest(&forms, (&gets(1.0), 0.0), 1.0, 0), 3);
        assert_eq!(cheapest(&forms, (&gets(1.0), 0.0), 1.0, 1), 1, "it stays");
        forms[3].costs.uncached_get *= 1.02;
        assert_eq!(cheapest(&forms, (&gets(1.0), 0.0), 1.0, 0), 1);
    }

    #[test]
    fn what_gets_took_in_tables_counts_for_their_form() {
        let mut forms = forms();
        // All are slower there than in the sample: nothing follows from one alone.
        forms[0].ratio = Some(2.0);
        assert_eq!(cheapest(&forms, (&gets(0.0), 0.0), 1.0, 0), 0);
        // But small blocks less so than others.
        forms[1].ratio = Some(1.5);
        assert_eq!(cheapest(&forms, (&gets(0.0), 0.0), 1.0, 0), 1);
        let mut known = None;
        learn(&mut known, None);
        assert_eq!(known, None);
        learn(&mut known, Some(2.0));
        // What was seen last counts for half.
        learn(&mut known, Some(1.0));
        assert_eq!(known, Some(1.5));
    }

    /// Where a read takes 80 us, a microsecond less of copying is no gain, and fewer bytes in memory are.
    #[test]
    fn a_slow_device_makes_forms_alike() {
        let forms = forms();
        assert_eq!(cheapest(&forms, (&gets(1.0), 80_000.0), 1.0, 0), 0);
        assert_eq!(cheapest(&forms, (&gets(1.0), 80_000.0), 0.9, 0), 2);
        assert_eq!(cheapest(&forms, (&gets(1.0), 0.0), 0.9, 0), 1);
    }

    /// Whichever form is set, the same one is chosen: with 0.9, half of the memory is worth 8 % of the time.
    #[test]
    fn the_choice_does_not_depend_on_what_is_set() {
        let mut forms = forms();
        for _ in 0..3 {
            forms.rotate_left(1);
            for (nu, bytes) in [(0.9, 4_096), (0.8, 16_384)] {
                let place = cheapest(&forms, (&gets(0.0), 0.0), nu, 0);
                assert_eq!(forms[place].layout.partition, Partition::Bytes(bytes));
            }
        }
    }

    #[test]
    fn without_forms_or_figures_the_present_one_stays() {
        assert_eq!(cheapest(&[], (&gets(1.0), 0.0), 1.0, 3), 3);
        let zeros = vec![known(1, Costs::default()), known(2, Costs::default())];
        assert_eq!(cheapest(&zeros, (&gets(1.0), 0.0), 0.5, 1), 1);
    }
}
