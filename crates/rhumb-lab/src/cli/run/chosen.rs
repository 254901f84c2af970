//! Which experiments a command line means, and which options it is refused with.

use std::collections::HashSet;

use super::{Run, Settings};
use crate::error::{Error, Result};
use crate::experiment::{self, Order, Scale};
use crate::run;

/// The name for several experiments at the smallest scale.
const QUICK: &str = "quick";

impl Run {
    /// The chosen experiments: our own, and those of the papers.
    pub(super) fn chosen(&self) -> Result<(Vec<&'static run::Experiment>, Order)> {
        let mut names = self.experiments.clone();
        let quick = names.iter().position(|name| name == QUICK);
        if let Some(at) = quick {
            names.splice(at..=at, ["kinds", "all"].map(str::to_string));
        }
        once(names.iter().cloned())?;
        let ours = |name: &str| run::BENCHES.iter().find(|bench| bench.name == name);
        let benches: Vec<&run::Experiment> = names.iter().filter_map(|name| ours(name)).collect();
        names.retain(|name| ours(name).is_none());
        let scale = self.scale.unwrap_or(Scale::Quick);
        let settings = &self.settings;
        let mut amounts = scale.amounts();
        if let Some(keys) = settings.keys.map(|keys| keys as usize) {
            amounts.arrivals = keys;
            amounts.set_value_log_records(keys);
        }
        if let Some(rounds) = settings.runs {
            (amounts.rounds, amounts.uncached.rounds) = (rounds, rounds);
        }
        if quick.is_some() && scale != Scale::Quick {
            return Err(Error::Usage(format!(
                "`run quick` always uses scale quick: write `run all --scale {scale}`"
            )));
        }
        let order = Order {
            experiments: experiment::named(&names)?,
            scale,
            amounts,
            seed: settings.seed,
            again: self.again,
            shard: self.shard,
            only: self.only.clone(),
        };
        self.check(&benches, &order)?;
        Ok((benches, order))
    }

    /// Refuses options that an experiment would ignore.
    fn check(&self, benches: &[&run::Experiment], order: &Order) -> Result<()> {
        let refused = |option: &str, what: &str| {
            Err(Error::Usage(format!(
                "{option} has no effect on {what}: leave it out, or run what takes it alone"
            )))
        };
        for option in self.settings.given() {
            if let Some(bench) = benches.iter().find(|bench| !bench.takes.contains(&option)) {
                return refused(option, bench.name);
            }
            for experiment in &order.experiments {
                let takes = match option {
                    "--runs" => true,
                    "--keys" => experiment.takes_keys(&order.amounts)?,
                    _ => false,
                };
                if !takes {
                    let what = format!("{}, whose amounts depend on --scale", experiment.id);
                    return refused(option, &what);
                }
            }
        }
        let of_papers = [
            ("--scale", self.scale.is_some()),
            ("--again", self.again),
            ("--shard", self.shard != (1, 1)),
            ("--only", !self.only.is_empty()),
            ("--dry-run", self.dry_run),
        ];
        match of_papers.into_iter().find(|(_, given)| *given) {
            Some((option, _)) if order.experiments.is_empty() => {
                refused(option, "our own experiments")
            }
            _ => self.check_only(order),
        }
    }

    /// Refuses limits that no cell of the chosen experiments meets, and shards of what is limited: they would differ from those of
    /// the rest.
    fn check_only(&self, order: &Order) -> Result<()> {
        if self.only.is_empty() {
            return Ok(());
        }
        if self.shard != (1, 1) {
            return Err(Error::Usage(
                "--only cannot be used with --shard: leave one of them out".to_string(),
            ));
        }
        let mut known = Vec::new();
        for experiment in &order.experiments {
            let planned = (experiment.cells)(&order.amounts)?;
            known.extend(planned.into_iter().flat_map(|planned| planned.axes));
        }
        let is_known = |(axis, value): &&(String, String)| {
            known.iter().any(|(known, of)| known == axis && of == value)
        };
        match self.only.iter().find(|only| !is_known(only)) {
            Some((axis, value)) => Err(Error::Usage(format!(
                "--only {axis}={value}: no cell of these experiments has this value in this build; `--dry-run` without --only counts \
                 all cells, and `report` names their axes"
            ))),
            None => Ok(()),
        }
    }
}

impl Settings {
    /// The options that were given, of those that not every experiment takes.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--keys", self.keys.is_some()),
            ("--index", !self.indexes.is_empty()),
            ("--table", self.table.is_some()),
            ("--paths", self.paths.is_some()),
            ("--input", !self.numbers.is_empty()),
            ("--sosd", !self.sosd.is_empty()),
            ("--set", !self.sets.is_empty()),
            ("--peer", !self.peers.is_empty()),
            ("--runs", self.runs.is_some()),
            ("--gets", self.gets.is_some()),
            ("--workload", !self.workloads.is_empty()),
            ("--threads", self.threads.is_some()),
            ("--rate", self.rate.is_some()),
            ("--seconds", self.seconds.is_some()),
            ("--cache", self.cache.is_some()),
            ("--system", !self.systems.is_empty()),
            ("--order", !self.orders.is_empty()),
            ("--from", self.arriving.is_some()),
        ];
        let given = given.into_iter().filter(|(_, given)| *given);
        given.map(|(option, _)| option)
    }
}

/// Refuses a name that occurs twice.
pub(super) fn once(names: impl Iterator<Item = String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name.clone()) {
            return Err(Error::Usage(format!("{name} is given twice: give it once")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        run: Run,
    }

    /// The reason why a command line is refused; empty if it is not.
    fn refused(line: &str) -> String {
        let words = ["run"].into_iter().chain(line.split(' '));
        let line = Line::try_parse_from(words).unwrap();
        line.run
            .chosen()
            .err()
            .map_or(String::new(), |e| e.to_string())
    }

    #[test]
    fn options_that_an_experiment_ignores_are_refused() {
        for (line, option, what) in [
            ("E-F7 --threads 2", "--threads", "E-F7"),
            ("E-F7 --rate 10", "--rate", "E-F7"),
            ("all --seconds 1", "--seconds", "E-ENV"),
            ("E-F7 --set c2", "--set", "E-F7"),
            ("E-F7 --workload ycsb-a", "--workload", "E-F7"),
            ("quick --keys 1000", "--keys", "E-ENV"),
            ("indexes --set c2", "--set", "indexes"),
            ("stores --workload ycsb-a", "--workload", "stores"),
            ("workloads stores --threads 2", "--threads", "stores"),
            ("stores --again", "--again", "our own"),
            ("check --gets 5", "--gets", "check"),
            ("B-F5 --gets 5", "--gets", "B-F5"),
            ("B-F5 E-F7 --keys 1000", "--keys", "E-F7"),
            ("L-F8 --only sytem=tier-keys", "--only", "sytem"),
            ("L-F8 --only system=tier", "--only", "system=tier"),
            (
                "L-F8 --only system=tier-keys --shard 1/2",
                "--only",
                "--shard",
            ),
            ("stores --only system=tier-keys", "--only", "our own"),
        ] {
            let why = refused(line);
            assert!(
                why.starts_with(option) && why.contains(what),
                "{line}: {why:?}"
            );
        }
    }

    #[test]
    fn options_that_are_taken_are_not_refused() {
        for line in [
            "E-F7 --scale small --seed 7",
            "quick --again",
            "kinds --keys 1000 --cache 100000",
            "workloads --threads 2 --rate 10 --workload ycsb-a --set c2",
            "stores peers --set c1 --runs 2",
            "B-F5 B-F8 --keys 1000 --runs 1",
            "L-F8 --keys 10000000 --runs 1",
            "E-F7 D-F9 --runs 5",
            "L-F8 L-F9 --only system=tier-keys --only system=lsm-values --only mix=7:3",
        ] {
            assert_eq!(refused(line), "", "{line}");
        }
    }

    #[test]
    fn every_option_of_an_experiment_exists() {
        use clap::CommandFactory;
        let command = Line::command();
        let known: Vec<String> = command
            .get_arguments()
            .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
            .collect();
        for bench in run::BENCHES {
            for option in bench.takes {
                assert!(
                    known.iter().any(|known| known == option),
                    "{} {option}",
                    bench.name
                );
            }
        }
    }
}
