//! Groups of this system.

use std::fmt;
use std::fs;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use crate::disk;
use crate::files::Access;

/// A group of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: u32,
}

impl Group {
    /// The group of that name, or of that number.
    pub fn find(name: &str) -> Option<Self> {
        look_up(name)
    }

    /// The group that a team's folder is for, if it is for one.
    pub fn of_folder(folder: &Path) -> Option<Self> {
        let Access::Group(id) = Access::handed_on(&fs::metadata(folder).ok()?) else { return None };
        let named = look_up(&id.to_string()).filter(|group| group.id == id);
        Some(Self { name: named.map_or_else(|| id.to_string(), |group| group.name), id })
    }
}

/// The group of that name, else of that number. Not by the C library: linked statically, it would load libraries of the very
/// version that it was linked with, which another machine does not have.
#[cfg(target_os = "linux")]
fn look_up(key: &str) -> Option<Group> {
    let local = disk::read_to_string(Path::new("/etc/group")).ok();
    let found = local.and_then(|groups| find_in(&groups, key));
    // Groups of a directory service.
    found.or_else(|| {
        let output = Command::new("getent").args(["group", "--", key]).stderr(Stdio::null()).output().ok()?;
        find_in(&String::from_utf8(output.stdout).ok()?, key)
    })
}

/// Of lines with a name, a password, a number and members.
#[cfg(target_os = "linux")]
fn find_in(lines: &str, key: &str) -> Option<Group> {
    let read = |line: &str| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        Some(Group { name: name.to_owned(), id: number.parse().ok()? })
    };
    let groups = || lines.lines().filter_map(read);
    let number = || key.parse().ok();
    groups().find(|group| group.name == key).or_else(|| groups().find(|group| Some(group.id) == number()))
}

#[cfg(not(target_os = "linux"))]
fn look_up(key: &str) -> Option<Group> {
    use nix::unistd::{self, Gid};

    let named = unistd::Group::from_name(key).ok().flatten();
    let group = named.or_else(|| unistd::Group::from_gid(Gid::from_raw(key.parse().ok()?)).ok()?)?;
    Some(Group { name: group.name, id: group.gid.as_raw() })
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_name_first_and_by_its_number_then() {
        let lines = "root:x:0:\n\nodd\n7:x:8:\nseven:x:7:ann,bob\n";
        let found = |key: &str| find_in(lines, key).map(|group| (group.name, group.id));
        assert_eq!(found("seven"), Some(("seven".to_owned(), 7)));
        assert_eq!(found("7"), Some(("7".to_owned(), 8)));
        assert_eq!(found("0"), Some(("root".to_owned(), 0)));
        assert_eq!((found("odd"), found(""), found("9")), (None, None, None));
    }

    #[test]
    fn this_systems_groups_are_found() {
        assert_eq!(Group::find("root").map(|group| group.id), Some(0));
        assert_eq!(Group::find("0").map(|group| group.name).as_deref(), Some("root"));
        assert_eq!(Group::find("no such group: at all"), None);
        assert_eq!(Group::find("--help"), None);
    }
}
