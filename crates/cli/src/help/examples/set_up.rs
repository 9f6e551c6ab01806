//! To set it up.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    ("demo", &["atm demo", "atm demo --keep   # and leave the files to look at"]),
    (
        "install",
        &["atm install claude --dry-run", "atm install claude", "atm install codex --project --as bob"],
    ),
    ("config", &["atm config", "atm config set team dev"]),
    (
        "config set",
        &[
            "atm config set team dev",
            "atm config set delivery.retry_after 5m,15m,1h",
            "atm config set color never --project",
            "atm config set team --unset",
        ],
    ),
    (
        "config trust",
        &[
            "cat .atm.toml && atm config trust      # trust this project, after a look",
            "atm config trust --list                # what is trusted, and what has changed since",
            "atm config trust --remove .            # trust it no longer",
        ],
    ),
    ("mcp", &["atm mcp --as team-lead", "atm mcp --as bob --tools core"]),
    (
        "hook",
        &["atm hook --client claude < event.json", "atm --as bob hook stop --client codex < event.json"],
    ),
    ("primer", &["atm primer", "atm primer --skill > SKILL.md"]),
    ("schema", &["atm schema", "atm schema task create", "atm schema messages > messages.schema.json"]),
    (
        "completions",
        &[
            "atm completions bash > ~/.local/share/bash-completion/completions/atm",
            "atm completions zsh > ~/.zfunc/_atm",
            "atm completions fish > ~/.config/fish/completions/atm.fish",
        ],
    ),
    ("man", &["atm man > atm.1", "atm man ~/.local/share/man/man1   # a page for every command"]),
    ("help", &["atm help task create", "atm help exit-codes"]),
];
