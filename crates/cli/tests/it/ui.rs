//! `atm ui` on a real terminal, a tmux pane of each test's own: what a person does with it, and how it leaves.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

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

/// The tmux server of members, apart from the terminal's own; killed on every path.
struct Members(PathBuf);

impl Members {
    fn tmux(&self, args: &[&str]) -> String {
        let said = Command::new("tmux").arg("-S").arg(&self.0).args(args).output().unwrap();
        String::from_utf8_lossy(&said.stdout).into_owned()
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Wake, peek, attach and recall, against a member that really runs in a pane.
#[test]
fn a_member_in_a_pane_is_looked_at_woken_and_visited_and_a_letter_is_taken_back() {
    let world = World::new();
    world.ok(&["team", "create", "dev"]);
    let members = Members(world.root().with_file_name("members"));
    let script = "stty -echo; echo the double is ready; while read -r line; do echo \"got <$line>\"; done";
    let socket = members.0.to_str().unwrap();
    world.ok(&["spawn", "bob", "--socket", socket, "--", "sh", "-c", script]);
    wait_until("bob runs", || world.ok(&["peek", "bob"]).contains("the double is ready"));
    let terminal = open(world, 120, 30);
    let world = &terminal.world;

    // A letter that nobody has taken is taken back.
    terminal.press("c");
    terminal.wait_for("Letter as user@dev");
    terminal.type_in("bob");
    terminal.press("Tab");
    terminal.type_in("too early");
    terminal.press("C-s");
    terminal.wait_for("✓ delivered to bob");
    terminal.wait_for("user → bob@dev");
    terminal.press("d");
    terminal.wait_for("recall");
    terminal.press("y");
    terminal.wait_for("✓ recalled from bob");
    assert_eq!(world.json(&["log", "--to", "bob"])[0]["stage"], "recalled");

    // Its screen, then a wake for mail that it has, which types into it.
    terminal.press("p");
    terminal.wait_for("the double is ready");
    terminal.press("Escape");
    world.ok(&["send", "bob", "please look at the build"]);
    world.ok(&["--as", "bob", "idle"]);
    terminal.wait_for("please look at the build");
    terminal.press("g");
    terminal.press("w");
    wait_until("bob was woken", || world.ok(&["peek", "bob"]).contains("got <You have 1 unread message"));
    terminal.wait_for("atm -t dev wake bob");

    // To its pane and back: tmux has the terminal meanwhile.
    terminal.press("t");
    wait_until("the terminal shows bob's pane", || {
        let screen = terminal.screen();
        screen.contains("got <You have 1 unread message") && !screen.contains("● live")
    });
    terminal.type_in("by hand");
    terminal.press("Enter");
    terminal.wait_for("got <by hand>");
    terminal.press("C-b");
    terminal.press("d");
    terminal.wait_for("● live");
    terminal.press("q");
    terminal.wait_for("left 0.");
    assert_restored(&terminal);
}

/// A member that has no pane cannot be visited: it says so, and goes on.
#[test]
fn who_has_no_pane_is_not_visited_and_it_says_why() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let terminal = open(world, 100, 30);
    terminal.wait_for("hello");
    // The members are known, too.
    terminal.wait_for("✉1 online");
    for key in ["t", "p"] {
        terminal.press(key);
        terminal.wait_for("✗ bob@dev was not started by atm");
    }
    terminal.press("q");
    terminal.wait_for("left 0.");
}

/// The mouse chooses and scrolls, as terminals report it.
#[test]
fn the_mouse_chooses_a_message_and_the_wheel_moves() {
    let world = World::with_team();
    world.ok(&["send", "alice", "the older one"]);
    world.ok(&["send", "bob", "the newer one"]);
    let terminal = open(world, 120, 30);
    terminal.wait_for("user → bob@dev");
    let screen = terminal.screen();
    let place = screen.lines().enumerate().find_map(|(row, line)| {
        let byte = line.find("the older one")?;
        Some((row + 1, line[..byte].chars().count() + 1))
    });
    let (row, column) = place.unwrap();
    // A click, as xterm's SGR mode says it.
    terminal.type_in(&format!("\u{1b}[<0;{column};{row}M\u{1b}[<0;{column};{row}m"));
    terminal.wait_for("user → alice@dev");
    terminal.type_in(&format!("\u{1b}[<64;{column};{row}M"));
    terminal.wait_for("user → bob@dev");
    terminal.press("q");
    terminal.wait_for("left 0.");
}

/// Without colours nothing but bold, faint and reversed is used; all sizes are drawn to their edges.
#[test]
fn no_color_means_none_and_a_large_terminal_is_filled() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let terminal = Terminal::new(world, 250, 80);
    let is_coloured = |terminal: &Terminal| {
        let codes = terminal.tmux(&["capture-pane", "-e", "-p"]);
        let sgr =
            codes.split("\u{1b}[").skip(1).filter_map(|part| part.split_once('m')).map(|(code, _)| code);
        sgr.flat_map(|code| code.split(';'))
            .any(|code| matches!(code.parse(), Ok(30..=38 | 40..=48 | 90..=107)))
    };
    terminal.enter("NO_COLOR=1 atm ui; echo \"left $?.\"");
    terminal.wait_for("● live");
    terminal.wait_for("hello");
    assert!(!is_coloured(&terminal), "{}", terminal.screen());
    let screen = terminal.screen();
    assert!(
        screen.lines().count() >= 79 && screen.lines().any(|line| line.chars().count() >= 249),
        "{screen}"
    );
    terminal.press("q");
    terminal.wait_for("left 0.");
    terminal.enter("clear; atm ui; echo \"left $?.\"");
    terminal.wait_for("● live");
    wait_until("it has colours", || is_coloured(&terminal));
    terminal.press("q");
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
