//! Figures of one cell in rows and columns.

use super::Only;
use crate::report::model::{Heatmap, Panel, Shades};
use crate::results::Cell;

/// Figures whose names are made of a word of the column and of one of the row, such as `form_q_stay fp bytes(4096)`; one of 0 was
/// never learned.
pub struct Values {
    pub title: &'static str,
    pub only: Only,
    /// What the columns are; their words, and their names.
    pub columns: (&'static str, &'static [(&'static str, &'static str)]),
    /// The same for the rows.
    pub rows: (&'static str, &'static [(&'static str, &'static str)]),
    pub label: &'static str,
}

impl Values {
    /// Draws those of the first cell; none if it has none of them.
    pub fn draw(&self, cells: &[&Cell]) -> Option<Panel> {
        let cell = cells.first()?;
        let (columns, rows) = (self.columns.1, self.rows.1);
        let row = |(row, _): &(&str, &str)| -> Vec<Option<f64>> {
            let of = |(column, _): &(&str, &str)| cell.value(&format!("{column} {row}"));
            columns.iter().map(of).collect()
        };
        let values: Vec<Vec<Option<f64>>> = rows.iter().map(row).collect();
        let places = (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |at| (row, at)));
        let is_zero = |(row, column): &(usize, usize)| values[*row][*column] == Some(0.0);
        let names = |of: &[(&str, &str)]| of.iter().map(|(_, name)| name.to_string()).collect();
        let map = Heatmap {
            title: self.title.to_string(),
            x: self.columns.0.to_string(),
            columns: names(columns),
            y: self.rows.0.to_string(),
            rows: names(rows),
            shades: Shades::Values,
            label: self.label.to_string(),
            undecided: places.filter(is_zero).collect(),
            values,
        };
        let some = map.values.iter().flatten().any(Option::is_some);
        some.then_some(Panel::Heatmap(map))
    }
}
