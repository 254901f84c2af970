//! The largest memory of this process while something runs.

use std::fs;

/// Remembers the largest memory since its start, page cache and swapped pages left out.
#[derive(Debug)]
pub struct MemoryWatch {
    before: u64,
}

impl MemoryWatch {
    /// Begins; `None` if the operating system does not tell. One at a time: the operating system remembers one
    /// maximum for the process.
    pub fn start() -> Option<MemoryWatch> {
        fs::write("/proc/self/clear_refs", "5").ok()?;
        let before = of_status("VmRSS:")?;
        Some(MemoryWatch { before })
    }

    /// The bytes that were taken at most beyond those at the start.
    pub fn stop(self) -> Option<u64> {
        Some(of_status("VmHWM:")?.saturating_sub(self.before))
    }
}

/// The bytes of a line of the process's status.
fn of_status(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_memory_is_remembered() {
        const BYTES: usize = 64 << 20;
        let Some(watch) = MemoryWatch::start() else {
            println!("skipped: the operating system does not tell");
            return;
        };
        let filled = vec![7_u8; BYTES];
        assert!(std::hint::black_box(&filled).ends_with(&[7]));
        drop(filled);
        // Other tests take and free memory meanwhile, but hardly half of this.
        assert!(watch.stop().unwrap() > BYTES as u64 / 2);
    }
}
