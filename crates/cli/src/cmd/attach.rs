//! `atm attach`

use std::os::unix::process::CommandExt;
use std::process::Command;

use atm_panes::{Server, Tmux};
use atm_wire::Address;
use clap::Args;
use serde_json::json;

use super::spawn::here;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
Inside the same tmux server it switches to the pane; else it attaches. With --json it only says what it would run.")]
pub(crate) struct Attach {
    /// Whose pane [default: the first member's that runs]
    name: Option<Address>,
}

impl Attach {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, name) = context.anyone(self.name)?;
        let pane = atm_panes::pane_to_show(&mut context.office.team(&team)?, name.as_ref())?;
        let inside = here().and_then(|server| match server {
            Server::Here { socket, .. } => Some(socket.canonicalize().unwrap_or(socket)),
            Server::Named(_) | Server::Socket(_) => None,
        });
        let args = Tmux::to_show(&pane, inside.as_deref());
        if context.out.json {
            let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
            context
                .out
                .document(&json!({ "team": team, "pane": pane.id, "command": "tmux", "args": words }))?;
            return Ok(0);
        }
        context.out.finish()?;
        let mut tmux = Command::new("tmux");
        if inside.as_deref() != Some(pane.socket.as_path()) {
            // tmux refuses to be attached within another server as long as this says that it is.
            tmux.env_remove("TMUX");
        }
        let error = tmux.args(args).exec();
        Err(Failure::new(ExitCode::Io, "no_tmux", format!("cannot run tmux: {error}")))
    }
}
