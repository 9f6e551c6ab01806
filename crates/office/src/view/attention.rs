//! What somebody should look at, the most urgent first.

use atm_wire::brief::short_id;
use atm_wire::{Stamp, counted};
use serde::Serialize;

use crate::people::members::MemberView;
use crate::people::presence::Presence;
use crate::tasks::TaskView;
use crate::trail::pending::{Pending, Why};

/// Why something needs attention, in the order of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A process died over a step that must not be repeated: nobody knows whether it was done.
    OutcomeUnknown,
    /// A program undoes a message again and again.
    Held,
    /// A client holds a message until its user decides, or its user did not let it in.
    HeldByClient,
    /// A message was accepted and cannot be written.
    NotWritten,
    /// A client took a message and lost it.
    LostByClient,
    /// An acknowledgment did not come in time.
    AckOverdue,
    /// A member waits for its user: for a permission, or an answer.
    WaitsForUser,
    /// The lead is off with mail waiting, while others of the team are there: what they ask it, nobody decides.
    LeadGone,
    /// A member runs and does not answer.
    Stalled,
    /// A member's inbox cannot be read as it should be.
    BadInbox,
    /// A claim of a task is over, and the task is not done.
    LeaseOver,
    /// A message lies unread for long, although its recipient is there.
    UnreadLong,
    /// A message is gone, and nothing proves that it was taken.
    TakenUnproved,
    /// A message that had been queued was taken, and there is no answer.
    NoSignOfWork,
}

impl Reason {
    /// Of mail that waits. What waits as it should needs no attention: mail for somebody who is off (but see
    /// [`LeadGone`](Self::LeadGone)), and acknowledgments that are not due.
    fn of(why: Why) -> Option<Self> {
        Some(match why {
            Why::Queued | Why::AckAwaited | Why::UnreadOffline => return None,
            Why::NotWritten => Self::NotWritten,
            Why::AckOverdue => Self::AckOverdue,
            Why::LostByClient => Self::LostByClient,
            Why::TakenUnproved => Self::TakenUnproved,
            Why::Held => Self::Held,
            Why::HeldByClient => Self::HeldByClient,
            Why::NoSignOfWork => Self::NoSignOfWork,
            Why::UnreadLong => Self::UnreadLong,
        })
    }
}

impl Reason {
    /// In a word or two, for a list of names.
    pub fn words(self) -> &'static str {
        match self {
            Self::OutcomeUnknown => "outcome unknown",
            Self::Held => "mail undone again and again",
            Self::HeldByClient => "mail held by its client",
            Self::NotWritten => "mail not written",
            Self::LostByClient => "mail lost by its client",
            Self::AckOverdue => "acknowledgment overdue",
            Self::WaitsForUser => "waits for you",
            Self::LeadGone => "lead gone",
            Self::Stalled => "stalled",
            Self::BadInbox => "bad inbox",
            Self::LeaseOver => "claim over",
            Self::UnreadLong => "unread",
            Self::TakenUnproved => "mail gone without a proof",
            Self::NoSignOfWork => "no sign of work",
        }
    }
}

/// What may help, as data: each front words it for its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// The member can be woken.
    Wake(String),
    /// The member's screen can be looked at.
    Peek(String),
    /// What is known of the member can be looked at: it has no screen of ours.
    Why(String),
    /// What became of the message can be looked at.
    Track(String),
    /// The task can be given back.
    ReleaseTask(String),
    /// What waits can be listed.
    ListPending,
    /// What is wrong can be listed and mended.
    RunDoctor,
}

impl Attention {
    /// In words, with the end of the message's id, as everywhere else where people look.
    pub fn because(&self) -> String {
        match &self.message {
            Some(id) if !id.is_empty() => self.what.replace(id.as_str(), &short_id(id)),
            _ => self.what.clone(),
        }
    }

    /// What may help.
    pub fn remedy(&self) -> Remedy {
        let who = || self.who.clone().unwrap_or_default();
        match (self.reason, &self.message, &self.task) {
            (Reason::UnreadLong | Reason::NoSignOfWork, ..) => Remedy::Wake(who()),
            (Reason::Stalled | Reason::WaitsForUser, ..) if self.has_screen => Remedy::Peek(who()),
            (Reason::Stalled | Reason::WaitsForUser, ..) => Remedy::Why(who()),
            (Reason::BadInbox, ..) => Remedy::RunDoctor,
            (_, Some(id), _) => Remedy::Track(id.clone()),
            (_, _, Some(task)) => Remedy::ReleaseTask(task.clone()),
            _ => Remedy::ListPending,
        }
    }
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attention {
    /// Why.
    pub reason: Reason,
    /// Whom it is about.
    pub who: Option<String>,
    /// Whether that one has a screen that can be looked at.
    #[serde(skip)]
    pub has_screen: bool,
    /// The message that it is about.
    pub message: Option<String>,
    /// The task that it is about.
    pub task: Option<String>,
    /// Since when.
    pub since: Option<Stamp>,
    /// In words.
    pub what: String,
}

/// How the activity of a member begins that waits for its user.
const WAITING: &str = "waiting";

/// All that needs attention: by urgency, the oldest first.
pub(super) fn gather(look: &Pending, members: &[MemberView], tasks: &[TaskView]) -> Vec<Attention> {
    let mail = look.waiting.iter().filter_map(|waiting| {
        let message = &waiting.message;
        let what = format!("message {} from {}: {}", message.id, message.from, waiting.why.words(None));
        Some(Attention {
            who: Some(message.to.clone()),
            message: Some(message.id.clone()),
            since: Some(message.timestamp),
            ..new(Reason::of(waiting.why)?, what)
        })
    });
    let steps = look
        .unknown
        .iter()
        .map(|step| Attention { since: Some(step.at), ..new(Reason::OutcomeUnknown, step.words()) });
    let stalled = members.iter().filter(|member| member.state == Presence::Stalled).map(|member| Attention {
        who: Some(member.name.clone()),
        has_screen: member.has_pane,
        since: member.last_seen,
        ..new(Reason::Stalled, format!("{} does not answer: {}", member.name, member.why))
    });
    let asking = members.iter().filter_map(|member| {
        let activity = member.activity.as_deref().filter(|activity| activity.starts_with(WAITING))?;
        Some(Attention {
            who: Some(member.name.clone()),
            has_screen: member.has_pane,
            since: member.activity_since,
            ..new(Reason::WaitsForUser, format!("{} is {activity}", member.name))
        })
    });
    let inboxes = members.iter().flat_map(|member| {
        let bad = |warning: &String| Attention {
            who: Some(member.name.clone()),
            ..new(Reason::BadInbox, format!("inbox of {}: {warning}", member.name))
        };
        member.warnings.iter().map(bad).collect::<Vec<_>>()
    });
    let leases = tasks.iter().filter_map(|task| {
        let lease = task.lease.as_ref().filter(|lease| lease.expired)?;
        let owner = task.owner.as_deref().unwrap_or("nobody");
        Some(Attention {
            who: task.owner.clone(),
            task: Some(task.id.to_string()),
            since: Some(lease.expires_at),
            ..new(
                Reason::LeaseOver,
                format!("task {} of {owner}: its claim is over, and it is not done", task.id),
            )
        })
    });
    let mut all: Vec<Attention> =
        mail.chain(steps).chain(asking).chain(stalled).chain(inboxes).chain(leases).collect();
    all.extend(lead_gone(look, members));
    all.sort_by_key(|attention| (attention.reason, attention.since));
    all
}

fn new(reason: Reason, what: String) -> Attention {
    Attention { reason, who: None, has_screen: false, message: None, task: None, since: None, what }
}

/// A lead that is off, for whom mail waits longer than a reader may take, while another member is there. Where nobody is,
/// the team has ended, and its mail waits for its next start.
fn lead_gone(look: &Pending, members: &[MemberView]) -> Option<Attention> {
    let lead = members.iter().find(|member| member.lead && member.state == Presence::Offline)?;
    let is_there =
        |member: &MemberView| matches!(member.state, Presence::Online | Presence::Idle | Presence::Stalled);
    let waiting = look.waiting.iter().filter(|waiting| {
        waiting.message.to == lead.name && matches!(waiting.why, Why::Queued | Why::UnreadOffline)
    });
    let (count, oldest) = (waiting.clone().count(), waiting.min_by_key(|waiting| waiting.message.timestamp)?);
    let is_long = u64::try_from(oldest.waited_ms).is_ok_and(|waited| waited >= look.looked.unread_after_ms);
    let what = format!(
        "{} leads the team and is off ({}), with {} waiting",
        lead.name,
        lead.why,
        counted(count, "message")
    );
    (is_long && members.iter().any(is_there)).then(|| Attention {
        who: Some(lead.name.clone()),
        since: Some(oldest.message.timestamp),
        ..new(Reason::LeadGone, what)
    })
}

#[cfg(test)]
mod tests {
    use atm_ledger::Stage;

    use super::*;
    use crate::trail::history::Remembered;
    use crate::trail::pending::{Looked, UnknownStep, Waiting};

    const TEN_MINUTES: i64 = 600_000;

    fn look(waiting: &[Waiting], unknown: &[UnknownStep]) -> Pending {
        let unread_after_ms = TEN_MINUTES.unsigned_abs();
        let looked = Looked { inboxes: 1, unreadable: Vec::new(), unread_after_ms, cut: false };
        Pending { waiting: waiting.to_vec(), unknown: unknown.to_vec(), looked }
    }

    fn member(name: &str, state: Presence) -> MemberView {
        MemberView {
            name: name.to_owned(),
            agent_id: format!("{name}@dev"),
            state,
            evidence: Vec::new(),
            why: "its process is gone".to_owned(),
            unread: 0,
            pending: 0,
            oldest_pending: None,
            last_seen: None,
            agent_type: None,
            model: None,
            color: None,
            lead: name == "lead",
            machine: None,
            has_entry: true,
            has_pane: true,
            activity: None,
            activity_since: None,
            since: None,
            metadata: serde_json::Map::new(),
            warnings: Vec::new(),
        }
    }

    fn waiting(id: &str, minute: i64, why: Why) -> Waiting {
        let message = Remembered {
            id: id.to_owned(),
            team: "dev".to_owned(),
            from: "alice".to_owned(),
            to: "bob".to_owned(),
            timestamp: Stamp::from_millis(minute * 60_000),
            stage: Stage::Written,
            unproved: false,
            r#type: "message".to_owned(),
            text: String::new(),
            summary: None,
            reply_to: None,
            files: Vec::new(),
            origin: None,
            found: None,
        };
        Waiting { message, why, waited_ms: 0 }
    }

    #[test]
    fn the_most_urgent_comes_first_and_what_waits_as_it_should_is_left_out() {
        let mail = [
            waiting("a", 9, Why::UnreadLong),
            waiting("b", 2, Why::UnreadLong),
            waiting("c", 1, Why::Queued),
            waiting("d", 1, Why::AckAwaited),
            waiting("e", 9, Why::LostByClient),
            waiting("f", 1, Why::NoSignOfWork),
        ];
        let unknown = [UnknownStep { what: "wake bob".to_owned(), at: Stamp::from_millis(0) }];
        let all = gather(&look(&mail, &unknown), &[], &[]);
        let found: Vec<_> = all.iter().map(|one| (one.reason, one.message.as_deref())).collect();
        assert_eq!(
            found,
            [
                (Reason::OutcomeUnknown, None),
                (Reason::LostByClient, Some("e")),
                (Reason::UnreadLong, Some("b")),
                (Reason::UnreadLong, Some("a")),
                (Reason::NoSignOfWork, Some("f")),
            ]
        );
        assert_eq!(gather(&look(&mail[2..4], &[]), &[], &[]), []);
    }

    /// A team whose lead had gone, and whose members went on reporting to it, was said to need nothing.
    #[test]
    fn a_lead_that_is_gone_needs_a_look_while_others_are_there_and_mail_waits_for_it() {
        use Presence::{Idle, Offline, Online, Stalled, Unknown};
        let (long, short) = (TEN_MINUTES, TEN_MINUTES - 1);
        let to = |to: &str, why: Why, waited_ms: i64| {
            let mut one = waiting("m", 1, why);
            one.message.to = to.to_owned();
            Waiting { waited_ms, ..one }
        };
        // The lead, bob, a message, and whether the lead needs a look.
        for (lead, bob, mail, expected) in [
            (Offline, Idle, to("lead", Why::UnreadOffline, long), true),
            (Offline, Online, to("lead", Why::Queued, long), true),
            (Offline, Stalled, to("lead", Why::Queued, long), true),
            (Offline, Idle, to("lead", Why::UnreadOffline, short), false),
            (Offline, Idle, to("bob", Why::Queued, long), false),
            (Offline, Idle, to("lead", Why::AckAwaited, long), false),
            // It is there, or may be: mail that lies for long says so itself.
            (Online, Idle, to("lead", Why::Queued, long), false),
            (Unknown, Idle, to("lead", Why::Queued, long), false),
            // The team has ended, as far as anybody knows.
            (Offline, Offline, to("lead", Why::UnreadOffline, long), false),
            (Offline, Unknown, to("lead", Why::UnreadOffline, long), false),
        ] {
            let case = format!("{lead:?} {bob:?} {mail:?}");
            let members = [member("bob", bob), member("lead", lead)];
            let found = gather(&look(&[mail.clone(), mail], &[]), &members, &[]);
            let gone: Vec<_> = found.iter().filter(|one| one.reason == Reason::LeadGone).collect();
            assert_eq!(gone.len(), usize::from(expected), "{case}");
            let Some(gone) = gone.first() else { continue };
            assert_eq!(
                gone.what,
                "lead leads the team and is off (its process is gone), with 2 messages waiting"
            );
            let about = (gone.who.as_deref(), gone.since, gone.remedy());
            assert_eq!(about, (Some("lead"), Some(Stamp::from_millis(60_000)), Remedy::ListPending));
        }
    }

    #[test]
    fn a_screen_is_offered_only_of_those_that_have_one() {
        let about = |reason, has_screen| Attention {
            reason,
            who: Some("bob".to_owned()),
            has_screen,
            message: None,
            task: None,
            since: None,
            what: String::new(),
        };
        let bob = || "bob".to_owned();
        for reason in [Reason::Stalled, Reason::WaitsForUser] {
            assert_eq!(about(reason, true).remedy(), Remedy::Peek(bob()));
            assert_eq!(about(reason, false).remedy(), Remedy::Why(bob()), "a session has no pane of ours");
        }
        assert_eq!(about(Reason::UnreadLong, false).remedy(), Remedy::Wake(bob()));
    }
}
