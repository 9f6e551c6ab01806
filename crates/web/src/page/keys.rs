//! The keys, listed once for the dialog and for those without script.

use maud::{Markup, html};

const KEYS: [(&str, &str); 14] = [
    ("?", "this list"),
    ("Ctrl K", "commands: go to a page, or do something"),
    ("/", "search"),
    ("j, k", "next, previous entry"),
    ("Enter", "open the entry"),
    ("x", "select the entry"),
    ("a", "acknowledge what is selected, or the entry"),
    ("m", "mute what is selected, or the entry, for a day"),
    ("r", "answer the message"),
    ("w", "do what resolves the entry"),
    ("t", "actions on or off"),
    ("o", "on a task: choose its owner"),
    ("g then h, t, p, n, f", "go to all teams, tasks, plans, numbers, failed mail"),
    ("Esc", "close"),
];

pub(super) fn list() -> Markup {
    html! {
        dl.keys {
            @for (key, what) in KEYS { dt { kbd { (key) } } dd { (what) } }
        }
    }
}

pub(super) fn dialog() -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            (list())
            form method="dialog" { button { "Close" } }
        }
    }
}
