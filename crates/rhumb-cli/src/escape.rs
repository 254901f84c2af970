//! Bytes as printable text and back: `\t`, `\n`, `\r`, `\\`, and `\xHH` for other control
//! characters and for bytes that are not valid UTF-8.

use std::io::{self, Write};

/// Writes `bytes` without line ends and tabs, in a form that [`decode`] turns back into them.
pub fn write(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    // Most data is valid UTF-8, and one check of the whole is faster than a check of each chunk.
    if std::str::from_utf8(bytes).is_ok() {
        return write_text(out, bytes);
    }
    for chunk in bytes.utf8_chunks() {
        write_text(out, chunk.valid().as_bytes())?;
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}")?;
        }
    }
    Ok(())
}

/// Writes valid UTF-8, escaping control characters and the backslash.
fn write_text(out: &mut dyn Write, mut text: &[u8]) -> io::Result<()> {
    let special = |byte: &u8| *byte < 0x20 || *byte == 0x7f || *byte == b'\\';
    while let Some(at) = text.iter().position(special) {
        let (plain, rest) = text.split_at(at);
        out.write_all(plain)?;
        let Some((byte, rest)) = rest.split_first() else {
            break;
        };
        match byte {
            b'\t' => out.write_all(b"\\t")?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            b'\\' => out.write_all(b"\\\\")?,
            _ => write!(out, "\\x{byte:02x}")?,
        }
        text = rest;
    }
    out.write_all(text)
}

/// `bytes` escaped, as a string.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    // Writing to a vector cannot fail, and the output of `write` is valid UTF-8.
    let _ = write(&mut out, bytes);
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends the bytes that `text` stands for to `into`.
///
/// # Errors
/// A sentence that shows the first backslash that begins no escape.
pub fn decode(mut text: &[u8], into: &mut Vec<u8>) -> Result<(), String> {
    while let Some(at) = text.iter().position(|b| *b == b'\\') {
        let (plain, escape) = text.split_at(at);
        into.extend_from_slice(plain);
        let (byte, rest) = match escape {
            [_, b't', rest @ ..] => (b'\t', rest),
            [_, b'n', rest @ ..] => (b'\n', rest),
            [_, b'r', rest @ ..] => (b'\r', rest),
            [_, b'\\', rest @ ..] => (b'\\', rest),
            [_, b'x', high, low, rest @ ..] => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, rest),
                _ => return Err(unknown(escape)),
            },
            _ => return Err(unknown(escape)),
        };
        into.push(byte);
        text = rest;
    }
    into.extend_from_slice(text);
    Ok(())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|d| u8::try_from(d).ok())
}

fn unknown(escape: &[u8]) -> String {
    let shown = escape.get(..escape.len().min(4)).unwrap_or_default();
    let shown = String::from_utf8_lossy(shown);
    format!("`{shown}` is not an escape: write \\t, \\n, \\r, \\xHH, or \\\\ for a backslash")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_bytes_comes_back() {
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                let bytes = [a, b, b'x', 0xc3, a];
                let text = encode(&bytes);
                assert!(!text.contains(['\t', '\n', '\r', '\0']), "{text:?}");
                let mut back = Vec::new();
                decode(text.as_bytes(), &mut back).unwrap();
                assert_eq!(back, bytes, "{text:?}");
            }
        }
    }

    #[test]
    fn text_stays_readable() {
        assert_eq!(encode("Ærø 12\u{20ac}".as_bytes()), "Ærø 12\u{20ac}");
        assert_eq!(encode(b"a\tb\\\xff\x00"), "a\\tb\\\\\\xff\\x00");
    }

    #[test]
    fn invalid_escapes_are_refused() {
        for text in ["\\", "\\q", "\\x", "\\x1", "\\xg0", "a\\x+1"] {
            assert!(decode(text.as_bytes(), &mut Vec::new()).is_err(), "{text}");
        }
    }
}
