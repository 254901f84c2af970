//! The benchmark of indexes on nearly sorted arrivals (BLISS): K % of entries are out of place, by
//! at most L %. Not judged yet.

use super::{Claim, Judge};

/// The requirement of all its claims.
const RUNS: &str = "needs the experiments on sortedness, which are not built yet";

/// The paper's claims.
pub const ALL: &[Claim] = &[
    Claim {
        id: "C-B1",
        paper: "BLISS",
        published: "LIPP is from 4.4x faster to 1.9x slower than ALEX, by sortedness; it fails \
                    on sequential inserts of fully sorted keys.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-B2",
        paper: "BLISS",
        published: "Writes to RocksDB become up to 1.7x slower with displacement, 20 % from \
                    fully to barely not sorted; compactions grow up to 2.7x; trivial moves fall \
                    from 524 to 96 at K = L = 1 %.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-B3",
        paper: "BLISS",
        published: "Bulk load: ALEX loses up to 60 % at K, L >= 25 %; LIPP is at least 1.5x \
                    better at L <= 25 %.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-B4",
        paper: "BLISS",
        published: "Writes: ALEX is best at K, L < 10 % and worst at (100, 100); LIPP is up to \
                    8x better at K <= 10 %, L >= 25 %, and 2.5x ALEX at (100, 100).",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-B5",
        paper: "BLISS",
        published: "Reads: ALEX stays within 10 % everywhere; LIPP is faster with larger L.",
        judge: Judge::Later(RUNS),
    },
];
