//! The variables of the environment that count.

/// Each with what it does.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    ("ATM_ROOT", "the shared tree, as --root"),
    ("CLAUDE_CONFIG_DIR", "the shared tree where ATM_ROOT is not set: a client's own folder"),
    ("ATM_STATE", "our own state, as --state"),
    ("ATM_TEAM", "the team, as --team"),
    ("ATM_AS", "who you are, as --as"),
    (
        "ATM_LOG",
        "log what happens inside to stderr: a level, or a filter such as info,atm_office::chores=debug",
    ),
    ("ATM_COMPLETE", "set by the scripts of `atm completions`, which ask what can come next"),
    ("NO_COLOR", "not empty: no colours"),
    ("TERM", "dumb: no colours, no pager"),
    ("COLUMNS", "how wide answers may be [default: the terminal's width; elsewhere, any]"),
    ("ATM_PAGER", "the pager for what is longer than the screen; empty or cat: none [default: $PAGER]"),
    ("PAGER", "the same, of all programs [default: less]"),
    ("LESS", "the options of less [default: FRX]"),
    ("TZ", "the time zone of the times that people see"),
    ("HOME", "where ~ is"),
    ("XDG_CONFIG_HOME", "where atm/config.toml is [default: ~/.config]"),
    ("XDG_STATE_HOME", "where atm/, our state, is [default: ~/.local/state]"),
    ("PATH", "where clients' programs are looked for"),
    ("TMUX", "spawn: the server that you are in, where new panes go"),
    ("TMUX_PANE", "spawn: the pane that you are in"),
    ("CLAUDE_CODE_SESSION_ID", "the conversation that calls, set by Claude Code"),
    ("CLAUDE_CODE_MESSAGING_SOCKET", "mcp: where mail is pushed into that conversation, set by Claude Code"),
    ("CLAUDE_PROJECT_DIR", "mcp: the folder that it works in, set by Claude Code"),
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn sources(folder: &Path, all: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                all.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn every_variable_that_is_read_is_listed() {
        let mut all = String::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
        let calls = ["var(\"", "var_os(\"", "Environment(\""];
        let read = calls.iter().flat_map(|call| all.split(call).skip(1)).filter_map(|rest| {
            let name = rest.split('"').next()?;
            name.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit()).then_some(name)
        });
        let mut count = 0;
        for name in read.filter(|name| !name.starts_with("ATM_TEST_") && !name.starts_with('_')) {
            assert!(VARIABLES.iter().any(|(known, _)| *known == name), "{name} is read and not listed");
            count += 1;
        }
        assert!(count > 5, "found {count} only");
    }
}
