//! Models joined from those of the tables.

use rhumb_index::{Joined, join, registry};

use super::slices::{Extent, Slices};
use crate::sync::Arc;
use crate::table::Model;
use crate::version::Table;

/// Joins the models of tables, as far as they can be joined.
pub(super) fn slices(tables: &[Arc<Table>], boundary: u32) -> Slices {
    let parts: Vec<Option<Part>> = tables.iter().map(|table| Part::of(table)).collect();
    let goes_on = |a: &Option<Part>, b: &Option<Part>| match (a, b) {
        (Some(a), Some(b)) => a.is_followed_by(b),
        _ => false,
    };
    let mut slices = Slices::default();
    for group in parts.chunk_by(goes_on) {
        let own: Vec<&Part> = group.iter().flatten().collect();
        let extent = |part: &Option<Part>| part.as_ref().map_or(Extent::default(), |p| p.extent);
        let extents: Vec<Extent> = group.iter().map(extent).collect();
        slices.push(joined(&own, boundary), &extents);
    }
    slices.finish()
}

/// A table whose model can be joined.
#[derive(Debug)]
struct Part {
    model: Model,
    extent: Extent,
    /// The numbers of its first and last keys.
    first: u64,
    last: u64,
}

impl Part {
    /// `None` if its model cannot be joined, or cannot be read.
    fn of(table: &Table) -> Option<Part> {
        let reader = table.reader().ok()?;
        let ranks = reader.ranks().filter(|_| !reader.is_placed())?;
        let model = reader.read_own().ok()?;
        let has_bands = model.index.extent() == ranks && !model.index.bands().is_empty();
        let (first, last) = reader.keys()?;
        has_bands.then(|| Part {
            extent: Extent {
                ranks,
                blocks: reader.blocks(),
            },
            first: model.number_of(first),
            last: model.number_of(last),
            model,
        })
    }

    /// Whether one model may serve for this table and the next one.
    fn is_followed_by(&self, next: &Part) -> bool {
        // A number says nothing of where a key is under another map.
        self.model.map_number == next.model.map_number && self.last < next.first
    }
}

/// The model joined from those of neighbouring tables; `None` if there is nothing to join, or nothing to save by it.
fn joined(group: &[&Part], boundary: u32) -> Option<Model> {
    let first = group.first().filter(|_| group.len() > 1)?;
    let tables: Vec<Joined<'_>> = group
        .iter()
        .map(|part| Joined {
            index: &*part.model.index,
            last_number: part.last,
        })
        .collect();
    let index = registry::open(join(&tables, boundary.into()).ok()?).ok()?;
    let own: usize = group
        .iter()
        .map(|part| part.model.index.size_in_bytes())
        .sum();
    if index.size_in_bytes() >= own {
        return None;
    }
    Some(Model {
        index,
        map: first.model.map.clone(),
        map_number: first.model.map_number,
    })
}
