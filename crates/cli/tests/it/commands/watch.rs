//! `atm watch`

use std::io::{BufRead, BufReader};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use atm_support::wait_until;
use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::Value;

use crate::scene::{Started, World};

#[test]
fn what_is_there_is_shown_when_asked_for_and_the_count_ends_it() {
    let world = World::with_team();
    for (name, text) in [("bob", "one"), ("alice", "two"), ("bob", "three")] {
        world.ok(&["send", name, text]);
    }
    let session = world.session(
        "
        atm watch bob --all --count 1
        atm --as bob watch --all --count 2
        atm watch --all --count 3
        atm watch bob --for 50ms
        atm watch bobb
        atm watch bob --for ever
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm watch bob --all --count 1
    user → bob  just now  unread  [ID]
      one
    $ atm --as bob watch --all --count 2
    user → bob  just now  unread  [ID]
      one
    user → bob  just now  unread  [ID]
      three
    $ atm watch --all --count 3
    user → alice  just now  unread  [ID]
      two
    user → bob  just now  unread  [ID]
      one
    user → bob  just now  unread  [ID]
      three
    $ atm watch bob --for 50ms
    $ atm watch bobb
    2> error: team dev has no member "bobb"
    2>   hint: did you mean bob?
    [exit 3]
    $ atm watch bob --for ever
    2> error: invalid value 'ever' for '--for <TIME>': "ever" is not a duration; write it like 30s, 10m or 1h30m
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
    assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 2, "nothing was taken");
}

#[test]
fn several_teams_are_watched_at_once_and_told_apart() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops"]);
    world.ok(&["-t", "ops", "member", "add", "carol"]);
    world.ok(&["-t", "ops", "member", "add", "bob"]);
    world.ok(&["-t", "dev", "send", "bob", "one"]);
    world.ok(&["-t", "ops", "send", "carol", "two"]);
    world.ok(&["-t", "ops", "send", "bob", "three"]);
    let session = world.session(
        "
        atm -t dev -t ops watch --all --count 3
        atm watch --all-teams carol --all --count 1
        atm watch --all-teams carrol --all --count 1
        atm -t ops watch --all --count 2
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm -t dev -t ops watch --all --count 3
    user → bob@dev  just now  unread  [ID]
      one
    user → bob@ops  just now  unread  [ID]
      three
    user → carol@ops  just now  unread  [ID]
      two
    $ atm watch --all-teams carol --all --count 1
    user → carol@ops  just now  unread  [ID]
      two
    $ atm watch --all-teams carrol --all --count 1
    2> error: none of the teams dev, ops has a member "carrol"
    2>   hint: did you mean carol?
    [exit 3]
    $ atm -t ops watch --all --count 2
    user → bob  just now  unread  [ID]
      three
    user → carol  just now  unread  [ID]
      two
    "#);
    let events = |args: &[&str]| -> Vec<Value> {
        let out = world.ok(&[&["--json", "watch", "--for", "1ms"], args].concat());
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = events(&["--since", "start", "--all-teams"]);
    let messages: Vec<&Value> = all.iter().filter(|event| event["event"] == "message").collect();
    let texts: Vec<(&str, &str)> = messages
        .iter()
        .map(|event| (event["team"].as_str().unwrap(), event["text"].as_str().unwrap()))
        .collect();
    assert_eq!(texts, [("dev", "one"), ("ops", "two"), ("ops", "three")]);
    // The cursor of one team's event is good for all.
    let behind_first = messages[0]["cursor"].as_str().unwrap();
    let rest = events(&["--since", behind_first, "-t", "dev", "-t", "ops"]);
    assert_eq!(rest, all[all.iter().position(|event| event == messages[0]).unwrap() + 1..]);
    let ours = events(&["--since", "start", "-t", "ops"]);
    assert!(!ours.is_empty() && ours.iter().all(|event| event["team"] == "ops"), "{ours:?}");
}

/// The events for people were lines of their own kind: times in UTC, whole payloads, wider than the terminal.
#[test]
fn events_are_shown_as_everything_else() {
    let world = World::with_team();
    world.ok(&[
        "--as",
        "alice",
        "send",
        "bob",
        "a text that is too long for the line of a terminal of sixty columns",
    ]);
    world.ok(&["--as", "alice", "idle"]);
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["--as", "team-lead", "task", "create", "Fix it", "--owner", "bob"]);
    let out =
        world.command(&["watch", "--since", "start", "--for", "1ms"]).env("COLUMNS", "60").output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert!(
        !text.contains("->") && !text.contains('{') && !text.contains("T0") && !text.contains("Z  "),
        "{text}"
    );
    for part in
        ["alice → bob  ", "  accepted  a text that is", "idle_notif", "  seen", "task 1 created  pending"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A stream that is being watched.
struct Stream {
    world: World,
    watch: Started,
    lines: Receiver<String>,
}

impl Stream {
    /// Starts to watch, and waits until it shows what comes: what is there when it begins, it does not.
    fn of(world: &World, args: &[&str]) -> Self {
        let mut child = world.command(&[&["--json", "watch"], args].concat()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || output.lines().try_for_each(|line| send.send(line.unwrap())));
        let mut stream = Self { world: world.clone(), watch: Started::of(child, world), lines };
        wait_until("the watch shows what comes", || {
            world.ok(&["send", "bob", "are you there?"]);
            stream.lines.try_recv().is_ok()
        });
        world.ok(&["send", "bob", "good"]);
        while stream.next_text() != "good" {}
        stream
    }

    fn next(&mut self) -> Value {
        let mut line = None;
        wait_until("the next message is shown", || {
            line = line.take().or_else(|| self.lines.try_recv().ok());
            line.is_some()
        });
        let line = line.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn next_text(&mut self) -> String {
        self.next()["text"].as_str().unwrap().to_owned()
    }

    fn stop(mut self) {
        self.watch.signal(Signal::INT);
        assert_eq!(self.watch.finish().code, Some(130));
        assert_eq!(self.lines.into_iter().collect::<Vec<_>>(), [] as [String; 0], "nothing more was shown");
        let unread = self.world.json(&["inbox", "bob", "--unread"]);
        assert_eq!(unread, self.world.json(&["inbox", "bob"]), "nothing was taken");
    }
}

#[test]
fn mail_is_shown_as_it_comes_and_what_was_there_is_not() {
    let world = World::with_team();
    world.ok(&["send", "bob", "before"]);
    let mut stream = Stream::of(&world, &["bob", "alice"]);
    for (name, text) in [("alice", "one"), ("team-lead", "not watched"), ("bob", "two"), ("alice", "three")] {
        world.ok(&["send", name, text]);
        if name != "team-lead" {
            assert_eq!(stream.next_text(), text);
        }
    }
    stream.stop();
}

#[test]
fn each_message_of_the_stream_is_one_line_and_comes_at_once() {
    let world = World::with_team();
    let mut stream = Stream::of(&world, &["bob"]);
    // Entries with nested values, which stand in the file over several lines.
    let pretty = "{\n  \"type\": \"task_assignment\",\n  \"taskId\": \"7\",\n  \"subject\": \"s\"\n}";
    let batch = serde_json::json!({ "to": "bob", "text": pretty, "reply_to": "x", "priority": "high" });
    for _ in 0..3 {
        assert_eq!(world.pipe(&["send", "--batch"], batch.to_string()).code, Some(0));
        let message = stream.next();
        assert_eq!(message["payload"]["taskId"], "7");
        assert_eq!(message["extra"]["metadata"]["atm"]["reply_to"], "x");
    }
    stream.stop();
}

#[test]
fn the_count_ends_it_in_the_middle_of_many() {
    let world = World::with_team();
    let lines =
        (0..5).map(|number| format!("{{\"to\":\"bob\",\"text\":\"m{number}\"}}\n")).collect::<Vec<_>>();
    world.pipe(&["send", "--batch"], lines.concat());
    let stream = world.ok(&["watch", "bob", "--all", "--count", "3", "--json"]);
    assert_eq!(stream.lines().count(), 3, "{stream}");
    assert_eq!(world.ok(&["watch", "bob", "--all", "--count", "0"]), "");
}

/// The lines of a feed that has nothing more to say.
fn feed(world: &World, since: &str) -> Vec<Value> {
    let answer = world.atm(&["--json", "watch", "--since", since, "--for", "1ms"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{since}");
    answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_event_since_a_cursor_is_shown_once_and_in_order() {
    let world = World::with_team();
    world.ok(&["--as", "alice", "send", "bob", "hello"]);
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["--as", "alice", "task", "create", "work", "--owner", "bob"]);
    let all = feed(&world, "start");
    let kinds: Vec<&str> = all.iter().map(|event| event["event"].as_str().unwrap()).collect();
    for kind in ["message", "stage", "presence", "task"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let task = all.iter().find(|event| event["event"] == "task").unwrap();
    assert_eq!((&task["change"], &task["now"]["owner"]), (&"created".into(), &"bob".into()), "{task}");
    for (number, event) in all.iter().enumerate() {
        let rest = feed(&world, event["cursor"].as_str().unwrap());
        assert_eq!(rest, all[number + 1..], "after {event}");
    }
    let picture = world.json(&["status"]);
    world.ok(&["send", "alice", "later"]);
    let since = feed(&world, picture["cursor"].as_str().unwrap());
    assert!(since.iter().any(|event| event["text"] == "later"), "{since:?}");
    let unknown = format!("{}-10000000001-{}", "a".repeat(32), "b".repeat(32));
    let reset = feed(&world, &unknown);
    assert_eq!((reset.len(), &reset[0]["event"]), (1, &"reset".into()));
    assert_eq!(feed(&world, reset[0]["cursor"].as_str().unwrap()), [] as [Value; 0]);
    assert_eq!(world.atm(&["watch", "--since", "yesterday"]).code, Some(2));
}

/// `atm watch | head -1` waited for the next message before it noticed that nobody reads.
#[test]
fn it_ends_when_its_reader_goes_also_while_nothing_comes() {
    for args in [&["watch", "bob", "--all"][..], &["--json", "watch", "--since", "start"]] {
        let world = World::with_team();
        world.ok(&["send", "bob", "one"]);
        let mut child = world.command(args).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(!lines.next().unwrap().unwrap().is_empty());
        drop(lines);
        let answer = Started::of(child, &world).finish();
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}
