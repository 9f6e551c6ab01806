//! `cargo xtask dist`: what is shipped, each tried in an empty environment. Nothing is published.

mod archive;
mod bridge;
mod extras;
mod npm;
mod paths;
mod sbom;
mod sums;
mod trial;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{repo, setup};
use paths::BuildPaths;
pub(crate) use trial::Trial;

/// The largest that the program may be.
const LARGEST: u64 = 20_000_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Pack this program instead of building one; without the wheel, which is built with its program
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Pack this atm-bridge instead of building one; with --binary alone, none is packed
    #[arg(long, value_name = "PATH")]
    bridge: Option<PathBuf>,
    /// The profile to build with; one that builds faster is enough to try the packing
    #[arg(long, value_name = "NAME", default_value = "dist")]
    profile: String,
    /// Where the packages go [default: dist-packages in the build folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What is packed.
struct Release {
    version: String,
    /// As the compiler names it, `x86_64-unknown-linux-gnu`.
    target: String,
    /// What it is built with.
    profile: String,
    /// The program.
    atm: PathBuf,
    /// `atm-bridge`, for its own package.
    bridge: Option<PathBuf>,
    /// For a program that was built to be shipped.
    build: Option<Build>,
    /// Where the packages go.
    out: PathBuf,
    /// The time of the last commit, in seconds: the same sources make the same archive.
    time: u64,
    /// For what is made on the way.
    work: tempfile::TempDir,
}

/// How the program was built.
struct Build {
    /// What it says it was built from.
    commit: String,
    /// The folders that it must not name.
    paths: BuildPaths,
}

impl Build {
    fn of_this_machine() -> Result<Self> {
        Ok(Self { commit: commit()?, paths: BuildPaths::of_this_machine()? })
    }

    /// Has a command build it this way.
    fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        self.paths.hide_in(command);
        command.env("ATM_COMMIT", &self.commit)
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let out = match &args.out {
        Some(out) => out.clone(),
        None => repo::target()?.join("dist-packages"),
    };
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    setup::need(&["npm", "python3"])?;
    let given =
        |path: &PathBuf| path.canonicalize().with_context(|| format!("no program at {}", path.display()));
    let (atm, build) = if let Some(path) = &args.binary {
        (given(path)?, None)
    } else {
        say(&format!("building the program, profile {}", args.profile));
        let build = Build::of_this_machine()?;
        (compile("atm", &args.profile, &build)?, Some(build))
    };
    let bridge = match (&args.bridge, &build) {
        (Some(path), _) => Some(given(path)?),
        (None, Some(build)) => {
            say(&format!("building {}, profile {}", bridge::PROGRAM, args.profile));
            Some(compile(bridge::PROGRAM, &args.profile, build)?)
        }
        (None, None) => None,
    };
    let release = Release { bridge, ..Release::of(atm, build, out.canonicalize()?, &args.profile)? };
    let size = fs::metadata(&release.atm)?.len();
    ensure!(size <= LARGEST, "the program has {size} bytes, more than {LARGEST}");

    let packages = pack(&release, args.binary.is_none())?;
    println!("atm {} for {}, program {size} bytes", release.version, release.target);
    for trial in trial::all(&release, &packages)? {
        println!("{trial}");
    }
    for package in packages.iter().filter(|package| bridge::is_archive(package)) {
        trial::of_bridge(&release, package)?;
        println!("{}: found by `atm bridge`", package.file_name().unwrap_or_default().display());
    }
    println!("in {}:", release.out.display());
    for package in packages.iter().chain([&release.out.join(sums::NAME)]) {
        let size = fs::metadata(package)?.len();
        println!("  {} ({size} bytes)", package.file_name().unwrap_or_default().display());
    }
    Ok(())
}

/// The packages of a program that was built already, each installed and tried, for the bench. The wheel is built with its
/// program: it is left out unless that is `profile`'s own.
pub(crate) fn trials(atm: &Path, profile: Option<&str>, folder: &Path) -> Result<Vec<Trial>> {
    setup::need(&["npm", "python3"])?;
    let release = Release::of(atm.to_owned(), None, folder.to_owned(), profile.unwrap_or("release"))?;
    let packages = pack(&release, profile.is_some())?;
    trial::all(&release, &packages)
}

fn pack(release: &Release, with_wheel: bool) -> Result<Vec<PathBuf>> {
    say("packing the archive");
    let mut packages = vec![archive::of_program(release)?];
    say("packing for npm");
    packages.push(npm::make(release)?);
    say("listing what the program is made of");
    let contents = sbom::make(release, "atm")?;
    if with_wheel {
        say("packing the wheel");
        packages.push(wheel::make(release, &contents)?);
    } else {
        say("no wheel: it is built with its program, and this one was given");
    }
    packages.push(contents);
    if let Some(program) = &release.bridge {
        say(&format!("packing {}", bridge::PROGRAM));
        packages.extend(bridge::make(release, program)?);
    }
    sums::make(release, &packages)?;
    Ok(packages)
}

/// What is being done.
fn say(what: &str) {
    eprintln!("dist: {what}");
}

impl Release {
    fn of(atm: PathBuf, build: Option<Build>, out: PathBuf, profile: &str) -> Result<Self> {
        let work = tempfile::Builder::new().prefix("dist-").tempdir_in(repo::target()?)?;
        let version = text(Command::new(&atm).arg("--version"))?;
        let version = version.split_whitespace().nth(1).context("`atm --version` names no version")?;
        let rustc = text(Command::new("rustc").arg("-vV"))?;
        let target = rustc.lines().find_map(|line| line.strip_prefix("host: "));
        let time = text(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(repo::root()?))?;
        Ok(Self {
            version: version.to_owned(),
            target: target.context("rustc does not say what it builds for")?.to_owned(),
            time: time.trim().parse().context("the time of the last commit")?,
            profile: profile.to_owned(),
            atm,
            bridge: None,
            build,
            out,
            work,
        })
    }

    /// `PROGRAM-VERSION-TARGET`.
    fn name(&self, program: &str) -> String {
        format!("{program}-{}-{}", self.version, self.target)
    }
}

fn compile(package: &str, profile: &str, build: &Build) -> Result<PathBuf> {
    let mut cargo = repo::cargo(["build", "--profile", profile, "--locked", "--package", package])?;
    repo::run(build.prepare(&mut cargo))?;
    Ok(repo::target()?.join(profile).join(package))
}

/// The commit that is packed, for `atm --version --verbose`.
fn commit() -> Result<String> {
    let root = repo::root()?;
    let commit = text(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(root))?;
    let changes = text(Command::new("git").args(["status", "--porcelain", "-uno"]).current_dir(root))?;
    Ok(format!("{}{}", commit.trim(), if changes.is_empty() { "" } else { ", with changes" }))
}

/// What a program prints; it must succeed.
fn text(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start: {}", repo::shown(command)))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} ended with {}: {said}", repo::shown(command), output.status);
    String::from_utf8(output.stdout).context("the answer is not UTF-8")
}

/// Writes a program's output into a file.
fn save(command: &mut Command, path: &Path) -> Result<()> {
    fs::write(path, text(command)?).with_context(|| format!("cannot write {}", path.display()))
}
