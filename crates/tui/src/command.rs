//! Each action as the `atm` command that it is.

use atm_office::office::USER;
use atm_office::view::mute::Muted;
use atm_wire::{MemberName, visible};

use crate::event::{Act, Deed};

/// So many characters of a text are shown.
const LONGEST: usize = 60;

/// The command that does the same, for a shell. What the lead decides is in the lead's name.
pub(crate) fn command(act: &Act, me: &MemberName, lead: &str) -> String {
    let team = word(act.team.as_str());
    let asks = |rest: String| format!("atm -t {team} {rest}");
    let decides = |rest: String| asks(format!("--as {} {rest}", word(lead)));
    let mine = |rest: String| {
        if me.as_str() == USER {
            asks(rest)
        } else {
            format!("atm -t {team} --as {} {rest}", word(me.as_str()))
        }
    };
    match &act.deed {
        Deed::Send { to, text } => mine(format!("send {} {}", word(to), quoted(text))),
        Deed::Reply { id, text } => mine(format!("reply {} {}", short(id), quoted(text))),
        Deed::Acknowledge { id } => mine(format!("ack {}", short(id))),
        // There is no command that marks one alone.
        Deed::MarkRead { .. } => format!("atm -t {team} --as {} read", word(me.as_str())),
        Deed::Recall { id } => mine(format!("recall {}", short(id))),
        Deed::Mute { kind, what } => asks(format!("mute {}", muted(*kind, what))),
        Deed::Unmute { kind, what } => asks(format!("mute {} --undo", muted(*kind, what))),
        Deed::Wake { name } => asks(format!("wake {}", word(name))),
        Deed::Peek { name } => asks(format!("peek {}", word(name))),
        Deed::Attach { name } => asks(format!("attach {}", word(name))),
        Deed::Approve { request } => decides(format!("plan approve {}", word(request))),
        Deed::Reject { request, feedback } => {
            decides(format!("plan reject {} --feedback {}", word(request), quoted(feedback)))
        }
        Deed::Shutdown { name, reason } if reason.trim().is_empty() => {
            decides(format!("shutdown request {}", word(name)))
        }
        Deed::Shutdown { name, reason } => {
            decides(format!("shutdown request {} --reason {}", word(name), quoted(reason)))
        }
        Deed::ApproveShutdown { request } => mine(format!("shutdown approve {}", word(request))),
        Deed::RejectShutdown { request, reason } => {
            mine(format!("shutdown reject {} --reason {}", word(request), quoted(reason)))
        }
        Deed::Assign { task, to } => mine(format!("task assign {task} {}", word(to))),
        Deed::Release { task } => mine(format!("task release {task}")),
    }
}

/// What is muted, as the command takes it.
fn muted(kind: Muted, what: &str) -> String {
    if kind == Muted::Message { short(what) } else { word(what) }
}

/// The end of an id, which commands accept.
pub(crate) fn short(id: &str) -> String {
    let end = id.char_indices().rev().nth(7).map_or(0, |(at, _)| at);
    word(if id.chars().count() > 12 { &id[end..] } else { id })
}

/// A word as a shell takes it.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@%+=:,/".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    quoted(text)
}

/// A text as a shell takes it, as much of it as is worth showing.
fn quoted(text: &str) -> String {
    let mut shown: String = text.trim().chars().take(LONGEST).collect();
    if shown.len() < text.trim().len() {
        shown.push('…');
    }
    format!("'{}'", visible::line(&shown).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deed_is_a_command() {
        let me = MemberName::parse("user").unwrap();
        let id = "01a1e542-c42b-75da-a9bc-d9bd7906ec52".to_owned();
        let request = "plan-17@bob".to_owned();
        let table = [
            (Deed::Send { to: "bob".into(), text: "is it done?".into() }, "send bob 'is it done?'"),
            (Deed::Reply { id: id.clone(), text: "it's".into() }, "reply 7906ec52 'it'\\''s'"),
            (Deed::Acknowledge { id: id.clone() }, "ack 7906ec52"),
            (Deed::MarkRead { id: id.clone() }, "--as user read"),
            (Deed::Recall { id: id.clone() }, "recall 7906ec52"),
            (Deed::Mute { kind: Muted::Message, what: id }, "mute 7906ec52"),
            (
                Deed::Unmute { kind: Muted::Member, what: "a-long-member-name".into() },
                "mute a-long-member-name --undo",
            ),
            (Deed::Mute { kind: Muted::Task, what: "7".into() }, "mute 7"),
            (Deed::Wake { name: "$(reboot)".into() }, "wake '$(reboot)'"),
            (Deed::Peek { name: "-rf".into() }, "peek '-rf'"),
            (Deed::Attach { name: "bob".into() }, "attach bob"),
            (Deed::Approve { request: request.clone() }, "--as team-lead plan approve plan-17@bob"),
            (
                Deed::Reject { request: request.clone(), feedback: "tests\nfirst".into() },
                "--as team-lead plan reject plan-17@bob --feedback 'tests\\nfirst'",
            ),
            (
                Deed::Shutdown { name: "bob".into(), reason: String::new() },
                "--as team-lead shutdown request bob",
            ),
            (
                Deed::Shutdown { name: "bob".into(), reason: "done".into() },
                "--as team-lead shutdown request bob --reason 'done'",
            ),
            (Deed::ApproveShutdown { request: request.clone() }, "shutdown approve plan-17@bob"),
            (
                Deed::RejectShutdown { request, reason: "no".into() },
                "shutdown reject plan-17@bob --reason 'no'",
            ),
            (Deed::Assign { task: "7".parse().unwrap(), to: "bob".into() }, "task assign 7 bob"),
            (Deed::Release { task: "7".parse().unwrap() }, "task release 7"),
        ];
        for (deed, wanted) in table {
            let act = Act { team: "dev".parse().unwrap(), deed };
            assert_eq!(command(&act, &me, "team-lead"), format!("atm -t dev {wanted}"));
        }
        let act = Act {
            team: "dev".parse().unwrap(),
            deed: Deed::Send { to: "bob".into(), text: "x".repeat(100) },
        };
        let alice = MemberName::parse("alice").unwrap();
        assert_eq!(
            command(&act, &alice, "team-lead"),
            format!("atm -t dev --as alice send bob '{}…'", "x".repeat(60))
        );
    }
}
