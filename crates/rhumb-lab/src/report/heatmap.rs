//! Numbers over two categories, drawn as cells from light to dark with the numbers in them.

use super::markup::{Attributes, Markup, Px};
use super::model::Heatmap;
use super::number::{exact, short, with_unit};
use super::shapes::{LINE, area, text, text_width};

const CELL: (f64, f64) = (64.0, 26.0);

/// Draws a heatmap. A cell whose value is not a number has no colour.
pub fn draw(map: &Heatmap, out: &mut Markup) {
    let range = range(map);
    let names = map.rows.iter().map(|name| text_width(name));
    let left = names.fold(text_width(&map.y), f64::max) + 12.0;
    let columns = map.columns.iter().map(|name| text_width(name) + 8.0);
    let width = columns.fold(CELL.0, f64::max);
    let top = 2.0 * LINE + 6.0;
    let right = left + width * map.columns.len() as f64;
    let right = right.max(left + text_width(&map.x)) + 2.0;
    let bottom = top + CELL.1 * map.rows.len() as f64 + LINE + 4.0;
    let view = format!("0 0 {} {}", Px(right), Px(bottom));
    let style = format!("max-width:{right:.0}px");
    out.nest("div", &[("class", &"drawing")], |out| {
        let attributes: Attributes<'_> = &[
            ("viewBox", &view),
            ("style", &style),
            ("role", &"img"),
            ("aria-label", &map.title),
        ];
        out.nest("svg", attributes, |out| {
            text(out, "start name", (left, LINE - 4.0), &map.x);
            text(out, "end name", (left - 8.0, top - 8.0), &map.y);
            for (column, name) in map.columns.iter().enumerate() {
                let middle = left + width * (column as f64 + 0.5);
                text(out, "middle", (middle, top - 8.0), name);
            }
            for (row, name) in map.rows.iter().enumerate() {
                let y = top + CELL.1 * row as f64;
                text(out, "end", (left - 8.0, y + CELL.1 / 2.0 + 4.0), name);
                cells(map, row, range, (left, y, width), out);
            }
            let label = with_unit(&map.label, &map.unit);
            text(out, "start name", (left, bottom - 4.0), &label);
        });
    });
}

fn range(map: &Heatmap) -> (f64, f64) {
    let values = map.values.iter().flatten().flatten().copied();
    let values = values.filter(|value| value.is_finite());
    values.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, greatest), value| (least.min(value), greatest.max(value)),
    )
}

fn cells(
    map: &Heatmap,
    row: usize,
    range: (f64, f64),
    (left, y, width): (f64, f64, f64),
    out: &mut Markup,
) {
    let values = map.values.get(row);
    for (column, name) in map.columns.iter().enumerate() {
        let value = values.and_then(|values| values.get(column).copied().flatten());
        let value = value.filter(|value| value.is_finite());
        // Halved before subtracting: the difference of two finite numbers may not be finite.
        let span = range.1 / 2.0 - range.0 / 2.0;
        let share = value.map(|value| match span > 0.0 {
            true => (value / 2.0 - range.0 / 2.0) / span,
            false => 0.5,
        });
        let x = left + width * column as f64;
        let shown = value.map_or("–".to_string(), short);
        let row = map.rows.get(row).map_or("", |name| name);
        let told = value.map_or("not measured".to_string(), exact);
        let told = format!("{row}, {name}: {told} {}", map.unit);
        let place = [x + 1.0, y + 1.0, x + width - 1.0, y + CELL.1 - 1.0];
        let opacity = format!("{:.2}", 0.08 + 0.92 * share.unwrap_or(0.0));
        match value {
            Some(_) => out.nest("g", &[("fill-opacity", &opacity)], |out| {
                area(out, "cell", place, &told);
            }),
            None => area(out, "hole", place, &told),
        }
        let dark = share.is_some_and(|share| share > 0.55);
        let class = if dark { "middle on-dark" } else { "middle" };
        text(
            out,
            class,
            (x + width / 2.0, y + CELL.1 / 2.0 + 4.0),
            &shown,
        );
    }
}
