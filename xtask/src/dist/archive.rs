//! Archives: a folder with a program and what goes along with it. The same sources make the same bytes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};

use super::{Release, extras};
use crate::repo;

/// Copied as they are, with all that is below them: so that the links in the README lead somewhere.
const DOCUMENTS: [&str; 6] =
    ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs"];

/// The archive of `atm`: program, completions, manual pages, documents, licences.
pub(super) fn of_program(release: &Release) -> Result<PathBuf> {
    let name = release.name("atm");
    let folder = release.work.path().join(&name);
    fill(release, &folder)?;
    pack(release, &name, &folder)
}

/// An archive of a folder, under this name.
pub(super) fn pack(release: &Release, name: &str, folder: &Path) -> Result<PathBuf> {
    let path = release.out.join(format!("{name}.tar.gz"));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    // No name and no time in the header: the same contents are the same bytes.
    let gzip = GzBuilder::new().mtime(0).write(file, Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for entry in files(folder)? {
        let inside = Path::new(name).join(entry.strip_prefix(folder)?);
        append(&mut tar, &entry, &inside, release.time)?;
    }
    tar.into_inner()?.finish()?.sync_all()?;
    Ok(path)
}

/// Puts everything that the archive has into a folder.
fn fill(release: &Release, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    fs::copy(&release.atm, folder.join("atm"))?;
    extras::in_folders(release, folder)?;
    extras::licences(folder)?;
    let root = repo::root()?;
    for name in DOCUMENTS {
        let from = root.join(name);
        for file in if from.is_dir() { files(&from)? } else { vec![from] } {
            let to = folder.join(file.strip_prefix(root)?);
            fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            fs::copy(&file, &to).with_context(|| format!("no {}", file.display()))?;
        }
    }
    Ok(())
}

/// All files below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { all.push(path) }
        }
    }
    all.sort();
    Ok(all)
}

fn append(tar: &mut tar::Builder<impl io::Write>, file: &Path, inside: &Path, time: u64) -> Result<()> {
    let metadata = fs::metadata(file)?;
    let is_program = metadata.permissions().mode() & 0o100 != 0;
    let mut header = tar::Header::new_gnu();
    header.set_size(metadata.len());
    header.set_mode(if is_program { 0o755 } else { 0o644 });
    header.set_mtime(time);
    tar.append_data(&mut header, inside, File::open(file)?)?;
    Ok(())
}
