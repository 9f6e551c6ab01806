//! What is refused, and what is said about it.

use super::Stage;
use crate::scene::Answer;

fn assert_refused(answer: &Answer, exit: i32, code: &str, words: &str) {
    let error = answer.error();
    assert_eq!((answer.code, error["code"].as_str()), (Some(exit), Some(code)), "{answer:?}");
    let said =
        format!("{} {}", error["message"].as_str().unwrap(), error["hint"].as_str().unwrap_or_default());
    assert!(said.contains(words), "{said}");
}

#[test]
fn nothing_is_left_of_a_start_that_is_refused() {
    let stage = Stage::new();
    let before = std::fs::read(stage.world.root().join("teams/dev/config.json")).unwrap();
    for (name, more, exit, code, words) in [
        ("bob", &["--", "no-such-program"][..], 3, "no_such_program", "PATH"),
        ("bob", &["--", "./not/there"], 3, "no_such_program", "./not/there"),
        ("bob", &["--cwd", "/not/there", "--", "sh"], 3, "no_such_folder", "/not/there"),
        ("bob", &[], 2, "nothing_to_run", "--client"),
        ("Bob", &["--", "sh"], 2, "bad_name", "kebab-case"),
        ("../bob", &["--", "sh"], 2, "bad_name", "must not contain"),
        ("bob", &["--model", "two words", "--", "sh"], 2, "bad_field", "model"),
        ("bob", &["--backend", "docker", "--", "sh"], 4, "no_such_backend", "not built"),
        ("bob", &["--backend", "k8s", "--", "sh"], 4, "no_such_backend", "not built"),
        ("bob", &["--backend", "screen", "--", "sh"], 4, "no_such_backend", "there is no backend"),
        ("team-lead", &["--", "sh"], 4, "runs", "isActive is true"),
    ] {
        assert_refused(&stage.start("spawn", name, more), exit, code, words);
    }
    assert_eq!(std::fs::read(stage.world.root().join("teams/dev/config.json")).unwrap(), before);
    assert_eq!(stage.panes(), 0);
    assert!(!stage.world.root().join("teams/dev/inboxes/bob.json").exists());
}

#[test]
fn without_tmux_it_says_so() {
    let stage = Stage::new();
    let bin = stage.world.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    let mut command = stage.world.command(&["spawn", "bob", "--json", "--", "sh"]);
    let answer = Answer::of(&stage.world, &command.env("PATH", &bin).output().unwrap());
    assert_refused(&answer, 7, "no_tmux", "install tmux");
    assert!(stage.entry("bob").is_null());
}

#[test]
fn who_runs_is_not_started_twice_and_who_is_off_is_started_by_respawn() {
    let stage = Stage::new();
    stage.spawn("bob", &["--", "sleep", "600"]);
    assert_refused(&stage.start("spawn", "bob", &["--", "sh"]), 4, "runs", "atm kill");
    assert_refused(&stage.start("respawn", "bob", &[]), 4, "runs", "pane %");
    stage.world.ok(&["kill", "bob"]);
    assert_refused(&stage.start("spawn", "bob", &["--", "sh"]), 4, "exists", "atm respawn bob");
    assert_refused(&stage.start("respawn", "bobb", &[]), 3, "no_such_member", "did you mean bob?");
    stage.world.ok(&["member", "add", "eve", "--inactive"]);
    assert_refused(&stage.start("respawn", "eve", &[]), 2, "nothing_to_run", "--client");
}

#[test]
fn what_needs_a_pane_needs_one_of_ours() {
    let stage = Stage::new();
    stage.world.ok(&["member", "add", "eve", "--pane", "%0"]);
    stage.tmux(&["new-session", "-d", "sleep", "600"]);
    stage.spawn("bob", &["--", "sleep", "600"]);
    stage.world.ok(&["kill", "bob"]);
    for words in [&["kill"][..], &["peek"], &["wake", "--type"], &["attach"]] {
        let of = |name: &str| {
            let mut all = vec![words[0], name, "--json"];
            all.extend(&words[1..]);
            stage.world.atm(&all)
        };
        assert_refused(&of("eve"), 4, "not_started_here", "not started by");
        assert_refused(&of("evee"), 3, "no_such_member", "did you mean eve?");
        if words[0] != "kill" {
            assert_refused(&of("bob"), 3, "off", "atm respawn");
        }
    }
    assert_refused(&stage.world.atm(&["attach", "--json"]), 3, "off", "team dev");
    assert_eq!(stage.panes(), 1, "a pane of somebody else was closed");
}

#[test]
fn a_split_without_room_says_what_else_there_is() {
    let stage = Stage::new();
    let pane = stage.spawn("ann", &["--", "sleep", "600"])["pane"].as_str().unwrap().to_owned();
    stage.tmux(&["resize-window", "-x", "10", "-y", "2"]);
    let mut command =
        stage.world.command(&["spawn", "bob", "--json", "--place", "split", "--", "sleep", "600"]);
    command.env("TMUX", format!("{},1,0", stage.socket().display())).env("TMUX_PANE", &pane);
    let answer = Answer::of(&stage.world, &command.output().unwrap());
    assert_refused(&answer, 7, "tmux", "--place window");
    assert!(stage.entry("bob").is_null());
}
