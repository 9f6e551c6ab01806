//! What people meet when something is wrong: each error says what to do next, and ends with its code.

use std::fs;
use std::process::{Command, Stdio};

use atm_support::wait_until;

use super::server::Server;
use super::world::Machine;

/// Exit code and words of a command that fails; with `--json` the same as an error that fits its schema.
fn fails(machine: &Machine, words: &[&str]) -> (Option<i32>, String) {
    let plain = machine.run(words);
    let json = machine.run(&[words, &["--json"]].concat());
    assert_eq!(plain.status.code(), json.status.code(), "{words:?}");
    let error: serde_json::Value = serde_json::from_slice(&json.stderr).unwrap();
    let error = &error["error"];
    assert!(error["code"].is_string() && error["message"].is_string(), "{error}");
    assert_eq!(error["exit"].as_i64(), json.status.code().map(i64::from));
    assert!(error.get("hint").is_some(), "{error}");
    (plain.status.code(), String::from_utf8(plain.stderr).unwrap())
}

#[test]
fn every_command_has_help_with_examples_and_exit_codes() {
    let machine = Machine::new("laptop", "nats://127.0.0.1:1", &[]);
    for command in ["run", "status", "doctor", "init", "key", "trust", "machines", "dead", "take", "unshare"]
    {
        let help = String::from_utf8(machine.run(&[command, "--help"]).stdout).unwrap();
        assert!(help.contains("Examples:\n  atm bridge") && help.contains("Exit codes: "), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        assert_eq!(machine.run(&["help", command]).status.code(), Some(0));
    }
    let bare = machine.run(&[]);
    assert_eq!(bare.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&bare.stderr).contains("machines"), "the list of commands");
}

#[test]
fn a_server_that_is_not_there_or_not_meant_is_told_with_what_to_do() {
    let (server, secret) =
        (Server::new(), Server::start_with("authorization { user: ann, password: secret }"));
    let machine = Machine::new("laptop", "", &[]);
    let tls = server.url().replace("nats://", "tls://");
    let wrong = secret.url().replace("nats://", "nats://ann:wrong@");
    for (url, code, said) in [
        ("nats://127.0.0.1:1", 7, "is the server there?"),
        ("nats://no such host", 2, "nats://HOST:4222"),
        (tls.as_str(), 7, "speaks no TLS"),
        (wrong.as_str(), 4, "credentials"),
        (secret.url().as_str(), 4, "credentials"),
    ] {
        let (found, text) = fails(&machine, &["doctor", "--nats", url]);
        assert!(found == Some(code) && text.contains(said), "{url}: {found:?} {text}");
        assert!(!text.contains("wrong"), "no password is shown: {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let junk = folder.path().join("junk");
    fs::write(&junk, "junk").unwrap();
    for option in ["--tls-ca", "--creds", "--nkey"] {
        for path in [junk.as_path(), &folder.path().join("nothing")] {
            let path = path.to_str().unwrap();
            let (code, text) = fails(&machine, &["doctor", "--nats", &server.url(), option, path]);
            assert!(code == Some(7) && text.contains(path), "{option}: {text}");
        }
    }
}

#[test]
fn a_running_bridge_says_why_it_is_not_let_in() {
    let server = Server::start_with("authorization { user: ann, password: secret }");
    let mut machine = Machine::new("laptop", &server.url().replace("nats://", "nats://ann:wrong@"), &["ann"]);
    machine.start();
    wait_until("status says why", || {
        machine.status()["lastError"]["what"]
            .as_str()
            .is_some_and(|what| what.contains("authorization violation"))
    });
    assert_eq!(machine.status()["connected"], false);
}

#[test]
fn a_first_start_without_troubles_tells_of_none_and_names_missing_teams() {
    let server = Server::new();
    let machine = Machine::new("laptop", &server.url(), &["ann"]);
    let words = machine.at_server(&["run", "--team", "demo", "--team", "demmo=other"]);
    let mut bridge = machine.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("it is connected", || !machine.status()["stream"].is_null());
    wait_until("it listens", || machine.json(&machine.at_server(&["doctor"]))["healthy"] == true);
    let status = machine.status();
    assert!(status["lastError"].is_null(), "{status}");
    assert_eq!(status["missingTeams"], serde_json::json!(["demmo"]));
    assert!(status["tally"]["refused"].as_object().unwrap().is_empty(), "doctor leaves nothing: {status}");
    let shown = String::from_utf8(machine.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("demmo is not here"), "{shown}");
    // Ctrl-C.
    Command::new("kill").args(["-INT", &bridge.id().to_string()]).status().unwrap();
    assert_eq!(bridge.wait().unwrap().code(), Some(0));
    let said = std::io::read_to_string(bridge.stderr.take().unwrap()).unwrap();
    assert!(said.contains("no team demmo"), "{said}");
    assert_eq!(machine.status()["running"], false);
}

#[test]
fn permissions_are_printed_without_a_server() {
    let machine = Machine::new("laptop", "nats://127.0.0.1:1", &[]);
    let printed = machine.run(&["init", "--permissions", "--realm", "work", "--for", "desk"]);
    let text = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(printed.status.code(), Some(0));
    assert!(text.contains("permissions {") && text.contains("atm.work.to.*.from.desk.>"), "{text}");
}

#[test]
fn settings_are_used_and_wrong_ones_are_told_with_their_file() {
    let server = Server::new();
    let machine = Machine::new("laptop", "", &["ann"]);
    let settings = machine.env().home().join(".config/atm/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let write = |text: &str| fs::write(&settings, text).unwrap();
    write(&format!("[bridge]\nnats = \"{}\"\nmachine = \"desk\"\nrealm = \"work\"\n", server.url()));
    let made = machine.json(&["init"]);
    assert_eq!((&made["realm"], made["permissions"]["desk"].is_string()), (&"work".into(), true));
    for (text, code, said) in [
        ("[bridge]\nnats = 7\n", 6, "config.toml"),
        ("[bridge]\nserver = \"x\"\n", 6, "server"),
        ("[bridge]\nnats = \"nats://hub\"\ncreds = \"a\"\nnkey = \"b\"\n", 2, "creds and nkey"),
        ("[bridge]\nnats = \"nats://hub\"\ntls_cert = \"a\"\n", 2, "tls_key"),
        ("[bridge]\nnats = \"nats://127.0.0.1:1\"\nnkey = \"none.nk\"\n", 7, "none.nk"),
    ] {
        write(text);
        let (found, words) = fails(&machine, &["doctor"]);
        assert!(found == Some(code) && words.contains(said), "{text}: {found:?} {words}");
    }
}
