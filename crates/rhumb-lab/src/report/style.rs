//! One colour and one marker for each index kind on the whole page. The colours are classes of
//! `page.css`: for kinds, the eight colours of Okabe and Ito for the colour-blind and similar ones;
//! for everything else, the muted colours of Tol.

use std::f64::consts::TAU;

use super::markup::{Attributes, Markup, Px};

/// The colour and marker that distinguish a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// The class that sets its colour.
    pub class: &'static str,
    pub shape: Shape,
}

/// The form of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Circle,
    /// The number of corners, and the angle of the first corner from the top, in twelfths of a
    /// turn.
    Polygon(u32, u32),
    /// The number of points.
    Star(u32),
    Plus,
    Cross,
}

/// Names in the papers and on the command line, with their styles.
const KNOWN: [(&[&str], &str, Shape); 17] = [
    (&["fp", "fence"], "k0", Shape::Polygon(4, 0)),
    (&["fp-raw"], "k14", Shape::Polygon(8, 0)),
    (&["plr", "greedy"], "k1", Shape::Circle),
    (&["ft", "fiting-tree"], "k2", Shape::Polygon(3, 0)),
    (&["pgm"], "k3", Shape::Polygon(4, 1)),
    (&["rmi"], "k4", Shape::Polygon(3, 6)),
    (&["rs", "radixspline", "radix-spline"], "k5", Shape::Star(5)),
    (&["plex"], "k6", Shape::Polygon(6, 0)),
    (&["alex"], "k7", Shape::Plus),
    (&["lipp"], "k8", Shape::Cross),
    (&["dili"], "k9", Shape::Polygon(3, 3)),
    (&["lits"], "k10", Shape::Polygon(3, 9)),
    (&["nfl"], "k11", Shape::Polygon(5, 0)),
    (&["auto"], "k12", Shape::Star(4)),
    (&["rss"], "k13", Shape::Star(6)),
    (&["btree"], "k15", Shape::Polygon(5, 6)),
    (&["greedy-plr-plus"], "k16", Shape::Polygon(6, 3)),
];

/// The class of what has no colour of its own: keys of a legend, and published lines that stand for none
/// of our series.
pub const KEY: &str = "key";

/// Styles for all other series, such as stages of a look-up, used in turn.
const OTHERS: [Style; 8] = [
    other("s0", Shape::Circle),
    other("s1", Shape::Polygon(4, 1)),
    other("s2", Shape::Polygon(3, 0)),
    other("s3", Shape::Polygon(4, 0)),
    other("s4", Shape::Polygon(6, 0)),
    other("s5", Shape::Star(5)),
    other("s6", Shape::Cross),
    other("s7", Shape::Plus),
];

const fn other(class: &'static str, shape: Shape) -> Style {
    Style { class, shape }
}

/// Stores that look the same in every chart, whichever of them it has: each has the style of its place among those above.
const STORES: [&str; 8] = [
    "rhumb",
    "doblix",
    "rocksdb",
    "bourbon",
    "tridentkv",
    "rhumb-small",
    "lmdb",
    "rocksdb-like",
];

/// The styles of names, in their order; equal names have equal styles.
pub fn styles(names: &[&str]) -> Vec<Style> {
    let store = |name: &str| STORES.iter().position(|store| *store == name);
    let stores: Vec<usize> = names.iter().filter_map(|name| store(name)).collect();
    let mut free = (0..OTHERS.len())
        .filter(|place| !stores.contains(place))
        .cycle();
    let mut unknown: Vec<(&str, usize)> = Vec::new();
    let mut place_of = |name| {
        let known = unknown.iter().find(|(other, _)| *other == name);
        if let Some(place) = store(name).or(known.map(|(_, place)| *place)) {
            return place;
        }
        let place = free.next().unwrap_or(0);
        unknown.push((name, place));
        place
    };
    names
        .iter()
        .copied()
        .map(|name| kind(name).unwrap_or_else(|| OTHERS[place_of(name)]))
        .collect()
}

/// Whether a name is that of an index kind, which has a style of its own.
pub fn is_kind(name: &str) -> bool {
    kind(name).is_some()
}

/// The style of an index kind: `PGM`, `pgm:boundary=16` and `PGM (mapped)` are one kind.
fn kind(name: &str) -> Option<Style> {
    let word = name.split([' ', ':', '(', ',']).next()?.to_lowercase();
    let known = KNOWN.iter().find(|(names, ..)| names.contains(&&*word));
    known.map(|(_, class, shape)| Style {
        class,
        shape: *shape,
    })
}

/// Draws a marker of about this radius.
pub fn marker(out: &mut Markup, shape: Shape, (x, y): (f64, f64), radius: f64, title: &str) {
    let about = |out: &mut Markup| {
        if !title.is_empty() {
            out.element("title", &[], title);
        }
    };
    if shape == Shape::Circle {
        let attributes: Attributes<'_> = &[("cx", &Px(x)), ("cy", &Px(y)), ("r", &Px(radius))];
        return out.nest("circle", attributes, about);
    }
    let corners = corners(shape).into_iter().map(|(turn, reach)| {
        let (sine, cosine) = (turn * TAU).sin_cos();
        let (x, y) = (x + sine * reach * radius, y - cosine * reach * radius);
        format!("{:.1},{:.1}", x, y)
    });
    let corners: Vec<String> = corners.collect();
    out.nest("polygon", &[("points", &corners.join(" "))], about);
}

/// The corners of a shape: turns from the top, and distances from the middle in radii.
fn corners(shape: Shape) -> Vec<(f64, f64)> {
    let around = |count: u32, first: f64, reach: &dyn Fn(u32) -> f64| {
        let corner = |at: u32| (first + f64::from(at) / f64::from(count), reach(at));
        (0..count).map(corner).collect()
    };
    // The arms of a plus are two thirds of a radius wide.
    let arms = |at: u32| if at % 3 == 1 { 0.6 } else { 1.2 };
    match shape {
        Shape::Circle => Vec::new(),
        Shape::Polygon(4, first) => {
            // A square is turned by an eighth to stand on a side.
            let lean = if first == 0 { 0.125 } else { 0.0 };
            around(4, lean, &|_| 1.3)
        }
        Shape::Polygon(count, first) => around(count, f64::from(first) / 12.0, &|_| 1.25),
        Shape::Star(points) => around(2 * points, 0.0, &|at| if at % 2 == 0 { 1.5 } else { 0.7 }),
        Shape::Plus => cross(0.0, arms),
        Shape::Cross => cross(0.125, arms),
    }
}

fn cross(lean: f64, reach: impl Fn(u32) -> f64) -> Vec<(f64, f64)> {
    let corner = |at: u32| {
        let arm = f64::from(at / 3) / 4.0;
        let side = [-0.045, 0.125, 0.045][at as usize % 3];
        // The second of each three points is the corner between this arm and the next.
        (lean + arm + side, reach(at))
    };
    let mut corners: Vec<(f64, f64)> = (0..12).map(corner).collect();
    corners.sort_by(|a, b| a.0.total_cmp(&b.0));
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_looks_the_same_under_all_its_names() {
        let names = [
            "PGM",
            "pgm:boundary=16",
            "other",
            "PGM (mapped)",
            "more",
            "other",
        ];
        let styles = styles(&names);
        assert_eq!(styles[0], styles[1]);
        assert_eq!(styles[0], styles[3]);
        assert_eq!(styles[2], styles[5]);
        assert_ne!(styles[2], styles[4]);
    }

    #[test]
    fn a_store_looks_the_same_whichever_others_there_are() {
        let all = styles(&["doblix", "bourbon", "more", "rocksdb", "other"]);
        let some = styles(&["doblix", "more", "rocksdb"]);
        assert_eq!([all[0], all[3]], [some[0], some[2]]);
        for (at, style) in all.iter().enumerate() {
            assert!(!all[..at].contains(style));
        }
    }

    #[test]
    fn no_two_kinds_share_a_colour_or_a_marker() {
        for (place, (_, class, shape)) in KNOWN.iter().enumerate() {
            for (_, other_class, other_shape) in &KNOWN[..place] {
                assert!(class != other_class && shape != other_shape);
            }
        }
    }
}
