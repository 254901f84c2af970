//! Numbers over two categories, drawn as cells with the numbers in them.

use super::markup::{Attributes, Markup, Px};
use super::model::{Heatmap, Shades};
use super::number::{exact, short};
use super::shapes::{LINE, area, name_width, text, text_width};

const CELL: (f64, f64) = (64.0, 26.0);

/// A ratio never has the full colour if it is nearer to 1 than this.
const LEAST_FACTOR: f64 = 1.5;

/// Draws a heatmap. A cell whose value is no ratio, that the rounds do not decide, or that was never learned, has no colour.
pub fn draw(map: &Heatmap, out: &mut Markup) {
    let names = map.rows.iter().map(|name| text_width(name));
    let left = names.fold(name_width(&map.y), f64::max) + 12.0;
    let columns = map.columns.iter().map(|name| text_width(name) + 8.0);
    let width = columns.fold(CELL.0, f64::max);
    let top = 2.0 * LINE + 6.0;
    let right = left + width * map.columns.len() as f64;
    let right = right.max(left + name_width(&map.x));
    let right = right + 2.0;
    let bottom = top + CELL.1 * map.rows.len() as f64 + 4.0;
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
                cells(map, row, (left, y, width), out);
            }
        });
    });
    out.element("p", &[("class", &"omitted")], &legend(map));
}

/// The strength of the colour of a number, from 0 to 1.
fn strength(map: &Heatmap, number: f64) -> f64 {
    match map.shades {
        Shades::Ratios => of_ratio(map, number),
        Shades::Values => of_value(map, number),
    }
}

/// The place of a value between the smallest and the largest one that have a colour.
fn of_value(map: &Heatmap, value: f64) -> f64 {
    let rows = map.values.iter().enumerate();
    let all = rows.flat_map(|(row, values)| {
        let places = values.iter().enumerate();
        places.filter_map(move |(column, value)| value.map(|value| ((row, column), value)))
    });
    let drawn = all.filter(|(place, _)| !map.undecided.contains(place));
    let bounds = (f64::INFINITY, f64::NEG_INFINITY);
    let (least, most) = drawn.fold(bounds, |(least, most), (_, value)| {
        (least.min(value), most.max(value))
    });
    ((value - least) / (most - least).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
}

/// The distance of a ratio from 1, equal for a half and for two, as a share of the largest distance.
fn of_ratio(map: &Heatmap, ratio: f64) -> f64 {
    let all = map.values.iter().flatten().flatten();
    let distances = all.map(|ratio| ratio.ln().abs());
    let distances = distances.filter(|distance| distance.is_finite());
    let most = distances.fold(LEAST_FACTOR.ln(), f64::max);
    (ratio.ln().abs() / most).clamp(0.0, 1.0)
}

fn cells(map: &Heatmap, row: usize, (left, y, width): (f64, f64, f64), out: &mut Markup) {
    let (undecided, missing) = match map.shades {
        Shades::Ratios => ("undecided", "not measured"),
        Shades::Values => ("never learned", "no choice"),
    };
    let can_be_drawn =
        |value: &f64| value.is_finite() && (map.shades == Shades::Values || *value > 0.0);
    let values = map.values.get(row);
    let name = map.rows.get(row).map_or("", |name| name);
    for (column, heading) in map.columns.iter().enumerate() {
        let value = values.and_then(|values| values.get(column).copied().flatten());
        let value = value.filter(can_be_drawn);
        let decided = value.filter(|_| !map.undecided.contains(&(row, column)));
        let left = left + width * column as f64;
        let place = [left + 1.0, y + 1.0, left + width - 1.0, y + CELL.1 - 1.0];
        let told = match value {
            Some(0.0) if decided.is_none() => undecided.to_string(),
            Some(value) if decided.is_none() => format!("{}, {undecided}", exact(value)),
            Some(value) => exact(value),
            None => missing.to_string(),
        };
        let told = format!("{name}, {heading}: {told}");
        let class = match decided {
            Some(ratio) if strength(map, ratio) > 0.8 => "middle on-dark",
            Some(_) => "middle",
            None => "middle faint",
        };
        match decided {
            Some(ratio) => {
                let opacity = format!("{:.2}", 0.08 + 0.92 * strength(map, ratio));
                let is_above = map.shades == Shades::Ratios && ratio > 1.0;
                let side = if is_above { "cell above" } else { "cell" };
                out.nest("g", &[("fill-opacity", &opacity)], |out| {
                    area(out, side, place, &told);
                });
            }
            None => area(out, "hole", place, &told),
        }
        let shown = value.map_or("–".to_string(), short);
        let middle = (left + width / 2.0, y + CELL.1 / 2.0 + 4.0);
        text(out, class, middle, &shown);
    }
}

/// The meaning of the numbers and of the colours.
fn legend(map: &Heatmap) -> String {
    let colours = match map.shades {
        Shades::Ratios => "Blue: below 1; orange: above 1; no colour: the rounds do not decide.",
        Shades::Values => "The darker, the larger; 0 without colour: never learned; –: no choice.",
    };
    format!("Numbers: {}. {colours}", map.label)
}
