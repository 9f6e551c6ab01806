//! `atm send` with one message

use std::fs;

use insta::assert_snapshot;

use crate::scene::{World, texts};

#[test]
fn the_text_comes_from_the_command_line_from_stdin_or_from_a_file() {
    let world = World::with_team();
    fs::write(world.home().join("notes.txt"), "from a file\nwith two lines\n").unwrap();
    let session = world.session(
        "
        atm send bob 'from the command line'
        printf 'from stdin\\r\\n' | atm send bob -
        atm send bob --file notes.txt
        atm send bob --file missing.txt
        atm send bob --file notes.txt 'and a text'
        atm send bob
        atm send bob ' '
        atm send
        printf 'caf\\351' | atm send bob -
        ",
    );
    assert_snapshot!(session, @r"
    $ atm send bob 'from the command line'
    delivered for bob@dev, id [ID]
    $ printf 'from stdin\r\n' | atm send bob -
    delivered for bob@dev, id [ID]
    $ atm send bob --file notes.txt
    delivered for bob@dev, id [ID]
    $ atm send bob --file missing.txt
    2> error: cannot read missing.txt: No such file or directory (os error 2)
    [exit 7]
    $ atm send bob --file notes.txt 'and a text'
    2> error: the argument '--file <FILE>' cannot be used with '[TEXT]'
    2>
    2> Usage: atm send --file <FILE> <TO> [TEXT]
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm send bob
    2> error: there is no text to send to bob
    2>   hint: give the text as an argument, `-` for stdin, or --file FILE
    [exit 2]
    $ atm send bob ' '
    2> error: the message is empty
    2>   hint: give the text as an argument, `-` for stdin, or --file
    [exit 2]
    $ atm send
    2> error: the following required arguments were not provided:
    2>   <TO>
    2>
    2> Usage: atm send <TO> [TEXT]
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ printf 'caf\351' | atm send bob -
    2> error: stdin is not UTF-8 at byte 3
    [exit 6]
    ");
    let expected = ["from the command line", "from stdin", "from a file\nwith two lines"];
    assert_eq!(texts(&world.json(&["inbox", "bob"])), expected);
}

#[test]
fn a_text_may_start_with_a_dash() {
    let world = World::with_team();
    for text in ["-1 is the answer", "--not-an-option", "-", "--json", "-t"] {
        let args = ["send", "bob", "--", text];
        let answer = if text == "-" { world.pipe(&args, "-\n") } else { world.atm(&args) };
        assert_eq!(answer.code, Some(0), "{answer:?}");
    }
    world.ok(&["send", "bob", "-1 needs no separator"]);
    let expected = ["-1 is the answer", "--not-an-option", "-", "--json", "-t", "-1 needs no separator"];
    assert_eq!(texts(&world.json(&["inbox", "bob"])), expected);
}

#[test]
fn what_is_written_is_what_every_client_accepts() {
    let world = World::with_team();
    let how = ["--summary", "a look", "--priority", "high", "--reply-to", "0123-4567"];
    world.ok(&[&["--as", "alice", "send", "bob", "please\nlook"], &how[..]].concat());
    let inbox = fs::read_to_string(world.root().join("teams/dev/inboxes/bob.json")).unwrap();
    assert_snapshot!(world.mask(&inbox), @r#"
    [
      {
        "from": "alice",
        "text": "please\nlook",
        "summary": "a look",
        "timestamp": "[.........TIME.........]",
        "color": "blue",
        "messageId": "[ID]",
        "msgV": 1,
        "msg_id": "[ID]",
        "type": "message",
        "delivery_status": "delivered",
        "metadata": {
          "atm": {
            "reply_to": "0123-4567",
            "priority": "high"
          }
        },
        "read": false
      }
    ]
    "#);
}

#[test]
fn a_line_in_the_log_layout_is_what_shell_recipes_expect() {
    let world = World::new();
    world.ok(&["team", "create", "dev", "--layout", "log"]);
    world.ok(&["member", "add", "bob"]);
    for priority in ["low", "normal", "high"] {
        world.ok(&["send", "bob", priority, "--priority", priority]);
    }
    let folder = world.root().join("teams/dev/members/bob");
    assert_snapshot!(world.mask(&fs::read_to_string(folder.join("inbox")).unwrap()), @r#"{"type":"message","from":"user","to":"bob","timestamp":"[.........TIME.........]","messageId":"[ID]","msgV":1,"summary":"normal","delivery_status":"delivered","content":{"text":"normal"}}"#);
    for (file, priority) in [("inbox-high", "high"), ("inbox", "normal"), ("inbox-low", "low")] {
        let lines = fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(lines.lines().count(), 1, "{file}");
        assert!(lines.contains(&format!("\"{priority}\"")), "{lines}");
    }
    assert_eq!(texts(&world.json(&["--as", "bob", "read"])), ["high", "normal", "low"]);
}

#[test]
fn mail_for_somebody_who_is_off_is_queued_and_tagged_unless_told_not_to() {
    let world = World::with_team();
    world.ok(&["member", "set", "bob", "--active", "false"]);
    let session = world.session(
        "
        atm send bob 'start the build'
        atm send bob 'no tag please' --no-tag
        atm --as team-lead send bob '{\"type\":\"shutdown_request\",\"requestId\":\"r1\"}'
        atm inbox bob --pending
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm send bob 'start the build'
    queued for bob@dev, id [ID]
    2> warning: bob is offline (isActive is false): the message is queued
    $ atm send bob 'no tag please' --no-tag
    queued for bob@dev, id [ID]
    2> warning: bob is offline (isActive is false): the message is queued
    $ atm --as team-lead send bob '{"type":"shutdown_request","requestId":"r1"}'
    queued for bob@dev, id [ID]
    2> warning: bob is offline (isActive is false): the message is queued
    $ atm inbox bob --pending
    user → bob  just now  unread  pending  [ID]
      [PENDING ACTION - queued while offline at [.........TIME.........]] start the build
    user → bob  just now  unread  pending  [ID]
      no tag please
    team-lead → bob  just now  unread  pending  shutdown_request  [ID]
      requestId: r1
    "#);
}

#[test]
fn a_new_name_gets_an_inbox_only_when_that_is_asked_for() {
    let world = World::with_team();
    let carol = world.root().join("teams/dev/inboxes/carol.json");
    let refused = world.session("atm send carol hello");
    assert!(!carol.exists());
    let session = refused
        + &world.session(
            "
            atm send carol hello --create
            atm send carol again
            atm inbox carol
            ",
        );
    assert_snapshot!(session, @r#"
    $ atm send carol hello
    2> error: team dev has no member "carol"
    2>   hint: `atm members` shows the names (--create makes an inbox for a new name)
    [exit 3]
    $ atm send carol hello --create
    queued for carol@dev, id [ID]
    2> warning: carol is not a member of team dev: the message is queued
    $ atm send carol again
    queued for carol@dev, id [ID]
    2> warning: carol is not a member of team dev: the message is queued
    $ atm inbox carol
    user → carol  just now  unread  pending  [ID]
      [PENDING ACTION - queued while offline at [.........TIME.........]] hello
    user → carol  just now  unread  pending  [ID]
      [PENDING ACTION - queued while offline at [.........TIME.........]] again
    "#);
}

#[test]
fn mail_goes_to_another_team_and_the_answer_comes_back() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops", "--layout", "log"]);
    world.ok(&["-t", "ops", "member", "add", "eve"]);
    let session = world.session(
        "
        atm -t dev --as alice send eve@ops 'is the server up?'
        atm --as eve@ops inbox
        atm -t dev --as alice send eve@opps 'hello?'
        atm -t dev --as alice send eva@ops 'hello?'
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm -t dev --as alice send eve@ops 'is the server up?'
    delivered for eve@ops, id [ID]
    $ atm --as eve@ops inbox
    alice → eve  just now  unread  [ID]
      is the server up?
    $ atm -t dev --as alice send eve@opps 'hello?'
    2> error: there is no team "opps"
    2>   hint: did you mean ops?
    [exit 3]
    $ atm -t dev --as alice send eva@ops 'hello?'
    2> error: team ops has no member "eva"
    2>   hint: did you mean eve, team-lead? (--create makes an inbox for a new name)
    [exit 3]
    "#);
    let id = world.json(&["inbox", "eve@ops"])[0]["id"].as_str().unwrap().to_owned();
    world.ok(&["--as", "eve@ops", "reply", &id, "yes"]);
    let answer = &world.json(&["inbox", "alice@dev"])[0];
    assert_eq!((answer["from"].as_str(), answer["text"].as_str()), (Some("eve"), Some("yes")));
}

#[test]
fn an_inbox_that_does_not_parse_is_refused_when_strict_and_set_aside_otherwise() {
    let world = World::with_team();
    let inbox = world.root().join("teams/dev/inboxes/bob.json");
    let torn =
        r#"[{"from":"alice","text":"half of it","timestamp":"2026-11-15T18:00:00.000Z","read":false},{"fr"#;
    fs::write(&inbox, torn).unwrap();
    let strict = world.session("atm send bob hello --strict");
    assert_eq!(fs::read_to_string(&inbox).unwrap(), torn);
    let session = strict + &world.session("atm send bob hello\natm inbox bob");
    assert_snapshot!(session, @r"
    $ atm send bob hello --strict
    2> error: [ROOT]/teams/dev/inboxes/bob.json: ends too early (line 1, column 94)
    2>   hint: nothing was changed; mend the file, or send without --strict to have it set aside
    [exit 6]
    $ atm send bob hello
    delivered for bob@dev, id [ID]
    2> warning: [ROOT]/teams/dev/inboxes/bob.json: ends too early (line 1, column 94); its bytes are kept in [STATE]/quarantine/dev_inboxes_bob.json.[TIME].truncated, 1 readable message carried over
    $ atm inbox bob
    alice → bob  [.....TIME.....]  unread  [ID]
      half of it
    user → bob  just now  unread  [ID]
      hello
    ");
    let kept = world.set_aside();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].1, torn.as_bytes());
}

#[test]
fn somebody_who_is_no_member_may_send_if_that_is_meant() {
    let world = World::with_team();
    let session = world.session(
        "
        atm --as alcie send bob hello
        atm --as stranger send bob hello --create
        atm --as stranger send bob hello --create --quiet --json
        atm send bob 'without a name' --quiet
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm --as alcie send bob hello
    2> error: team dev has no member "alcie", who would be the sender
    2>   hint: did you mean alice? --create lets somebody outside the team write
    [exit 3]
    $ atm --as stranger send bob hello --create
    delivered for bob@dev, id [ID]
    2> warning: stranger is not a member of team dev
    $ atm --as stranger send bob hello --create --quiet --json
    {
      "id": "[ID]",
      "team": "dev",
      "from": "stranger",
      "to": "bob",
      "status": "delivered",
      "stage": "written",
      "timestamp": "[.........TIME.........]",
      "warnings": [
        "stranger is not a member of team dev"
      ]
    }
    2> warning: stranger is not a member of team dev
    $ atm send bob 'without a name' --quiet
    [ID]
    "#);
}

#[test]
fn metadata_of_the_sender_stands_beside_ours_in_both_layouts() {
    for layout in ["array", "log"] {
        let world = World::new();
        world.ok(&["team", "create", "dev", "--layout", layout, "--metadata", "ticket=OPS-7"]);
        world.ok(&["member", "add", "bob", "--metadata", "room=4"]);
        world.ok(&["send", "bob", "one", "--priority", "high", "--metadata", "a=1", "--metadata", "b=x=y"]);
        let line = r#"{"to":"bob","text":"two","metadata":{"deep":{"n":2}}}"#;
        assert_eq!(world.pipe(&["send", "--batch"], line).code, Some(0));
        world.ok(&["broadcast", "three", "--metadata", "c=3"]);
        world.ok(&["--as", "bob", "reply", "last", "four", "--metadata", "d=4"]);
        let mail = world.json(&["inbox", "bob"]);
        let metadata = |index: usize| mail[index]["extra"]["metadata"].clone();
        assert_eq!(metadata(0)["a"], "1", "{mail}");
        assert_eq!(metadata(0)["b"], "x=y");
        assert_eq!(metadata(0)["atm"]["priority"], "high", "ours stays");
        assert_eq!(metadata(1)["deep"]["n"], 2);
        assert_eq!(metadata(2)["c"], "3");
        let answer = world.json(&["inbox", "user"]);
        assert_eq!(answer[0]["extra"]["metadata"]["d"], "4", "{answer}");
        let team = world.json(&["team", "show"]);
        assert_eq!(team["metadata"]["ticket"], "OPS-7");
        assert_eq!(team["members"][1]["metadata"]["room"], "4", "{team}");
        for refused in [
            &["send", "bob", "x", "--metadata", "atm=1"][..],
            &["member", "set", "bob", "--metadata", "atm=1"],
        ] {
            assert_eq!(world.atm(refused).code, Some(2), "{layout}: {refused:?}");
        }
    }
}

#[test]
fn long_mail_is_sent_with_the_command_that_leaves_a_file() {
    let world = World::with_team();
    let long = "x".repeat(40 * 1024);
    let sent = world.json(&["send", "bob", &long]);
    let advice = "the message has 40 KB; leave it as a file, `atm artifacts put FILE`, and send its name";
    assert_eq!(sent["warnings"], serde_json::json!([advice]));
    let answer = world.atm(&["broadcast", &long]);
    assert_eq!((answer.code, answer.stderr.matches(advice).count()), (Some(0), 3), "{}", answer.stderr);
    let sent = world.json(&["broadcast", &long]);
    assert_eq!(sent[0]["warnings"], serde_json::json!([advice]));
}
