//! `cargo xtask dist`: what is shipped, each tried in an empty environment. Nothing is published.

mod archive;
mod npm;
mod sbom;
mod sums;
mod trial;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::repo;

/// The largest that the program may be.
const LARGEST: u64 = 20_000_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Pack this program instead of building one; without the wheel, which is built with its program
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
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
    /// Where the packages go.
    out: PathBuf,
    /// The time of the last commit, in seconds: the same sources make the same archive.
    time: u64,
    /// For what is made on the way.
    work: tempfile::TempDir,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let out = match &args.out {
        Some(out) => out.clone(),
        None => repo::target()?.join("dist-packages"),
    };
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let atm = match &args.binary {
        Some(path) => path.canonicalize().with_context(|| format!("no program at {}", path.display()))?,
        None => build(&args.profile)?,
    };
    let release = Release::of(atm, out.canonicalize()?, &args.profile)?;
    let size = fs::metadata(&release.atm)?.len();
    ensure!(size <= LARGEST, "the program has {size} bytes, more than {LARGEST}");

    let mut packages = vec![archive::make(&release)?, npm::make(&release)?];
    if args.binary.is_none() {
        packages.push(wheel::make(&release)?);
    }
    packages.push(sbom::make(&release)?);
    sums::make(&release, &packages)?;
    println!("atm {} for {}, program {size} bytes", release.version, release.target);
    for trial in trial::all(&release, &packages)? {
        println!("{trial}");
    }
    println!("in {}", release.out.display());
    Ok(())
}

impl Release {
    fn of(atm: PathBuf, out: PathBuf, profile: &str) -> Result<Self> {
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
            out,
            work,
        })
    }

    /// `atm-VERSION-TARGET`.
    fn name(&self) -> String {
        format!("atm-{}-{}", self.version, self.target)
    }
}

fn build(profile: &str) -> Result<PathBuf> {
    let mut cargo = repo::cargo(["build", "--profile", profile, "--locked", "--package", "atm"])?;
    repo::run(cargo.env("ATM_COMMIT", commit()?))?;
    Ok(repo::target()?.join(profile).join("atm"))
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
