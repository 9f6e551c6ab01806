//! Limits of the system: files that may not grow, and a clock that is far off.

use std::fs;

use crate::scene::{Answer, World, tree};

fn shell(world: &World, line: &str) -> Answer {
    Answer::of(world, &world.shell().args(["-c", line]).output().unwrap())
}

/// `ulimit -f` counts in blocks of 512 bytes; a write beyond it raised SIGXFSZ, which killed the process.
#[test]
fn a_limit_on_file_sizes_is_an_error_and_leaves_nothing_behind() {
    let world = World::with_team();
    // The ledger has room; the inbox is beyond the limit.
    let long = "x".repeat(9_000);
    for _ in 0..100 {
        world.sent("bob", &long);
    }
    let before = fs::read(world.inbox_file("bob")).unwrap();
    for blocks in [0, 1, 8, 64, 1_200] {
        let answer = shell(&world, &format!("ulimit -f {blocks}; atm --as team-lead send bob hello"));
        assert!(matches!(answer.code, Some(7 | 9)), "{blocks}: {answer:?}");
        assert!(!answer.stderr.is_empty(), "{blocks}");
        let inboxes = tree(&world.root().join("teams/dev/inboxes"));
        let litter: Vec<_> =
            inboxes.iter().filter(|path| path.display().to_string().contains(".atm-")).collect();
        assert!(litter.is_empty(), "{blocks}: {litter:?}");
    }
    assert_eq!(fs::read(world.inbox_file("bob")).unwrap(), before, "bytes of before");
    let answer = shell(&world, "ulimit -f 0; atm --as bob read > /dev/null");
    assert_eq!(answer.code, Some(7), "{answer:?}");
    assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 100);
}

#[test]
fn the_signal_of_a_limit_is_held_back() {
    let world = World::with_team();
    let reading = world.command(&["--as", "bob", "read", "--wait", "60s"]).spawn().unwrap();
    let blocked = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?.trim().to_owned();
        u64::from_str_radix(&line, 16).ok()
    };
    let file_size = 1u64 << (25 - 1);
    if cfg!(target_os = "linux") {
        let pid = reading.id();
        atm_support::wait_until("the signal is held back", || {
            blocked(pid).is_some_and(|mask| mask & file_size != 0)
        });
    }
    world.sent("bob", "hello");
    assert!(reading.wait_with_output().unwrap().status.success());
}

/// A thread that could not be begun was a panic, in the middle of a send into a large inbox.
#[test]
fn without_a_further_thread_mail_is_written_all_the_same() {
    let world = World::with_team();
    let entry = |number: usize| {
        format!(
            "{{\"from\":\"alice\",\"text\":\"{number} {}\",\"timestamp\":\"2026-11-17T06:00:00.000Z\",\"read\":false}}",
            "x".repeat(9_000)
        )
    };
    let large: Vec<String> = (0..150).map(entry).collect();
    fs::write(world.inbox_file("bob"), format!("[{}]", large.join(","))).unwrap();
    let without = "strace -f -qq -o /dev/null -e inject=clone,clone3:error=EAGAIN";
    if shell(&world, &format!("{without} true")).code != Some(0) {
        return;
    }
    let answer = shell(&world, &format!("{without} atm --as team-lead send bob hello"));
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let listed = world.json(&["inbox", "bob"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(151));
}

/// `faketime` of Debian, where it is installed; the arithmetic itself is tested where it is done.
#[test]
fn a_clock_before_1970_stops_nothing() {
    let world = World::with_team();
    if shell(&world, "faketime '1960-01-01' true").code != Some(0) {
        return;
    }
    for command in [
        "--as team-lead send bob hello",
        "--as bob read",
        "members",
        "status",
        "log",
        "pending",
        "retry",
        "health --sweep",
        "stats",
        "task create 'Mend it'",
        "task claim --next --as bob",
        "doctor",
        "team create other",
    ] {
        let answer = shell(&world, &format!("faketime '1960-01-01' atm -t dev {command}"));
        assert!(!answer.stderr.contains("panicked"), "{command}: {answer:?}");
        assert_eq!(answer.code, Some(0), "{command}: {answer:?}");
    }
}
