//! What is refused, with its exit code, and that nothing was changed then.

use std::fs;

use atm_support::Foreign;
use insta::assert_snapshot;

use crate::scene::World;

#[test]
fn wrong_names_numbers_spans_and_sizes_are_refused() {
    let world = World::with_mail_read("array");
    assert_snapshot!(world.session(
        "
        atm archive bbo --keep 0
        atm archive bob nobody --keep 0
        atm archive bob@nowhere
        atm archive --keep many
        atm archive --older-than yesterday
        atm archive --over 10bananas
        atm archive carol --over 1
        atm clean --older-than never
        atm clean carol
        atm inbox carol --archived
        atm -t nowhere archive
        "
    ), @r#"
    $ atm archive bbo --keep 0
    2> error: team dev has no member "bbo"
    2>   hint: did you mean bob?
    [exit 3]
    $ atm archive bob nobody --keep 0
    2> error: team dev has no member "nobody"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm archive bob@nowhere
    2> error: there is no team "nowhere"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm archive --keep many
    2> error: invalid value 'many' for '--keep <N>': invalid digit found in string
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm archive --older-than yesterday
    2> error: invalid value 'yesterday' for '--older-than <TIME>': "yesterday" is not a duration; write it like 30s, 10m or 1h30m
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm archive --over 10bananas
    2> error: invalid value '10bananas' for '--over <SIZE>': "10bananas" is not a size; write it like 10MB or 512KB
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm archive carol --over 1
    2> error: team dev has no member "carol"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm clean --older-than never
    2> error: invalid value 'never' for '--older-than <TIME>': "never" is not a duration; write it like 30s, 10m or 1h30m
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm clean carol
    2> error: team dev has no member "carol"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm inbox carol --archived
    2> error: team dev has no member "carol"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm -t nowhere archive
    2> error: there is no team "nowhere"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    "#);
    assert_eq!(world.inbox_texts().len(), 3, "nothing was done for bob either");
}

#[test]
fn an_inbox_that_does_not_parse_is_left_alone_and_the_others_are_done() {
    let world = World::with_mail_read("array");
    let alice = world.root().join("teams/dev/inboxes/alice.json");
    fs::write(&alice, "[{").unwrap();
    assert_snapshot!(world.session("atm archive alice --keep 0\natm archive --keep 0\natm archive --keep 0 --json | jq '.[0].error'"), @r#"
    $ atm archive alice --keep 0
    2> error: [ROOT]/teams/dev/inboxes/alice.json: ends too early (line 1, column 2)
    2>   hint: nothing was changed; mend the file
    [exit 6]
    $ atm archive --keep 0
    bob@dev: 2 archived, 1 stays, 1 of them unread
    2> warning: alice@dev: [ROOT]/teams/dev/inboxes/alice.json: ends too early (line 1, column 2); nothing was taken out of the inbox
    [exit 6]
    $ atm archive --keep 0 --json | jq '.[0].error'
    "[ROOT]/teams/dev/inboxes/alice.json: ends too early (line 1, column 2)"
    "#);
    assert_eq!(fs::read(&alice).unwrap(), b"[{");
    assert!(world.set_aside().is_empty());
    assert_eq!(world.inbox_texts(), ["three"]);
}

#[test]
fn an_archive_that_cannot_be_written_keeps_the_mail_in_the_inbox() {
    let world = World::with_mail_read("array");
    fs::write(world.state().join("archive"), "in the way").unwrap();
    let answer = world.atm(&["archive", "bob", "--keep", "0"]);
    assert_eq!(answer.code, Some(7), "{answer:?}");
    assert_eq!(world.inbox_texts().len(), 3);
}

#[test]
fn a_lock_that_is_held_is_busy_and_changes_nothing() {
    let world = World::with_mail_read("array");
    let lock = world.root().join("teams/dev/inboxes/.lock");
    let mut held = Foreign::flock_holder(&lock).start();
    held.wait_for_lines(1);
    let answer = world.atm(&["archive", "bob", "--keep", "0", "--json"]);
    assert_eq!((answer.code, answer.error()["code"].as_str()), (Some(5), Some("busy")));
    drop(held);
    assert_eq!(world.inbox_texts().len(), 3);
    assert!(world.archived_texts().is_empty(), "what stands in the inbox counts as there");
    world.ok(&["archive", "bob", "--keep", "0"]);
    assert_eq!(world.archived_texts(), ["one", "two"]);
}

#[test]
fn bad_settings_name_their_key() {
    let world = World::with_mail_read("array");
    for (text, why) in [
        ("[archive]\nkeep = -1", "keep"),
        ("[archive]\nolder_than = \"soon\"", "[archive]: \"soon\" is not a duration"),
        ("[archive]\ncompress_after = \"x\"", "[archive]: \"x\" is not a duration"),
        ("[archive]\nrotate_over = \"big\"", "[archive]: \"big\" is not a size"),
        ("[archive]\nkeeep = 1", "unknown field `keeep`"),
    ] {
        let settings = world.home().join(".config/atm");
        fs::create_dir_all(&settings).unwrap();
        fs::write(settings.join("config.toml"), text).unwrap();
        let answer = world.atm(&["archive"]);
        assert_eq!(answer.code, Some(6), "{answer:?}");
        assert!(answer.stderr.contains(why), "{answer:?}");
    }
}
