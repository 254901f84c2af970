//! What can be set for each keyspace.

use std::fmt;

use rhumb_index::IndexSpec;

use super::{Options, TableSpec, check_range};
use crate::error::Error;

/// Settings of one keyspace. They are kept in the store, unlike [`Options`], which hold for one
/// opening. Those that are `None` are the store's.
///
/// ```
/// # fn main() -> rhumb::Result<()> {
/// # let options = rhumb::Options::in_memory();
/// use rhumb::KeyspaceOptions;
///
/// let db = rhumb::Db::open("example", options)?;
/// let options = KeyspaceOptions {
///     index: Some("pgm:boundary=16".parse().expect("a known kind")),
///     table: Some("filter=14,compression=lz4".parse()?),
/// };
/// let pages = db.create_keyspace_with("pages", options)?;
/// // Later:
/// let options = KeyspaceOptions { index: None, ..pages.options()? };
/// pages.set_options(options)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyspaceOptions {
    /// The index of new tables, as [`Options::index`].
    pub index: Option<IndexSpec>,
    /// The layout of new tables, as [`Options::table`]. Its [`TableSpec::table_bytes`] is at least 1 KiB.
    pub table: Option<TableSpec>,
}

impl KeyspaceOptions {
    /// These options as they are read back from the manifest, which holds their text forms.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if opening a store would refuse one of them, or its text form does.
    pub(crate) fn checked(mut self) -> Result<Self, Error> {
        if let Some(table) = &mut self.table {
            table.check()?;
            let least = 1 << 10;
            check_range(
                "TableSpec::table_bytes",
                table.table_bytes,
                least..=u64::MAX,
            )?;
            *table = table.to_string().parse()?;
        }
        Ok(self)
    }

    /// The index and the layout of new tables, in a store with these options.
    pub(crate) fn layout<'a>(&'a self, store: &'a Options) -> (&'a IndexSpec, &'a TableSpec) {
        let index = self.index.as_ref().unwrap_or(&store.index);
        (index, self.table.as_ref().unwrap_or(&store.table))
    }
}

/// As text: `index pgm:boundary=16, table of the store`.
impl fmt::Display for KeyspaceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.index {
            Some(index) => write!(f, "index {index}, ")?,
            None => f.write_str("index of the store, ")?,
        }
        match &self.table {
            Some(table) => write!(f, "table {table}"),
            None => f.write_str("table of the store"),
        }
    }
}
