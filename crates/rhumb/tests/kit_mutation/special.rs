//! What can stand in the place of a file and is none.
#![allow(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// A file that claims so much would fill any memory.
pub const TERABYTE: u64 = 1 << 40;

/// How an error calls it, and what makes it.
pub type Kind = (&'static str, fn(&Path));

/// All that can stand there.
pub const KINDS: [Kind; 7] = [
    ("a named pipe", make_pipe),
    ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("a character device", |path| {
        symlink("/dev/zero", path).unwrap();
    }),
    ("a directory", |path| fs::create_dir(path).unwrap()),
    ("a symbolic link to nothing", |path| {
        symlink("nowhere", path).unwrap();
    }),
    ("a symbolic link that leads back to itself", |path| {
        symlink(path, path).unwrap();
    }),
    ("a sparse file", |path| {
        fs::File::create(path).unwrap().set_len(TERABYTE).unwrap();
    }),
];

fn make_pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// Removes what is there, whatever it is.
pub fn remove(path: &Path) {
    match fs::symlink_metadata(path).map(|found| found.is_dir()) {
        Ok(true) => fs::remove_dir(path).unwrap(),
        Ok(false) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}
