//! The list of messages, the newest first.

use atm_office::trail::history::Remembered;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::frame::{list, open, row};
use crate::keys::Place;
use crate::state::State;
use crate::text::{age, count, width};

pub(super) fn draw(state: &State, area: Rect, frame: &mut Frame) {
    let has_keys = state.place() == Place::Mail;
    let inner = open(state, area, &title(state), has_keys, frame);
    let mail = &state.mail;
    let columns = usize::from(inner.width);
    let rows: Vec<Line> = mail.rows.iter().map(|message| line(state, message, columns)).collect();
    let looked =
        mail.as_of.map(|at| format!(" (looked {} ago)", age(state.now, at)).replace("now ago", "just now"));
    let nothing = match (&mail.trouble, &looked, &mail.of.words) {
        (Some(trouble), ..) => format!("the mail cannot be listed: {}", trouble.what),
        (None, None, _) if state.teams.as_ref().is_some_and(Vec::is_empty) => {
            "no mail: there is no team".to_owned()
        }
        (None, None, _) => "looking…".to_owned(),
        (None, Some(looked), Some(words)) => {
            format!("no message has {words:?}, of all that was ever sent{looked}")
        }
        (None, Some(looked), None) => format!("nothing was sent or received here yet{looked}"),
    };
    list(state, inner, (rows, Some(mail.selected())), has_keys, &nothing, frame);
}

fn title(state: &State) -> String {
    let of = &state.mail.of;
    let number = if state.mail.as_of.is_some() {
        format!(": {}", count(state.mail.rows.len(), "message", "messages"))
    } else {
        String::new()
    };
    match (&of.words, &of.with, &of.team) {
        (Some(words), ..) => format!("Search {words:?}{number}"),
        (None, Some(name), _) => format!("Mail of {name}{number}"),
        (None, None, Some(team)) => format!("Mail in {team}{number}"),
        _ => "Mail".to_owned(),
    }
}

fn line(state: &State, message: &Remembered, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let color = |name: &str| {
        let member = state.members().iter().find(|member| member.name == name);
        theme.member(member.and_then(|member| member.color.as_deref()))
    };
    let is_new = message.to == state.me.as_str() && message.stage < atm_ledger::Stage::Seen;
    let mark = if is_new { "●" } else { "" };
    let names = if columns < 70 { 8 } else { 12 };
    let to = if state.mail.of.words.is_some() {
        format!("{}@{}", message.to, message.team)
    } else {
        message.to.clone()
    };
    let fixed = 1 + 6 + 9 + 2 * names + 1 + 6;
    row(&[
        (mark.to_owned(), 1, theme.attention()),
        (format!("{:>6}", age(state.now, message.timestamp)), 6, theme.dim()),
        (message.from.clone(), names, color(&message.from)),
        ("→".to_owned(), 1, theme.dim()),
        (to.clone(), names, color(&message.to)),
        (message.stage_words(), 9, theme.stage(message.stage)),
        (
            message.gist().to_owned(),
            columns.saturating_sub(fixed).max(width("…")),
            ratatui::style::Style::new(),
        ),
    ])
}
