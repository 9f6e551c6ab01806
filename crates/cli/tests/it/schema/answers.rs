//! Every answer with `--json`, from the real binary.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{closed, hold, schema};
use atm_support::wait_until;

use crate::panes::Stage;
use crate::scene::World;

/// What was held against its schema so far.
struct Holder<'a> {
    world: &'a World,
    held: BTreeSet<String>,
}

impl Holder<'_> {
    fn hold(&mut self, name: &str, document: &Value, what: &str) {
        hold(&closed(&schema(self.world, name)), document, what);
        self.held.insert(name.to_owned());
    }

    /// Runs a line, in which `_` stands for a blank, and holds its answer; gives it.
    fn run(&mut self, name: &str, line: &str) -> Value {
        let words: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = self.world.json(&words);
        self.hold(name, &answer, line);
        answer
    }
}

impl Holder<'_> {
    /// The same for an answer that is a stream.
    fn run_lines(&mut self, name: &str, line: &str) {
        let words: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        for document in self.world.ok(&words).lines() {
            self.hold(name, &serde_json::from_str(document).unwrap(), line);
        }
    }
}

#[test]
fn each_fits_its_schema() {
    let stage = Stage::new();
    let world = &stage.world;
    fs::write(world.home().join("f.txt"), "hello\n").unwrap();
    let mut all = Holder { world, held: BTreeSet::new() };
    teams(&mut all);
    mail(&mut all);
    work(&mut all);
    upkeep(&mut all);
    panes(&mut all, &stage);
    setting_up(&mut all);
    all.run("demo", "demo");
    let error = world.atm(&["track", "nothing", "--json"]).stderr;
    all.hold("error", &serde_json::from_str(&error).unwrap(), "an error");

    let list = world.json(&["schema"]);
    all.hold("schemas", &list, "schema");
    let answers = list.as_array().unwrap().iter().filter(|one| one["kind"] == "answer");
    // Those of `atm-bridge` are held by its own tests.
    let is_here = |name: &&str| !all.held.contains(*name) && !name.starts_with("bridge-");
    let missing: Vec<&str> = answers.filter_map(|one| one["name"].as_str()).filter(is_here).collect();
    assert_eq!(missing, [""; 0], "a schema without an answer");
}

fn teams(all: &mut Holder) {
    all.run("team-view", "team create other");
    all.run("teams", "team list");
    all.run("alias", "team alias second other");
    all.run("aliases", "team alias");
    all.run("alias", "team alias second --remove");
    all.run("sessions-alias", "sessions alias front .");
    all.run("sessions", "sessions --all");
    all.run("sessions-alias", "sessions alias front --remove");
    all.run("status-teams", "status --all-teams");
    all.run("status-teams", "-t dev -t other status");
    all.run("deleted", "team delete other");
    all.run("member-changed", "member add alice");
    all.run("member-changed", "member set alice --model opus");
    all.run("member-changed", "member add gone");
    all.run("member-changed", "member remove gone");
    all.run("team-show", "team show dev");
    let backup = all.world.home().join("dev.backup");
    all.run("backup", &format!("team backup dev --out {}", backup.display()));
    all.run("restored", &format!("team restore {} --as again --dry-run", backup.display()));
    all.run("config-restored", &format!("team restore {} --config-only --dry-run", backup.display()));
    all.run("converted", "team convert dev --to log");
    all.run("converted", "team convert dev --to array");
    all.world.ok(&["member", "add", "bobby"]);
    all.run("joined", "team join dev --session 0c8f1d8e-0000-4000-8000-000000000000");
}

fn mail(all: &mut Holder) {
    let id =
        all.run("sent", "--as alice send team-lead question --ack-by 1ms")["id"].as_str().unwrap().to_owned();
    all.run("pending", "pending");
    all.run("mutes", &format!("mute {id} alice"));
    all.run("status", "status");
    all.run("mutes", "mute alice --undo");
    all.run("sent", &format!("--as team-lead ack {id} got_it"));
    all.run("sent", &format!("--as team-lead reply {id} yes"));
    all.run("sent", "--as alice idle");
    all.run("sent-many", "--as alice heartbeat");
    all.run("messages", "inbox alice");
    all.run("messages", "--as alice read --limit 1");
    all.run("recalled", "--as alice recall last");
    all.run("track", &format!("track {id}"));
    all.run("track", "--as alice track last");
    all.run("track", "track question");
    all.run("history", "log");
    all.run("history", "search question");
    all.run("history", &format!("thread {id}"));
    all.run("stats", "stats");
    let plan = all.run("asked", "--as alice plan submit first_this");
    all.run("plans", "plan list");
    all.run("sent", &format!("--as team-lead plan approve {}", plan["request"].as_str().unwrap()));
    all.run("plans", "plan list");
    let end = all.run("asked", "--as team-lead shutdown request alice");
    all.run(
        "sent",
        &format!("--as alice shutdown reject {} --reason not_yet", end["request"].as_str().unwrap()),
    );
    all.run("status", "status");
    all.run("members", "members");
    all.run("status-member", "status alice --why");
    all.run("config", "config");
    all.run("config-set", "config set color never");
    all.run("config-set", "config set color --unset");
    all.run("tend-print", "tend --print cron");
    let told = all.world.home().join("told.json");
    all.world.ok(&["config", "set", "notify.command", &format!("tee,{}", told.display())]);
    all.run("notified", "notify test");
    let told = serde_json::from_str(&fs::read_to_string(told).unwrap()).unwrap();
    all.hold("notification", &told, "what a command gets");
    all.world.ok(&["config", "set", "notify.command", "--unset"]);
    all.run("daemon-started", "daemon start");
    all.run("daemon-status", "daemon status");
    all.run("daemon-log", "daemon logs -n 1");
    all.run("daemon-stopped", "daemon stop");
    all.run("daemon-installed", "daemon install --dry-run");
    all.run("daemon-installed", "daemon uninstall");
    fs::write(all.world.home().join(".atm.toml"), "color = \"never\"\n").unwrap();
    all.run("trust", "config trust");
    all.run("trusted", "config trust --list");
    all.run("trust", "config trust --remove");
    fs::remove_file(all.world.home().join(".atm.toml")).unwrap();
    questions(all);
    let settings = all.world.home().join(".config/atm");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("config.toml"), "[delivery]\nexpire_after = \"1ms\"\n").unwrap();
    all.world.ok(&["member", "set", "bobby", "--active", "false"]);
    all.run("sent", "send bobby later");
    all.world.ok(&["member", "set", "bobby", "--active", "true"]);
    let due = all.run("tend", "tend --dry-run");
    assert_eq!(due[0]["steps"][0]["chore"], "expire", "{due}");
    let given_up = all.run("retried", "retry");
    assert_eq!(given_up[0]["step"], "expire", "{given_up}");
}

/// Questions whose answers are waited for.
fn questions(all: &mut Holder) {
    let asked = |kind: &str, key: &str| {
        let mail = all.world.json(&["inbox", "alice", "--type", kind]);
        mail[0]["payload"][key].as_str().map(ToOwned::to_owned)
    };
    let ask = ["--as", "team-lead", "request", "alice", "task_status_request", "--json"];
    let waiting = all.world.start(&ask);
    wait_until("the question is there", || asked("task_status_request", "requestId").is_some());
    let request = asked("task_status_request", "requestId").unwrap();
    let check = all.world.start(&["--as", "team-lead", "health", "alice", "--json"]);
    wait_until("the check is there", || asked("health_check", "request_id").is_some());
    all.run("sent", &format!("--as alice respond {request}"));
    all.run("sent-many", "--as alice heartbeat");
    for (name, asking) in [("message", waiting), ("health", check)] {
        let answer = asking.finish();
        assert_eq!(answer.code, Some(0), "{answer:?}");
        all.hold(name, &serde_json::from_str(&answer.stdout).unwrap(), name);
    }
}

fn work(all: &mut Holder) {
    all.run("task-outcome", "task create first --owner alice");
    all.run("task-outcome", "task create second --blocked-by 1");
    all.run("task-outcome", "--as alice task claim 1");
    all.run("reservations", "--as alice reserve src --reason why");
    all.run("reservations", "reservations --all");
    all.run("reservations", "--as alice release --all");
    all.run("tasks", "task list");
    all.run("task-graph", "task graph");
    all.run("asked", "--as team-lead task status-request 1 --no-wait");
    all.run("task-outcome", "--as alice task complete 1");
    all.run("task-view", "task show 2");
    all.run("task-deleted", "--as team-lead task delete 2");
    all.run_lines("event", "watch --since start --for 1ms");
    let file = all.world.home().join("f.txt");
    all.run("artifact-put", &format!("--as alice artifacts put {}", file.display()));
    all.run(
        "artifact-got",
        &format!("artifacts get alice f.txt --out {}", file.with_extension("copy").display()),
    );
    all.run("artifact-report", "--as alice artifacts report running --tokens 12");
    fs::write(all.world.root().join("tasks/dev/alice/output.log"), "one\ntwo\n").unwrap();
    all.run("artifact-tail", "artifacts tail alice");
    all.run_lines("artifact-line", "artifacts tail alice --follow --for 1ms");
    all.run("artifacts", "artifacts list");
}

fn upkeep(all: &mut Holder) {
    all.run("tended", "archive");
    all.run("tended", "clean");
    all.run("findings", "validate dev");
    all.run("rules", "validate --rules");
    all.run("swept", "health --sweep");
    fs::write(all.world.root().join("teams/dev/inboxes/gone.json"), "[null]").unwrap();
    all.run("doctor", "doctor --fix --yes");
    let config = all.world.root().join("teams/dev/config.json");
    let old = fs::read_to_string(&config).unwrap().replace("\"1.0.0\"", "\"0.9\"");
    fs::write(&config, old).unwrap();
    all.run("migrated", "migrate --dialect current --dry-run");
    all.run("mended", "doctor --journal");
    all.run("undone", "doctor --undo");
}

fn panes(all: &mut Holder, stage: &Stage) {
    let started = stage.script("carol", "echo ready; while read -r line; do :; done");
    all.hold("spawned", &started, "spawn");
    stage.wait_for_screen("carol", "ready");
    all.run("screen", "peek carol");
    all.run("woken", "wake carol --type");
    all.run("attached", "attach carol");
    all.run("ui", "ui");
    all.run("woken", "wake carol --dry-run");
    all.run("woken-many", "wake --all --dry-run");
    all.world.ok(&["send", "carol", "hello"]);
    let told = all.world.atm(&["--as", "carol", "wake", "wait", "--json"]);
    all.hold("wake-line", &serde_json::from_str(&told.stdout).unwrap(), "wake wait");
    all.run("killed", "kill carol");
}

fn setting_up(all: &mut Holder) {
    for client in ["claude", "codex", "gemini", "qwen", "opencode", "cursor"] {
        all.run("installed", &format!("install {client} --project --as alice"));
        all.run("installed", &format!("install {client} --project --uninstall"));
    }
    all.run("install-checked", "install --check --project");
    all.run("plugin", "install claude --plugin plugin");
    all.run("primer", "primer");
    all.run("web", "web --for 1ms");
}
