//! The whole page is well-formed, keeps what it is given, and is the same every time.

use super::model::{
    Axis, Cell, Chart, Figure, Heatmap, Marks, Page, Panel, Paper, Point, Scale, Series, Table,
};
use super::{html, sample};

/// Checks that elements are closed in their order, attributes quoted, and nothing left unescaped;
/// gives the number of elements.
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
        "only the style sheet may: {text}"
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
fn odd_numbers_are_left_out_and_said() {
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
        log.contains("Points not drawn: 3 not finite, 3 not above 0, where the axis needs it."),
        "{log}"
    );
    let bars = text(Scale::Linear, Scale::Linear, Marks::Bar);
    assert!(
        bars.contains("Points not drawn: 3 not finite, 4 in no category."),
        "{bars}"
    );
}

#[test]
fn few_points_or_none_are_drawn() {
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
        label: "time".to_string(),
        unit: "s".to_string(),
        values: vec![
            vec![Some(-f64::MAX), Some(f64::NAN), Some(1.0)],
            vec![Some(f64::MAX)],
        ],
    };
    let text = html(&page_of(Panel::Heatmap(heatmap)));
    elements(&text);
    assert_eq!(text.matches("class=\"hole\"").count(), 2);
    let table = Table {
        title: "table".to_string(),
        headings: vec!["one".to_string()],
        text_columns: 1,
        rows: vec![Vec::new(), vec![Cell::text("a"), Cell::text("b")]],
    };
    elements(&html(&page_of(Panel::Table(table))));
}

#[test]
fn text_from_outside_stays_text() {
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
fn published_numbers_stand_beside_ours() {
    let ours = sample::series("PGM", Marks::Line, vec![Point::new(16.0, 3.0)]);
    let theirs = Series {
        published: true,
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
