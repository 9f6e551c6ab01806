//! Start, look, end, start again.

use std::fs;

use atm_support::wait_until;
use serde_json::{Value, json};

use super::Stage;
use crate::scene::{Answer, texts};

#[test]
fn a_member_is_started_with_its_name_its_inbox_and_its_prompt() {
    let stage = Stage::new();
    let script = "echo \"I am $ATM_AS of $ATM_TEAM\"; echo \"in $PWD\"; sleep 600";
    let home = stage.world.home();
    let more = ["--prompt", "You test the login.", "--model", "opus", "--", "sh", "-c", script];
    let started = stage.spawn("bob", &more);
    assert_eq!((&started["name"], &started["team"]), (&json!("bob"), &json!("dev")));
    assert_eq!(started["command"], json!(["sh", "-c", script]));
    assert!(started["pid"].as_u64().unwrap() > 1);

    let entry = stage.entry("bob");
    for (key, value) in [
        ("agentId", json!("bob@dev")),
        ("color", json!("blue")),
        ("tmuxPaneId", started["pane"].clone()),
        ("backendType", json!("tmux")),
        ("isActive", json!(true)),
        ("model", json!("opus")),
        ("prompt", json!("You test the login.")),
        ("cwd", json!(home.canonicalize().unwrap())),
    ] {
        assert_eq!(entry[key], value, "{key}");
    }
    assert!(entry["joinedAt"].is_i64() && entry["spawnedAt"].is_string(), "{entry}");

    let mail = stage.world.json(&["inbox", "bob"]);
    let first = &mail[0];
    assert_eq!((first["from"].as_str(), first["type"].as_str()), (Some("system"), Some("system_init")));
    assert_eq!(
        (first["text"].as_str(), first["color"].as_str()),
        (Some("You test the login."), Some("system"))
    );
    assert_eq!(first["read"], false);

    stage.wait_for_screen("bob", "I am bob of dev");
    stage.wait_for_screen("bob", "in /");
    assert_eq!(stage.state("bob"), "online");
    assert!(stage.world.ok(&["members"]).contains("runs"));
    assert_ne!(stage.spawn("eve", &["--", "sleep", "600"])["pane"], started["pane"]);
    assert_eq!(stage.entry("eve")["color"], "green");
}

#[test]
fn a_member_reads_and_writes_mail_as_itself() {
    let stage = Stage::new();
    let atm = crate::scene::ATM;
    let script =
        format!("'{atm}' read --wait 30s --json >/dev/null && '{atm}' send team-lead 'got it'; sleep 600");
    stage.script("bob", &script);
    stage.world.ok(&["--as", "team-lead", "send", "bob", "please look"]);
    wait_until("bob answers", || !stage.world.json(&["inbox", "team-lead"]).as_array().unwrap().is_empty());
    let answer = &stage.world.json(&["inbox", "team-lead"])[0];
    assert_eq!((answer["from"].as_str(), answer["text"].as_str()), (Some("bob"), Some("got it")));
    assert_eq!(answer["color"], "blue");
}

#[test]
fn an_exit_is_noticed_without_being_asked() {
    let stage = Stage::new();
    stage.spawn("eve", &["--", "sleep", "600"]);
    let gate = stage.world.home().join("gate");
    let script = format!("while [ ! -e '{}' ]; do sleep 0.01; done; exit 3", gate.display());
    stage.script("bob", &script);
    assert_eq!(stage.entry("bob")["isActive"], true);
    fs::write(&gate, "").unwrap();
    // tmux tells us; should it miss the end of a child, the end of the next one makes it look. In the background: it would
    // wait for a child whose end it misses.
    wait_until("the end is in config.json", || {
        stage.tmux(&["run-shell", "-b", ":"]);
        stage.entry("bob")["isActive"] == false
    });
    assert!(stage.entry("bob")["shutdownAt"].is_string());
    assert_eq!(stage.entry("bob")["metadata"]["atm"]["spawn"]["exit"], "it ended with status 3");
    wait_until("its pane is closed", || stage.panes() == 1);
    assert_eq!(stage.entry("eve")["isActive"], true);
}

#[test]
fn a_pane_that_was_closed_and_a_server_that_is_gone_are_noticed_at_the_next_look() {
    let stage = Stage::new();
    stage.spawn("eve", &["--", "sleep", "600"]);
    let pane = stage.spawn("bob", &["--", "sleep", "600"])["pane"].as_str().unwrap().to_owned();
    stage.tmux(&["kill-pane", "-t", &pane]);
    assert_eq!(stage.state("bob"), "offline");
    assert_eq!(stage.state("eve"), "online");
    stage.tmux(&["kill-server"]);
    wait_until("eve is off", || stage.state("eve") == "offline");
    let sent = stage.world.json(&["send", "eve", "are you there?"]);
    assert_eq!(sent["status"], "queued");
}

#[test]
fn a_stranger_in_the_pane_of_that_number_is_not_the_member() {
    let stage = Stage::new();
    let pane = stage.spawn("bob", &["--", "sleep", "600"])["pane"].clone();
    stage.tmux(&["kill-server"]);
    wait_until("bob is off", || stage.state("bob") == "offline");
    stage.tmux(&["new-session", "-d", "sleep", "600"]);
    assert_eq!(stage.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).trim(), pane.as_str().unwrap());
    // `isActive` says that it runs, but the program in that pane is another one.
    stage.world.ok(&["member", "set", "bob", "--active", "true"]);
    assert_eq!(stage.state("bob"), "offline");
    assert_eq!(stage.panes(), 1, "the stranger's pane was closed");
}

#[test]
fn kill_closes_the_pane_and_keeps_the_mail() {
    let stage = Stage::new();
    stage.spawn("eve", &["--", "sleep", "600"]);
    stage.spawn("bob", &["--", "sleep", "600"]);
    stage.world.ok(&["send", "bob", "hello"]);
    assert_eq!(stage.world.json(&["kill", "bob"])["killed"], true);
    assert_eq!(stage.panes(), 1);
    let entry = stage.entry("bob");
    assert!(entry["isActive"] == false && entry["shutdownAt"].is_string(), "{entry}");
    assert_eq!(texts(&stage.world.json(&["inbox", "bob"])), ["hello"]);
    assert_eq!(stage.world.json(&["kill", "bob"])["killed"], false, "it is off already");
}

#[test]
fn one_that_returns_gets_its_inbox_its_backlog_tagged_once_and_no_old_shutdown() {
    let stage = Stage::new();
    let world = &stage.world;
    stage.spawn("bob", &["--prompt", "You test.", "--", "sleep", "600"]);
    world.ok(&["--as", "team-lead", "send", "bob", "sent while it ran"]);
    world.ok(&["--as", "team-lead", "shutdown", "request", "bob", "--reason", "too old"]);
    world.ok(&["kill", "bob"]);
    world.ok(&["--as", "team-lead", "send", "bob", "sent while it was off"]);

    let answer = stage.start("respawn", "bob", &[]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let started: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((&started["command"], &started["offered"]), (&json!(["sleep", "600"]), &json!(2)));
    assert!(started["warnings"][0].as_str().unwrap().contains("shutdown request"), "{started}");

    let mail = world.json(&["inbox", "bob", "--unread"]);
    let tagged = |text: &str| text.starts_with("[PENDING ACTION");
    let all = texts(&mail);
    assert_eq!(all.iter().filter(|text| text.contains("You test.")).count(), 1, "{all:?}");
    for words in ["sent while it ran", "sent while it was off"] {
        let found: Vec<_> = all.iter().filter(|text| text.ends_with(words)).collect();
        assert!(found.len() == 1 && tagged(found[0]), "{all:?}");
    }
    assert!(!all.iter().any(|text| text.contains("shutdown_request")), "{all:?}");
    assert_eq!(stage.entry("bob")["isActive"], true);

    // Offered once: nothing is tagged a second time.
    world.ok(&["kill", "bob"]);
    assert_eq!(stage.start("respawn", "bob", &[]).code, Some(0));
    let again = texts(&world.json(&["inbox", "bob", "--unread"]));
    assert!(again.iter().all(|text| text.matches("PENDING ACTION").count() <= 1), "{again:?}");
    assert_eq!(again.len(), all.len());
}

#[test]
fn one_that_returns_can_run_something_else() {
    let stage = Stage::new();
    stage.world.ok(&["member", "add", "bob", "--inactive"]);
    let answer = stage.start("respawn", "bob", &["--", "sh", "-c", "echo returned; sleep 600"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    stage.wait_for_screen("bob", "returned");
    assert_eq!(stage.entry("bob")["backendType"], "tmux");
}

#[test]
fn agent_clients_get_their_flags_and_variables() {
    let stage = Stage::new();
    let bin = stage.world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let fake = "#!/bin/sh\necho \"$0 $*\" | fold -w 60\necho \"teams $CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS in $CLAUDE_CONFIG_DIR\" | fold -w 60\nsleep 600\n";
    for client in ["claude", "codex"] {
        let file = bin.join(client);
        fs::write(&file, fake).unwrap();
        assert!(std::process::Command::new("chmod").arg("+x").arg(&file).status().unwrap().success());
    }
    let socket = stage.socket();
    let run = |args: &[&str]| {
        let mut command =
            stage.world.command(&[args, &["--socket", socket.to_str().unwrap(), "--json"]].concat());
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", bin.display()));
        let answer = Answer::of(&stage.world, &command.output().unwrap());
        assert_eq!(answer.code, Some(0), "{answer:?}");
        serde_json::from_str::<Value>(&answer.stdout).unwrap()
    };
    let claude = run(&["spawn", "bob", "--client", "claude", "--model", "opus", "--plan-mode"]);
    let words: Vec<&str> =
        claude["command"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    let flags = "claude --agent-id bob@dev --agent-name bob --team-name dev --agent-color blue --agent-type \
                 general-purpose --model opus --plan-mode-required";
    assert_eq!(words.join(" "), flags);
    assert_eq!(stage.entry("bob")["planModeRequired"], true);
    stage.wait_for_screen("bob", "teams 1 in");
    let screen = stage.screen("bob").replace('\n', "");
    assert!(screen.contains("--plan-mode-required"), "{screen}");
    assert!(screen.contains(stage.world.root().to_str().unwrap()), "{screen}");

    let codex = run(&["spawn", "eve", "--client", "codex"]);
    assert_eq!(codex["command"], json!(["codex"]));
    assert_eq!(stage.entry("eve")["model"], "codex");
    stage.wait_for_screen("eve", "/codex");
}

#[test]
fn splits_share_a_window_and_windows_do_not() {
    let stage = Stage::new();
    stage.spawn("ann", &["--", "sleep", "600"]);
    stage.spawn("bob", &["--place", "split", "--", "sleep", "600"]);
    assert_eq!(stage.tmux(&["list-windows", "-a"]).lines().count(), 1);
    stage.spawn("eve", &["--", "sleep", "600"]);
    assert_eq!(stage.tmux(&["list-windows", "-a"]).lines().count(), 2);
    assert_eq!((stage.panes(), stage.tmux(&["list-sessions"]).lines().count()), (3, 1));
}

#[test]
fn inside_tmux_the_callers_own_server_is_used_and_attach_switches() {
    let stage = Stage::new();
    let pane = stage.spawn("ann", &["--", "sleep", "600"])["pane"].as_str().unwrap().to_owned();
    let inside = |args: &[&str]| {
        let mut command = stage.world.command(args);
        command.env("TMUX", format!("{},1,0", stage.socket().display())).env("TMUX_PANE", &pane);
        let answer = Answer::of(&stage.world, &command.output().unwrap());
        assert_eq!(answer.code, Some(0), "{answer:?}");
        serde_json::from_str::<Value>(&answer.stdout).unwrap()
    };
    inside(&["spawn", "bob", "--json", "--", "sleep", "600"]);
    assert_eq!((stage.panes(), stage.tmux(&["list-sessions"]).lines().count()), (2, 1));
    let shown = inside(&["attach", "bob", "--json"]);
    assert!(shown["args"].as_array().unwrap().contains(&json!("switch-client")), "{shown}");
    let outside = stage.world.json(&["attach"]);
    assert!(outside["args"].as_array().unwrap().contains(&json!("attach-session")), "{outside}");
    assert_eq!(outside["pane"], pane);
}

#[test]
fn attach_shows_the_members_screen() {
    let stage = Stage::new();
    stage.script("bob", "echo here I am; sleep 600");
    stage.wait_for_screen("bob", "here I am");
    // A terminal of its own to attach in: a pane of another server.
    let outer = stage.world.root().with_file_name("outer");
    let tmux = |args: &[&str]| {
        let mut command = stage.world.program("tmux");
        let said = command.arg("-S").arg(&outer).args(args).env("TERM", "screen").output().unwrap();
        String::from_utf8_lossy(&said.stdout).into_owned()
    };
    tmux(&["new-session", "-d", "-x", "100", "-y", "30", crate::scene::ATM, "attach", "bob"]);
    wait_until("the screen is shown", || tmux(&["capture-pane", "-p"]).contains("here I am"));
    tmux(&["kill-server"]);
}

#[test]
fn without_a_server_of_ones_own_atm_has_one() {
    let stage = Stage::new();
    let run = |args: &[&str]| {
        let mut command = stage.world.command(args);
        command.env("TMUX_TMPDIR", stage.world.home());
        Answer::of(&stage.world, &command.output().unwrap())
    };
    let answer = run(&["spawn", "bob", "--json", "--", "sleep", "600"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let started: Value = serde_json::from_str(&answer.stdout).unwrap();
    let socket = started["socket"].as_str().unwrap().to_owned();
    assert!(socket.starts_with(stage.world.home().to_str().unwrap()) && socket.ends_with("/atm"), "{socket}");
    // Where it is, is remembered: no later command needs to be told.
    assert_eq!(stage.state("bob"), "online");
    assert_eq!(stage.world.json(&["kill", "bob"])["killed"], true);
}

/// A member's report of itself.
fn report(stage: &Stage, name: &str) -> Value {
    stage.world.json(&["artifacts", "list", name])[0]["status"].clone()
}

#[test]
fn output_and_report_are_kept_for_others() {
    let stage = Stage::new();
    stage.spawn("eve", &["--", "sleep", "600"]);
    let gate = stage.world.home().join("gate");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.01; done", gate.display());
    stage.script("bob", &format!("echo first words; {wait}; echo last words"));
    stage.script("ann", &format!("{wait}; exit 2"));
    assert_eq!(report(&stage, "bob")["status"], "running");
    fs::write(&gate, "").unwrap();
    wait_until("both have ended", || stage.state("bob") == "offline" && stage.state("ann") == "offline");
    let bob = report(&stage, "bob");
    assert_eq!(bob["status"], "complete", "{bob}");
    assert!(bob["completedAt"].is_string(), "{bob}");
    let ann = report(&stage, "ann");
    assert_eq!((&ann["status"], &ann["errorMessage"]), (&json!("error"), &json!("it ended with status 2")));
    let log = || fs::read_to_string(stage.world.root().join("tasks/dev/bob/output.log")).unwrap();
    wait_until("the log is whole", || log().contains("first words") && log().contains("last words"));
    stage.world.ok(&["kill", "eve"]);
    assert_eq!(report(&stage, "eve")["status"], "complete");
}

#[test]
fn a_log_that_cannot_be_written_stops_nobody() {
    let stage = Stage::new();
    fs::create_dir_all(stage.world.root().join("tasks/dev/bob")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", stage.world.root().join("tasks/dev/bob/output.log")).unwrap();
    let started = stage.spawn("bob", &["--", "sleep", "600"]);
    assert!(started["warnings"][0].as_str().unwrap().contains("its output is not kept"), "{started}");
    assert_eq!(stage.state("bob"), "online");
}

#[test]
fn one_that_agreed_to_end_is_over_when_its_program_is() {
    let stage = Stage::new();
    let world = &stage.world;
    stage.spawn("eve", &["--", "sleep", "600"]);
    let gate = world.home().join("gate");
    stage.script("bob", &format!("while [ ! -e '{}' ]; do sleep 0.01; done", gate.display()));
    world.ok(&["--as", "team-lead", "shutdown", "request", "bob"]);
    world.ok(&["--as", "bob", "shutdown", "approve", "--keep-pane"]);
    stage.state("bob");
    assert_eq!((&stage.entry("bob")["isActive"], stage.panes()), (&json!(false), 2), "off, and still at it");
    let at = stage.entry("bob")["shutdownAt"].clone();
    // It is still at it: no second one of its name.
    let again = stage.start("respawn", "bob", &[]);
    assert_eq!((again.code, again.error()["code"].as_str()), (Some(4), Some("runs")), "{again:?}");
    fs::write(&gate, "").unwrap();
    wait_until("its pane is closed", || {
        stage.state("bob");
        stage.panes() == 1
    });
    assert_eq!(stage.entry("bob")["shutdownAt"], at, "it ended when it said so");
    assert_eq!(report(&stage, "bob")["status"], "complete");
    assert_eq!(stage.start("respawn", "bob", &["--", "sleep", "600"]).code, Some(0));

    // One that agreed and does not end can be ended.
    world.ok(&["--as", "team-lead", "shutdown", "request", "bob"]);
    world.ok(&["--as", "bob", "shutdown", "approve", "--keep-pane"]);
    assert_eq!(world.json(&["kill", "bob"])["killed"], true);
    assert_eq!(stage.panes(), 1);
}
