//! `atm ui` on a real terminal, a tmux pane of each test's own: what a person does with it, and how it leaves.

use std::fs;

use atm_support::wait_until;
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::World;
use crate::terminal::Terminal;

fn open(world: World, columns: usize, rows: usize) -> Terminal {
    let terminal = Terminal::new(world, columns, rows);
    terminal.enter("atm ui; echo \"left $?.\"");
    terminal.wait_for("● live");
    terminal
}

/// The terminal is as it was: its own screen, a cursor, no mouse of ours, lines and echo of the shell's.
fn assert_restored(terminal: &Terminal) {
    let flags = terminal.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"]);
    assert_eq!(flags.trim(), "0 1 0");
    terminal.enter("stty -a | grep -c -e '-icanon' -e '-echo ' -e '-opost'; echo 'asked'");
    terminal.wait_for("asked\n");
    let screen = terminal.screen();
    let answer = screen.lines().rev().skip_while(|line| *line != "asked").nth(1);
    assert_eq!(answer, Some("0"), "{screen}");
}

#[test]
fn a_person_sees_mail_come_answers_it_and_sees_what_becomes_of_it() {
    let terminal = open(World::with_team(), 100, 30);
    terminal.wait_for("nothing was sent or received here yet");
    let world = &terminal.world;
    world.ok(&["--as", "alice", "send", "user", "is the build green?"]);
    terminal.wait_for("is the build green?");
    terminal.press("r");
    terminal.wait_for("Answer to");
    terminal.type_in("yes, since noon");
    terminal.wait_for("reply");
    terminal.press("C-s");
    terminal.wait_for("✓ delivered to alice");
    // The newest is shown, with its stages.
    terminal.wait_for("user → alice@dev");
    terminal.wait_for("accepted → written");
    assert!(!terminal.screen().contains("→ seen"), "{}", terminal.screen());
    assert!(world.ok(&["--as", "alice", "read"]).contains("yes, since noon"));
    terminal.wait_for("→ seen");
    // Its question is done by the answer; it is not read by being looked at, and then it is.
    terminal.press("j");
    terminal.wait_for("alice → user@dev");
    assert_eq!(world.json(&["inbox", "user"])[0]["read"], false);
    terminal.press("q");
    terminal.wait_for("left 0.");
    assert!(!terminal.screen().contains("● live"), "{}", terminal.screen());
    assert_restored(&terminal);
}

#[test]
fn a_plan_is_approved_as_the_lead_and_recorded_as_the_persons() {
    let world = World::with_team();
    world.ok(&["--as", "bob", "plan", "submit", "first the tests, then the mend"]);
    let terminal = open(world, 100, 30);
    terminal.press("2");
    terminal.wait_for("a approve, x reject");
    terminal.press("a");
    terminal.wait_for("as the lead of dev?");
    terminal.press("y");
    terminal.wait_for("✓ delivered to bob");
    let plans = terminal.world.json(&["plan", "list"]);
    assert_eq!(plans[0]["state"], "approved");
    let answer = terminal.world.json(&["track", plans[0]["decision"]["id"].as_str().unwrap()]);
    assert_eq!(answer["from"], "team-lead");
    assert_eq!(answer["stages"][0]["evidence"]["by"], "user via ui");
}

#[test]
fn it_goes_on_when_the_ledger_is_lost_and_says_so() {
    let world = World::with_team();
    world.ok(&["send", "bob", "before"]);
    let terminal = open(world, 100, 30);
    terminal.wait_for("before");
    for entry in fs::read_dir(terminal.world.state()).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().contains(".db") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    terminal.world.ok(&["--as", "alice", "send", "user", "after the loss"]);
    terminal.wait_for("after the loss");
    terminal.wait_for("the ledger is another one");
    terminal.press("q");
    terminal.wait_for("left 0.");
}

#[test]
fn it_fits_a_small_terminal_and_one_that_grows() {
    let world = World::with_team();
    world.ok(&["send", "bob", "please look at the build"]);
    let terminal = open(world, 60, 15);
    terminal.wait_for("please look at t");
    assert!(!terminal.screen().contains("Members of dev"), "{}", terminal.screen());
    terminal.tmux(&["resize-window", "-x", "150", "-y", "40"]);
    terminal.wait_for("Members of dev");
    terminal.wait_for("written into the inbox");
    terminal.press("C-c");
    terminal.wait_for("left 0.");
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_as_it_was() {
    let terminal = Terminal::new(World::with_team(), 100, 30);
    let file = terminal.world.home().join("pid");
    terminal.enter("sh -c 'echo $$ > \"$HOME/pid\"; exec atm ui'; echo \"left $?.\"");
    terminal.wait_for("● live");
    let pid = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    terminal.wait_for("left 143.");
    assert_restored(&terminal);
}

#[test]
fn a_panic_can_be_read_on_a_terminal_that_is_as_it_was() {
    let terminal = Terminal::new(World::with_team(), 100, 30);
    terminal.enter("ATM_TEST_PANIC=1 atm ui; echo \"left $?.\"");
    terminal.wait_for("left 101.");
    assert!(terminal.screen().contains("a test wants this panic"), "{}", terminal.screen());
    assert_restored(&terminal);
}

#[test]
fn a_letter_can_be_written_in_the_persons_editor() {
    let terminal = Terminal::new(World::with_team(), 100, 30);
    terminal.enter("EDITOR='sh -c \"echo and more >> \\$1\" sh' atm ui; echo \"left $?.\"");
    terminal.wait_for("● live");
    terminal.press("c");
    terminal.wait_for("Letter as user@dev");
    terminal.type_in("bob");
    terminal.press("Tab");
    terminal.type_in("mine ");
    terminal.press("C-o");
    terminal.wait_for("mine and more");
    terminal.press("C-s");
    terminal.wait_for("✓ delivered to bob");
    assert_eq!(terminal.world.json(&["inbox", "bob"])[0]["text"], "mine and more");
    terminal.press("q");
    terminal.wait_for("left 0.");
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let world = World::with_team();
    let answer = world.atm(&["ui"]);
    assert_eq!(answer.code, Some(2));
    assert!(
        answer.stderr.contains("this needs a terminal") && answer.stderr.contains("atm status"),
        "{answer:?}"
    );
    assert_eq!(world.atm(&["ui", "--team", "nowhere", "--json"]).code, Some(3));
}

#[test]
fn a_daemon_is_started_with_it_if_that_is_wanted_and_not_by_other_commands() {
    let world = World::with_team();
    world.ok(&["config", "set", "daemon.autostart", "with-ui"]);
    let is_running = |world: &World| world.atm(&["daemon", "status"]).code == Some(0);
    world.ok(&["members"]);
    assert!(!is_running(&world));
    let terminal = open(world, 100, 30);
    wait_until("the daemon serves", || is_running(&terminal.world));
    terminal.press("q");
    terminal.wait_for("left 0.");
    assert!(is_running(&terminal.world), "it stays");
    terminal.world.ok(&["daemon", "stop"]);
}
