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
    (
        "daemon",
        &[
            "atm daemon start",
            "atm daemon status",
            "atm daemon logs --follow",
            "atm daemon install --dry-run",
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
