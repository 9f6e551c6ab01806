//! How the program is linked.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // At a fixed address there is nothing to relocate, which is a fifth of a process' start: a command that runs for
    // each message is mostly that. Elsewhere a fixed address is not to be had, or not faster.
    let is = |what, value| env::var(what).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
