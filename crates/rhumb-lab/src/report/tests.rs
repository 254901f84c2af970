//! The whole page is well-formed, contains what it was given, and is the same every time.

use super::model::{
    Axis, Cell, Chart, Figure, Heatmap, Marks, Multiples, Page, Panel, Paper, Point, Scale, Series,
    Shades, Table,
};
use super::{html, sample};

/// Checks that elements are closed in order, attributes are quoted, and all text is escaped.
/// Returns the number of elements.
fn elements(markup: &str) -> usize {
    let mut open: Vec<&str> = Vec::new();
    let mut count = 0;
    let mut rest = markup.strip_prefix("<!DOCTYPE html>").unwrap_or(markup);
    while let Some((text, after)) = rest.split_once('<') {
        assert_escaped(text);
        let (tag, next) = after.split_once('>').expect("a tag ends");
        rest = next;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "elements close in their order");
            continue;
        }
        count += 1;
        let name = tag.split([' ', '/']).next().unwrap();
        assert!(
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()),
            "{tag}"
        );
        attributes(tag[name.len()..].trim_end_matches('/'));
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert_escaped(rest);
    assert!(open.is_empty(), "{open:?} stayed open");
    count
}

fn attributes(text: &str) {
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{text}"));
        let named = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        assert!(named && !name.is_empty(), "{text}");
        let (value, next) = after.split_once('"').unwrap();
        assert_escaped(value);
        assert!(!value.contains("NaN") && !value.contains("inf"), "{text}");
        rest = next.trim_start();
    }
}

fn assert_escaped(text: &str) {
    assert!(
        !text.contains('>') || text.contains('{'),
        "only the style sheet may be unescaped: {text}"
    );
    for after in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;"];
        assert!(known.iter().any(|name| after.starts_with(name)), "{text}");
    }
}

fn page_of(panel: Panel) -> Page {
    Page {
        papers: vec![Paper {
            title: "paper".to_string(),
            figures: vec![Figure {
                id: "E-F7".to_string(),
                panels: vec![panel],
                ..Figure::default()
            }],
        }],
        ..Page::default()
    }
}

fn chart(x: Scale, y: Scale, all: Vec<Series>) -> Page {
    page_of(Panel::Chart(Chart {
        title: "chart".to_string(),
        x: Axis::new("x", "", x),
        y: Axis::new("y", "s", y),
        y2: None,
        series: all,
    }))
}

#[test]
fn the_sample_is_well_formed_and_the_same_twice() {
    let text = html(&sample::page());
    assert!(elements(&text) > 2_000);
    assert_eq!(text, html(&sample::page()));
    for id in ["E-F6", "E-F7", "E-F9", "E-T2", "C-E1"] {
        assert!(text.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(text.contains("not measured yet: run <code>rhumb-lab run E-F9</code>"));
    assert!(!text.contains("http"), "the page needs no network");
    // To look at it: RHUMB_LAB_SAMPLE=/some/page.html cargo test --release -p rhumb-lab the_sample
    if let Some(path) = std::env::var_os("RHUMB_LAB_SAMPLE") {
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn numbers_that_cannot_be_drawn_are_omitted_and_counted() {
    let odd = [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e308, 5e-324, 3.0];
    let odd = || {
        odd.iter()
            .map(|y| Point::new(3.0, *y).between(-*y, f64::NAN))
            .collect()
    };
    let text = |x: Scale, y: Scale, marks: Marks| {
        html(&chart(x, y, vec![sample::series("PGM", marks, odd())]))
    };
    for marks in [Marks::Line, Marks::Bar, Marks::Stacked, Marks::Scatter] {
        for scale in [Scale::Linear, Scale::Log10, Scale::Log2] {
            let categories = Scale::Category(vec!["a".to_string(); 4]);
            for x in [Scale::Linear, Scale::Log10, Scale::Log2, categories] {
                elements(&text(x, scale.clone(), marks));
            }
        }
    }
    let log = text(Scale::Linear, Scale::Log10, Marks::Line);
    assert!(
        log.contains("Points not drawn: 3 not finite, 3 not above 0 on a logarithmic axis."),
        "{log}"
    );
    let bars = text(Scale::Linear, Scale::Linear, Marks::Bar);
    assert!(
        bars.contains("Points not drawn: 3 not finite, 4 without a category."),
        "{bars}"
    );
}

#[test]
fn charts_with_few_points_or_none_are_drawn() {
    for count in 0..3 {
        let points = (0..count)
            .map(|_| Point::new(0.0, 7.0).labelled("16"))
            .collect();
        for scale in [Scale::Linear, Scale::Log2, Scale::Category(Vec::new())] {
            let series = sample::series("ours", Marks::Scatter, Vec::clone(&points));
            let text = html(&chart(scale.clone(), Scale::Log10, vec![series]));
            elements(&text);
            let drawn = count > 0 && scale == Scale::Linear;
            assert_eq!(text.contains("no numbers to draw"), !drawn);
        }
    }
    elements(&html(&Page::default()));
}

#[test]
fn ragged_heatmaps_and_tables_are_drawn() {
    let heatmap = Heatmap {
        title: "map".to_string(),
        x: "K".to_string(),
        columns: vec!["1".to_string(), "2".to_string()],
        y: "L".to_string(),
        rows: vec!["1".to_string(), "2".to_string()],
        shades: Shades::Ratios,
        label: "time over fp".to_string(),
        values: vec![
            vec![Some(-f64::MAX), Some(f64::NAN), Some(1.0)],
            vec![Some(f64::MAX)],
        ],
        undecided: vec![(1, 0)],
    };
    let values = Heatmap {
        shades: Shades::Values,
        values: vec![vec![Some(-2.0), Some(-1.0)], vec![Some(0.0), None]],
        ..heatmap.clone()
    };
    let text = html(&page_of(Panel::Heatmap(heatmap)));
    elements(&text);
    assert_eq!(text.matches("class=\"hole\"").count(), 4);
    let text = html(&page_of(Panel::Heatmap(values)));
    elements(&text);
    assert_eq!(text.matches("class=\"hole\"").count(), 2);
    for told in ["2, 1: never learned", "2, 2: no choice", "0.08", "1.00"] {
        assert!(text.contains(told), "{told}");
    }
    let table = Table {
        title: "table".to_string(),
        headings: vec!["one".to_string()],
        text_columns: 1,
        rows: vec![Vec::new(), vec![Cell::text("a"), Cell::text("b")]],
    };
    elements(&html(&page_of(Panel::Table(table))));
}

#[test]
fn text_is_always_escaped() {
    let evil = "</title><script>alert('1')</script>\" onload=\"x &amp; \u{0}";
    let mut page = chart(
        Scale::Category(vec![evil.to_string()]),
        Scale::Linear,
        vec![sample::series(
            evil,
            Marks::Bar,
            vec![Point::new(0.0, 1.0).labelled(evil)],
        )],
    );
    page.title = evil.to_string();
    page.environment = vec![(evil.to_string(), evil.to_string())];
    page.papers[0].figures[0].id = evil.to_string();
    let text = html(&page);
    elements(&text);
    assert!(
        !text.contains("<script") && !text.contains("onload=\"x"),
        "{text}"
    );
    assert!(text.contains("&lt;script&gt;"));
}

#[test]
fn published_numbers_are_shown_beside_ours() {
    let ours = sample::series("PGM", Marks::Line, vec![Point::new(16.0, 3.0)]);
    let theirs = Series {
        published: Some("Table 2".to_string()),
        points: vec![Point::new(16.0, 2.0), Point::new(8.0, 1.5)],
        ..ours.clone()
    };
    let text = html(&chart(Scale::Log2, Scale::Linear, vec![ours, theirs]));
    let cells = text.replace("<td class=\"number\">", "|");
    let cells = cells.replace("</td>", "");
    assert!(
        cells.contains("PGM<td class=\"words\">16|2|3|1.50</tr>"),
        "{cells}"
    );
    assert!(
        cells.contains("PGM<td class=\"words\">8|1.50|–|–</tr>"),
        "{cells}"
    );
}

/// The numbers of an attribute in all elements whose markup has `mark`.
fn numbers(text: &str, mark: &str, attribute: &str) -> Vec<f64> {
    let elements = text.split('<').filter(|element| element.contains(mark));
    let values = elements.filter_map(|element| {
        let (_, rest) = element.split_once(&format!(" {attribute}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    });
    values.collect()
}

#[test]
fn stacks_and_bars_are_as_high_as_their_numbers() {
    let category = || Scale::Category(vec!["PGM".to_string(), "RMI".to_string()]);
    let bars = |marks: Marks| {
        let stage = |name, y| sample::series(name, marks, vec![Point::new(1.0, y)]);
        let all = vec![stage("index", 1.0), stage("read", 4.0)];
        html(&chart(category(), Scale::Linear, all))
    };
    // The first two bars are in the legend. The axis goes to 5, or to 4, over 250 pixels.
    for (marks, heights) in [(Marks::Stacked, [50.0, 200.0]), (Marks::Bar, [62.5, 250.0])] {
        let text = bars(marks);
        assert_eq!(numbers(&text, "class=\"bar\"", "height")[2..], heights);
        let (top, left) = (
            numbers(&text, "class=\"bar\"", "y"),
            numbers(&text, "class=\"bar\"", "x"),
        );
        let stacked = marks == Marks::Stacked;
        assert_eq!(top[2] - top[3] == 200.0, stacked);
        assert_eq!(left[2] == left[3], stacked);
    }
}

#[test]
fn charts_beside_each_other_have_the_same_axis_and_cut_outliers_with_a_mark() {
    let numbers = |name: &str, numbers: &[f64]| {
        let points = numbers.iter().enumerate();
        let points = points.map(|(at, number)| Point::new(at as f64 + 1.0, *number));
        Chart {
            title: format!("the {name}"),
            x: Axis::new("boundary", "", Scale::Linear),
            y: Axis::new("latency", "us", Scale::Linear),
            y2: None,
            series: vec![sample::series(name, Marks::Line, points.collect())],
        }
    };
    let charts = vec![
        numbers("pgm", &[3.1, 3.2, 3.3, 3.4, 3.5]),
        numbers("rmi", &[4.0, 4.2, 83.25, 4.5, 4.6]),
    ];
    let text = html(&page_of(Panel::Multiples(Multiples {
        title: "both".to_string(),
        charts,
    })));
    elements(&text);
    assert_eq!(text.matches("<svg").count(), 2);
    assert!(text.contains("Left axes, alike in all: latency (us), from 3, not 0."));
    assert!(
        text.contains("Beyond the end of an axis (▲): rmi at 3: 83.25 us."),
        "{text}"
    );
    assert_eq!(text.matches("class=\"k4 cut\"").count(), 1);
    assert!(text.contains(">83.2<"), "the number stands at the mark");
}

#[test]
fn a_number_beyond_the_axis_has_no_label_in_its_place() {
    let numbers = [3.1, 3.2, 3.3, 3.4, 3.5, 83.25];
    let points = numbers.iter().enumerate();
    let points = points.map(|(at, y)| Point::new(at as f64, *y).labelled(&format!("at{at}")));
    let series = sample::series("rmi", Marks::Scatter, points.collect());
    let text = html(&chart(Scale::Linear, Scale::Linear, vec![series]));
    assert!(
        text.contains(">at4</text>") && text.contains(">83.2</text>"),
        "{text}"
    );
    assert!(
        !text.contains(">at5</text>"),
        "the number stands there: {text}"
    );
}

#[test]
fn what_the_rounds_do_not_decide_is_marked() {
    let noisy = Point::new(1.0, 3.0).between(2.7, 3.8);
    let points = vec![noisy, Point::new(2.0, 3.0).between(2.9, 3.1)];
    let series = sample::series("pgm", Marks::Line, points);
    let text = html(&chart(Scale::Linear, Scale::Linear, vec![series]));
    assert_eq!(text.matches("<line class=\"error own noisy\"").count(), 3);
    assert!(text.contains("differ by more than 30 % (1 of those above)"));
    // An end beyond the axis has no cap.
    let long = Point::new(1.0, 3.0).between(2.7, 90.0);
    let series = sample::series("pgm", Marks::Line, vec![long]);
    let text = html(&chart(Scale::Linear, Scale::Linear, vec![series]));
    assert_eq!(text.matches("<line class=\"error own noisy\"").count(), 2);
}

#[test]
fn the_source_of_published_numbers_and_warnings_are_on_the_page() {
    let mut page = sample::page();
    let text = html(&page);
    assert!(text.contains("Published (hollow, dashed): the table of Figure 8"));
    assert!(text.contains("<p class=\"warning\">Three rounds decide little.</p>"));
    page.warning = String::new();
    assert!(!html(&page).contains("<p class=\"warning\""));
}

#[test]
fn the_second_axis_has_a_scale_of_its_own() {
    let line = |name, y| sample::series(name, Marks::Line, vec![Point::new(8.0, y)]);
    let mut page = chart(
        Scale::Log2,
        Scale::Linear,
        vec![
            line("PGM", 2.0),
            Series {
                on_second_axis: true,
                ..line("RMI", 2e9)
            },
        ],
    );
    let panel = &mut page.papers[0].figures[0].panels[0];
    let Panel::Chart(chart) = panel else { panic!() };
    chart.y2 = Some(Axis::new("memory", "B", Scale::Log10));
    let text = html(&page);
    elements(&text);
    assert!(
        text.contains(">memory (B): lines<") && text.contains(">2G<"),
        "{text}"
    );
    assert!(text.contains(">2<"), "the first axis ends at 2: {text}");
}

#[test]
fn labels_of_points_do_not_cover_each_other() {
    let text = html(&sample::page());
    let mark = "small start\"";
    let (x, y) = (numbers(&text, mark, "x"), numbers(&text, mark, "y"));
    let labels = text.split('<').filter(|element| element.contains(mark));
    let widths: Vec<f64> = labels
        .map(|label| super::shapes::text_width(label.split_once('>').unwrap().1) * 0.88)
        .collect();
    assert!(widths.len() > 20);
    for a in 0..widths.len() {
        for b in 0..a {
            let beside = x[a] + widths[a] <= x[b] + 0.2 || x[b] + widths[b] <= x[a] + 0.2;
            assert!(beside || (y[a] - y[b]).abs() >= 11.8, "{a} and {b}");
        }
    }
}

#[test]
fn figures_with_published_numbers_only_are_not_measured() {
    let series = Series {
        published: Some("Table 2".to_string()),
        ..sample::series("PGM", Marks::Line, vec![Point::new(16.0, 2.0)])
    };
    let text = html(&chart(Scale::Log2, Scale::Linear, vec![series]));
    assert_eq!(text.matches("not measured yet").count(), 2);
    assert!(text.contains("class=\"k3 published\""));
}
