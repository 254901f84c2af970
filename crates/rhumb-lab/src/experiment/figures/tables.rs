//! Tables from cells.

use super::{Across, Column, Only, Stated, chosen, figure, values};
use crate::report::model::{self, Panel};
use crate::results;
use crate::table::number;

/// A row for each cell.
pub fn table(
    title: &str,
    cells: &[&results::Cell],
    axes: &[(&str, &str)],
    columns: &[Column],
    published: &[Stated],
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

/// Ratios of cells to others, as colours.
pub fn ratios(
    title: &str,
    (all, only): (&[&results::Cell], Only),
    columns: &Across,
    rows: (&str, &str),
    (over, label): (Only, &str),
) -> Option<Panel> {
    let cells = chosen(all, only);
    let (heading, columns) = match columns {
        Across::Axis(axis, heading, metric) => {
            let values = values(&cells, axis).into_iter();
            let columns = values.map(|value| (value.clone(), Some((*axis, value)), *metric));
            (heading, columns.collect::<Vec<_>>())
        }
        Across::Metrics(heading, metrics) => {
            let metrics = metrics.iter();
            let columns = metrics.map(|(metric, name)| (name.to_string(), None, *metric));
            (heading, columns.collect())
        }
    };
    let names = values(&cells, rows.0);
    let (mut numbers, mut undecided) = (Vec::new(), Vec::new());
    for (row, name) in names.iter().enumerate() {
        let ratios = columns.iter().enumerate().map(|(column, (_, of, metric))| {
            let here = |cell: &&&results::Cell| {
                let of = of.as_ref();
                let in_column = of.is_none_or(|(axis, value)| cell.axis(axis) == value);
                in_column && cell.axis(rows.0) == name
            };
            let (ratio, decided) = figure::ratio(all, cells.iter().find(here)?, metric, over)?;
            if !decided {
                undecided.push((row, column));
            }
            Some(ratio)
        });
        numbers.push(ratios.collect::<Vec<_>>());
    }
    let map = model::Heatmap {
        title: title.to_string(),
        x: heading.to_string(),
        columns: columns.into_iter().map(|(name, ..)| name).collect(),
        y: rows.1.to_string(),
        rows: names,
        shades: model::Shades::Ratios,
        label: label.to_string(),
        values: numbers,
        undecided,
    };
    let some = map.values.iter().flatten().any(Option::is_some);
    some.then_some(Panel::Heatmap(map))
}
