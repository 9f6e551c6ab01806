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

/// The shared tree that a client of this environment works with. Its variables end with a zero byte each.
pub fn root_in(environment: &[u8]) -> Option<PathBuf> {
    let value = |name: &str| {
        let mut all = environment.split(|byte| *byte == 0);
        let value = all.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        (!value.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(value)))
    };
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
    fn the_tree_is_the_one_of_its_environment() {
        let root = |text: &str| root_in(text.as_bytes());
        assert_eq!(root("A=1\0HOME=/home/me\0"), Some("/home/me/.claude".into()));
        assert_eq!(root("HOME=/home/me\0CLAUDE_CONFIG_DIR=/srv/c\0"), Some("/srv/c".into()));
        assert_eq!(root("CLAUDE_CONFIG_DIR=\0HOMES=/x\0"), None);
    }
}
