//! Working trees: which one a path is in, and what the path is called there.
//!
//! A tree is the folder with the nearest `.git` above a path, so that each worktree of a repository, and each repository
//! inside another, is a tree of its own. Folders without git share one, the file system's, in which a folder below another is
//! still the same folder from whichever of them it is named. Links are resolved: two names of a file are one file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::error::ReservationError;
use super::pattern::{Case, Pattern, is_wild};

/// The longest path that is taken.
const LONGEST: usize = 4096;
/// And the deepest.
const DEEPEST: usize = 200;

/// A working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// Its top, without links; the file system's for folders without git.
    pub(crate) top: PathBuf,
    has_git: bool,
}

/// A path in its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) tree: Tree,
    pub(crate) pattern: Pattern,
    /// The path, without links; of a glob, the folder before the first wildcard.
    real: PathBuf,
}

impl Tree {
    /// The tree that a real path is in.
    fn of(real: &Path) -> Self {
        let top = real.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        Self { has_git: top.is_some(), top: top.unwrap_or(Path::new("/")).to_owned() }
    }

    /// Whether two names that differ in case are one file there.
    pub(crate) fn case(&self) -> Case {
        let ignores = if self.has_git {
            let identity =
                |name: &str| fs::metadata(self.top.join(name)).map(|found| (found.dev(), found.ino()));
            matches!((identity(".git"), identity(".GIT")), (Ok(git), Ok(other)) if git == other)
        } else {
            cfg!(target_os = "macos")
        };
        if ignores { Case::Ignored } else { Case::Told }
    }
}

impl Place {
    /// Where a path is that somebody is about to change, seen from `cwd`. `None` if it cannot be told.
    pub(crate) fn of_file(path: &str, cwd: &Path) -> Option<Self> {
        let real = resolve(&cwd.join(path), 0)?;
        Self::below(Tree::of(&real), real, &[], true)
    }

    /// Where a folder is.
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        let real = resolve(folder, 0)?;
        Self::below(Tree::of(&real), real, &[], true)
    }

    /// What somebody in `cwd` means by a path or a glob: it has to be in the tree of `cwd`. A glob that is there as a file
    /// is that file.
    pub(crate) fn parse(text: &str, cwd: &Path) -> Result<Self, ReservationError> {
        let bad = |why| ReservationError::BadPath { path: text.to_owned(), why };
        if text.is_empty() || text.len() > LONGEST || text.contains('\0') {
            return Err(bad("is no path"));
        }
        let own = Self::of_folder(cwd).ok_or_else(|| bad("cannot be found from this folder"))?;
        let whole = cwd.join(text);
        let is_glob = is_wild(text) && whole.symlink_metadata().is_err();
        let is_wild_part = |part: &Component| is_glob && part.as_os_str().to_str().is_some_and(is_wild);
        let parts: Vec<Component> = whole.components().collect();
        let wild = parts.iter().position(is_wild_part).unwrap_or(parts.len());
        let (fixed, rest) = parts.split_at(wild);
        let mut names = Vec::new();
        for part in rest {
            match part {
                Component::Normal(name) => names.extend(name.to_str()),
                Component::CurDir => {}
                _ => return Err(bad("goes up behind a wildcard")),
            }
        }
        let real = resolve(&fixed.iter().collect::<PathBuf>(), 0).ok_or_else(|| bad("cannot be found"))?;
        let tree = Tree::of(&real);
        let is_outside = tree != own.tree || !tree.has_git && !real.starts_with(&own.real);
        let place =
            Self::below(tree, real, &names, !is_glob).ok_or_else(|| bad("is not UTF-8, or too deep"))?;
        if is_outside {
            let tree = if own.tree.has_git { &own.tree.top } else { &own.real };
            return Err(ReservationError::Outside { path: text.to_owned(), tree: tree.clone() });
        }
        Ok(place)
    }

    fn below(tree: Tree, real: PathBuf, more: &[&str], literal: bool) -> Option<Self> {
        let relative = real.strip_prefix(&tree.top).ok()?;
        let mut names = relative.iter().map(|name| name.to_str()).collect::<Option<Vec<_>>>()?;
        names.extend(more);
        let pattern = (names.len() <= DEEPEST).then(|| Pattern::new(&names, literal))?;
        Some(Self { tree, pattern, real })
    }
}

/// A path without links and without `..`, as far as it exists; the rest as it is written.
fn resolve(path: &Path, depth: usize) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let parent = path.parent().filter(|_| depth < LONGEST)?;
    let above = resolve(parent, depth + 1)?;
    match path.components().next_back()? {
        Component::Normal(name) => Some(above.join(name)),
        Component::ParentDir => Some(above.parent().unwrap_or(Path::new("/")).to_owned()),
        _ => Some(above),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for path in ["repo/.git", "repo/src", "repo/.claude/worktrees/x/src", "plain/sub"] {
            fs::create_dir_all(top.join(path)).unwrap();
        }
        // A worktree has a file of that name.
        fs::write(top.join("repo/.claude/worktrees/x/.git"), "gitdir: elsewhere").unwrap();
        (folder, top)
    }

    #[test]
    fn the_nearest_git_is_the_tree() {
        let (_folder, top) = world();
        let found = |path: &str| {
            let place = Place::of_file(path, &top).unwrap();
            (place.tree.top, place.pattern.path)
        };
        assert_eq!(found("repo/src/new.rs"), (top.join("repo"), "src/new.rs".to_owned()));
        assert_eq!(found("repo/src/../src/./a.rs"), (top.join("repo"), "src/a.rs".to_owned()));
        assert_eq!(found("repo/no/such/../a.rs"), (top.join("repo"), "no/a.rs".to_owned()));
        assert_eq!(found("repo"), (top.join("repo"), ".".to_owned()));
        let worktree = top.join("repo/.claude/worktrees/x");
        assert_eq!(found("repo/.claude/worktrees/x/src/a.rs"), (worktree, "src/a.rs".to_owned()));
        assert_eq!(found("plain/a").0, Path::new("/"));
    }

    #[test]
    fn a_link_is_what_it_leads_to() {
        let (_folder, top) = world();
        fs::write(top.join("repo/src/a.rs"), "").unwrap();
        symlink(top.join("repo/src"), top.join("repo/link")).unwrap();
        symlink(top.join("repo/src/a.rs"), top.join("plain/a.rs")).unwrap();
        for path in ["repo/link/a.rs", "plain/a.rs"] {
            let place = Place::of_file(path, &top).unwrap();
            assert_eq!(
                (place.tree.top, place.pattern.path.as_str()),
                (top.join("repo"), "src/a.rs"),
                "{path}"
            );
        }
        let glob = Place::parse("link/*.rs", &top.join("repo")).unwrap();
        assert_eq!(glob.pattern.path, "src/*.rs");
    }

    #[test]
    fn what_is_meant_is_in_the_tree_of_who_asks() {
        let (_folder, top) = world();
        let parse =
            |text: &str, cwd: &str| Place::parse(text, &top.join(cwd)).map(|place| place.pattern.path);
        assert_eq!(parse("a.rs", "repo/src").unwrap(), "src/a.rs");
        assert_eq!(parse("../docs/", "repo/src").unwrap(), "docs");
        assert_eq!(parse(".", "repo").unwrap(), ".");
        assert_eq!(parse("**/*.rs", "repo/src").unwrap(), "src/**/*.rs");
        assert_eq!(parse("./x/./*.rs", "repo").unwrap(), "x/*.rs");
        for (text, cwd) in [
            ("../plain/a", "repo"),
            ("..", "repo"),
            (".claude/worktrees/x/src", "repo"),
            ("../../../src", "repo/.claude/worktrees/x"),
            ("../repo/src", "plain"),
            ("..", "plain/sub"),
        ] {
            let error = parse(text, cwd).unwrap_err();
            assert!(matches!(error, ReservationError::Outside { .. }), "{text} {cwd}: {error}");
        }
        for text in ["", "a/*/../b", "a\0b"] {
            assert!(matches!(parse(text, "repo"), Err(ReservationError::BadPath { .. })), "{text:?}");
        }
        fs::write(top.join("repo/odd*name"), "").unwrap();
        let odd = Place::parse("odd*name", &top.join("repo")).unwrap().pattern;
        assert!(odd.literal, "a file of that name is there");
    }
}
