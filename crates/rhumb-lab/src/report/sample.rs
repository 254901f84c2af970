//! A page with about as many numbers as the papers have, and of similar size, for tests and for
//! viewing.

use super::model::{
    Axis, Cell, Chart, Claim, Figure, Headline, Heatmap, Mark, Marks, Multiples, Page, Panel,
    Paper, Point, Scale, Series, Shades, Table, Verdict,
};

const CLUSTERED: [&str; 7] = ["FP", "PLR", "FT", "PGM", "RMI", "RS", "PLEX"];
const UNCLUSTERED: [&str; 4] = ["ALEX", "LIPP", "DILI", "LITS"];
const BOUNDARIES: [f64; 5] = [128.0, 64.0, 32.0, 16.0, 8.0];

fn kinds() -> impl Iterator<Item = (f64, &'static str)> {
    let all = CLUSTERED.iter().chain(&UNCLUSTERED);
    all.enumerate().map(|(place, name)| (place as f64, *name))
}

fn names(names: &[&str]) -> Scale {
    Scale::Category(names.iter().map(|name| name.to_string()).collect())
}

pub fn series(name: &str, marks: Marks, points: Vec<Point>) -> Series {
    Series {
        name: name.to_string(),
        marks,
        on_second_axis: false,
        published: None,
        points,
    }
}

fn published(series: Series) -> Series {
    Series {
        published: Some("the table of Figure 8, 200M keys, another device".to_string()),
        ..series
    }
}

fn latency(kind: f64, boundary: f64) -> f64 {
    2.0 + 0.07 * boundary + 0.13 * ((kind * 37.0 + boundary) % 7.0)
}

fn memory(kind: f64, boundary: f64) -> f64 {
    2e6 * (1.0 + kind * kind) * 128.0 / boundary
}

/// Bars of latency and lines of memory over the boundary.
fn both() -> Chart {
    let at = |value: &dyn Fn(f64) -> f64| -> Vec<Point> {
        let boundaries = BOUNDARIES.iter().enumerate();
        let points = boundaries.map(|(place, boundary)| {
            let value = value(*boundary);
            Point::new(place as f64, value).between(value * 0.95, value * 1.08)
        });
        points.collect()
    };
    let bars = kinds()
        .map(|(kind, name)| series(name, Marks::Bar, at(&|boundary| latency(kind, boundary))));
    let lines = kinds().map(|(kind, name)| Series {
        on_second_axis: true,
        ..series(
            name,
            Marks::Line,
            at(&|boundary| memory(kind, boundary) / 1e6),
        )
    });
    Chart {
        title: "(A) Latency and memory over the position boundary, uniform".to_string(),
        x: Axis::new(
            "Position boundary",
            "entries",
            names(&["128", "64", "32", "16", "8"]),
        ),
        y: Axis::new("Latency of a get", "µs", Scale::Linear),
        y2: Some(Axis::new("Index memory", "MB", Scale::Log10)),
        series: bars.chain(lines).collect(),
    }
}

/// Memory against latency, with the paper's numbers.
fn trade_off() -> Chart {
    let line = |kind: f64| -> Vec<Point> {
        let points = BOUNDARIES.iter().map(|boundary| {
            let label = boundary.to_string();
            Point::new(memory(kind, *boundary), latency(kind, *boundary)).labelled(&label)
        });
        points.collect()
    };
    let ours = kinds().map(|(kind, name)| match kind < 7.0 {
        true => series(name, Marks::Scatter, line(kind)),
        false => {
            let point = Point::new(2e9 * (kind - 5.5), 1.5 + kind / 20.0);
            series(name, Marks::Scatter, vec![point])
        }
    });
    let theirs = kinds().skip(3).take(2).map(|(kind, name)| {
        let points = line(kind).into_iter().map(|point| Point {
            x: point.x * 1.7,
            y: point.y + 0.8,
            ..point
        });
        published(series(name, Marks::Scatter, points.collect()))
    });
    Chart {
        title: "(B) Memory against latency, uniform; numbers are position boundaries".to_string(),
        x: Axis::new("Index memory", "B", Scale::Log10),
        y: Axis::new("Latency of a get", "µs", Scale::Log10),
        y2: None,
        series: ours.chain(theirs).collect(),
    }
}

/// Many bars, ours beside published ones.
fn crowded() -> Chart {
    let sets = ["FB", "OSM", "WIKI", "uniform", "Zipf 0.9", "Zipf 0.99"];
    let points = |kind: f64, add: f64| -> Vec<Point> {
        let points =
            (0..sets.len()).map(|set| Point::new(set as f64, latency(kind, set as f64) + add));
        points.collect()
    };
    let all = kinds().flat_map(|(kind, name)| {
        let ours = series(name, Marks::Bar, points(kind, 0.0));
        [ours, published(series(name, Marks::Bar, points(kind, 0.4)))]
    });
    Chart {
        title: "Latency on six data sets at boundary 16".to_string(),
        x: Axis::new("Data set", "", names(&sets)),
        y: Axis::new("Latency of a get", "µs", Scale::Linear),
        y2: None,
        series: all.collect(),
    }
}

/// The parts of a look-up's time.
fn breakdown() -> Chart {
    let stages = [
        "Filter",
        "Index look-up",
        "Read of the window",
        "Search in the window",
        "Rest",
    ];
    let all: Vec<&str> = kinds().map(|(_, name)| name).collect();
    let stage = |stage: usize| -> Vec<Point> {
        let points = kinds().map(|(kind, _)| {
            Point::new(
                kind,
                0.15 + ((kind + 2.0) * (stage as f64 + 1.0)) % 5.0 / 6.0,
            )
        });
        points.collect()
    };
    let stages = stages.iter().enumerate();
    Chart {
        title: "Breakdown of a point look-up".to_string(),
        x: Axis::new("Index kind", "", names(&all)),
        y: Axis::new("Mean time", "µs", Scale::Linear),
        y2: None,
        series: stages
            .map(|(at, name)| series(name, Marks::Stacked, stage(at)))
            .collect(),
    }
}

/// Lines over powers of two, with long names below another chart.
fn ranges() -> [Chart; 2] {
    let lengths = [1.0, 10.0, 100.0, 1000.0];
    let points = |kind: f64| -> Vec<Point> {
        let points = lengths.iter().map(|length| {
            let took = 3.0 + kind * 0.3 + length * (0.11 + kind * 0.01);
            Point::new(*length, took).between(took * 0.9, took * 1.15)
        });
        points.collect()
    };
    let ours = kinds().map(|(kind, name)| series(name, Marks::Line, points(kind)));
    let theirs = published(series("PGM", Marks::Line, points(9.0)));
    let lines = Chart {
        title: "(A) Time of a range look-up".to_string(),
        x: Axis::new("Entries of the range", "", Scale::Log10),
        y: Axis::new("Time", "µs", Scale::Log10),
        y2: None,
        series: ours.chain([theirs]).collect(),
    };
    let stores = [
        "rhumb, learned tier with inline values",
        "rhumb",
        "RocksDB 11 with interpolation search",
        "fjall",
        "redb",
        "LMDB",
    ];
    let bars = (0..6).map(|at| Point::new(f64::from(at), 812.5 / f64::from(at + 1)));
    let bars = series("Throughput", Marks::Bar, bars.collect());
    let long = Chart {
        title: "(B) Throughput of stores with long names".to_string(),
        x: Axis::new("Store", "", names(&stores)),
        y: Axis::new("Gets a second", "k", Scale::Linear),
        y2: None,
        series: vec![bars],
    };
    [lines, long]
}

/// Cumulated shares of keys.
fn distribution() -> Chart {
    let line = |power: f64| -> Vec<Point> {
        let at = (0..=500).map(|step| f64::from(step) / 500.0);
        at.map(|x| Point::new(x * 1.8e19, x.powf(power))).collect()
    };
    let sets = [
        ("uniform", 1.0),
        ("Zipf 0.9", 0.4),
        ("WIKI", 2.5),
        ("OSM", 0.7),
    ];
    let lines = sets.map(|(name, power)| series(name, Marks::Line, line(power)));
    Chart {
        title: "Cumulated distribution of keys".to_string(),
        x: Axis::new("Key", "", Scale::Linear),
        y: Axis::new("Share of keys at or below", "", Scale::Linear),
        y2: None,
        series: lines.to_vec(),
    }
}

fn heatmap() -> Heatmap {
    let shares = ["0 %", "1 %", "5 %", "10 %", "25 %", "50 %", "100 %"];
    let shares = shares.map(str::to_string).to_vec();
    let row = |k: usize| -> Vec<Option<f64>> {
        let cell = |l: usize| (k + l < 11).then(|| 4.0 / (1.0 + (k * l) as f64));
        (0..shares.len()).map(cell).collect()
    };
    Heatmap {
        title: "Trivial moves over K and L".to_string(),
        x: "L: how far keys are displaced".to_string(),
        y: "K: share".to_string(),
        values: (0..shares.len()).map(row).collect(),
        undecided: vec![(1, 2)],
        columns: shares.clone(),
        rows: shares,
        shades: Shades::Ratios,
        label: "trivial moves over those at K = L = 1 %".to_string(),
    }
}

fn matrix() -> Table {
    let row = |(place, name): (f64, &str)| {
        let mut row = vec![Cell::text(name)];
        row.extend(
            (0..4).map(|column| match (place as usize * 3 + column * 5) % 7 {
                0 => Cell::marked(Mark::Bad, "19 GB (published: ⚠)"),
                1 | 2 => Cell::marked(Mark::Caution, ""),
                _ => Cell::marked(Mark::Good, ""),
            }),
        );
        row
    };
    let headings = [
        "Kind",
        "Memory efficiency",
        "Key look-up",
        "Rebuilding",
        "Key seeking",
    ];
    Table {
        title: "Suitability in an LSM-tree".to_string(),
        headings: headings.map(str::to_string).to_vec(),
        text_columns: 5,
        rows: kinds().map(row).collect(),
    }
}

fn claims() -> Vec<Claim> {
    let verdicts = [
        Verdict::Confirmed,
        Verdict::Partly,
        Verdict::Refuted,
        Verdict::Undecided,
        Verdict::NotMeasured,
        Verdict::Confirmed,
    ];
    let claim = |(number, verdict): (usize, &Verdict)| Claim {
        id: format!("C-E{}", number + 1),
        claim:
            "Clustered kinds use less memory than fence pointers on the YCSB sets; on real keys \
                of 8 B only PGM, RMI, RS and PLEX do so consistently."
                .to_string(),
        published: "FB at boundary 16: FP 372 MB, PGM 66 MB, RMI 17.7 MB".to_string(),
        ours: match verdict {
            Verdict::NotMeasured => Vec::new(),
            _ => vec!["FP 298 MB, PGM 12 MB, RMI 17.1 MB".to_string()],
        },
        why: match verdict {
            Verdict::Refuted => vec!["memory: data: other keys".to_string()],
            _ => Vec::new(),
        },
        verdict: *verdict,
        rule: "confirmed if every kind named is below fence pointers on every set".to_string(),
        figures: vec!["E-F7".to_string(), "E-F8".to_string()],
    };
    verdicts.iter().enumerate().map(claim).collect()
}

fn figure(id: &str, title: &str, panels: Vec<Panel>) -> Figure {
    Figure {
        id: id.to_string(),
        title: title.to_string(),
        paper: format!("EDBT 2026, Figure {}", id.trim_start_matches("E-F")),
        shows:
            "Latency of a get (bars) and memory of the index (lines) while the position boundary \
                falls from 128 to 8; latency falls by 10 µs until 16, then hardly."
                .to_string(),
        method:
            "1,000,000 gets of keys that are there, chosen uniformly, after 100,000 to warm up; \
                 10,000,000 keys of 24 B with values of 1,000 B; the median of 5 runs, bars from \
                 the least to the greatest. The paper loads 100 GiB."
                .to_string(),
        note: "Latency falls as published; memory differs by less than a factor of two."
            .to_string(),
        panels,
    }
}

/// All forms of drawings on one page.
pub fn page() -> Page {
    let headline = |value: &str, unit: &str, text: &str| Headline {
        value: value.to_string(),
        unit: unit.to_string(),
        text: text.to_string(),
    };
    let [lines, long] = ranges();
    let figures = vec![
        figure(
            "E-F6",
            "Distribution of the keys of six sets",
            vec![Panel::Chart(distribution())],
        ),
        figure(
            "E-F7",
            "Latency and memory over the position boundary",
            vec![
                Panel::Chart(both()),
                Panel::Chart(trade_off()),
                Panel::Multiples(Multiples {
                    title: "Both, twice".to_string(),
                    charts: vec![both(), both()],
                }),
            ],
        ),
        figure(
            "E-F8",
            "Real keys, and the parts of a look-up's time",
            vec![Panel::Chart(crowded()), Panel::Chart(breakdown())],
        ),
        figure("E-F9", "Ranges over uniform keys", Vec::new()),
        figure(
            "E-F12",
            "Ranges of unclustered kinds",
            vec![
                Panel::Chart(lines),
                Panel::Chart(long),
                Panel::Heatmap(heatmap()),
            ],
        ),
        figure(
            "E-T2",
            "What suits an LSM-tree",
            vec![Panel::Table(matrix())],
        ),
    ];
    let environment = [
        (
            "Machine",
            "Intel Core i9-13900K, 2 cores, 7,936 MiB, Linux 6.8",
        ),
        ("Commit", "4f0c2a91d3be"),
        ("Measured", "2026-11-21 to 2026-11-22"),
        (
            "Scale",
            "small: 10,000,000 keys where the paper has 100,000,000",
        ),
    ];
    Page {
        title: "Learned indexes in LSM-trees, measured again".to_string(),
        summary:
            "Every figure and claim of three papers, run again on rhumb: one store, ten index \
                  kinds, the same workloads. Our numbers stand beside the published ones."
                .to_string(),
        environment: environment
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .to_vec(),
        warning: "Three rounds decide little.".to_string(),
        headlines: vec![
            headline(
                "9 of 13",
                "claims",
                "of the paper hold here; 2 in part, 1 does not",
            ),
            headline(
                "12.4",
                "×",
                "less index memory than fence pointers with PGM at boundary 16",
            ),
            headline(
                "1.8",
                "µs",
                "a get with PGM at boundary 16, warm, 10 M keys",
            ),
            headline(
                "3.1",
                "%",
                "of compaction time is learning with 1 KB entries",
            ),
            headline("2.02", "GiB", "the least memory of an unclustered kind"),
        ],
        claims: claims(),
        papers: vec![Paper {
            title: "Evaluating Learned Indexes in LSM-tree Systems (EDBT 2026)".to_string(),
            figures,
        }],
    }
}
