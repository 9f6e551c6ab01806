//! How the program is linked.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The system's libraries that a Rust program asks for, and the archive that each is taken from instead.
const ARCHIVES: [(&str, &str); 7] = [
    ("c", "libc.a"),
    ("dl", "libdl.a"),
    ("gcc_s", "libgcc_eh.a"),
    ("m", "libm.a"),
    ("pthread", "libpthread.a"),
    ("rt", "librt.a"),
    ("util", "libutil.a"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ATM_LINK");
    say_how_it_is_built();
    let is = |what, value: &str| env::var(what).is_ok_and(|found| found == value);
    if !(is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")) {
        return;
    }
    // At a fixed address there is nothing to relocate, which is a fifth of a process' start: a command that runs for
    // each message is mostly that. Elsewhere a fixed address is not to be had, or not faster.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    // Loading and binding libraries is a third of what is left. What is built to be tested stays as it is.
    let is_native = env::var("HOST") == env::var("TARGET");
    if is("PROFILE", "release") && is_native && !is("ATM_LINK", "dynamic") && has_archives() {
        link_statically();
    }
}

/// For `atm --version --verbose`. The commit is known only to those who say it: asking git here would build the program
/// anew after every commit.
fn say_how_it_is_built() {
    println!("cargo::rerun-if-env-changed=ATM_COMMIT");
    let set = |name: &str| env::var(name).unwrap_or_default();
    // target/<profile>/build/<package>/out; PROFILE knows debug and release only.
    let out = set("OUT_DIR");
    let profile = out.rsplit('/').nth(3).unwrap_or_default().to_owned();
    let compiler = Command::new(set("RUSTC")).arg("--version").output().ok();
    let compiler = compiler.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    for (name, value) in [
        ("ATM_BUILD_PROFILE", profile),
        ("ATM_BUILD_TARGET", set("TARGET")),
        ("ATM_BUILD_COMPILER", compiler.trim().to_owned()),
        ("ATM_BUILD_COMMIT", set("ATM_COMMIT")),
    ] {
        println!("cargo::rustc-env={name}={value}");
    }
}

/// Some systems keep the archives in packages that a compiler does not need: without them, libraries are loaded.
fn has_archives() -> bool {
    let is_there = |archive: &str| {
        let option = format!("-print-file-name={archive}");
        let found = Command::new("cc").arg(option).output().ok()?;
        let path = String::from_utf8(found.stdout).ok()?;
        // One that is not found is answered as it was asked for.
        Some(Path::new(path.trim()).is_absolute())
    };
    ARCHIVES.iter().all(|(_, archive)| is_there(archive).unwrap_or(false))
}

/// The compiler names the system's libraries itself, as ones to load. So it finds, before them, scripts of the same names
/// that lead the linker to the archives. (The compiler's own switch would be for all that it builds, and it cannot build
/// macros that way.)
fn link_statically() {
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("archives");
    let written = fs::create_dir_all(&folder).and_then(|()| {
        ARCHIVES.iter().try_for_each(|(library, archive)| {
            fs::write(folder.join(format!("lib{library}.so")), format!("INPUT(-l:{archive})\n"))
        })
    });
    if written.is_err() {
        return;
    }
    let mut search = OsString::from("-L");
    search.push(&folder);
    println!("cargo::rustc-link-arg-bins={}", search.display());
    println!("cargo::rustc-link-arg-bins=-static");
}
