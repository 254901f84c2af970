//! *DobLIX*: blocks cut by the model, and an agent that tunes their parameters. Not judged yet.

use super::{Claim, Judge};

/// The requirement of most of its claims.
const RUNS: &str = "needs the experiments on DobLIX and its peers, which are not built yet";

/// The paper's claims.
pub const ALL: &[Claim] = &[
    Claim {
        id: "C-D1",
        paper: "DobLIX",
        published: "Read-only throughput, on average, over TridentKV, Bourbon and RocksDB: 1.41x, 1.57x, \
                    1.92x; the summary says up to 1.41x, 1.52x, 2.21x.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-D2",
        paper: "DobLIX",
        published: "Exactly 1 block is read for each probe of a table that passes the filter.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-D3",
        paper: "DobLIX",
        published: "Keys of 64 B: indexes 25.9 % smaller, tables built in 5.9 % less time than \
                    by RocksDB.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-D4",
        paper: "DobLIX",
        published: "Entries of variable size, over RocksDB: 1.32x (UDB), 1.38x (ZippyDB), 1.62x \
                    (UP2X).",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-D5",
        paper: "DobLIX",
        published: "The agent needs at least 50 episodes; throughput goes from 45K to 93K \
                    operations/s (AMZN, read-heavy, Zipf points).",
        judge: Judge::Later("needs the agent, which is not built yet"),
    },
    Claim {
        id: "C-D6",
        paper: "DobLIX",
        published: "Over TridentKV, Bourbon, RocksDB: read-heavy 1.27x, 1.36x, 1.22x; balanced \
                    1.29x, 1.27x, 1.31x; write-heavy 1.16x, 1.14x, 1.04x; tail, read-only 1.85x, \
                    1.89x, 2.13x; tail with writes up to 2.67x over TridentKV.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-D7",
        paper: "DobLIX",
        published: "Parts of a look-up: total up to 23, 27, 56 % less; load index -10.35 %, find \
                    block up to -22 %, load block up to -12.2 %, find key -11.1 %.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-D8",
        paper: "DobLIX",
        published: "YCSB B, C, D 1.32x, 1.42x, 2.02x; A and F +56 %; E +9.2, +16.7, +42.8 %; \
                    distributions of requests +39.4, +52.1, +78.9 %.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-D9",
        paper: "DobLIX",
        published: "TridentKV drops sharply as keys grow; Bourbon wins with values of 4 KB.",
        judge: Judge::Later("needs TridentKV and Bourbon, which are not built yet"),
    },
    Claim {
        id: "C-D10",
        paper: "DobLIX",
        published: "Keys of 64 B: tables built in 24.7 % less time than by TridentKV; training \
                    is 4.8 % and serialising 3.7 % of it.",
        judge: Judge::Later(RUNS),
    },
    Claim {
        id: "C-D11",
        paper: "DobLIX",
        published: "Best settings: points PLA 128 with small blocks; ranges PRA 16 KB; size PLA \
                    256 with large blocks, under 500 MB.",
        judge: Judge::Later(RUNS),
    },
];
