//! The list of all sets.

use crate::data::Sizes;
use crate::data::lookalikes::LookAlike;
use crate::data::numbers::Numbers;
use crate::data::sizes::{EntrySizes, UDB, UP2X, ZIPPYDB};

/// A set in the list.
#[derive(Debug)]
pub struct Entry {
    /// Its name, without the colon and what follows it.
    pub name: &'static str,
    /// The part after the colon.
    pub source: Source,
    /// The way in which it is made.
    pub kind: Kind,
    /// Its content, in one line.
    pub about: &'static str,
}

/// The part of the name after the colon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    Nothing,
    MayBe(&'static str),
    Must(&'static str),
}

/// The way in which a set is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Numbers(Numbers),
    LookAlike(LookAlike),
    /// 0, 1, 2 and so on.
    Counting,
    /// Of a file, in the order of the file.
    Arrivals,
    /// Uniform below 10^16.
    Uni,
    GitOffsets,
    GitTimes,
    Sosd,
    YcsbUniform,
    /// With this skew.
    YcsbZipf(f64),
    YcsbGaps(f64),
    /// Decimal digits with the lengths of an entry's keys, and values with the sizes of its values.
    Digits(EntrySizes),
    Paths,
    Words,
}

const fn made(name: &'static str, kind: Kind, about: &'static str) -> Entry {
    from(name, Source::Nothing, kind, about)
}

const fn from(name: &'static str, source: Source, kind: Kind, about: &'static str) -> Entry {
    Entry {
        name,
        source,
        kind,
        about,
    }
}

/// Values of YCSB.
pub const YCSB_VALUE: Sizes = Sizes::Fixed(1_000);
const VARIABLE: EntrySizes = EntrySizes {
    keys: Sizes::Between(8, 24),
    values: YCSB_VALUE,
};
const SIXTEEN: EntrySizes = EntrySizes {
    keys: Sizes::Fixed(16),
    values: Sizes::Fixed(16),
};
const REPOSITORY: Source = Source::Must("DIR");

/// All sets.
#[rustfmt::skip]
pub const SETS: &[Entry] = &[
    made("uniform", Kind::Numbers(Numbers::Uniform), "integers uniform below 2^63"),
    made("counting", Kind::Counting, "integers 0, 1, 2 and so on"),
    made("uni", Kind::Uni, "integers uniform below 10^16"),
    made("lognormal", Kind::Numbers(Numbers::Lognormal), "integers lognormal (0, 2), times 10^9"),
    made("dense", Kind::Numbers(Numbers::Dense), "integers with gaps of 1 to 4"),
    made("fb", Kind::Numbers(Numbers::Fb), "integers uniform below 2^38, and 21 outliers"),
    made("osm", Kind::Numbers(Numbers::Osm), "integers in 100,000 Gaussian clusters"),
    made("wiki", Kind::Numbers(Numbers::Wiki), "integers that come in bursts"),
    made("fb-like", Kind::LookAlike(LookAlike::Fb), "look-alike of SOSD's fb: user ids, as hard to index"),
    made("osm-like", Kind::LookAlike(LookAlike::Osm), "look-alike of SOSD's osm: cells of a map, as hard to index"),
    made("wiki-like", Kind::LookAlike(LookAlike::Wiki), "look-alike of SOSD's wiki: times of edits, as hard to index"),
    made("books-like", Kind::LookAlike(LookAlike::Books), "look-alike of SOSD's books: sales, with the tail of a power law"),
    made("ycsb-uniform", Kind::YcsbUniform, "24 decimal digits, uniform"),
    made("ycsb-zipf0.9", Kind::YcsbZipf(0.9), "24 decimal digits, Zipf 0.9: updates over 10^15 keys"),
    made("ycsb-zipf0.99", Kind::YcsbZipf(0.99), "24 decimal digits, Zipf 0.99: updates over 10^15 keys"),
    made("ycsb-zipf0.9-gaps", Kind::YcsbGaps(0.9), "24 decimal digits, gaps by Zipf 0.9"),
    made("ycsb-zipf0.99-gaps", Kind::YcsbGaps(0.99), "24 decimal digits, gaps by Zipf 0.99"),
    made("ycsb-var", Kind::Digits(VARIABLE), "8 to 24 decimal digits, uniform"),
    made("digits-16", Kind::Digits(SIXTEEN), "16 decimal digits, uniform"),
    made("udb", Kind::Digits(UDB), "keys of 27.1 +- 2.6 digits, values of 126.7 +- 22.1 bytes"),
    made("zippydb", Kind::Digits(ZIPPYDB), "keys of 47.9 +- 3.7 digits, values of 42.9 +- 26.1 bytes"),
    made("up2x", Kind::Digits(UP2X), "keys of 10.4 +- 1.4 digits, values of 46.8 +- 11.6 bytes"),
    from("paths", Source::MayBe("FILE"), Kind::Paths, "paths of a file index with their packages; without FILE, the built-in slice"),
    from("words", Source::MayBe("FILE"), Kind::Words, "words, one on each line; without FILE, the words of this system"),
    from("git-offsets", REPOSITORY, Kind::GitOffsets, "integers: offsets of the objects in a repository's largest pack"),
    from("git-times", Source::MayBe("DIR"), Kind::GitTimes, "integers: times of a repository's commits, nearly in order; without DIR, of Git's own"),
    from("arrivals", Source::Must("FILE"), Kind::Arrivals, "integers of a text, one at the start of each line, in the order of the text"),
    from("sosd", Source::Must("FILE"), Kind::Sosd, "integers of a SOSD file"),
];

impl Entry {
    /// Its name with a placeholder for the source, such as `sosd:FILE`.
    pub fn usage(&self) -> String {
        match self.source {
            Source::Nothing => self.name.to_string(),
            Source::MayBe(what) => format!("{}[:{what}]", self.name),
            Source::Must(what) => format!("{}:{what}", self.name),
        }
    }
}
