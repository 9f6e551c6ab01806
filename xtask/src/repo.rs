//! Where things are, and how the tools of this repository are called.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The top folder of the repository.
pub(crate) fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the xtask package has no parent folder")
}

/// The folder that cargo builds into: this program is at `<target>/<profile>/xtask`.
pub(crate) fn target() -> Result<PathBuf> {
    let program = env::current_exe().context("cannot find out where this program is")?;
    let target = program.ancestors().nth(2).context("this program is not in a build folder")?;
    Ok(target.to_owned())
}

/// `cargo`, the same one that runs us, in the top folder.
pub(crate) fn cargo<const N: usize>(args: [&str; N]) -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root()?);
    Ok(command)
}

/// Does `cargo <subcommand>` exist here?
pub(crate) fn has_cargo(subcommand: &str) -> Result<bool> {
    let status = cargo([subcommand, "--version"])?.stdout(Stdio::null()).stderr(Stdio::null()).status();
    Ok(status.is_ok_and(|status| status.success()))
}

/// Is there a program of this name on the `PATH`?
pub(crate) fn has_program(name: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(name).is_file()))
}

/// The `PATH` with these folders before all others.
pub(crate) fn path_with<const N: usize>(folders: [&Path; N]) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = folders.into_iter().map(Path::to_owned).chain(env::split_paths(&path));
    env::join_paths(folders).context("a folder's name cannot stand on the PATH")
}

/// Runs the command in view of the user; it must succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start: {}", shown(command)))?;
    ensure!(status.success(), "{} ended with {status}", command.get_program().display());
    Ok(())
}

/// The command as one would type it, with the environment that was set for it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let env = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value?.to_string_lossy())))
    });
    let words =
        std::iter::once(program).chain(command.get_args()).map(|word| quoted(&word.to_string_lossy()));
    env.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_can_be_pasted_into_a_shell() {
        let mut command = Command::new("/some/where/cargo");
        command.args(["doc", "it's"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(shown(&command), r"RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s'");
    }
}
