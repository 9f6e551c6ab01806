//! The Python wheel: maturin's `bin` kind, which puts the program on the environment's path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Release, extras, say};
use crate::repo;

const MATURIN: &str = "maturin==1.16.0";
/// The list of what the program is made of.
const CONTENTS: &str = "atm.cdx.json";
/// What maturin lays below the environment's prefix.
const DATA: &str = "atm_mail.data";

/// How the package is used.
const INSTALLS: &str = "\
## This package

It is the program itself: no Python runs when you call `atm`. Manual pages and completions for bash, zsh and fish lie below the
environment's `share` folder. Where your shell or `man` does not look there, `atm completions SHELL` prints the same, and
`atm man FOLDER` writes the manual pages.

Upgrade: `pip install --upgrade` with the new wheel. Uninstall: `atm install claude --uninstall` for each client that you set up,
then `pip uninstall atm-mail`.
";

pub(super) fn make(release: &Release, contents: &Path) -> Result<PathBuf> {
    let maturin = install()?;
    let folder = release.work.path().join("wheel");
    fs::create_dir_all(&folder)?;
    extras::readme(&folder, INSTALLS)?;
    extras::licences(&folder)?;
    extras::below_prefix(release, &folder.join(DATA).join("data"))?;
    fs::copy(contents, folder.join(CONTENTS))?;
    fs::write(folder.join("pyproject.toml"), project(release)?)?;
    let mut maturin = Command::new(maturin);
    maturin
        .args(["build", "--profile", &release.profile, "--locked", "--target-dir"])
        .arg(repo::target()?)
        .arg("--out")
        .arg(folder.join("out"))
        .current_dir(&folder);
    if let Some(build) = &release.build {
        build.prepare(&mut maturin);
    }
    repo::run(&mut maturin)?;
    let wheel = fs::read_dir(folder.join("out"))?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .context("maturin made no wheel")?;
    let kept = release.out.join(wheel.file_name().context("the wheel has no name")?);
    fs::copy(&wheel, &kept)?;
    Ok(kept)
}

/// The wheel's description of itself.
fn project(release: &Release) -> Result<String> {
    let manifest = repo::root()?.join("crates").join("cli").join("Cargo.toml");
    let mut maturin = toml::Table::new();
    maturin.insert("bindings".into(), "bin".into());
    maturin.insert("manifest-path".into(), manifest.to_string_lossy().as_ref().into());
    maturin.insert("strip".into(), true.into());
    maturin.insert("data".into(), DATA.into());
    // Its own list names folders of this machine.
    let mut lists = toml::Table::new();
    lists.insert("rust".into(), false.into());
    lists.insert("auditwheel".into(), false.into());
    lists.insert("include".into(), vec![toml::Value::from(CONTENTS)].into());
    maturin.insert("sbom".into(), lists.into());
    let mut project = toml::Table::new();
    project.insert("name".into(), "atm-mail".into());
    project.insert("version".into(), release.version.as_str().into());
    project.insert("description".into(), "Durable mail for teams of coding agents".into());
    project.insert("readme".into(), "README.md".into());
    project.insert("license".into(), "MIT OR Apache-2.0".into());
    project.insert("license-files".into(), extras::LICENCES.map(toml::Value::from).to_vec().into());
    project.insert("requires-python".into(), ">=3.8".into());
    let mut backend = toml::Table::new();
    backend.insert("requires".into(), vec![toml::Value::from(MATURIN)].into());
    backend.insert("build-backend".into(), "maturin".into());
    let mut tool = toml::Table::new();
    tool.insert("maturin".into(), maturin.into());
    let mut all = toml::Table::new();
    all.insert("build-system".into(), backend.into());
    all.insert("project".into(), project.into());
    all.insert("tool".into(), tool.into());
    Ok(toml::to_string(&all)?)
}

/// maturin, in an environment of its own below the build folder.
fn install() -> Result<PathBuf> {
    let folder = repo::target()?.join("maturin");
    let program = folder.join("bin").join("maturin");
    let marker = folder.join("installed");
    if !fs::read_to_string(&marker).is_ok_and(|installed| installed == MATURIN) {
        say(&format!("installing {MATURIN} into {}", folder.display()));
        repo::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))
            .context("python3 cannot make environments; on Debian that is the package python3-venv")?;
        let pip = folder.join("bin").join("pip");
        repo::run(Command::new(pip).args(["install", "--disable-pip-version-check", MATURIN]))
            .context("pip could not install maturin; is the package registry reachable?")?;
        fs::write(&marker, MATURIN)?;
    }
    Ok(program)
}
