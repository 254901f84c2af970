//! What is picked, which versions survive, and what can be read afterwards.

mod background;
mod draining;
mod fixture;
mod ingest;
mod pick;
mod place;
mod retain;
mod shapes;
mod store;
mod stretches;
mod tier;
mod together;
