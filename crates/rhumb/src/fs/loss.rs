//! A model of what a loss of power does to a disk, for crash tests.

/// Which unsynced changes a loss of power undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// What is lost of the bytes written to each file since its last sync.
    pub data: DataLoss,
    /// What is lost of the changes to each directory since its last sync.
    pub directory: DirectoryLoss,
}

/// What is lost of the bytes written to a file since its last sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataLoss {
    /// All of them.
    Lost,
    /// None.
    Kept,
    /// Those after a random number of pages of `page` bytes. The file may keep its length; the lost
    /// part then reads as zeros.
    Torn {
        /// The unit in which the disk writes, in bytes: 512 or 4096.
        page: usize,
    },
    /// Each page at random, independently of the others, so that a later page may be kept while an
    /// earlier one reads as zeros. The file may keep its length.
    Scattered {
        /// The unit in which the disk writes, in bytes: 512 or 4096.
        page: usize,
        /// The probability that a page is kept, in percent, 0 to 100.
        kept_percent: u64,
    },
}

/// What is lost of the creations, renames and removals in a directory since its last sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryLoss {
    /// All of them.
    Lost,
    /// None.
    Kept,
    /// Those after a random one.
    Prefix,
    /// Each with probability one half. A rename also fails if the creation it depends on is lost.
    Scattered,
}

impl DataLoss {
    /// Whether a file that was cut and not synced since is found uncut.
    pub(super) fn undoes_a_cut(self, random: &mut Random) -> bool {
        match self {
            DataLoss::Lost => true,
            DataLoss::Kept => false,
            DataLoss::Torn { .. } | DataLoss::Scattered { .. } => random.below(2) == 0,
        }
    }

    /// The contents found after the loss of a file with these bytes, the first `synced` of them
    /// synced.
    pub(super) fn apply(self, bytes: &[u8], synced: usize, random: &mut Random) -> Vec<u8> {
        let (kept, unsynced) = bytes.split_at_checked(synced).unwrap_or((bytes, &[]));
        match self {
            DataLoss::Lost => kept.to_vec(),
            DataLoss::Kept => bytes.to_vec(),
            DataLoss::Torn { page } => {
                let pages = pages(synced, bytes.len(), page).count() as u64;
                let mut left = random.below(pages + 1);
                lose_pages(kept, unsynced, page, random, |_| {
                    let keep = left > 0;
                    left = left.saturating_sub(1);
                    keep
                })
            }
            DataLoss::Scattered { page, kept_percent } => {
                lose_pages(kept, unsynced, page, random, |r| {
                    r.below(100) < kept_percent
                })
            }
        }
    }
}

/// Splits `from..to` at the multiples of `page`.
fn pages(from: usize, to: usize, page: usize) -> impl Iterator<Item = (usize, usize)> {
    let page = page.max(1);
    let next = move |at: usize| ((at / page + 1) * page).min(to);
    std::iter::successors(Some(from), move |at| Some(next(*at)))
        .take_while(move |at| *at < to)
        .map(move |at| (at, next(at)))
}

/// Keeps the pages that `keep` chooses, and keeps the file's length with probability one half.
fn lose_pages(
    synced: &[u8],
    unsynced: &[u8],
    page: usize,
    random: &mut Random,
    mut keep: impl FnMut(&mut Random) -> bool,
) -> Vec<u8> {
    let mut found = synced.to_vec();
    let length = synced.len() + unsynced.len();
    for (from, to) in pages(synced.len(), length, page) {
        if keep(random) {
            found.resize(from, 0);
            let range = from - synced.len()..to - synced.len();
            found.extend_from_slice(unsynced.get(range).unwrap_or_default());
        }
    }
    if random.below(2) == 0 {
        found.resize(length, 0);
    }
    found
}

impl DirectoryLoss {
    /// Which of `count` operations are kept.
    pub(super) fn kept(self, count: usize, random: &mut Random) -> Vec<bool> {
        let prefix = random.below(count as u64 + 1);
        let keep = |i: u64| match self {
            DirectoryLoss::Lost => false,
            DirectoryLoss::Kept => true,
            DirectoryLoss::Prefix => i < prefix,
            DirectoryLoss::Scattered => random.below(2) == 0,
        };
        (0..count as u64).map(keep).collect()
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a seed always gives the same numbers.
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}
