//! The inspector's command line, over standard input and output.

use std::process::Command;

use atm_support::TestEnv;
use serde_json::{Value, json};

use crate::{ATM, json, node_program, ok};

/// `--cli` with our server, which gets nothing of the environment but what is said.
fn inspect(world: &TestEnv, args: &[&str]) -> Command {
    let mut command = node_program(world, "mcp-inspector");
    command.arg("--cli");
    for (name, folder) in [("HOME", world.home()), ("ATM_ROOT", world.root()), ("ATM_STATE", world.state())] {
        command.arg("-e").arg(format!("{name}={}", folder.display()));
    }
    command.args([ATM, "mcp"]).args(args);
    command
}

#[test]
fn the_inspector_lists_and_calls() {
    let world = TestEnv::new();
    let list = json(&ok(&mut inspect(&world, &["--method", "tools/list"])));
    let names: Vec<&str> =
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.len() == 26 && names.contains(&"poll_inbox") && names.contains(&"claim_task"), "{names:?}");

    let call = |tool: &str, args: &[&str]| {
        let mut command = inspect(&world, &["--method", "tools/call", "--tool-name", tool]);
        for arg in args {
            command.args(["--tool-arg", arg]);
        }
        command
    };
    let made = json(&ok(&mut call("team_create", &["team_name=dev"])));
    let said = |answer: &Value| json(answer["content"][0]["text"].as_str().unwrap());
    assert_eq!(said(&made)["lead_agent_id"], "team-lead@dev");
    ok(&mut call("task_create", &["team_name=dev", "subject=one", "description=d"]));
    let tasks = json(&ok(&mut call("task_list", &["team_name=dev"])));
    assert_eq!(said(&tasks)[0]["subject"], "one");
    let refused = call("task_list", &["team_name=dve"]).output().unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(said.contains("Did you mean dev?"), "{said}");

    let prompts = json(&ok(&mut inspect(&world, &["--method", "prompts/list"])));
    assert_eq!(prompts["prompts"][0]["name"], "lead");
    let resources = json(&ok(&mut inspect(&world, &["--method", "resources/list"])));
    assert_eq!(resources["resources"][0]["uri"], "atm://dev/inbox/team-lead");
    let read = ["--method", "resources/read", "--uri", "atm://dev/inbox/team-lead"];
    let inbox = json(&ok(&mut inspect(&world, &read)));
    let inbox = json(inbox["contents"][0]["text"].as_str().unwrap());
    assert_eq!(inbox["messages"], json!([]));
}
