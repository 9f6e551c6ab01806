//! Each package installed and used in an empty environment.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{Release, bridge, extras, say, text};

/// Installed, and the demonstration finished.
pub(crate) struct Trial {
    pub(crate) package: String,
    pub(crate) installed: Duration,
    pub(crate) demo: Duration,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (installed, demo) = (self.installed.as_secs_f64(), self.demo.as_secs_f64());
        write!(
            f,
            "{}: installed in {installed:.1} s, `atm demo` in {demo:.1} s, together {:.1} s",
            self.package,
            installed + demo
        )
    }
}

pub(super) fn all(release: &Release, packages: &[PathBuf]) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for package in packages {
        let name = package.file_name().context("a package has no name")?.to_string_lossy().into_owned();
        let is_list = package.extension().is_some_and(|extension| extension == "json");
        if is_list || name.starts_with(bridge::PROGRAM) {
            continue;
        }
        let home = release.work.path().join(format!("try-{name}"));
        fs::create_dir(&home)?;
        say(&format!("trying {name} in an empty environment"));
        let start = Instant::now();
        let atm = match name.rsplit('.').next() {
            Some("gz") => unpack(package, &home)?,
            Some("tgz") => install_npm(package, &home)?,
            Some("whl") => install_wheel(package, &home)?,
            _ => bail!("{name} is no package that can be tried"),
        };
        let installed = start.elapsed();
        let version = text(bare(&atm, &home).arg("--version"))?;
        ensure!(version.contains(&release.version), "{name} installs {version}");
        let built = text(bare(&atm, &home).args(["--version", "--verbose"]))?;
        if let Some(build) = &release.build {
            build.paths.check(&atm)?;
            for line in [format!("commit: {}", build.commit), format!("profile: {}", release.profile)] {
                ensure!(built.lines().any(|said| said == line), "{name} does not say {line:?}:\n{built}");
            }
        }
        let start = Instant::now();
        text(bare(&atm, &home).arg("demo"))?;
        trials.push(Trial { package: name, installed, demo: start.elapsed() });
    }
    Ok(trials)
}

/// The archive of `atm-bridge`, unpacked beside `atm`, which has to find it there.
pub(super) fn of_bridge(release: &Release, package: &Path) -> Result<()> {
    let home = release.work.path().join("try-bridge");
    fs::create_dir(&home)?;
    say("trying atm-bridge beside atm in an empty environment");
    text(bare(Path::new("tar"), &home).arg("-xzf").arg(package).arg("--strip-components=1"))?;
    has_files(&home, ["README.md", "LICENSE-MIT", "LICENSE-APACHE"])?;
    let atm = home.join("atm");
    fs::copy(&release.atm, &atm)?;
    let version = text(bare(&atm, &home).args(["bridge", "--version"]))?;
    ensure!(version.contains(&release.version), "{} says {version}", bridge::PROGRAM);
    let key = text(bare(&atm, &home).args(["bridge", "key", "--machine", "laptop"]))?;
    ensure!(key.starts_with("laptop "), "`atm bridge key` says {key}");
    if let Some(build) = &release.build {
        build.paths.check(&home.join(bridge::PROGRAM))?;
    }
    Ok(())
}

/// A program with an empty home and nothing of the user's environment.
fn bare(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(home);
    command
}

/// What people look for beside the program.
const FOLDERS: [&str; 7] = [
    "completions/_atm",
    "completions/atm.bash",
    "completions/atm.fish",
    "man/atm.1",
    "README.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

fn has_files<'a>(folder: &Path, files: impl IntoIterator<Item = &'a str>) -> Result<()> {
    for file in files {
        ensure!(folder.join(file).is_file(), "{} has no {file}", folder.display());
    }
    Ok(())
}

fn unpack(package: &Path, home: &Path) -> Result<PathBuf> {
    text(bare(Path::new("tar"), home).arg("-xzf").arg(package).arg("--strip-components=1"))?;
    has_files(home, FOLDERS.iter().copied().chain(["docs/guides/tour.md"]))?;
    Ok(home.join("atm"))
}

fn install_npm(package: &Path, home: &Path) -> Result<PathBuf> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund", "--prefix"]).arg(home).arg(package);
    npm.env("HOME", home).current_dir(home);
    text(&mut npm)?;
    let modules = home.join("node_modules");
    has_files(&modules.join("atm-mail"), FOLDERS.iter().copied())?;
    Ok(modules.join(".bin").join("atm"))
}

fn install_wheel(package: &Path, home: &Path) -> Result<PathBuf> {
    let environment = home.join("venv");
    text(Command::new("python3").args(["-m", "venv"]).arg(&environment).env("HOME", home))?;
    let mut pip = Command::new(environment.join("bin").join("pip"));
    pip.args(["install", "--no-index", "--disable-pip-version-check"]).arg(package).env("HOME", home);
    text(&mut pip)?;
    has_files(&environment, extras::places())?;
    Ok(environment.join("bin").join("atm"))
}
