//! The folders of the machine that builds: no program that is shipped names one.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::text;
use crate::repo;

/// What cargo reads the compiler's options from, and what separates them there.
const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";
const SEPARATOR: &str = "\u{1f}";
/// How many of the places that name a folder are shown.
const SHOWN: usize = 5;

/// The folders of this machine that a compiler writes into a program, each with what it writes instead.
pub(super) struct BuildPaths(Vec<(PathBuf, String)>);

impl BuildPaths {
    pub(super) fn of_this_machine() -> Result<Self> {
        let compiler = text(Command::new("rustc").arg("-vV"))?;
        let hash = compiler.lines().find_map(|line| line.strip_prefix("commit-hash: ")).unwrap_or("unknown");
        let sysroot = text(Command::new("rustc").args(["--print", "sysroot"]))?;
        let sysroot = PathBuf::from(sysroot.trim());
        let mut paths = vec![
            (repo::root()?.to_owned(), "/atm".to_owned()),
            (repo::target()?, "/atm/target".to_owned()),
            (sysroot.clone(), "/rust".to_owned()),
            (sysroot.join("lib/rustlib/src/rust"), format!("/rustc/{hash}")),
        ];
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.components().count() > 1);
        let cargo =
            env::var_os("CARGO_HOME").map(PathBuf::from).or(home.as_ref().map(|home| home.join(".cargo")));
        paths.extend(cargo.map(|cargo| (cargo, "/cargo".to_owned())));
        paths.extend(home.map(|home| (home, "/home".to_owned())));
        // Of the options that fit, the compiler follows the last: the most special one has to be that.
        paths.sort_by_key(|(folder, _)| folder.components().count());
        Ok(Self(paths))
    }

    /// Has the compilers that this command starts name other folders instead.
    pub(super) fn hide_in(&self, command: &mut Command) {
        let given = env::var(FLAGS).unwrap_or_else(|_| {
            let flags = env::var("RUSTFLAGS").unwrap_or_default();
            flags.split_whitespace().collect::<Vec<_>>().join(SEPARATOR)
        });
        let rust =
            self.0.iter().map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
        let flags: Vec<String> =
            Some(given).filter(|given| !given.is_empty()).into_iter().chain(rust).collect();
        let c = self.0.iter().map(|(folder, name)| format!("-ffile-prefix-map={}={name}", folder.display()));
        let given = env::var("CFLAGS").ok();
        let c: Vec<String> = given.into_iter().chain(c).collect();
        command.env(FLAGS, flags.join(SEPARATOR)).env("CFLAGS", c.join(" "));
    }

    /// Fails if a program names one of the folders.
    pub(super) fn check(&self, program: &Path) -> Result<()> {
        let bytes = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
        let found = self.named_in(&bytes);
        ensure!(
            found.is_empty(),
            "{} names folders of this machine in {} places: {}",
            program.display(),
            found.len(),
            found.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ")
        );
        Ok(())
    }

    /// Each place that names one of the folders, with what follows.
    fn named_in(&self, bytes: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for (folder, _) in &self.0 {
            let folder = format!("{}/", folder.display());
            let places =
                bytes.windows(folder.len()).enumerate().filter(|(_, window)| *window == folder.as_bytes());
            found.extend(places.map(|(at, _)| {
                let text = bytes[at..].iter().take(80).take_while(|byte| byte.is_ascii_graphic());
                text.map(|byte| char::from(*byte)).collect::<String>()
            }));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_this_machine_is_found_wherever_it_is_named() {
        let paths = BuildPaths(vec![("/build/er".into(), "/home".into())]);
        assert_eq!(paths.named_in(b"\0/rustc/1/a.rs\0build/er/b.rs\0/build/ers/c.rs"), [""; 0]);
        assert_eq!(
            paths.named_in(b"x/build/er/.cargo/a.rs\0/build/er/b.rs c"),
            ["/build/er/.cargo/a.rs", "/build/er/b.rs"]
        );
    }

    #[test]
    fn the_most_special_folder_is_named_last_and_options_that_were_given_stay() {
        let paths = BuildPaths::of_this_machine().unwrap();
        let depth: Vec<usize> = paths.0.iter().map(|(folder, _)| folder.components().count()).collect();
        assert!(depth.is_sorted(), "{depth:?}");
        let mut command = Command::new("cargo");
        paths.hide_in(&mut command);
        let flags = command.get_envs().find(|(name, _)| *name == FLAGS).unwrap().1.unwrap().to_string_lossy();
        let root = format!("--remap-path-prefix={}=/atm", repo::root().unwrap().display());
        assert!(flags.split(SEPARATOR).any(|flag| flag == root), "{flags}");
    }
}
