//! One self-contained HTML page with the papers' figures, measured again. [`html`] draws the plain
//! data of [`model`].
//!
//! `page` draws the page, with `claims` and `tables`. `chart` lays out a chart; `scale` maps
//! numbers to positions, `marks` draws bars, lines and points, `legend` and `style` identify the
//! series. `heatmap` draws the other kind of figure. All of them write through `markup`, which
//! escapes text.

mod chart;
mod claims;
mod heatmap;
mod legend;
mod marks;
mod markup;
pub mod model;
mod number;
mod page;
mod scale;
mod shapes;
mod style;
mod tables;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use page::html;
