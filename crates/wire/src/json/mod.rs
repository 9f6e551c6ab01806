//! JSON that survives: values are looked at where they stand, and edits are spliced into the original text.
//!
//! A generic tree (`serde_json::Value`) would change big numbers, `1E2`, escapes and duplicate keys. So a document
//! stays the text it is; [`scan`] finds the spans of elements and members, [`style`] sees how the file is laid out,
//! and [`edit`] makes a [`Patch`]: a list of replacements that leaves every other byte alone.

pub mod check;
pub mod compact;
pub mod edit;
pub mod loose;
pub mod scan;
pub mod split;
pub mod style;

pub use check::{ArrayCheck, Outline};
pub use compact::{Laid, compact};
pub use edit::{Patch, addition, append, remove, remove_member, set_below, set_member};
pub use scan::{Object, elements, integer, span, string};
pub use split::Splitter;
pub use style::Style;
