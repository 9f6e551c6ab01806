//! Checksums of the packages, as `sha256sum --check` reads them.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::Release;

pub(super) const NAME: &str = "SHA256SUMS";

pub(super) fn make(release: &Release, packages: &[PathBuf]) -> Result<()> {
    let mut sums = String::new();
    for package in packages {
        let sum = Sha256::digest(fs::read(package)?);
        for byte in sum {
            let _ = write!(sums, "{byte:02x}");
        }
        let name = package.file_name().context("a package has no name")?.to_string_lossy();
        let _ = writeln!(sums, "  {name}");
    }
    fs::write(release.out.join(NAME), sums)?;
    Ok(())
}
