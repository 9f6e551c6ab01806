//! A world of its own for one test.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use atm_store::{Layout, Root, State};
use tempfile::TempDir;

use crate::team::TestTeam;

/// A temp folder with a root, a state and a home, removed when the last clone of it is gone.
#[derive(Debug, Clone)]
pub struct TestEnv {
    folder: Arc<TempDir>,
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl TestEnv {
    /// An empty world. The root and the home exist, as on a machine with an agent client; our state does not yet.
    pub fn new() -> Self {
        // Closed, wherever it is: what is said of files that others can read is then up to the test.
        let closed = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("atm-test-").permissions(closed).tempdir();
        let folder = folder.expect("a temp folder");
        let env = Self { folder: Arc::new(folder) };
        for place in [env.root(), env.home()] {
            fs::create_dir(place).expect("a folder in the temp folder");
        }
        env
    }

    /// The shared tree, `~/.claude` elsewhere.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Our own state.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// What Claude Code's registry says of a session in this test's own process, which waits for its user's permission.
    pub fn lists_waiting_session(&self, session: &str, folder: &str) -> PathBuf {
        let (pid, cwd) = (std::process::id(), self.home().join(folder));
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let since = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
        let entry = serde_json::json!({
            "pid": pid, "procStart": since, "sessionId": session, "cwd": cwd, "status": "waiting",
            "waitingFor": "permission",
        });
        let registry = self.root().join("sessions");
        for folder in [&registry, &cwd] {
            fs::create_dir_all(folder).expect("a folder in the temp folder");
        }
        fs::write(registry.join(format!("{pid}.json")), entry.to_string()).expect("an entry");
        cwd
    }

    /// The shared tree, for the store and the office.
    pub fn store_root(&self) -> Root {
        Root::new(self.root())
    }

    /// Our own state, for the store and the office.
    pub fn store_state(&self) -> State {
        State::new(self.state()).with_root(&self.store_root())
    }

    /// A new team with these members, the first of them its lead, whose files stand there as other programs would
    /// have written them.
    pub fn team(&self, name: &str, layout: Layout, members: &[&str]) -> TestTeam {
        TestTeam::create(self, name, layout, members)
    }

    /// Everything that was set aside, by file name.
    pub fn set_aside(&self) -> Vec<(String, Vec<u8>)> {
        let Ok(entries) = fs::read_dir(self.state().join("quarantine")) else { return Vec::new() };
        let mut kept: Vec<_> = entries
            .map(|entry| {
                let entry = entry.expect("an entry of the quarantine");
                let bytes = fs::read(entry.path()).expect("a file in the quarantine");
                (entry.file_name().to_string_lossy().into_owned(), bytes)
            })
            .collect();
        kept.sort();
        kept
    }

    /// The command line's binary in this world: it sees this root, this state, this home and the `PATH`, and nothing
    /// else of the environment that the tests run in.
    pub fn atm(&self, binary: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(binary);
        command
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("ATM_ROOT", self.root())
            .env("ATM_STATE", self.state())
            .env("TZ", "UTC")
            .current_dir(self.home())
            .stdin(Stdio::null());
        command
    }
}
