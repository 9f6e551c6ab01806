//! What a person wants to hear nothing of for a while. It is kept in our state, so that every front leaves it out, and says so.

use std::time::Duration;

use atm_store::Memo;
use atm_wire::task::TaskId;
use atm_wire::{MemberName, Stamp};
use serde::{Deserialize, Serialize};

use super::attention::Attention;
use crate::error::OfficeError;
use crate::mail::reply::SHORTEST_PART;
use crate::team::Team;

/// How long a mute lasts, unless said: one without an end would hide the next fault of the same member.
pub const USUAL: Duration = Duration::from_secs(24 * 60 * 60);
/// So long after its end a mute is still known: what it held back is news from then on.
pub const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// So many are kept, the newest.
const MOST: usize = 1_000;

/// What kind of thing is muted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Muted {
    /// One message.
    Message,
    /// One task.
    Task,
    /// All that is about one member.
    Member,
}

/// Something that needs nobody's attention for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    /// In which team.
    pub team: String,
    /// What kind of thing.
    pub kind: Muted,
    /// The message's id, the task's number, or the member's name.
    pub what: String,
    /// Since when.
    pub since: Stamp,
    /// Until when.
    pub until: Stamp,
}

/// What something is about, for mutes to hide.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// A member's name.
    pub member: Option<&'a str>,
    /// A message's id.
    pub message: Option<&'a str>,
    /// A task's number.
    pub task: Option<&'a str>,
}

impl<'a> From<&'a Attention> for About<'a> {
    fn from(attention: &'a Attention) -> Self {
        Self {
            member: attention.who.as_deref(),
            message: attention.message.as_deref(),
            task: attention.task.as_deref(),
        }
    }
}

impl Mute {
    /// Whether it hides what is about this, while it lasts.
    pub fn is_about(&self, about: About<'_>) -> bool {
        let subject = match self.kind {
            Muted::Message => about.message,
            Muted::Task => about.task,
            Muted::Member => about.member,
        };
        subject == Some(self.what.as_str())
    }

    /// Whether it lasts, or lasted lately.
    fn is_known(&self, now: Stamp) -> bool {
        self.until.saturating_add(REMEMBERED) > now
    }

    /// Whether a person means it: by all of it, or by the start or the end of an id.
    fn is_meant(&self, what: &str) -> bool {
        let is_part = self.kind == Muted::Message
            && what.len() >= SHORTEST_PART
            && (self.what.starts_with(what) || self.what.ends_with(what));
        self.what == what || is_part
    }
}

/// Whether one of these hides it.
pub(super) fn hide(mutes: &[Mute], attention: &Attention) -> bool {
    mutes.iter().any(|mute| mute.is_about(attention.into()))
}

/// Whether one of these is about the message.
pub(super) fn hide_message(mutes: &[Mute], id: &str) -> bool {
    mutes.iter().any(|mute| mute.kind == Muted::Message && mute.what == id)
}

impl Attention {
    /// What a person would mute to hear no more of it; nothing, if it is about nothing in particular.
    pub fn subject(&self) -> Option<(Muted, &str)> {
        let message = self.message.as_deref().map(|id| (Muted::Message, id));
        let task = || self.task.as_deref().map(|id| (Muted::Task, id));
        message.or_else(task).or_else(|| self.who.as_deref().map(|who| (Muted::Member, who)))
    }
}

impl Team<'_> {
    /// What is muted in this team now, the newest last.
    pub fn mutes(&self) -> Result<Vec<Mute>, OfficeError> {
        let mut mutes = self.recent_mutes()?;
        mutes.retain(|mute| mute.until > self.office().now());
        Ok(mutes)
    }

    /// The same, with what was muted lately.
    pub fn recent_mutes(&self) -> Result<Vec<Mute>, OfficeError> {
        let mut mutes = parse(self.mute_memo().read()?.as_deref());
        let now = self.office().now();
        mutes.retain(|mute| mute.team == self.name().as_str() && mute.is_known(now));
        Ok(mutes)
    }

    /// Mutes a member, a task by its number, or a message by its id or a part of it.
    pub fn mute(&self, what: &str, lasts: Duration) -> Result<Mute, OfficeError> {
        let (team, kind, what) = self.find_subject(what)?;
        let since = self.office().now();
        let mute = Mute { team, kind, what, since, until: since.saturating_add(lasts) };
        self.mute_memo().update(|text| {
            let mut mutes = parse(text);
            let is_same =
                |known: &Mute| (&known.team, known.kind, &known.what) == (&mute.team, kind, &mute.what);
            mutes.retain(|known| known.is_known(since) && !is_same(known));
            mutes.push(mute.clone());
            mutes.drain(..mutes.len().saturating_sub(MOST));
            Ok::<_, OfficeError>((Some(render(&mutes)), ()))
        })?;
        Ok(mute)
    }

    /// Ends a mute; says which, if there is one.
    pub fn unmute(&self, what: &str) -> Result<Option<Mute>, OfficeError> {
        self.mute_memo().update(|text| {
            let (mut mutes, now) = (parse(text), self.office().now());
            let is_it = |mute: &&mut Mute| {
                mute.team == self.name().as_str() && mute.until > now && mute.is_meant(what)
            };
            let ended = mutes.iter_mut().find(is_it).map(|mute| {
                mute.until = now;
                mute.clone()
            });
            Ok((ended.is_some().then(|| render(&mutes)), ended))
        })
    }

    fn find_subject(&self, what: &str) -> Result<(String, Muted, String), OfficeError> {
        let own = self.name().to_string();
        if let Ok(id) = TaskId::parse(what)
            && what.len() < SHORTEST_PART
        {
            self.tasks().get(id)?;
            return Ok((own, Muted::Task, id.to_string()));
        }
        if MemberName::parse(what).is_ok_and(|name| self.member(&name).is_ok()) {
            return Ok((own, Muted::Member, what.to_owned()));
        }
        let message = self.office().recorded_after_look(Some(self.name()), what)?;
        Ok((message.inbox.team, Muted::Message, message.id))
    }

    fn mute_memo(&self) -> Memo {
        let office = self.office();
        Memo::of_mutes(&office.root, &office.state, office.times)
    }
}

/// One that cannot be read mutes nothing.
fn parse(text: Option<&str>) -> Vec<Mute> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn render(mutes: &[Mute]) -> String {
    serde_json::to_string_pretty(mutes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Reason;

    fn mute(kind: Muted, what: &str) -> Mute {
        let (since, until) = (Stamp::from_millis(0), Stamp::from_millis(1));
        Mute { team: "dev".into(), kind, what: what.into(), since, until }
    }

    #[test]
    fn a_mute_hides_what_it_is_about_and_nothing_else() {
        let about = |who: Option<&str>, message: Option<&str>, task: Option<&str>| Attention {
            reason: Reason::Stalled,
            who: who.map(Into::into),
            has_screen: true,
            message: message.map(Into::into),
            task: task.map(Into::into),
            since: None,
            what: String::new(),
        };
        let (bob, mail, task) = (
            about(Some("bob"), None, None),
            about(Some("bob"), Some("m1"), None),
            about(None, None, Some("7")),
        );
        for (mute, hidden) in [
            (mute(Muted::Member, "bob"), [true, true, false]),
            (mute(Muted::Message, "m1"), [false, true, false]),
            (mute(Muted::Message, "m2"), [false, false, false]),
            (mute(Muted::Task, "7"), [false, false, true]),
            (mute(Muted::Task, "bob"), [false, false, false]),
        ] {
            let found = [&bob, &mail, &task].map(|attention| hide(std::slice::from_ref(&mute), attention));
            assert_eq!(found, hidden, "{mute:?}");
        }
        let subjects = [bob.subject(), mail.subject(), task.subject()];
        assert_eq!(
            subjects,
            [Some((Muted::Member, "bob")), Some((Muted::Message, "m1")), Some((Muted::Task, "7"))]
        );
        assert_eq!(about(None, None, None).subject(), None);
    }

    #[test]
    fn a_message_is_meant_by_a_part_of_its_id_and_a_member_by_its_name() {
        let message = mute(Muted::Message, "01a1e542-7906ec52");
        assert!(["01a1e542-7906ec52", "01a1e5", "06ec52"].iter().all(|part| message.is_meant(part)));
        assert!(["ec52", "1e5", ""].iter().all(|part| !message.is_meant(part)));
        assert!(mute(Muted::Member, "alexander").is_meant("alexander"));
        assert!(!mute(Muted::Member, "alexander").is_meant("alexand"));
    }
}
