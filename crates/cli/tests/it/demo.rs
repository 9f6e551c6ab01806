//! `atm demo`: a stranger's first command. It must work, and leave no trace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use atm_support::wait_until;
use rustix::process::Signal;
use serde_json::Value;

use crate::scene::{Answer, Started, World, tree};

/// A world whose temp folder is its own, so that what stays behind is seen.
struct Stage {
    world: World,
    temp: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let world = World::new();
        let temp = world.root().with_file_name("temp");
        fs::create_dir(&temp).unwrap();
        Self { world, temp }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        command.env("TMPDIR", &self.temp);
        command
    }

    fn run(&self, args: &[&str]) -> Answer {
        Answer::of(&self.world, &self.command(args).output().unwrap())
    }

    /// No process that the demo started is still at it.
    fn assert_nobody_is_left(&self) {
        let temp = self.temp.to_str().unwrap();
        let of_ours = |pid: &PathBuf| {
            let facts = ["cmdline", "environ"].map(|file| fs::read(pid.join(file)).unwrap_or_default());
            facts.iter().any(|text| String::from_utf8_lossy(text).contains(&format!("{temp}/atm-demo-")))
        };
        wait_until("nobody is left", || {
            let all = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
            !all.map(|entry| entry.path()).any(|pid| of_ours(&pid))
        });
    }

    /// Everything but the temp folder itself must be as it was: nothing.
    fn assert_untouched(&self) {
        for place in [self.world.home(), self.world.root(), self.world.state()] {
            assert_eq!(tree(&place), [] as [PathBuf; 0]);
        }
        assert!(!self.world.state().exists());
    }
}

#[test]
fn it_plays_to_the_end_and_leaves_no_trace() {
    let stage = Stage::new();
    let answer = stage.run(&["demo"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    for said in [
        "40 sent, 40 in the file",
        "did you mean bob?",
        "carol",
        "runs in a tmux pane of its own",
        "dora may go on",
        "no heartbeat within",
        "has acknowledged it",
        "fritz agrees",
        "messages that still wait: 0",
        "which is gone now",
        "Next: atm team create",
    ] {
        assert!(answer.stdout.contains(said), "{said}: {}", answer.stdout);
    }
    stage.assert_untouched();
    assert_eq!(tree(&stage.temp), [] as [PathBuf; 0]);
    stage.assert_nobody_is_left();
}

#[test]
fn without_tmux_it_says_so_and_plays_with_plain_processes() {
    let stage = Stage::new();
    let bin = stage.world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink("/bin/sh", bin.join("sh")).unwrap();
    let answer = Answer::of(&stage.world, &stage.command(&["demo"]).env("PATH", &bin).output().unwrap());
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{}", answer.stdout);
    for said in
        ["there is no tmux here", "has acknowledged it", "fritz agrees", "messages that still wait: 0"]
    {
        assert!(answer.stdout.contains(said), "{said}: {}", answer.stdout);
    }
    assert_eq!(tree(&stage.temp), [] as [PathBuf; 0]);
    stage.assert_nobody_is_left();
}

#[test]
fn it_needs_nothing_that_is_set_up() {
    // A team and a name that do not exist, a root and a state that cannot be made.
    let stage = Stage::new();
    let mut command = stage.command(&["demo", "--quiet"]);
    command
        .env("ATM_TEAM", "nope")
        .env("ATM_AS", "nobody")
        .env("ATM_ROOT", "/dev/null/x")
        .env("ATM_STATE", "/dev/null/y");
    let answer = Answer::of(&stage.world, &command.output().unwrap());
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    stage.assert_untouched();
}

#[test]
fn the_document_is_one_and_has_the_whole_story() {
    let stage = Stage::new();
    let answer = stage.run(&["demo", "--json"]);
    let story: Value = serde_json::from_str(&answer.stdout).unwrap();
    let steps = story["steps"].as_array().unwrap();
    assert!(steps.len() >= 16, "{story}");
    assert!(
        steps.iter().all(|step| step["what"].is_string() && !step["shown"].as_str().unwrap().is_empty()),
        "{story}"
    );
    assert_eq!(story["kept"], Value::Null);
    assert_eq!(tree(&stage.temp), [] as [PathBuf; 0]);
}

#[test]
fn kept_files_can_be_looked_at_with_the_command_that_it_names() {
    let stage = Stage::new();
    let answer = stage.run(&["demo", "--keep"]);
    assert_eq!(answer.code, Some(0));
    let named = answer.stdout.lines().find_map(|line| line.trim().strip_prefix("atm --root ")).unwrap();
    let args: Vec<&str> = ["--root"].into_iter().chain(named.split(' ')).collect();
    let shown = stage.world.ok(&args);
    assert!(shown.contains("demo-team") && shown.contains("alice"), "{shown}");
    stage.assert_untouched();

    let kept: Value = serde_json::from_str(&stage.run(&["demo", "--keep", "--json"]).stdout).unwrap();
    assert!(PathBuf::from(kept["kept"].as_str().unwrap()).join("teams/demo-team/config.json").is_file());
}

#[test]
fn no_place_for_it_is_said() {
    let stage = Stage::new();
    let mut command = stage.command(&["--json", "demo"]);
    let answer =
        Answer::of(&stage.world, &command.env("TMPDIR", stage.temp.join("missing")).output().unwrap());
    assert_eq!(answer.code, Some(7));
    assert!(answer.error()["hint"].as_str().unwrap().contains("TMPDIR"));
}

#[test]
fn an_interrupt_at_any_scene_leaves_no_trace() {
    // What is on disk by then tells how far the story is.
    let scenes = [
        "root/teams/demo-team/config.json",
        "root/teams/demo-team/inboxes/bob.json",
        "root/teams/demo-team/inboxes/.lock",
        "state/readers",
        "root/teams/log-team",
        "root/teams/log-team/members/carol/inbox",
        "tmux",
        "root/tasks/demo-crew/4.json",
        "root/teams/demo-crew/inboxes/fritz.json",
        "state/deciders",
    ];
    let mut interrupted = 0;
    for scene in scenes {
        for signal in [Signal::INT, Signal::TERM] {
            let stage = Stage::new();
            let mut demo = Started::of(stage.command(&["demo"]).spawn().unwrap(), &stage.world);
            wait_until("the scene is played", || {
                let folders = fs::read_dir(&stage.temp).unwrap();
                folders.into_iter().any(|folder| folder.unwrap().path().join(scene).exists())
                    || !demo.is_running()
            });
            if demo.is_running() {
                demo.signal(signal);
            }
            let answer = demo.finish();
            let stopped = Some(128 + signal.as_raw());
            interrupted += usize::from(answer.code == stopped);
            assert!(answer.code == Some(0) || answer.code == stopped, "{scene}: {answer:?}");
            assert_eq!(tree(&stage.temp), [] as [PathBuf; 0], "{scene}: {answer:?}");
            stage.assert_untouched();
            stage.assert_nobody_is_left();
        }
    }
    assert!(interrupted > 0, "not one was interrupted in time");
}
