//! A whole day: a lead and three workers in real panes, one of whom hangs, and not a message is lost.
//!
//! The workers are shell scripts (`story/`): two live by `atm`, one reads and writes its mail with jq alone.

use std::collections::BTreeMap;
use std::fs;

use atm_support::wait_until;
use serde_json::{Value, json};

use crate::panes::Stage;
use crate::scene::{texts, tree};

const WORKER: &str = include_str!("story/worker.sh");
const SLEEPER: &str = include_str!("story/sleeper.sh");
const JQ_WORKER: &str = include_str!("story/jq-worker.sh");

/// The team, its scripts in the home folder, and what the lead does there.
struct Day {
    stage: Stage,
}

impl Day {
    fn dawn() -> Self {
        let stage = Stage::new();
        for (name, script) in [("worker.sh", WORKER), ("sleeper.sh", SLEEPER), ("jq-worker.sh", JQ_WORKER)] {
            fs::write(stage.world.home().join(name), script).unwrap();
        }
        Self { stage }
    }

    /// What the lead says or asks.
    fn lead(&self, args: &[&str]) -> Value {
        self.stage.world.json(&[&["--as", "team-lead"], args].concat())
    }

    fn start(&self, name: &str, script: &[&str]) {
        let bin = std::path::Path::new(crate::scene::ATM).parent().unwrap();
        let path = format!("PATH={}:{}", bin.display(), std::env::var("PATH").unwrap());
        let more = [&["--prompt", "Build the house.", "--", "env", &path, "sh"][..], script].concat();
        self.stage.spawn(name, &more);
    }

    fn tasks(&self) -> BTreeMap<String, (String, Value)> {
        let tasks = self.stage.world.json(&["task", "list"]);
        let task = |task: &Value| {
            let text =
                |key: &str| task[key].as_str().map_or_else(|| task[key].to_string(), ToOwned::to_owned);
            (text("subject"), (text("status"), task["owner"].clone()))
        };
        tasks.as_array().unwrap().iter().map(task).collect()
    }

    fn status(&self, subject: &str) -> (String, Value) {
        self.tasks()[subject].clone()
    }

    fn wait_for(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        wait_until(what, || {
            for name in ["ann", "bob", "eve"] {
                let entry = self.stage.entry(name);
                let exit = entry["metadata"]["atm"]["spawn"]["exit"].as_str().unwrap_or_default();
                assert!(!exit.contains("status 1") && !exit.contains("status 2"), "{name}: {exit}");
            }
            holds(self)
        });
    }

    /// Everything that a worker's script was handed, by `atm read` or by its own jq.
    fn heard(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.stage.world.home().join(format!("heard-{name}.jsonl")))
            .unwrap_or_default();
        let messages: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        texts(&Value::from(messages))
    }
}

#[test]
fn a_day_with_tasks_a_plan_a_stall_and_a_shutdown_loses_nothing() {
    let day = Day::dawn();
    let world = &day.stage.world;

    // The work: two tasks wait for the first, which needs the lead's leave.
    let create = |subject: &str, more: &[&str]| {
        let made = day.lead(&[&["task", "create", subject], more].concat());
        made["task"]["id"].as_str().unwrap().to_owned()
    };
    let design = create("design the house", &[]);
    create("build the doors", &["--blocked-by", &design]);
    create("build the windows", &["--blocked-by", &design]);

    // Ann takes the first task, and asks.
    day.start("ann", &["worker.sh", "first-life"]);
    day.wait_for("ann has a plan", |day| {
        !day.lead(&["plan", "list", "--open"]).as_array().unwrap().is_empty()
    });
    assert_eq!(day.status("design the house"), ("in_progress".into(), json!("ann")));

    // Eve takes what is free, and hangs.
    let garden = create("plant the garden", &[]);
    day.start("eve", &["sleeper.sh"]);
    day.wait_for("eve has a task", |day| day.status("plant the garden").1 == "eve");
    let answer = world.atm(&["--as", "team-lead", "health", "eve", "--timeout", "300ms"]);
    assert_eq!(answer.code, Some(8), "{answer:?}");
    day.lead(&["send", "eve", "mind the roses"]);
    day.lead(&["task", "release", &garden]);
    assert_eq!(day.lead(&["health", "eve", "--stalled", "--tasks", &garden]).as_array().unwrap().len(), 2);
    assert_eq!(day.lead(&["kill", "eve"])["killed"], true);
    assert_eq!(day.lead(&["send", "eve", "and the tulips"])["status"], "queued");

    // Bob reads and writes with jq, and does what he is told to.
    day.start("bob", &["jq-worker.sh"]);
    let roof = create("build the roof", &["--owner", "bob"]);
    day.wait_for("bob is done", |day| day.status("build the roof").0 == "completed");

    // The plan is approved; idle workers do the rest.
    let request = day.lead(&["plan", "list", "--open"])[0]["request"].as_str().unwrap().to_owned();
    day.lead(&["plan", "approve", &request, "--feedback", "and a chimney"]);
    let again = day.stage.start("respawn", "eve", &[]);
    assert_eq!(again.code, Some(0), "{again:?}");
    day.wait_for("all is built", |day| day.tasks().values().all(|(status, _)| status == "completed"));

    // The day is over: everybody is asked, and agrees.
    for name in ["ann", "bob", "eve"] {
        let asked = day.lead(&[
            "shutdown",
            "request",
            name,
            "--reason",
            "the house is built",
            "--wait",
            "--timeout",
            "60s",
        ]);
        assert_eq!(asked["answer"]["approved"], true, "{name}: {asked}");
    }
    for name in ["ann", "bob", "eve"] {
        day.wait_for("it is off", |day| day.stage.state(name) == "offline");
        let report = world.json(&["artifacts", "list", name]);
        assert_eq!(report[0]["status"]["status"], "complete", "{name}: {report}");
    }
    wait_until("all panes are closed", || day.stage.panes() == 0);

    // Nothing was lost: each heard what it was told, once, and the lead what was said to it.
    for (name, words, times) in [
        ("ann", "Build the house.", 1),
        ("bob", "Build the house.", 1),
        ("bob", "build the roof", 1),
        ("bob", "stalled_agent", 0),
        ("ann", "stalled_agent", 1),
        ("ann", "and a chimney", 1),
        ("eve", "mind the roses", 1),
        ("eve", "and the tulips", 1),
    ] {
        let heard = day.heard(name);
        assert_eq!(
            heard.iter().filter(|text| text.contains(words)).count(),
            times,
            "{name}, {words}: {heard:?}"
        );
    }
    for text in day.heard("eve").iter().filter(|text| text.contains("roses") || text.contains("tulips")) {
        assert!(text.starts_with("[PENDING ACTION"), "{text}");
    }
    let told = texts(&world.json(&["inbox", "team-lead"]));
    for words in
        ["I am here", "with jq", &format!("\"taskId\":\"{roof}\""), "task_completion", "shutdown_approved"]
    {
        assert!(told.iter().any(|text| text.contains(words)), "{words}: {told:?}");
    }
    world.ok(&["--as", "team-lead", "read"]);
    let waiting = world.json(&["pending"]);
    assert_eq!(waiting, json!([]), "something still waits");
    for sent in world.json(&["log", "--last", "1000"]).as_array().unwrap() {
        let stage = sent["stage"].as_str().unwrap();
        assert!(["taken", "seen", "acked", "done"].contains(&stage), "{sent}");
    }

    // And nothing was left behind.
    assert_eq!(world.atm(&["validate"]).code, Some(0));
    let litter: Vec<_> = tree(&world.root())
        .into_iter()
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.contains(".atm-") || name.contains(".tmp.") || (name.ends_with(".lock") && path.is_dir())
        })
        .collect();
    assert!(litter.is_empty(), "{litter:?}");
}
