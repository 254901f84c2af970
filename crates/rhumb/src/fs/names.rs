//! The names of the files in a store's directory; see docs/format.md.

/// The largest file number and the largest sequence; a larger one in a file is damage. It is small
/// enough that adding one never overflows.
pub(crate) const LARGEST_NUMBER: u64 = 1 << 62;

/// The file that the writer locks exclusively and readers share.
pub(crate) const LOCK: &str = "LOCK";

/// The file that names the current manifest.
pub(crate) const CURRENT: &str = "CURRENT";

/// The name of [`CURRENT`] until it is complete and renamed.
pub(crate) const CURRENT_TMP: &str = "CURRENT.tmp";

/// A kind of numbered file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    /// Edits of the store's state.
    Manifest,
    /// Writes that may not be in tables yet.
    Log,
    /// A sorted, immutable table.
    Table,
    /// Values apart from their keys.
    Values,
}

impl FileKind {
    const ALL: [FileKind; 4] = [
        FileKind::Manifest,
        FileKind::Log,
        FileKind::Table,
        FileKind::Values,
    ];

    fn extension(self) -> &'static str {
        match self {
            FileKind::Manifest => "manifest",
            FileKind::Log => "log",
            FileKind::Table => "table",
            FileKind::Values => "values",
        }
    }

    /// The name of the file of this kind with this number.
    pub(crate) fn name(self, number: u64) -> String {
        format!("{number:06}.{}", self.extension())
    }
}

/// The name of the log with this number.
pub(crate) fn log_name(number: u64) -> String {
    FileKind::Log.name(number)
}

/// The name of the table with this number.
pub(crate) fn table_name(number: u64) -> String {
    FileKind::Table.name(number)
}

/// The name of the sample with this number: a table that is written to be measured. It is no [`FileKind`], since nothing in
/// it may ever be taken for data.
pub(crate) fn sample_name(number: u64) -> String {
    format!("{number:06}.sample")
}

/// The name of the file with the model over several tables, the first of which has this number. As with samples, nothing in it may
/// ever be taken for data.
pub(crate) fn level_model_name(first_table: u64) -> String {
    format!("{first_table:06}.model")
}

/// The number of the first table of such a file.
pub(crate) fn modelled_table(name: &str) -> Option<u64> {
    let number = name.split_once('.')?.0.parse().ok()?;
    (name == level_model_name(number)).then_some(number)
}

const TUNER: &str = "TUNER-";

/// The name of the file in which the tuner of the keyspace with this id remembers.
pub(crate) fn tuner_name(keyspace: u32) -> String {
    format!("{TUNER}{keyspace:06}")
}

/// The id of the keyspace of such a file.
pub(crate) fn tuned_keyspace(name: &str) -> Option<u32> {
    let keyspace = name.strip_prefix(TUNER)?.parse().ok()?;
    (name == tuner_name(keyspace)).then_some(keyspace)
}

/// Whether nothing depends on the file, nor on that it is gone: what a tuner remembers, or a model over several tables.
pub(crate) fn is_spare(name: &str) -> bool {
    tuned_keyspace(name).is_some() || modelled_table(name).is_some()
}

/// The name of the manifest with this number.
pub(crate) fn manifest_name(number: u64) -> String {
    FileKind::Manifest.name(number)
}

/// The kind and number of a file; `None` if the store would not give a file this name.
pub(crate) fn parse(name: &str) -> Option<(FileKind, u64)> {
    let number = name.split_once('.')?.0.parse().ok()?;
    // A file with a larger number would leave no number for the next file.
    if number > LARGEST_NUMBER {
        return None;
    }
    FileKind::ALL
        .into_iter()
        .find(|kind| kind.name(number) == name)
        .map(|kind| (kind, number))
}

/// Whether the store gives this name to a file in its directory.
pub(super) fn is_of_store(name: &str) -> bool {
    [LOCK, CURRENT].contains(&name) || is_temporary(name) || parse(name).is_some()
}

/// Whether the file is an unfinished one or a sample, which can be removed.
pub(crate) fn is_temporary(name: &str) -> bool {
    let number = name
        .split_once('.')
        .and_then(|(number, _)| number.parse().ok());
    name == CURRENT_TMP || number.is_some_and(|number| name == sample_name(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for number in [0, 1, 999_999, 1_000_000, LARGEST_NUMBER] {
            for kind in FileKind::ALL {
                assert_eq!(parse(&kind.name(number)), Some((kind, number)));
            }
        }
        assert_eq!(log_name(7), "000007.log");
    }

    #[test]
    fn other_names_do_not_parse() {
        let others = [
            "",
            ".",
            "LOCK",
            "CURRENT",
            "CURRENT.tmp",
            "7.log",
            "0000007.log",
            "+00007.log",
            "000007.LOG",
            "000007.log.tmp",
            "000007",
            "000007.",
            "99999999999999999999.log",
            "9999999999999999999.log",
        ];
        for name in others {
            assert_eq!(parse(name), None, "{name}");
        }
        assert!(is_temporary(CURRENT_TMP) && is_temporary(&sample_name(7)));
        assert!(is_of_store("000007.sample") && parse("000007.sample").is_none());
        assert_eq!(tuned_keyspace(&tuner_name(7)), Some(7));
        // Whatever has this name, the store opens without it.
        assert!(!is_of_store("TUNER-000007") && tuned_keyspace("TUNER-7").is_none());
        assert!(!is_of_store("7.sample") && !is_of_store("000007.samples"));
        assert!(!is_temporary(CURRENT));
        assert!(is_of_store(CURRENT_TMP) && is_of_store(LOCK) && !is_of_store("lost"));
    }
}
