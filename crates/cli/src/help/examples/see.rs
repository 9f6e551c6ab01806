//! To see what goes on.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "status",
        &[
            "atm status",
            "atm status bob --why          # is bob there, and how do we know?",
            "atm status --watch --for 1h   # again whenever something changes",
            "atm status --line             # for tmux: set -g status-right '#(atm status --line)'",
        ],
    ),
    (
        "sessions",
        &[
            "atm sessions",
            "atm sessions --all               # also folders in which none runs now",
            "atm sessions --json",
        ],
    ),
    (
        "sessions alias",
        &[
            "atm sessions alias front ~/src/shop-frontend",
            "atm send front \"the API is deployed\"",
            "atm sessions alias front --remove",
        ],
    ),
    ("members", &["atm members", "atm members --team dev --json"]),
    (
        "inbox",
        &[
            "atm inbox bob --unread",
            "atm inbox bob --from alice --since 2h",
            "atm inbox bob --archived --last 20",
        ],
    ),
    (
        "log",
        &[
            "atm log --with bob --since yesterday",
            "atm log --from user --grep build --full",
            "atm log --since \"1 day ago\" --until 10am --json > trace.json",
        ],
    ),
    ("search", &["atm search build failed", "atm search '\"the build\"' --from alice --since 7d"]),
    ("thread", &["atm thread last", "atm thread 7d1c9f02 --json > thread.json"]),
    (
        "track",
        &[
            "atm track 7d1c9f02",
            "atm track last                  # what you sent last",
            "atm track \"look at the build\"",
        ],
    ),
    ("pending", &["atm pending", "atm pending --json"]),
    ("stats", &["atm stats --since 7d", "atm stats --svg chart.svg"]),
    (
        "mute",
        &[
            "atm mute bob                    # nothing about bob needs a look, for a day",
            "atm mute 7d1c9f02 --for 2h      # one message",
            "atm mute                        # what is muted, and until when",
            "atm mute bob --undo",
        ],
    ),
    ("ui", &["atm ui", "atm ui --team dev --theme contrast"]),
    ("watch", &["atm watch --for 10m", "atm watch bob --all --count 1", "atm watch --json --for 1h"]),
    (
        "web",
        &["atm web --open --for 8h", "atm web --port 8417 --read-only --for 1h", "atm web --json --for 10m"],
    ),
];
