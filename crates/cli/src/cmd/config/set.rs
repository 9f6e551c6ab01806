//! `atm config set`

use std::fs;
use std::path::PathBuf;

use atm_office::OfficeError;
use atm_office::clock::{Clock, SystemClock};
use atm_office::people::nearest::nearest;
use atm_store::files::replace_own;
use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;
use crate::settings::{KEYS, Origin, Settings, edit, shape_of, text_of};

#[derive(Debug, Args)]
#[command(after_help = "\
Keys: root, state, team, as, color; retry_after, escalate_to and expire_after of [delivery], [delivery.high] and
[delivery.low]; archive.keep, archive.older_than, archive.compress_after, archive.shrink_over, archive.rotate_over,
archive.quarantine_for; wake.after; pending.unread_after; daemon.autostart; notify.command, notify.webhook,
notify.webhook_secret_file, notify.desktop, notify.tmux, notify.on, notify.quiet_hours, notify.disk_below (see `atm help
notify`); web.port, web.read_only (see `atm web --help`); claude.native_peers. Comments and order of the file stay; it is replaced whole, or
not at all. If you had trusted the project's file, it is trusted as it is now.")]
pub(crate) struct Set {
    /// The key, like `team` or `delivery.retry_after`
    key: String,
    /// The value; those of a list with commas between them
    #[arg(required_unless_present = "unset", conflicts_with = "unset", allow_hyphen_values = true)]
    value: Option<String>,
    /// Take the key out, so that the default counts
    #[arg(long)]
    unset: bool,
    /// In your own settings; this is the default
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// In the .atm.toml of this project: the nearest from here upwards, else one is made here
    #[arg(long)]
    project: bool,
}

#[derive(Serialize)]
struct Answer {
    file: String,
    key: String,
    value: Option<String>,
    before: Option<String>,
    changed: bool,
}

impl Set {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let shape = shape_of(&self.key).ok_or_else(|| unknown(&self.key))?;
        let path = self.path(context)?;
        let old = if path.exists() {
            text_of(&path).map_err(|why| bad(&path.display().to_string(), &why))?
        } else {
            String::new()
        };
        let edited = edit(&old, &self.key, shape, self.value.as_deref()).map_err(|why| {
            let why = if why.starts_with(&self.key) { why } else { format!("{}: {why}", self.key) };
            Failure::usage(why).hint("nothing was changed")
        })?;
        let changed = edited.text != old;
        if changed {
            let folder = path.parent().map(ToOwned::to_owned).unwrap_or_default();
            let trusted = &context.settings.trusted;
            let was_trusted = self.project && trusted.cover(&folder, old.as_bytes());
            replace_own(&path, &edited.text).map_err(OfficeError::from)?;
            if was_trusted {
                let now = SystemClock.now().to_string();
                trusted.add(&folder, edited.text.as_bytes(), now).map_err(OfficeError::from)?;
            }
        }
        if let Some(warning) = self.is_overruled(context, &path)? {
            context.out.warn(&warning)?;
        }
        let file = path.display().to_string();
        let answer = Answer { file, key: self.key, value: edited.after, before: edited.before, changed };
        if context.out.json {
            context.out.document(&answer)?;
            return Ok(0);
        }
        let value = answer.value.as_deref().unwrap_or("not set");
        let verb = if changed { "is now" } else { "was already" };
        context.out.note(safe::line(&format!("{} {verb} {value} in {}", answer.key, answer.file)))?;
        Ok(0)
    }

    fn path(&self, context: &Context) -> Result<PathBuf, Failure> {
        // Your own comes first, the project's behind it.
        let mut files = context.settings.files.iter();
        let file = if self.project { files.next_back() } else { files.next() };
        let path = file.map(|file| file.path.clone()).unwrap_or_default();
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        if self.project && is_link {
            let text = format!("{} is a link, which may lead out of the project", path.display());
            return Err(
                Failure::new(ExitCode::Refused, "linked_away", text).hint("edit the file that it leads to")
            );
        }
        Ok(path)
    }

    /// What counts before the file, or keeps it from counting, in words.
    fn is_overruled(&self, context: &Context, path: &std::path::Path) -> Result<Option<String>, Failure> {
        let settings = Settings::load(&context.global, &context.cwd)?;
        let origin = match self.key.as_str() {
            "root" => &settings.root.origin,
            "state" => &settings.state.origin,
            "team" => &settings.team.origin,
            "as" => &settings.who.origin,
            "color" => &settings.color.origin,
            _ => &Origin::Default,
        };
        let ours = Origin::File(path.to_owned());
        if !self.unset && *origin != ours && *origin != Origin::Default {
            return Ok(Some(format!("{} is set by {origin}, which counts before this file", self.key)));
        }
        Ok(settings.files.iter().filter(|file| file.path == path).find_map(|file| file.distrust(|_| true)))
    }
}

fn unknown(key: &str) -> Failure {
    let known = KEYS.iter().map(|(known, ..)| *known);
    let hint = match nearest(key, known.clone()).as_slice() {
        [] => format!("the keys are {}", known.collect::<Vec<_>>().join(", ")),
        near => format!("did you mean {}?", near.join(", ")),
    };
    Failure::usage(format!("there is no setting {key:?}")).hint(hint)
}

fn bad(path: &str, why: &str) -> Failure {
    Failure::new(ExitCode::BadData, "bad_settings", format!("{path}: {why}"))
}
