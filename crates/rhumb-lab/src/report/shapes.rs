//! Lines, boxes and text of a drawing, in the sizes of `page.css`.

use super::markup::{Attributes, Markup, Px};

/// Height of a line of text.
pub const LINE: f64 = 17.0;

/// An upper estimate of the mean width of a letter.
const LETTER: f64 = 6.6;

/// A part of a drawing: left, top, right, bottom.
pub type Area = [f64; 4];

/// The estimated width of a text of one line.
pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// The estimated width of the name of an axis, which is bold.
pub fn name_width(name: &str) -> f64 {
    1.15 * text_width(name)
}

/// A straight line.
pub fn line(out: &mut Markup, class: &str, from: (f64, f64), to: (f64, f64)) {
    let (x1, y1, x2, y2) = (Px(from.0), Px(from.1), Px(to.0), Px(to.1));
    out.empty(
        "line",
        &[
            ("class", &class),
            ("x1", &x1),
            ("y1", &y1),
            ("x2", &x2),
            ("y2", &y2),
        ],
    );
}

/// A line of text; its class determines which of its ends is at the position.
pub fn text(out: &mut Markup, class: &str, (x, y): (f64, f64), text: &str) {
    if !text.is_empty() {
        out.element(
            "text",
            &[("class", &class), ("x", &Px(x)), ("y", &Px(y))],
            text,
        );
    }
}

/// A filled area with a tooltip; an empty tooltip is omitted.
pub fn area(out: &mut Markup, class: &str, [left, top, right, bottom]: Area, title: &str) {
    let (x, y, width, height) = (Px(left), Px(top), Px(right - left), Px(bottom - top));
    let size: Attributes<'_> = &[
        ("class", &class),
        ("x", &x),
        ("y", &y),
        ("width", &width),
        ("height", &height),
    ];
    out.nest("rect", size, |out| {
        if !title.is_empty() {
            out.element("title", &[], title);
        }
    });
}
