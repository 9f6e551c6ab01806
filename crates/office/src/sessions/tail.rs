//! Folders as people call them: by their last parts, as few as tell one from the others.

use std::ffi::OsStr;
use std::path::Path;

/// Whether a folder ends with these parts, which are separated by slashes.
pub(super) fn ends_with(folder: &Path, tail: &str) -> bool {
    let mut parts = folder.iter().rev();
    let mut wanted = tail.split('/').rev().filter(|part| !part.is_empty()).peekable();
    wanted.peek().is_some() && wanted.all(|part| parts.next() == Some(OsStr::new(part)))
}

/// The shortest tail of a folder that no other of `folders` ends with, and that is free to be its name; all of it, if there is none.
pub(super) fn shortest(folder: &Path, folders: &[&Path], is_free: impl Fn(&str) -> bool) -> String {
    let parts: Vec<&OsStr> = folder.iter().filter(|part| *part != "/").collect();
    let tail = |count: usize| {
        let last: Vec<_> = parts[parts.len() - count..].iter().map(|part| part.to_string_lossy()).collect();
        last.join("/")
    };
    let is_unique = |tail: &String| {
        let others = folders.iter().filter(|other| **other != folder);
        !others.into_iter().any(|other| ends_with(other, tail)) && is_free(tail)
    };
    (1..=parts.len()).map(tail).find(is_unique).unwrap_or_else(|| folder.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_called_by_as_few_of_its_last_parts_as_tell_it_from_others() {
        let all = ["/home/me/shop", "/home/me/web/shop", "/srv/web/shop", "/home/me/api", "/home/me", "/"];
        let folders: Vec<&Path> = all.iter().map(Path::new).collect();
        let called: Vec<String> = folders.iter().map(|folder| shortest(folder, &folders, |_| true)).collect();
        assert_eq!(
            called,
            [
                "home/me/shop".replace("home/", ""),
                "me/web/shop".into(),
                "srv/web/shop".into(),
                "api".into(),
                "me".into(),
                "/".into()
            ]
        );
        for (folder, tail, expected) in [
            ("/home/me/shop", "shop", true),
            ("/home/me/shop", "me/shop", true),
            ("/home/me/shop", "hop", false),
            ("/home/me/shop", "home/shop", false),
            ("/home/me/shop", "", false),
            ("/home/me/shop", "/", false),
            ("/shop", "a/b/shop", false),
        ] {
            assert_eq!(ends_with(Path::new(folder), tail), expected, "{folder} {tail}");
        }
    }
}
