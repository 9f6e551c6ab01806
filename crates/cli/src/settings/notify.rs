//! What people are told, and how.

use std::path::{Path, PathBuf};

use atm_notify::{Channel, Kind, Quiet, Rules, Tmux, Webhook};
use serde::Deserialize;

use super::expand_home;
use crate::size;

/// What posts are signed with, beside the settings file, if nothing else is said.
const SECRET: &str = "webhook.secret";

/// What people are told, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notifications {
    pub(crate) rules: Rules,
    command: Option<Vec<String>>,
    webhook: Option<Webhook>,
    desktop: bool,
    tmux: Option<Tmux>,
}

impl Notifications {
    /// The channels that are set.
    pub(crate) fn channels(&self) -> Vec<Channel> {
        let all = [
            self.command.clone().map(Channel::Command),
            self.webhook.clone().map(Channel::Webhook),
            self.desktop.then_some(Channel::Desktop),
            self.tmux.map(Channel::Tmux),
        ];
        all.into_iter().flatten().collect()
    }

    /// The keys and their values, for people: without what may be a secret.
    pub(crate) fn lines(&self) -> [(&'static str, Option<String>); 7] {
        let on: Vec<&str> = self.rules.on.iter().map(|kind| kind.as_str()).collect();
        [
            ("notify.command", self.command.as_ref().map(|words| words.join(" "))),
            ("notify.webhook", self.webhook.as_ref().map(|webhook| webhook.place().to_owned())),
            ("notify.desktop", Some(self.desktop.to_string())),
            ("notify.tmux", self.tmux.map(|tmux| tmux.as_str().to_owned())),
            ("notify.on", Some(on.join(", "))),
            ("notify.quiet_hours", self.rules.quiet.map(|quiet| quiet.to_string())),
            ("notify.disk_below", self.rules.disk_below.map(size::show)),
        ]
    }
}

/// The table `[notify]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notify {
    command: Option<Vec<String>>,
    webhook: Option<String>,
    webhook_secret_file: Option<PathBuf>,
    desktop: Option<bool>,
    tmux: Option<String>,
    on: Option<Vec<String>>,
    quiet_hours: Option<String>,
    disk_below: Option<String>,
}

impl Notify {
    /// Changes `all` where this says something; `folder` is where the file is.
    pub(super) fn apply(&self, all: &mut Notifications, folder: &Path) -> Result<(), String> {
        if let Some(words) = &self.command {
            all.command = Some(command(words)?);
        }
        if let Some(url) = &self.webhook {
            let secret = self.webhook_secret_file.as_deref().unwrap_or(Path::new(SECRET));
            let webhook = Webhook::new(url, &folder.join(expand_home(secret)));
            all.webhook = Some(webhook.map_err(|error| format!("webhook: {error}"))?);
        }
        all.desktop = self.desktop.unwrap_or(all.desktop);
        if let Some(how) = &self.tmux {
            let tmux = [Tmux::Bell, Tmux::Title].into_iter().find(|tmux| tmux.as_str() == how);
            all.tmux = Some(tmux.ok_or_else(|| format!("tmux = {how:?}: must be bell or title"))?);
        }
        if let Some(on) = &self.on {
            let kind = |word: &String| Kind::parse(word).ok_or_else(|| unknown(word));
            all.rules.on = on.iter().map(kind).collect::<Result<_, _>>()?;
        }
        if let Some(hours) = &self.quiet_hours {
            let quiet = Quiet::parse(hours).map_err(|error| format!("quiet_hours: {error}"))?;
            all.rules.quiet = Some(quiet);
        }
        if let Some(below) = &self.disk_below {
            all.rules.disk_below = Some(size::parse(below).map_err(|why| format!("disk_below: {why}"))?);
        }
        Ok(())
    }
}

/// Programs that run their arguments.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "osascript"];

/// A program and its arguments: nothing is split, and no shell sees it, unless the user calls one; then what is filled in
/// must not be a part of the script.
fn command(words: &[String]) -> Result<Vec<String>, String> {
    let [program, rest @ ..] = words else {
        return Err("command: name a program, like [\"notify.sh\", \"{title}\", \"{text}\"]".to_owned());
    };
    let name = Path::new(program).file_name().unwrap_or_default();
    if name.is_empty() {
        return Err("command: the program has no name".to_owned());
    }
    let is_script = |(before, word): (&String, &String)| {
        let has_field = Channel::FIELDS.iter().any(|field| word.contains(field));
        has_field && (before.starts_with('-') || !Channel::FIELDS.contains(&word.as_str()))
    };
    let is_shell = SHELLS.iter().any(|shell| name == *shell);
    if is_shell && words.iter().zip(rest).any(is_script) {
        let name = name.display();
        return Err(format!(
            "command: {name} would run what is filled in; pass it as a word of its own: [\"{name}\", \"-c\", \"… $1\", \"{name}\", \"{{text}}\"]"
        ));
    }
    let program = expand_home(Path::new(program)).display().to_string();
    Ok([program].into_iter().chain(rest.iter().cloned()).collect())
}

fn unknown(word: &str) -> String {
    let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    format!("on: there is no {word:?}; there are {}", known.join(", "))
}
