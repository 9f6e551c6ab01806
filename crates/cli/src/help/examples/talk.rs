//! To talk.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "send",
        &[
            "atm send bob \"please look at the build\"",
            "atm send shop-frontend \"the API is deployed\"   # to the session in that folder",
            "atm send bob \"stop the release\" --priority high --ack-by 10m",
            "atm send bob - --summary \"the build log\" < build.log",
            "printf '%s\\n' '{\"to\":\"bob\",\"text\":\"one\"}' '{\"to\":\"alice\",\"text\":\"two\"}' | atm send --batch",
        ],
    ),
    (
        "reply",
        &["atm --as bob reply last \"done, all green\"", "atm --as bob reply 7d1c9f02 --file report.md"],
    ),
    (
        "broadcast",
        &["atm broadcast \"the freeze begins at noon\"", "atm broadcast --to alice,bob \"please review\""],
    ),
    (
        "read",
        &[
            "atm --as bob read",
            "atm --as bob read --peek --limit 5              # leave it unread",
            "atm --as bob read --wait 30s --format context   # for an agent's prompt",
        ],
    ),
    ("ack", &["atm --as bob ack 7d1c9f02", "atm --as bob ack last \"on it\""]),
    (
        "recall",
        &[
            "atm recall last                 # what you sent last, while nobody has read it",
            "atm recall 7d1c9f02",
        ],
    ),
    (
        "request",
        &[
            "atm --as team-lead request bob task_status_request --data '{\"taskId\":\"1\"}' --timeout 2m",
            "atm --as team-lead request bob task_status_request --data '{\"taskId\":\"1\"}' --no-wait",
        ],
    ),
    (
        "respond",
        &[
            "atm --as bob respond 5e0a11c2 --data '{\"status\":\"in_progress\",\"progress\":60}'",
            "atm --as bob respond b7d3c40e --data '{\"status\":\"completed\"}' --json",
        ],
    ),
];
