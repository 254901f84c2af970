//! Writing to the device that is begun and not waited for.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Has the device begin to take what was written to a file and it has not, once it has taken what it began before.
///
/// # Errors
/// If it could not take that: the operating system tells it once, and a later sync may succeed. So no error of the wait
/// is passed over but the one that there is no such call. An error of the beginning tells of nothing that is lost: the pages
/// still have to be written, and the next sync writes them or fails.
pub(super) fn begin_sync(file: &File) -> io::Result<()> {
    match call(file, libc::SYNC_FILE_RANGE_WAIT_BEFORE) {
        Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => return Ok(()),
        waited => waited?,
    }
    let _ = call(file, libc::SYNC_FILE_RANGE_WRITE);
    Ok(())
}

/// Calls the operating system for the whole file.
fn call(file: &File, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the call is given no memory, and the descriptor is open as long as the file is borrowed.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_is_begun_and_a_pipe_is_not() {
        let mut file = tempfile::tempfile().unwrap();
        for part in [&[1; 10_000][..], &[2; 5]] {
            file.write_all(part).unwrap();
            begin_sync(&file).unwrap();
        }
        assert_eq!(file.metadata().unwrap().len(), 10_005);
        let (_reader, writer) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(writer));
        let refused = begin_sync(&pipe).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ESPIPE));
    }
}
