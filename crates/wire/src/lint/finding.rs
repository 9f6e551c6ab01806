//! What a check found, and where.

use serde::Serialize;

use super::rules::{Level, Rule};

/// So many findings of one file are kept; the rest is only counted. A hostile file could have millions.
const KEPT: usize = 1000;

/// A place in a text, as editors count: both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The character in it.
    pub column: u64,
}

impl Default for Place {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

impl Place {
    /// The place behind `bytes`, which begin here.
    #[must_use]
    pub fn after(self, bytes: &[u8]) -> Self {
        let characters = |bytes: &[u8]| bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count() as u64;
        match memchr::memrchr(b'\n', bytes) {
            Some(last) => Self {
                line: self.line + memchr::memchr_iter(b'\n', bytes).count() as u64,
                column: 1 + characters(&bytes[last + 1..]),
            },
            None => Self { line: self.line, column: self.column + characters(bytes) },
        }
    }
}

/// One finding in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Where it is, if it is anywhere in particular.
    pub place: Option<Place>,
    /// Which entry of an inbox, or line of a log, counted from 1.
    pub entry: Option<u64>,
    /// Which value, in the manner of jq: `.members[2].model`.
    pub path: Option<String>,
    /// What is wrong, with the value.
    pub message: String,
}

impl Finding {
    /// A finding about a file as a whole.
    pub fn of_file(rule: Rule, message: impl Into<String>) -> Self {
        Self { rule, place: None, entry: None, path: None, message: message.into() }
    }
}

/// What was found in one file.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    list: Vec<Finding>,
    /// By level, also those that are not kept.
    counts: Counts,
}

/// How many findings there are of each level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Errors.
    pub error: u64,
    /// Warnings.
    pub warning: u64,
    /// Dialects.
    pub dialect: u64,
}

impl Counts {
    /// All of them.
    pub fn sum(&self) -> u64 {
        self.error + self.warning + self.dialect
    }

    fn of(&mut self, level: Level) -> &mut u64 {
        match level {
            Level::Error => &mut self.error,
            Level::Warning => &mut self.warning,
            Level::Dialect => &mut self.dialect,
        }
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.error += other.error;
        self.warning += other.warning;
        self.dialect += other.dialect;
    }
}

impl Findings {
    /// Adds a finding, which is made only if it will be kept.
    pub fn add(&mut self, rule: Rule, make: impl FnOnce() -> Finding) {
        *self.counts.of(rule.level()) += 1;
        // What is common in real files must not crowd out what is wrong.
        let room = if rule.level() == Level::Dialect { KEPT / 2 } else { KEPT };
        if self.list.len() < room {
            self.list.push(make());
        }
    }

    /// Those that were kept, by place.
    pub fn into_list(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|finding| (finding.place, finding.entry));
        self.list
    }

    /// How many there were.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether one of these rules was broken.
    pub fn has_any(&self, rules: &[Rule]) -> bool {
        self.list.iter().any(|finding| rules.contains(&finding.rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_editors_do() {
        let place = Place::default().after("a\né✓".as_bytes());
        assert_eq!((place.line, place.column), (2, 3));
        assert_eq!(place.after("x".as_bytes()).column, 4);
    }

    #[test]
    fn a_flood_is_counted_and_not_kept() {
        let mut findings = Findings::default();
        for _ in 0..3000 {
            findings.add(Rule::NoId, || Finding::of_file(Rule::NoId, ""));
        }
        findings.add(Rule::NotJson, || Finding::of_file(Rule::NotJson, ""));
        assert_eq!((findings.counts().dialect, findings.counts().error), (3000, 1));
        assert!(findings.has_any(&[Rule::NotJson]));
        assert_eq!(findings.into_list().len(), 501);
    }
}
