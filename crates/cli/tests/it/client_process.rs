//! A client of which the process counts: a test double that lives as long as its sessions and calls `atm` itself, since what
//! ties a session to a member or a folder is, among other things, the process above the call.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::scene::World;

/// Reads `[arguments, input, variables, folder]` a line, calls a program with it, and prints what came of it.
const CLIENT: &str = r"
import json, os, subprocess, sys
for line in sys.stdin:
    words, said, more, folder = json.loads(line)
    env = dict(os.environ, **more)
    done = subprocess.run(words, input=json.dumps(said), capture_output=True, text=True, env=env, cwd=folder)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
";

pub(crate) struct ClientProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl ClientProcess {
    /// A process whose command line ends with these words. It is nobody's by its variables.
    pub(crate) fn start(world: &World, words: &[&str]) -> Self {
        Self::run(world, &[&["-c", CLIENT], words].concat())
    }

    /// A process that is a client by its name, which it has from its script.
    pub(crate) fn named(world: &World, name: &str) -> Self {
        let script = world.home().join("clients").join(name);
        fs::create_dir_all(script.parent().unwrap()).unwrap();
        fs::write(&script, CLIENT).unwrap();
        Self::run(world, &[script.to_str().unwrap()])
    }

    /// A process that is `codex exec` by its command line.
    pub(crate) fn single_run_of_codex(world: &World) -> Self {
        // What is found on the path may be a script that runs another program.
        let named = r#"import os, sys; os.execv(sys.executable, ["codex", "-c", sys.argv[1], "exec"])"#;
        Self::run(world, &["-c", named, CLIENT])
    }

    fn run(world: &World, words: &[&str]) -> Self {
        let mut child = world
            .program("python3")
            .args(words)
            .env_remove("ATM_AS")
            .env_remove("ATM_TEAM")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Calls a program with what the client says on its standard input: its exit code, and what it wrote.
    pub(crate) fn call(
        &mut self,
        words: &[&str],
        said: &Value,
        (variables, folder): (&Value, Option<&std::path::Path>),
    ) -> (i64, String, String) {
        writeln!(self.input, "{}", json!([words, said, variables, folder])).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// What the client's own registry says of its session, where the system says when processes started.
    pub(crate) fn registers(&self, world: &World, mut entry: Value) {
        let pid = self.pid();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let since = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
        (entry["pid"], entry["procStart"]) = (pid.into(), since.into());
        let folder = world.root().join("sessions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{pid}.json")), entry.to_string()).unwrap();
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
