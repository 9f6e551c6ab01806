//! Examples of every command, in one table: lines for a shell, each of which a test runs.

mod care;
mod run;
mod see;
mod set_up;
mod talk;
mod work;

/// A command, without `atm`, and its examples.
type Examples = (&'static str, &'static [&'static str]);

const TABLES: [&[Examples]; 6] =
    [see::EXAMPLES, talk::EXAMPLES, work::EXAMPLES, run::EXAMPLES, care::EXAMPLES, set_up::EXAMPLES];

/// The examples of a command, which is named without `atm`.
pub(crate) fn of(path: &str) -> Option<&'static [&'static str]> {
    let all = TABLES.iter().flat_map(|table| table.iter());
    all.into_iter().find(|(known, _)| *known == path).map(|(_, lines)| *lines)
}

/// The commands that have examples.
#[cfg(test)]
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    TABLES.iter().flat_map(|table| table.iter()).map(|(path, _)| *path)
}
