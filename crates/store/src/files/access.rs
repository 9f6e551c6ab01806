//! Who may read what we make: its owner alone, or the group that the folder hands on.
//!
//! A team that is for a group shows by its folder: the set-group-ID bit hands the group on to all that is made in it, and
//! the group may look in. So nothing else has to be remembered, and what other programs make there is the group's, too.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::disk;
use crate::error::{IoContext, StoreError};

/// What a new file is, until its group may read it.
pub(crate) const PRIVATE_FILE: u32 = 0o600;
/// What a new folder is.
pub(crate) const PRIVATE_FOLDER: u32 = 0o700;
const GROUP_FILE: u32 = 0o640;
const GROUP_FOLDER: u32 = 0o2750;
/// Of these bits a group's folder has the first: it hands its group on, lets it look in, and keeps others out.
const HANDS_ON: u32 = 0o2050;
const LOOKED_AT: u32 = 0o2057;
const SET_GROUP_ID: u32 = 0o2000;
/// The folders of a team: its own, the one of all members, and a member's.
const DEEPEST: usize = 3;

/// Who may read a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its owner.
    Owner,
    /// Its owner, and this group.
    Group(u32),
}

impl Access {
    /// Who may read what is made in `folder`. One that another program made in a group's folder hands the group on as
    /// well, whatever else its mode is.
    pub(crate) fn inside(folder: &Path) -> Self {
        for path in folder.ancestors().take(DEEPEST) {
            match fs::metadata(path) {
                Ok(found) if found.mode() & LOOKED_AT == HANDS_ON => return Self::Group(found.gid()),
                Ok(found) if found.mode() & SET_GROUP_ID != 0 => {}
                _ => break,
            }
        }
        Self::Owner
    }

    /// Who may read what is made in this folder, by its own looks.
    pub(crate) fn handed_on(folder: &Metadata) -> Self {
        if folder.mode() & LOOKED_AT == HANDS_ON { Self::Group(folder.gid()) } else { Self::Owner }
    }

    /// Lets the group read a file that was just made for its owner alone. One that cannot be given to the group stays
    /// the owner's: nobody else's group gets it.
    pub(crate) fn give(self, file: &File) -> io::Result<()> {
        let Self::Group(group) = self else { return Ok(()) };
        if file.metadata()?.gid() != group && disk::fchown(file, None, Some(group)).is_err() {
            return Ok(());
        }
        disk::set_file_permissions(file, Permissions::from_mode(GROUP_FILE))
    }

    /// Lets the group look into a folder, and hands it on from there.
    pub(crate) fn give_folder(self, folder: &Path) -> io::Result<()> {
        let Self::Group(group) = self else { return Ok(()) };
        // In this order: a change of the group takes the bit away.
        disk::chown(folder, None, Some(group))?;
        disk::set_permissions(folder, Permissions::from_mode(GROUP_FOLDER))
    }

    /// The same for all that is in a folder. Links are left alone.
    pub(crate) fn give_tree(self, folder: &Path) -> Result<(), StoreError> {
        self.give_folder(folder).doing("give to the group", folder)?;
        for entry in fs::read_dir(folder).doing("list", folder)? {
            let entry = entry.doing("list", folder)?;
            let (path, kind) = (entry.path(), entry.file_type().doing("look at", folder)?);
            if kind.is_dir() {
                self.give_tree(&path)?;
            } else if kind.is_file() {
                disk::open_to_read(&path)
                    .and_then(|file| self.give(&file))
                    .doing("give to the group", &path)?;
            }
        }
        Ok(())
    }

    /// Creates a folder that must not exist yet, in a folder that does.
    pub(crate) fn create_folder(self, folder: &Path) -> io::Result<()> {
        disk::create_dir(PRIVATE_FOLDER, folder)?;
        if self == Self::Owner {
            // Also where the folder above hands its group on.
            return disk::set_permissions(folder, Permissions::from_mode(PRIVATE_FOLDER));
        }
        match self.give_folder(folder) {
            // It was made by somebody who is not in the group: it stays his.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            given => given,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_folder_that_hands_its_group_on_lets_it_read() {
        let folder = tempfile::tempdir().unwrap();
        for (bits, wanted) in
            [(0o700, 0o600), (0o755, 0o600), (0o2700, 0o600), (0o2755, 0o600), (0o2750, 0o640)]
        {
            fs::set_permissions(folder.path(), Permissions::from_mode(bits)).unwrap();
            let path = folder.path().join(format!("{bits:o}"));
            let file = File::create(&path).unwrap();
            file.set_permissions(Permissions::from_mode(PRIVATE_FILE)).unwrap();
            let access = Access::inside(folder.path());
            access.give(&file).unwrap();
            assert_eq!(mode(&path), wanted, "{bits:o}");
            let inner = folder.path().join(format!("{bits:o}.d"));
            access.create_folder(&inner).unwrap();
            assert_eq!(mode(&inner) & 0o777, if wanted == 0o640 { 0o750 } else { 0o700 });
            assert_eq!(Access::inside(&inner), access, "handed on");
        }
        let foreign = folder.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        fs::set_permissions(&foreign, Permissions::from_mode(0o2755)).unwrap();
        assert_eq!(
            Access::inside(&foreign),
            Access::inside(folder.path()),
            "what others make is the group's"
        );
        let own = foreign.join("own");
        Access::Owner.create_folder(&own).unwrap();
        assert_eq!(
            (mode(&own), Access::inside(&own)),
            (0o700, Access::Owner),
            "and what is ours alone is not"
        );
    }
}
