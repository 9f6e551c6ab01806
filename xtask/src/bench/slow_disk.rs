//! A stand-in for a disk that takes its time: a library, loaded before the C library, in which every fsync takes five
//! milliseconds longer.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

const SOURCE: &[u8] = include_bytes!("slow_disk.c");

/// By how much the stand-in makes an fsync slower.
pub(super) const SLOWER: Duration = Duration::from_millis(5);

/// The stand-in.
pub(super) struct SlowDisk(PathBuf);

impl SlowDisk {
    /// Compiles the stand-in into `folder`. `None`, with a word, where that cannot be done.
    pub(super) fn build(folder: &Path) -> Result<Option<Self>> {
        if !cfg!(target_os = "linux") {
            eprintln!("bench: no slow disk: its stand-in is for Linux");
            return Ok(None);
        }
        let library = folder.join("slow-disk.so");
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-x", "c", "-", "-ldl", "-o"])
            .arg(&library)
            .stdin(Stdio::piped())
            .spawn();
        let Ok(mut compiler) = compiler else {
            eprintln!("bench: no slow disk: its stand-in needs a C compiler, `cc`");
            return Ok(None);
        };
        compiler.stdin.take().context("cc has an input")?.write_all(SOURCE)?;
        ensure!(compiler.wait()?.success(), "cc cannot compile the stand-in for a slow disk");
        Ok(Some(Self(library)))
    }

    /// Lets a command meet the slow disk.
    pub(super) fn under<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.0)
    }
}
