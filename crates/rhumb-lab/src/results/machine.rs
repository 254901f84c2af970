//! Facts about the machine on which results were measured.

use std::fs;
use std::thread::available_parallelism;

/// The average number of threads that ran or waited to run in the last minute.
pub fn load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// Operating system, architecture, cores and memory.
pub fn machine() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let memory = first_field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok())
        .map_or(String::new(), |kib| format!(", {} MiB", kib >> 10));
    let (os, kernel, arch) = (std::env::consts::OS, kernel.trim(), std::env::consts::ARCH);
    let cores = available_parallelism().map_or(0, usize::from);
    format!("{os} {kernel} {arch}, {cores} cores{memory}")
}

/// The processor's name.
pub fn cpu() -> String {
    first_field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_string())
}

/// The value of the first line `name: value` in one of Linux's files about the machine.
fn first_field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(field, _)| field.trim() == name)?;
    Some(value.trim().to_string())
}
