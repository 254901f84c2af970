//! One JSON object on each line, `{"key": "...", "value": "..."}`. The strings are plain JSON:
//! after JSON decoding a backslash stands for itself.

use serde_json::Value;

use super::{Entry, EntryReader, Lines, Malformed};

/// Reads `jsonl`.
pub struct JsonLinesReader {
    lines: Lines,
    key: String,
    value: String,
}

impl JsonLinesReader {
    pub(super) fn new(lines: Lines) -> Self {
        JsonLinesReader {
            lines,
            key: String::new(),
            value: String::new(),
        }
    }
}

/// The key and the value of an object without other members.
fn parse(line: &[u8]) -> Result<(String, String), String> {
    let expected = "is not of the form {\"key\": \"...\", \"value\": \"...\"}";
    let object: Value =
        serde_json::from_slice(line).map_err(|e| format!("is not valid JSON ({e})"))?;
    let Value::Object(mut object) = object else {
        return Err(expected.to_string());
    };
    match (object.remove("key"), object.remove("value")) {
        (Some(Value::String(key)), Some(Value::String(value))) if object.is_empty() => {
            Ok((key, value))
        }
        _ => Err(expected.to_string()),
    }
}

impl EntryReader for JsonLinesReader {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Malformed> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        (self.key, self.value) =
            parse(&self.lines.line).map_err(|why| self.lines.malformed(why))?;
        Ok(Some((self.key.as_bytes(), self.value.as_bytes())))
    }

    fn place(&self) -> String {
        self.lines.place()
    }
}
