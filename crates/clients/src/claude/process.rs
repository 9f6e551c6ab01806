//! Recognising separate-process members of Claude Code by their command line and environment.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::VARIABLE;

/// The option that says which member a process is: `NAME@TEAM`.
pub const AGENT_ID: &str = "--agent-id";

/// Programs that carry a member's command line without being the member: a tmux server keeps the words of the command
/// that started it for as long as it runs, and searches have them as their pattern.
const OTHERS: [&str; 8] = ["tmux", "screen", "grep", "egrep", "rg", "pgrep", "pkill", "ps"];

/// The member that a command line names.
pub fn agent_id<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<String> {
    let program = words.next()?.rsplit('/').next()?.trim_end_matches(':');
    if OTHERS.contains(&program) {
        return None;
    }
    while let Some(word) = words.next() {
        let id = match word.strip_prefix(AGENT_ID) {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => continue,
        };
        return id.filter(|id| id.contains('@')).map(ToOwned::to_owned);
    }
    None
}

/// From this version on, clients keep the command line that they were started with; older ones show only their name.
const SHOWS_COMMAND_LINE: (u64, u64, u64) = (2, 1, 160);

/// Whether clients of a version show which member they are. `None` if that is no version.
pub fn shows_agent_id(version: &str) -> Option<bool> {
    let mut parts = version.split(['.', '-', '+']).map(|part| part.parse::<u64>().ok());
    let mut part = || parts.next().flatten();
    Some((part()?, part()?, part()?) >= SHOWS_COMMAND_LINE)
}

/// Whether a command line is that of a client that does not say which member it is, if it is one.
pub fn is_nameless<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    let program = words.next().and_then(|word| word.rsplit('/').next()).map(str::trim);
    program == Some("claude") && !words.any(|word| word.starts_with(AGENT_ID))
}

/// A variable of an environment, whose pairs end with a zero byte each.
pub fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut all = environment.split(|byte| *byte == 0);
    let value = all.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    (!value.is_empty()).then_some(value)
}

/// The shared tree that a client of this environment works with. Its variables end with a zero byte each.
pub fn root_in(environment: &[u8]) -> Option<PathBuf> {
    let value = |name: &str| variable(environment, name).map(|value| PathBuf::from(OsStr::from_bytes(value)));
    value(VARIABLE).or_else(|| Some(value("HOME")?.join(".claude")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_named_by_an_option_of_its_own_program() {
        let id = |line: &str| agent_id(line.split(' '));
        assert_eq!(id("claude --agent-id bob@dev --agent-name bob").as_deref(), Some("bob@dev"));
        assert_eq!(id("/usr/bin/node cli.js --agent-id=bob@dev").as_deref(), Some("bob@dev"));
        for other in [
            "claude",
            "claude --agent-id",
            "claude --agent-id bob",
            "claude --agent-ids bob@dev",
            "tmux new-session -d claude --agent-id bob@dev",
            "tmux: server --agent-id bob@dev",
            "/usr/bin/pgrep -f --agent-id bob@dev",
            "",
        ] {
            assert_eq!(id(other), None, "{other}");
        }
    }

    #[test]
    fn old_clients_show_only_their_name() {
        assert_eq!(shows_agent_id("2.1.77"), Some(false));
        assert_eq!(shows_agent_id("2.1.159-beta"), Some(false));
        assert_eq!(shows_agent_id("2.1.160"), Some(true));
        assert_eq!(shows_agent_id("3.0.0"), Some(true));
        assert_eq!(shows_agent_id("unknown"), None);
        let nameless = |line: &str| is_nameless(line.split(' '));
        assert!(nameless("claude"));
        assert!(nameless("/usr/bin/claude --continue"));
        assert!(!nameless("claude --agent-id bob@dev"));
        assert!(!nameless("claude --agent-id=bob@dev"));
        assert!(!nameless("node cli.js"));
        assert!(!nameless(""));
    }

    #[test]
    fn the_tree_is_the_one_of_its_environment() {
        let root = |text: &str| root_in(text.as_bytes());
        assert_eq!(root("A=1\0HOME=/home/me\0"), Some("/home/me/.claude".into()));
        assert_eq!(root("HOME=/home/me\0CLAUDE_CONFIG_DIR=/srv/c\0"), Some("/srv/c".into()));
        assert_eq!(root("CLAUDE_CONFIG_DIR=\0HOMES=/x\0"), None);
    }
}
