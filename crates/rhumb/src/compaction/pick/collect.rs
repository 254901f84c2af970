//! Garbage in value files: how much there may be, and which files are emptied.

use std::collections::BTreeSet;
use std::num::NonZero;

use super::super::ranges::TIER;
use super::groups::{Unit, units};
use crate::options::{TierForm, TierSpec};
use crate::sync::Arc;
use crate::version::{Levels, Run, ValueFiles};

/// Collection begins when garbage takes this share of the room that it may take. The rest is room for values that
/// lie in two files until the first goes, and for what is overwritten meanwhile.
const BEGIN: f64 = 0.6;
/// The values that may lie in two files, as a share of the room.
const COPIES: f64 = 0.2;
/// It goes on until garbage takes this share of the room.
const END: f64 = 0.4;

/// Merges show what is garbage when newer entries hide values of this share of the room: what is not known to be garbage
/// cannot be collected.
const UNKNOWN: f64 = 0.5;

/// At least one in so many bytes in use may lie in two files at once, however little garbage is allowed: with fewer,
/// each table would be rewritten for one file after the other.
const LEAST_COPIES: f64 = 16.0;

/// Nothing is collected while less than this share of the garbage that may be there is in files, or less than this share
/// of what files may hold of it in a file: moving the rest would free too little.
const LEAST_KNOWN: f64 = 0.25;

/// How urgent collection is where there may be no garbage at all: as the merges of a level that is twice too large.
const NO_ROOM: f64 = 2.0;

/// The value files of a keyspace that are emptied. Whatever merge keeps an entry that points into one writes its value
/// elsewhere, tables are rewritten for that alone, and a file goes with the last pointer into it.
///
/// They are chosen together, those first of which the largest share is garbage, and others only when all of them
/// are gone: so each table is rewritten once for all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Victims {
    files: Arc<BTreeSet<u64>>,
}

/// The bytes in value files that are garbage, with those that will be, and how many of them there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// What tables point to.
    used: f64,
    /// What no table points to.
    known: f64,
    /// That and what newer entries hide.
    garbage: f64,
    most: f64,
    /// At least so much has to be known.
    least: f64,
}

impl Room {
    /// The room in what some levels hold: in value files, and in the tier where its tables hold values.
    pub fn of(levels: &Levels, over_provision_percent: u32, tier: Option<TierSpec>) -> Self {
        let totals = levels.value_files().totals();
        let (used, hidden) = match tier.is_some_and(TierSpec::is_inline) {
            true => {
                let entries: u64 = levels.level(TIER).map(|t| t.meta.entries).sum();
                let used = totals.used_bytes + levels.bytes(TIER) as f64;
                let hidden = levels.hidden_share(totals.entries + entries as f64);
                (used, used * hidden)
            }
            false => (totals.used_bytes, levels.hidden_value_bytes()),
        };
        let room = Room::of_bytes(used, totals.garbage_bytes, hidden, over_provision_percent);
        match tier.is_some_and(TierSpec::frees_hidden) {
            // Nothing has to be known.
            true => Room {
                least: -1.0,
                ..room
            },
            false => room,
        }
    }

    #[cfg(test)]
    fn with(files: &ValueFiles, hidden: f64, over_provision_percent: u32) -> Self {
        let totals = files.totals();
        let (used, known) = (totals.used_bytes, totals.garbage_bytes);
        Room::of_bytes(used, known, hidden, over_provision_percent)
    }

    fn of_bytes(used: f64, known: f64, hidden: f64, over_provision_percent: u32) -> Self {
        let share = f64::from(over_provision_percent) / 100.0;
        Room {
            used,
            known,
            garbage: known + hidden,
            most: (used - hidden).max(0.0) * share,
            least: LEAST_KNOWN * used * share,
        }
    }

    /// Whether so much more may lie in two places.
    pub fn has_room_for(&self, more: f64) -> bool {
        self.garbage + more <= self.most
    }

    /// The bytes that newer entries hide.
    pub fn hidden(&self) -> f64 {
        self.garbage - self.known
    }

    /// The share that garbage takes of the room, to which `more` bytes are added.
    pub fn taken(&self, more: u64) -> f64 {
        self.garbage / (self.most + more as f64).max(1.0)
    }

    /// Whether enough of the garbage is known for a collection to be worth it.
    pub fn can_be_made(&self) -> bool {
        self.known > self.least
    }

    /// How urgent it is that merges show more of what is garbage: at least 1 where they should.
    pub fn unknown(&self) -> f64 {
        let room = self.most.max(self.used / LEAST_COPIES);
        self.hidden() / (UNKNOWN * room).max(1.0)
    }

    #[cfg(test)]
    pub fn for_tests(used: u64, known: u64, hidden: u64, over_provision_percent: u32) -> Self {
        let [used, known, hidden] = [used, known, hidden].map(|bytes| bytes as f64);
        Room::of_bytes(used + hidden, known, hidden, over_provision_percent)
    }

    /// The most bytes that are in use of the files that are emptied together.
    fn copies(&self) -> f64 {
        let room = COPIES * self.most;
        room.max(self.used / LEAST_COPIES)
    }

    /// How urgent it is that something is collected: 1 when it begins, and more if garbage takes more room.
    fn score(&self) -> f64 {
        match (self.most > 0.0, self.garbage > 0.0) {
            (true, _) => self.garbage / (BEGIN * self.most),
            (false, true) => NO_ROOM,
            (false, false) => 0.0,
        }
    }
}

impl Victims {
    /// The numbers of the files.
    pub fn files(&self) -> &Arc<BTreeSet<u64>> {
        &self.files
    }

    /// Whether no file is emptied.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Forgets the files that are gone, and if there is none left and there is too much garbage, chooses others.
    /// Returns how urgent it is to empty them, or to convert ranges of a `tier` that holds values; `None` if it is not.
    /// Where keys are divided into `groups`, all files of a group are chosen or none. In the published form all files are
    /// chosen, but those into which tables of level 0 point, which stand above all that is converted.
    pub fn update(
        &mut self,
        levels: &Levels,
        over_provision_percent: u32,
        tier: Option<TierSpec>,
        groups: Option<NonZero<u16>>,
    ) -> Option<f64> {
        let files = levels.value_files();
        let is_inline = tier.is_some_and(TierSpec::is_inline);
        if files.is_empty() && !is_inline {
            self.files = Arc::default();
            return None;
        }
        let room = Room::of(levels, over_provision_percent, tier);
        let score = match tier.is_some_and(TierSpec::is_whole) {
            true => self.update_by(files, &room, || all_below_level0(levels)),
            false => self.update_for(files, groups, &room),
        };
        score.or_else(|| Some(room.score()).filter(|score| is_inline && *score > 1.0))
    }

    fn update_for(
        &mut self,
        files: &ValueFiles,
        groups: Option<NonZero<u16>>,
        room: &Room,
    ) -> Option<f64> {
        self.update_by(files, room, || choose(units(files, groups), room))
    }

    fn update_by(
        &mut self,
        files: &ValueFiles,
        room: &Room,
        choose: impl FnOnce() -> BTreeSet<u64>,
    ) -> Option<f64> {
        if self.files.iter().any(|number| files.get(*number).is_none()) {
            let left = self.files.iter().filter(|n| files.get(**n).is_some());
            self.files = Arc::new(left.copied().collect());
        }
        if self.files.is_empty() && room.score() > 1.0 {
            self.files = Arc::new(choose());
        }
        (!self.files.is_empty()).then(|| room.score())
    }
}

/// The level whose entries hide the most values, if newer entries hide too many, and how urgent it is: merges of it show
/// which of them are garbage.
pub(super) fn hiding(
    levels: &Levels,
    over_provision_percent: u32,
    tier: Option<TierSpec>,
) -> Option<(usize, f64)> {
    let form = tier.map(|tier| tier.form);
    if levels.value_files().is_empty() && form != Some(TierForm::Inline) {
        return None;
    }
    let room = Room::of(levels, over_provision_percent, tier);
    let (urgency, level) = match form {
        // Below level 0, collections convert what hides much.
        Some(TierForm::Inline) => {
            let uppermost = levels.most_hiding().filter(|level| *level == 0);
            (room.score(), uppermost)
        }
        // They convert all that is below level 0, which goes there first, whatever garbage its files hold.
        Some(TierForm::Published) => {
            let uppermost = (!levels.runs(0).is_empty()).then_some(0);
            (room.score(), uppermost)
        }
        Some(TierForm::Keys) | None => (room.unknown(), levels.most_hiding()),
    };
    let most = level.filter(|_| urgency >= 1.0);
    most.map(|level| (level, urgency))
}

/// The files into which no table of level 0 points, if a conversion would free something in them.
fn all_below_level0(levels: &Levels) -> BTreeSet<u64> {
    let uppermost = levels.level(0).flat_map(|table| &table.meta.values);
    let uppermost: BTreeSet<u64> = uppermost.map(|used| used.file).collect();
    let files = levels.value_files().iter();
    let below = files.filter(|(number, _)| !uppermost.contains(number));
    let below: Vec<_> = below.collect();
    let hides = |(level, run): (usize, &Arc<Run>)| level > 0 && run.hides() > 0;
    let frees = below.iter().any(|(_, file)| file.garbage_bytes() > 0);
    match frees || levels.all_runs().any(hides) {
        true => below.into_iter().map(|(number, _)| number).collect(),
        false => BTreeSet::new(),
    }
}

/// The files, or groups of files, with the largest shares of garbage, at least one if one holds enough: until the others
/// hold little enough, or what is in use of them takes the room for values that lie in two files.
fn choose(mut candidates: Vec<Unit>, room: &Room) -> BTreeSet<u64> {
    // Where all files together hold more than `room.least`, one of them holds this share.
    let least = room.least.max(0.0);
    let least = least / (room.used + least).max(1.0);
    candidates.retain(|unit| unit.garbage_bytes > 0 && unit.garbage_share() >= least);
    candidates.sort_by(|a, b| f64::total_cmp(&b.garbage_share(), &a.garbage_share()));
    let (mut left, mut copies) = (room.garbage, 0.0);
    let mut chosen = BTreeSet::new();
    for unit in candidates {
        copies += unit.used_bytes as f64;
        let is_enough = left <= END * room.most || copies > room.copies();
        if is_enough && !chosen.is_empty() {
            break;
        }
        left -= unit.garbage_bytes as f64;
        chosen.extend(unit.files);
    }
    chosen
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::fs::{FileSystem, MemoryFileSystem};
    use crate::table::ValueUse;
    use crate::version::Files;
    use crate::vlog::{HEADER_BYTES, ValueFileMeta, ValueGroup};

    /// Value files from number 10 on, each with 1000 bytes of records, of which so many are in use.
    fn files(used: &[u64]) -> ValueFiles {
        files_of(used.iter().map(|used| (*used, None)))
    }

    /// The same, with the groups of the files.
    fn files_of(used: impl IntoIterator<Item = (u64, Option<ValueGroup>)>) -> ValueFiles {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let files = Arc::new(Files::uncached(&fs, Path::new("")).unwrap());
        let uses = used.into_iter().zip(10..);
        let uses = uses.map(|((bytes, group), file)| ValueUse {
            file,
            meta: ValueFileMeta {
                bytes: 1_000 + HEADER_BYTES as u64,
                group,
            },
            entries: 1,
            bytes: bytes.max(1),
        });
        ValueFiles::of(&files, &uses.collect::<Vec<_>>()).unwrap()
    }

    fn update(victims: &mut Victims, files: &ValueFiles, percent: u32) -> Option<f64> {
        victims.update_for(files, None, &Room::with(files, 0.0, percent))
    }

    fn chosen(victims: &Victims) -> Vec<u64> {
        victims.files.iter().copied().collect()
    }

    #[test]
    fn little_garbage_is_left_alone() {
        let mut victims = Victims::default();
        assert_eq!(update(&mut victims, &ValueFiles::default(), 0), None);
        assert_eq!(update(&mut victims, &files(&[1_000; 10]), 0), None);
        // 1,760 bytes of garbage to 8,240 in use: 21 %.
        let some = files(&[
            1_000, 1_000, 1_000, 1_000, 240, 1_000, 1_000, 1_000, 1_000, 0,
        ]);
        assert_eq!(update(&mut victims, &some, 40), None);
        assert!(update(&mut victims, &some, 35).is_some_and(|score| score > 1.0));
    }

    #[test]
    fn files_with_the_most_garbage_go_first_and_enough_of_them() {
        let mut victims = Victims::default();
        // 4,000 bytes of garbage to 16,000 in use; 30 % are 4,800, of which 0.4 may be left and 0.2 lie in two files.
        let mut used = vec![1_000; 14];
        used.extend([900, 100, 0, 300, 500, 200]);
        update(&mut victims, &files(&used), 30);
        assert_eq!(chosen(&victims), [25, 26, 29]);
        // Where copies would take too much room, fewer go, but at least one.
        let mut victims = Victims::default();
        update(&mut victims, &files(&[700; 10]), 10);
        assert_eq!(chosen(&victims), [10]);
        let mut victims = Victims::default();
        update(&mut victims, &files(&[1_000, 999, 998]), 0);
        assert_eq!(chosen(&victims), [12]);
    }

    /// Each table may point into every file, so many small rounds would write each table many times.
    #[test]
    fn however_little_garbage_is_allowed_it_goes_in_few_rounds() {
        for percent in [0, 1, 5] {
            let (mut used, mut rounds) = (vec![900; 320], 0);
            while used.contains(&900) {
                let mut victims = Victims::default();
                update(&mut victims, &files(&used), percent);
                if victims.is_empty() {
                    break;
                }
                for number in chosen(&victims) {
                    used[number as usize - 10] = 1_000;
                }
                rounds += 1;
            }
            assert!((1..=20).contains(&rounds), "{percent} %: {rounds} rounds");
        }
    }

    #[test]
    fn what_newer_entries_hide_counts_as_garbage() {
        let some = files(&[790; 10]);
        // 2,100 bytes of garbage to 7,900 in use, 60 % of which are allowed: less than 0.6 of that. With 1,000 hidden ones
        // 3,100 to 6,900.
        let score = |hidden| Room::with(&some, hidden, 60).score();
        assert!(score(0.0) < 1.0 && score(1_000.0) > 1.0);
        let room = Room::with(&some, 2_900.0, 100);
        assert_eq!(room.taken(0), 1.0);
        assert_eq!(room.taken(5_000), 0.5);
        // What is not known to be garbage cannot be collected before merges show it.
        let room = Room::with(&files(&[990; 10]), 2_000.0, 50);
        assert!(!room.can_be_made() && room.unknown() > 1.0);
        let room = Room::with(&files(&[990; 10]), 1_000.0, 50);
        assert!(!room.can_be_made() && room.unknown() < 1.0);
    }

    /// Files of which each holds little garbage are left alone, whatever else there is.
    #[test]
    fn files_with_little_garbage_are_not_moved() {
        let mut victims = Victims::default();
        let some = files(&[960; 10]);
        assert_eq!(
            victims.update_for(&some, None, &Room::with(&some, 3_000.0, 30)),
            None
        );
        let mut used = vec![960; 9];
        used.push(500);
        let some = files(&used);
        assert!(
            victims
                .update_for(&some, None, &Room::with(&some, 3_000.0, 30))
                .is_some()
        );
        assert_eq!(chosen(&victims), [19]);
    }

    /// The group with the largest share goes, though another has the file with the largest one.
    #[test]
    fn a_group_goes_whole_or_not_at_all() {
        let groups = NonZero::new(4);
        let group = |number| groups.and_then(|groups| ValueGroup::new(number, groups));
        let all = [
            (200, 0),
            (1_000, 0),
            (500, 1),
            (600, 1),
            (1_000, 2),
            (1_000, 3),
        ];
        let some = files_of(all.map(|(used, number)| (used, group(number))));
        let mut victims = Victims::default();
        victims.update_for(&some, groups, &Room::with(&some, 0.0, 40));
        assert_eq!(chosen(&victims), [12, 13]);
        let mut victims = Victims::default();
        victims.update_for(&some, None, &Room::with(&some, 0.0, 40));
        assert_eq!(chosen(&victims), [10]);
    }

    #[test]
    fn others_are_chosen_when_all_are_gone() {
        let mut victims = Victims::default();
        update(&mut victims, &files(&[100, 900, 900, 900]), 10);
        assert_eq!(chosen(&victims), [10]);
        // Another file has more garbage now, but a table that was rewritten would be rewritten for it again.
        assert!(update(&mut victims, &files(&[100, 0, 900, 900]), 10).is_some());
        assert_eq!(chosen(&victims), [10]);
        let next = files(&[0, 0, 0, 0, 10, 900]);
        victims.files = Arc::new(BTreeSet::from([9]));
        update(&mut victims, &next, 1_000_000);
        assert_eq!(chosen(&victims), [0; 0]);
        victims.files = Arc::new(BTreeSet::from([9]));
        update(&mut victims, &next, 10);
        assert_eq!(chosen(&victims), [10, 11, 12, 13, 14]);
    }
}
