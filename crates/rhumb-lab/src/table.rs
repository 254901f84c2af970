//! Aligned tables for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::measure::Spread;

/// A table with these headings in Markdown. The first `text` columns are aligned left, the others
/// right. Its width does not depend on the terminal.
pub fn new(headings: &[String], text: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(headings);
    for column in table.column_iter_mut().skip(text) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A number with `digits` decimals, its thousands separated by commas; `-` for none.
pub fn number(value: Option<f64>, digits: usize) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return "-".to_string();
    };
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        let left = whole.len() - place;
        if place > 0 && left.is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

/// A number followed by its ratio to another: `812 (0.58)`; without the ratio if there is no other.
pub fn with_ratio(value: Option<f64>, digits: usize, to: Option<f64>) -> String {
    let text = number(value, digits);
    match (value, to) {
        (Some(value), Some(to)) if to > 0.0 => format!("{text} ({:.2})", value / to),
        _ => text,
    }
}

/// A median with its spread: `812 [790 to 840]`; the median alone if minimum and maximum are equal.
pub fn with_spread(spread: Spread, digits: usize) -> String {
    let text = |value| number(Some(value), digits);
    if spread.min == spread.max {
        return text(spread.median);
    }
    let (median, min, max) = (text(spread.median), text(spread.min), text(spread.max));
    format!("{median} [{min} to {max}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(number(Some(1_234_567.0), 0), "1,234,567");
        assert_eq!(number(Some(-123_456.25), 1), "-123,456.2");
        assert_eq!(number(Some(12.0), 2), "12.00");
        assert_eq!(number(None, 2), "-");
        assert_eq!(with_ratio(Some(500.0), 0, Some(1_000.0)), "500 (0.50)");
        assert_eq!(with_ratio(Some(500.0), 0, None), "500");
        let (min, median, max) = (1_000.0, 1_500.0, 2_000.0);
        let spread = Spread { min, median, max };
        assert_eq!(with_spread(spread, 0), "1,500 [1,000 to 2,000]");
        assert_eq!(with_spread(Spread::of(&[3.0]), 1), "3.0");
    }
}
