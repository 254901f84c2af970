//! One self-contained HTML page with the papers' figures, measured again. [`html`] draws the plain
//! data of [`model`].
//!
//! `page` draws the page, with `claims` and `tables`. `chart` draws charts alone or side by side; `plot` lays one out,
//! `limits` decides what its axes cover, `scale` maps numbers to positions, `marks` draws bars, lines and
//! points, `legend` and `style` identify the series, `notes` says below it what it does not show.
//! `heatmap` draws the other kind of figure. All of them write through `markup`, which
//! escapes text.

mod chart;
mod claims;
mod heatmap;
mod legend;
mod limits;
mod marks;
mod markup;
pub mod model;
mod notes;
mod number;
mod page;
mod plot;
mod scale;
mod shapes;
mod style;
mod tables;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use page::html;
