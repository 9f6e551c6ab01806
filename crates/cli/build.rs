//! How the program is linked.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    say_how_it_is_built();
    // At a fixed address there is nothing to relocate, which is a fifth of a process' start: a command that runs for
    // each message is mostly that. Elsewhere a fixed address is not to be had, or not faster.
    let is = |what, value| env::var(what).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
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
