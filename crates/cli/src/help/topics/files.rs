//! The files that are read and written; `docs/INTERNALS.md` has all of them.

/// Each with what it is.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("~/.config/atm/config.toml", "your settings"),
    (".atm.toml", "a project's settings, here or in a folder above; what matters needs `atm config trust`"),
    ("~/.config/atm/trusted", "which projects' settings you trust, and as of which content"),
    ("ROOT/teams/TEAM/config.json", "a team and its members; clients write it too"),
    ("ROOT/teams/TEAM/inboxes/NAME.json", "an inbox, array layout; clients write it too"),
    ("ROOT/teams/TEAM/members/NAME/inbox", "an inbox, log layout; with inbox-high, inbox-low and state.json"),
    ("ROOT/tasks/TEAM/ID.json", "a task; clients write it too"),
    ("ROOT/tasks/TEAM/NAME/", "what a member leaves for others: task-status.json, output.log, artifacts/"),
    ("STATE/log.db", "the ledger: every event of every message. Keep it"),
    ("STATE/index.db", "what questions are answered from, made from log.db; may be removed"),
    ("STATE/archive/TEAM/", "mail that was moved out of inboxes"),
    ("STATE/quarantine/", "files that did not parse, kept as they were"),
    ("STATE/deleted/", "teams that were deleted"),
    ("STATE/journal/", "what `atm doctor --fix` changed, for --undo"),
    ("STATE/errors.log", "lines and entries of inboxes that were no messages"),
    ("STATE/hook.log", "why hooks failed"),
];
