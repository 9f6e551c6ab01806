//! The guide's own commands and configuration, as they stand there: a hub with TLS, two laptops, mail in both directions.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use atm_support::wait_until;
use nkeys::KeyPair;
use tempfile::TempDir;

use super::credentials::Operator;
use super::server::program;
use super::world::{Machine, TEAM};

const GUIDE: &str = include_str!("../../../../docs/guides/bridge.md");

/// The blocks of the guide, each with what it is written in.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let fenced = GUIDE.split("\n```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').unwrap()).collect()
}

/// The one block that has these words.
fn block(words: &str) -> &'static str {
    let found: Vec<&str> =
        blocks().into_iter().map(|(_, text)| text).filter(|text| text.contains(words)).collect();
    assert_eq!(found.len(), 1, "{words}");
    found[0]
}

struct Hub {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Runs a block in a shell, with `atm bridge` as the bridge that is tested, and the hub on this machine.
fn shell(machine: &Machine, folder: &Path, text: &str, port: u16) -> String {
    let text = text
        .replace("atm bridge", env!("CARGO_BIN_EXE_atm-bridge"))
        .replace("PASSWORD@hub:4222", &format!("secret@localhost:{port}"))
        .replace("DNS:hub", "DNS:localhost");
    let mut command = machine.env().atm("sh");
    let output = command.args(["-e", "-c", &text]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{said}{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).unwrap()
}

impl Hub {
    /// Steps 1 and 2 of the guide.
    fn set_up(machine: &Machine) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        shell(machine, folder.path(), block("subjectAltName"), port);
        shell(machine, folder.path(), block("--permissions"), port);
        let config = block("cert_file: \"hub.pem\"").replace("0.0.0.0:4222", &format!("127.0.0.1:{port}"));
        fs::write(folder.path().join("nats.conf"), config).unwrap();
        let mut server = Command::new(program());
        for user in ["ADMIN", "ANN", "BOB"] {
            server.env(format!("{user}_PASSWORD"), "secret");
        }
        server.args(["-c", "nats.conf"]).current_dir(folder.path());
        let child = server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let hub = Self { folder, port, child };
        wait_until("the hub listens", || TcpStream::connect(("127.0.0.1", hub.port)).is_ok());
        let said = shell(machine, hub.folder.path(), block("atm bridge doctor"), hub.port);
        assert!(said.contains("the server wants TLS") && !said.contains("error "), "{said}");
        hub
    }

    /// Step 4 on one laptop: its settings.
    fn write_settings(&self, machine: &Machine, user: &str) {
        let text = block("teams = [\"alpha\"]")
            .replace("PASSWORD@hub:4222", &format!("secret@localhost:{}", self.port))
            .replace("ann-laptop", user)
            .replace("\"alpha\"", &format!("\"{TEAM}=alpha\""));
        let folder = machine.env().home().join(".config/atm");
        fs::create_dir_all(&folder).unwrap();
        fs::copy(self.folder.path().join("ca.pem"), folder.join("ca.pem")).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }
}

/// What the server says of a configuration that stands in the guide, with keys and rights as they come out of its commands.
fn check_configuration(machine: &Machine, text: &str) {
    let folder = tempfile::tempdir().unwrap();
    shell(machine, folder.path(), block("--permissions"), 0);
    fs::write(folder.path().join("nats.conf"), text).unwrap();
    let output =
        Command::new(program()).args(["-t", "-c", "nats.conf"]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_server_takes_the_guides_configurations_for_nkeys_and_jwt() {
    let machine = Machine::new("ann-laptop", "", &["ann"]);
    let keys = ["UADMIN…", "UANN…", "UBOB…"];
    let nkeys = keys.iter().fold(block("nkey: UADMIN").to_owned(), |text, key| {
        text.replace(key, &KeyPair::new_user().public_key())
    });
    check_configuration(&machine, &nkeys);
    // The guide's lines, with what an operator's own tools would put there.
    let made = Operator::new().configuration;
    let words = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.split('#').next()?.split(':').next());
        lines.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).collect()
    };
    let named = |key: &String| !key.starts_with('A') && key != "}";
    let keys_of = |text: &str| words(text).into_iter().filter(named).collect::<Vec<_>>();
    assert_eq!(keys_of(block("operator: eyJ")), keys_of(&made));
    check_configuration(&machine, &made);
}

#[test]
fn two_laptops_and_a_hub_as_the_guide_says() {
    let (ann, bob) = (Machine::new("ann-laptop", "", &["ann"]), Machine::new("bob-laptop", "", &["bob"]));
    let hub = Hub::set_up(&ann);
    for (one, other) in [(&ann, &bob), (&bob, &ann)] {
        let key = one.run(&["key", "--machine", &one.name]);
        let line = String::from_utf8(key.stdout).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        other.json(&["trust", words[0], words[1]]);
    }
    hub.write_settings(&ann, "ann-laptop");
    hub.write_settings(&bob, "bob-laptop");
    let mut bridges = [&ann, &bob].map(|machine| {
        machine.command(&["run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    ann.wait_for_member("bob");
    bob.wait_for_member("ann");
    ann.send("ann", "bob", "please look");
    wait_until("it has arrived", || bob.texts("bob") == ["please look"]);
    bob.send("bob", "ann", "I did");
    wait_until("the answer has arrived", || ann.texts("ann") == ["I did"]);
    let doctor = ann.json(&["doctor"]);
    let settings = doctor["checks"].as_array().unwrap().iter().find(|check| check["about"] == "settings");
    assert!(settings.is_some(), "the file with the password can be read by others: {doctor}");
    for bridge in &mut bridges {
        bridge.kill().unwrap();
        bridge.wait().unwrap();
    }
}
