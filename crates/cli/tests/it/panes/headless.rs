//! A client without its terminal UI: one run that takes a prompt, works and ends.

use std::fs;

use atm_support::wait_until;
use serde_json::json;

use super::Stage;
use crate::scene::ATM;

/// What Codex is in a run: it calls its hooks, and is over.
fn double(stage: &Stage) -> String {
    let home = stage.world.home();
    let path = home.join("codex");
    let script = format!(
        r#"#!/bin/sh
echo "$ATM_AS|$1|$2|$3|$4|$5" >> '{home}/runs'
session="0199a0b1-0000-7000-8000-00000000000$(grep -c . '{home}/runs')"
rollout='{home}/.codex/sessions/2026/11/17/rollout-2026-11-17T10-00-00-'"$session.jsonl"
printf '{{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"SessionStart","source":"startup"}}' \
    "$session" "$rollout" '{home}' | '{ATM}' hook SessionStart --client codex
"#,
        home = home.display()
    );
    fs::write(&path, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&path, mode).unwrap();
    path.display().to_string()
}

/// Nothing ran a member without its terminal, nor looked whether its session is known for the next start.
#[test]
fn a_headless_member_runs_once_is_known_by_its_session_and_starts_again_in_the_same_form() {
    let stage = Stage::new();
    let codex = double(&stage);
    stage.spawn(
        "bob",
        &[
            "--client",
            "codex",
            "--headless",
            "--permission-mode",
            "never",
            "--prompt",
            "Test the login.",
            "--",
            &codex,
        ],
    );
    let session = || stage.entry("bob")["metadata"]["atm"]["session"].as_str().map(ToOwned::to_owned);
    let is_known = |number: u32| {
        let id = format!("0199a0b1-0000-7000-8000-00000000000{number}");
        wait_until("its session is known", || session().as_ref() == Some(&id));
    };
    is_known(1);
    let spawn = stage.entry("bob")["metadata"]["atm"]["spawn"].clone();
    assert_eq!(
        [&spawn["client"], &spawn["headless"], &spawn["permission_mode"]],
        [&json!("codex"), &json!(true), &json!("never")],
        "{spawn}"
    );
    assert_eq!(stage.world.json(&["inbox", "bob"])[0]["text"], "Test the login.");
    wait_until("it is over", || stage.state("bob") == "offline");
    let again = stage.start("respawn", "bob", &[]);
    assert_eq!(again.code, Some(0), "{again:?}");
    is_known(2);
    wait_until("it is over", || stage.state("bob") == "offline");
    let runs = fs::read_to_string(stage.world.home().join("runs")).unwrap();
    let runs: Vec<&str> = runs.lines().collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert_eq!(
        runs[0],
        "bob|--ask-for-approval|never|exec|--skip-git-repo-check|You have mail. Read it, and do what it asks for."
    );
    assert_eq!(runs[1], runs[0], "in the same form and mode");
}
