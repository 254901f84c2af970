//! Writes elements of SVG and HTML, which are always closed and whose text is always escaped.

use std::fmt::{Display, Write};

/// The attributes of an element.
pub type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// A length or position in pixels, written with one decimal.
pub struct Px(pub f64);

impl Display for Px {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1}", self.0)
    }
}

/// Markup that is being written.
#[derive(Default)]
pub struct Markup {
    text: String,
}

impl Markup {
    /// An element around others.
    pub fn nest(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Markup),
    ) {
        self.start(name, attributes);
        self.text.push('>');
        inside(self);
        self.text.extend(["</", name, ">"]);
        if BLOCKS.contains(&name) {
            self.text.push('\n');
        }
    }

    /// An element around text.
    pub fn element(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.nest(name, attributes, |out| out.text(text));
    }

    /// An element without content, such as a line.
    pub fn empty(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }

    /// Text, escaped.
    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.text);
    }

    /// Trusted text of the program itself, such as its style sheet, without escaping.
    pub fn verbatim(&mut self, text: &'static str) {
        self.text.push_str(text);
    }

    /// The whole markup.
    pub fn finish(self) -> String {
        self.text
    }

    fn start(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.text.extend(["<", name]);
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"");
            escape(&value.to_string(), &mut self.text);
            self.text.push('"');
        }
    }
}

/// Elements that are followed by a new line in the file, which does not show on the page.
const BLOCKS: [&str; 13] = [
    "div", "section", "p", "h1", "h2", "h3", "h4", "tr", "li", "svg", "g", "text", "table",
];

/// Appends escaped text. XML allows no control characters except tab and newline, not even escaped.
fn escape(text: &str, to: &mut String) {
    for character in text.chars() {
        match character {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\t' | '\n' => to.push(character),
            '\u{fffe}' | '\u{ffff}' => to.push('\u{fffd}'),
            _ if character.is_control() => to.push('\u{fffd}'),
            _ => to.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut out = Markup::default();
        out.element("b", &[("title", &"\"<'&>\"")], "a<b>&\u{0}\u{1b}c");
        out.empty("line", &[("x1", &Px(1.25)), ("y1", &Px(-0.04))]);
        assert_eq!(
            out.finish(),
            "<b title=\"&quot;&lt;'&amp;&gt;&quot;\">a&lt;b&gt;&amp;\u{fffd}\u{fffd}c</b>\
             <line x1=\"1.2\" y1=\"-0.0\"/>\n"
        );
    }
}
