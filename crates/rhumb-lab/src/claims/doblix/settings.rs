//! Which of the published settings is the best, and how near to it tuners come.

use crate::claims::compare::{Told, clearly_less, short};
use crate::claims::evidence::{Evidence, Missing, Selection};
use crate::claims::part::{Cause, Part, Why};
use crate::contest::Rounds;

/// The experiment that has them all.
const ID: &str = "D-F15";
/// A setting has to be so many times as good to be better: less is noise.
const CLOSE: f64 = 1.03;
/// The agent with all weight on time.
const AGENT: &str = "q-learning:nu=1";
/// The tuner of ours with all weight on time.
const OURS: &str = "cost:nu=1";
/// What a tuner is to reach: this share of the throughput of the best fixed form at last, and in its slowest episode this
/// share of that of `predicted` in its own slowest one, since each store has slow episodes, of merges and syncs.
const OF_BEST: f64 = 0.95;
const OF_DEFAULT: f64 = 0.9;

/// C-D11.
pub fn best_settings(evidence: &Evidence<'_>) -> Vec<Part> {
    for requests in ["points", "ranges"] {
        note_reached(evidence, requests, OURS);
    }
    let points: Why = (
        Cause::Data,
        "4 KiB hold 56 entries of 72 bytes, fewer than PLA's errors of 64 and more allow, so that these cut alike; and a line through \
         the middle of a block (PRA) is off by fewer entries than one through its last one",
    );
    let ranges: Why = (
        Cause::Device,
        "without a cache a range reads a block in each of several runs for few entries, and small ones are read faster; with all blocks in \
         the cache PRA with 16 KiB is among the best",
    );
    let best = |what, requests, metric, published| {
        Part::judged(what, best(evidence, requests, metric, published))
    };
    vec![
        best("points: PLA 128, 4 KiB", "points", RATE, "pla-128/4K").because(points),
        best("ranges: PRA, 16 KiB", "ranges", RATE, "pra/16K").because(ranges),
        best("size: PLA 256, 32 KiB", "points", BYTES, "pla-256/32K"),
        Part::judged("size under 500 MB", under_limit(evidence)),
    ]
}

const RATE: &str = "last_rate";
const BYTES: &str = "last_finding";

fn uncached<'e>(evidence: &'e Evidence<'_>, requests: &str) -> Selection<'e> {
    let cells = evidence.cells(ID).only("cache", "none");
    cells.only("requests", requests)
}

/// How good a system is: more is better.
fn merit(cells: &Selection<'_>, system: &str, metric: &'static str) -> Result<Rounds, Missing> {
    let figures = cells.only("system", system).whole()?.rounds(metric)?;
    Ok(match metric {
        BYTES => Rounds::of_all(&[figures], |bytes| bytes.iter().map(|b| 1.0 / b).sum()),
        _ => figures,
    })
}

/// Whether a published setting is the best one: no if another one is surely better by more than 3 %; yes if all others are
/// surely worse.
fn best(
    evidence: &Evidence<'_>,
    requests: &str,
    metric: &'static str,
    published: &str,
) -> Result<(Told, String), Missing> {
    let cells = uncached(evidence, requests);
    let ours = merit(&cells, published, metric)?;
    let (mut better, mut alike, mut count) = (Vec::new(), Vec::new(), 0);
    let mut first = (published, 1.0);
    let others = cells.each("system").into_iter();
    for name in others.filter(|name| name.contains('/') && *name != published) {
        let theirs = merit(&cells, name, metric)?;
        let ratio = theirs.over(&ours).ratio();
        count += 1;
        match Told::at_least(ratio, CLOSE) {
            Told::Yes => better.push(name),
            // Equal ones are not worse.
            _ if clearly_less(&theirs, &ours) => {}
            _ => alike.push(name),
        }
        if ratio.middle > first.1 {
            first = (name, ratio.middle);
        }
    }
    let told = match (better.is_empty(), alike.is_empty()) {
        (false, _) => Told::No,
        (true, true) => Told::Yes,
        (true, false) => Told::Unclear,
    };
    let listed = |names: Vec<&str>| match names.is_empty() {
        true => "none".to_string(),
        false => names.join(", "),
    };
    let (times, better, alike) = (short(first.1), listed(better), listed(alike));
    let best = match first.0 == published {
        true => "it is the best".to_string(),
        false => format!("the best is {}, {times} times as good", first.0),
    };
    let text =
        format!("{best}, of {count} others; surely better: {better}; not told apart: {alike}");
    Ok((told, text))
}

/// The published bound on all indexes over its 64 million keys.
fn under_limit(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    const MOST: f64 = 500.0;
    let cells = uncached(evidence, "points").only("system", "pla-256/32K");
    let bytes = cells.whole()?.rounds(BYTES)?;
    let megabytes = Rounds::of_all(&[bytes], |bytes| bytes.iter().sum::<f64>() * 64.0);
    let told = Told::at_most(megabytes.interval(), MOST);
    let ours = short(megabytes.median());
    Ok((
        told,
        format!("{ours} MB for 64 million keys; published below 500"),
    ))
}

/// C-D5.
pub fn agent(evidence: &Evidence<'_>) -> Vec<Part> {
    note_reached(evidence, "points", AGENT);
    vec![Part::judged("throughput rises", rise(evidence))]
}

/// Whether the throughput of the last quarter of the episodes is higher than that of the first tenth, by half of what was
/// published.
fn rise(evidence: &Evidence<'_>) -> Result<(Told, String), Missing> {
    const PUBLISHED: f64 = 93.0 / 45.0;
    const LEAST: f64 = 1.0 + (PUBLISHED - 1.0) / 2.0;
    let cells = uncached(evidence, "points").only("system", AGENT).whole()?;
    let rise = cells.rounds(RATE)?.over(&cells.rounds("first_rate")?);
    let told = Told::at_least(rise.ratio(), LEAST);
    let [ours, published, least] = [rise.median(), PUBLISHED, LEAST].map(short);
    Ok((
        told,
        format!("{ours} times; published {published}, needed {least}"),
    ))
}

/// Says how near a tuner comes to the best fixed form, if both are measured.
fn note_reached(evidence: &Evidence<'_>, requests: &str, tuner: &str) {
    if let Ok(text) = reached(evidence, requests, tuner) {
        evidence.note(text);
    }
}

fn reached(evidence: &Evidence<'_>, requests: &str, tuner: &str) -> Result<String, Missing> {
    let cells = uncached(evidence, requests);
    let rate = |system: &str| merit(&cells, system, RATE);
    let mut fixed = Vec::new();
    let systems = cells.each("system").into_iter();
    for name in systems.filter(|name| !name.contains("nu=")) {
        fixed.push((name, rate(name)?));
    }
    let best = fixed
        .iter()
        .max_by(|a, b| a.1.median().total_cmp(&b.1.median()));
    let Some((name, best)) = best else {
        return Err(cells.undecided("there is no fixed form"));
    };
    let of_best = rate(tuner)?.over(best);
    let slowest = merit(&cells, tuner, "slowest_rate")?;
    let of_default = slowest.over(&merit(&cells, "predicted", "slowest_rate")?);
    let of_mean = slowest.over(&merit(&cells, "predicted", "all_rate")?);
    let is = |ratio: &Rounds, least| match Told::at_least(ratio.ratio(), least) {
        Told::Yes => "reached",
        Told::No => "missed",
        Told::Unclear => "undecided",
    };
    Ok(format!(
        "{tuner} under {requests}: {} times the last throughput of the best fixed form, {name} (wanted {OF_BEST}: {}); \
         its slowest episode has {} times the throughput of the slowest one of predicted (wanted {OF_DEFAULT}: {}), {} times \
         that of all of predicted",
        short(of_best.median()),
        is(&of_best, OF_BEST),
        short(of_default.median()),
        is(&of_default, OF_DEFAULT),
        short(of_mean.median()),
    ))
}
