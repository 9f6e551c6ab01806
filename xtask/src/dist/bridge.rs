//! The package of `atm-bridge`: an archive of its own, since who has one machine needs no program that talks to a network.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Release, archive, extras, sbom};

pub(super) const PROGRAM: &str = "atm-bridge";

const README: &str = "\
# atm-bridge

One team of coding agents over many machines: carries mail between them through a NATS server with JetStream. It belongs to
`atm` of the same version and runs as `atm bridge …`: put it beside that program, or into another folder of your path.

```sh
install -m 755 atm-bridge \"$(dirname \"$(command -v atm)\")\"
atm bridge key       # what the other machines are told
atm bridge --help
```

Two laptops and a hub in ten minutes: `docs/guides/bridge.md`, in the archive of `atm`. On Linux it needs a glibc as new as
that of the machine on which it was built. Upgrade: replace the file, then start `atm bridge run`, or the daemon, again. Uninstall:
remove the file.

Licence: MIT or Apache-2.0, at your choice.
";

/// Whether a package is the archive, and not the list beside it.
pub(super) fn is_archive(package: &Path) -> bool {
    let name = package.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(PROGRAM) && name.ends_with(".gz")
}

/// The archive, and the list of what the program is made of.
pub(super) fn make(release: &Release, program: &Path) -> Result<[PathBuf; 2]> {
    let name = release.name(PROGRAM);
    let folder = release.work.path().join(&name);
    fs::create_dir_all(&folder)?;
    fs::copy(program, folder.join(PROGRAM))?;
    fs::write(folder.join("README.md"), README)?;
    extras::licences(&folder)?;
    Ok([archive::pack(release, &name, &folder)?, sbom::make(release, PROGRAM)?])
}
