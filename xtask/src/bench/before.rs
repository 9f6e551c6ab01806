//! What was measured before the ledger was an event log and answers grew with what changed, for a table of before and after.

use std::fmt::Write as _;

use super::report::Row;

/// Operations as their rows name them, each with what it took then.
const BEFORE: [(&str, &str); 19] = [
    ("`atm send` into 1 message", "CPU 4.3 to 5.4 ms"),
    ("`atm send NAME@TEAM` beside 1,000 teams", "CPU 70 ms"),
    ("`atm read` of 5,000 unread, all new to the ledger", "CPU 172 ms"),
    ("5,000 messages through `poll_inbox`, page by page", "14.6 s in 296 calls, 48 MB"),
    ("`atm status` in a team of 100, nothing new", "CPU 17 ms"),
    ("`atm status` in a team of 1,000, nothing new", "CPU 253 ms"),
    ("`atm members` in a team of 1,000, nothing new", "CPU 162 ms"),
    ("`atm pending` in a team of 1,000, nothing new", "CPU 84 ms"),
    ("`atm log` in a team of 1,000, nothing new", "CPU 26 ms"),
    ("`atm track ID` beside 1,000 teams, none named", "CPU 930 ms"),
    ("`atm log` of all of 1,000 teams", "CPU 107 ms"),
    ("`atm status`, ledger of 1,000,000", "CPU 1,250 ms"),
    ("`atm members`, ledger of 1,000,000", "CPU 948 ms"),
    ("`atm pending`, ledger of 1,000,000", "CPU 334 ms"),
    ("`atm log`, ledger of 1,000,000", "CPU 295 ms"),
    ("`atm stats`, ledger of 1,000,000", "CPU 3,400 ms"),
    ("`atm doctor`, ledger of 1,000,000", "CPU 2,800 ms"),
    ("the first `atm search WORDS --limit 20` of 100,000 messages, no words indexed", "about 1.3 s"),
    ("the first search, in process: 1,000,000 messages, no words indexed", "13.4 s"),
];

/// Before and after, as a Markdown table, of those that were measured.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from("| operation | before | after | aim | met? |\n|---|---|---|---|---|\n");
    for (operation, before) in BEFORE {
        if let Some(row) = rows.iter().find(|row| row.is_of(operation)) {
            let (after, (aim, met)) = (row.measured(), row.aims());
            let _ = writeln!(table, "| {operation} | {before} | {after} | {aim} | {met} |");
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_measured_then_and_now_stands_side_by_side() {
        let rows = [
            Row::new("`atm read` of 5,000 unread, all new to the ledger", Duration::from_millis(40))
                .aim_ms(50, Duration::from_millis(40)),
            Row::new("something new", Duration::from_millis(1)),
        ];
        let expected = "|---|---|---|---|---|\n\
                        | `atm read` of 5,000 unread, all new to the ledger | CPU 172 ms | 40.0 ms | ≤ 50 ms | yes |\n";
        assert!(table(&rows).ends_with(expected), "{}", table(&rows));
    }
}
