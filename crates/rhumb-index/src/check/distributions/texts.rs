//! Byte strings of other kinds: texts, compound keys, and edge cases.

use super::Row;
use crate::check::SplitMix64;

pub(super) const ALL: &[Row] = &[
    ("empty-key-only", |_, _| vec![Vec::new()]),
    ("decimal-24", |r, n| {
        make(n, |_| format!("{:024}", r.below(10_000_000_000)).into())
    }),
    ("decimal-unpadded", |r, n| {
        make(n, |_| format!("user{}", r.below(1 << 40)).into())
    }),
    ("hex-16", |r, n| {
        make(n, |_| format!("{:016x}", r.next_u64()).into())
    }),
    ("uuid", |r, n| make(n, |_| uuid(r).into())),
    ("base64", |r, n| make(n, |_| symbols(r, b"+/09AZaz", 22))),
    ("words", |r, n| make(n, |_| word(r).into())),
    ("paths", |r, n| make(n, |_| path(r, 6).into())),
    ("urls", |r, n| {
        make(n, |_| {
            format!("https://{}.example/{}", word(r), path(r, 3)).into()
        })
    }),
    ("log-names", |r, n| {
        make(n, |i| {
            format!("host-{:02}/2024-{:02}-{i:06}.log", r.below(9), i % 12 + 1).into()
        })
    }),
    ("random-16", |r, n| make(n, |_| r.bytes(16, 256))),
    ("random-lengths", |r, n| make(n, |_| any_length(r, 40, 256))),
    ("two-symbols", |r, n| make(n, |_| any_length(r, 24, 2))),
    ("zeros-and-ffs", |r, n| {
        make(n, |_| symbols(r, &[0x00, 0xff], 20))
    }),
    ("embedded-nuls", |r, n| {
        make(n, |_| {
            [word(r).as_bytes(), &[0, 0], word(r).as_bytes(), &[0]].concat()
        })
    }),
    ("trailing-nuls", |r, n| {
        make(n, |_| {
            [word(r).as_bytes(), &vec![0; r.below(5) as usize]].concat()
        })
    }),
    ("prefixes-of-each-other", |_, n| {
        make(n.min(2000), |i| vec![b'a'; i])
    }),
    ("prefix-tree", |r, n| {
        let whole = r.bytes(n, 3);
        make(n, |_| {
            let start = r.below(n as u64 / 2 + 1) as usize;
            whole[start..n.min(start + r.below(30) as usize)].to_vec()
        })
    }),
    ("pairs-that-tie", |r, n| {
        make(n, |i| {
            [
                &spread(i / 2),
                [b'z', i as u8 & 1].as_slice(),
                &r.bytes(0, 1),
            ]
            .concat()
        })
    }),
    ("ties-of-any-length", |r, n| {
        make(n, |_| {
            [spread(r.below(n as u64 / 3 + 1) as usize), r.bytes(2, 6)].concat()
        })
    }),
    ("long-shared-prefix", |r, n| {
        make(n, |_| {
            [vec![b'p'; 500], r.below(1 << 40).to_be_bytes().to_vec()].concat()
        })
    }),
    ("many-long-prefixes", |r, n| {
        make(n, |i| {
            [
                &b"/srv/data/releases/".repeat(i % 3 + 1),
                path(r, 9).as_bytes(),
            ]
            .concat()
        })
    }),
    ("compound", |r, n| {
        make(n, |_| {
            let tenant = (r.below(50) as u32).to_be_bytes();
            [tenant.as_slice(), &r.below(1 << 34).to_be_bytes()].concat()
        })
    }),
    ("integers-of-1-to-9-bytes", |r, n| {
        make(n, |i| r.bytes(1 + i % 9, 256))
    }),
    ("integers-and-one-text", |r, n| {
        let mut keys = make(n, |_| r.below(1 << 40).to_be_bytes().to_vec());
        keys.push(b"a key of another shape".to_vec());
        keys
    }),
];

fn make(count: usize, key: impl FnMut(usize) -> Vec<u8>) -> Vec<Vec<u8>> {
    (0..count).map(key).collect()
}

fn symbols(random: &mut SplitMix64, alphabet: &[u8], len: usize) -> Vec<u8> {
    (0..len)
        .filter_map(|_| random.choose(alphabet))
        .copied()
        .collect()
}

fn any_length(random: &mut SplitMix64, below: u64, alphabet: u64) -> Vec<u8> {
    let len = random.below(below) as usize;
    random.bytes(len, alphabet)
}

/// A prefix that uses up a key map's 64 bits, so that keys that differ only after it share a
/// number.
fn spread(i: usize) -> Vec<u8> {
    (i as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .to_be_bytes()
        .to_vec()
}

fn word(random: &mut SplitMix64) -> String {
    const PARTS: [&str; 12] = [
        "ka", "to", "rin", "e", "shu", "al", "mon", "sy", "dra", "ix", "bel", "ou",
    ];
    let parts = 1 + random.below(5);
    (0..parts)
        .filter_map(|_| random.choose(&PARTS))
        .copied()
        .collect()
}

fn path(random: &mut SplitMix64, depth: u64) -> String {
    const FOLDERS: [&str; 8] = [
        "usr", "share", "lib", "python3", "doc", "src", "include", "locale",
    ];
    let mut path = String::from("/usr");
    for _ in 0..random.below(depth) {
        path.push('/');
        path.push_str(random.choose(&FOLDERS).copied().unwrap_or_default());
    }
    format!("{path}/{}.{}", word(random), random.below(3))
}

fn uuid(random: &mut SplitMix64) -> String {
    let (high, low) = (random.next_u64(), random.next_u64());
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
    let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
}
