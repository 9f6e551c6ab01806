//! Who is there: by real processes, real panes and real mail.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use atm_office::people::pane::PaneHost;
use atm_panes::{Backend, PaneSpec, Place, Program, Server, Tmux};
use atm_store::Layout;
use atm_support::TestTeam;
use serde_json::{Value, json};

use crate::scene::{World, foreign_team};

/// The state of a member, and what decided.
fn state(world: &World, name: &str) -> (String, String) {
    let found = world.json(&["status", name]);
    let decides = |trace: &&Value| trace["weight"] == "decides";
    let why = found["evidence"].as_array().unwrap().iter().find(decides).unwrap()["what"].clone();
    (found["state"].as_str().unwrap().to_owned(), why.as_str().unwrap().to_owned())
}

/// Puts keys into the team's configuration, as another program would.
fn edit(team: &TestTeam, edit: impl FnOnce(&mut Value)) {
    let mut config: Value = serde_json::from_slice(&fs::read(team.config_file()).unwrap()).unwrap();
    edit(&mut config);
    fs::write(team.config_file(), config.to_string()).unwrap();
}

/// A process that is not ours to be found by, ended with the test.
struct Running(Child);

impl Running {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A tmux server that ends with the test, on every path.
struct Ended(PathBuf);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.0).arg("kill-server").output();
    }
}

/// When a process started, as the newest clients write it.
#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned()
}

#[cfg(not(target_os = "linux"))]
fn start_of(pid: u32) -> String {
    let said = Command::new("ps").args(["-o", "lstart=", "-p", &pid.to_string()]).env("LC_ALL", "C").output();
    String::from_utf8(said.unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn the_lead_s_recorded_process_tells_of_the_lead_and_of_those_who_live_in_it() {
    let (world, team) = foreign_team(Layout::Array);
    edit(&team, |config| config["members"][1]["backendType"] = json!("in-process"));
    assert_eq!(state(&world, "team-lead").0, "unknown", "nothing is known");
    let lead = Running::start();
    let (pid, start) = (lead.pid(), start_of(lead.pid()));
    let record = |pid: u32, start: &str| {
        let process = json!({"pid": pid, "claimedAt": 1_794_769_406_731_u64, "procStart": start});
        edit(&team, |config| config["leadProcess"] = process);
    };
    record(pid, &start);
    assert_eq!(state(&world, "team-lead"), ("online".to_owned(), format!("its process {pid} runs")));
    let lives = format!("the lead's process {pid}, in which it lives, runs");
    assert_eq!(state(&world, "alice"), ("online".to_owned(), lives));
    assert_eq!(state(&world, "bob").0, "unknown", "who runs elsewhere is not told by it");

    record(pid, "1");
    let (now, why) = state(&world, "team-lead");
    assert_eq!(now, "offline", "{why}");
    assert!(why.ends_with("its number is another's now"), "{why}");

    record(pid, &start);
    edit(&team, |config| config["leadProcess"]["pidSpace"] = json!("another-host#pid:[1]"));
    assert_eq!(state(&world, "team-lead").0, "unknown", "it cannot be asked from here");

    record(pid, &start);
    drop(lead);
    assert_eq!(state(&world, "team-lead"), ("offline".to_owned(), format!("its process {pid} is gone")));
    assert_eq!(state(&world, "alice").0, "offline");
}

#[test]
fn an_idle_word_a_heartbeat_and_taken_mail_change_the_state() {
    let world = World::with_team();
    assert_eq!(state(&world, "alice").0, "online");
    world.ok(&["--as", "alice", "idle"]);
    assert_eq!(state(&world, "alice").0, "idle");
    let shown = world.ok(&["status", "alice", "--why"]);
    assert!(shown.contains("idle") && shown.contains("said that it is idle (available) "), "{shown}");
    world.ok(&["send", "alice", "work"]);
    assert_eq!(state(&world, "alice").0, "idle", "mail that waits wakes nobody");
    world.ok(&["--as", "alice", "read"]);
    assert_eq!(state(&world, "alice").0, "online");
    world.ok(&["--as", "alice", "idle"]);
    world.ok(&["--as", "alice", "heartbeat", "--task", "5", "--progress", "60"]);
    let members = world.json(&["members"]);
    assert_eq!(members[1]["state"], "online");
    let evidence = members[1]["evidence"].to_string();
    assert!(evidence.contains("gave a heartbeat (task 5, 60 %)"), "{evidence}");
    assert_eq!(world.atm(&["status", "nobody"]).code, Some(3));
}

#[test]
fn a_client_s_own_idle_word_counts_without_a_ledger() {
    let (world, team) = foreign_team(Layout::Array);
    let now = world.office().now();
    let said =
        json!({"type": "idle_notification", "from": "alice", "timestamp": now, "idleReason": "available"});
    let entry = json!([{"from": "alice", "text": said.to_string(), "timestamp": now, "read": true}]);
    team.write_inbox("team-lead", entry.to_string());
    assert_eq!(world.json(&["members"])[1]["state"], "idle");
    assert!(!world.state().exists(), "looking made nothing");
}

#[test]
fn off_is_not_believed_of_somebody_who_speaks() {
    let world = World::with_team();
    world.ok(&["member", "set", "bob", "--active", "false"]);
    assert_eq!(state(&world, "bob"), ("offline".to_owned(), "isActive is false in config.json".to_owned()));
    world.ok(&["--as", "bob", "send", "alice", "I am here"]);
    assert_eq!(state(&world, "bob").0, "online");
    let found = world.json(&["status", "bob"]);
    let overruled =
        found["evidence"].as_array().unwrap().iter().filter(|t| t["weight"] == "overruled").count();
    assert_eq!(overruled, 2, "the flag and its date are shown, and not believed: {found}");
    let sent = world.json(&["send", "bob", "hello"]);
    assert_eq!(sent["status"], "delivered", "sending goes by the same rules");
}

#[test]
fn who_does_not_answer_a_check_is_stalled_until_it_is_heard_of() {
    let world = World::with_team();
    let early = atm_wire::Stamp::from_millis(world.office().now().as_millis() - 31_000);
    let office = world.office().with_clock(atm_office::clock::FixedClock(early));
    office.team(&super::dev()).unwrap().ask_health(&super::name("team-lead"), &super::name("bob")).unwrap();
    assert_eq!(state(&world, "bob").0, "stalled");
    world.ok(&["--as", "bob", "heartbeat"]);
    assert_eq!(state(&world, "bob").0, "online");
}

#[test]
fn a_status_that_is_watched_is_told_again_when_something_changes() {
    let world = World::with_team();
    let mut watching = world.start(&["status", "--watch", "--count", "2", "--for", "60s", "--json"]);
    watching.wait_until_it_watches();
    // It may be before its first look: so it goes on until both pictures were drawn.
    let mut active = true;
    atm_support::wait_until("it has shown two pictures", || {
        active = !active;
        world.ok(&["member", "set", "bob", "--active", if active { "true" } else { "false" }]);
        !watching.is_running()
    });
    let answer = watching.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let pictures: Vec<Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(pictures.len(), 2, "JSON Lines: {}", answer.stdout);
    assert_ne!(pictures[0]["members"], pictures[1]["members"]);
    assert_eq!(world.atm(&["status", "--count", "1"]).code, Some(2), "only with --watch");
}

#[test]
fn a_pane_tells_whatever_the_flag_says() {
    let (world, team) = foreign_team(Layout::Array);
    let socket = world.home().join("tmux.sock");
    let _server = Ended(socket.clone());
    let tmux = Tmux::on(Server::Socket(socket));
    let spec = PaneSpec {
        session: "dev".to_owned(),
        title: "bob".to_owned(),
        member: "bob@dev".to_owned(),
        place: Place::Window,
        cwd: world.home(),
    };
    let pane = tmux.open(&spec).unwrap();
    edit(&team, |config| {
        let bob = &mut config["members"][2];
        (bob["tmuxPaneId"], bob["backendType"], bob["isActive"]) =
            (json!(pane.id), json!("tmux"), json!(true));
    });
    let (now, why) = state(&world, "bob");
    assert_eq!(now, "online", "{why}");
    assert!(
        world.json(&["status", "bob"]).to_string().contains("which atm did not open"),
        "a number is no proof"
    );

    let ours = json!({"atm": {"spawn": {"socket": pane.socket, "token": pane.token, "command": ["sleep"]}}});
    edit(&team, |config| config["members"][2]["metadata"] = ours);
    let program = Program {
        command: vec!["sleep".to_owned(), "600".to_owned()],
        cwd: world.home(),
        ..Program::default()
    };
    tmux.start(&pane, &program).unwrap();
    edit(&team, |config| config["members"][2]["isActive"] = json!(false));
    let (now, why) = state(&world, "bob");
    assert_eq!(now, "idle", "{why}");
    assert!(why.contains(&format!("pane {} of ", pane.id)) && why.contains(" runs (process "), "{why}");

    tmux.close(&pane).unwrap();
    edit(&team, |config| config["members"][2]["isActive"] = json!(true));
    let (now, why) = state(&world, "bob");
    assert_eq!(now, "offline", "{why}");
    let found = world.json(&["status", "bob"])["evidence"].to_string();
    assert!(found.contains(&format!("pane {} of ", pane.id)) && found.contains(" is gone"), "{found}");
}
