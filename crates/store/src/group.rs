//! Groups of this system.

use std::fmt;
use std::fs;
use std::path::Path;

use nix::unistd::{self, Gid};

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
        let named = unistd::Group::from_name(name).ok().flatten();
        let group = named.or_else(|| unistd::Group::from_gid(Gid::from_raw(name.parse().ok()?)).ok()?)?;
        Some(Self { name: group.name, id: group.gid.as_raw() })
    }

    /// The group that a team's folder is for, if it is for one.
    pub fn of_folder(folder: &Path) -> Option<Self> {
        let Access::Group(id) = Access::handed_on(&fs::metadata(folder).ok()?) else { return None };
        let named = unistd::Group::from_gid(Gid::from_raw(id)).ok().flatten();
        Some(Self { name: named.map_or_else(|| id.to_string(), |group| group.name), id })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name)
    }
}
