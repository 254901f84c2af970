//! The options of a keyspace as an edit holds them: numbers with texts (docs/format.md, "Manifest").

use std::fmt;
use std::str::FromStr;

use crate::entry::varint::{Reader, encode, encode_bytes};
use crate::options::KeyspaceOptions;

const INDEX: u64 = 1;
const TABLE: u64 = 2;

/// No text of an option is longer, in bytes.
const LONGEST_TEXT: usize = 1024;

/// Why bytes are no change of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No rhumb writes this.
    Damaged(String),
    /// A later rhumb may write this, or one that was built with other features.
    Later(String),
}

impl From<String> for Refusal {
    fn from(found: String) -> Self {
        Refusal::Damaged(found)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Refusal::Damaged(what) | Refusal::Later(what)) = self;
        f.write_str(what)
    }
}

/// The options that are set.
pub(super) fn encode_options(options: &KeyspaceOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut push = |number, text: String| {
        encode(number, &mut bytes);
        encode_bytes(text.as_bytes(), &mut bytes);
    };
    if let Some(index) = &options.index {
        push(INDEX, index.to_string());
    }
    if let Some(table) = &options.table {
        push(TABLE, table.to_string());
    }
    bytes
}

/// Reads what [`encode_options`] wrote, from all of `bytes`.
pub(super) fn decode_options(bytes: &[u8]) -> Result<KeyspaceOptions, Refusal> {
    let mut reader = Reader::new(bytes);
    let (mut options, mut last) = (KeyspaceOptions::default(), None);
    while !reader.is_empty() {
        let number = reader.varint().ok_or("no option number".to_string())?;
        if last.is_some_and(|last| number <= last) {
            return Err(format!("option {number} behind option {}", last.unwrap_or(0)).into());
        }
        last = Some(number);
        let text = text(reader.bytes(), number)?;
        match number {
            INDEX => options.index = Some(parse(text)?),
            TABLE => options.table = Some(parse(text)?),
            _ => return Err(Refusal::Later(format!("option {number}, {text:?}"))),
        }
    }
    Ok(options)
}

fn text(bytes: Option<&[u8]>, number: u64) -> Result<&str, String> {
    let bytes = bytes.ok_or_else(|| format!("no text of option {number}"))?;
    if bytes.is_empty() || bytes.len() > LONGEST_TEXT {
        let length = bytes.len();
        return Err(format!("a text of {length} bytes for option {number}"));
    }
    std::str::from_utf8(bytes).map_err(|_| format!("a text of option {number} that is not UTF-8"))
}

fn parse<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, Refusal> {
    let unknown = |e| Refusal::Later(format!("the setting {text:?} ({e})"));
    text.parse().map_err(unknown)
}
