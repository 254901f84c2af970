//! What *DobLIX* was measured over, for our experiments and for the rules on them.

/// The sets of keys. Two of them stand for all at the smallest scale: the first ones.
pub const SETS: [&str; 6] = [
    "lognormal",
    "osm-like",
    "books-like",
    "fb-like",
    "wiki-like",
    "uni",
];

/// Bytes of a key.
pub const KEY: usize = 8;

/// Those of the parts of a look-up and of building tables.
pub const TWO_SETS: [&str; 2] = ["lognormal", "books-like"];

/// The distributions of requests. The paper does not name its six; these are those of YCSB.
pub const REQUESTS: [&str; 6] = [
    "uniform",
    "zipfian",
    "latest",
    "hotspot",
    "exponential",
    "sequential",
];
