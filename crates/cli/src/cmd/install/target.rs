//! A file to be edited, and what it becomes.

use std::path::PathBuf;

use super::codex;
use super::json::{Dialect, Document, Piece};
use super::trouble::Trouble;

/// How every file begins that is ours alone.
pub(crate) const MARK: &str = "// Written by `atm install`";

/// A file to be edited.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

/// What a file was before us.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Before<'a> {
    /// We do not know any more.
    Unknown,
    /// It was not there.
    Missing,
    /// This.
    Text(&'a str),
}

/// What is ours in it.
#[derive(Debug)]
pub(crate) enum Kind {
    Json { pieces: Vec<Piece>, dialect: Dialect },
    Codex { env: Vec<(String, String)> },
    Whole { text: String },
}

impl Target {
    /// The file with what is ours.
    pub(crate) fn with(&self, before: Option<&str>) -> Result<String, Trouble> {
        match &self.kind {
            Kind::Json { pieces, dialect } => {
                let mut document = Document::new(before.unwrap_or_default(), *dialect)?;
                for piece in pieces {
                    document.put(piece)?;
                }
                let text = document.into_text();
                Document::new(&text, *dialect)?;
                Ok(text)
            }
            Kind::Codex { env } => codex::with(before.unwrap_or_default(), env),
            Kind::Whole { text } => match before {
                Some(there) if !there.starts_with(MARK) => Err(Trouble::NotOurs("a file")),
                _ => Ok(text.clone()),
            },
        }
    }

    /// The file without what is ours; nothing, if it was made by us and nothing else is in it.
    pub(crate) fn without(&self, now: &str, before: Before) -> Result<Option<String>, Trouble> {
        let made_by_us = matches!(before, Before::Missing);
        match &self.kind {
            Kind::Json { .. } if now.trim().is_empty() => Ok(Some(now.to_owned())),
            Kind::Json { pieces, dialect } => {
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
            Kind::Codex { .. } => {
                let left = codex::without(now)?;
                Ok((!left.trim().is_empty() || !made_by_us).then_some(left))
            }
            Kind::Whole { .. } => Ok((!now.starts_with(MARK)).then(|| now.to_owned())),
        }
    }

    /// Whether what is ours is in it.
    pub(crate) fn is_in(&self, now: &str) -> bool {
        match &self.kind {
            Kind::Json { pieces, dialect } => Document::new(now, *dialect).is_ok_and(|document| {
                pieces.iter().all(|piece| match piece {
                    Piece::Server { at, .. } => document.has_server(at),
                    Piece::Hook { event, .. } => document.has_hook(event),
                    Piece::Beginning { .. } => true,
                })
            }),
            Kind::Codex { .. } => codex::is_in(now),
            Kind::Whole { .. } => now.starts_with(MARK),
        }
    }
}
