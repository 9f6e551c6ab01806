//! Where links may lead when a file is written: the user's own links, to what is the user's own.
//!
//! A user who can place a link in a shared tree could otherwise make us replace any file that we may write.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::StoreError;

const MOST_LINKS: usize = 40;

/// The trees that we write in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The shared one and our state folder. The way to their tops is the user's to choose, with whatever links.
    trees: Arc<Vec<PathBuf>>,
}

/// A path without links.
#[derive(Debug)]
struct Way {
    target: PathBuf,
    /// What of it is there: itself, or the nearest folder above.
    present: PathBuf,
    /// Whose the links were that were followed, if any: the least trusted one counts.
    links: Option<Owner>,
    /// Whether the file itself is one, not only a folder on the way.
    is_linked_file: bool,
}

impl Bounds {
    /// Also in this tree: the shared one, or our own.
    pub(crate) fn with_tree(mut self, tree: &Path) -> Self {
        Arc::make_mut(&mut self.trees).push(tree.to_owned());
        self
    }

    /// The real file behind `path`, which is about to be written: links are followed, also one whose target is yet to be
    /// made, if they may be. The folder is named by its real path.
    pub(crate) fn resolve(&self, path: &Path) -> Result<PathBuf, StoreError> {
        let way = self.follow(path)?;
        match self.objection(&way) {
            None => Ok(way.target),
            Some(why) => Err(StoreError::LinkedAway { link: path.to_owned(), target: way.target, why }),
        }
    }

    /// The same for a file that has to be below `folder`, whatever links are in it.
    pub(crate) fn resolve_within(&self, folder: &Path, path: &Path) -> Result<PathBuf, StoreError> {
        let bounds = self.clone().with_tree(folder);
        let target = bounds.resolve(path)?;
        if target.starts_with(bounds.follow(folder)?.target) {
            return Ok(target);
        }
        let why = "that is outside of the folder that it was meant for";
        Err(StoreError::LinkedAway { link: path.to_owned(), target, why })
    }

    /// Whether files may be written in the folder `path`, which may be behind links or yet to be made.
    pub(crate) fn check_folder(&self, path: &Path) -> Result<(), StoreError> {
        match self.resolve(&path.join("any")) {
            Err(StoreError::LinkedAway { target, why, .. }) => Err(StoreError::LinkedAway {
                link: path.to_owned(),
                target: target.parent().unwrap_or(Path::new("/")).to_owned(),
                why,
            }),
            _ => Ok(()),
        }
    }

    fn objection(&self, way: &Way) -> Option<&'static str> {
        let owner = way.links?;
        let is_in_tree =
            self.trees.iter().any(|tree| tree.canonicalize().is_ok_and(|tree| way.target.starts_with(tree)));
        // Of a file that is no link itself, the folder counts: others may share it with us.
        let found = if way.is_linked_file || way.present != way.target {
            way.present.symlink_metadata()
        } else {
            way.target.parent().unwrap_or(Path::new("/")).symlink_metadata()
        };
        let is_ours = found.is_ok_and(|found| found.uid() == user());
        match owner {
            Owner::Other => Some("a link on the way is not yours"),
            Owner::Root if !is_in_tree => Some("a link on the way is not yours, and leads out of the tree"),
            _ if !is_ours && (way.is_linked_file || !is_in_tree) => Some("that is not yours"),
            _ => None,
        }
    }

    /// Follows every link on the way, one part of the path after the other.
    fn follow(&self, path: &Path) -> Result<Way, StoreError> {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut way =
            Way { target: PathBuf::from("/"), present: PathBuf::new(), links: None, is_linked_file: false };
        let mut ahead = self.set_out(&mut way.target, &absolute);
        let mut is_there = true;
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            if part == ".." {
                way.target.pop();
                continue;
            }
            let next = way.target.join(&part);
            let found = if is_there { next.symlink_metadata().ok() } else { None };
            let Some(link) = found.as_ref().filter(|found| found.is_symlink()) else {
                if is_there && found.is_none() {
                    way.present.clone_from(&way.target);
                    is_there = false;
                }
                way.target = next;
                continue;
            };
            links += 1;
            let Some(to) = fs::read_link(&next).ok().filter(|_| links <= MOST_LINKS) else {
                return Err(StoreError::bad(path, "is a link that leads to itself"));
            };
            way.links = way.links.max(Some(owner(link, &next, &way.target)));
            way.is_linked_file |= ahead.is_empty();
            if to.is_absolute() {
                ahead.extend(self.set_out(&mut way.target, &to));
            } else {
                ahead.extend(parts(&to));
            }
        }
        if is_there {
            way.present.clone_from(&way.target);
        }
        Ok(way)
    }

    /// Sets `from` to where the way along `path` begins, and gives what is ahead, the next part last.
    fn set_out(&self, from: &mut PathBuf, path: &Path) -> Vec<OsString> {
        let trees = self.trees.iter().filter_map(|tree| Some((tree, path.strip_prefix(tree).ok()?)));
        let nearest = trees.min_by_key(|(_, rest)| rest.components().count());
        let top = nearest.and_then(|(tree, rest)| Some((tree.canonicalize().ok()?, rest)));
        let (top, rest) = top.unwrap_or_else(|| (PathBuf::from("/"), path));
        *from = top;
        parts(rest)
    }
}

/// Whose a link is, from the most to the least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    User,
    /// Root, in a folder that only root can write: a part of the system.
    System,
    /// Root, where others can write as well.
    Root,
    /// Another user, or nobody can tell: it changed while we looked at it.
    Other,
}

/// Whose the link at `path` is, if it is still the one that was `seen` before it was read.
fn owner(seen: &Metadata, path: &Path, folder: &Path) -> Owner {
    let same = |now: &Metadata| {
        let key = |of: &Metadata| (of.dev(), of.ino(), of.ctime(), of.ctime_nsec());
        key(now) == key(seen)
    };
    if !path.symlink_metadata().is_ok_and(|now| same(&now)) {
        return Owner::Other;
    }
    match seen.uid() {
        uid if uid == user() => Owner::User,
        0 if folder.symlink_metadata().is_ok_and(|at| at.uid() == 0 && at.mode() & 0o022 == 0) => {
            Owner::System
        }
        0 => Owner::Root,
        _ => Owner::Other,
    }
}

/// The names in a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.rev().map(|part| part.as_os_str().to_owned()).collect()
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, lchown, symlink};

    struct Places {
        _folder: tempfile::TempDir,
        root: PathBuf,
        other: PathBuf,
        bounds: Bounds,
    }

    fn places() -> Places {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let [root, other] = ["root", "other"].map(|name| at.join(name));
        for place in [&root, &other] {
            fs::create_dir_all(place.join("dir")).unwrap();
            fs::write(place.join("file"), "x").unwrap();
        }
        Places { bounds: Bounds::default().with_tree(&root), _folder: folder, root, other }
    }

    impl Places {
        fn link(&self, to: &Path) -> PathBuf {
            let link = self.root.join("link");
            let _ = fs::remove_file(&link);
            symlink(to, &link).unwrap();
            link
        }
    }

    #[test]
    fn own_links_lead_to_what_is_own() {
        let places = places();
        let Places { root, other, bounds, .. } = &places;
        for (to, real) in [
            (root.join("file"), root.join("file")),
            (root.join("dir/new"), root.join("dir/new")),
            (PathBuf::from("file"), root.join("file")),
            (other.join("file"), other.join("file")),
            (other.join("new"), other.join("new")),
            (PathBuf::from("dir/../../other/file"), other.join("file")),
        ] {
            assert_eq!(bounds.resolve(&places.link(&to)).unwrap(), real, "{}", to.display());
        }
        // By way of a folder, also one that is yet to be made.
        for to in [root.join("dir"), other.join("dir"), other.join("none")] {
            let link = places.link(&to);
            assert_eq!(bounds.resolve(&link.join("bob.json")).unwrap(), to.join("bob.json"));
            bounds.check_folder(&link).unwrap();
        }
        assert_eq!(bounds.resolve(&root.join("file")).unwrap(), root.join("file"), "no link at all");
        assert!(bounds.resolve(&places.link(Path::new("link"))).is_err(), "a loop");
    }

    #[test]
    fn what_is_not_the_users_is_refused() {
        let places = places();
        let Places { root, other, bounds, .. } = &places;
        let is_root = user() == 0;
        if !is_root {
            assert!(bounds.resolve(&places.link(Path::new("/etc/passwd"))).is_err());
            return;
        }
        chown(other.join("file"), Some(12_345), None).unwrap();
        chown(other.join("dir"), Some(12_345), None).unwrap();
        for to in [other.join("file"), other.join("dir/new")] {
            let error = bounds.resolve(&places.link(&to)).unwrap_err().to_string();
            assert!(error.contains("root/link") && error.ends_with("that is not yours"), "{error}");
        }
        for to in [other.join("dir"), other.join("dir/none")] {
            let link = places.link(&to);
            assert!(bounds.resolve(&link.join("bob.json")).is_err(), "{}", to.display());
            assert!(bounds.check_folder(&link).is_err(), "{}", to.display());
        }
        // Beside the link is no exception.
        chown(root.join("file"), Some(12_345), None).unwrap();
        assert!(bounds.resolve(&places.link(Path::new("file"))).is_err());
        assert!(bounds.resolve(&root.join("file")).is_ok(), "no link at all");
    }

    #[test]
    fn links_of_others_lead_nowhere() {
        if user() != 0 {
            return;
        }
        let places = places();
        let Places { root, other, bounds, .. } = &places;
        let planted = |to: &Path| {
            let link = places.link(to);
            lchown(&link, Some(12_345), None).unwrap();
            link
        };
        for to in [root.join("file"), root.join("new"), other.join("file"), other.join("new")] {
            let error = bounds.resolve(&planted(&to)).unwrap_err().to_string();
            assert!(error.ends_with("a link on the way is not yours"), "{error}");
        }
        for to in [root.join("dir"), other.join("dir")] {
            assert!(bounds.resolve(&planted(&to).join("bob.json")).is_err(), "{}", to.display());
            assert!(bounds.check_folder(&root.join("link")).is_err(), "{}", to.display());
        }
        // Behind a link of the user's own.
        symlink(other.join("dir"), other.join("onward")).unwrap();
        lchown(other.join("onward"), Some(12_345), None).unwrap();
        assert!(bounds.resolve(&places.link(&other.join("onward"))).is_err());
        assert!(bounds.resolve(&places.link(other).join("onward/bob.json")).is_err());
        // The way to the top of the tree is the user's choice.
        let top = root.with_file_name("top");
        symlink(root, &top).unwrap();
        lchown(&top, Some(12_345), None).unwrap();
        let by_link = Bounds::default().with_tree(&top);
        assert_eq!(by_link.resolve(&top.join("dir/bob.json")).unwrap(), root.join("dir/bob.json"));
        assert!(Bounds::default().resolve(&top.join("dir/bob.json")).is_err());
    }

    #[test]
    fn links_of_root_stay_in_the_tree() {
        let places = places();
        let way = |target: &Path| Way {
            target: target.to_owned(),
            present: target.to_owned(),
            links: Some(Owner::Root),
            is_linked_file: true,
        };
        assert_eq!(places.bounds.objection(&way(&places.root.join("file"))), None);
        assert!(places.bounds.objection(&way(&places.other.join("file"))).is_some());
    }
}
