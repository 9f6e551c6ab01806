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
    team-lead (lead)  Online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
    alice             Online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
    bob               Online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
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
    team-lead (lead)  Unknown  0       0        -       -     claude-sonnet-4-5  config.json does not say isActive
    ../../../alice    Unknown  0       0        -       -     claude-sonnet-4-5  config.json does not say isActive
    bob               Unknown  0       0        -       -     claude-sonnet-4-5  config.json does not say isActive
    2> warning: member name "../../../alice": must not contain "/"
    $ atm send ../../../alice hello
    2> error: invalid value '../../../alice' for '[TO]': member name "../../../alice": must not contain "/"
    2>
    2> For more information, try '--help'.
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
