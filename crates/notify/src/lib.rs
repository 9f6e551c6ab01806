//! Notifications: people are told what needs them, once each.
//!
//! A [`Notifier`] is the chore that says what is news in a team, and looks at what belongs to no team. A [`Channel`] is a
//! way to tell: a command, a webhook, the desktop, tmux. All texts are our own words with names and ids in them; no
//! message's text leaves through here.

mod channel;
mod chore;
mod event;
mod machine;
mod post;
mod rules;

use atm_wire::Stamp;

pub use channel::{Channel, Sent, Tmux, Webhook, WebhookError, send_by_all};
pub use event::{Event, Kind};
pub use machine::Told;
pub use post::{Post, PostError};
pub use rules::{Quiet, QuietError, Rules};

/// Tells people what needs them.
#[derive(Debug)]
pub struct Notifier {
    rules: Rules,
    /// The minute of the local day of a moment.
    minute_of: fn(Stamp) -> u16,
    post: Box<dyn Post + Send + Sync>,
}

impl Notifier {
    /// One that tells while its caller waits, for a bounded time.
    pub fn direct(rules: Rules, channels: Vec<Channel>, minute_of: fn(Stamp) -> u16) -> Self {
        Self { rules, minute_of, post: Box::new(post::Direct::new(channels)) }
    }

    /// When the quiet hours end in which a moment is.
    fn quiet_until(&self, moment: Stamp) -> Option<Stamp> {
        self.rules.quiet?.ends(moment, self.minute_of)
    }
}
