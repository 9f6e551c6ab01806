//! A newcomer's first session, at a real terminal: on an empty machine, then on a team that Claude Code runs.

use std::process::Command;

use atm_support::client_fixtures;

use crate::scene::World;
use crate::terminal::Terminal;

/// Somebody at a terminal.
struct Newcomer {
    terminal: Terminal,
    commands: u32,
}

impl Newcomer {
    /// Types a command on an empty screen, and waits until it has ended as said and each of these words is there.
    fn expect(&mut self, command: &str, code: i32, words: &[&str]) {
        self.commands += 1;
        // The number tells the end of this command from what is left of the one before.
        self.terminal.enter(&format!("clear; {command}; echo \"end {}: $?.\"", self.commands));
        self.terminal.wait_for(&format!("end {}: {code}.", self.commands));
        for word in words {
            self.terminal.wait_for(word);
        }
    }
}

#[test]
fn a_newcomer_finds_the_way_from_nothing_to_a_message_that_is_taken_back() {
    let mut newcomer = Newcomer { terminal: Terminal::new(World::new(), 100, 45), commands: 0 };
    newcomer.expect("atm", 0, &["no team in", "atm demo", "atm team create NAME", "Claude Code"]);

    // Claude Code starts a team.
    let teams = client_fixtures().join("claude-code-2.1.325/teams");
    let copied = Command::new("cp").arg("-r").arg(teams).arg(newcomer.terminal.world.root()).status();
    assert!(copied.unwrap().success());
    newcomer.expect("atm", 0, &["team session-ed8ca403", "team-lead (lead)", "alice", "atm pending"]);
    newcomer.expect("atm inbox alice", 0, &["team-lead → alice", "task_assignment", "First task"]);
    newcomer.expect("atm log --last 10", 0, &["alice", "written", "answer"]);

    // What a beginner types.
    newcomer.expect("atm who", 2, &["`atm members` does that"]);
    newcomer.expect("atm undo", 2, &["`atm recall ID` does that"]);
    newcomer.expect("atm send alcie hello", 3, &["did you mean alice?"]);
    newcomer.expect("atm send all hello", 3, &["atm broadcast TEXT"]);
    newcomer.expect("atm inbox alice --since 30", 2, &["30m"]);
    newcomer.expect("atm help", 0, &["See ", "Talk ", "Work ", "Run ", "Care ", "Set up ", "exit-codes"]);

    // A message, and second thoughts.
    newcomer.expect("atm send alice 'please stop'", 0, &["delivered for alice@session-ed8ca403, id "]);
    newcomer.expect("atm track last", 0, &["arrived yes, processed no", "written"]);
    newcomer.expect("atm recall last", 0, &["recalled from alice@session-ed8ca403: please stop"]);
    newcomer.expect("atm track last", 0, &["recalled"]);

    // The first line of the set-up is safe.
    newcomer.expect("atm install claude --as team-lead", 4, &["each would take the mail of team-lead"]);
    newcomer.expect("atm --no-pager install claude --dry-run | tail -n 20", 0, &["hook"]);
    assert!(!newcomer.terminal.world.home().join(".claude/settings.json").exists(), "nothing was changed");
}
