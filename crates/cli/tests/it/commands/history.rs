//! What was sent to whom: filters, times as people write them, and `last`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::scene::{World, texts};

fn of(world: &World, line: &str) -> Vec<String> {
    texts(&world.json(&line.split(' ').collect::<Vec<_>>()))
}

#[test]
fn the_log_is_filtered_and_in_the_order_of_times() {
    let world = World::with_team();
    for (from, to, text) in [
        ("alice", "bob", "deploy it"),
        ("bob", "alice", "DEPLOYED"),
        ("team-lead", "bob", "well done"),
        ("alice", "team-lead", "thanks"),
    ] {
        world.ok(&["--as", from, "send", to, text]);
    }
    world.ok(&["--as", "alice", "idle"]);
    assert_eq!(of(&world, "log --from alice --to bob"), ["deploy it"]);
    assert_eq!(of(&world, "log --with bob"), ["deploy it", "DEPLOYED", "well done"]);
    assert_eq!(of(&world, "log --grep deploy"), ["deploy it", "DEPLOYED"]);
    assert_eq!(of(&world, "log --type idle_notification").len(), 1);
    assert_eq!(of(&world, "log --with bob --last 1"), ["well done"]);
    assert_eq!(of(&world, "log --since today --until today --with bob").len(), 3);
    assert!(of(&world, "log --until yesterday").is_empty());
    assert_eq!(of(&world, "log --since yesterday --from team-lead"), ["well done"]);
    let full = world.ok(&["log", "--full", "--grep", "deploy"]);
    assert!(full.contains("\n  deploy it\n") && full.ends_with("  DEPLOYED\n"), "{full}");
}

#[test]
fn a_number_without_a_unit_is_refused_wherever_a_time_is_taken() {
    let world = World::with_team();
    for line in [
        "log --since 30",
        "inbox bob --until 30",
        "search x --since 30",
        "stats --since 30",
        "--as bob read --wait 30",
    ] {
        let answer = world.atm(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(answer.code, Some(2), "{line}: {answer:?}");
        assert!(answer.stderr.contains("30: of what? write 30s, 30m or 30h"), "{line}: {}", answer.stderr);
    }
    let answer = world.atm(&["log", "--since", "soon"]);
    assert!(
        answer.stderr.contains("--since \"soon\" is not a time") && answer.stderr.contains("yesterday"),
        "{answer:?}"
    );
}

#[test]
fn last_is_what_one_sent_or_got() {
    let world = World::with_team();
    let id = |answer: &Value| answer["id"].as_str().unwrap().to_owned();
    let first = id(&world.json(&["--as", "alice", "send", "bob", "one"]));
    let second = id(&world.json(&["--as", "alice", "send", "bob", "two", "--ack-by", "5m"]));
    let (head, tail) = (&second[..13], &second[second.len() - 6..]);
    assert_eq!(id(&world.json(&["--as", "alice", "track", "last"])), second);
    assert_eq!(id(&world.json(&["--as", "alice", "track", tail])), second);
    assert_eq!(texts(&world.json(&["--as", "bob", "thread", "last"])), ["two"]);
    world.ok(&["--as", "bob", "ack", "last"]);
    assert_eq!(world.json(&["track", &second])["stage"], "acked");
    world.ok(&["--as", "bob", "reply", "last", "yes"]);
    assert_eq!(world.json(&["track", &second])["stage"], "done");
    assert_eq!(world.json(&["--as", "bob", "thread", "last"]).as_array().unwrap().len(), 2);
    assert_eq!(world.atm(&["--as", "bob", "reply", head, "again"]).code, Some(0));
    assert_eq!(world.json(&["--as", "alice", "recall", &first[first.len() - 6..]])["stage"], "recalled");
    assert_eq!(world.atm(&["--as", "team-lead", "track", "last"]).code, Some(3));
}

#[test]
fn history_is_asked_of_several_teams_together() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops", "--lead", "owl"]);
    world.ok(&["team", "create", "third", "--lead", "elk"]);
    let send = |team: &str, to: &str, text: &str| {
        world.json(&["-t", team, "send", to, text])["id"].as_str().unwrap().to_owned()
    };
    send("dev", "bob", "deploy one");
    send("third", "elk", "deploy two");
    let id = send("ops", "owl", "deploy three");
    send("dev", "bob", "deploy four");
    let ask = |line: &str| format!("-t dev -t ops -t dev {line}");
    assert_eq!(of(&world, &ask("log")), ["deploy one", "deploy three", "deploy four"]);
    assert_eq!(of(&world, &ask("log --last 2")), ["deploy three", "deploy four"]);
    assert_eq!(of(&world, &ask("search deploy")), ["deploy four", "deploy three", "deploy one"]);
    assert_eq!(of(&world, &ask("search deploy --limit 1")), ["deploy four"]);
    assert_eq!(of(&world, &ask(&format!("thread {id}"))), ["deploy three"]);
    let track = |line: &str| world.json(&ask(line).split(' ').collect::<Vec<_>>())["team"].clone();
    assert_eq!((track("track last"), track("track three")), ("dev".into(), "ops".into()));
    assert_eq!(
        (track(&format!("track {id}")), track(&format!("track {}", &id[28..]))),
        ("ops".into(), "ops".into())
    );
    let stats = world.json(&ask("stats").split(' ').collect::<Vec<_>>());
    assert_eq!(stats["messages"], 3, "{stats}");
    assert_eq!(stats["by_team"].as_array().unwrap().len(), 2, "{stats}");
}

#[test]
fn the_log_says_how_much_of_it_is_left_out() {
    let world = World::with_team();
    for text in ["one", "two", "three"] {
        world.ok(&["--as", "alice", "send", "bob", text]);
    }
    let last = |line: &str| {
        let log = world.ok(&line.split(' ').collect::<Vec<_>>());
        log.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(last("log --last 1"), "… 2 more: --last 5 or --all");
    assert_eq!(last("log --last 1 --full"), "… 2 more: --last 5 or --all");
    assert_eq!(last("log --last 0"), "… 3 more: --last 1 or --all");
    assert_eq!(last("log --last 1 --grep t"), "… more: --last 5 or --all");
    for line in ["log", "log --last 3", "log --all", "log --last 1 --grep three"] {
        assert!(!last(line).contains("more:"), "{line}");
    }
    assert_eq!(of(&world, "log --last 1"), ["three"]);
}

#[test]
fn a_long_conversation_is_cut_and_says_so_and_fits_a_prompt() {
    let world = World::with_team();
    let first = world.json(&["--as", "team-lead", "send", "bob", "which branch?"])["id"].clone();
    let id = first.as_str().unwrap();
    let line =
        |number| format!("{{\"to\":\"bob\",\"text\":\"words of number {number}.\",\"reply_to\":{first}}}");
    let lines = (0..60).map(line).collect::<Vec<String>>().join("\n");
    assert_eq!(world.pipe(&["--as", "team-lead", "send", "--batch"], lines).code, Some(0));
    let shown = world.ok(&["thread", id]);
    assert_eq!(
        (shown.matches("words of").count(), shown.matches("which branch?").count()),
        (49, 1),
        "{shown}"
    );
    assert!(shown.contains("words of number 59.") && shown.ends_with("… 11 more: --all\n"), "{shown}");
    assert_eq!(world.ok(&["thread", id, "--all"]).matches("words of").count(), 60);
    assert_eq!(world.ok(&["thread", id, "--last", "1"]).matches("words of").count(), 0);
    assert_eq!(world.json(&["thread", id]).as_array().unwrap().len(), 61);
    let prompt = world.ok(&["thread", id, "--format", "context", "--budget", "300"]);
    assert!(prompt.len() <= 1200, "{prompt}");
    assert!(prompt.contains("which branch?") && prompt.contains("words of number 59."), "{prompt}");
    let told =
        prompt.lines().find_map(|line| line.strip_prefix("- ")?.split_once(" more: atm thread")).unwrap().0;
    assert_eq!(told.parse::<usize>().unwrap() + prompt.matches("\n- from ").count(), 61, "{prompt}");
    world.ok(&["--as", "team-lead", "send", "bob", &"x".repeat(9_000)]);
    let prompt = world.ok(&["thread", "last", "--format", "context", "--budget", "300", "--as", "bob"]);
    assert!(prompt.len() <= 1200 && prompt.contains("that was the start of 9000 bytes"), "{prompt}");
}

#[test]
fn messages_are_counted_by_sender_type_and_team() {
    let world = World::with_team();
    world.ok(&["--as", "alice", "send", "bob", "one"]);
    world.ok(&["--as", "alice", "send", "bob", "two"]);
    world.ok(&["--as", "bob", "heartbeat"]);
    let stats = world.json(&["stats"]);
    let count = |key: &str, name: &str| {
        let counts = stats[key].as_array().unwrap();
        counts.iter().find(|count| count["key"] == name).map(|count| count["messages"].clone())
    };
    assert_eq!(stats["messages"], 3, "{stats}");
    assert_eq!(count("by_sender", "alice"), Some(2.into()), "{stats}");
    assert_eq!(count("by_type", "heartbeat"), Some(1.into()), "{stats}");
    assert_eq!(count("by_team", "dev"), Some(3.into()), "{stats}");
    assert!(stats["per_minute"].as_f64().unwrap() > 0.0, "{stats}");
}

/// The history shows no path of a payload as a file that the inbox would mark.
#[test]
fn history_and_export_mark_paths_outside_of_the_teams_folders_as_the_inbox_does() {
    let world = World::with_team();
    let payload = r#"{"type":"plan_note","planFilePath":"/etc/passwd","planContent":"a plan"}"#;
    let id = world.sent("bob", payload);
    let mark = "planFilePath: /etc/passwd (unchecked path: outside of the team's folders)";
    for command in [
        "inbox bob",
        "log --full",
        &format!("thread {id}"),
        &format!("thread {id} --format context"),
        "search passwd",
        "team export --format md",
        "team export --format mbox",
    ] {
        let shown = world.ok(&command.split(' ').collect::<Vec<_>>());
        // Markdown has its own way to write some signs, and mail programs unfold the headers.
        let plain = shown.replace('\\', "").replace("=20", " ").replace("=2F", "/");
        let plain = plain.replace("=3A", ":").replace("=28", "(").replace("=29", ")").replace("=27", "'");
        let plain = plain.replace("?=\n =?utf-8?Q?", "");
        assert!(plain.contains(mark), "{command}: {shown}");
    }
    for command in ["log", &format!("thread {id}"), "search passwd"] {
        let found = &world.json(&command.split(' ').collect::<Vec<_>>())[0];
        assert_eq!(found["files"][0]["unchecked"], "outside", "{command}: {found}");
    }
    let export = world.ok(&["team", "export", "--format", "json"]);
    let export: serde_json::Value = serde_json::from_str(&export).unwrap();
    assert_eq!(export["messages"][0]["files"][0]["unchecked"], "outside", "{export}");
}

#[test]
fn history_is_asked_of_all_teams_in_words_too() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops"]);
    world.ok(&["-t", "ops", "member", "add", "carol"]);
    world.ok(&["-t", "ops", "send", "carol", "one"]);
    world.ok(&["-t", "dev", "send", "bob", "one"]);
    let count = |args: &[&str]| world.json(args).as_array().unwrap().len();
    assert_eq!(count(&["-t", "dev", "log"]), 1);
    assert_eq!(count(&["-t", "dev", "log", "--all-teams"]), 2);
    assert_eq!(count(&["-t", "dev", "search", "one"]), 1);
    assert_eq!(count(&["-t", "dev", "search", "one", "--all-teams"]), 2);
    assert_eq!(world.json(&["-t", "dev", "stats"])["messages"], 1);
    assert_eq!(world.json(&["-t", "dev", "stats", "--all-teams"])["messages"], 2);
    assert_eq!(world.json(&["-t", "ops", "track", "last", "--all-teams"])["to"], "bob");
    assert_eq!(count(&["-t", "ops", "thread", "last", "--all-teams"]), 1);
}

#[test]
fn where_nothing_is_there_it_is_said_in_a_line() {
    let world = World::with_team();
    let session = world.session(
        "
        atm stats
        atm track last
        atm recall last
        atm read bob
        atm --as carol health bob
        atm member add carol --color red
        atm --as team-lead task create job --owner bob
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm stats
    no mail in 24 h; --since goes further back
    $ atm track last
    2> error: there is no last message: nothing of yours was ever sent or seen here
    2>   hint: `atm log` shows what was sent and seen
    [exit 3]
    $ atm recall last
    2> error: there is no last message: nothing of yours was ever sent or seen here
    2>   hint: `atm log` shows what was sent and seen
    [exit 3]
    $ atm read bob
    2> error: unexpected argument 'bob' found
    2>
    2>   tip: `atm inbox bob` looks, and marks nothing; `atm --as bob read` reads as bob
    2>
    2> Usage: atm read [OPTIONS]
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm --as carol health bob
    2> error: team dev has no member "carol", who would be the sender
    2>   hint: --create lets somebody outside the team write
    [exit 3]
    $ atm member add carol --color red
    2> error: invalid value 'red' for '--color <WHEN>'
    2>   [possible values: auto, always, never]
    2>
    2>   tip: --member-color is the option for a member's own colour
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm --as team-lead task create job --owner bob
    made task 1: job
    delivered for bob@dev, id [ID]
    "#);
    // What is only spelled like it (`--as`) would be wrong.
    for (line, meant) in [
        ("task create job --assign bob", "`--owner NAME` does that"),
        ("task create job --hours=3", "`--estimate HOURS` does that"),
        ("send bob hi --subject x", "`--summary TEXT` does that"),
    ] {
        let told = world.atm(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(told.code, Some(2), "{told:?}");
        assert!(told.stderr.contains(meant) && !told.stderr.contains("'--as'"), "{told:?}");
    }
    // Somebody from outside asks, and is answered.
    let asked = world.atm(&["--as", "carol", "health", "bob", "--create", "--timeout", "1ms"]);
    assert_eq!(asked.code, Some(8), "{}", asked.stderr);
    assert!(asked.stderr.contains("bob did not answer within 1ms"), "{}", asked.stderr);
    world.ok(&["--as", "bob", "heartbeat"]);
    assert_eq!(world.json(&["inbox", "carol"])[0]["type"], "heartbeat");
}
