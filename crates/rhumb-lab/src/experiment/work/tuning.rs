//! Reads and inserts in episodes, in which a tuner may change the form of tables.

use std::thread;
use std::time::Duration;

use rhumb::internals::replayed_regret;
use rhumb::{Tuner, TunerStats};

use crate::error::Result;
use crate::experiment::study::Study;
use crate::experiment::{Episodes, Reading};
use crate::results::Measured;
use crate::store::{Counters, Store};
use crate::workload::drive::Driver;
use crate::workload::load::Load;
use crate::workload::mix::Mix;
use crate::workload::population::Population;

/// One episode.
struct Episode {
    /// Its number, from 1.
    number: u64,
    /// Operations a second of the time in the store.
    rate: f64,
    /// The mean nanoseconds of an operation.
    mean: f64,
    /// The bytes of index and directory an entry, which tuners weigh, at its end.
    finding: f64,
    /// The bytes of key maps an entry.
    key_map: f64,
    /// The tables written by flushes and merges, by their bytes.
    tables: f64,
    /// The form of new tables at its end, if a tuner chose it.
    form: Option<String>,
}

/// Runs the episodes on the store. Adds the figures of each, `episode_..._1` and so on; those of the last quarter and of all
/// of them; and what the tuner of the store knows and chose.
///
/// # Errors
/// Failures of the store; wrong answers; episodes that do not fit the records.
pub fn measure(study: &Study<'_>, mixes: [&str; 2]) -> Result<Measured> {
    let store = study.open(Reading::Cached)?;
    let order = study.records.first_seen()?;
    let seed = study.setting.seed;
    let population = Population::new(&study.records.input, &order, study.loaded(), seed)?;
    let count = study.setting.amounts.episodes.count;
    let mixes: [Mix; 2] = [mixes[0].parse()?, mixes[1].parse()?];
    let (mut episodes, mut before) = (Vec::new(), store.counters()?);
    for place in 0..count {
        let half = usize::from(place >= count / 2);
        let mut episode = run(study, &*store, &population, (place, &mixes[half]))?;
        let now = store.counters()?;
        episode.tables = tables(&now.since(&before), &study.setting.amounts.episodes);
        before = now;
        episodes.push(episode);
    }
    let mut measured = Measured::default();
    put_episodes(&episodes, &mut measured);
    put_sums(&episodes, (count / 4) as usize, &mut measured);
    let settings = study.build.system.settings();
    if let Some(known) = known_at_last(settings.tuner, &*store)? {
        put_choices(&episodes, &mut measured);
        put_forms(&known, &mut measured);
        put_replays(settings.tuner, &known, &mut measured);
    }
    store.close()?;
    Ok(measured)
}

/// Runs the episode at a place, and looks at the store behind it.
fn run(
    study: &Study<'_>,
    store: &dyn Store,
    population: &Population<'_>,
    (place, mix): (u64, &Mix),
) -> Result<Episode> {
    let setting = study.setting;
    let driver = Driver {
        store,
        name: &study.name,
        population,
        load: Load::closed(setting.amounts.episodes.operations, 1),
        seed: setting.seed.wrapping_add(place),
        progress: setting.progress,
        on_read: None,
    };
    let outcome = driver.run(mix)?;
    let held = store.footprint()?.unwrap_or_default();
    let an_entry = |bytes: u64| bytes as f64 / population.present().max(1) as f64;
    let present = |tuner: TunerStats| tuner.forms.into_iter().nth(tuner.present);
    let form = store.tuner()?.and_then(present);
    Ok(Episode {
        number: place + 1,
        rate: outcome.per_second,
        mean: outcome.latencies()?.mean(),
        finding: an_entry(held.index + held.directory),
        key_map: an_entry(held.key_map),
        tables: 0.0,
        form: form.map(|form| form.form),
    })
}

/// Tables written: each flush writes one, and merges write theirs to nearly the size that is set.
fn tables(counters: &Counters, episodes: &Episodes) -> f64 {
    let count = |name| counters.get(name).unwrap_or(0) as f64;
    count("flushes") + count("merged_bytes") / episodes.table_bytes as f64
}

fn put_episodes(episodes: &[Episode], into: &mut Measured) {
    for episode in episodes {
        for (name, value, unit) in [
            ("rate", episode.rate, "operations/s"),
            ("mean", episode.mean, "ns"),
            ("finding", episode.finding, "B/entry"),
            ("tables", episode.tables, "tables"),
        ] {
            into.put(&format!("episode_{name}_{}", episode.number), value, unit);
        }
    }
}

/// Adds throughput, latency and bytes of the last episodes; the throughput of all, of the first tenth and of the slowest one;
/// and the mean tables written in an episode.
fn put_sums(episodes: &[Episode], last: usize, into: &mut Measured) {
    let mean = |of: &[Episode], figure: fn(&Episode) -> f64| {
        of.iter().map(figure).sum::<f64>() / of.len().max(1) as f64
    };
    // Episodes have as many operations each, so their times are to be added, not their rates.
    let rate = |of: &[Episode]| 1.0 / mean(of, |episode| 1.0 / episode.rate);
    let tail = &episodes[episodes.len().saturating_sub(last)..];
    let head = &episodes[..episodes.len().div_ceil(10)];
    let slowest = episodes.iter().map(|episode| episode.rate);
    for (name, value, unit) in [
        ("last_rate", rate(tail), "operations/s"),
        ("last_mean", mean(tail, |episode| episode.mean), "ns"),
        (
            "last_finding",
            mean(tail, |episode| episode.finding),
            "B/entry",
        ),
        (
            "last_key_map",
            mean(tail, |episode| episode.key_map),
            "B/entry",
        ),
        ("first_rate", rate(head), "operations/s"),
        ("all_rate", rate(episodes), "operations/s"),
        (
            "slowest_rate",
            slowest.fold(f64::INFINITY, f64::min),
            "operations/s",
        ),
        (
            "episode_tables",
            mean(episodes, |episode| episode.tables),
            "tables",
        ),
    ] {
        into.put(name, value, unit);
    }
}

/// Adds for each form in how many episodes new tables had it at the end, and which one it was at last.
fn put_choices(episodes: &[Episode], into: &mut Measured) {
    let mut known: Vec<(&str, f64)> = Vec::new();
    for form in episodes.iter().filter_map(|e| e.form.as_deref()) {
        match known.iter_mut().find(|(name, _)| *name == form) {
            Some((_, count)) => *count += 1.0,
            None => known.push((form, 1.0)),
        }
    }
    for (form, count) in known {
        into.put(&format!("episodes_in {form}"), count, "episodes");
    }
    if let Some(form) = episodes.last().and_then(|e| e.form.as_deref()) {
        into.put(&format!("last_form {form}"), 1.0, "");
    }
}

/// Agents that are replayed: the name of the figure, the episodes, and whether they were trained before.
const REPLAYS: [(&str, usize, bool); 3] = [
    ("replay_50", 50, false),
    ("replay_400", 400, false),
    ("replay_trained_50", 50, true),
];
const REPLAYED_SEEDS: u64 = 100;

/// What the tuner of the store knows behind the episodes; none if it has none. Short episodes end before the forms are measured in
/// the background, and a replay needs all of them: a merge that is asked for measures them first, unless a thread has begun to.
///
/// # Errors
/// Failures of the store.
fn known_at_last(tuner: Tuner, store: &dyn Store) -> Result<Option<TunerStats>> {
    let known = store.tuner()?;
    let is_unmeasured = known.as_ref().is_some_and(|known| known.measured == 0);
    if matches!(tuner, Tuner::QLearning { .. }) && is_unmeasured {
        store.settle()?;
        loop {
            let known = store.tuner()?;
            if known.as_ref().is_none_or(|known| !known.is_measuring) {
                return Ok(known);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(known)
}

/// Adds how much longer gets take under the agent than in the best form, replayed over what was measured of each form with many
/// seeds; nothing for other tuners.
fn put_replays(tuner: Tuner, known: &TunerStats, into: &mut Measured) {
    for (name, episodes, is_trained) in REPLAYS {
        let agent = (episodes, is_trained);
        if let Some(regret) = replayed_regret(tuner, &known.forms, agent, REPLAYED_SEEDS) {
            into.put(name, 100.0 * regret, "%");
        }
    }
}

/// Adds how often forms were measured, and what is known of each.
fn put_forms(tuner: &TunerStats, into: &mut Measured) {
    into.put("tuner_measured", tuner.measured as f64, "times");
    for form in &tuner.forms {
        let name = &form.form;
        for (figure, value, unit) in [
            ("cached_get", form.cached_get, "ns"),
            ("uncached_get", form.uncached_get, "ns"),
            ("cached_scan", form.cached_scan, "ns"),
            ("uncached_scan", form.uncached_scan, "ns"),
            ("memory", form.memory, "B/entry"),
            ("tables", form.tables as f64, "tables"),
        ] {
            into.put(&format!("form_{figure} {name}"), value, unit);
        }
        for (action, value) in &form.actions {
            if let Some(value) = value {
                into.put(&format!("form_q_{action} {name}"), *value, "");
            }
        }
        if let Some(ratio) = form.ratio {
            into.put(&format!("form_ratio {name}"), ratio, "");
        }
    }
}
