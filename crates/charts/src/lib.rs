//! Pictures as SVG: [`Bars`] over time with axes, graphs in layers ([`Graph`]), names on a [`Circle`], distributions ([`Histogram`]).
//!
//! Pure: no I/O and no clock. Texts are escaped here; characters that are invisible or control a terminal are the caller's
//! to replace. A picture [`Style`] either carries its own colours, for a file, or leaves them to the page that it is in.

mod bars;
mod circle;
mod graph;
mod histogram;
mod layers;
mod order;
mod place;
mod style;
mod svg;

pub use bars::{Bars, Tick};
pub use circle::Circle;
pub use graph::{Graph, Node, Tone};
pub use histogram::{Distribution, Histogram};
pub use style::Style;
