//! `atm mcp` with the official programs of its protocol: the inspector, the conformance tool, the Python library.
//!
//! `cargo xtask setup` installs them; `cargo xtask test` runs this.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod conformance;
mod inspector;
mod python;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use atm_support::TestEnv;
use serde_json::Value;

/// The binary under test.
const ATM: &str = env!("CARGO_BIN_EXE_atm");

/// Where `cargo xtask setup` puts things.
fn tools() -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("test-tools").join("mcp");
    assert!(tools.join("installed").exists(), "run `cargo xtask setup` first");
    tools
}

/// An npm program, run by the Node that came with it, in a world of its own.
fn node_program(world: &TestEnv, name: &str) -> Command {
    let bin = tools().join("node_modules").join(".bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let mut command = world.atm(bin.join("node"));
    command.arg(bin.join(name));
    command.env("PATH", env::join_paths([bin].into_iter().chain(env::split_paths(&path))).unwrap());
    command
}

/// Runs a command to its end, which must be a good one; gives its stdout.
fn ok(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A process that is killed at the end of its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
