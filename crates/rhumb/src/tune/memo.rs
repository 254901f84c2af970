//! What a tuner remembers from one opening of the store to the next (docs/format.md, Tuner): lines of words, and their checksum.
//!
//! Nothing depends on it: what is lost or damaged is measured again.

use std::fmt::Write;
use std::str::SplitWhitespace;

use super::MOST_FORMS;
use super::agent::Learned;
use super::cost::{Costs, Known};
use super::layout::Layout;
use super::words::{number, numbers, optional, optional_number};
use super::workload::Workload;
use crate::entry::checksum::crc;
use crate::options::Partition;

/// No time, size or count is larger.
const LARGEST: f64 = 1e15;

const FIRST: &str = "rhumb tuner 2";

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Memo {
    /// Whether the agent chose, or cost.
    pub is_agent: bool,
    /// The mean bytes of an entry that forms were measured for; what was set is the first form.
    pub entry_bytes: f64,
    pub known: Vec<Known>,
    pub present: usize,
    pub workload: Workload,
    pub measured: u64,
    /// What the device takes for a read, beyond the sample.
    pub device: Option<f64>,
    /// The state of the agent.
    pub agent: Option<Learned>,
}

impl Memo {
    /// The byte form.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = format!("{FIRST}\n");
        let policy = if self.is_agent { "q-learning" } else { "cost" };
        let (bytes, present, measured) = (self.entry_bytes, self.present, self.measured);
        // Writing to a string cannot fail. `{:?}` of a float is read back exactly.
        let device = optional(self.device);
        let _ = writeln!(text, "{policy} {bytes:?} {present} {measured} {device}");
        let numbers = self.workload.figures().map(|figure| format!("{figure:?}"));
        let _ = writeln!(text, "workload {}", numbers.join(" "));
        for known in &self.known {
            let [a, b, c, d, e] = known.costs.figures();
            let ratio = known
                .ratio
                .map_or("-".to_string(), |ratio| format!("{ratio:?}"));
            let (layout, tables) = (&known.layout, known.tables);
            let _ = writeln!(
                text,
                "form {layout} {a:?} {b:?} {c:?} {d:?} {e:?} {ratio} {tables}"
            );
        }
        if let Some(agent) = &self.agent {
            let _ = writeln!(text, "agent {}", agent.encode());
        }
        let _ = writeln!(text, "checksum {:08x}", crc(text.as_bytes()));
        text.into_bytes()
    }

    /// Reads the byte form; `None` if it is damaged or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Memo> {
        let text = std::str::from_utf8(bytes).ok()?;
        let end = text.trim_end().rfind('\n')? + 1;
        let (body, last) = text.split_at_checked(end)?;
        let checksum = last.trim_end().strip_prefix("checksum ")?;
        if u32::from_str_radix(checksum, 16).ok()? != crc(body.as_bytes()) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != FIRST {
            return None;
        }
        let mut words = lines.next()?.split_whitespace();
        let mut memo = Memo {
            is_agent: words.next()? == "q-learning",
            entry_bytes: number(&mut words)?,
            present: words.next()?.parse().ok()?,
            measured: words.next()?.parse().ok()?,
            device: optional_number(&mut words)?,
            ..Memo::default()
        };
        for line in lines {
            let mut words = line.split_whitespace();
            match words.next()? {
                "workload" => memo.workload = Workload::of(numbers(&mut words)?),
                "form" if memo.known.len() < MOST_FORMS => memo.known.push(form(&mut words)?),
                "agent" => memo.agent = Some(Learned::decode(&mut words)?),
                _ => return None,
            }
        }
        (memo.present < memo.known.len()).then_some(memo)
    }

    /// Whether all figures are such that a sum of them has a meaning, and no form is for comparisons alone.
    pub fn is_sensible(&self) -> bool {
        let of_forms = self.known.iter().flat_map(|known| {
            let figures = known.costs.figures().into_iter();
            figures.chain(known.ratio)
        });
        let mut figures = of_forms
            .chain(self.workload.figures())
            .chain(self.device)
            .chain([self.entry_bytes]);
        let mut forms = self.known.iter().map(|known| known.layout.partition);
        figures.all(|figure| (0.0..=LARGEST).contains(&figure))
            && !forms.any(|partition| matches!(partition, Partition::Entries(_)))
    }
}

fn form(words: &mut SplitWhitespace<'_>) -> Option<Known> {
    let layout = Layout::parse(words.next()?, words.next()?)?;
    let costs = Costs::of(numbers(words)?);
    Some(Known {
        ratio: optional_number(words)?,
        tables: words.next()?.parse().ok()?,
        ..Known::new(layout, costs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::agent::{Agent, Episode};

    fn memo() -> Memo {
        let layouts = [("plr", "predicted(14)"), ("pla:error=128", "dual(4096)")];
        let known = layouts.map(|(index, partition)| Known {
            ratio: (index == "plr").then_some(1.5),
            tables: 7,
            ..Known::new(
                Layout::parse(index, partition).unwrap(),
                Costs::of([0.1, 2.0, 3.0, 4e9, 1e-7]),
            )
        });
        let mut agent = Agent::new(0.5, 9);
        for latency in [1.0, 2.0, 3.0] {
            agent.step(Episode {
                latency,
                memory: 0.1,
            });
        }
        Memo {
            is_agent: true,
            entry_bytes: 72.25,
            known: known.to_vec(),
            present: 1,
            workload: Workload::of([1.0, 2.0, 3.0, 4.0, 7.0, 5.0, 0.6]),
            measured: 3,
            device: Some(77.5),
            agent: Some(agent.learned().clone()),
        }
    }

    #[test]
    fn it_comes_back_as_it_was() {
        let mut memo = memo();
        assert_eq!(Memo::decode(&memo.encode()), Some(memo.clone()));
        memo.agent = None;
        memo.is_agent = false;
        assert_eq!(Memo::decode(&memo.encode()), Some(memo));
    }

    #[test]
    fn figures_without_a_meaning_are_not_taken_over() {
        assert!(memo().is_sensible());
        for figure in [-1.0, 1e16] {
            let mut other = memo();
            other.known[1].costs.memory = figure;
            assert!(!other.is_sensible());
            let mut other = memo();
            other.entry_bytes = figure;
            assert!(!other.is_sensible());
        }
        let mut other = memo();
        other.known[0].layout.partition = Partition::Entries(1);
        assert!(!other.is_sensible());
        let mut many = memo();
        many.known = vec![many.known[0].clone(); MOST_FORMS + 1];
        assert_eq!(Memo::decode(&many.encode()), None);
    }

    /// Counters as large as they can be overflow nowhere.
    #[test]
    fn the_largest_counters_are_taken_over() {
        use crate::tune::state::{Policy, State};
        let mut largest = memo();
        (largest.measured, largest.agent) = (u64::MAX, None);
        largest.is_agent = false;
        largest
            .known
            .iter_mut()
            .for_each(|known| known.tables = u64::MAX);
        let read = Memo::decode(&largest.encode()).unwrap();
        let mut state = State::new(Policy::Cost { nu: 1.0 });
        state.recall(read);
        assert!(state.choose(&[], 0).is_some());
        let asked = (largest.known[0].layout.clone(), 1.0);
        state.take(asked, Ok(largest.known));
        assert_eq!(state.stats().measured, u64::MAX);
    }

    #[test]
    fn damage_is_noticed_and_nothing_panics() {
        let bytes = memo().encode();
        for cut in 0..bytes.len() - 1 {
            assert_eq!(Memo::decode(&bytes[..cut]), None, "cut at {cut}");
        }
        for at in 0..bytes.len() - 1 {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(Memo::decode(&other), None, "changed at {at}");
        }
        // What has a right checksum may still say anything.
        let text = String::from_utf8(bytes).unwrap();
        let body = &text[..text.rfind("checksum").unwrap()];
        for (from, to) in [
            ("q-learning 72.25 1", "q-learning 72.25 9"),
            ("1e-7", "NaN"),
            ("dual(4096)", "dual(0)"),
            ("tuner 2", "tuner 3"),
            ("workload 1.0", "workload inf"),
            ("form", "forms"),
            ("agent ", "agent 99 "),
        ] {
            assert!(body.contains(from), "{from}");
            let mut other = body.replacen(from, to, 1);
            let sum = crc(other.as_bytes());
            let _ = writeln!(other, "checksum {sum:08x}");
            assert_eq!(Memo::decode(other.as_bytes()), None, "{to}");
        }
    }
}
