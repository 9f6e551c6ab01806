//! `atm send --batch` and `atm broadcast`: all of it or nothing.

use std::fs;

use insta::assert_snapshot;

use crate::scene::{World, texts};

fn inboxes(world: &World) -> Vec<Vec<u8>> {
    let folder = world.root().join("teams/dev/inboxes");
    ["team-lead", "alice", "bob"].map(|name| fs::read(folder.join(format!("{name}.json"))).unwrap()).into()
}

#[test]
fn a_batch_goes_to_many_in_one_go() {
    let world = World::with_team();
    let batch = r#"
        {"to": "alice", "text": "one", "id": "first-of-the-batch"}

        {"to": "bob", "text": "two", "summary": "the second", "priority": "high", "reply_to": "first-of-the-batch"}
        {"to": "alice", "text": "three\nwith a line more"}
    "#;
    let answer = world.pipe(&["--as", "team-lead", "send", "--batch"], batch);
    assert_snapshot!(answer.shown(), @"
    delivered for alice@dev, id first-of-the-batch
    delivered for bob@dev, id [ID]
    delivered for alice@dev, id [ID]
    ");
    assert_eq!(texts(&world.json(&["inbox", "alice"])), ["one", "three\nwith a line more"]);
    let second = &world.json(&["inbox", "bob"])[0];
    assert_eq!(second["summary"], "the second");
    assert_eq!(second["extra"]["metadata"]["atm"]["reply_to"], "first-of-the-batch");
}

#[test]
fn an_id_that_is_there_already_is_not_written_again() {
    let world = World::with_team();
    let line = r#"{"to": "bob", "text": "once", "id": "the-same-id"}"#;
    let answers = [world.pipe(&["send", "--batch"], line), world.pipe(&["send", "--batch"], line)];
    assert_snapshot!(answers.map(|answer| answer.shown()).concat(), @"
    delivered for bob@dev, id the-same-id
    delivered for bob@dev, id the-same-id
    2> warning: a message with this id is in the inbox already; it was not written again
    ");
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["once"]);
}

#[test]
fn an_id_that_comes_twice_for_one_inbox_is_refused() {
    let world = World::with_team();
    let batch = r#"{"to": "bob", "text": "one", "id": "x"}
        {"to": "bob@dev", "text": "two", "id": "x"}"#;
    assert_snapshot!(world.pipe(&["send", "--batch"], batch).shown(), @r#"
    2> error: line 2 of the batch; nothing was sent: the id "x" is given to two messages for the same recipient
    [exit 2]
    "#);
    assert!(texts(&world.json(&["inbox", "bob"])).is_empty());
}

#[test]
fn one_bad_line_keeps_the_whole_batch_from_being_sent() {
    let world = World::with_team();
    let before = inboxes(&world);
    let mut said = String::new();
    for bad in [
        r#"{"to": "bob"}"#,
        r#"{"to": "bob", "text": "two""#,
        r#"{"to": "bob", "text": "two", "colour": "red"}"#,
        r#"{"to": "../bob", "text": "two"}"#,
        r#"{"to": "bob", "text": "two", "priority": "urgent"}"#,
        r#"["bob", "two"]"#,
        r#"{"to": "bobb", "text": "two"}"#,
        r#"{"to": "bob@devv", "text": "two"}"#,
        r#"{"to": "bob", "text": " "}"#,
    ] {
        let batch = format!("{{\"to\": \"alice\", \"text\": \"one\"}}\n\n{bad}\n");
        said.push_str(&world.pipe(&["send", "--batch"], batch).shown());
        assert_eq!(inboxes(&world), before, "{bad}");
    }
    assert_snapshot!(said, @r#"
    2> error: line 3 of the batch: missing field `text` at column 13; nothing was sent
    2>   hint: each line is one object with "to" and "text"
    [exit 6]
    2> error: line 3 of the batch: EOF while parsing an object at column 27; nothing was sent
    2>   hint: each line is one object with "to" and "text"
    [exit 6]
    2> error: line 3 of the batch: unknown field `colour`, expected one of `to`, `text`, `summary`, `priority`, `reply_to`, `id`, `metadata` at column 37; nothing was sent
    2>   hint: each line is one object with "to" and "text"
    [exit 6]
    2> error: line 3 of the batch: member name "../bob": must not contain "/"; nothing was sent
    2>   hint: each line is one object with "to" and "text"
    [exit 6]
    2> error: line 3 of the batch: unknown variant `urgent`, expected one of `high`, `normal`, `low` at column 49; nothing was sent
    2>   hint: each line is one object with "to" and "text"
    [exit 6]
    2> error: line 3 of the batch: is not an object; nothing was sent
    2>   hint: each line is one object with "to" and "text"
    [exit 6]
    2> error: line 3 of the batch; nothing was sent: team dev has no member "bobb"
    2>   hint: did you mean bob? (--create makes an inbox for a new name)
    [exit 3]
    2> error: line 3 of the batch; nothing was sent: there is no team "devv"
    2>   hint: did you mean dev?
    [exit 3]
    2> error: line 3 of the batch; nothing was sent: the message is empty
    2>   hint: give the text as an argument, `-` for stdin, or --file
    [exit 2]
    "#);
}

#[test]
fn a_batch_that_is_not_text_is_refused_instead_of_being_changed() {
    let world = World::with_team();
    let before = inboxes(&world);
    let answer = world.pipe(&["send", "--batch"], b"{\"to\":\"bob\",\"text\":\"caf\xe9\"}\n");
    assert_snapshot!(answer.shown(), @"
    2> error: stdin is not UTF-8 at byte 23; nothing was sent
    [exit 6]
    ");
    assert_eq!(inboxes(&world), before);
}

#[test]
fn an_empty_batch_is_nothing_to_do() {
    let world = World::with_team();
    let before = inboxes(&world);
    assert_eq!(world.pipe(&["send", "--batch", "--json"], "\n\n").stdout, "[]\n");
    assert_eq!(inboxes(&world), before);
}

#[test]
fn a_broadcast_goes_to_everybody_but_oneself() {
    let world = World::with_team();
    let session = world.session(
        "
        atm --as team-lead broadcast 'stand-up in five minutes'
        atm broadcast 'from the person at the keyboard' --to alice,bob
        atm --as alice broadcast 'nobody gets this' --to bob,bobb
        atm broadcast
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm --as team-lead broadcast 'stand-up in five minutes'
    delivered for alice@dev, id [ID]
    delivered for bob@dev, id [ID]
    $ atm broadcast 'from the person at the keyboard' --to alice,bob
    delivered for alice@dev, id [ID]
    delivered for bob@dev, id [ID]
    $ atm --as alice broadcast 'nobody gets this' --to bob,bobb
    2> error: team dev has no member "bobb"
    2>   hint: did you mean bob? (--create makes an inbox for a new name)
    [exit 3]
    $ atm broadcast
    2> error: there is no text to send
    2>   hint: give the text as an argument, `-` for stdin, or --file FILE
    [exit 2]
    "#);
    let both = ["stand-up in five minutes", "from the person at the keyboard"];
    for (name, expected) in [("alice", &both[..]), ("bob", &both), ("team-lead", &[])] {
        assert_eq!(texts(&world.json(&["inbox", name])), expected, "{name}");
    }
}

#[test]
fn somebody_who_is_named_twice_gets_one_message() {
    let world = World::with_team();
    world.ok(&["broadcast", "hello", "--to", "alice,bob,alice,alice@dev"]);
    for name in ["alice", "bob"] {
        assert_eq!(texts(&world.json(&["inbox", name])), ["hello"], "{name}");
    }
}

#[test]
fn a_broadcast_in_a_team_of_one_reaches_nobody_and_says_so() {
    let world = World::new();
    assert_snapshot!(world.session("atm team create solo\natm --as team-lead broadcast hello"), @"
    $ atm team create solo
    made team solo in [ROOT]/teams/solo
    $ atm --as team-lead broadcast hello
    2> error: team solo has nobody else to send to
    2>   hint: `atm member add NAME` adds somebody
    [exit 3]
    ");
}

#[test]
fn a_broadcast_that_one_inbox_refuses_reaches_the_others_and_says_which_failed() {
    let world = World::with_team();
    fs::write(world.root().join("teams/dev/inboxes/alice.json"), "{").unwrap();
    let session = world.session("atm --as team-lead broadcast 'to all' --strict");
    assert_snapshot!(session, @"
    $ atm --as team-lead broadcast 'to all' --strict
    delivered for bob@dev, id [ID]
    2> warning: not sent: [ROOT]/teams/dev/inboxes/alice.json: is an object, not an array
    [exit 6]
    ");
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["to all"]);
}
