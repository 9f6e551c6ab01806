//! The archive: program, completions, manual pages, licences.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};

use super::{Release, save, text};
use crate::repo;

/// The shells that completions are made for, and what their files are called.
const SHELLS: [(&str, &str); 3] = [("bash", "atm.bash"), ("zsh", "_atm"), ("fish", "atm.fish")];
/// Copied as they are.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

pub(super) fn make(release: &Release) -> Result<PathBuf> {
    let name = release.name();
    let folder = release.work.path().join(&name);
    fill(release, &folder)?;
    let path = release.out.join(format!("{name}.tar.gz"));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    // No name and no time in the header: the same contents are the same bytes.
    let gzip = GzBuilder::new().mtime(0).write(file, Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for entry in files(&folder)? {
        let inside = Path::new(&name).join(entry.strip_prefix(&folder)?);
        append(&mut tar, &entry, &inside, release.time)?;
    }
    tar.into_inner()?.finish()?.sync_all()?;
    Ok(path)
}

/// Puts everything that the archive has into a folder.
fn fill(release: &Release, folder: &Path) -> Result<()> {
    let completions = folder.join("completions");
    fs::create_dir_all(&completions)?;
    fs::copy(&release.atm, folder.join("atm"))?;
    for (shell, file) in SHELLS {
        save(Command::new(&release.atm).args(["completions", shell]), &completions.join(file))?;
    }
    text(Command::new(&release.atm).arg("man").arg(folder.join("man")))?;
    for name in DOCUMENTS {
        fs::copy(repo::root()?.join(name), folder.join(name)).with_context(|| format!("no {name}"))?;
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
    let is_program = inside.file_name().is_some_and(|name| name == "atm");
    let mut header = tar::Header::new_gnu();
    header.set_size(fs::metadata(file)?.len());
    header.set_mode(if is_program { 0o755 } else { 0o644 });
    header.set_mtime(time);
    tar.append_data(&mut header, inside, File::open(file)?)?;
    Ok(())
}
