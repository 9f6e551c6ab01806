//! A simulated slow disk: a library, loaded before the C library, in which every fsync takes five
//! milliseconds longer.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

const SOURCE: &[u8] = include_bytes!("slow_disk.c");

/// What the name of every loader has in it.
const LOADER: &[u8] = b"/ld-";

/// By how much the simulation makes an fsync slower.
pub(super) const SLOWER: Duration = Duration::from_millis(5);

/// The library that simulates it.
pub(super) struct SlowDisk(PathBuf);

impl SlowDisk {
    /// Compiles the library into `folder`, for `program`. `None`, with a note on stderr, where that cannot be done.
    pub(super) fn build(folder: &Path, program: &Path) -> Result<Option<Self>> {
        if !cfg!(target_os = "linux") {
            eprintln!("bench: no slow disk: it is simulated on Linux only");
            return Ok(None);
        }
        if !loads_libraries(program)? {
            eprintln!(
                "bench: no slow disk: the program loads no libraries; measure one that was built with ATM_LINK=dynamic, \
                 by --binary"
            );
            return Ok(None);
        }
        let library = folder.join("slow-disk.so");
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-x", "c", "-", "-ldl", "-o"])
            .arg(&library)
            .stdin(Stdio::piped())
            .spawn();
        let Ok(mut compiler) = compiler else {
            eprintln!("bench: no slow disk: simulating it needs a C compiler, `cc`");
            return Ok(None);
        };
        compiler.stdin.take().context("cc has an input")?.write_all(SOURCE)?;
        ensure!(compiler.wait()?.success(), "cc cannot compile the simulated slow disk");
        Ok(Some(Self(library)))
    }

    /// Lets a command meet the slow disk.
    pub(super) fn under<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.0)
    }
}

/// Whether a program names a loader, as its file says near its start.
fn loads_libraries(program: &Path) -> Result<bool> {
    let mut start = Vec::new();
    File::open(program)?.take(4096).read_to_end(&mut start)?;
    Ok(start.windows(LOADER.len()).any(|part| part == LOADER))
}
