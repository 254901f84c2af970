//! Placement of entries by prediction, with the public builder interface only. An entry's block is
//! floor(prediction / n), so a reader finds the entry in exactly that block.

use rhumb_index::check::{self, Case, SplitMix64, distributions, map_of};
use rhumb_index::{ClosedSegment, IndexBuilder, IndexSpec, KeyMap, registry};

/// The index and, for each block, its keys.
type Table<'a> = (Vec<u8>, Vec<Vec<&'a [u8]>>);

/// A small table writer: entries wait until their segment closes, then go to their block.
struct Writer<'a> {
    builder: Box<dyn IndexBuilder>,
    waiting: std::collections::VecDeque<(&'a [u8], u64)>,
    closed: Vec<ClosedSegment>,
    keys: u64,
    entries_per_block: u64,
    blocks: Vec<Vec<&'a [u8]>>,
}

impl<'a> Writer<'a> {
    fn add(&mut self, key: &'a [u8], number: u64) {
        self.builder.push(key, number).unwrap();
        self.waiting.push_back((key, number));
        self.keys += 1;
        self.place();
    }

    fn place(&mut self) {
        self.builder.take_closed(&mut self.closed);
        let keys = self.closed.iter().map(|segment| segment.ranks).sum::<u64>();
        let numbers: Vec<u64> = self.waiting.iter().map(|(_, number)| *number).collect();
        let mut together = Vec::new();
        self.builder.predict_closed(&numbers, &mut together);
        assert_eq!(together.len() as u64, keys, "all keys of closed segments");
        let mut together = together.into_iter();
        for segment in self.closed.drain(..) {
            for rank in segment.first_rank..segment.first_rank + segment.ranks {
                let (key, number) = self.waiting.pop_front().unwrap();
                let mut predicted = Vec::new();
                self.builder.predict_closed(&[number], &mut predicted);
                let predicted = predicted[0];
                assert_eq!(together.next(), Some(predicted));
                assert!(predicted >= segment.first_rank, "{rank}");
                assert!(predicted < segment.first_rank + segment.ranks, "{rank}");
                let block = (predicted / self.entries_per_block) as usize;
                assert!(block + 1 >= self.blocks.len(), "blocks are filled in order");
                self.blocks
                    .resize(self.blocks.len().max(block + 1), Vec::new());
                self.blocks[block].push(key);
            }
        }
    }

    fn finish(mut self) -> Option<Table<'a>> {
        self.builder.close_segment();
        self.place();
        let fit = !self.builder.is_unfit();
        assert!(!fit || self.waiting.is_empty());
        // Above the last key, a model may predict a block after the last entry's block; such blocks
        // are empty.
        let blocks = self.keys.div_ceil(self.entries_per_block) as usize;
        assert!(self.blocks.len() <= blocks);
        self.blocks.resize(blocks, Vec::new());
        let bytes = self.builder.finish();
        assert_eq!(bytes.is_ok(), fit);
        Some((bytes.ok()?, self.blocks))
    }
}

fn write<'a>(
    keys: &'a [Vec<u8>],
    map: &KeyMap,
    spec: &IndexSpec,
    entries_per_block: u64,
    close_every: usize,
) -> Option<Table<'a>> {
    let mut writer = Writer {
        builder: registry::builder(spec).unwrap(),
        waiting: Default::default(),
        closed: Vec::new(),
        keys: 0,
        entries_per_block,
        blocks: Vec::new(),
    };
    let mut last = None;
    for (i, key) in keys.iter().enumerate() {
        let number = map.number(key);
        // Entries must not wait without limit: a segment is closed where the number changes.
        if i % close_every == close_every - 1 && last != Some(number) {
            writer.builder.close_segment();
        }
        last = Some(number);
        writer.add(key, number);
    }
    writer.finish()
}

/// Looks up a key as a reader does and asserts that it reads the right block.
fn check_lookup(key: &[u8], predicted: u64, entries_per_block: u64, blocks: &[Vec<&[u8]>]) {
    let block = (predicted / entries_per_block) as usize;
    let own = blocks.get(block).unwrap();
    let before = blocks[..block].iter().rev().find_map(|b| b.last());
    let next = blocks[block + 1..].iter().find_map(|b| b.first());
    assert!(
        before.is_none_or(|last| *last < key),
        "the lower bound is not in an earlier block"
    );
    assert!(
        next.is_none_or(|first| *first >= key),
        "the lower bound is not in a later block"
    );
    assert!(
        next != Some(&key) || own.contains(&key),
        "a present key is in its own block"
    );
}

fn fill_of(
    name: &str,
    spec: &str,
    entries_per_block: u64,
    close_every: usize,
) -> Option<Vec<usize>> {
    let mut random = SplitMix64::new(21);
    let keys = distributions::by_name(name)
        .unwrap()
        .keys(&mut random, 4000);
    let map = map_of(&keys);
    let spec: IndexSpec = spec.parse().unwrap();
    let (bytes, blocks) = write(&keys, &map, &spec, entries_per_block, close_every)?;
    let index = registry::open(bytes).unwrap();
    for key in &keys {
        for probe in [
            key.clone(),
            [key.as_slice(), &[0]].concat(),
            random.bytes(9, 256),
        ] {
            let predicted = index.predict(map.number(&probe)).unwrap();
            check_lookup(&probe, predicted, entries_per_block, &blocks);
        }
    }
    assert_eq!(blocks.iter().map(Vec::len).sum::<usize>(), keys.len());
    Some(blocks.iter().map(Vec::len).collect())
}

/// Every kind that closes several segments while keys are pushed.
fn streaming_kinds() -> Vec<&'static str> {
    let streams = |name: &&str| {
        let mut builder = registry::builder(&name.parse().unwrap()).unwrap();
        if builder.closes_once() {
            return false;
        }
        builder.push(&[1], 1).unwrap();
        builder.close_segment();
        let mut closed = Vec::new();
        builder.take_closed(&mut closed);
        !closed.is_empty()
    };
    let models = registry::kinds().iter();
    let models = models.filter(|kind| kind.knobs.iter().any(|knob| knob.name == "boundary"));
    models.map(|kind| kind.name).filter(streams).collect()
}

#[test]
fn every_key_is_in_its_predicted_block() {
    let kinds = streaming_kinds();
    for kind in ["plr", "radix-spline", "plex"] {
        assert!(kinds.contains(&kind), "{kind} closes segments");
    }
    for kind in kinds {
        check_kind(kind);
    }
}

/// The model of the whole table predicts its cells too, and it is the model that is stored.
#[test]
fn every_key_is_in_the_block_that_the_whole_model_predicts() {
    let mut served = 0;
    for spec in [
        "rmi:leaves=1000",
        "rmi:leaves=7,root=cubic",
        "rmi:leaves=1,root=linear",
        "rmi:leaves=20,retained=1",
        "rmi",
        "rmi:boundary=64,within=50",
        "rmi:within=100",
    ] {
        let unfit = distributions::all()
            .filter(|d| d.name != "none")
            .flat_map(|d| [1, 4, 16].map(|n| fill_of(d.name, spec, n, usize::MAX)))
            .inspect(|fill| served += usize::from(fill.is_some()))
            .filter(Option::is_none);
        // Where the number of leaves is given, no boundary can be missed.
        assert!(unfit.count() == 0 || !spec.contains("leaves="), "{spec}");
    }
    assert!(served > 400, "{served}");
}

#[test]
fn placement_does_not_change_the_bytes() {
    for name in ["uuid", "lognormal", "clusters", "ties-of-any-length"] {
        let distribution = distributions::by_name(name).unwrap();
        let keys = distribution.keys(&mut SplitMix64::new(4), 3_000);
        let map = map_of(&keys);
        for spec in ["rmi:leaves=50", "rmi", "rmi:leaves=50,retained=1"] {
            let spec: IndexSpec = spec.parse().unwrap();
            let alone = check::build(&Case::new(&keys, &spec, 16), &map).ok();
            let placed = write(&keys, &map, &spec, 4, usize::MAX).map(|(bytes, _)| bytes);
            assert_eq!(placed, alone, "{name} {spec}");
        }
    }
}

#[test]
fn a_model_of_the_whole_table_takes_no_keys_behind_its_end() {
    for spec in ["rmi:leaves=3", "rmi", "rmi:leaves=3,retained=1"] {
        let ended = |more: &[u64]| {
            let mut builder = registry::builder(&spec.parse().unwrap()).unwrap();
            assert!(builder.closes_once());
            let mut closed = Vec::new();
            // A table without keys has no segment.
            builder.close_segment();
            builder.take_closed(&mut closed);
            assert!(closed.is_empty());
            builder.push_numbers(&[3, 5, 900]).unwrap();
            builder.take_closed(&mut closed);
            let mut predicted = Vec::new();
            builder.predict_closed(&[3], &mut predicted);
            assert!(closed.is_empty() && predicted.is_empty());
            for _ in 0..2 {
                builder.close_segment();
                builder.take_closed(&mut closed);
            }
            let whole = ClosedSegment {
                first_rank: 0,
                ranks: 3,
            };
            assert_eq!(closed, [whole]);
            builder.push_numbers(more).unwrap();
            let unfit = builder.is_unfit();
            assert_eq!(unfit, builder.finish().is_err());
            unfit
        };
        assert!(!ended(&[]), "{spec}");
        assert!(ended(&[901]) && ended(&[901, 902]), "{spec}");
    }
}

fn check_kind(kind: &str) {
    let mut served = 0;
    for distribution in distributions::all().filter(|d| d.name != "none") {
        for (boundary, entries, close_every) in [(16, 4, usize::MAX), (32, 16, 700), (5, 1, 99)] {
            let spec = format!("{kind}:boundary={boundary}");
            let Some(mut fill) = fill_of(distribution.name, &spec, entries, close_every) else {
                continue;
            };
            served += 1;
            fill.sort_unstable();
            let at = |share: usize| fill[(fill.len() - 1) * share / 100];
            println!(
                "{kind:12} {:24} boundary {boundary:2} n {entries:2}: {:4} blocks, fill min {} p1 \
                 {} p50 {} p99 {} max {}",
                distribution.name,
                fill.len(),
                at(0),
                at(1),
                at(50),
                at(99),
                at(100)
            );
        }
    }
    assert!(served > 120, "{kind} serves most distributions");
}
