//! The commands `list`, `gen` and `measure`.

use std::path::PathBuf;

use clap::Args;

use crate::data::sequence::{Form, Source, Writer};
use crate::data::sets::{SETS, SetSpec};
use crate::data::{Disorder, Part, Sortedness, sosd};
use crate::error::{Error, Result};
use crate::{experiment, run};

/// Prints the experiments and the data sets.
pub fn list() {
    println!("Experiments of the papers, at scale quick, small or paper (--scale):");
    for experiment in experiment::all() {
        println!("  {:10}{}", experiment.id, experiment.title);
    }
    println!("\nExperiments of our own:");
    for bench in run::BENCHES {
        println!("  {:10}{}", bench.name, bench.about);
    }
    println!("\nSets of keys:");
    for set in SETS {
        println!("  {:20}{}", set.usage(), set.about);
    }
}

#[derive(Debug, Args)]
pub struct Generate {
    /// The set of integers, as named by `list`
    #[arg(long, value_name = "SET")]
    input: SetSpec,
    /// Number of keys, at least two; fewer are written if a set that is read from a file has fewer
    #[arg(long, value_name = "N", default_value_t = 10_000_000,
          value_parser = clap::value_parser!(u64).range(2..))]
    keys: u64,
    /// Seed of the integers, of their order and of the payload
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Order of the keys, such as `k=10,l=5`: 10 % of them out of place, by at most 5 % of their number.
    /// As in BoDS, `alpha=A` and `beta=B` choose the beta distribution of targets within that reach, and
    /// `partitions=P` puts as many equal parts out of order by themselves. Prints what was measured
    /// of the result
    #[arg(long, value_name = "ORDER")]
    order: Option<Disorder>,
    /// Form of the file: a key as 8 bytes, little-endian, or on a line; without it, a SOSD file of sorted keys
    #[arg(long, value_name = "FORM")]
    form: Option<Form>,
    /// Random bytes behind each key, in a text as many hexadecimal digits behind a comma
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "form")]
    payload: usize,
    /// File to write; an existing file is replaced
    file: PathBuf,
}

/// The most keys of a set that is made in memory.
const MOST_IN_MEMORY: u64 = u32::MAX as u64;

/// Ascending integers.
enum Ascending {
    /// 0, 1, 2 and so on.
    Counting,
    List(Vec<u64>),
}

impl Generate {
    /// Writes the file.
    ///
    /// # Errors
    /// If the set cannot be read, its keys are too few or too many for the order, or the file cannot be
    /// written.
    pub fn run(&self) -> Result<()> {
        let Some(form) = self.form else {
            if self.order.is_some() {
                let why =
                    "a SOSD file is sorted: write --form binary or --form text for an --order";
                return Err(Error::Usage(why.to_string()));
            }
            return sosd::write(&self.file, &self.numbers()?);
        };
        let (keys, count) = match self.input.is_counting() {
            true => (Ascending::Counting, self.keys),
            false => {
                let numbers = self.numbers()?;
                let count = numbers.len() as u64;
                (Ascending::List(numbers), count)
            }
        };
        let order = self.order.unwrap_or(Disorder::SORTED);
        let mut parts = order.parts(count, self.seed).peekable();
        // An order that cannot be must not replace a file.
        if let Some(Err(_)) = parts.peek() {
            return parts.next().map_or(Ok(()), |part| part.map(drop));
        }
        let mut writer = Writer::create(&self.file, form, self.payload, self.seed)?;
        let mut measured = Sortedness::default();
        for part in parts {
            let Part { first, ranks } = part?;
            measured.append(&Sortedness::of(&ranks));
            for rank in ranks {
                writer.write(keys.get(first + u64::from(rank)))?;
            }
        }
        writer.finish()?;
        print(&measured);
        Ok(())
    }

    fn numbers(&self) -> Result<Vec<u64>> {
        if self.keys > MOST_IN_MEMORY {
            return Err(Error::Usage(format!(
                "--keys {}: at most {MOST_IN_MEMORY} of this set; --input counting with --form has no limit",
                self.keys
            )));
        }
        self.input.numbers(self.keys as usize, self.seed)
    }
}

impl Ascending {
    fn get(&self, rank: u64) -> u64 {
        match self {
            Ascending::Counting => rank,
            Ascending::List(numbers) => numbers[rank as usize],
        }
    }
}

#[derive(Debug, Args)]
pub struct Measure {
    /// Form of the file: 8 bytes a key, little-endian, or an entry on each line
    #[arg(long, value_name = "FORM", default_value = "text")]
    form: Form,
    /// Bytes behind each key of a binary file
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    payload: usize,
    /// Column of the key in a text, from 1
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..))]
    column: u16,
    /// What separates the columns of a text, such as `,`; without it, blanks do
    #[arg(long, value_name = "CHARACTER")]
    separator: Option<char>,
    /// File to measure
    file: PathBuf,
}

impl Measure {
    /// Prints the sortedness of the file.
    ///
    /// # Errors
    /// If the file cannot be read or has no keys.
    pub fn run(self) -> Result<()> {
        let source = Source {
            path: self.file,
            form: self.form,
            payload: self.payload,
            column: usize::from(self.column),
            separator: self.separator,
        };
        print(&source.measure()?);
        Ok(())
    }
}

fn print(measured: &Sortedness) {
    let percent = |count: u64| measured.percent(count);
    let pairs = measured.entries as f64 * measured.entries.saturating_sub(1) as f64 / 2.0;
    let mean = measured.mean_displacement();
    println!("entries             {:>14}", measured.entries);
    println!(
        "out of place        {:>14}   {:.4} % of the entries (K)",
        measured.out_of_place,
        percent(measured.out_of_place)
    );
    println!(
        "largest displacement{:>14}   {:.4} % of the entries (L)",
        measured.largest,
        percent(measured.largest)
    );
    println!(
        "mean displacement   {mean:>14.1}   {:.4} % of the entries, of those out of place",
        100.0 * mean / measured.entries.max(1) as f64
    );
    println!(
        "inversions          {:>14}   {:.4} % of all pairs",
        measured.inversions,
        100.0 * measured.inversions as f64 / pairs.max(1.0)
    );
    println!("ascending runs      {:>14}", measured.runs);
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        set: Generate,
    }

    fn generate(options: &str, file: &std::path::Path) -> Result<()> {
        let words = ["gen"].into_iter().chain(options.split(' '));
        let file = file.to_string_lossy().into_owned();
        let words = words.map(str::to_string).chain([file]);
        Line::try_parse_from(words).unwrap().set.run()
    }

    fn measured(file: &std::path::Path, form: Form, payload: usize) -> Sortedness {
        let source = Source {
            path: file.to_path_buf(),
            form,
            payload,
            column: 1,
            separator: Some(','),
        };
        source.measure().unwrap()
    }

    #[test]
    fn files_have_the_order_that_was_asked_for_and_repeat_with_the_seed() {
        let (one, other) = (
            tempfile::NamedTempFile::new().unwrap(),
            tempfile::NamedTempFile::new().unwrap(),
        );
        for (form, name) in [(Form::Binary, "binary"), (Form::Text, "text")] {
            let options =
                format!("--input osm --keys 5000 --order k=10,l=4 --payload 3 --form {name}");
            generate(&options, one.path()).unwrap();
            generate(&options, other.path()).unwrap();
            let bytes = std::fs::read(one.path()).unwrap();
            assert_eq!(bytes, std::fs::read(other.path()).unwrap());
            let measured = measured(one.path(), form, 3);
            let found = (measured.entries, measured.out_of_place, measured.largest);
            assert_eq!(found, (5_000, 500, 200));
            generate(&(options + " --seed 43"), other.path()).unwrap();
            assert_ne!(bytes, std::fs::read(other.path()).unwrap());
        }
        let parts = "--input counting --keys 9001 --order k=20,l=10,partitions=4 --form binary";
        generate(parts, one.path()).unwrap();
        let measured = measured(one.path(), Form::Binary, 0);
        assert_eq!((measured.entries, measured.largest), (9_001, 225));
    }

    #[test]
    fn what_cannot_be_is_refused_and_leaves_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "kept").unwrap();
        for (options, part) in [
            ("--input fb --keys 100 --order k=10,l=10", "--form"),
            (
                "--input fb --keys 100 --order k=1,l=1 --form text",
                "take more",
            ),
            ("--input fb --keys 5000000000", "--keys 5000000000"),
            (
                "--input counting --keys 5000000000 --order k=1,l=1 --form text",
                "partitions=2",
            ),
        ] {
            let error = generate(options, file.path()).unwrap_err().to_string();
            assert!(error.contains(part), "{options}: {error}");
            assert_eq!(std::fs::read(file.path()).unwrap(), b"kept", "{options}");
        }
    }
}
