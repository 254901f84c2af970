//! The file of a trained model (docs/format.md, "Level models"). It says of which tables it is, so nothing else has to name it: a model of
//! other tables, or an older one, is refused. A file that is lost or damaged costs time, until the model is trained again.

use rhumb_index::{KeyMap, registry};

use super::slices::{Extent, Slices};
use crate::entry::hash_key;
use crate::entry::varint::Reader;
use crate::error::Result;
use crate::fs::{Access, names, ops};
use crate::sync::Arc;
use crate::table::Model;
use crate::version::{Files, Table};

const MAGIC: &[u8; 8] = b"rhumbLEV";
const VERSION: u32 = 1;

/// Writes the model of some tables. It is not synced: a torn one is refused.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn save(
    files: &Files,
    tables: &[(Arc<Table>, Extent)],
    map_number: u64,
    index: &[u8],
) -> Result<()> {
    let Some((first, _)) = tables.first() else {
        return Ok(());
    };
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((tables.len() as u32).to_le_bytes());
    bytes.extend(map_number.to_le_bytes());
    for (table, row) in tables {
        let (number, id) = (table.meta.number, table.meta.table_id);
        let row = [number, id, row.ranks, row.blocks];
        bytes.extend(row.into_iter().flat_map(u64::to_le_bytes));
    }
    bytes.extend(index);
    bytes.extend(hash_key(&bytes).to_le_bytes());
    let name = names::level_model_name(first.meta.number);
    let (fs, path) = (&*files.fs, files.dir.join(name));
    ops::if_found(ops::remove(fs, &path))?;
    let written = ops::create(fs, &path).and_then(|file| ops::write_all(&*file, &path, &bytes));
    if written.is_err() {
        // On a full disk, part of one would be in the way.
        let _ = ops::remove(fs, &path);
    }
    written
}

/// The slices of the model of exactly these tables; `None` if there is no sound one.
pub(super) fn load(tables: &[Arc<Table>]) -> Option<Slices> {
    let first = tables.first()?;
    let bytes = read(first.files(), first.meta.number).ok()??;
    let (model, extents) = decode(&bytes, tables)?;
    let mut slices = Slices::default();
    slices.push(Some(model), &extents);
    Some(slices.finish())
}

fn read(files: &Files, number: u64) -> Result<Option<Vec<u8>>> {
    let (fs, path) = (&*files.fs, files.dir.join(names::level_model_name(number)));
    let Some(file) = ops::if_found(ops::open(fs, &path, Access::Buffered))? else {
        return Ok(None);
    };
    let length = ops::len(&*file, &path)?;
    ops::refuse_sparse(&*file, &path, length)?;
    ops::read_range(&*file, &path, 0, length).map(Some)
}

/// The model in the bytes of a file, if it is sound and of these tables.
fn decode(bytes: &[u8], tables: &[Arc<Table>]) -> Option<(Model, Vec<Extent>)> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != hash_key(body) {
        return None;
    }
    let mut reader = Reader::new(body);
    let is_known = reader.take(8)? == MAGIC && reader.u32()? == VERSION;
    if !is_known || reader.u32()? as usize != tables.len() {
        return None;
    }
    let map_number = reader.u64()?;
    let rows: Option<Vec<Extent>> = tables.iter().map(|t| take_row(&mut reader, t)).collect();
    let rows = rows?;
    let index = registry::open(reader.rest().to_vec()).ok()?;
    let extent = match index.widest_window() {
        0 => total(&rows, |row| row.blocks),
        _ => total(&rows, |row| row.ranks),
    };
    if index.extent() != extent {
        return None;
    }
    let map = match index.needs_number() {
        true => Some(map_of(tables, map_number)?),
        false => None,
    };
    let model = Model {
        index,
        map,
        map_number,
    };
    Some((model, rows))
}

fn total(rows: &[Extent], of: fn(&Extent) -> u64) -> u64 {
    rows.iter().map(of).fold(0, u64::saturating_add)
}

/// What the model has of a table, if it is this one. The table is not opened for it.
fn take_row(from: &mut Reader<'_>, table: &Table) -> Option<Extent> {
    let is_this = from.u64()? == table.meta.number && from.u64()? == table.meta.table_id;
    let (ranks, blocks) = (from.u64()?, from.u64()?);
    is_this.then_some(Extent { ranks, blocks })
}

/// The key map of a number: each table whose index needs one has it.
pub(super) fn map_of(tables: &[Arc<Table>], number: u64) -> Option<KeyMap> {
    let mut same = tables.iter().filter(|t| t.meta.map_number == number);
    same.find_map(|table| table.reader().ok()?.read_own().ok()?.map)
}
