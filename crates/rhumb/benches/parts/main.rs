//! The cost of single parts of the store: `cargo bench -p rhumb --features internals`, or with `--
//! <part of a name>` only some of them.
//!
//! These benches are for changes of a part. What a user sees is measured by `rhumb-lab`.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a bench ends where its store fails"
)]

mod keys;
mod tables;
mod writes;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

fn config() -> Criterion {
    Criterion::default()
        .sample_size(40)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! {
    name = parts;
    config = config();
    targets =
        tables::stages,
        tables::searches,
        tables::merges,
        tables::scans,
        writes::write_buffer,
        writes::log
}
criterion_main!(parts);
