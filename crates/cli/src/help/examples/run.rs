//! To run teams and members.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    ("team", &["atm team create shop --description \"the web shop\"", "atm team list", "atm team show dev"]),
    (
        "team create",
        &[
            "atm team create shop --description \"the web shop\"",
            "atm team create night --layout log --lead nora",
        ],
    ),
    ("team list", &["atm team list", "atm team list --json"]),
    ("team show", &["atm team show", "atm team show dev --json"]),
    (
        "team join",
        &[
            "atm team join dev --session \"$CLAUDE_CODE_SESSION_ID\"",
            "atm --as nora team join dev --session 0c8f1d8e-1d7a-4c55-9a52-3f6f0c4c7b11 --force",
        ],
    ),
    (
        "team alias",
        &[
            "atm team alias work dev",
            "atm team alias                 # all aliases",
            "atm team alias work --remove",
        ],
    ),
    ("team delete", &["atm team delete shop", "atm team delete night --force   # even with unread mail"]),
    ("team convert", &["atm team convert dev --to log --dry-run", "atm team convert dev --to log"]),
    (
        "team backup",
        &["atm team backup dev --out monday.tar.zst", "atm team backup dev --config-only --out config.tgz"],
    ),
    (
        "team restore",
        &["atm team restore dev.tar.zst --as dev-again --dry-run", "atm team restore dev.tar.zst --merge"],
    ),
    (
        "team export",
        &["atm team export dev --format md --out dev.md", "atm team export dev --format mbox > dev.mbox"],
    ),
    ("team import", &["atm team import dev.json --dry-run", "atm team import dev.json --as dev-copy"]),
    ("member", &["atm member add carol --type researcher --model opus", "atm member set bob --model haiku"]),
    (
        "member add",
        &["atm member add carol --type researcher --model opus", "atm member add dave --inactive"],
    ),
    ("member remove", &["atm member remove alice", "atm member remove carol --json"]),
    ("member restore", &["atm member restore alice", "atm member restore carol --json"]),
    ("member set", &["atm member set bob --model haiku", "atm member set bob --wake none"]),
    (
        "spawn",
        &[
            "atm spawn carol --client claude --prompt \"find out why the build fails\"",
            "atm spawn dave --client codex --cwd . --place split",
            "atm spawn erin -- sh                        # any program",
        ],
    ),
    ("kill", &["atm kill carol", "atm kill dave --json"]),
    ("respawn", &["atm respawn carol", "atm respawn dave --model opus"]),
    ("attach", &["atm attach", "atm attach carol"]),
    ("peek", &["atm peek carol", "atm peek carol --lines 100"]),
    (
        "wake",
        &[
            "atm wake carol",
            "atm wake --all --dry-run",
            "atm wake carol --type \"look at the build, please\"",
        ],
    ),
    ("wake wait", &["atm --as alice wake wait --for 10m", "atm --as alice wake wait --for 1h --json"]),
];
