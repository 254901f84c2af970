//! What a drawing does not show by itself, in words below it.

use super::chart::{Drawn, axis_of};
use super::marks::place;
use super::markup::Markup;
use super::model::Point;
use super::number::exact;
use super::plot::Plot;
use super::scale::Misfit;

/// An error bar is marked if its ends differ by more than this share of the number.
const WIDE: f64 = 0.3;

/// Whether the rounds of a number differ so much that it says little.
pub fn is_noisy(point: &Point) -> bool {
    let wide = |(low, high): (f64, f64)| high - low > WIDE * point.y.abs();
    point.spread.is_some_and(wide)
}

/// A number beyond the end of an axis.
struct Cut {
    /// The series.
    name: String,
    at: String,
    number: String,
}

/// Remarks on one or more drawings.
#[derive(Default)]
pub struct Notes {
    misfits: Vec<Misfit>,
    cut: Vec<Cut>,
    noisy: usize,
    sources: Vec<String>,
}

impl Notes {
    /// Adds a point that cannot be drawn.
    pub fn misfit(&mut self, misfit: Misfit) {
        self.misfits.push(misfit);
    }

    /// Adds the remarks on a drawing.
    pub fn add(&mut self, plot: &Plot<'_>) {
        for drawn in &plot.series {
            let source = drawn.series.published.as_ref();
            let new = source.filter(|source| !self.sources.contains(source));
            self.sources.extend(new.cloned());
            for point in &drawn.points {
                if plot.cuts(drawn, point) || plot.cuts_along(point) {
                    self.cut.push(cut(plot, drawn, point));
                } else if is_noisy(point) {
                    self.noisy += 1;
                }
            }
        }
    }

    /// Writes them as paragraphs.
    pub fn draw(&self, out: &mut Markup) {
        let mut tell = |text: String| out.element("p", &[("class", &"omitted")], &text);
        if let Some(text) = omitted(&self.misfits) {
            tell(text);
        }
        if !self.cut.is_empty() {
            tell(format!(
                "Beyond the end of an axis (▲): {}.",
                cut_text(&self.cut)
            ));
        }
        if self.noisy > 0 {
            tell(format!(
                "Thick error bars: numbers whose rounds differ by more than 30 % ({} of those above).",
                self.noisy
            ));
        }
        for source in &self.sources {
            tell(format!("Published (hollow, dashed): {source}"));
        }
    }
}

fn cut(plot: &Plot<'_>, drawn: &Drawn<'_>, point: &Point) -> Cut {
    let chart = plot.chart;
    let whose = drawn.series.published.as_ref();
    let whose = whose.map_or("", |_| ", published");
    let name = format!("{}{whose}", drawn.series.name);
    if plot.cuts_along(point) {
        return Cut {
            at: String::new(),
            number: format!("{} {}", chart.x.label, exact(point.x)),
            name,
        };
    }
    let unit = &axis_of(chart, drawn.series).unit;
    Cut {
        at: match point.label.as_str() {
            "" => place(&chart.x.scale, point.x),
            label => label.to_string(),
        },
        number: format!("{} {unit}", exact(point.y)).trim_end().to_string(),
        name,
    }
}

/// `rmi at 128: 83.2 us`; the place is not told where it is the name, or the number is the same
/// everywhere.
fn cut_text(cut: &[Cut]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for one in cut {
        let same = |other: &&Cut| other.name == one.name && other.number == one.number;
        let at = match cut.iter().filter(same).count() {
            1 if !one.name.starts_with(&one.at) => format!(" at {}", one.at),
            _ => String::new(),
        };
        let text = format!("{}{at}: {}", one.name, one.number);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join("; ")
}

fn omitted(misfits: &[Misfit]) -> Option<String> {
    let reasons = [
        (Misfit::NotFinite, "not finite"),
        (Misfit::NotPositive, "not above 0 on a logarithmic axis"),
        (Misfit::NoCategory, "without a category"),
    ];
    let counted = reasons.iter().filter_map(|(misfit, reason)| {
        let count = misfits.iter().filter(|other| *other == misfit).count();
        (count > 0).then(|| format!("{count} {reason}"))
    });
    let counted: Vec<String> = counted.collect();
    (!counted.is_empty()).then(|| format!("Points not drawn: {}.", counted.join(", ")))
}
