//! The sessions part of `cargo xtask clients`: plain sessions of the real Claude Code, without a team, that mail reaches by
//! push or by hooks. In each state it is counted what was sent, what the model was sent, what atm proved and how long it took.

mod abroad;
mod burst;
mod peers;
mod report;
mod scene;
mod states;

use std::path::Path;

use anyhow::Result;

use self::report::Row;
use super::patience;
use crate::clients::npm;

/// The newest with a socket, an older one with it, and one without.
const VERSIONS: [&str; 3] = ["2.1.325", "2.1.282", "2.1.197"];

/// What to try.
#[derive(clap::Args)]
pub(in crate::clients) struct SessionChoice {
    /// This version of Claude Code only (repeatable)
    #[arg(long, value_name = "VERSION")]
    session_version: Vec<String>,
    /// This state only (repeatable): idle, busy, long, dialog, bypass, plan, auto, cleared, stop, killed, broken,
    /// broken-hooks, broken-tool, burst
    #[arg(long, value_name = "STATE", requires = "sessions")]
    session_state: Vec<String>,
}

/// The same for peers: what each version did with members of another client and of another machine in its own list of agents.
pub(in crate::clients) fn run_peers(choice: &SessionChoice, atm: &Path) -> Result<(String, bool)> {
    patience::heed_signals()?;
    let (mut rows, mut abroad) = (Vec::new(), Vec::new());
    for version in choice.versions() {
        let programs = npm::install_claude(&version)?;
        eprintln!("clients: peers {version}");
        let start = scene::Start { version: &version, programs: &programs, atm, keep: false };
        let seen = peers::run(&start);
        if let Err(error) = &seen {
            eprintln!("clients: peers {version}: {error:#}");
        }
        let row = peers::Row { version: version.clone(), seen };
        if row.has_list() {
            eprintln!("clients: peers {version} of another machine");
            abroad.extend(abroad::run(&start));
        }
        rows.push(row);
    }
    let is_true = rows.iter().all(peers::Row::is_true) && abroad.iter().all(abroad::Row::is_true);
    Ok((peers::table(&rows) + &abroad::table(&abroad), is_true))
}

impl SessionChoice {
    fn versions(&self) -> Vec<String> {
        if self.session_version.is_empty() {
            VERSIONS.map(ToOwned::to_owned).to_vec()
        } else {
            self.session_version.clone()
        }
    }
}

/// What all rows say, as a table; and whether each message arrived once and was proved.
pub(in crate::clients) fn run(choice: &SessionChoice, keep: bool, atm: &Path) -> Result<(String, bool)> {
    patience::heed_signals()?;
    let is_wanted = |name: &str| {
        choice.session_state.is_empty() || choice.session_state.iter().any(|state| state == name)
    };
    let mut rows = Vec::new();
    for version in &choice.versions() {
        let programs = npm::install_claude(version)?;
        for state in states::ALL.iter().filter(|state| is_wanted(state.name)) {
            eprintln!("clients: session {version} {}", state.name);
            let outcome = (state.run)(&scene::Start { version, programs: &programs, atm, keep });
            if let Err(error) = &outcome {
                eprintln!("clients: session {version} {}: {error:#}", state.name);
            }
            rows.push(Row { version: version.clone(), state: state.title, outcome });
        }
    }
    Ok((report::table(&rows), rows.iter().all(Row::is_true)))
}
