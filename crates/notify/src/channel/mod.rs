//! The ways to tell people. Each is bounded in time.

mod command;
mod desktop;
mod program;
mod sign;
mod tmux;
mod webhook;

use std::io;
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use serde::Serialize;

use crate::event::Event;

pub use tmux::Tmux;
pub use webhook::{Webhook, WebhookError};

/// A way to tell people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// A program and its arguments.
    Command(Vec<String>),
    /// A server to post to.
    Webhook(Webhook),
    /// The desktop's own notifications.
    Desktop,
    /// The panes that tmux's clients show.
    Tmux(Tmux),
}

/// Why a channel failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    /// In our words.
    pub(crate) why: String,
    /// In a program's own words: these may repeat what it was told, and are not for logs.
    pub(crate) said: String,
}

impl Failed {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), said: String::new() }
    }
}

/// What came of telling by one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Which.
    pub channel: &'static str,
    /// Whether it worked, as far as the channel can tell.
    pub ok: bool,
    /// Why not.
    pub error: Option<String>,
    /// What the program that was called says about it.
    pub said: Option<String>,
    /// How long it took.
    pub took_ms: u64,
}

impl Channel {
    /// The names of all.
    pub const NAMES: [&'static str; 4] = ["command", "webhook", "desktop", "tmux"];

    /// What is filled in in a command's arguments.
    pub const FIELDS: [&'static str; 6] = ["{title}", "{text}", "{kind}", "{team}", "{member}", "{id}"];

    /// The spelling in settings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Webhook(_) => "webhook",
            Self::Desktop => "desktop",
            Self::Tmux(_) => "tmux",
        }
    }

    /// Tells by this one; bounded in time.
    pub fn send(&self, event: &Event) -> Sent {
        let begun = Instant::now();
        let told = match self {
            Self::Command(words) => command::send(words, event),
            Self::Webhook(webhook) => webhook.send(event),
            Self::Desktop => desktop::send(event),
            Self::Tmux(tmux) => tmux.send(event),
        };
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (error, said) = told.err().map(|failed| (failed.why, failed.said)).unzip();
        Sent {
            channel: self.name(),
            ok: error.is_none(),
            error,
            said: said.filter(|said| !said.is_empty()),
            took_ms,
        }
    }
}

/// Tells by all of them at once.
pub fn send_by_all<'a>(channels: impl IntoIterator<Item = &'a Channel>, event: &Event) -> Vec<Sent> {
    thread::scope(|scope| {
        let start = |channel: &'a Channel| {
            let thread = thread::Builder::new().spawn_scoped(scope, move || channel.send(event));
            (channel, thread)
        };
        let started: Vec<_> = channels.into_iter().map(start).collect();
        // One for which the system has no thread is used after the others have begun.
        let end = |(channel, thread): (&Channel, io::Result<ScopedJoinHandle<'_, Sent>>)| {
            thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(|| channel.send(event))
        };
        started.into_iter().map(end).collect()
    })
}
