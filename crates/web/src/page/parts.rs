//! What pages are made of.

use atm_ledger::{Evidence, Stage};
use atm_office::people::members::MemberView;
use atm_office::trail::history::Remembered;
use atm_wire::brief::short_id;
use atm_wire::{Stamp, TeamName, visible};
use maud::{Markup, html};
use serde_json::Value;

/// So many characters of a text stand in a list.
pub(super) const GLIMPSE: usize = 280;

/// How long ago something was, or how long it is until then, in a few words.
pub(super) fn ago(then: Stamp, now: Stamp) -> String {
    let millis = now.as_millis() - then.as_millis();
    match millis / 1_000 {
        -1..=1 => "now".to_owned(),
        ..-1 => format!("in {}", span(-millis)),
        _ => format!("{} ago", span(millis)),
    }
}

/// A time span in a few words.
pub(super) fn span(millis: i64) -> String {
    let seconds = (millis / 1_000).max(0);
    match seconds {
        0..90 => format!("{seconds} s"),
        90..5_400 => format!("{} min", seconds / 60),
        5_400..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A time, with its age, which the script keeps current.
pub(super) fn age(then: Stamp, now: Stamp) -> Markup {
    html! { time datetime=(then) title=(then) data-age { (ago(then, now)) } }
}

/// One line of foreign text: nothing hides in it.
pub(super) fn line(text: &str) -> String {
    visible::line(text).into_owned()
}

/// The start of a foreign text, on one line.
pub(super) fn glimpse(text: &str) -> String {
    let mut cut: String = text.chars().take(GLIMPSE).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    visible::line(&cut.replace(['\n', '\t', '\r'], " ")).into_owned()
}

/// Foreign text of several lines, whole.
pub(super) fn lines(text: &str) -> String {
    visible::lines(text).into_owned()
}

/// The part of an id that people see.
pub(super) fn short(id: &str) -> String {
    line(&short_id(id))
}

/// A part of an address.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

pub(super) fn team_href(team: &TeamName, below: &str) -> String {
    format!("/teams/{}{below}", encoded(team.as_str()))
}

pub(super) fn inbox_href(team: &str, name: &str) -> String {
    format!("/teams/{}/inboxes/{}", encoded(team), encoded(name))
}

pub(super) fn message_href(message: &Remembered) -> String {
    format!("/messages/{}?team={}", encoded(&message.id), encoded(&message.team))
}

/// A word of a command that a shell leaves alone.
pub(super) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", line(text).replace('\'', "'\\''"))
}

/// How far a message came.
pub(super) fn stage(stage: Stage, unproved: bool) -> Markup {
    let mark = if unproved { "?" } else { "" };
    html! { span class={ "stage stage-" (stage.as_str()) } { (stage.as_str()) (mark) } }
}

/// Whether a member is there, with the evidence on hover or tap.
pub(super) fn presence(member: &MemberView, now: Stamp) -> Markup {
    let state = member.state.as_str();
    html! {
        details.presence {
            summary title=(member.evidence.iter().map(|one| line(one)).collect::<Vec<_>>().join("; ")) {
                span class={ "dot " (state) } aria-hidden="true" {}
                " " (state)
                @if let Some(activity) = &member.activity { ", " (line(activity)) }
            }
            ul.evidence {
                @for one in &member.evidence { li { (line(one)) } }
                @if let Some(since) = member.since { li { "in this state since " (age(since, now)) } }
                @if let Some(seen) = member.last_seen { li { "last sent or read something " (age(seen, now)) } }
                @if member.evidence.is_empty() { li { "nothing says whether it is there" } }
            }
        }
    }
}

/// The evidence of a stage: what was observed, where, by whom, how sure.
pub(super) fn evidence(evidence: &Evidence) -> Markup {
    html! {
        span.what { (line(&evidence.what)) }
        @if let Some(by) = &evidence.by { " · by " (line(by)) }
        @if let Some(file) = &evidence.file { " · " code { (line(file)) } }
        " · " (if evidence.unproved { "not proved" } else { evidence.sure.as_str() })
        @if evidence.no_later_than { " · then or earlier" }
    }
}

/// The command that an action is.
pub(super) fn command(text: &str) -> Markup {
    html! { code.cmd title="the same on the command line" { (text) } }
}

/// A button that does something, with the command that it is.
pub(super) fn action(label: &str, path: &str, body: &Value, as_command: &str) -> Markup {
    html! {
        span.act hidden {
            button type="button" data-post=(path) data-body=(body) { (label) }
            " " (command(as_command))
        }
    }
}

/// A row of a list of messages.
pub(super) fn message_row(message: &Remembered, now: Stamp) -> Markup {
    let summary = message.summary.as_deref().map_or_else(|| glimpse(&message.text), glimpse);
    html! {
        li.row id={ "m-" (message.id) "-" (message.to) } data-row {
            (stage(message.stage, message.unproved)) " "
            a href=(message_href(message)) data-main { (summary) }
            span.meta {
                (line(&message.from)) " → " a href=(inbox_href(&message.team, &message.to)) { (line(&message.to)) "@" (line(&message.team)) }
                " · " (age(message.timestamp, now))
                @if message.r#type != "message" { " · " span.badge { (line(&message.r#type)) } }
            }
        }
    }
}

/// A number in a table; one that is none stays in the background.
pub(super) fn number(count: usize) -> Markup {
    html! { td class=[(count == 0).then_some("zero")] { (count) } }
}

/// A sentence where a list is empty.
pub(super) fn empty(words: &str) -> Markup {
    html! { p.empty { (words) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_said_in_a_few_words() {
        for (millis, expected) in [
            (-3_600_000, "in 60 min"),
            (-1_000, "now"),
            (400, "now"),
            (61_000, "61 s ago"),
            (600_000, "10 min ago"),
            (7_200_000, "2 h ago"),
            (3 * 86_400_000, "3 d ago"),
        ] {
            let now = Stamp::from_millis(1_794_768_000_000);
            assert_eq!(ago(Stamp::from_millis(now.as_millis() - millis), now), expected);
        }
    }

    #[test]
    fn nothing_foreign_leaves_its_place() {
        assert_eq!(encoded("a/b?c d"), "a%2Fb%3Fc%20d");
        assert_eq!(word("bob-2"), "bob-2");
        assert_eq!(word("$(reboot)"), "'$(reboot)'");
        assert_eq!(word("it's"), "'it'\\''s'");
        assert_eq!(glimpse("a\nb\u{202e}c"), "a b\\u{202e}c");
        assert_eq!(short("0123456789abcdef"), "89abcdef");
    }
}
