//! `atm config trust`

use std::path::PathBuf;

use atm_office::OfficeError;
use atm_office::clock::{Clock, SystemClock};
use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::settings::Source;

#[derive(Debug, Args)]
#[command(after_help = "\
Without trust, a project's .atm.toml may set team, as (to send by, not to take mail), color, [archive], [wake], and
delivery.retry_after where it only lengthens the default. What decides whose mail is read and where it is kept (root,
state), who else gets mail (delivery.escalate_to), when mail is given up (delivery.expire_after) and what is run or posted
for people ([notify]) is ignored, with a warning. A file that is a link, is another user's, or cannot be read does not count at all. Trust is remembered in ~/.config/atm/trusted, for that
folder and that content of the file: if it changes, it has to be trusted again.")]
pub(crate) struct Trust {
    /// The project's folder [default: where the nearest .atm.toml is, from here upwards]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long)]
    remove: bool,
    /// List the folders that are trusted
    #[arg(long, conflicts_with_all = ["remove", "folder"])]
    list: bool,
}

/// What became of a folder.
#[derive(Serialize)]
struct Judged {
    folder: String,
    file: String,
    trusted: bool,
    /// Whether that is new.
    changed: bool,
    /// The keys that count by this alone.
    keys: Vec<&'static str>,
}

/// A folder that was trusted.
#[derive(Serialize)]
struct Known {
    folder: String,
    /// `trusted`, `changed` or `missing`: its settings file.
    state: &'static str,
    at: String,
}

impl Trust {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if self.list {
            return list(context);
        }
        let folder = self.folder.as_ref().map(|folder| context.cwd.join(folder));
        let nearest = || context.settings.files.last().and_then(|file| Some(file.path.parent()?.to_owned()));
        let folder = folder.or_else(nearest).unwrap_or_else(|| context.cwd.clone());
        let trusted = &context.settings.trusted;
        let judged = if self.remove {
            let changed = trusted.remove(&folder).map_err(OfficeError::from)?;
            let file = folder.join(".atm.toml").display().to_string();
            Judged { folder: folder.display().to_string(), file, trusted: false, changed, keys: Vec::new() }
        } else {
            let (file, bytes, keys) = Source::to_be_trusted(&folder)?;
            let changed = !trusted.cover(&folder, &bytes);
            let known = trusted.add(&folder, &bytes, SystemClock.now().to_string());
            let folder = known.map_err(OfficeError::from)?.folder.display().to_string();
            Judged { folder, file: file.display().to_string(), trusted: true, changed, keys }
        };
        let out = &mut context.out;
        if out.json {
            out.document(&judged)?;
            return Ok(0);
        }
        let file = safe::line(&judged.file).into_owned();
        let words = match (&judged, judged.keys.as_slice()) {
            (Judged { trusted: false, changed: false, .. }, _) => format!("{file} was not trusted"),
            (Judged { trusted: false, .. }, _) => format!("{file} is not trusted any more"),
            (_, []) => format!("{file} is trusted; nothing in it needed that"),
            (_, keys) => format!("{file} is trusted, with {}, until it changes", keys.join(", ")),
        };
        out.note(words)?;
        Ok(0)
    }
}

fn list(context: &mut Context) -> Result<i32, Failure> {
    let all = context.settings.trusted.list().into_iter().map(|known| Known {
        state: match Source::content(&known.folder) {
            None => "missing",
            Some(bytes) if known.covers(&bytes) => "trusted",
            Some(_) => "changed",
        },
        folder: known.folder.display().to_string(),
        at: known.at,
    });
    let all: Vec<Known> = all.collect();
    let out = &mut context.out;
    if out.json {
        out.document(&all)?;
        return Ok(0);
    }
    for known in &all {
        out.line(format!("{:<8} {}", known.state, safe::line(&known.folder)))?;
    }
    if all.is_empty() {
        out.note("no folder is trusted")?;
    }
    Ok(0)
}
