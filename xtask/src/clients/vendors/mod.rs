//! The vendors' part of `cargo xtask clients`: mail for each real client in each state that it can be in without a
//! terminal, with atm's proofs compared to what the model was really sent.

mod course;
mod model;
mod recipient;
mod screen;
mod vendor;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use self::course::Course;
use self::model::VendorModel;
use self::recipient::Recipient;
use super::client::Client;
use super::npm;

/// What became of the mail for a client in one state.
pub(super) struct Outcome {
    pub(super) sent: usize,
    /// In a request to the model.
    pub(super) arrived: usize,
    /// `seen`, with the place in the client's conversation.
    pub(super) proved: usize,
    /// Not proved, and unread in the inbox, where the next turn finds it.
    pub(super) waiting: usize,
    /// The client was killed before the turn's end.
    pub(super) is_killed: bool,
    /// More than once in one request.
    pub(super) doubled: usize,
    /// From the moment at which the client could have it to the request.
    pub(super) time: Option<Duration>,
}

fn is_whole((_, outcome): &Tried) -> bool {
    outcome.as_ref().is_ok_and(Outcome::is_whole)
}

impl Outcome {
    /// Whether all mail arrived once and was proved. A client that is killed may not have written what its model has: that has to
    /// wait unread then, and is proved in the state after it, in which the client goes on.
    fn is_whole(&self) -> bool {
        let may_wait = if self.is_killed { self.waiting } else { 0 };
        self.arrived == self.sent && self.doubled == 0 && self.proved + may_wait == self.sent
    }
}

/// What was seen of one client.
pub(super) struct Row {
    client: &'static str,
    version: String,
    outcomes: Result<Vec<Tried>>,
}

/// A state, and what came of it.
pub(super) type Tried = (&'static str, Result<Outcome>);

impl Row {
    /// Whether all mail arrived and was proved.
    pub(super) fn is_true(&self) -> bool {
        self.outcomes.as_ref().is_ok_and(|all| all.iter().all(is_whole))
    }
}

/// Each client as a member of a team; `atm` is the folder of the binary.
pub(super) fn run(only: Option<&str>, atm: &Path) -> Result<Vec<Row>> {
    let clients = npm::each(only, false)?;
    let row = |(client, programs): (Client, PathBuf)| try_out(client, Recipient::Member, atm, &programs);
    Ok(clients.into_iter().map(row).collect())
}

/// The same for plain sessions; of Claude Code, whose sessions have a part of their own, only if it is asked for.
pub(super) fn run_sessions(only: Option<&str>, atm: &Path) -> Result<Vec<Row>> {
    let clients = npm::each(only, false)?.into_iter();
    let clients = clients
        .filter(|(client, _)| only == Some("claude") || vendor::interactive(client.name, false).is_some());
    let row = |(client, programs): (Client, PathBuf)| try_out(client, Recipient::Session, atm, &programs);
    Ok(clients.map(row).collect())
}

fn try_out(client: Client, recipient: Recipient, atm: &Path, programs: &Path) -> Row {
    eprintln!("clients: {} in its states, as {recipient:?}", client.title);
    let outcomes = recipient.home(atm, programs).and_then(|mut home| {
        let model = VendorModel::start(&home.file("work"))?;
        let tried = Course::new(client, recipient, &home, &model)?.run()?;
        if !tried.iter().all(is_whole) {
            fs::write(home.file("requests.jsonl"), model.requests())?;
            eprintln!("clients: {}: see {}", client.title, home.keep().display());
        }
        Ok(tried)
    });
    if let Err(error) = &outcomes {
        eprintln!("clients: {}: {error:#}", client.title);
    }
    Row { client: client.title, version: client.version.to_owned(), outcomes }
}

/// The rows as a Markdown table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| client | version | state | sent | arrived | proved | waiting | doubled | time to arrival |\n|---|---|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for Row { client, version, outcomes } in rows {
        let failed = |table: &mut String, state: &str, error: &anyhow::Error| {
            let why =
                format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
            let _ = writeln!(table, "| {client} | {version} | {state}**did not run**: {why} | | | | | | |");
        };
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(error) => {
                failed(&mut table, "", error);
                continue;
            }
        };
        for (state, outcome) in outcomes {
            match outcome {
                Ok(Outcome { sent, arrived, proved, waiting, doubled, time, .. }) => {
                    let time =
                        time.map_or_else(|| "–".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
                    let _ = writeln!(
                        table,
                        "| {client} | {version} | {state} | {sent} | {arrived} | {proved} | {waiting} | {doubled} | {time} |"
                    );
                }
                Err(error) => failed(&mut table, &format!("{state}: "), error),
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_true_if_all_mail_arrived_and_was_proved_or_waits_for_a_killed_client() {
        let outcome = |proved, waiting, is_killed| Outcome {
            sent: 2,
            arrived: 2,
            proved,
            waiting,
            is_killed,
            doubled: 0,
            time: Some(Duration::from_millis(340)),
        };
        let twice = Outcome { doubled: 1, ..outcome(2, 0, false) };
        let row = |outcomes| Row { client: "Codex", version: "0.1".to_owned(), outcomes };
        let one = |outcome| row(Ok(vec![("idle", Ok(outcome))]));
        assert!(one(outcome(2, 0, false)).is_true());
        assert!(!one(outcome(1, 0, false)).is_true());
        assert!(!one(outcome(1, 1, false)).is_true(), "it runs, and had it");
        assert!(one(outcome(0, 2, true)).is_true());
        assert!(!one(outcome(0, 1, true)).is_true(), "neither proved nor waiting");
        assert!(!one(twice).is_true(), "told twice");
        let failed = row(Err(anyhow::anyhow!("no | client")));
        assert!(!failed.is_true());
        let partly = row(Ok(vec![("idle", Ok(outcome(2, 0, false))), ("busy", Err(anyhow::anyhow!("no")))]));
        assert!(!partly.is_true());
        let table = table(&[partly, failed]);
        assert!(table.contains("| Codex | 0.1 | idle | 2 | 2 | 2 | 0 | 0 | 0.3 s |\n"), "{table}");
        assert!(table.contains("| Codex | 0.1 | busy: **did not run**: no | | | | | | |\n"), "{table}");
        assert!(table.ends_with("| **did not run**: no \\| client | | | | | | |\n"), "{table}");
    }
}
