//! The npm package: the program itself is its command, so that no script stands before it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::{Release, extras, text};

/// How the package is used.
const INSTALLS: &str = "\
## This package

`npm install --global` puts `atm` on the path and links its manual pages, as far as this npm does that (`man atm`). Completions for
bash, zsh and fish are in the package's `completions` folder; `atm completions SHELL` prints the same, and `atm man FOLDER` writes
the manual pages.

Upgrade: `npm install --global` of the new package. Uninstall: `atm install claude --uninstall` for each client that you set up,
then `npm uninstall --global atm-mail`.
";

pub(super) fn make(release: &Release) -> Result<PathBuf> {
    let folder = release.work.path().join("npm");
    fs::create_dir_all(folder.join("bin"))?;
    let program = folder.join("bin").join("atm");
    fs::copy(&release.atm, &program)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    extras::in_folders(release, &folder)?;
    extras::licences(&folder)?;
    extras::readme(&folder, INSTALLS)?;
    let (os, cpu) = platform(&release.target)?;
    let mut pages: Vec<String> = fs::read_dir(folder.join("man"))?
        .filter_map(|entry| Some(format!("man/{}", entry.ok()?.file_name().to_str()?)))
        .collect();
    pages.sort();
    let manifest = json!({
        "name": "atm-mail",
        "version": release.version,
        "description": "Durable mail for teams of coding agents",
        "license": "(MIT OR Apache-2.0)",
        "bin": { "atm": "bin/atm" },
        "man": pages,
        "files": ["bin", "completions", "man", "LICENSE-MIT", "LICENSE-APACHE"],
        "os": [os],
        "cpu": [cpu],
    });
    fs::write(folder.join("package.json"), serde_json::to_vec_pretty(&manifest)?)?;
    let packed = text(
        Command::new("npm")
            .args(["pack", "--silent", "--pack-destination"])
            .arg(&release.out)
            .current_dir(&folder),
    )?;
    let name = packed.lines().last().context("npm does not say what it packed")?;
    Ok(release.out.join(name.trim()))
}

/// What npm calls the system and the processor.
fn platform(target: &str) -> Result<(&'static str, &'static str)> {
    let os = match target {
        target if target.contains("linux") => "linux",
        target if target.contains("darwin") => "darwin",
        target => bail!("no npm name for the system of {target}"),
    };
    let cpu = match target.split('-').next() {
        Some("x86_64") => "x64",
        Some("aarch64") => "arm64",
        _ => bail!("no npm name for the processor of {target}"),
    };
    Ok((os, cpu))
}

#[cfg(test)]
mod tests {
    use super::platform;

    #[test]
    fn npm_has_its_own_names_for_platforms() {
        assert_eq!(platform("x86_64-unknown-linux-gnu").unwrap(), ("linux", "x64"));
        assert_eq!(platform("aarch64-apple-darwin").unwrap(), ("darwin", "arm64"));
        assert!(platform("riscv64gc-unknown-linux-gnu").is_err());
        assert!(platform("x86_64-pc-windows-msvc").is_err());
    }
}
