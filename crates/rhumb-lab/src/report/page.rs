//! The page: circumstances, summary and headlines, the ledger of claims, then all figures.

use super::markup::{Attributes, Markup};
use super::model::{Cell, Chart, Figure, Multiples, Page, Panel, Paper, Table};
use super::{chart, claims, heatmap, tables};

/// Longer tables of published numbers are folded.
const LONGEST_OPEN: usize = 24;

/// The report as one self-contained HTML file. The same page gives the same bytes.
pub fn html(page: &Page) -> String {
    let mut out = Markup::default();
    out.verbatim("<!DOCTYPE html>\n");
    out.nest("html", &[("lang", &"en")], |out| {
        out.nest("head", &[], |out| head(page, out));
        out.nest("body", &[], |out| {
            front(page, out);
            claims::draw(&page.claims, out);
            contents(&page.papers, out);
            for paper in &page.papers {
                out.element("h2", &[], &paper.title);
                for figure in &paper.figures {
                    self::figure(figure, out);
                }
            }
        });
    });
    out.finish()
}

fn head(page: &Page, out: &mut Markup) {
    out.empty("meta", &[("charset", &"utf-8")]);
    let width = "width=device-width, initial-scale=1";
    out.empty("meta", &[("name", &"viewport"), ("content", &width)]);
    out.element("title", &[], &page.title);
    out.nest("style", &[], |out| out.verbatim(include_str!("page.css")));
}

fn front(page: &Page, out: &mut Markup) {
    bar(page, out);
    out.element("h1", &[], &page.title);
    out.element("p", &[("class", &"lead")], &page.summary);
    out.nest("div", &[("class", &"headlines")], |out| {
        for headline in &page.headlines {
            out.nest("div", &[], |out| {
                out.nest("b", &[], |out| {
                    out.text(&headline.value);
                    if !headline.unit.is_empty() {
                        out.element("span", &[], &headline.unit);
                    }
                });
                out.element("p", &[], &headline.text);
            });
        }
    });
}

/// What was measured where, and how far it can be believed, above everything else.
fn bar(page: &Page, out: &mut Markup) {
    if page.environment.is_empty() && page.warning.is_empty() {
        return;
    }
    out.nest("div", &[("class", &"bar")], |out| {
        out.nest("dl", &[("class", &"facts")], |out| {
            for (name, value) in &page.environment {
                out.nest("div", &[], |out| {
                    out.element("dt", &[], name);
                    out.element("dd", &[], value);
                });
            }
        });
        if !page.warning.is_empty() {
            out.element("p", &[("class", &"warning")], &page.warning);
        }
    });
}

fn contents(papers: &[Paper], out: &mut Markup) {
    out.nest("section", &[("id", &"contents")], |out| {
        out.element("h2", &[], "Contents");
        for paper in papers {
            out.element("h4", &[], &paper.title);
            out.nest("ul", &[("class", &"contents")], |out| {
                for figure in &paper.figures {
                    out.nest("li", &[], |out| {
                        let href = format!("#{}", figure.id);
                        out.element("a", &[("class", &"id"), ("href", &href)], &figure.id);
                        out.element("span", &[], &figure.title);
                        if !is_measured(figure) {
                            out.element("span", &[("class", &"state")], "not measured yet");
                        }
                    });
                }
            });
        }
    });
}

fn figure(figure: &Figure, out: &mut Markup) {
    let attributes: Attributes<'_> = &[("class", &"figure"), ("id", &figure.id)];
    out.nest("section", attributes, |out| {
        out.nest("h3", &[], |out| {
            let href = format!("#{}", figure.id);
            out.element("a", &[("href", &href)], &figure.id);
            out.text(&format!(" {}", figure.title));
        });
        out.element("p", &[("class", &"source")], &figure.paper);
        labelled(out, "Published", &figure.shows);
        if is_measured(figure) {
            labelled(out, "Here", &figure.note);
        } else {
            out.nest("p", &[("class", &"missing")], |out| {
                out.text("not measured yet: run ");
                out.element("code", &[], &format!("rhumb-lab run {}", figure.id));
            });
        }
        out.nest("div", &[("class", &"panels")], |out| {
            let panels = figure.panels.iter();
            panels.for_each(|panel| self::panel(panel, out));
        });
        if is_measured(figure) {
            labelled(out, "How it was measured", &figure.method);
        }
        numbers(figure, out);
    });
}

/// Whether a figure has more than published numbers.
fn is_measured(figure: &Figure) -> bool {
    let ours = |chart: &Chart| chart.series.iter().any(|series| series.published.is_none());
    figure.panels.iter().any(|panel| match panel {
        Panel::Chart(chart) => ours(chart),
        Panel::Multiples(multiples) => multiples.charts.iter().any(ours),
        Panel::Heatmap(_) | Panel::Table(_) => true,
    })
}

fn labelled(out: &mut Markup, label: &str, text: &str) {
    if !text.is_empty() {
        out.nest("p", &[], |out| {
            out.element("b", &[], &format!("{label}: "));
            out.text(text);
        });
    }
}

fn panel(panel: &Panel, out: &mut Markup) {
    match panel {
        Panel::Chart(chart) => {
            let class = if chart::is_wide(chart) {
                "whole"
            } else {
                "part"
            };
            out.nest("div", &[("class", &class)], |out| {
                out.element("h4", &[], &chart.title);
                chart::draw(chart, out);
            });
        }
        Panel::Multiples(multiples) => out.nest("div", &[("class", &"whole")], |out| {
            out.element("h4", &[], &multiples.title);
            chart::draw_all(multiples, out);
        }),
        Panel::Heatmap(map) => out.nest("div", &[], |out| {
            out.element("h4", &[], &map.title);
            heatmap::draw(map, out);
        }),
        Panel::Table(table) => out.nest("div", &[("class", &"whole")], |out| {
            out.element("h4", &[], &table.title);
            self::table(table, out);
        }),
    }
}

/// Tables: the published numbers beside ours, and all numbers.
fn numbers(figure: &Figure, out: &mut Markup) {
    let charts = figure.panels.iter().flat_map(|panel| match panel {
        Panel::Chart(chart) => vec![chart.clone()],
        Panel::Multiples(multiples) => named(multiples),
        Panel::Heatmap(_) | Panel::Table(_) => Vec::new(),
    });
    let charts: Vec<Chart> = charts.collect();
    let beside: Vec<Table> = charts.iter().filter_map(tables::beside).collect();
    let open = beside.iter().map(|table| table.rows.len()).sum::<usize>() <= LONGEST_OPEN;
    folded(out, "The published numbers beside ours", open, &beside);
    let all: Vec<Table> = charts.iter().map(tables::numbers).collect();
    folded(out, "All numbers of these drawings", false, &all);
}

/// Charts beside each other, each with the title of all before its own.
fn named(multiples: &Multiples) -> Vec<Chart> {
    let named = |chart: &Chart| Chart {
        title: format!("{}: {}", multiples.title, chart.title),
        ..chart.clone()
    };
    multiples.charts.iter().map(named).collect()
}

fn folded(out: &mut Markup, summary: &str, open: bool, tables: &[Table]) {
    if tables.is_empty() {
        return;
    }
    let inside = |out: &mut Markup| {
        out.element("summary", &[], summary);
        for table in tables {
            out.element("h4", &[], &table.title);
            self::table(table, out);
        }
    };
    match open {
        true => out.nest("details", &[("open", &"open")], inside),
        false => out.nest("details", &[], inside),
    }
}

fn table(table: &Table, out: &mut Markup) {
    let class = |column: usize| {
        if column < table.text_columns {
            "words"
        } else {
            "number"
        }
    };
    out.nest("div", &[("class", &"scroll")], |out| {
        out.nest("table", &[], |out| {
            out.nest("tr", &[], |out| {
                for (column, name) in table.headings.iter().enumerate() {
                    out.element("th", &[("class", &class(column))], name);
                }
            });
            for row in &table.rows {
                out.nest("tr", &[], |out| {
                    for (column, cell) in row.iter().enumerate() {
                        out.nest("td", &[("class", &class(column))], |out| {
                            self::cell(cell, out)
                        });
                    }
                });
            }
        });
    });
}

fn cell(cell: &Cell, out: &mut Markup) {
    if let Some(mark) = cell.mark {
        let (sign, class, words) = tables::sign(mark);
        out.element("b", &[("class", &class), ("title", &words)], sign);
        out.text(" ");
    }
    out.text(&cell.text);
}
