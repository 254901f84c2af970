//! Which tables make up the store: the manifest of edits, the state that results from them, and the
//! levels that readers see.

mod draft;
mod edit;
mod files;
mod key_maps;
mod levels;
mod levels_draft;
mod log_state;
mod look_ups;
mod manifest;
mod models;
mod option_list;
mod run;
mod salvage;
mod state;
mod table;
mod value_files;

pub(crate) use edit::{Change, Edit, TableMeta};
pub(crate) use files::Files;
pub(crate) use key_maps::KeyMaps;
pub(crate) use levels::{BASE_RUN, LEVELS, LevelChange, Levels, Place};
pub(crate) use log_state::LogState;
pub(crate) use look_ups::{LookUp, LookUps, Times};
pub(crate) use manifest::HEADER_BYTES as MANIFEST_HEADER_BYTES;
pub(crate) use manifest::{Manifest, publish, read_current};
pub(crate) use models::{ModelMemory, train};
pub(crate) use run::{InRun, Run, first_overlap};
pub(crate) use salvage::sound_records;
pub(crate) use state::{KeyspaceState, State};
pub(crate) use table::Table;
pub(crate) use value_files::{UsedFile, ValueFile, ValueFiles};

#[cfg(test)]
mod tests;
