//! Wrong names fail loudly: with the nearest right one, without a phantom inbox, and never with a file outside the tree.

use std::collections::BTreeSet;
use std::path::PathBuf;

use atm_store::Layout;
use insta::assert_snapshot;

use crate::scene::{World, foreign_team, tree};

/// Everything in the world but our own state, which a refused command may not need but may make.
fn files(world: &World) -> BTreeSet<PathBuf> {
    tree(world.root().parent().unwrap()).into_iter().filter(|path| !path.starts_with(world.state())).collect()
}

#[test]
fn the_nearest_right_name_is_offered() {
    let world = World::with_team();
    let before = files(&world);
    let session = world.session(
        "
        atm send Bob hello
        atm send bobby hello
        atm send lead hello
        atm send zzz hello
        atm inbox alise
        atm --as alicia read
        atm -t de members
        atm -t Dev members
        atm broadcast hello --to alice,bop
        atm member set bbo --active false
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm send Bob hello
    2> error: team dev has no member "Bob"
    2>   hint: did you mean bob? (--create makes an inbox for a new name)
    [exit 3]
    $ atm send bobby hello
    2> error: team dev has no member "bobby"
    2>   hint: did you mean bob? (--create makes an inbox for a new name)
    [exit 3]
    $ atm send lead hello
    2> error: team dev has no member "lead"
    2>   hint: did you mean team-lead? (--create makes an inbox for a new name)
    [exit 3]
    $ atm send zzz hello
    2> error: team dev has no member "zzz"
    2>   hint: `atm members` shows the names (--create makes an inbox for a new name)
    [exit 3]
    $ atm inbox alise
    2> error: team dev has no member "alise"
    2>   hint: did you mean alice?
    [exit 3]
    $ atm --as alicia read
    2> error: team dev has no member "alicia"
    2>   hint: did you mean alice?
    [exit 3]
    $ atm -t de members
    2> error: there is no team "de"
    2>   hint: did you mean dev?
    [exit 3]
    $ atm -t Dev members
    NAME              STATE   UNREAD  PENDING  OLDEST  SEEN  MODEL   WHY
    team-lead (lead)  online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
    alice             online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
    bob               online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
    $ atm broadcast hello --to alice,bop
    2> error: team dev has no member "bop"
    2>   hint: did you mean bob? (--create makes an inbox for a new name)
    [exit 3]
    $ atm member set bbo --active false
    2> error: team dev has no member "bbo"
    2>   hint: did you mean bob?
    [exit 3]
    "#);
    assert_eq!(files(&world), before);
}

#[test]
fn a_sender_that_nobody_knows_is_told_what_to_do_next() {
    let world = World::with_team();
    let session = world.session(
        "
        atm --as alicia send bob hello
        atm --as zed request bob task_status_request --no-wait
        atm --as zed heartbeat
        atm --as alicia idle
        atm --as zed health bob
        atm --as zed respond req-1
        atm --as zed task create x
        atm --as zed task claim --next
        atm --as zed task unblock 1
        atm --as zed plan submit x
        atm --as zed shutdown approve
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm --as alicia send bob hello
    2> error: team dev has no member "alicia", who would be the sender
    2>   hint: did you mean alice? --create lets somebody outside the team write
    [exit 3]
    $ atm --as zed request bob task_status_request --no-wait
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: --create lets somebody outside the team write
    [exit 3]
    $ atm --as zed heartbeat
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: `atm member add zed` makes them a member; without --as you are `user`
    [exit 3]
    $ atm --as alicia idle
    2> error: team dev has no member "alicia", who would be the sender
    2>   hint: did you mean alice? `atm member add alicia` makes them a member; without --as you are `user`
    [exit 3]
    $ atm --as zed health bob
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: --create lets somebody outside the team write
    [exit 3]
    $ atm --as zed respond req-1
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: `atm member add zed` makes them a member; without --as you are `user`
    [exit 3]
    $ atm --as zed task create x
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: `atm member add zed` makes them a member; without --as you are `user`
    [exit 3]
    $ atm --as zed task claim --next
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: `atm member add zed` makes them a member; without --as you are `user`
    [exit 3]
    $ atm --as zed task unblock 1
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: `atm member add zed` makes them a member; without --as you are `user`
    [exit 3]
    $ atm --as zed plan submit x
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: `atm member add zed` makes them a member; without --as you are `user`
    [exit 3]
    $ atm --as zed shutdown approve
    2> error: team dev has no member "zed", who would be the sender
    2>   hint: `atm member add zed` makes them a member; without --as you are `user`
    [exit 3]
    "#);
}

/// Somebody outside a team asks with the option that lets them write, and the answer reaches them.
#[test]
fn an_outsider_asks_and_is_answered() {
    let world = World::with_team();
    let request =
        world.ok(&["--as", "zed", "request", "bob", "task_status_request", "--no-wait", "--create", "-q"]);
    world.ok(&["--as", "bob", "respond", request.trim()]);
    let mail = world.json(&["inbox", "zed"]);
    assert_eq!(mail[0]["type"], "task_status_response", "{mail}");
}

/// Names that would lead elsewhere, hide, or fool a reader.
fn impossible_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        "/",
        "..",
        ".",
        "../bob",
        "../../escape",
        "bob/../alice",
        "/etc/passwd",
        "a\\b",
        ".hidden",
        "a..b",
        "bob\n",
        "bo\tb",
        "bo\u{7}b",
        "\u{1b}[31mbob",
        "bob\u{7f}",
        "bob\u{9b}",
        "bob\u{202e}",
        "bob\u{200b}",
        " bob",
        "bob ",
    ]
    .map(ToOwned::to_owned)
    .into();
    names.push("x".repeat(65));
    names.push("é".repeat(33));
    names.push("x".repeat(5_000));
    names
}

#[test]
fn impossible_names_are_refused_before_anything_is_touched() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, _team) = foreign_team(layout);
        let before = files(&world);
        for name in impossible_names() {
            let name = name.as_str();
            let commands: [&[&str]; 13] = [
                &["send", name, "hello", "--create"],
                &["send", &format!("bob@{name}"), "hello", "--create"],
                &["--as", name, "send", "bob", "hello"],
                &["-t", name, "send", "bob", "hello", "--create"],
                &["broadcast", "hello", "--to", name, "--create"],
                &["inbox", name],
                &["--as", name, "read"],
                &["watch", name],
                &["member", "add", name],
                &["member", "remove", name],
                &["team", "create", name],
                &["team", "show", name],
                &["team", "delete", name, "--force"],
            ];
            for command in commands {
                // An option's empty value means that it is not given.
                let not_given = name.is_empty() && matches!(command[0], "--as" | "-t");
                let answer = world.atm(command);
                assert!(answer.code == Some(2) || not_given, "{command:?}: {answer:?}");
                assert_eq!(files(&world), before, "{command:?}");
                let raw = |text: &str| {
                    text.replace(['\n', '\t'], "").contains(|c: char| c.is_control() || c == '\u{202e}')
                };
                assert!(!raw(&answer.stdout) && !raw(&answer.stderr), "{command:?}: {answer:?}");
            }
        }
        assert!(!world.root().join("teams/escape").exists());
    }
}

#[test]
fn names_that_are_odd_but_possible_stay_inside_the_inboxes() {
    // Other programs use such names; their files are spelled as those programs spell them.
    let (world, team) = foreign_team(Layout::Array);
    for (name, file) in
        [("Big Boss", "Big-Boss.json"), ("a.b", "a-b.json"), ("ünï", "-n-.json"), ("~", "-.json")]
    {
        world.ok(&["send", name, "hello", "--create"]);
        let inbox = team.folder().join("inboxes").join(file);
        assert!(inbox.is_file(), "{name}");
        let mail = world.json(&["inbox", name]);
        assert_eq!(mail[0]["to"], name);
    }
}

#[test]
fn a_name_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::with_team();
    let before = files(&world);
    let name = std::ffi::OsStr::from_bytes(b"bob\xff");
    for args in [["send".as_ref(), name, "hello".as_ref()], ["inbox".as_ref(), name, "--json".as_ref()]] {
        let answer = world.atm::<&std::ffi::OsStr>(&args);
        assert_eq!(answer.code, Some(2), "{answer:?}");
    }
    assert_eq!(files(&world), before);
}

#[test]
fn a_name_in_another_programs_file_leads_nowhere_else() {
    // A member that is called like a path: never looked up, never written, and the others can still be used.
    let (world, team) = foreign_team(Layout::Array);
    let config = std::fs::read_to_string(team.config_file()).unwrap();
    std::fs::write(team.config_file(), config.replace("\"name\": \"alice\"", "\"name\": \"../../../alice\""))
        .unwrap();
    let before = files(&world);
    let session = world.session(
        "
        atm members
        atm send ../../../alice hello
        atm --as team-lead broadcast hello
        atm watch --all --count 1
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm members
    NAME              STATE    UNREAD  PENDING  OLDEST  SEEN  MODEL              WHY
    team-lead (lead)  unknown  0       0        -       -     claude-sonnet-4-5  config.json does not say isActive
    ../../../alice    unknown  0       0        -       -     claude-sonnet-4-5  config.json does not say isActive
    bob               unknown  0       0        -       -     claude-sonnet-4-5  config.json does not say isActive
    2> warning: member name "../../../alice": must not contain "/"
    $ atm send ../../../alice hello
    2> error: member name "../../../alice": must not contain "/"
    2>   hint: there is no folder at that path either; `atm sessions` lists the sessions' folders
    [exit 2]
    $ atm --as team-lead broadcast hello
    delivered for bob@dev, id [ID]
    $ atm watch --all --count 1
    team-lead → bob  just now  unread  [ID]
      hello
    "#);
    let made: Vec<_> = files(&world).difference(&before).cloned().collect();
    assert!(made.iter().all(|path| path.starts_with(team.folder().join("inboxes"))), "{made:?}");
}

/// A name that no team knew was passed over in silence, or was said of the last team alone.
#[test]
fn a_name_that_none_of_several_teams_knows_is_said_of_all() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops"]);
    world.ok(&["-t", "ops", "member", "add", "carol"]);
    world.ok(&["-t", "ops", "send", "carol", "two"]);
    let session = world.session(
        "
        atm inbox --all-teams carrol
        atm -t dev -t ops inbox zzz
        atm watch --all-teams zzz
        atm watch --all-teams --since start alise --for 1ms
        atm inbox --all-teams carol
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm inbox --all-teams carrol
    2> error: none of the teams dev, ops has a member "carrol"
    2>   hint: did you mean carol?
    [exit 3]
    $ atm -t dev -t ops inbox zzz
    2> error: none of the teams dev, ops has a member "zzz"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm watch --all-teams zzz
    2> error: none of the teams dev, ops has a member "zzz"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm watch --all-teams --since start alise --for 1ms
    2> error: none of the teams dev, ops has a member "alise"
    2>   hint: did you mean alice?
    [exit 3]
    $ atm inbox --all-teams carol
    team ops
    user → carol  just now  unread  [ID]
      two
    "#);
}

/// Each command takes NAME@TEAM, also where nothing else says which team is meant.
#[test]
fn a_name_may_say_its_team() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops"]);
    world.ok(&["-t", "ops", "member", "add", "carol"]);
    world.ok(&["-t", "ops", "send", "carol", "two"]);
    let session = world.session(
        "
        atm status carol@ops
        atm status bob@ops
        atm watch carol@ops --all --count 1
        atm member set carol@ops --active false
        atm member remove carol@ops --yes
        atm member restore carol@ops
        atm artifacts list carol@ops
        atm health carol@ops --timeout 1ms
        atm wake carol@ops --dry-run
        atm peek carol@ops
        atm kill carol@ops
        atm request carol@ops question --timeout 1ms
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm status carol@ops
    carol: online (isActive is true in config.json; never heard from)
    $ atm status bob@ops
    2> error: team ops has no member "bob"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm watch carol@ops --all --count 1
    user → carol  just now  unread  [ID]
      two
    $ atm member set carol@ops --active false
    changed carol@ops
    $ atm member remove carol@ops --yes
    removed carol@ops
    $ atm member restore carol@ops
    restored carol@ops
    $ atm artifacts list carol@ops
    carol  nothing
    $ atm health carol@ops --timeout 1ms
    2> warning: carol is offline (isActive is false): the message is queued
    2> error: carol did not answer within 1ms (request hc-[ID])
    2>   hint: the request stays, and its answer comes as mail; `atm status carol --why` shows whether it is there
    [exit 8]
    $ atm wake carol@ops --dry-run
    2> error: carol@ops does not run: isActive is false in config.json; shutdownAt is [.........TIME.........]
    2>   hint: `atm respawn carol` starts it again; `atm members` shows who runs
    [exit 3]
    $ atm peek carol@ops
    2> error: carol@ops was not started by atm, so its pane is not known for sure
    2>   hint: nothing was changed; members that a client started are its own
    [exit 4]
    $ atm kill carol@ops
    2> error: carol@ops was not started by atm, so its pane is not known for sure
    2>   hint: nothing was changed; members that a client started are its own
    [exit 4]
    $ atm request carol@ops question --timeout 1ms
    2> warning: carol is offline (isActive is false): the message is queued
    2> error: carol did not answer within 1ms (request req-[ID])
    2>   hint: the request stays, and its answer comes as mail; `atm status carol --why` shows whether it is there
    [exit 8]
    "#);
    let request = world.ok(&["--as", "team-lead", "shutdown", "request", "carol@ops"]);
    assert!(request.ends_with("@carol\n"), "{request}");
}
