//! What goes along with the program: completions, manual pages, licences, and a page that says where they are.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Release, save, text};
use crate::repo;

/// The shells that completions are made for: what their file is called in a folder of ours, and where an installation below
/// a prefix has it, so that the shell finds it.
const SHELLS: [(&str, &str, &str); 3] = [
    ("bash", "atm.bash", "share/bash-completion/completions/atm"),
    ("zsh", "_atm", "share/zsh/site-functions/_atm"),
    ("fish", "atm.fish", "share/fish/vendor_completions.d/atm.fish"),
];

pub(super) const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// Completions and manual pages in two folders, for people to take from.
pub(super) fn in_folders(release: &Release, folder: &Path) -> Result<()> {
    let completions = folder.join("completions");
    fs::create_dir_all(&completions)?;
    for (shell, file, _) in SHELLS {
        save(Command::new(&release.atm).args(["completions", shell]), &completions.join(file))?;
    }
    manual(release, &folder.join("man"))
}

/// The same as they lie below a prefix, for an installer that copies them there.
pub(super) fn below_prefix(release: &Release, prefix: &Path) -> Result<()> {
    for (shell, _, place) in SHELLS {
        let file = prefix.join(place);
        fs::create_dir_all(file.parent().context("a file has a folder")?)?;
        save(Command::new(&release.atm).args(["completions", shell]), &file)?;
    }
    manual(release, &prefix.join("share").join("man").join("man1"))
}

/// The paths below a prefix that must be there after an installation.
pub(super) fn places() -> impl Iterator<Item = &'static str> {
    SHELLS.into_iter().map(|(_, _, place)| place).chain(["share/man/man1/atm.1"])
}

fn manual(release: &Release, folder: &Path) -> Result<()> {
    text(Command::new(&release.atm).arg("man").arg(folder)).map(drop)
}

pub(super) fn licences(folder: &Path) -> Result<()> {
    for name in LICENCES {
        fs::copy(repo::root()?.join(name), folder.join(name)).with_context(|| format!("no {name}"))?;
    }
    Ok(())
}

/// The README of a package of a language's registry: that of the repository leads into folders which are not in there.
pub(super) fn readme(folder: &Path, installs: &str) -> Result<()> {
    fs::write(folder.join("README.md"), format!("{README}{installs}"))?;
    Ok(())
}

const README: &str = "\
# atm

Durable mail for teams of coding agents: one small binary over the files that the agents' own clients already use. It never
loses an accepted message, and it can prove what became of each one. No daemon needed, no server, no network.

```sh
atm demo             # a team's day in a throw-away folder; a few seconds
atm                  # on the team that your client runs: what needs a look, mail for you, who is there
atm log --last 10    # who wrote to whom, and how far it came
atm install claude   # each Claude Code session is shown its own new mail (--dry-run shows each change)
atm help             # all commands; atm COMMAND --help has examples
```

Linux and macOS. Licence: MIT or Apache-2.0, at your choice.

";
