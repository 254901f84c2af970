//! One self-contained HTML page with the papers' figures, measured again: [`html`] draws what
//! [`model`] holds as plain data.
//!
//! `page` is the page, with `claims` and `tables`; `chart` lays out a chart, whose `scale`s make
//! numbers places, whose `marks` are bars, lines and points, and whose `legend` and `style` say
//! which is which; `heatmap` is the other drawing. All is written through `markup`, which escapes
//! it.

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
