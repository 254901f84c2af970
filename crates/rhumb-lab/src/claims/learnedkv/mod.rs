//! *LearnedKV*: an LSM-tree in front of a static tier with learned models, over a value log.

mod gains;
mod growth;
mod parts;
pub mod published;

use super::{Claim, Judge};

/// The paper's claims.
pub const ALL: &[Claim] = &[
    Claim {
        id: "C-L1",
        paper: "LearnedKV",
        published: "Over RocksDB+: up to 4.32x reads and 1.41x writes on an SSD; at 10M entries, \
                    half reads and half writes, 3.35x reads (3.12x in the tables) and 1.30x \
                    writes; 1.43x writes on a hard disk.",
        judge: Judge {
            rule: "Throughput of P3 of tier-keys over that of RocksDB+ with its published settings and with equal memory, and of RocksDB \
                   with blob files. A part holds if ours is surely better by at least half of what was published: at 5:5 1 + 2.35 / 2 \
                   for reads and 1 + 0.30 / 2 for writes; of the best mix of reads and writes 1 + 3.32 / 2 and 1 + 0.41 / 2; of the best \
                   mix on a slow disk 1 + 0.43 / 2 for writes. More than was published counts too.",
            experiments: &["L-F8", "L-F9", "L-F15"],
            parts: parts::speed,
        },
    },
    Claim {
        id: "C-L2",
        paper: "LearnedKV",
        published: "Indexes take 2.98x less space: 81.3 MB against 242 MB.",
        judge: Judge {
            rule: "Bytes of the tables of tier-keys behind P3, which hold keys, pointers, models and filters, beside those of RocksDB+ \
                   with its published settings and with equal memory: less by a factor of at least 1 + 1.98 / 2.",
            experiments: &["L-F8"],
            parts: parts::space,
        },
    },
    Claim {
        id: "C-L3",
        paper: "LearnedKV",
        published: "Range scans over plain RocksDB: up to 2.02x without updates and 1.76x with \
                    them; elsewhere in the text up to 4x.",
        judge: Judge {
            rule: "Throughput of scans of tier-keys over that of plain RocksDB, and, as in the published program, of RocksDB+: by at \
                   least 1 + 1.02 / 2 without updates, and by 1 + 0.76 / 2 behind as many as there are entries.",
            experiments: &["L-F10"],
            parts: parts::scans,
        },
    },
    Claim {
        id: "C-L4",
        paper: "LearnedKV",
        published: "Over HashKV +12 %, +89 %, +34 % and over Bourbon +58 %, +87 %, +32 % (write- \
                    heavy, read-heavy, read-only); over hybrid learned indexes and a B+-tree \
                    2.66x write-heavy and up to 8.24x read-heavy.",
        judge: Judge {
            rule: "Throughput of all operations of YCSB A, B and C of tier-keys over that of rhumb in the form of HashKV and of Bourbon, \
                   and of a B+-tree and hybrid indexes on the disk: by at least half of each published gain.",
            experiments: &["L-F11"],
            parts: parts::others,
        },
    },
    Claim {
        id: "C-L5",
        paper: "LearnedKV",
        published: "The filter of the LSM-tree costs 5.65 % of writes and gains 9.6 % of reads.",
        judge: Judge {
            rule: "Throughput of P3 at 5:5 of tier-keys over that of the same store without the filter above the tier: reads by at least \
                   1 + 0.096 / 2, and writes by at least 1 - 0.0565 * 1.5, which is one and a half times the published cost.",
            experiments: &["L-F13"],
            parts: parts::filter,
        },
    },
    Claim {
        id: "C-L6",
        paper: "LearnedKV",
        published: "Conversion into the tier blocks neither reads nor writes.",
        judge: Judge {
            rule: "P99.9 of reads and of writes of tier-keys in P1 to P3, during which ranges are converted, is at most 1.5 times that of \
                   the same store without a tier (lsm-values).",
            experiments: &["L-F8"],
            parts: parts::blocking,
        },
    },
    Claim {
        id: "C-L7",
        paper: "LearnedKV",
        published: "From 1M to 10M keys the cost of RocksDB grows by 216 % for reads and 44.5 % \
                    for writes.",
        judge: Judge {
            rule: "RocksDB, or, where it is not built in, rhumb with fence pointers over blocks of 4 KiB, both with the published \
                   settings. A mean get takes 2.1 to 4.7 times as long among all records of the scale as among a tenth \
                   of them, a mean put of a new key 1.1 to 2.2 times.",
            experiments: &["L-F3"],
            parts: growth::parts,
        },
    },
    Claim {
        id: "C-L8",
        paper: "LearnedKV",
        published: "Real sets of keys: writes 1.18x to 1.25x, reads 2.69x to 3.21x; \
                    distributions: 1.04x to 1.30x and 2.51x to 3.12x; sizes: 1.08x to 1.35x and \
                    1.27x to 3.12x.",
        judge: Judge {
            rule: "Throughput of P3 of tier-keys over that of RocksDB+ with its published settings and with equal memory, and of RocksDB \
                   with blob files. A part holds if at every point of its axis ours is surely better by at least half of the gain that \
                   the table has there.",
            experiments: &["L-T2", "L-T3", "L-T4"],
            parts: parts::data,
        },
    },
    Claim {
        id: "C-L9",
        paper: "LearnedKV",
        published: "Reads that the tier answers take 67 % less time, those of the LSM-tree 23 % \
                    less; over 95 % of reads probe the LSM-tree.",
        judge: Judge {
            rule: "Mean latency of the reads of P1 that the tier of tier-keys answers, and of those that buffers or tables above it \
                   answer, beside that of all reads of RocksDB+ with its published settings and with equal memory: less by a factor of at \
                   least half of what was published, 1 + 2.03 / 2 and 1 + 0.30 / 2. Of the gets of P1 at most 95.3 % ask more than the tier.",
            experiments: &["L-T6"],
            parts: parts::sources,
        },
    },
    Claim {
        id: "C-L10",
        paper: "LearnedKV",
        published: "Over-provision of 10 to 50 %: writes 1.15x to 1.42x (1.39x to 1.65x in the \
                    prose), reads 2.58x to 3.11x.",
        judge: Judge {
            rule: "As C-L8, over the over-provision, by the numbers of Table 7.",
            experiments: &["L-T7"],
            parts: parts::over_provision,
        },
    },
    Claim {
        id: "C-L11",
        paper: "LearnedKV",
        published: "In memory up to 1.26x; on a hard disk 1.22x to 1.43x; with direct I/O over \
                    hybrid indexes 5.3x (YCSB B) and 7.9x (YCSB C).",
        judge: Judge {
            rule: "Throughput of all operations of P3 of tier-keys. In memory over that of RocksDB+ of equal memory, by at least 1 + 0.26 \
                   / 2 at the best mix of reads and writes. On a slow disk over that of RocksDB+, by at least 1 + 0.22 / 2 at each mix. \
                   With direct I/O over hybrid indexes, by at least half of the published gain.",
            experiments: &["L-F14", "L-F15", "L-T5"],
            parts: parts::media,
        },
    },
    Claim {
        id: "C-L12",
        paper: "LearnedKV",
        published: "Conversion of 10M entries sorts in less than 80 MB; models take 96 KB; \
                    filters are wrong for less than 5 % of absent keys.",
        judge: Judge {
            rule: "The memory that the process takes beyond what it had while all ranges of tier-keys are converted by force is surely at \
                   most 8 bytes for each entry. \
                   Models of all tables behind P3 take at most 1.5 times 96 KB for 10 million entries. \
                   Less than a million entries decide neither. The filter above the tier is wrong for less than 5 % of the gets of P3 at 5:5 whose key does not stand there.",
            experiments: &["L-F10", "L-F8", "L-F13"],
            parts: parts::memory,
        },
    },
];
