//! To work.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "task",
        &[
            "atm task create \"Fix the build\" --owner bob",
            "atm task list --ready",
            "atm --as bob task claim --next",
        ],
    ),
    (
        "task create",
        &[
            "atm task create \"Fix the build\" --owner bob",
            "atm task create \"Release\" --blocked-by 1,2 -d \"tag, notes, upload\"",
        ],
    ),
    (
        "task list",
        &["atm task list --ready", "atm task list --board", "atm task list --owner bob --status in_progress"],
    ),
    ("task show", &["atm task show 1", "atm task show 1 --json"]),
    (
        "task update",
        &[
            "atm --as team-lead task update 1 --status in_progress --owner bob",
            "atm task update 1 --metadata area=build",
        ],
    ),
    (
        "task assign",
        &["atm --as team-lead task assign 3 bob", "atm --as team-lead task assign 3 alice --json"],
    ),
    ("task claim", &["atm --as bob task claim --next", "atm --as bob task claim 1 --lease 10m"]),
    (
        "task release",
        &["atm --as bob task release 1", "atm --as team-lead task release 2   # the lead may, too"],
    ),
    (
        "task complete",
        &[
            "atm --as bob task complete 1 --notes \"all green\"",
            "atm --as bob task complete 2 --hours 1.5 --no-message",
        ],
    ),
    (
        "task block",
        &["atm task block 3 --by 1,2", "atm --as bob task block 2 --by 1 --reason \"needs the fix\""],
    ),
    ("task unblock", &["atm task unblock 3 --from 1", "atm task unblock 3            # waits for nothing"]),
    ("task delete", &["atm --as team-lead task delete 3", "atm --as bob task delete 2"]),
    (
        "task status-request",
        &[
            "atm --as team-lead task status-request 1 --timeout 2m",
            "atm --as team-lead task status-request 1 --no-wait",
        ],
    ),
    (
        "task status",
        &[
            "atm --as bob task status 1 --progress 60",
            "atm --as bob task status 1 --status in_progress --eta \"before noon\"",
        ],
    ),
    ("task graph", &["atm task graph", "atm task graph --svg tasks.svg"]),
    ("plan", &["atm --as bob plan submit \"first the tests, then the fix\"", "atm plan list --open"]),
    (
        "plan submit",
        &[
            "atm --as bob plan submit \"first the tests, then the fix\"",
            "atm --as alice plan submit --file plan.md --wait --timeout 10m",
        ],
    ),
    (
        "plan approve",
        &[
            "atm --as team-lead plan approve 5e0a11c2",
            "atm --as team-lead plan approve b7d3c40e --feedback \"mind the tests\"",
        ],
    ),
    (
        "plan reject",
        &[
            "atm --as team-lead plan reject 5e0a11c2 --feedback \"too much at once\"",
            "atm --as team-lead plan reject b7d3c40e --feedback \"what about the tests?\" --json",
        ],
    ),
    ("plan list", &["atm plan list", "atm plan list --open"]),
    (
        "shutdown",
        &["atm --as team-lead shutdown request bob --reason \"all done\"", "atm --as bob shutdown approve"],
    ),
    (
        "shutdown request",
        &[
            "atm --as team-lead shutdown request bob --reason \"all done\"",
            "atm --as team-lead shutdown request alice --wait --timeout 2m",
        ],
    ),
    ("shutdown approve", &["atm --as bob shutdown approve", "atm --as alice shutdown approve b7d3c40e"]),
    (
        "shutdown reject",
        &[
            "atm --as bob shutdown reject --reason \"still at work\"",
            "atm --as alice shutdown reject b7d3c40e --reason \"one test left\"",
        ],
    ),
    ("artifacts", &["atm artifacts list", "atm --as bob artifacts put report.md"]),
    ("artifacts list", &["atm artifacts list", "atm artifacts list bob --json"]),
    (
        "artifacts put",
        &[
            "atm --as bob artifacts put report.md",
            "atm --as bob artifacts put - --as-name build.log < build.log",
        ],
    ),
    ("artifacts get", &["atm artifacts get bob report.md", "atm artifacts get bob report.md --out copy.md"]),
    ("artifacts tail", &["atm artifacts tail bob -n 50", "atm artifacts tail bob --follow --for 10m"]),
    (
        "artifacts report",
        &[
            "atm --as bob artifacts report running --tokens 1200",
            "atm --as bob artifacts report error --detail \"no disk space\"",
        ],
    ),
    ("idle", &["atm --as bob idle", "atm --as bob idle --reason task_complete --task 1"]),
    ("heartbeat", &["atm --as bob heartbeat", "atm --as bob heartbeat --task 1 --progress 60"]),
    (
        "health",
        &["atm --as team-lead health bob --timeout 1m", "atm health --sweep --dry-run   # who is silent?"],
    ),
    (
        "reserve",
        &[
            "atm --as bob reserve src/parser.rs --reason \"rewriting the lexer\"",
            "atm --as bob reserve docs 'src/**/*.sql' --for 2h",
        ],
    ),
    ("release", &["atm --as bob release src/parser.rs", "atm --as bob release --all"]),
    ("reservations", &["atm reservations", "atm reservations --all --json"]),
];
