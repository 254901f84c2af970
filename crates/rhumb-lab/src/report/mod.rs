//! One self-contained HTML page with the papers' figures, measured again.
#![expect(dead_code, reason = "the report command that calls it is not there yet")]

mod model;
