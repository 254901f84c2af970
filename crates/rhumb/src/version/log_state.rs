//! What the manifest says of a log.

use crate::version::Change;

/// What the manifest says of a log that it names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LogState {
    /// It was begun, and its end is not known.
    #[default]
    Begun,
    /// It was begun before the log before it was complete, whose operations it continues. Its end is not
    /// known.
    BegunAhead,
    /// It ends there for ever, in bytes.
    Ended(u64),
}

impl LogState {
    /// Its end in bytes, if the manifest names it.
    pub fn end(self) -> Option<u64> {
        match self {
            LogState::Ended(end) => Some(end),
            LogState::Begun | LogState::BegunAhead => None,
        }
    }

    /// The change that gives the log with this id this state.
    pub fn change(self, id: u64) -> Change {
        match self {
            LogState::Begun => Change::BeginLog(id),
            LogState::BegunAhead => Change::BeginLogAhead(id),
            LogState::Ended(valid_end) => Change::Log { id, valid_end },
        }
    }
}
