//! What is found in the place of a file and is none: pipes, sockets, devices, directories, and
//! symbolic links that lead to no file.
//!
//! Opening a pipe waits for its other end, a device never ends, and a link to nothing looks like a
//! missing file. So each is refused before it is opened.

use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::io::Errno;

/// Opens a file, through symbolic links, and refuses what is none.
pub(super) fn open_file(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match special_kind(path) {
        Some(kind) => Err(not_a_file("it", kind)),
        None => options.open(path),
    }
}

/// What stands in the place of a file and is none; `None` if a file or nothing is there.
pub(super) fn special_kind(path: &Path) -> Option<&'static str> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => None,
        Ok(found) => Some(kind_of(found.file_type())),
        Err(e) if is_link(path) => Some(kind_of_link(&e)),
        Err(_) => None,
    }
}

/// The error of what is no file.
pub(super) fn not_a_file(name: &str, kind: &str) -> io::Error {
    io::Error::other(format!("{name} is {kind}, not a file: move it away"))
}

/// The error of a file that claims to be longer than what was ever written to it.
pub(super) fn sparse(length: u64, hole: u64) -> io::Error {
    io::Error::other(format!(
        "it is a sparse file: of its {length} bytes at least {hole} in one piece were never written; \
         restore it from a backup or move it away"
    ))
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

fn kind_of(found: FileType) -> &'static str {
    match found {
        f if f.is_fifo() => "a named pipe",
        f if f.is_socket() => "a socket",
        f if f.is_char_device() => "a character device",
        f if f.is_block_device() => "a block device",
        f if f.is_dir() => "a directory",
        _ => "something unknown",
    }
}

fn kind_of_link(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(code) if code == Errno::LOOP.raw_os_error() => {
            "a symbolic link that leads back to itself"
        }
        _ if error.kind() == io::ErrorKind::NotFound => "a symbolic link to nothing",
        _ => "a symbolic link that cannot be followed",
    }
}
