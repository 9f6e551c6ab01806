//! Finding a program as an `exec` would, so that a mistyped one is refused and not started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file that `program` names: by its path, or in one of the folders of `path`.
pub fn find(program: &str, cwd: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    let can_run = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.is_empty() {
        return None;
    }
    if program.contains('/') {
        return Some(cwd.join(program)).filter(can_run);
    }
    // Without a list of folders there is nowhere to look: let tmux find it.
    let Some(path) = path else { return Some(PathBuf::from(program)) };
    std::env::split_paths(path).map(|folder| cwd.join(folder).join(program)).find(can_run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_path_and_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("tool");
        fs::write(&tool, "").unwrap();
        let path = Some(folder.path().as_os_str());
        assert_eq!(find("tool", Path::new("/"), path), None, "it cannot be run");
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("tool", Path::new("/"), path), Some(tool.clone()));
        assert_eq!(find("./tool", folder.path(), None), Some(folder.path().join("./tool")));
        assert_eq!(find("./tool", Path::new("/"), path), None);
        assert_eq!(find("toll", Path::new("/"), path), None);
        assert_eq!(find("", Path::new("/"), path), None);
    }
}
