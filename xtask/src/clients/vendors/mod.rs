//! The vendors' part of `cargo xtask clients`: mail for each real client in each state that it can be in without a
//! terminal, with atm's proofs compared to what the model was really sent.

mod course;
mod model;
mod vendor;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use self::course::Course;
use self::model::VendorModel;
use super::client::{CLIENTS, Client};
use super::home::Home;
use super::npm;

/// What became of the mail for a client in one state.
pub(super) struct Outcome {
    pub(super) state: &'static str,
    pub(super) sent: usize,
    /// In a request to the model.
    pub(super) arrived: usize,
    /// `seen`, with the place in the client's conversation.
    pub(super) proved: usize,
    /// The client was killed before the turn's end.
    pub(super) is_killed: bool,
    /// More than once in one request.
    pub(super) doubled: usize,
    /// From the moment at which the client could have it to the request.
    pub(super) time: Option<Duration>,
}

/// What was seen of one client.
pub(super) struct Row {
    client: &'static str,
    version: String,
    outcomes: Result<Vec<Outcome>>,
}

impl Row {
    /// Whether all mail arrived and was proved.
    pub(super) fn is_true(&self) -> bool {
        // A client that is killed may not have written what its model has.
        let is_whole = |one: &Outcome| one.arrived == one.sent && (one.proved == one.sent || one.is_killed);
        self.outcomes.as_ref().is_ok_and(|all| all.iter().all(is_whole))
    }
}

/// `atm` is the folder of the binary.
pub(super) fn run(only: Option<&str>, atm: &Path) -> Result<Vec<Row>> {
    let programs = npm::install(false)?;
    let chosen = CLIENTS.into_iter().filter(|client| only.is_none_or(|only| only == client.name));
    Ok(chosen.map(|client| try_out(client, atm, &programs)).collect())
}

fn try_out(client: Client, atm: &Path, programs: &Path) -> Row {
    eprintln!("clients: {} in its states", client.title);
    let outcomes = Home::new(atm, programs).and_then(|home| {
        let model = VendorModel::start(&home.file("work"))?;
        Course::new(client, &home, &model)?.run()
    });
    if let Err(error) = &outcomes {
        eprintln!("clients: {}: {error:#}", client.title);
    }
    Row { client: client.title, version: client.version.to_owned(), outcomes }
}

/// The rows as a Markdown table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| client | version | state | sent | arrived | proved | doubled | time to arrival |\n|---|---|---|--:|--:|--:|--:|--:|\n",
    );
    for Row { client, version, outcomes } in rows {
        match outcomes {
            Ok(outcomes) => {
                for one in outcomes {
                    let Outcome { state, sent, arrived, proved, doubled, time, .. } = one;
                    let time =
                        time.map_or_else(|| "–".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
                    let _ = writeln!(
                        table,
                        "| {client} | {version} | {state} | {sent} | {arrived} | {proved} | {doubled} | {time} |"
                    );
                }
            }
            Err(error) => {
                let why =
                    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
                let _ = writeln!(table, "| {client} | {version} | **did not run**: {why} | | | | | |");
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_true_if_all_mail_arrived_and_was_proved() {
        let outcome = |proved| Outcome {
            state: "idle",
            sent: 2,
            arrived: 2,
            proved,
            is_killed: false,
            doubled: 0,
            time: Some(Duration::from_millis(340)),
        };
        let row = |outcomes| Row { client: "Codex", version: "0.1".to_owned(), outcomes };
        assert!(row(Ok(vec![outcome(2)])).is_true());
        assert!(!row(Ok(vec![outcome(1)])).is_true());
        let failed = row(Err(anyhow::anyhow!("no | client")));
        assert!(!failed.is_true());
        let table = table(&[row(Ok(vec![outcome(2)])), failed]);
        assert!(table.contains("| Codex | 0.1 | idle | 2 | 2 | 2 | 0 | 0.3 s |\n"), "{table}");
        assert!(table.ends_with("| **did not run**: no \\| client | | | | | |\n"), "{table}");
    }
}
