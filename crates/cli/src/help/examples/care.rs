//! To keep it in order.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "tend",
        &[
            "atm tend --dry-run            # what is due",
            "atm tend --all-teams          # one pass, for a scheduler",
            "atm tend --watch --for 8h     # as it comes",
            "atm tend --print cron         # or systemd, launchd",
        ],
    ),
    ("daemon", &["atm daemon start", "atm daemon status", "atm daemon stop"]),
    (
        "daemon run",
        &["atm daemon run --for 8h", "ATM_LOG=debug atm daemon run --for 10m      # say all that it does"],
    ),
    ("daemon start", &["atm daemon start", "atm --json daemon start"]),
    ("daemon stop", &["atm daemon stop", "atm --json daemon stop"]),
    ("daemon status", &["atm daemon status", "atm --json daemon status | jq .lag_ms"]),
    ("daemon logs", &["atm daemon logs -n 20", "atm daemon logs --follow --for 10m"]),
    (
        "daemon install",
        &[
            "atm daemon install --dry-run",
            "atm daemon install --manager launchd --dry-run",
            "atm daemon install",
        ],
    ),
    ("daemon uninstall", &["atm daemon uninstall --dry-run", "atm daemon uninstall"]),
    (
        "bridge",
        &[
            "atm bridge key          # what the other machines trust this one by",
            "atm bridge machines     # whom this one trusts",
            "atm bridge run --help",
        ],
    ),
    ("notify", &["atm config set notify.desktop true", "atm notify test"]),
    (
        "notify test",
        &[
            "atm notify test",
            "atm notify test --channel desktop",
            "atm --json notify test | jq '.[] | select(.ok | not)'",
        ],
    ),
    ("retry", &["atm retry --dry-run", "atm retry"]),
    (
        "doctor",
        &[
            "atm doctor",
            "atm doctor dev --fix --dry-run",
            "atm doctor --journal            # what was mended",
        ],
    ),
    (
        "validate",
        &["atm validate", "atm validate dev --level dialect", "atm validate --sarif > findings.sarif"],
    ),
    ("migrate", &["atm migrate dev --dry-run", "atm migrate dev --dialect current"]),
    (
        "archive",
        &["atm archive --older-than 7d --dry-run", "atm archive bob --keep 100", "atm archive --over 10MB"],
    ),
    ("clean", &["atm clean --dry-run", "atm clean --older-than 30d"]),
];
