//! Tables from cells.

use super::{Column, Measure, Published, values};
use crate::report::model::{self, Panel};
use crate::results;
use crate::table::number;

/// A row for each cell.
pub fn table(
    title: &str,
    cells: &[&results::Cell],
    axes: &[(&str, &str)],
    columns: &[Column],
    published: &[Published],
) -> Option<Panel> {
    let rows = cells.iter().map(|cell| {
        let names = axes.iter().map(|(axis, _)| cell.axis(axis).to_string());
        let figures = columns.iter().map(|column| {
            let value = cell
                .value(column.metric)
                .map(|value| value / column.divisor);
            number(value, column.digits)
        });
        let theirs = published
            .iter()
            .map(|column| number((column.of)(cell), column.digits));
        let texts = names.chain(figures).chain(theirs);
        texts.map(|text| model::Cell::text(&text)).collect()
    });
    let headings = axes.iter().map(|(_, heading)| *heading);
    let headings = headings
        .chain(columns.iter().map(|column| column.heading))
        .chain(published.iter().map(|column| column.heading));
    let table = model::Table {
        title: title.to_string(),
        headings: headings.map(str::to_string).collect(),
        text_columns: axes.len(),
        rows: rows.collect(),
    };
    (!table.rows.is_empty()).then_some(Panel::Table(table))
}

/// A row for each figure of the first cell.
pub fn list(title: &str, cells: &[&results::Cell]) -> Option<Panel> {
    let rows = cells.first()?.figures.iter().map(|(metric, kept)| {
        let value = kept.spread.median;
        let digits = if value.fract() == 0.0 { 0 } else { 1 };
        let row = [
            metric.clone(),
            number(Some(value), digits),
            kept.unit.clone(),
        ];
        row.iter().map(|text| model::Cell::text(text)).collect()
    });
    Some(Panel::Table(model::Table {
        title: title.to_string(),
        headings: ["figure", "value", "unit"].map(str::to_string).to_vec(),
        text_columns: 1,
        rows: rows.collect(),
    }))
}

/// A figure over two axes, each with its heading.
pub fn heatmap(
    title: &str,
    cells: &[&results::Cell],
    columns: (&str, &str),
    rows: (&str, &str),
    measure: &Measure,
) -> Option<Panel> {
    let (across, down) = (values(cells, columns.0), values(cells, rows.0));
    let value = |row: &String, column: &String| {
        let at =
            |cell: &&&results::Cell| cell.axis(rows.0) == row && cell.axis(columns.0) == column;
        Some(cells.iter().find(at)?.value(measure.metric)? / measure.divisor)
    };
    let values = down
        .iter()
        .map(|row| across.iter().map(|column| value(row, column)).collect());
    let map = model::Heatmap {
        title: title.to_string(),
        values: values.collect(),
        x: columns.1.to_string(),
        columns: across,
        y: rows.1.to_string(),
        rows: down,
        label: measure.label.to_string(),
        unit: measure.unit.to_string(),
    };
    (!map.rows.is_empty()).then_some(Panel::Heatmap(map))
}
