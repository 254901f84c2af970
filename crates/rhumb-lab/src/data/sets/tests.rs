//! Tests that hold for every set.

use std::fs;

use super::*;
use crate::data::Sortedness;
use crate::data::numbers::Numbers;

fn set(text: &str) -> SetSpec {
    text.parse().unwrap()
}

/// The sets that need no file.
fn made() -> impl Iterator<Item = SetSpec> {
    let made = SETS.iter().filter(|entry| entry.source == Source::Nothing);
    made.map(|entry| set(entry.name))
}

fn input(set: &SetSpec, count: usize, seed: u64) -> Input {
    set.input(count, None, 0, seed).unwrap()
}

#[test]
fn names_parse_to_what_was_printed() {
    for entry in SETS {
        let text = match entry.source {
            Source::Must(_) => format!("{}:/a:b", entry.name),
            _ => entry.name.to_string(),
        };
        assert_eq!(set(&text).to_string(), text);
        let same = SETS.iter().filter(|other| other.name == entry.name);
        assert_eq!(same.count(), 1, "{}", entry.name);
    }
    assert_eq!(set("words:/a").to_string(), "words:/a");
    for (text, remedy) in [
        ("cows", "rhumb-lab list"),
        ("fb:file", "leave out"),
        ("sosd", "write sosd:FILE"),
        ("git-offsets:", "write git-offsets:DIR"),
    ] {
        let error = text.parse::<SetSpec>().unwrap_err().to_string();
        assert!(error.contains(remedy), "{error}");
    }
}

#[test]
fn made_sets_ascend_repeat_with_the_seed_and_have_the_requested_size() {
    for set in made() {
        let (a, b) = (input(&set, 5_000, 42), input(&set, 5_000, 42));
        assert_eq!((a.keys.len(), a.absent.len()), (5_000, 0), "{set}");
        assert!(a.keys.iter().is_sorted_by(|a, b| a < b), "{set}");
        assert_eq!(a.keys, b.keys, "{set}");
        let other = input(&set, 5_000, 43).keys;
        assert_eq!(a.keys == other, set.is_counting(), "{set}");
        let order = |input: &Input| input.load_order(&mut Random::new(1, 1));
        assert_eq!(order(&a), order(&b), "{set}");
        let loaded = order(&a)
            .into_iter()
            .collect::<std::collections::BTreeSet<u32>>();
        assert!(
            loaded.into_iter().eq(0..5_000),
            "{set}: every rank is loaded"
        );
        let held = set.input(5_000, Some(Sizes::Fixed(3)), 100, 42).unwrap();
        assert_eq!((held.keys.len(), held.absent.len()), (5_000, 100), "{set}");
        assert_eq!(held.user_bytes(), held.keys.bytes() + 15_000, "{set}");
    }
}

/// Results of different days can be compared only if the keys stay the same. (On other platforms
/// `exp` and `ln` may differ in the last bit.)
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn first_and_last_keys_are_frozen() {
    let text = |key: &[u8]| match key.first_chunk::<8>() {
        Some(number) if key.len() == 8 => u64::from_be_bytes(*number).to_string(),
        _ => String::from_utf8_lossy(key).into_owned(),
    };
    let rows = made().map(|set| {
        let keys = input(&set, 1_000, 42).keys;
        let (first, last) = (text(keys.get(0)), text(keys.get(999)));
        format!("{set}: {first} to {last}")
    });
    assert_eq!(rows.collect::<Vec<String>>(), FROZEN);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
const FROZEN: &[&str] = &[
    "uniform: 7249126309407125 to 9199001255374363021",
    "counting: 0 to 999",
    "uni: 4600150171246 to 9992076256133917",
    "lognormal: 888811 to 208434396953",
    "dense: 3 to 2447",
    "fb: 216040799 to 18290044279871755655",
    "osm: 783159611076946 to 1152469388837639936",
    "wiki: 34 to 196688",
    "fb-like: 179 to 17684133980048389831",
    "osm-like: 1335962404285934 to 1152375394895421758",
    "wiki-like: 979516800 to 979520610",
    "books-like: 720655209 to 153621769413642",
    "ycsb-uniform: 000000043022111686119733 to 000018445961511944004342",
    "ycsb-zipf0.9: 000000000000000000000000 to 000000000995442158150833",
    "ycsb-zipf0.99: 000000000000000000000000 to 000000000986149961216791",
    "ycsb-zipf0.9-gaps: 000000000000000006637914 to 000000000000001204692027",
    "ycsb-zipf0.99-gaps: 000000000000000004658901 to 000000000000000731748813",
    "ycsb-var: 000019901393036593777 to 995095561364058",
    "digits-16: 0002001861379105 to 9998797635616367",
    "udb: 0017991044222204055265377863 to 9984970631807501530107456824",
    "zippydb: 00168142815119123517652722858754777099747509753591 to 99760755211226296030079728814823740395586576782118",
    "up2x: 0000800094 to 9963312480846",
];

#[test]
fn values_have_the_sizes_of_the_set() {
    for (name, mean) in [
        ("fb-like", 8.0),
        ("ycsb-var", 1_000.0),
        ("udb", 126.7),
        ("up2x", 46.8),
    ] {
        let input = input(&set(name), 5_000, 42);
        let values = (input.user_bytes() - input.keys.bytes()) as f64 / 5_000.0;
        assert!((values - mean).abs() < 1.5, "{name}: {values}");
    }
    for (name, mean) in [
        ("ycsb-var", 16.0),
        ("udb", 27.1),
        ("zippydb", 47.9),
        ("up2x", 10.4),
    ] {
        let keys = input(&set(name), 5_000, 42).keys;
        let length = keys.bytes() as f64 / 5_000.0;
        assert!((length - mean).abs() < 0.3, "{name}: {length}");
    }
}

#[test]
fn integers_are_those_of_the_keys() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many");
    sosd::write(&path, &(0..9_000u64).map(|n| n * n).collect::<Vec<u64>>()).unwrap();
    let file = set(&format!("sosd:{}", path.display()));
    for set in ["uniform", "wiki-like", "uni"]
        .map(set)
        .iter()
        .chain([&file])
    {
        let numbers = set.numbers(3_000, 42).unwrap();
        assert_eq!(numbers.len(), 3_000, "{set}");
        assert_eq!(
            Strings::of_numbers(numbers),
            input(set, 3_000, 42).keys,
            "{set}"
        );
    }
    // The sets used in published comparisons keep their numbers.
    for numbers in Numbers::ALL {
        let named = set(numbers.name()).numbers(3_000, 42).unwrap();
        assert_eq!(named, numbers.make(3_000, 42), "{}", numbers.name());
    }
    // Runs of a thousand keys: the first, some from the middle, the last.
    let numbers = file.numbers(3_000, 42).unwrap();
    assert_eq!((numbers[999], numbers[1_000]), (999 * 999, 4_000 * 4_000));
    assert_eq!(numbers[2_999], 8_999 * 8_999);
    assert_eq!(file.numbers(20_000, 42).unwrap().len(), 9_000);
    let error = set("udb").numbers(10, 1).unwrap_err().to_string();
    assert!(error.contains("no integers"), "{error}");
}

#[test]
fn the_sample_of_commit_times_is_what_its_readme_says() {
    let times = git::sample_times().unwrap();
    let measured = Sortedness::of(&times);
    assert_eq!(measured.entries, 81_966);
    assert_eq!((measured.out_of_place, measured.largest), (81_327, 9_870));
    let input = input(&set("git-times"), times.len(), 1);
    let distinct: std::collections::BTreeSet<u64> = times.into_iter().collect();
    assert_eq!(input.keys.len(), distinct.len());
    let order = input.load_order(&mut Random::new(1, 1));
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(order.len() == 81_966 && order != sorted);
}

#[test]
fn sets_from_files_have_the_content_of_the_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display();
    fs::write(file.path(), "pear\nfig\napple\n").unwrap();
    let words = input(&set(&format!("words:{path}")), 10, 1);
    assert!(words.keys.iter().eq([&b"apple"[..], b"fig", b"pear"]));
    let system = set("words").input(1_000, None, 0, 1);
    match texts::dictionary() {
        Some(_) => assert_eq!(system.unwrap().keys.len(), 1_000),
        None => assert!(system.unwrap_err().to_string().contains("words:FILE")),
    }
    fs::write(file.path(), "fig\n").unwrap();
    let few = set(&format!("words:{path}"))
        .input(10, None, 0, 1)
        .unwrap_err();
    assert!(few.to_string().contains("at least two are needed"), "{few}");
    sosd::write(file.path(), &[7, 7]).unwrap();
    let few = set(&format!("sosd:{path}")).numbers(10, 1).unwrap_err();
    assert!(few.to_string().contains("at least two are needed"), "{few}");

    fs::write(file.path(), "usr/b x/two\nusr/a x/one\n").unwrap();
    let paths = set(&format!("paths:{path}"));
    let mut value = Vec::new();
    input(&paths, 10, 1).value(1, &mut value);
    assert_eq!(value, b"x/two");
    let sized = paths.input(10, Some(Sizes::Fixed(30)), 0, 1).unwrap();
    sized.value(1, &mut value);
    assert_eq!(value.len(), 30);
    assert_eq!(input(&set("paths"), 5_000, 1).keys.len(), 5_000);
}
