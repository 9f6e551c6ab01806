//! What a client's settings file becomes, with what is ours and without it. Everything else in it keeps its bytes.

mod error;
mod identity;
pub(crate) mod json;
mod toml;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::command::CommandLine;
use crate::hook::HookEvent;
pub use error::SettingsError;
pub use identity::{Identity, Place};
pub(crate) use json::{Dialect, Document, Piece, is_our_hook};

/// The name of our server in every client's settings, which is also that of our program.
pub const SERVER: &str = "atm";

/// How every file begins that is ours alone.
const MARK: &str = "// Written by `atm install`";

/// How long a client waits for a hook, in seconds.
pub(crate) const HOOK_SECONDS: u64 = 10;

/// A settings file of a client, and what of ours belongs into it.
#[derive(Debug)]
pub struct SettingsFile {
    /// Where it is.
    pub path: PathBuf,
    /// What the client's own command does to it, where the client rewrites the file while it runs.
    pub own_command: Option<OwnCommand>,
    content: Content,
}

/// The calls of a client's own command that put our server into a file of this text, or take it out.
pub type OwnCommand = fn(Option<&str>, &Identity, Installing) -> Result<Vec<CommandLine>, SettingsError>;

/// What is to become of what is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installing {
    /// It is put in.
    In,
    /// It is taken out.
    Out,
}

/// What a file was before us.
#[derive(Debug, Clone, Copy)]
pub enum Before<'a> {
    /// Nobody remembers.
    Unknown,
    /// It was not there.
    Missing,
    /// This.
    Text(&'a str),
}

/// What is ours in a file.
#[derive(Debug)]
enum Content {
    Json { pieces: Vec<Piece>, dialect: Dialect },
    Toml { env: Vec<(String, String)> },
    Whole { text: String },
}

impl SettingsFile {
    /// A JSON document with entries of ours.
    pub(crate) fn json(path: PathBuf, dialect: Dialect, pieces: Vec<Piece>) -> Self {
        Self { path, own_command: None, content: Content::Json { pieces, dialect } }
    }

    /// A TOML document with our server in it, which gets this environment.
    pub(crate) fn toml(path: PathBuf, env: Vec<(String, String)>) -> Self {
        Self { path, own_command: None, content: Content::Toml { env } }
    }

    /// A file that is ours alone; its text begins with [`MARK`].
    pub(crate) fn whole(path: PathBuf, text: String) -> Self {
        Self { path, own_command: None, content: Content::Whole { text } }
    }

    /// The same file, changed by the client's own command where that is installed.
    pub(crate) fn rewritten_by(self, own_command: OwnCommand) -> Self {
        Self { own_command: Some(own_command), ..self }
    }

    /// The file with what is ours.
    pub fn with(&self, before: Option<&str>) -> Result<String, SettingsError> {
        match &self.content {
            Content::Json { pieces, dialect } => {
                let mut document = Document::new(before.unwrap_or_default(), *dialect)?;
                for piece in pieces {
                    document.put(piece)?;
                }
                let text = document.into_text();
                Document::new(&text, *dialect)?;
                Ok(text)
            }
            Content::Toml { env } => toml::with(before.unwrap_or_default(), env),
            Content::Whole { text } => match before {
                Some(there) if !there.starts_with(MARK) => Err(SettingsError::NotOurs("a file")),
                _ => Ok(text.clone()),
            },
        }
    }

    /// The file without what is ours; nothing, if it was made by us and nothing else is in it.
    pub fn without(&self, now: &str, before: Before) -> Result<Option<String>, SettingsError> {
        let made_by_us = matches!(before, Before::Missing);
        match &self.content {
            Content::Json { .. } if now.trim().is_empty() => Ok(Some(now.to_owned())),
            Content::Json { pieces, dialect } => {
                let had = match before {
                    Before::Text(text) => Document::new(text, *dialect).ok(),
                    Before::Unknown | Before::Missing => None,
                };
                let mut document = Document::new(now, *dialect)?;
                for piece in pieces {
                    document.take(piece, had.as_ref())?;
                }
                let empty = document.is_empty(pieces);
                Ok((!empty || !made_by_us).then(|| document.into_text()))
            }
            Content::Toml { .. } => {
                let left = toml::without(now)?;
                Ok((!left.trim().is_empty() || !made_by_us).then_some(left))
            }
            Content::Whole { .. } => Ok((!now.starts_with(MARK)).then(|| now.to_owned())),
        }
    }

    /// Whether what is ours is in it.
    pub fn is_in(&self, now: &str) -> bool {
        match &self.content {
            Content::Json { pieces, dialect } => Document::new(now, *dialect).is_ok_and(|document| {
                pieces.iter().all(|piece| match piece {
                    Piece::Server { at, .. } => document.has_server(at),
                    Piece::Hook { event, .. } => document.has_hook(event),
                    Piece::Beginning { .. } | Piece::NoHook { .. } => true,
                })
            }),
            Content::Toml { .. } => toml::is_in(now),
            Content::Whole { .. } => now.starts_with(MARK),
        }
    }
}

/// Our server below `mcpServers`, as most clients have it.
pub(crate) fn server(identity: &Identity) -> Piece {
    let value = json!({ "command": SERVER, "args": ["mcp"], "env": object(&identity.env()) });
    Piece::Server { at: "mcpServers", value }
}

/// One hook for each event, each in a group of its own.
pub(crate) fn grouped_hooks(
    events: &[(HookEvent, &'static str)],
    hook: impl Fn(&str) -> Value,
) -> Vec<Piece> {
    let group =
        |(_, event): &(_, &'static str)| Piece::Hook { event, value: json!({ "hooks": [hook(event)] }) };
    events.iter().map(group).collect()
}

/// The hook before edits, if reservations are heeded; else none, also where there was one before.
pub(crate) fn edit_hook(identity: &Identity, event: &'static str, hook: impl FnOnce() -> Value) -> Piece {
    if identity.heeds_reservations { Piece::Hook { event, value: hook() } } else { Piece::NoHook { event } }
}

/// An environment as JSON.
pub(crate) fn object(env: &[(String, String)]) -> Value {
    let members = env.iter().map(|(name, value)| (name.clone(), Value::String(value.clone())));
    Value::Object(members.collect())
}
