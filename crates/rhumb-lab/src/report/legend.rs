//! The legend of a chart: colours and markers of its series.

use super::chart::Drawn;
use super::markup::{Markup, Px};
use super::model::{Chart, Scale};
use super::shapes::{LINE, area, text, text_width};
use super::style::{KEY, Shape, Style, marker};

/// The names of the series of a chart; published series have entries of their own.
pub struct Legend {
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    style: Style,
    /// Whether it is drawn hollow and dashed.
    published: bool,
    bar: bool,
    line: bool,
}

impl Legend {
    /// The names of the series; not those that stand along the axis or above it.
    pub fn of(chart: &Chart, all: &[Drawn<'_>]) -> Legend {
        let named = |name: &String| match &chart.x.scale {
            _ if chart.title == *name => true,
            Scale::Category(names) => names.contains(name),
            _ => false,
        };
        let published = |drawn: &Drawn<'_>| drawn.series.published.is_some();
        let mut entries: Vec<Entry> = Vec::new();
        for drawn in all.iter().filter(|drawn| !named(&drawn.series.name)) {
            let (bar, line) = (drawn.is_bar(), !drawn.is_bar());
            let name = match published(drawn) {
                true => format!("{}, published", drawn.series.name),
                false => drawn.series.name.clone(),
            };
            match entries.iter_mut().find(|entry| entry.name == name) {
                Some(entry) => {
                    entry.bar |= bar;
                    entry.line |= line;
                }
                None => entries.push(Entry {
                    name,
                    style: drawn.style,
                    published: published(drawn),
                    bar,
                    line,
                }),
            }
        }
        if all
            .iter()
            .any(|drawn| named(&drawn.series.name) && published(drawn))
        {
            entries.extend([false, true].map(|published| Entry::key(all, published)));
        }
        Legend { entries }
    }

    /// The height of the legend for a width.
    pub fn height(&self, width: f64) -> f64 {
        let last = self.places(width).last().map_or(0.0, |(_, y)| y + LINE);
        match self.entries.is_empty() {
            true => 0.0,
            false => last + 6.0,
        }
    }

    /// The positions of the entries, in lines that are filled as far as possible.
    fn places(&self, width: f64) -> Vec<(f64, f64)> {
        let (mut x, mut y) = (2.0, 0.0);
        let mut places = Vec::new();
        for entry in &self.entries {
            if x > 2.0 && x + entry.width() > width {
                (x, y) = (2.0, y + LINE);
            }
            places.push((x, y));
            x += entry.width() + 14.0;
        }
        places
    }

    pub fn draw(&self, width: f64, out: &mut Markup) {
        for (entry, (x, y)) in self.entries.iter().zip(self.places(width)) {
            entry.draw((x, y + LINE / 2.0), out);
        }
    }
}

impl Entry {
    /// An entry that explains filled or hollow marks.
    fn key(all: &[Drawn<'_>], published: bool) -> Entry {
        let name = if published { "published" } else { "ours" };
        Entry {
            name: name.to_string(),
            style: Style {
                class: KEY,
                shape: Shape::Circle,
            },
            published,
            bar: all.iter().any(Drawn::is_bar),
            line: !all.iter().all(Drawn::is_bar),
        }
    }

    fn sign(&self) -> f64 {
        16.0 * f64::from(self.bar) + 26.0 * f64::from(self.line)
    }

    fn width(&self) -> f64 {
        self.sign() + text_width(&self.name)
    }

    fn draw(&self, (x, y): (f64, f64), out: &mut Markup) {
        let whose = if self.published { "published" } else { "ours" };
        let class = format!("{} {whose}", self.style.class);
        out.nest("g", &[("class", &class)], |out| {
            let mut x = x;
            if self.bar {
                area(out, "bar", [x, y - 5.0, x + 11.0, y + 5.0], "");
                x += 16.0;
            }
            if self.line {
                let ends = format!("{},{} {},{}", Px(x), Px(y), Px(x + 20.0), Px(y));
                out.empty("polyline", &[("points", &ends)]);
                marker(out, self.style.shape, (x + 10.0, y), 4.0, "");
            }
        });
        text(out, "start", (x + self.sign(), y + 4.0), &self.name);
    }
}
