//! `atm sessions`

use std::path::PathBuf;

use anstyle::Style;
use atm_office::sessions::{SessionView, short_id};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::members;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::Paint;
use crate::output::table::{Cell, cut, spare, whole};
use crate::output::{Out, safe};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
`atm install claude` makes every session of yours reachable; other clients join in the same way.
A session is written to with `atm send NAME TEXT`, NAME being its name, its folder's name (or more of its
path), or an alias. If none works in that folder, the message waits for the next one that does.")]
pub(crate) struct Sessions {
    /// Also folders in which no session runs now
    #[arg(long)]
    all: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Give a folder another name that sessions in it are written to by
    Alias(Alias),
}

#[derive(Debug, Args)]
struct Alias {
    /// The name: lower-case letters, digits and hyphens
    #[arg(value_name = "ALIAS")]
    name: String,
    /// The folder
    #[arg(value_name = "FOLDER", required_unless_present = "remove")]
    folder: Option<PathBuf>,
    /// Forget it
    #[arg(long, conflicts_with = "folder")]
    remove: bool,
}

/// An alias that was given, or forgotten.
#[derive(Debug, Serialize)]
struct Given {
    alias: String,
    folder: PathBuf,
    removed: bool,
}

impl Sessions {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if let Some(Verb::Alias(alias)) = self.verb {
            return alias.run(context);
        }
        let mut sessions = context.office.sessions()?;
        let all = sessions.len();
        if !self.all {
            sessions.retain(|session| session.session.is_some() || session.unread > 0);
        }
        let out = &mut context.out;
        if out.json {
            out.document(&sessions)?;
            return Ok(0);
        }
        out.page();
        if all == 0 {
            out.note(
                "no session is known: `atm install claude` makes sessions known, from their next turn on",
            )?;
            return Ok(0);
        }
        if sessions.is_empty() {
            out.note("no session runs now, and no mail waits for one")?;
        } else {
            show(out, &sessions)?;
        }
        out.more(all - sessions.len(), "--all")?;
        Ok(0)
    }
}

fn show(out: &mut Out, sessions: &[SessionView]) -> Result<(), Failure> {
    let columns = [
        cut("NAME", 20),
        cut("SESSION", 12),
        whole("CLIENT"),
        whole("STATE"),
        whole("UNREAD"),
        spare("FOLDER", 2),
    ];
    let ids: Vec<&str> = sessions.iter().filter_map(|session| session.session.as_deref()).collect();
    out.table(&columns, sessions.iter().map(|session| row(session, &ids)))?;
    Ok(())
}

fn row(session: &SessionView, ids: &[&str]) -> Vec<Cell> {
    let (word, style) = members::state(session.state);
    let doing = session.activity.as_ref().filter(|activity| activity.starts_with("waiting"));
    let state = doing.map_or_else(|| word.to_owned(), |activity| format!("{word} ({activity})"));
    let aliases: Vec<&str> = session.aliases.iter().map(String::as_str).collect();
    let also = if aliases.is_empty() { String::new() } else { format!(" ({})", aliases.join(", ")) };
    let id = session.session.as_ref().map(|id| short_id(id, ids.iter().copied()));
    let unread = if session.unread > 0 { Paint::ATTENTION } else { Style::new() };
    vec![
        format!("{}{also}", session.name).as_str().into(),
        session.session_name.clone().or(id).unwrap_or_else(|| "-".to_owned()).into(),
        session.client.unwrap_or("-").into(),
        Cell::styled(&state, style),
        Cell::styled(&session.unread.to_string(), unread),
        session.folder.display().to_string().into(),
    ]
}

impl Alias {
    fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let office = &context.office;
        let mut before = None;
        let folder = match self.folder {
            Some(folder) => {
                let folder = context.cwd.join(folder);
                let folder = folder.canonicalize().unwrap_or(folder);
                let is_known = || office.find_session(&folder.display().to_string()).is_ok();
                if !folder.is_dir() && !is_known() {
                    let path = folder.display().to_string();
                    let what = format!("there is no folder at {path}, and no session has worked there");
                    return Err(Failure::usage(what));
                }
                let other = office.find_session(&self.name).map(|meant| meant.folder);
                before = office.set_session_alias(&self.name, &folder)?.filter(|before| *before != folder);
                if let (Ok(other), None) = (other, &before)
                    && other != folder
                {
                    let (name, other) = (&self.name, other.display());
                    let warning = format!(
                        "{name} meant {other} until now, which is written to by its path from here on"
                    );
                    context.out.warn(&warning)?;
                }
                folder
            }
            None => office.remove_session_alias(&self.name)?,
        };
        let out = &mut context.out;
        let given = Given { alias: self.name, folder, removed: self.remove };
        if out.json {
            out.document(&given)?;
            return Ok(0);
        }
        let (alias, folder) = (safe::line(&given.alias), given.folder.display().to_string());
        let folder = safe::line(&folder);
        out.note(if given.removed {
            format!("{alias} stands for nothing any more; it was {folder}")
        } else {
            let before = before.map(|before| before.display().to_string());
            let before = before.map(|before| format!("; before, it was {}", safe::line(&before)));
            format!("{alias} stands for {folder}{}", before.unwrap_or_default())
        })?;
        Ok(0)
    }
}
