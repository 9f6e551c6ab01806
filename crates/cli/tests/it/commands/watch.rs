//! `atm watch`

use std::io::{BufRead, BufReader};
use std::process::Stdio;

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
    user → bob  [.........TIME.........]  unread  [ID]
      one
    $ atm --as bob watch --all --count 2
    user → bob  [.........TIME.........]  unread  [ID]
      one
    user → bob  [.........TIME.........]  unread  [ID]
      three
    $ atm watch --all --count 3
    user → alice  [.........TIME.........]  unread  [ID]
      two
    user → bob  [.........TIME.........]  unread  [ID]
      one
    user → bob  [.........TIME.........]  unread  [ID]
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
fn mail_is_shown_as_it_comes_and_what_was_there_is_not() {
    let world = World::with_team();
    world.ok(&["send", "bob", "before"]);
    let mut watch = world.start(&["watch", "bob", "alice", "--count", "2", "--json"]);
    watch.wait_until_it_watches();
    world.ok(&["send", "alice", "to alice"]);
    world.ok(&["send", "bob", "to bob"]);
    let answer = watch.finish();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let mut texts: Vec<String> = answer
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    assert_eq!(texts, ["to alice", "to bob"]);
}

#[test]
fn each_message_of_the_stream_is_one_line_and_comes_at_once() {
    let world = World::with_team();
    let mut watch = world.command(&["--as", "bob", "watch", "--json"]);
    let mut child = watch.stdin(Stdio::null()).spawn().unwrap();
    let mut stream = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut watch = Started::of(child, &world);
    watch.wait_until_it_watches();
    // Entries with nested values, which stand in the file over several lines.
    let pretty = "{\n  \"type\": \"task_assignment\",\n  \"taskId\": \"7\"\n}";
    let batch = serde_json::json!({ "to": "bob", "text": pretty, "reply_to": "x", "priority": "high" });
    for round in 0..3 {
        assert_eq!(world.pipe(&["send", "--batch"], batch.to_string()).code, Some(0));
        // The watch is still running: if the line were kept back, this would wait for ever.
        let line = stream.next().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["payload"]["taskId"], "7", "{round}");
        assert_eq!(message["extra"]["metadata"]["atm"]["reply_to"], "x");
    }
    watch.signal(Signal::INT);
    assert_eq!(watch.finish().code, Some(130));
}
