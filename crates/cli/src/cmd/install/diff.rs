//! What changes in a file, line by line.

use similar::TextDiff;

/// The difference, as `diff -u` has it.
pub(crate) fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |text: Option<&str>| if text.is_some() { path } else { "/dev/null" };
    TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .context_radius(2)
        .header(name(before), name(after))
        .to_string()
}
