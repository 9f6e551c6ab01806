//! Where links may lead when a file is written: to what is the user's own, in their own places.
//!
//! Whoever can place a link in a tree that several share could otherwise have us replace any file that we may write.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::resolve;
use crate::error::StoreError;

/// The places that links may lead into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    places: Arc<Places>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Places {
    /// The shared tree and our state folder.
    trees: Vec<PathBuf>,
    home: Option<PathBuf>,
}

impl Bounds {
    /// Also into this tree: the shared one, or our own.
    pub(crate) fn with_tree(mut self, tree: &Path) -> Self {
        Arc::make_mut(&mut self.places).trees.push(tree.to_owned());
        self
    }

    /// Also into the user's home folder, to what the user owns.
    pub(crate) fn with_home(mut self, home: &Path) -> Self {
        Arc::make_mut(&mut self.places).home = Some(home.to_owned());
        self
    }

    /// The real file behind `path`, which is about to be written: links are followed, also one whose target is yet to be
    /// made, if they may be. The folder is named by its real path.
    pub(crate) fn resolve(&self, path: &Path) -> Result<PathBuf, StoreError> {
        let target = resolve(path)?;
        let folder = target.parent().unwrap_or(Path::new("/"));
        // A folder that is not there is an error of whoever wants to write into it.
        let Ok(real) = folder.canonicalize() else { return Ok(target) };
        let is_link = target != path;
        if !is_link && real == folder {
            return Ok(target);
        }
        let owner = if is_link { target.metadata().or_else(|_| real.metadata()) } else { real.metadata() };
        let is_ours = owner.is_ok_and(|found| is_own(&found));
        let is_in = |place: &PathBuf| place.canonicalize().is_ok_and(|place| real.starts_with(place));
        let is_in_tree = self.places.trees.iter().any(is_in);
        let is_allowed = match (is_in_tree, is_link) {
            // A folder of a tree that somebody else shares with us.
            (true, false) => true,
            (true, true) => is_ours,
            (false, _) => is_ours && self.places.home.iter().any(is_in) || is_link && is_beside(path, &real),
        };
        let target = real.join(target.file_name().unwrap_or_default());
        if is_allowed {
            return Ok(target);
        }
        Err(StoreError::LinkedAway { link: path.to_owned(), target })
    }

    /// Whether files may be written in the folder `path`, which may be behind links.
    pub(crate) fn check_folder(&self, path: &Path) -> Result<(), StoreError> {
        match self.resolve(&path.join("any")) {
            Err(StoreError::LinkedAway { target, .. }) => Err(StoreError::LinkedAway {
                link: path.to_owned(),
                target: target.parent().unwrap_or(Path::new("/")).to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// Whether the folder `real` is the one that the link `path` is in: then it leads nowhere else.
fn is_beside(path: &Path, real: &Path) -> bool {
    path.parent().and_then(|folder| fs::canonicalize(folder).ok()).is_some_and(|folder| folder == real)
}

fn is_own(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn links_lead_to_the_users_own_places_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let [root, home, other] = ["root", "home", "other"].map(|name| folder.join(name));
        for place in [&root, &home, &other] {
            fs::create_dir_all(place.join("dir")).unwrap();
            fs::write(place.join("file"), "x").unwrap();
        }
        let bounds = Bounds::default().with_tree(&root).with_home(&home);
        let link = |to: &Path| {
            let link = root.join("link");
            let _ = fs::remove_file(&link);
            symlink(to, &link).unwrap();
            link
        };
        for (to, is_allowed) in [
            (root.join("file"), true),
            (root.join("dir/new"), true),
            (PathBuf::from("file"), true),
            (home.join("file"), true),
            (home.join("new"), true),
            (other.join("file"), false),
            (other.join("new"), false),
            (home.join("../other/file"), false),
            (PathBuf::from("../other/file"), false),
            (PathBuf::from("/etc/passwd"), false),
        ] {
            let resolved = bounds.resolve(&link(&to));
            assert_eq!(resolved.is_ok(), is_allowed, "{}: {resolved:?}", to.display());
        }
        // By way of a folder.
        for (to, is_allowed) in
            [(root.join("dir"), true), (home.join("dir"), true), (other.join("dir"), false)]
        {
            let inside = link(&to).join("bob.json");
            assert_eq!(bounds.resolve(&inside).is_ok(), is_allowed, "{}", to.display());
        }
        // A link to a link.
        symlink(other.join("file"), home.join("onward")).unwrap();
        let error = bounds.resolve(&link(&home.join("onward"))).unwrap_err().to_string();
        assert!(error.contains("root/link") && error.contains("other/file"), "{error}");
        // What is somebody else's, where we may give files away.
        if chown(home.join("file"), Some(12_345), None).is_ok() {
            assert!(bounds.resolve(&link(&home.join("file"))).is_err());
        }
        assert_eq!(bounds.resolve(&root.join("file")).unwrap(), root.join("file"), "no link at all");
    }
}
