//! All that is known of a team, for people, for mail programs, and to be read back.

use std::fs;
use std::process::Command;

use atm_wire::visible;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::everything;
use crate::scene::World;

/// Mail in the inbox, in the archive, and drained by a client; a task.
fn busy() -> World {
    let world = World::with_team();
    for text in ["archived", "drained", "in the inbox"] {
        world.ok(&["--as", "alice", "send", "bob", text]);
    }
    world.ok(&["--as", "bob", "read", "--limit", "1"]);
    world.ok(&["archive", "bob", "--keep", "0"]);
    world.ok(&["log"]);
    let inbox = world.root().join("teams/dev/inboxes/bob.json");
    let entries: Vec<Value> = serde_json::from_slice(&fs::read(&inbox).unwrap()).unwrap();
    // A client takes the older one, and then the newer one comes back from somewhere else.
    fs::write(&inbox, "[]").unwrap();
    world.ok(&["log"]);
    fs::write(&inbox, json!([entries[1]]).to_string()).unwrap();
    world.ok(&["task", "create", "mend | the <build>"]);
    world
}

#[test]
fn the_document_has_the_state_and_all_mail_with_where_it_is() {
    let world = busy();
    let export = world.json(&["team", "export"]);
    assert_eq!(
        (&export["format"], &export["team"], &export["active_members"], &export["total_members"]),
        (&json!("atm-export"), &json!("dev"), &json!(["team-lead", "alice", "bob"]), &json!(3))
    );
    assert!(export["created"].is_string() && export["config"]["members"].is_array());
    assert_eq!(export["tasks"][0]["subject"], "mend | the <build>");
    let mail: Vec<(&str, &str, bool)> = export["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["text"].as_str().unwrap(), m["where"].as_str().unwrap(), m["read"].as_bool().unwrap()))
        .collect();
    let expected =
        [("archived", "archive", true), ("drained", "history", true), ("in the inbox", "inbox", false)];
    assert_eq!(mail, expected);
    assert_eq!(export["messages"][2]["entry"]["msgV"], 1, "the entry as it stands");

    let lines = world.ok(&["team", "export", "--format", "jsonl"]);
    let kinds: Vec<Value> = lines.lines().map(|line| line.split('"').nth(1).unwrap().into()).collect();
    assert_eq!(kinds, ["team", "task", "message", "message", "message"]);
}

#[test]
fn it_is_all_there_again_after_an_import_and_once() {
    for (format, layout) in [("json", "array"), ("jsonl", "log")] {
        let world = busy();
        let file = world.home().join("export").display().to_string();
        world.ok(&["team", "export", "dev", "--format", format, "--out", &file]);
        let other = World::new();
        if layout == "log" {
            other.ok(&["team", "create", "dev", "--layout", "log"]);
        }
        let dry = other.json(&["team", "import", &file, "--dry-run"]);
        assert_eq!((&dry["messages"]["added"], &dry["archived"]["added"]), (&json!(1), &json!(2)));
        let done = other.json(&["team", "import", &file]);
        assert_eq!((&done["messages"]["added"], &done["archived"]["added"]), (&json!(1), &json!(2)));
        assert_eq!(done["tasks"], json!({ "added": 1, "known": 0 }));
        assert_eq!(everything(&other, "bob", "dev"), ["archived", "drained", "in the inbox"]);
        assert_eq!(other.json(&["members"]).as_array().unwrap().len(), 3);
        let again = other.json(&["team", "import", &file]);
        assert_eq!(
            (&again["messages"], &again["archived"]["added"]),
            (&json!({ "added": 0, "known": 1 }), &json!(0))
        );
        assert_eq!(everything(&other, "bob", "dev"), ["archived", "drained", "in the inbox"]);
        assert_eq!(other.json(&["search", "drained"]).as_array().unwrap().len(), 1, "it can be found");

        let renamed = other.json(&["team", "import", &file, "--as", "ops"]);
        assert_eq!((&renamed["created"], &renamed["from"]), (&json!(true), &json!("dev")));
        assert_eq!(everything(&other, "bob", "ops"), ["archived", "drained", "in the inbox"]);
    }
}

#[test]
fn a_team_that_is_gone_can_be_exported() {
    let world = busy();
    world.ok(&["team", "delete", "dev", "--force"]);
    let export = world.json(&["team", "export", "dev"]);
    assert_eq!(export["messages"].as_array().unwrap().len(), 3);
}

const READ_MBOX: &str = r#"
import email.policy, json, mailbox, sys
box = mailbox.mbox(sys.argv[1], factory=None)
found = []
for message in box:
    parsed = email.message_from_bytes(message.as_bytes(), policy=email.policy.default)
    found.append({
        "from": message.get_from(), "sender": str(parsed["From"]), "to": str(parsed["To"]),
        "subject": str(parsed["Subject"]), "date": parsed["Date"].datetime.isoformat(),
        "id": str(parsed["X-Atm-Id"]), "where": str(parsed["X-Atm-Where"]), "flags": message.get_flags(),
        "reply": str(parsed["In-Reply-To"]), "defects": [str(d) for d in parsed.defects],
        "body": message.get_payload(decode=True).decode("utf-8"),
    })
print(json.dumps(found))
"#;

#[test]
fn mail_programs_read_the_mbox() {
    let world = World::with_team();
    let texts = [
        "hello".to_owned(),
        "From me to you\n>From them\nFrom \n\nFrom x Mon Jan  1 00:00:00 2026\n\nbye".to_owned(),
        "grüße 🦀\r\nand \u{1b}[31mred\u{1b}[0m".to_owned(),
        format!("From a long {}\nF", "line ".repeat(400)),
        "trailing \n\n\n".to_owned(),
    ];
    for text in &texts {
        let sent =
            world.pipe(&["--as", "alice", "send", "bob", "-", "--summary", "Bcc: nobody\n\u{fc}ber"], text);
        assert_eq!(sent.code, Some(0), "{sent:?}");
    }
    let first = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    world.ok(&["--as", "bob", "reply", &first, "yes"]);
    let file = world.home().join("mail.mbox");
    world.ok(&["team", "export", "--format", "mbox", "--out", file.to_str().unwrap()]);
    let python = Command::new("python3").args(["-c", READ_MBOX]).arg(&file).output().unwrap();
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let found: Vec<Value> = serde_json::from_slice(&python.stdout).unwrap();
    assert_eq!(found.len(), texts.len() + 1);
    // Programs that read mboxes leave the `>` in front; everything else is as it was sent,
    // and what a reader would not see is spelled out.
    let unquoted = |body: &str| -> String {
        let line = |line: &str| match line.strip_prefix('>') {
            Some(rest) if rest.trim_start_matches('>').starts_with("From ") => rest.to_owned(),
            _ => line.to_owned(),
        };
        body.split('\n').map(line).collect::<Vec<_>>().join("\n")
    };
    let inbox = world.json(&["inbox", "bob"]);
    for (sent, message) in inbox.as_array().unwrap().iter().zip(&found[1..]) {
        let (text, body) = (sent["text"].as_str().unwrap(), unquoted(message["body"].as_str().unwrap()));
        assert_eq!((&sent["id"], body), (&message["id"], format!("{}\n", visible::lines(text))));
        assert_eq!((&message["sender"], &message["to"]), (&json!("alice@dev"), &json!("bob@dev")));
        assert_eq!((&message["where"], &message["defects"]), (&json!("inbox"), &json!([])));
        assert!(!message["subject"].as_str().unwrap().contains('\n'), "{message}");
    }
    assert_eq!(found[0]["body"].as_str().unwrap().trim(), "yes");
    assert_eq!(found[0]["reply"], format!("<{first}@dev>"));
}

#[test]
fn the_page_is_for_people_and_what_is_written_stays_words() {
    let world = busy();
    world.ok(&["--as", "alice", "send", "bob", "# not a heading\n<script>alert(1)</script> \u{1b}[2J"]);
    world.ok(&["--as", "alice", "idle"]);
    let page = world.mask(&world.ok(&["team", "export", "--format", "md"]));
    assert_snapshot!(page, @r#"
    # Team dev

    dev

    - made [.........TIME.........]
    - 3 members, 3 active
    - exported [.........TIME.........]

    ## Members

    | name | type | model | active |
    |---|---|---|---|
    | team-lead | team-lead | sonnet | yes |
    | alice | general-purpose | sonnet | yes |
    | bob | general-purpose | sonnet | yes |

    ## Tasks

    - [ ] 1: mend \| the \<build\> (pending)

    ## Mail for alice

    None.

    ## Mail for bob

    **alice**, [.........TIME.........] (archived, seen) `[ID]`

    > archived

    **alice**, [.........TIME.........] (drained, from the ledger, taken) `[ID]`

    > drained

    **alice**, [.........TIME.........] (unread, taken) `[ID]`

    > in the inbox

    **alice**, [.........TIME.........] (unread, written) `[ID]`

    > # not a heading
    > &lt;script>alert(1)&lt;/script> \x1b[2J


    ## Mail for team-lead

    **alice**, [.........TIME.........] (unread, written) `[ID]`

        {
          "type": "idle_notification",
          "from": "alice",
          "timestamp": "[.........TIME.........]",
          "idleReason": "available"
        }
    "#);
}

#[test]
fn what_is_no_export_is_refused_and_nothing_is_made() {
    let world = World::new();
    let file = world.home().join("export");
    let head = json!({ "format": "atm-export", "version": 1, "team": "dev" });
    let with = |key: &str, value: Value| {
        let mut document = head.clone();
        document[key] = value;
        document.to_string()
    };
    let message = |key: &str, value: Value| {
        let entry = json!({ "from": "a", "text": "t", "timestamp": "2026-11-15T18:42:20.463Z" });
        let mut row =
            json!({ "where": "inbox", "to": "bob", "read": false, "form": "array", "entry": entry });
        row[key] = value;
        with("messages", json!([row]))
    };
    for (text, reason) in [
        (String::new(), "no export"),
        ("[]".into(), "no export"),
        ("{".into(), "no export"),
        ("\u{0}".into(), "no export"),
        (with("format", json!("zip")), "one of \"zip\""),
        (with("version", json!(2)), "use a newer one"),
        (with("team", json!("../x")), "x"),
        (with("tasks", json!([{ "id": "../1" }])), "tasks[0]: a task without a number"),
        (message("to", json!("../../etc")), "messages[0]"),
        (message("entry", json!({ "from": 1 })), "messages[0]: its entry"),
        (message("where", json!("nowhere")), "messages[0]"),
        ("{\"task\":{}}\n{\"odd\":{}}".into(), "line 2: unknown field `odd`"),
        ("{\"message\":{}}".into(), "names no team"),
    ] {
        fs::write(&file, &text).unwrap();
        let answer = world.atm(&["team", "import", file.to_str().unwrap()]);
        assert!(matches!(answer.code, Some(2 | 6)) && answer.stderr.contains(reason), "{text}: {answer:?}");
        assert!(!world.root().join("teams").exists() && !world.root().join("tasks").exists(), "{text}");
    }
    fs::write(&file, [0xff, 0xfe]).unwrap();
    assert_eq!(world.atm(&["team", "import", file.to_str().unwrap()]).code, Some(6));
    assert_eq!(world.atm(&["team", "import", "missing"]).code, Some(7));
}

#[test]
fn a_file_is_not_overwritten_and_json_is_one_document() {
    let world = busy();
    let out = world.session(
        "atm team export --out x.json
         atm team export --out x.json
         atm team export --out x.json --force --format md --json | jq 'del(.file)'
         atm team export --format md --json
         stat -c %a x.json",
    );
    assert_snapshot!(out, @r#"
    $ atm team export --out x.json
    exported team dev: 3 messages (1 of them only in the ledger) and 1 task in [HOME]/x.json
    $ atm team export --out x.json
    2> error: [HOME]/x.json exists already
    2>   hint: --force replaces it; --out names another
    [exit 4]
    $ atm team export --out x.json --force --format md --json | jq 'del(.file)'
    {
      "from_history": 1,
      "messages": 3,
      "tasks": 1,
      "team": "dev",
      "warnings": []
    }
    $ atm team export --format md --json
    2> {"error":{"code":"usage","message":"--json and another form cannot both be on stdout","hint":"give --out FILE"}}
    [exit 2]
    $ stat -c %a x.json
    600
    "#);
}
