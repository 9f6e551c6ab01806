//! How a daemon begins and ends, and what others see of that.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use atm_support::wait_until;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::Watched;
use crate::scene::{ATM, Answer, World};

#[test]
fn it_starts_once_serves_and_stops() {
    let world = World::with_team();
    let none = world.atm(&["--json", "daemon", "status"]);
    let said: Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!((none.code, said), (Some(3), json!({ "running": false, "last": null })));
    assert_eq!(world.json(&["daemon", "stop"]), json!({ "stopped": false }));

    let watched = Watched::new(world);
    let status = watched.status();
    assert_eq!((&status["running"], &status["sameBuild"]), (&json!(true), &json!(true)));
    assert_eq!((&status["store"]["ok"], &status["ledger"]["ok"]), (&json!(true), &json!(true)));
    let again = watched.start();
    assert_eq!((&again["started"], &again["pid"]), (&json!(false), &status["pid"]));
    let second = watched.world.atm(&["--json", "daemon", "run"]);
    assert_eq!((second.code, second.error()["code"].as_str()), (Some(5), Some("daemon_runs")));
    let mode = fs::metadata(watched.folder().join("socket")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    assert_eq!(watched.world.json(&["daemon", "stop"]), json!({ "stopped": true }));
    let after = watched.world.atm(&["daemon", "status"]);
    assert_eq!(after.code, Some(3));
    assert!(after.stdout.contains("it was told to stop"), "{}", after.shown());
}

#[test]
fn one_for_another_root_is_named_and_not_taken_for_the_one_that_is_wanted() {
    let watched = Watched::new(World::with_team());
    let other = watched.world.home().join("other");
    fs::create_dir(&other).unwrap();
    let at = |root: &std::path::Path, args: &[&str]| {
        let mut command = watched.world.command(args);
        Answer::of(&watched.world, &command.env("ATM_ROOT", root).output().unwrap())
    };
    let answer = at(&other, &["--json", "daemon", "start"]);
    assert_eq!((answer.code, answer.error()["code"].as_str()), (Some(5), Some("daemon_other_root")));
    let answer = at(&other, &["daemon", "start"]);
    for word in [watched.world.root(), other.clone(), "atm daemon stop".into(), "--state".into()] {
        assert!(answer.stderr.contains(word.to_str().unwrap()), "{answer:?}");
    }
    let link = watched.world.home().join("link");
    std::os::unix::fs::symlink(watched.world.root(), &link).unwrap();
    assert_eq!(at(&link, &["daemon", "start"]).code, Some(0), "the same place by another name");
    let status = watched.world.ok(&["daemon", "status"]);
    assert!(status.contains(watched.world.root().to_str().unwrap()), "{status}");
    watched.world.ok(&["daemon", "stop"]);
    assert_eq!(at(&other, &["daemon", "start"]).code, Some(0));
}

#[test]
fn a_crash_is_told_from_a_stop_and_the_next_one_serves() {
    let watched = Watched::new(World::with_team());
    watched.signal(Signal::KILL);
    wait_until("it is gone", || watched.world.atm(&["daemon", "status"]).code == Some(3));
    let said = watched.world.atm(&["daemon", "status"]);
    assert!(said.stdout.contains("crashed"), "{}", said.shown());
    assert_eq!(watched.start()["started"], true);
    let log = watched.world.ok(&["daemon", "logs"]);
    assert!(log.contains("crashed"), "{log}");
}

/// A panic ends the process in the released program; nobody else may have to pay for one team's.
#[test]
fn one_that_panics_begins_again_and_serves_the_other_teams() {
    let watched = Watched { world: World::with_team() };
    watched.world.ok(&["team", "create", "worse"]);
    let mut start = watched.world.command(&["--json", "daemon", "start"]);
    let started = start.env("ATM_TEST_DIE_AT", "panic=visit_worse").output().unwrap();
    assert!(started.status.success(), "{started:?}");
    let panicked = |status: &Value| {
        status["troubles"].as_array().unwrap().iter().any(|trouble| {
            trouble["team"] == "worse" && trouble["what"].as_str().unwrap().contains("panicked")
        })
    };
    wait_until("one before it panicked", || {
        let status = watched.world.atm(&["--json", "daemon", "status"]);
        serde_json::from_str(&status.stdout)
            .is_ok_and(|status: Value| status["running"] == true && panicked(&status))
    });
    let entry =
        json!([{ "from": "x", "text": "for bob", "timestamp": "2026-11-17T06:00:00.000Z", "read": false }]);
    fs::write(watched.world.root().join("teams/dev/inboxes/bob.json"), entry.to_string()).unwrap();
    watched.has_event("the message is in the log", |event| {
        event.new.as_ref().is_some_and(|new| new.text == "for bob")
    });
    let log = watched.world.ok(&["daemon", "logs"]);
    assert!(log.contains("a test wants a panic at visit_worse"), "{log}");
}

/// One that was killed has its lock until the system has taken it back.
#[test]
fn a_start_beside_one_that_is_dying_starts_another() {
    let watched = Watched { world: World::with_team() };
    fs::create_dir_all(watched.folder()).unwrap();
    let mut dying = fs::File::create(watched.folder().join("lock")).unwrap();
    dying.lock().unwrap();
    write!(dying, "{}", i32::MAX).unwrap();
    let start = watched.world.start(&["--json", "daemon", "start"]);
    // Long enough for it to find the lock; if it does not on a busy machine, there is nothing to see here.
    std::thread::sleep(Duration::from_millis(300));
    drop(dying);
    let answer = start.finish();
    let said: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(said["started"], true, "{answer:?}");
    assert_eq!(watched.status()["running"], true);
}

#[test]
fn a_signal_ends_one_in_the_foreground_in_order() {
    let world = World::with_team();
    for signal in [Signal::INT, Signal::TERM] {
        let mut daemon = world.start(&["daemon", "run"]);
        wait_until("it serves", || world.atm(&["daemon", "status"]).code == Some(0));
        daemon.signal(signal);
        let answer = daemon.finish();
        assert_eq!(answer.code, Some(0), "{}", answer.shown());
        let said = world.atm(&["daemon", "status"]);
        assert!(said.stdout.contains("it was told to stop"), "{}", said.shown());
    }
}

#[test]
fn no_command_is_held_up_by_one_that_hangs_or_speaks_of_it() {
    let watched = Watched::new(World::with_team());
    watched.wait_until_it_rests();
    watched.signal(Signal::STOP);
    for line in [
        "send bob hello",
        "inbox bob",
        "--as bob read",
        "--as bob reply last thanks",
        "--as team-lead broadcast hello",
        "task create build",
        "task list",
        "status",
        "members",
        "status bob --history",
        "pending",
        "log",
        "search hello",
        "stats",
        "tend",
        "retry",
        "watch --for 1ms",
        "archive bob",
        "doctor",
        "team create later",
        "team delete later --force",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = watched.world.atm(&words);
        assert_eq!((answer.code, answer.stderr.contains("daemon")), (Some(0), false), "{line}: {answer:?}");
    }
    let hooked = watched.world.pipe(
        &["--as", "bob", "hook", "--client", "claude"],
        json!({ "session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "go on" }).to_string(),
    );
    assert_eq!(hooked.code, Some(0), "{hooked:?}");
    let silent = watched.world.atm(&["--json", "daemon", "status"]);
    assert_eq!((silent.code, silent.error()["code"].as_str()), (Some(5), Some("daemon_silent")));
    let inbox = watched.world.root().join("teams/dev/inboxes/alice.json");
    let entry =
        json!([{ "from": "x", "text": "meanwhile", "timestamp": "2026-11-17T06:00:00.000Z", "read": false }]);
    fs::write(&inbox, entry.to_string()).unwrap();
    watched.signal(Signal::CONT);
    watched.has_event("what came meanwhile is known", |event| {
        event.new.as_ref().is_some_and(|new| new.text == "meanwhile")
    });
    wait_until("it goes on", || watched.world.atm(&["daemon", "status"]).code == Some(0));
}

#[test]
fn it_ends_when_its_program_is_replaced_or_gone() {
    for is_replaced in [true, false] {
        let world = World::with_team();
        let program = world.home().join("atm");
        fs::copy(ATM, &program).unwrap();
        let watched = Watched { world };
        let mut start = watched.world.program(program.to_str().unwrap());
        assert!(start.args(["daemon", "start"]).status().unwrap().success());
        if is_replaced {
            let newer = watched.world.home().join("newer");
            fs::copy(ATM, &newer).unwrap();
            fs::rename(&newer, &program).unwrap();
        } else {
            fs::remove_file(&program).unwrap();
        }
        wait_until("it has ended", || watched.world.atm(&["daemon", "status"]).code == Some(3));
        assert_eq!(watched.last_words()["stopped"]["why"], "its program was replaced");
    }
}

/// A service manager starts the new program, and has nothing to start if there is none.
#[test]
fn a_service_says_by_its_exit_whether_there_is_a_newer_program() {
    for (is_replaced, code) in [(true, 75), (false, 0)] {
        let world = World::with_team();
        let program = world.home().join("atm");
        fs::copy(ATM, &program).unwrap();
        let watched = Watched { world };
        let mut run = watched.world.program(program.to_str().unwrap());
        let mut daemon = run.args(["daemon", "run", "--detached", "--service"]).spawn().unwrap();
        wait_until("it serves", || watched.world.atm(&["daemon", "status"]).code == Some(0));
        if is_replaced {
            let newer = watched.world.home().join("newer");
            fs::copy(ATM, &newer).unwrap();
            fs::rename(&newer, &program).unwrap();
        } else {
            fs::remove_file(&program).unwrap();
        }
        assert_eq!(daemon.wait().unwrap().code(), Some(code));
        assert_eq!(watched.last_words()["stopped"]["why"], "its program was replaced");
    }
}

#[test]
fn it_ends_when_its_state_is_gone_and_makes_none() {
    let watched = Watched::new(World::with_team());
    watched.wait_until_it_rests();
    let pid = watched.pid().unwrap();
    // It may write something while that goes on.
    wait_until("its state is gone", || {
        let _ = fs::remove_dir_all(watched.world.state());
        !watched.world.state().exists()
    });
    wait_until("it has ended", || {
        rustix::process::test_kill_process(pid).is_err() || is_zombie(pid.as_raw_pid())
    });
    assert!(!watched.world.state().join("daemon").exists());
}

fn is_zombie(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn clients_of_other_versions_are_understood_and_nonsense_is_answered() {
    let watched = Watched::new(World::with_team());
    watched.wait_until_it_rests();
    let ask = |line: &str| -> Value {
        let mut stream = UnixStream::connect(watched.folder().join("socket")).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let later = ask("{\"atm\":99,\"build\":\"9.0 later\",\"ask\":\"status\",\"more\":{\"a\":1}}\n");
    assert_eq!(
        (&later["atm"], &later["answer"]["teams"], &later["error"]),
        (&json!(1), &json!(1), &Value::Null)
    );
    for nonsense in ["{\"atm\":1,\"ask\":\"dance\"}\n", "hello\n", "\n", "{}\n"] {
        let answer = ask(nonsense);
        assert!(answer["error"].as_str().unwrap().contains("no question"), "{answer}");
    }
    let huge = ask(&format!("{{\"atm\":1,\"ask\":\"{}", "x".repeat(70_000)));
    assert!(huge["error"].is_string(), "{huge}");
    assert_eq!(ask("{\"atm\":1,\"ask\":\"stop\"}\n")["answer"], json!({ "stopping": true }));
    wait_until("it has ended", || watched.world.atm(&["daemon", "status"]).code == Some(3));
}

#[test]
fn who_listens_hears_of_everything_once_from_its_place_on() {
    let watched = Watched::new(World::with_team());
    watched.wait_until_it_rests();
    let listen = |since: Option<&str>| {
        let mut stream = UnixStream::connect(watched.folder().join("socket")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let question = json!({ "atm": 1, "ask": "events", "since": since });
        stream.write_all(format!("{question}\n").as_bytes()).unwrap();
        BufReader::new(stream).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
    };
    let mut heard = listen(None);
    let begins = heard.next().unwrap()["answer"]["cursor"].as_str().unwrap().to_owned();
    // By another process, and by another program.
    watched.world.ok(&["send", "bob", "one"]);
    let texts = |events: &mut dyn Iterator<Item = Value>, wanted: &str| {
        let messages = events.filter(|event| event["event"] == "message");
        let mut texts = Vec::new();
        for text in messages.map(|event| event["text"].as_str().unwrap().to_owned()) {
            texts.push(text.clone());
            if text == wanted {
                break;
            }
        }
        texts
    };
    assert_eq!(texts(&mut heard, "one"), ["one"]);
    let inbox = watched.world.root().join("teams/dev/inboxes/alice.json");
    let entry =
        json!([{ "from": "x", "text": "two", "timestamp": "2026-11-17T06:00:00.000Z", "read": false }]);
    fs::write(&inbox, entry.to_string()).unwrap();
    assert_eq!(texts(&mut heard, "two"), ["two"]);
    let mut again = listen(Some(&begins));
    again.next().unwrap();
    assert_eq!(texts(&mut again, "two"), ["one", "two"]);
    let refused = listen(Some("nonsense")).next().unwrap();
    assert!(refused["error"].as_str().unwrap().contains("no place"), "{refused}");
}

#[test]
fn it_is_started_by_commands_only_if_the_settings_say_so() {
    let watched = Watched { world: World::with_team() };
    watched.world.ok(&["status"]);
    assert!(!watched.folder().exists());
    watched.world.ok(&["config", "set", "daemon.autostart", "always"]);
    watched.world.ok(&["status"]);
    wait_until("it serves", || watched.world.atm(&["daemon", "status"]).code == Some(0));
    watched.world.ok(&["daemon", "stop"]);
    assert_eq!(watched.world.atm(&["daemon", "status"]).code, Some(3), "asking about it starts none");
    // Each start makes this file anew.
    fs::remove_file(watched.folder().join("stderr.log")).unwrap();
    watched.world.ok(&["config", "set", "daemon.autostart", "never"]);
    assert!(!watched.folder().join("stderr.log").exists(), "who wants none starts none");
}

#[test]
fn those_who_hold_the_line_hold_nobody_up() {
    let watched = Watched::new(World::with_team());
    let lines: Vec<UnixStream> =
        (0..200).map(|_| UnixStream::connect(watched.folder().join("socket")).unwrap()).collect();
    assert_eq!(watched.status()["running"], true);
    assert_eq!(watched.world.json(&["daemon", "stop"]), json!({ "stopped": true }));
    drop(lines);
}

#[test]
fn it_serves_where_its_input_is_some_socket() {
    let watched = Watched { world: World::with_team() };
    let (input, _other) = UnixStream::pair().unwrap();
    let mut command = watched.world.command(&["daemon", "run"]);
    let output = std::process::Stdio::null;
    let mut daemon = command
        .stdin(std::process::Stdio::from(std::os::fd::OwnedFd::from(input)))
        .stdout(output())
        .stderr(output())
        .spawn()
        .unwrap();
    wait_until("it has the lock", || watched.pid().is_some());
    let status = watched.world.atm(&["daemon", "status"]);
    watched.world.ok(&["daemon", "stop"]);
    daemon.wait().unwrap();
    assert_eq!(status.code, Some(0), "{}", status.shown());
}
