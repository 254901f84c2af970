//! Which part of our store answers a get.

use ::rhumb::Explanation;

/// The parts of a store that may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A write buffer, or what flushes keep back.
    Buffers,
    /// A table above the tier; any table of a store without a tier.
    Lsm,
    /// The learned tier.
    Tier,
}

/// How a get was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    /// The part that holds the newest version; `None` if none has the key.
    pub by: Option<Part>,
    /// Tables above the tier whose blocks were searched.
    pub lsm_tables: u64,
    /// Tables of the tier whose blocks were searched.
    pub tier_tables: u64,
    /// Whether the value stands in a value file, and needs a read of its own.
    pub is_apart: bool,
}

/// The level of the tier, as it is numbered in explanations.
const TIER: &str = "level 6:";

impl Answer {
    /// What an explanation of a get says.
    pub fn of(explanation: &Explanation, has_tier: bool) -> Answer {
        Answer::of_steps(&explanation.steps, has_tier)
    }

    fn of_steps(steps: &[String], has_tier: bool) -> Answer {
        let mut answer = Answer::default();
        // Level 0 is asked to its end, also where filters say no behind the answer.
        let Some(last) = steps.iter().rev().find_map(|step| verdict(step)) else {
            return answer;
        };
        let mut part = Part::Buffers;
        for step in steps {
            if step.starts_with("level ") {
                part = match has_tier && step.starts_with(TIER) {
                    true => Part::Tier,
                    false => Part::Lsm,
                };
            }
            let is_searched = step.starts_with("  table ") && step.contains(" blocks: ");
            match part {
                Part::Lsm => answer.lsm_tables += u64::from(is_searched),
                Part::Tier => answer.tier_tables += u64::from(is_searched),
                Part::Buffers => {}
            }
            if answer.by.is_none() && verdict(step) == Some(last) {
                answer.by = Some(part);
            }
        }
        // Behind the sequence stands the place of a value that lies apart.
        answer.is_apart = last.contains(": ");
        answer
    }
}

/// The value that a step has found, in words.
fn verdict(step: &str) -> Option<&str> {
    let at = step.find("value of sequence ")?;
    step.get(at..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Pairs;
    use crate::experiment::Scale;
    use crate::store::{System, Temperature};

    fn system(text: &str) -> System {
        Scale::Quick.amounts().system(text).unwrap()
    }

    fn pair(key: &str, value: &[u8]) -> Pairs {
        let mut pairs = Pairs::default();
        pairs.push(key.as_bytes(), value);
        pairs
    }

    /// The three parts hold one key each; their values lie apart if they are long.
    #[test]
    fn parts_are_told_from_each_other() {
        for (text, tier) in [
            ("rhumb values=512 compaction=learned-tier:form=keys", true),
            ("rhumb values=512", false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let system = system(text);
            let store = system.open(directory.path(), Temperature::Warm).unwrap();
            let (short, long) = ([1; 10], [2; 1_000]);
            for key in ["a", "k", "z"] {
                store.write(&pair(key, &long)).unwrap();
            }
            store.settle().unwrap();
            store.write(&pair("k", &short)).unwrap();
            store.flush().unwrap();
            store.write(&pair("z", &short)).unwrap();
            let answer = |key: &str| store.answer(key.as_bytes()).unwrap().unwrap();
            let lowest = if tier { Part::Tier } else { Part::Lsm };
            let [old, flushed, new] = ["a", "k", "z"].map(answer);
            assert_eq!((old.by, old.is_apart), (Some(lowest), true), "{text}");
            assert_eq!((old.tier_tables > 0, old.lsm_tables > 0), (tier, !tier));
            assert_eq!((new.by, new.is_apart), (Some(Part::Buffers), false));
            assert_eq!((new.tier_tables, new.lsm_tables), (0, 0));
            // What is flushed stands above the tier until it is converted.
            assert!(flushed.by.is_some() && !flushed.is_apart, "{text}");
            assert_eq!(answer("b").by, None, "{text}");
            store.close().unwrap();
        }
    }

    #[test]
    fn the_newest_of_several_versions_answers() {
        let steps = [
            "look up 8 bytes as of sequence 9",
            "active write buffer (3 entries): nothing",
            "level 0: 2 of its 2 tables may hold the key (number of runs: 2)",
            "  table 4 (plr, 9 entries): the filter excludes the key",
            "  table 3 (plr, 9 entries): the filter admits the key, blocks: 1 read, 0 in memory; nothing",
            "level 6: 1 of its 3 tables may hold the key (number of runs: 1)",
            "  table 1 (plr, 9 entries): blocks: 0 read, 1 in memory; value of sequence 0: file 7 at 88",
        ]
        .map(str::to_string);
        let answer = Answer::of_steps(&steps, true);
        let expected = Answer {
            by: Some(Part::Tier),
            lsm_tables: 1,
            tier_tables: 1,
            is_apart: true,
        };
        assert_eq!(answer, expected);
        assert_eq!(Answer::of_steps(&steps, false).by, Some(Part::Lsm));
        let [head, buffer, level, no, ..] = steps;
        let found = no.replace(
            "the filter excludes the key",
            "blocks: 1 read, 0 in memory; value of sequence 7",
        );
        let flushed = Answer::of_steps(&[head, buffer, level, found, no], true);
        assert_eq!((flushed.by, flushed.is_apart), (Some(Part::Lsm), false));
    }
}
