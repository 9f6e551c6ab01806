//! A whole team's work through the Python library, by the names that users of the Python server know.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use atm_support::TestEnv;

use crate::{ATM, ok, tools};

/// Ends the tmux server of this test on every path.
struct Tmux(std::path::PathBuf);

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").env("TMUX_TMPDIR", &self.0).args(["-L", "atm", "kill-server"]).output();
    }
}

#[test]
fn a_team_works_from_its_making_to_its_end() {
    let world = TestEnv::new();
    let _tmux = Tmux(world.home());
    // A test double of the agent client: it is started as one, and does nothing.
    let bin = world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let claude = bin.join("claude");
    fs::write(&claude, "#!/bin/sh\necho \"at work: $*\"\nexec sleep 600\n").unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside/team.py");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let mut python = world.atm(tools().join("python").join("bin").join("python"));
    python.arg(script).arg(ATM).env("PATH", path).env("TMUX_TMPDIR", world.home());
    assert!(ok(&mut python).ends_with("all done\n"));
}
