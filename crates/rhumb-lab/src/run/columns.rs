//! Tables of figures with a column for each store.

use crate::data::Input;
use crate::results::{Report, Subject};
use crate::table;

/// Bytes in a MiB.
pub const MIB: f64 = 1_048_576.0;

/// A metric, its heading, the divisor of its values, and the number of decimals.
pub type Row = (&'static str, &'static str, f64, usize);

/// All subjects of an experiment over an input.
pub fn subjects<'r>(report: &'r Report, experiment: &str, input: &Input) -> Vec<&'r Subject> {
    let of_this = |s: &&Subject| s.experiment == experiment && s.input == input.name;
    report.subjects().into_iter().filter(of_this).collect()
}

/// A table of the rows for which a subject has figures. Each figure is followed by its ratio to the
/// yardstick's figure in round brackets, and by its spread in square brackets.
pub fn table<'a>(
    report: &Report,
    heading: &str,
    subjects: &[&Subject],
    yardstick: &str,
    rows: impl IntoIterator<Item = &'a Row>,
) -> String {
    let mut headings = vec![heading.to_string()];
    headings.extend(subjects.iter().map(|subject| subject.index.clone()));
    let mut table = table::new(&headings, 1);
    let stick = subjects.iter().find(|subject| subject.index == yardstick);
    for (metric, name, divisor, digits) in rows {
        let get = |subject: &Subject| Some(report.get(subject, metric)? / divisor);
        if subjects.iter().all(|subject| get(subject).is_none()) {
            continue;
        }
        let to = stick.and_then(|subject| get(subject));
        let mut row = vec![name.to_string()];
        row.extend(subjects.iter().map(|subject| {
            let to = to.filter(|_| subject.index != yardstick);
            let median = table::with_ratio(get(subject), *digits, to);
            let spread = report.spread(subject, metric);
            match spread.filter(|spread| spread.min < spread.max) {
                Some(spread) => {
                    let ends = [spread.min, spread.max];
                    let [min, max] = ends.map(|end| table::number(Some(end / divisor), *digits));
                    format!("{median} [{min} to {max}]")
                }
                None => median,
            }
        }));
        table.add_row(row);
    }
    table.to_string()
}
