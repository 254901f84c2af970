//! Counters of a store by name.

/// What a store has counted since it was opened. Stores have different counters, and some have none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters(Vec<Counter>);

/// A counter of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Its name in results.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its value.
    pub value: u64,
}

/// The longest time that a writer was held up; the only counter that is not a sum.
const LONGEST_STALL: &str = "longest_stall";

impl Counters {
    /// Adds a counter whose name is new.
    pub fn put(&mut self, name: &'static str, value: u64, unit: &'static str) {
        self.0.push(Counter { name, unit, value });
    }

    /// The value of a counter; `None` if the store does not have it.
    pub fn get(&self, name: &str) -> Option<u64> {
        let found = self.0.iter().find(|counter| counter.name == name);
        found.map(|counter| counter.value)
    }

    /// The counters of the time since another reading of the same store. The longest stall remains
    /// that since the store was opened.
    pub fn since(&self, before: &Counters) -> Counters {
        let counted = self.0.iter().map(|counter| {
            let known = match counter.name {
                LONGEST_STALL => 0,
                name => before.get(name).unwrap_or_default(),
            };
            Counter {
                value: counter.value.saturating_sub(known),
                ..*counter
            }
        });
        Counters(counted.collect())
    }

    /// All counters.
    pub fn iter(&self) -> impl Iterator<Item = &Counter> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(gets: u64, stall: u64) -> Counters {
        let mut counters = Counters::default();
        counters.put("gets", gets, "gets");
        counters.put(LONGEST_STALL, stall, "ns");
        counters
    }

    #[test]
    fn sums_are_subtracted_and_the_longest_stall_is_kept() {
        let (before, after) = (counters(10, 7), counters(15, 9));
        assert_eq!(after.since(&before), counters(5, 9));
        assert_eq!((after.get("gets"), after.get("merges")), (Some(15), None));
    }
}
