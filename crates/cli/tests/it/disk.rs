//! Disks that are full or cannot be written: an error that says so, nothing changed, nothing left behind.

use std::fs;

use atm_store::Layout;
use atm_support::{TestTeam, draft, drafts};
use insta::assert_snapshot;

use crate::scene::{Answer, World, foreign_team, texts, tree};

/// A shell's unit for the size of files.
const BLOCK: usize = 512;

/// Sends with a limit on the size of any file that is written: what is beyond it fails, as on a full disk.
fn send_with_limit(world: &World, blocks: usize, text: &str) -> Answer {
    let mut shell = world.shell();
    // Ignored, the signal that comes with it would end the process.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec atm --json send bob \"$0\"");
    Answer::of(world, &shell.args(["-c", &script, text]).output().unwrap())
}

fn assert_failed_and_left_nothing(world: &World, team: &TestTeam, answer: &Answer, before: &str) {
    assert_eq!(answer.code, Some(7), "{answer:?}");
    assert_eq!(answer.error()["code"], "io");
    assert_eq!(String::from_utf8(team.inbox_bytes("bob")).unwrap(), before);
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
    // And it was for the disk alone.
    world.ok(&["send", "bob", "now there is room"]);
    assert_eq!(team.texts("bob").last().unwrap(), "now there is room");
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
}

#[test]
fn a_new_version_of_an_array_that_does_not_fit() {
    for messages in [20, 600] {
        let (world, team) = foreign_team(Layout::Array);
        team.mailbox("bob").append(&drafts(&"long ".repeat(80), messages), false).unwrap();
        let before = String::from_utf8(team.inbox_bytes("bob")).unwrap();
        let answer = send_with_limit(&world, before.len() / BLOCK / 2, "hello");
        assert_failed_and_left_nothing(&world, &team, &answer, &before);
    }
}

#[test]
fn a_line_that_does_not_fit_is_taken_back() {
    let (world, team) = foreign_team(Layout::Log);
    // The last block has room for the first bytes of a line.
    let blocks = 40;
    let bob = team.mailbox("bob");
    bob.append(&[draft("first")], false).unwrap();
    let room = blocks * BLOCK - team.inbox_bytes("bob").len() * 2 + "first".len() - 100;
    bob.append(&[draft(&"x".repeat(room / 2))], false).unwrap();
    let before = String::from_utf8(team.inbox_bytes("bob")).unwrap();
    let left = blocks * BLOCK - before.len();
    assert!((50..300).contains(&left), "a part of the line fits: {left}");
    let answer = send_with_limit(&world, blocks, &"y".repeat(400));
    assert!(answer.stderr.contains("taken back"), "{answer:?}");
    assert_failed_and_left_nothing(&world, &team, &answer, &before);
}

#[test]
fn a_line_of_which_nothing_fits() {
    let (world, team) = foreign_team(Layout::Log);
    team.mailbox("bob").append(&drafts(&"long ".repeat(80), 20), false).unwrap();
    let before = String::from_utf8(team.inbox_bytes("bob")).unwrap();
    let answer = send_with_limit(&world, 2, "hello");
    assert_failed_and_left_nothing(&world, &team, &answer, &before);
}

#[test]
fn many_at_once_that_do_not_fit() {
    // One inbox has room, the other has not: each answer says what became of it.
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("alice", "[]");
    team.mailbox("bob").append(&drafts(&"long ".repeat(80), 100), false).unwrap();
    let before = team.inbox_bytes("bob");
    let mut shell = world.shell();
    let script = "trap '' XFSZ; ulimit -f 20; exec atm --as team-lead --json broadcast hello";
    let answer = Answer::of(&world, &shell.args(["-c", script]).output().unwrap());
    assert_eq!(answer.code, Some(7), "{answer:?}");
    let answers: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((&answers[0]["to"], &answers[1]["error"]["code"]), (&"alice".into(), &"io".into()));
    assert_eq!(team.texts("alice"), ["hello"]);
    assert_eq!(team.inbox_bytes("bob"), before);
}

/// Runs a script where file systems can be mounted that nobody else sees; `None` where that is not permitted.
pub(crate) fn with_mounts(world: &World, script: &str) -> Option<String> {
    let unshared = |flags: &str, script: &str| {
        let output = world.program("unshare").args([flags, "sh", "-c", script]).output();
        output.map(|output| Answer::of(world, &output))
    };
    let can_mount =
        |flags: &&str| unshared(flags, "mount -t tmpfs tmpfs .").is_ok_and(|answer| answer.code == Some(0));
    let Some(flags) = ["-m", "-rm"].into_iter().find(can_mount) else {
        eprintln!("skipped: mounting is not permitted here");
        return None;
    };
    // With each line's exit code, as a session shows it.
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.map(|line| format!("{line} || echo \"[exit $?]\"")).collect();
    let answer = unshared(flags, &format!("exec 2>&1\n{}", lines.join("\n")));
    Some(answer.unwrap().shown())
}

#[test]
fn a_full_disk() {
    for (layout, inbox) in [("array", "inboxes/bob.json"), ("log", "members/bob/inbox")] {
        let world = World::new();
        let script = format!(
            "
            mount -t tmpfs -o size=128k tmpfs \"$ATM_ROOT\"
            atm -q team create dev --layout {layout}
            atm -q member add bob
            atm -q send bob before > /dev/null
            cp \"$ATM_ROOT/teams/dev/{inbox}\" before
            head -c 1000000 /dev/zero > \"$ATM_ROOT/filler\" 2>/dev/null
            atm --json send bob \"$(head -c 30000 /dev/zero | tr '\\0' x)\" 2>&1 | cut -c1-20
            cmp before \"$ATM_ROOT/teams/dev/{inbox}\"
            ls -A \"$ATM_ROOT/teams/dev/$(dirname {inbox})\" | grep atm-
            atm -q inbox bob | grep -c before
            rm \"$ATM_ROOT/filler\"
            atm -q send bob 'now there is room' > /dev/null
            atm -q inbox bob | grep -c -e before -e 'now there is room'
            "
        );
        let Some(said) = with_mounts(&world, &script) else { return };
        // The head of the failure, no difference, no litter, and then all is well.
        let expected = "[exit 1]\n{\"error\":{\"code\":\"io\n[exit 1]\n1\n2\n";
        assert_eq!(said, expected, "{layout}");
    }
}

#[test]
fn a_full_disk_below_our_own_state_does_not_stop_mail() {
    let world = World::with_team();
    let script = "
        mount -t tmpfs -o size=1m tmpfs \"$ATM_STATE\"
        head -c 2000000 /dev/zero > \"$ATM_STATE/filler\" 2>/dev/null
        atm send bob hello
        rm \"$ATM_STATE/filler\"
        atm -q send bob 'now there is room' > /dev/null
        ";
    let Some(said) = with_mounts(&world, script) else { return };
    assert_snapshot!(said, @"
    [exit 1]
    warning: untracked: the ledger [STATE]/log.db cannot be used: database or disk is full; the mail goes without it
    delivered for bob@dev, id [ID]
    ");
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["hello", "now there is room"]);
}

#[test]
fn a_disk_that_cannot_be_written_can_be_read() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let script = "
        mount --bind \"$ATM_ROOT\" \"$ATM_ROOT\"
        mount -o remount,ro,bind \"$ATM_ROOT\"
        atm send bob again
        atm inbox bob | tail -n 1
        atm members | grep -c bob
        atm --as bob read --peek | tail -n 1
        atm --as bob read | tail -n 1
        atm --as bob read > /dev/null
        atm team create ops
        atm member add eve
        atm team delete dev --force
        ";
    let Some(said) = with_mounts(&world, script) else { return };
    assert_snapshot!(said, @"
    error: cannot create [ROOT]/teams/dev/inboxes/.bob.json.atm-[ID]: Read-only file system (os error 30)
      hint: nothing was changed; see disk space and permissions
    [exit 7]
      hello
    1
      hello
    error: cannot create [ROOT]/teams/dev/inboxes/.bob.json.atm-[ID]: Read-only file system (os error 30)
      hint: nothing was changed; see disk space and permissions
      hello
    error: cannot create [ROOT]/teams/dev/inboxes/.bob.json.atm-[ID]: Read-only file system (os error 30)
      hint: nothing was changed; see disk space and permissions
    [exit 7]
    error: cannot create [ROOT]/teams/ops: Read-only file system (os error 30)
      hint: nothing was changed; see disk space and permissions
    [exit 7]
    error: cannot create [ROOT]/teams/dev/.config.json.atm-[ID]: Read-only file system (os error 30)
      hint: nothing was changed; see disk space and permissions
    [exit 7]
    error: cannot move [ROOT]/teams/dev: Read-only file system (os error 30)
      hint: nothing was changed; see disk space and permissions
    [exit 7]
    ");
    assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 1, "nothing was marked");
    assert!(tree(&world.state().join("deleted")).iter().all(|path| path.is_dir()), "nothing was moved");
}

#[test]
fn something_else_in_the_place_of_an_inbox() {
    let (world, team) = foreign_team(Layout::Array);
    fs::remove_file(team.inbox("bob")).unwrap();
    fs::create_dir(team.inbox("bob")).unwrap();
    let in_a_folder = world.session("atm send bob hello --strict\natm inbox bob\natm --as bob read");
    fs::remove_dir(team.inbox("bob")).unwrap();
    std::os::unix::fs::symlink("bob.json", team.inbox("bob")).unwrap();
    let in_a_loop = world.session("atm send bob hello\natm inbox bob");
    fs::remove_dir_all(team.folder().join("inboxes")).unwrap();
    fs::write(team.folder().join("inboxes"), "").unwrap();
    let without_a_folder = world.session("atm send bob hello\natm inbox bob");
    assert_snapshot!(in_a_folder + &in_a_loop + &without_a_folder, @"
    $ atm send bob hello --strict
    2> error: [ROOT]/teams/dev/inboxes/bob.json: is not a regular file
    2>   hint: nothing was changed; mend the file, or send without --strict to have it set aside
    [exit 6]
    $ atm inbox bob
    2> error: [ROOT]/teams/dev/inboxes/bob.json: is not a regular file
    2>   hint: nothing was changed; mend the file
    [exit 6]
    $ atm --as bob read
    2> error: [ROOT]/teams/dev/inboxes/bob.json: is not a regular file
    2>   hint: nothing was changed; mend the file
    [exit 6]
    $ atm send bob hello
    2> error: [ROOT]/teams/dev/inboxes/bob.json: is a link that leads to itself
    2>   hint: nothing was changed; mend the file
    [exit 6]
    $ atm inbox bob
    2> error: [ROOT]/teams/dev/inboxes/bob.json: is a link that leads to itself
    2>   hint: nothing was changed; mend the file
    [exit 6]
    $ atm send bob hello
    2> error: cannot open [ROOT]/teams/dev/inboxes/bob.json: Not a directory (os error 20)
    2>   hint: nothing was changed; see disk space and permissions
    [exit 7]
    $ atm inbox bob
    2> error: cannot open [ROOT]/teams/dev/inboxes/bob.json: Not a directory (os error 20)
    2>   hint: nothing was changed; see disk space and permissions
    [exit 7]
    ");
}
