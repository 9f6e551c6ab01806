//! What a reservation covers: a path of a working tree, or a glob of such paths.
//!
//! `*` stands for any part of a name, `?` for one character of it, `**` for any number of folders. Brackets and braces
//! stand for themselves: real paths have them (`app/[id]/page.tsx`). What covers a folder covers everything below it.

use serde::{Deserialize, Serialize};

/// The tree itself.
const WHOLE: &str = ".";

/// Whether the file system tells `A` from `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Told,
    Ignored,
}

/// A path of a tree, or a glob. Its form is part of the file's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pattern {
    /// Relative to the tree, names with `/` between them; `.` is the tree itself.
    pub(crate) path: String,
    /// Whether `*` and `?` stand for themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) literal: bool,
}

enum Segment {
    /// `**`
    Folders,
    Name(Vec<Token>),
}

enum Token {
    /// `*`
    Run,
    /// `?`
    Any,
    One(char),
}

/// Whether a name has a wildcard.
pub(crate) fn is_wild(name: &str) -> bool {
    name.contains(['*', '?'])
}

impl Pattern {
    pub(crate) fn new(names: &[&str], literal: bool) -> Self {
        let path = if names.is_empty() { WHOLE.to_owned() } else { names.join("/") };
        // What has no wildcard is the same either way, and equal patterns are to look equal.
        let literal = literal && is_wild(&path);
        Self { path, literal }
    }

    /// Whether it covers a path of the tree, relative to it: the path itself, or a folder that it is in.
    pub(crate) fn covers(&self, path: &Self, case: Case) -> bool {
        meet(&below(self), &path.segments(), &is_folders, &|a, b| names_meet(a, b, case))
    }

    /// Whether there can be a path that both cover.
    pub(crate) fn overlaps(&self, other: &Self, case: Case) -> bool {
        meet(&below(self), &below(other), &is_folders, &|a, b| names_meet(a, b, case))
    }

    /// Whether it is this path, or below it, as it is written.
    pub(crate) fn is_within(&self, path: &Self, case: Case) -> bool {
        if path.path == WHOLE {
            return true;
        }
        let (ours, theirs) = match case {
            Case::Told => (self.path.clone(), path.path.clone()),
            Case::Ignored => (self.path.to_lowercase(), path.path.to_lowercase()),
        };
        ours.strip_prefix(&theirs).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn segments(&self) -> Vec<Segment> {
        let names = self.path.split('/').filter(|name| !name.is_empty() && *name != WHOLE);
        let segment = |name: &str| match name {
            "**" if !self.literal => Segment::Folders,
            name => Segment::Name(name.chars().map(|c| self.token(c)).collect()),
        };
        names.map(segment).collect()
    }

    fn token(&self, c: char) -> Token {
        match c {
            '*' if !self.literal => Token::Run,
            '?' if !self.literal => Token::Any,
            c => Token::One(c),
        }
    }
}

/// With everything below it.
fn below(pattern: &Pattern) -> Vec<Segment> {
    let mut segments = pattern.segments();
    segments.push(Segment::Folders);
    segments
}

fn is_folders(segment: &Segment) -> bool {
    matches!(segment, Segment::Folders)
}

fn names_meet(a: &Segment, b: &Segment, case: Case) -> bool {
    let (Segment::Name(a), Segment::Name(b)) = (a, b) else { return false };
    let same = |a: &Token, b: &Token| match (a, b) {
        (Token::One(a), Token::One(b)) => {
            a == b || case == Case::Ignored && a.to_lowercase().eq(b.to_lowercase())
        }
        _ => true,
    };
    meet(a, b, &|token| matches!(token, Token::Run), &same)
}

/// Whether two sequences have a common reading, where a run stands for any number of elements. Decided from the ends, so
/// that it costs no more than the product of their lengths.
fn meet<T>(a: &[T], b: &[T], is_run: &impl Fn(&T) -> bool, same: &impl Fn(&T, &T) -> bool) -> bool {
    // What is left of `a` from this place, against each rest of `b`.
    let mut after: Vec<bool> = Vec::new();
    for i in (0..=a.len()).rev() {
        let mut here = vec![false; b.len() + 1];
        for j in (0..=b.len()).rev() {
            let (x, y) = (a.get(i), b.get(j));
            let without_x = || after.get(j).copied().unwrap_or(false);
            here[j] = match (x, y) {
                (None, None) => true,
                (Some(x), _) if is_run(x) => without_x() || y.is_some() && here[j + 1],
                (_, Some(y)) if is_run(y) => here[j + 1] || x.is_some() && without_x(),
                (Some(x), Some(y)) => same(x, y) && after.get(j + 1).copied().unwrap_or(false),
                _ => false,
            };
        }
        after = here;
    }
    after.first().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(path: &str) -> Pattern {
        Pattern { path: path.to_owned(), literal: false }
    }

    #[test]
    fn a_path_is_covered_by_itself_its_folders_and_their_globs() {
        for (pattern, path, covered) in [
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", "src/a.rs.bak", false),
            ("src/a.rs", "src", false),
            ("src", "src/a.rs", true),
            ("src", "src/deep/er/a.rs", true),
            ("src", "srcs/a.rs", false),
            ("src", "lib/src/a.rs", false),
            (".", "anything/at/all", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/*", "src/deep/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/x/y/a.rs", true),
            ("src/**/*.rs", "src/x/y/a.toml", false),
            ("**/mod.rs", "mod.rs", true),
            ("**/mod.rs", "a/b/mod.rs", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("*", ".hidden", true),
            ("app/[id]/page.tsx", "app/[id]/page.tsx", true),
            ("app/[id]/page.tsx", "app/i/page.tsx", false),
            ("{a,b}.rs", "a.rs", false),
            ("ä*", "äß", true),
        ] {
            assert_eq!(glob(pattern).covers(&glob(path), Case::Told), covered, "{pattern} {path}");
        }
    }

    #[test]
    fn two_overlap_if_one_path_could_be_both() {
        for (a, b, overlap) in [
            ("src", "src/a.rs", true),
            ("src/a.rs", "src/b.rs", false),
            ("src/*.rs", "src/a*", true),
            ("src/*.rs", "src/*.toml", false),
            ("src/**", "docs/**", false),
            ("**/*.rs", "src", true),
            ("*/a", "b/*", true),
            ("a*", "*b", true),
            ("a*", "b*", false),
            (".", "x", true),
            ("**/x/**/y", "a/**/x/y", true),
        ] {
            for (a, b) in [(a, b), (b, a)] {
                assert_eq!(glob(a).overlaps(&glob(b), Case::Told), overlap, "{a} {b}");
            }
        }
    }

    #[test]
    fn case_and_stars_mean_what_the_file_system_and_the_user_say() {
        assert!(!glob("Src/A.rs").covers(&glob("src/a.rs"), Case::Told));
        assert!(glob("Src/A.rs").covers(&glob("src/a.rs"), Case::Ignored));
        assert!(glob("SRC/*").overlaps(&glob("src/x"), Case::Ignored));
        let literal = Pattern::new(&["a*"], true);
        assert!(literal.literal && literal.covers(&Pattern::new(&["a*"], true), Case::Told));
        assert!(!literal.covers(&glob("ab"), Case::Told));
        assert!(glob("a*").overlaps(&literal, Case::Told));
        assert_eq!(Pattern::new(&["ab"], true), Pattern::new(&["ab"], false));
    }

    #[test]
    fn what_is_within_a_path_is_told_by_its_words() {
        for (ours, theirs, within) in [
            ("src/a.rs", "src", true),
            ("src", "src", true),
            ("src/*.rs", "src", true),
            ("src", "src/a.rs", false),
            ("srcs", "src", false),
            ("x", ".", true),
        ] {
            assert_eq!(glob(ours).is_within(&glob(theirs), Case::Told), within, "{ours} {theirs}");
        }
        assert!(glob("SRC/a").is_within(&glob("src"), Case::Ignored));
    }

    /// A pattern of many runs took exponential time where each was tried in turn.
    #[test]
    fn many_runs_are_no_work() {
        let (runs, folders) = ("*a".repeat(200), "**/a/".repeat(100));
        assert!(!glob(&runs).overlaps(&glob(&"b".repeat(400)), Case::Told));
        assert!(!glob(&format!("{folders}x")).covers(&glob(&"a/".repeat(150)), Case::Told));
    }
}
